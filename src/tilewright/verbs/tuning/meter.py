"""Measuring in worker processes, with a log: what the search is given, and what makes it resumable."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import TilewrightError, UsageError
from tilewright.base.records import Measurement, Outcome, Resources
from tilewright.plan import Plan
from tilewright.planner import plans
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.store import folder as store
from tilewright.runtime.warn import warn_skipped
from tilewright.runtime.workers.pool import Reply, WorkerPool
from tilewright.schedules.tiling import Tiling, is_gone, parse
from tilewright.tuning.search import merge
from tilewright.verbs.tuning import trial

_FATAL = 3
"""So many sessions that died while they measured one candidate make it a crash."""
_MARGIN = 20.0
_DETAIL = 300
"""Characters of a failure that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds after which a worker is ended."""

    compile: float = 60.0  # for compiling one candidate
    check: float = 15.0  # for its check on a small problem
    # for one sample on the user's problem at first; then 20 times the best, but no less than ``least``
    run: float = 60.0
    least: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a log holds."""

    measurements: Mapping[Tiling, Measurement]  # samples and failures per candidate
    confirmed: Mapping[Tiling, Measurement]  # comparison with a second schedule, per candidate


def read_history(path: Path | None) -> History:
    """Read a tuning log, up to wherever it was cut.

    A candidate in whose sample several sessions died counts as a crash.
    """
    samples: list[tuple[Tiling, Measurement]] = []
    confirmed: dict[Tiling, Measurement] = {}
    open_ones: dict[Tiling, int] = {}
    gone: set[str] = set()
    for record in [] if path is None else store.read(path):
        kind = record.get("kind")
        if kind == "restart":
            samples, confirmed, open_ones = [], {}, {}
        if kind == "stopped":
            open_ones = {tiling: count - 1 for tiling, count in open_ones.items()}
        if is_gone(record.get("tiling")):
            gone.add(str(record["tiling"]))
            continue
        entry = _parse(record)
        if entry is None:
            continue
        tiling, measurement = entry
        if kind == "begin":
            open_ones[tiling] = open_ones.get(tiling, 0) + 1
        elif kind == "sample":
            samples.append(entry)
            open_ones.pop(tiling, None)
        elif kind == "confirm":
            confirmed[tiling] = measurement
    if path is not None:
        warn_skipped(len(gone), path.name)
    died = Measurement(outcome=Outcome.CRASH, detail="several sessions ended while it was measured")
    samples += [(tiling, died) for tiling, count in open_ones.items() if count >= _FATAL]
    return History(measurements=merge(samples), confirmed=confirmed)


def _parse(record: Mapping[str, Any]) -> tuple[Tiling, Measurement] | None:
    if "tiling" not in record:
        return None
    try:
        tiling = parse(str(record["tiling"]))
        outcome = Outcome(record.get("outcome", "ok"))
    except (TilewrightError, ValueError):
        return None
    seconds = record.get("seconds")
    samples = (float(seconds),) if isinstance(seconds, int | float) and seconds > 0 else ()
    return tiling, Measurement(seconds=samples, outcome=outcome, detail=str(record.get("detail", "")))


