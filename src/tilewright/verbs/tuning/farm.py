"""Tuning on a farm: candidates are compiled on any node of a ``concurrent.futures.Executor``, measured one per node.

A sample says which node took it. Nodes whose processor or compiler differ from those of the first one that answered
measure nothing that counts, since their times rank nothing; finalists are measured again on one node. A worker that is
lost costs the candidate that it had: candidates run in a process of their own there, so that only what ends the worker
itself does.
"""

import itertools
import logging
import platform
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import ToolchainError, UsageError
from tilewright.base.records import Measurement, Outcome, Resources
from tilewright.plan import Plan
from tilewright.planner import plans
from tilewright.runtime.host import available_cpus
from tilewright.runtime.store import folder as store
from tilewright.runtime.store import wisdom
from tilewright.runtime.workers.pool import pool
from tilewright.schedules.tiling import Tiling
from tilewright.verbs.tuning import trial
from tilewright.verbs.tuning.meter import History, Limits

LOGGER = logging.getLogger("tilewright")
AT_ONCE = 32
"""Candidates that a search hands to a farm together."""
_TRIES = 4
"""Times that a candidate is handed out while nodes of another kind take it."""
_DETAIL = 300
_MARGIN = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Where something was measured."""

    name: str  # the node's name
    cpus: int  # CPUs that a process may use there
    kind: wisdom.Circumstances  # processor and compiler; times of unlike nodes are not compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What a node is asked: a candidate on a small problem, and on the user's."""

    small: Plan | None  # the candidate, planned for a small problem, or None where it was checked before
    plan: Plan  # the candidate
    scalars: trial.Scalars
    steps: int  # steps of a sample
    limits: Limits  # of its processes
    memory: int | None  # most bytes of a process's address space


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a node found."""

    node: Node
    measurements: tuple[Measurement, ...]  # one per errand
    needs: Resources | None = None  # what the compiler says of the code


def here() -> Node:
    """Describe the node that this runs on."""
    return Node(name=platform.node(), cpus=available_cpus(), kind=wisdom.circumstances())


def attempt(errand: Errand) -> Answer:
    """Compile and check a candidate on this node, and take one sample while nothing else is measured here."""
    node = here()
    with pool(1, errand.memory) as processes:
        needs = None
        if errand.small is not None:
            limits = errand.limits
            built = processes.call(trial.build, errand.plan, limit=limits.compile)
            needs = built.value if isinstance(built.value, Resources) else None
            if built.outcome is Outcome.OK:
                built = processes.call(trial.check, errand.small, errand.scalars, limit=limits.compile + limits.check)
            if built.outcome is not Outcome.OK:
                failed = Measurement(outcome=built.outcome, detail=built.detail[:_DETAIL])
                return Answer(node=node, measurements=(failed,), needs=needs)
        with measuring(node):
            return Answer(node=node, measurements=(_sample(processes, errand),), needs=needs)


def finals(errands: Sequence[Errand], rounds: int) -> Answer:
    """Measure candidates again on this node, one after the other and all over again, so that drift hits them alike."""
    node = here()
    found: list[Measurement] = [Measurement(seconds=()) for _ in errands]
    with pool(1, errands[0].memory) as processes, measuring(node):
        for _, (number, errand) in itertools.product(range(rounds), enumerate(errands)):
            if found[number].outcome is Outcome.OK:
                one = _sample(processes, errand)
                found[number] = replace(one, seconds=(*found[number].seconds, *one.seconds))
    return Answer(node=node, measurements=tuple(found))


def confirmed(errand: Errand, second: Plan, limit: float) -> Answer:
    """Compare a candidate's result with that of a second schedule."""
    with pool(1, errand.memory) as processes:
        reply = processes.call(trial.confirm, errand.plan, errand.scalars, second, limit=limit)
    return Answer(node=here(), measurements=(Measurement(outcome=reply.outcome, detail=reply.detail[:_DETAIL]),))


def _sample(processes: Any, errand: Errand) -> Measurement:  # noqa: ANN401
    reply = processes.call(trial.sample, errand.plan, errand.scalars, errand.steps, limit=errand.limits.run)
    if reply.outcome is not Outcome.OK:
        return Measurement(outcome=reply.outcome, detail=reply.detail[:_DETAIL])
    return Measurement(seconds=(float(reply.value),))


