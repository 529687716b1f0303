"""``tw.predict_gradient``: what a gradient costs on a machine, by the models of the runs that it is made of."""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.base.units import format_seconds, format_shape, parse_bytes
from tilewright.costs.setting import make_setting
from tilewright.costs.time import copy_seconds
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.adjoint_parts import Adjoint
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.tuning.choice import choose_tiling, whole_run_seconds
from tilewright.verbs.dispatch import AnyProgram, workload_of
from tilewright.verbs.gradients.checkpoints import Forward, Reverse, schedule
from tilewright.verbs.gradients.problems import Band, at_once, bands_of, split_problem
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workload import Request


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GradientPrediction(Record):
    """What a gradient is expected to cost."""

    KEYS = (
        "program=problem.program.name machine=machine.name shape=problem.shape steps=problem.steps "
        "dtype=problem.dtype states run_seconds forward_seconds again_seconds back_seconds seconds ratio"
    )

    problem: Problem  # the forward problem
    machine: Machine
    states: int  # forward states in memory at a time; 0 where none are needed
    run_seconds: float  # a run alone
    forward_seconds: float  # the run with what it keeps
    again_seconds: float  # states computed again, from checkpoint to checkpoint and in bands that keep every state
    back_seconds: float  # the steps of the adjoint

    @property
    def seconds(self) -> float:
        """The whole gradient, the run included."""
        return self.forward_seconds + self.again_seconds + self.back_seconds

    @property
    def ratio(self) -> float:
        """The gradient over a run."""
        return self.seconds / self.run_seconds if self.run_seconds else math.inf

    def __str__(self) -> str:
        parts = {
            "forward": self.forward_seconds,
            "states again": self.again_seconds,
            "steps back": self.back_seconds,
        }
        head = f"gradient of {self.problem.program.name} {format_shape(self.problem.shape)}, {self.problem.steps} steps"
        states = f", {self.states} states" if self.states else ""
        lines = [f"{head} on {self.machine.name}{states}: {format_seconds(self.seconds)}, {self.ratio:.1f} runs"]
        return "\n".join([*lines, *(f"  {name}: {format_seconds(value)}" for name, value in parts.items() if value)])


def predict_gradient(
    program: AnyProgram,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike = "host",
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    wrt: Sequence[str] | None = None,
    memory: int | str | None = None,
    checkpoints: int | None = None,
    **scalars: Any,  # noqa: ANN401
) -> GradientPrediction:
    """Predict what :func:`tilewright.vjp` and its pullback cost on a CPU. Nothing is compiled or measured.

    Args:
        program: A stencil, a program, or the name of a built-in one.
        shape: Extents of the grid.
        steps: Time steps.
        machine: A CPU, its name in the catalogue, ``host``, or the path of a machine file.
        dtype: Element type.
        boundary: Boundaries.
        wrt: As for ``vjp``.
        memory: As for ``vjp``; all states by default.
        checkpoints: As for ``vjp``.
        **scalars: Scalars of the program, as for :func:`tilewright.predict`.

    Returns:
        The prediction.

    Raises:
        UsageError: If anything is unknown or does not fit, or the program has no adjoint.

    Examples:
        >>> found = predict_gradient("jacobi2d", shape=(1024, 1024), steps=100, machine="zen3")
        >>> 1.5 < found.ratio < 3.5
        True
    """
    where = as_machine(machine)
    request = Request(shape=shape, steps=steps, dtype=dtype, boundary=boundary, model="exact", scope=None)
    problem = workload_of(program, scalars, request, where).problem
    if not isinstance(problem, Problem) or where.kind != "cpu":
        raise UsageError("the cost of a gradient is predicted for stencils on CPUs", "such as machine='host'")
    sides = dict(zip(problem.program.fields, problem.boundaries, strict=True))
    adjoint = adjoint_of(problem.program, sides, wrt, problem.varying)
    whole = make_problem(adjoint.program, shape, steps, dtype, adjoint.boundary, problem.varying)
    run = _run_seconds(problem, where)
    if adjoint.changing:
        states = _slots(problem, memory, checkpoints)
        forward, again, back = _with_states(problem, whole, adjoint, where, states)
    else:
        states, forward, again = 0, run, 0.0
        back = sum(_run_seconds(each, where) for each in at_once(whole, adjoint).problems)
    return GradientPrediction(
        problem=problem,
        machine=where,
        states=states,
        run_seconds=run,
        forward_seconds=forward,
        again_seconds=again,
        back_seconds=back,
    )


def _slots(problem: Problem, memory: int | str | None, checkpoints: int | None) -> int:
    if checkpoints is not None:
        return checkpoints
    if memory is None:
        return problem.steps
    levels = sum(problem.program.history(field) for field in problem.program.updated)
    return max(2, parse_bytes(memory) // (levels * problem.cells * problem.itemsize))


def _run_seconds(problem: Problem, machine: Machine) -> float:
    return whole_run_seconds(problem, choose_tiling(problem, machine), machine)


def _with_states(
    problem: Problem, whole: Problem, adjoint: Adjoint, machine: Machine, slots: int
) -> tuple[float, float, float]:
    """Seconds forward, of states computed again, and back, for a program whose derivative depends on its states."""
    plan = schedule(problem.steps, slots)
    runs = [[b - a for a, b in itertools.pairwise(each.at)] for each in plan if isinstance(each, Forward)]
    lengths = [each.steps for each in plan if isinstance(each, Reverse)]
    back = whole if adjoint.split is None else split_problem(whole, adjoint.split)
    bands = bands_of(problem, back, adjoint, max(lengths))
    keeper, taker = bands or (Band(problem=replace(each, steps=1)) for each in (problem, back))
    step = problem.cells * problem.itemsize
    setting = make_setting(problem, machine)
    # What is copied is read, fetched and written.
    copy = 3.0 * step * setting.rates.word_seconds / 4 / setting.rates.sm_count * setting.facts.levels

    @functools.cache
    def kernel(form: Problem, steps: int, storage: Storage = PLAIN) -> tuple[float, bool]:
        """Seconds of some steps of a problem under the tiling of its own number of steps, and whether it streams."""
        tiling = choose_tiling(form, machine, storage)
        each = replace(form, steps=steps)
        seconds = whole_run_seconds(each, tiling, machine, storage)
        streams = tiling.family.streams
        return seconds - (0.0 if streams else copy_seconds(make_setting(each, machine, storage=storage))), streams

    start = copy_seconds(setting)
    newest = all(problem.program.history(field) == 1 for field in problem.program.updated)

    def advanced(steps: Sequence[int]) -> float:
        form = replace(problem, steps=max(steps))
        each = [kernel(form, count) for count in steps]
        copies = 0.0 if newest and each[0][1] else start + copy * len(steps)
        return copies + sum(seconds for seconds, _ in each)

    each = lengths if bands else [1] * problem.steps  # without bands every step goes back by itself
    again = start + sum(map(advanced, runs[1:]))
    again += sum(copy + kernel(keeper.problem, steps, keeper.storage)[0] for steps in each)
    last = copy_seconds(make_setting(taker.problem, machine, storage=taker.storage))
    return advanced(runs[0]), again, last + sum(kernel(taker.problem, steps, taker.storage)[0] for steps in each)
