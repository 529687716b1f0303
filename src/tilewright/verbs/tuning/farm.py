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
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import ToolchainError, UsageError
from tilewright.base.records import Measurement, Outcome
from tilewright.plan import Plan
from tilewright.runtime.host import available_cpus
from tilewright.runtime.store import folder as store
from tilewright.runtime.store import wisdom
from tilewright.runtime.workers.pool import pool
from tilewright.schedules.tiling import Tiling
from tilewright.verbs.tuning import meter, trial

LOGGER = logging.getLogger("tilewright")
AT_ONCE = 32  # candidates that a search hands to a farm together
_TRIES = 4  # times that a candidate is handed out while nodes of another kind take it


def here() -> meter.Node:
    """Describe the node that this runs on."""
    return meter.Node(name=platform.node(), cpus=available_cpus(), kind=wisdom.circumstances())


def attempt(errand: meter.Errand) -> meter.Answer:
    """Compile and check a candidate on this node, and take one sample while nothing else is measured here."""
    node, limits, needs = here(), errand.limits, None
    with pool(1, errand.memory) as processes:
        if errand.small is not None:
            built = processes.call(trial.build, errand.plan, limit=limits.compile)
            needs = built.value
            if built.outcome is Outcome.OK:
                built = processes.call(trial.check, errand.small, errand.scalars, limit=limits.compile + limits.check)
            if built.outcome is not Outcome.OK:
                return meter.Answer(node=node, measurements=(meter.ended(built.outcome, built.detail),), needs=needs)
        with measuring(node):
            return meter.Answer(node=node, measurements=(meter.sampled(processes, errand, limits.run),), needs=needs)


def finals(errands: Sequence[meter.Errand], rounds: int) -> meter.Answer:
    """Measure candidates again on this node, one after the other and all over again, so that drift hits them alike."""
    node = here()
    measurements: list[Measurement] = [Measurement(seconds=()) for _ in errands]
    with pool(1, errands[0].memory) as processes, measuring(node):
        for _, (number, errand) in itertools.product(range(rounds), enumerate(errands)):
            if measurements[number].outcome is Outcome.OK:
                sample = meter.sampled(processes, errand, errand.limits.run)
                measurements[number] = replace(sample, seconds=(*measurements[number].seconds, *sample.seconds))
    return meter.Answer(node=node, measurements=tuple(measurements))


def confirmed(errand: meter.Errand, second: Plan, limit: float) -> meter.Answer:
    """Compare a candidate's result with that of a second schedule."""
    with pool(1, errand.memory) as processes:
        return meter.Answer(node=here(), measurements=(meter.compared(processes, errand, second, limit),))


@contextmanager
def measuring(node: meter.Node) -> Iterator[None]:
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


_QUESTIONS = 3  # how often workers are asked what they are, before none of them is taken to answer


def first_node(executor: Executor, limits: meter.Limits, describe: Callable[[], meter.Node] = here) -> meter.Node:
    """Return the node that answers first: its kind is the one that is measured on.

    A worker that is lost while it is asked costs the question alone, which another one is asked again.
    """
    if not callable(getattr(executor, "submit", None)):
        raise UsageError(f"executor is a concurrent.futures.Executor, got {type(executor).__name__}")
    for _ in range(_QUESTIONS):
        try:
            question: Future[meter.Node] = _submit(executor, describe)
            answer = question.result(timeout=10 * limits.compile)
            if isinstance(answer, meter.Node):
                return answer
            lost: Exception = TypeError(f"it said {answer!r:.60}, which describes no node")
        except Exception as error:  # noqa: BLE001  (whatever an executor raises)
            lost = error
    raise ToolchainError(
        f"no worker of the executor answers: {type(lost).__name__}: {lost}", "they need tilewright as well"
    ) from lost


