"""Measuring with a log: what the search is given, and what makes it resumable.

One meter, whoever measures: worker processes of this machine, or the nodes of an executor
(:mod:`tilewright.verbs.tuning.farm`).
"""

import math
from abc import ABC, abstractmethod
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
from tilewright.runtime.store import wisdom
from tilewright.runtime.warn import warn_skipped
from tilewright.runtime.workers.pool import WorkerPool
from tilewright.schedules.tiling import Tiling, is_gone, parse
from tilewright.tuning.search import merge
from tilewright.verbs.tuning import trial

_FATAL = 3  # so many sessions that died while they measured one candidate make it a crash
MARGIN = 20.0  # times the best sample that another one may take
_DETAIL = 300  # characters of a failure that are kept


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
    names: set[str] = set()
    for record in [] if path is None else store.read(path):
        kind = record.get("kind")
        if kind == "restart":
            samples, confirmed, open_ones = [], {}, {}
        if kind == "stopped":
            open_ones = {tiling: count - 1 for tiling, count in open_ones.items()}
        if is_gone(record.get("tiling")):
            names.add(str(record["tiling"]))
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
        warn_skipped(len(names), path.name)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What is asked of whoever measures."""

    plan: Plan  # the candidate
    small: Plan | None = None  # the candidate, planned for a small problem; None where it was checked before
    scalars: trial.Scalars
    steps: int  # of a sample; at most the problem's
    limits: Limits  # of the processes
    memory: int | None = None  # most bytes of a process's address space


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Where something was measured."""

    name: str  # the node's name
    cpus: int  # CPUs that a process may use there
    kind: wisdom.Circumstances  # processor and compiler; times of unlike nodes are not compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of errands."""

    measurements: tuple[Measurement, ...]  # one per errand; without a sample where that is still to be taken
    needs: Resources | None = None  # what the compiler says of the code
    node: Node | None = None  # where it was measured, unless that is here


def ended(outcome: Outcome, detail: str) -> Measurement:
    """Return how an attempt ended, for a log."""
    return Measurement(outcome=outcome, detail=detail[:_DETAIL])


class Meter(ABC):
    """A :class:`tilewright.tuning.search.Meter` with a log, which is written at once; whoever measures says how."""

    def __init__(
        self,
        errand: Errand,  # its plans are replaced by every candidate's
        log: Path | None = None,
        history: History | None = None,
    ) -> None:
        self._errand, self._log = errand, log
        self._confirmed = {} if history is None else dict(history.confirmed)
        self._first: dict[Tiling, Measurement] = {}
        self.needs: dict[Tiling, Resources] = {}
        """What the compiler says of the candidates that were built, where it does."""

    @abstractmethod
    def _attempt(self, errands: Iterable[Errand]) -> list[Answer]:
        """Compile candidates and check them on small problems; a sample may be taken at once."""

    @abstractmethod
    def _sample(self, errand: Errand) -> Answer:
        """Take one sample."""

    @abstractmethod
    def _compare(self, errand: Errand, second: Plan) -> Answer:
        """Compare a candidate's result with that of a second schedule."""

    def build(self, tilings: Sequence[Tiling]) -> dict[Tiling, Measurement]:
        """Compile, then check on a small problem; return what failed."""
        failures: dict[Tiling, Measurement] = {}
        legal: list[Tiling] = []

        def errands() -> Iterator[Errand]:
            for tiling in tilings:
                try:
                    small = trial.small_problem(self._errand.plan.problem, tiling)
                    errand = replace(self._candidate(tiling), small=self._plan(tiling, problem=small))
                except UsageError as error:
                    failures[tiling] = ended(Outcome.ILLEGAL, str(error))
                    self._note("sample", tiling, failures[tiling])
                else:
                    legal.append(tiling)
                    yield errand

        for tiling, answer in zip(legal, self._attempt(errands()), strict=True):
            (measured,) = answer.measurements
            if measured.outcome is not Outcome.OK:
                failures[tiling] = measured
            elif measured.seconds:
                self._first[tiling] = measured
            if measured.seconds or measured.outcome is not Outcome.OK:
                self._note("sample", tiling, measured, answer.node)
            if answer.needs is not None:
                self.needs[tiling] = answer.needs
        return failures

    def sample(self, tiling: Tiling) -> Measurement:
        """Return the sample that was taken when the candidate was built, or take one on the user's problem."""
        measurement = self._first.pop(tiling, None)
        return measurement or self._noted("sample", tiling, self._sample(self._candidate(tiling)))

    def confirm(self, tiling: Tiling, second: Tiling) -> Measurement:
        """Compare the whole result on the user's problem with that of a second schedule.

        The candidate itself as its second schedule runs on one thread and in strict order.
        """
        if tiling in self._confirmed:
            return self._confirmed[tiling]
        other = self._plan(second, alone=second == tiling)
        return self._noted("confirm", tiling, self._compare(self._candidate(tiling), other))

    def stopped(self) -> None:
        """Note that the session was stopped on purpose: the sample in progress is not to blame."""
        self._append({"kind": "stopped"})

    def _candidate(self, tiling: Tiling) -> Errand:
        return replace(self._errand, plan=self._plan(tiling))

    def _plan(self, tiling: Tiling, *, problem: Problem | None = None, alone: bool = False) -> Plan:
        """Plan a candidate, on one thread and in strict order if need be."""
        request = self._errand.plan
        target = replace(request.target, threads=1) if alone else request.target
        (plan,) = plans(problem or request.problem, target, tiling, strict=request.strict or alone)
        return plan

    def _noted(self, kind: str, tiling: Tiling, answer: Answer) -> Measurement:
        self._note(kind, tiling, answer.measurements[0], answer.node)
        return answer.measurements[0]

    def _note(self, kind: str, tiling: Tiling, measured: Measurement, node: Node | None = None) -> None:
        where = {} if node is None else {"node": node.name, "processor": node.kind.device_key}
        for seconds in measured.seconds or (None,):
            record = {"kind": kind, "tiling": str(tiling), "seconds": seconds, **where}
            self._append({**record, "outcome": str(measured.outcome), "detail": measured.detail})

    def _append(self, record: Mapping[str, Any]) -> None:
        if self._log is not None:
            store.append(self._log, record)