@contextmanager
def measuring(node: Node) -> Iterator[None]:
    """Wait until no other process measures on this node, and keep others from it; without a store nothing is kept."""
    root = store.directory()
    try:
        import fcntl
    except ImportError:  # Windows: nobody is kept from measuring
        root = None
    if root is None:
        yield
        return
    with (root / f"measuring-{node.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What nodes do; tests put simulated measurements in its place."""

    here: Callable[[], Node] = here  # describes the node it runs on
    attempt: Callable[[Errand], Answer] = attempt  # compiles, checks and measures a candidate once
    finals: Callable[[Sequence[Errand], int], Answer] = finals  # measures several again
    confirmed: Callable[[Errand, Plan, float], Answer] = confirmed  # compares a result with a second schedule's


WORK = Work()
_QUESTIONS = 3
"""How often workers are asked what they are, before none of them is taken to answer."""


def first_node(executor: Executor, limits: Limits, work: Work = WORK) -> Node:
    """Return the node that answers first: its kind is the one that is measured on.

    A worker that is lost while it is asked costs the question alone, which another one is asked again.
    """
    if not callable(getattr(executor, "submit", None)):
        raise UsageError(f"executor is a concurrent.futures.Executor, got {type(executor).__name__}")
    for _ in range(_QUESTIONS):
        try:
            asked: Future[Node] = _submit(executor, work.here)
            answer = asked.result(timeout=10 * limits.compile)
            if isinstance(answer, Node):
                return answer
            lost: Exception = TypeError(f"it said {answer!r:.60}, which describes no node")
        except Exception as error:  # noqa: BLE001  (whatever an executor raises)
            lost = error
    raise ToolchainError(
        f"no worker of the executor answers: {type(lost).__name__}: {lost}", "they need tilewright as well"
    ) from lost


class FarmMeter:
    """A :class:`tilewright.tuning.search.Farm` that measures on the nodes of an executor, and writes a log."""

    def __init__(
        self,
        executor: Executor,
        node: Node,  # the executor's first
        errand: Errand,  # its plans are replaced by every candidate's
        *,
        log: Path | None = None,
        history: History | None = None,
        work: Work = WORK,
    ) -> None:
        self._executor, self._kind, self._errand = executor, node.kind, errand
        self._log, self._work = log, work
        self._first: dict[Tiling, Measurement] = {}
        self._confirmed = {} if history is None else dict(history.confirmed)
        self.needs: dict[Tiling, Resources] = {}
        """What the compiler says of the candidates that were built, where it does."""
        self.nodes: dict[str, int] = {}
        """By name of the node, how many candidates it measured."""

    def build(self, tilings: Sequence[Tiling]) -> dict[Tiling, Measurement]:
        """Compile, check and measure candidates, as many at a time as there are nodes; return what failed."""
        failures: dict[Tiling, Measurement] = {}
        legal: list[Tiling] = []

        def calls() -> Iterator[tuple[Any, ...]]:
            for tiling in tilings:
                try:
                    errand = self._candidate(tiling, checked=False)
                except UsageError as error:
                    failures[tiling] = self._note(tiling, _failed(Outcome.ILLEGAL, str(error)))
                    continue
                legal.append(tiling)
                yield self._work.attempt, errand

        answers = self._answers(calls())
        for tiling, answer in zip(legal, answers, strict=True):
            (measured,) = answer.measurements if isinstance(answer, Answer) else (answer,)
            self._note(tiling, measured, answer)
            if measured.outcome is Outcome.OK:
                self._first[tiling] = measured
            else:
                failures[tiling] = measured
            if isinstance(answer, Answer) and answer.needs is not None:
                self.needs[tiling] = answer.needs
        return failures

    def sample(self, tiling: Tiling) -> Measurement:
        """Return the sample that was taken when the candidate was built, or take another one."""
        known = self._first.pop(tiling, None)
        if known is not None:
            return known
        answer = self._answers([(self._work.attempt, self._candidate(tiling, checked=True))])[0]
        return self._note(tiling, answer.measurements[0] if isinstance(answer, Answer) else answer, answer)

    def finals(self, tilings: Sequence[Tiling], rounds: int) -> Mapping[Tiling, Measurement]:
        """Measure candidates again, all on one node; nothing where it was lost."""
        errands = [self._candidate(tiling, checked=True) for tiling in tilings]
        answer = self._answers([(self._work.finals, errands, rounds)])[0]
        if not isinstance(answer, Answer):
            LOGGER.warning("the finalists were not measured again: %s", answer.detail)
            return {}
        for tiling, measured in zip(tilings, answer.measurements, strict=True):
            self._note(tiling, measured, answer)
        return dict(zip(tilings, answer.measurements, strict=True))

    def confirm(self, tiling: Tiling, second: Tiling) -> Measurement:
        """Compare the whole result on the user's problem with that of a second schedule."""
        if tiling in self._confirmed:
            return self._confirmed[tiling]
        errand, limits = self._candidate(tiling, checked=True), self._errand.limits
        other = self._plan(second, alone=second == tiling)
        limit = limits.run * (1 + _MARGIN * errand.plan.problem.steps / self._errand.steps)
        answer = self._answers([(self._work.confirmed, errand, other, limit)])[0]
        measured = answer.measurements[0] if isinstance(answer, Answer) else answer
        return self._note(tiling, measured, answer, kind="confirm")

    def stopped(self) -> None:
        """Note nothing: samples are written when they are there."""

    def _candidate(self, tiling: Tiling, *, checked: bool) -> Errand:
        problem = self._errand.plan.problem
        small = None
        if not checked:
            small = self._plan(tiling, small=True)
        return replace(self._errand, small=small, plan=self._plan(tiling)) if problem.steps else self._errand

    def _plan(self, tiling: Tiling, *, small: bool = False, alone: bool = False) -> Plan:
        request = self._errand.plan
        target = replace(request.target, threads=1) if alone else request.target
        problem = trial.small_problem(request.problem, tiling) if small else request.problem
        (plan,) = plans(problem, target, tiling, strict=request.strict or alone)
        return plan

    def _answers(self, asked: Iterable[tuple[Any, ...]]) -> list[Answer | Measurement]:
        """Hand calls out, again where a node of another kind took one; what became of each."""
        found: dict[int, Answer | Measurement] = {}
        calls: list[tuple[Any, ...]] = []
        tries: dict[int, int] = {}
        under_way: dict[Future[Answer], int] = {}
        limits = self._errand.limits
        patience = 60.0 + 2 * (2 * limits.compile + limits.check) + 10 * limits.run

        def hand_out(number: int) -> None:
            try:
                under_way[_submit(self._executor, *calls[number])] = number
            except Exception as error:  # noqa: BLE001  (any executor's own)
                found[number] = _lost(error)

        for number, call in enumerate(asked):
            calls.append(call)
            tries[number] = 1
            hand_out(number)
        while under_way:
            ended, _ = wait(under_way, timeout=patience, return_when=FIRST_COMPLETED)
            for future in ended or list(under_way):
                number = under_way.pop(future)
                if not ended:
                    future.cancel()
                    found[number] = _lost(TimeoutError(f"nothing was answered for {patience:.0f} s"))
                    continue
                try:
                    answer = _checked(future.result(), calls[number])
                except Exception as error:  # noqa: BLE001  (any executor's own)
                    found[number] = _lost(error)
                    continue
                if answer.node.kind == self._kind:
                    self.nodes[answer.node.name] = self.nodes.get(answer.node.name, 0) + len(answer.measurements)
                    found[number] = answer
                elif tries[number] < _TRIES:
                    tries[number] += 1
                    hand_out(number)
                else:
                    found[number] = _failed(
                        Outcome.LAUNCH,
                        f"nodes of another kind took it, {answer.node.name!r} with {answer.node.kind.device!r}: "
                        f"times are those of {self._kind.device!r}",
                    )
        return [found[number] for number in range(len(calls))]

    def _note(
        self, tiling: Tiling, measured: Measurement, answer: Answer | Measurement | None = None, kind: str = "sample"
    ) -> Measurement:
        if self._log is not None:
            about = {}
            if isinstance(answer, Answer):
                about = {"node": answer.node.name, "processor": answer.node.kind.device_key}
            for seconds in measured.seconds or (None,):
                record = {"kind": kind, "tiling": str(tiling), "seconds": seconds, **about}
                store.append(self._log, {**record, "outcome": str(measured.outcome), "detail": measured.detail})
        return measured


def _submit(executor: Executor, work: Callable[..., Any], *arguments: Any) -> Future[Any]:  # noqa: ANN401
    """Hand out a call that is like no other.

    Dask's executor takes equal calls for one and answers a repeat with what it knows: a lost worker again, the node of
    another kind again, or a sample that nobody took anew.
    """
    return executor.submit(_once, uuid.uuid4().hex, work, *arguments)


def _once(_name: str, work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    return work(*arguments)


def _checked(answer: object, call: tuple[Any, ...]) -> Answer:
    """Return what a node answered, if it is an answer to what it was asked."""
    asked = len(call[1]) if isinstance(call[1], list) else 1
    found = answer.measurements if isinstance(answer, Answer) and isinstance(answer.node, Node) else ()
    if isinstance(answer, Answer) and len(found) == asked and all(isinstance(each, Measurement) for each in found):
        return answer
    raise TypeError(f"it answered {answer!r:.60}, which is no measurement")


def _failed(outcome: Outcome, detail: str) -> Measurement:
    return Measurement(outcome=outcome, detail=detail[:_DETAIL])


def _lost(error: BaseException) -> Measurement:
    return _failed(Outcome.CRASH, f"its worker was lost: {type(error).__name__}: {error}")