class WorkerMeter:
    """A :class:`tilewright.tuning.search.Meter` that measures in worker processes and writes a log.

    A record of a sample follows it at once, so that a session that is killed loses the sample in progress alone.
    """

    def __init__(
        self,
        pool: WorkerPool,  # samples are all taken in the first worker
        request: Plan,  # its tiling is replaced by every candidate's
        scalars: trial.Scalars,
        steps: int,  # of a sample; at most the problem's
        limits: Limits,
        log: Path | None = None,
        history: History | None = None,
    ) -> None:
        self._pool, self._request, self._limits, self._log = pool, request, limits, log
        self._scalars, self._steps = scalars, steps
        self._confirmed = {} if history is None else dict(history.confirmed)
        self.needs: dict[Tiling, Resources] = {}
        """What the compiler says of the candidates that were built, where it does."""
        self._best = min(
            (sum(m.seconds) / len(m.seconds) for m in (history.measurements if history else {}).values() if m.seconds),
            default=0.0,
        )

    def build(self, tilings: Sequence[Tiling]) -> dict[Tiling, Measurement]:
        """Compile, then check on a small problem; return what failed."""
        failures: dict[Tiling, Measurement] = {}
        work: dict[Tiling, tuple[Plan, Plan]] = {}
        for tiling in tilings:
            try:
                small = trial.small_problem(self._request.problem, tiling)
                work[tiling] = self._plan(tiling), self._plan(tiling, problem=small)
            except UsageError as error:
                illegal = Measurement(outcome=Outcome.ILLEGAL, detail=str(error)[:_DETAIL])
                failures[tiling] = self._note("sample", tiling, illegal)
        builds = [(plan,) for plan, _ in work.values()]
        self._note_failures(failures, work, self._pool.map(trial.build, builds, self._limits.compile))
        left = {tiling: small for tiling, (_, small) in work.items() if tiling not in failures}
        checks = [(small, self._scalars) for small in left.values()]
        self._note_failures(failures, left, self._pool.map(trial.check, checks, self._limits.check))
        return failures

    def _note_failures(
        self, failures: dict[Tiling, Measurement], tilings: Iterable[Tiling], replies: Iterable[Reply]
    ) -> None:
        for tiling, reply in zip(tilings, replies, strict=True):
            if reply.outcome is not Outcome.OK:
                failures[tiling] = self._note("sample", tiling, _failure(reply))
            elif isinstance(reply.value, Resources):
                self.needs[tiling] = reply.value

    def sample(self, tiling: Tiling) -> Measurement:
        """Take one sample on the user's problem."""
        self._append({"kind": "begin", "tiling": str(tiling)})
        limit = max(self._limits.least, _MARGIN * self._best) if self._best else self._limits.run
        reply = self._pool.call(trial.sample, self._plan(tiling), self._scalars, self._steps, limit=limit)
        if reply.outcome is not Outcome.OK:
            return self._note("sample", tiling, _failure(reply))
        seconds = float(reply.value)
        self._best = min(self._best or seconds, seconds)
        return self._note("sample", tiling, Measurement(seconds=(seconds,)))

    def confirm(self, tiling: Tiling, second: Tiling) -> Measurement:
        """Compare the whole result on the user's problem with that of a second schedule.

        The candidate itself as its second schedule runs on one thread and in strict order.
        """
        if tiling in self._confirmed:
            return self._confirmed[tiling]
        share = self._request.problem.steps / self._steps
        limit = self._limits.run + 10 * _MARGIN * share * self._best
        other = self._plan(second, alone=second == tiling)
        reply = self._pool.call(trial.confirm, self._plan(tiling), self._scalars, other, limit=limit)
        return self._note("confirm", tiling, _failure(reply))

    def stopped(self) -> None:
        """Note that the session was stopped on purpose: the sample in progress is not to blame."""
        self._append({"kind": "stopped"})

    def _plan(self, tiling: Tiling, *, problem: Problem | None = None, alone: bool = False) -> Plan:
        """Plan a candidate, on one thread and in strict order if need be."""
        request = self._request
        target = replace(request.target, threads=1) if alone else request.target
        (plan,) = plans(problem or request.problem, target, tiling, strict=request.strict or alone)
        return plan

    def _note(self, kind: str, tiling: Tiling, measurement: Measurement) -> Measurement:
        seconds = measurement.seconds[0] if measurement.seconds else None
        self._append(
            {
                "kind": kind,
                "tiling": str(tiling),
                "seconds": seconds,
                "outcome": str(measurement.outcome),
                "detail": measurement.detail,
            }
        )
        return measurement

    def _append(self, record: Mapping[str, Any]) -> None:
        if self._log is not None:
            store.append(self._log, record)


def _failure(reply: Reply) -> Measurement:
    return Measurement(outcome=reply.outcome, detail=reply.detail[:_DETAIL])


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM end the block like Ctrl-C does, with a ``KeyboardInterrupt``, where this thread may say so."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