class WorkerMeter(Meter):
    """Measures in worker processes of this machine.

    A record of a sample follows it at once, so that a session that is killed loses the sample in progress alone.
    """

    def __init__(
        self,
        pool: WorkerPool,  # samples are all taken in the first worker
        errand: Errand,
        log: Path | None = None,
        history: History | None = None,
    ) -> None:
        super().__init__(errand, log, history)
        self._pool = pool
        samples = [] if history is None else [each.seconds for each in history.measurements.values() if each.seconds]
        self._best = min((sum(each) / len(each) for each in samples), default=0.0)

    def _attempt(self, errands: Iterable[Errand]) -> list[Answer]:
        every, limits = list(errands), self._errand.limits
        built = self._pool.map(trial.build, [(each.plan,) for each in every], limits.compile)
        picks = [number for number, reply in enumerate(built) if reply.outcome is Outcome.OK]
        checks = [(every[number].small, self._errand.scalars) for number in picks]
        last = dict(enumerate(built)) | dict(zip(picks, self._pool.map(trial.check, checks, limits.check), strict=True))
        return [
            Answer(measurements=(ended(last[number].outcome, last[number].detail),), needs=reply.value)
            for number, reply in enumerate(built)
        ]

    def _sample(self, errand: Errand) -> Answer:
        self._append({"kind": "begin", "tiling": str(errand.plan.tiling)})
        limit = max(errand.limits.least, MARGIN * self._best) if self._best else errand.limits.run
        measured = sampled(self._pool, errand, limit)
        if measured.seconds:
            self._best = min(self._best or math.inf, *measured.seconds)
        return Answer(measurements=(measured,))

    def _compare(self, errand: Errand, second: Plan) -> Answer:
        share = errand.plan.problem.steps / errand.steps
        limit = errand.limits.run + 10 * MARGIN * share * self._best
        return Answer(measurements=(compared(self._pool, errand, second, limit),))


def sampled(processes: WorkerPool, errand: Errand, limit: float) -> Measurement:
    """Take one sample of a candidate in a worker process."""
    reply = processes.call(trial.sample, errand.plan, errand.scalars, errand.steps, limit=limit)
    is_ok = reply.outcome is Outcome.OK
    return Measurement(seconds=(float(reply.value),)) if is_ok else ended(reply.outcome, reply.detail)


def compared(processes: WorkerPool, errand: Errand, second: Plan, limit: float) -> Measurement:
    """Compare a candidate's result with that of a second schedule in a worker process."""
    reply = processes.call(trial.confirm, errand.plan, errand.scalars, second, limit=limit)
    return ended(reply.outcome, reply.detail)


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