class FarmMeter(meter.Meter):
    """Measures on the nodes of an executor, as many candidates at a time as there are nodes."""

    def __init__(
        self,
        executor: Executor,
        node: meter.Node,  # the executor's first
        errand: meter.Errand,
        *,
        log: Path | None = None,
        history: meter.History | None = None,
        work: Callable[[meter.Errand], meter.Answer] = attempt,  # what a node does with a candidate
    ) -> None:
        super().__init__(errand, log, history)
        self._executor, self._kind, self._work = executor, node.kind, work
        self.nodes: dict[str, int] = {}  # by name of the node, how many candidates it measured

    def _attempt(self, errands: Iterable[meter.Errand]) -> list[meter.Answer]:
        return self._answers((self._work, each) for each in errands)

    def _sample(self, errand: meter.Errand) -> meter.Answer:
        return self._answers([(self._work, errand)])[0]

    def _compare(self, errand: meter.Errand, second: Plan) -> meter.Answer:
        limit = errand.limits.run * (1 + meter.MARGIN * errand.plan.problem.steps / errand.steps)
        return self._answers([(confirmed, errand, second, limit)])[0]

    def finals(self, tilings: Sequence[Tiling], rounds: int) -> Mapping[Tiling, Measurement]:
        """Measure candidates again, all on one node; nothing where it was lost."""
        answer = self._answers([(finals, [self._candidate(tiling) for tiling in tilings], rounds)])[0]
        if answer.node is None:
            LOGGER.warning("the finalists were not measured again: %s", answer.measurements[0].detail)
            return {}
        for tiling, measured in zip(tilings, answer.measurements, strict=True):
            self._note("sample", tiling, measured, answer.node)
        return dict(zip(tilings, answer.measurements, strict=True))

    def _answers(self, requests: Iterable[tuple[Any, ...]]) -> list[meter.Answer]:
        """Hand calls out, again where a node of another kind took one; what became of each."""
        answers: dict[int, meter.Answer] = {}
        calls: list[tuple[Any, ...]] = []
        tries: dict[int, int] = {}
        under_way: dict[Future[meter.Answer], int] = {}
        limits = self._errand.limits
        patience = 60.0 + 2 * (2 * limits.compile + limits.check) + 10 * limits.run

        def hand_out(number: int) -> None:
            try:
                under_way[_submit(self._executor, *calls[number])] = number
            except Exception as error:  # noqa: BLE001  (any executor's own)
                answers[number] = _lost_answer(error)

        for number, call in enumerate(requests):
            calls.append(call)
            tries[number] = 1
            hand_out(number)
        while under_way:
            futures, _ = wait(under_way, timeout=patience, return_when=FIRST_COMPLETED)
            for future in futures or list(under_way):
                number = under_way.pop(future)
                if not futures:
                    future.cancel()
                    answers[number] = _lost_answer(TimeoutError(f"nothing was answered for {patience:.0f} s"))
                    continue
                try:
                    answer, node = _checked_answer(future.result(), calls[number])
                except Exception as error:  # noqa: BLE001  (any executor's own)
                    answers[number] = _lost_answer(error)
                    continue
                if node.kind == self._kind:
                    self.nodes[node.name] = self.nodes.get(node.name, 0) + len(answer.measurements)
                    answers[number] = answer
                elif tries[number] < _TRIES:
                    tries[number] += 1
                    hand_out(number)
                else:
                    detail = f"nodes of another kind took it, {node.name!r} with {node.kind.device!r}: "
                    detail += f"times are those of {self._kind.device!r}"
                    answers[number] = meter.Answer(measurements=(meter.ended(Outcome.LAUNCH, detail),))
        return [answers[number] for number in range(len(calls))]


def _submit(executor: Executor, work: Callable[..., Any], *arguments: Any) -> Future[Any]:  # noqa: ANN401
    # Dask's executor takes equal calls for one and answers a repeat with what it knows: a lost worker again, the node
    # of another kind again, or a sample that nobody took anew.
    return executor.submit(_once, uuid.uuid4().hex, work, *arguments)


def _once(_name: str, work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    return work(*arguments)


def _checked_answer(answer: object, call: tuple[Any, ...]) -> tuple[meter.Answer, meter.Node]:
    """Return what a node answered and the node, if it is an answer to what it was asked."""
    count = len(call[1]) if isinstance(call[1], list) else 1
    if isinstance(answer, meter.Answer) and isinstance(answer.node, meter.Node):
        measurements = answer.measurements
        if len(measurements) == count and all(isinstance(each, Measurement) for each in measurements):
            return answer, answer.node
    raise TypeError(f"it answered {answer!r:.60}, which is no measurement")


def _lost_answer(error: BaseException) -> meter.Answer:
    why = f"its worker was lost: {type(error).__name__}: {error}"
    return meter.Answer(measurements=(meter.ended(Outcome.CRASH, why),))
