"""Bands of steps: all their states are computed again in one run, which keeps them, and taken back in another.

The adjoint reads a forward state per step. In a band these states lie one behind the other in the memory of the forward
run, and the kernel of the adjoint goes through them from the end, so that no state is copied and both runs are tiled in
time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tilewright.inputs.arrays import Array
from tilewright.programs.stencil.adjoint_parts import Adjoint, Split
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.storage import Storage
from tilewright.runtime.kernels import CpuKernel
from tilewright.runtime.session import SHARED, Inputs, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Some steps of a run or of its adjoint, and the states that they keep or read."""

    problem: Problem
    storage: Storage


def bands_of(problem: Problem, back: Problem, adjoint: Adjoint, steps: int) -> tuple[Band, Band] | None:
    """Return bands of at most so many steps, and back; None if a step back needs states older than its first."""
    if any(adjoint.states[name][1] < 0 for name in adjoint.changing):
        return None
    most = max(problem.program.history(field) for field in problem.program.updated)
    forward = Band(problem=replace(problem, steps=steps), storage=Storage(kept=steps + most))
    return forward, Band(problem=replace(back, steps=steps), storage=Storage(series=adjoint.changing))


def split_problem(whole: Problem, split: Split) -> Problem:
    """Return an adjoint's problem by regions of cells."""
    problem = make_problem(split.program, whole.shape, whole.steps, whole.dtype, split.boundary, whole.varying)
    return replace(problem, regions=tuple(split.regions.items()))


def joined(split: Split, newest: Callable[[str], Array], worth: Mapping[str, Array], threads: int) -> dict[str, Array]:
    """Return what everything is worth, each side's kept cells put together; ``worth`` is added to in place."""
    parts = {name for names in split.rims.values() for name in names}
    found = {name: SHARED.copied(newest(name), threads) for name in split.program.updated if name not in parts}
    for rim, names in split.rims.items():
        total = found[rim] = worth[rim]
        for name in names:
            spans = split.regions[name]
            box = tuple(slice(low, high or None) for low, high in spans)
            total[box] += newest(name)[box]
    return found


class BandsBack:
    """Bands that are taken back one after the other."""

    def __init__(
        self,
        adjoint: Adjoint,
        problems: tuple[Problem, Problem],  # of :func:`bands_of`
        kernels: tuple[CpuKernel, CpuKernel],
        inputs_back: Inputs,  # without forward states
        # what cells that no step updates are worth, by the fields that sum it; added to in place
        rims: Mapping[str, Array],
        threads: int,
    ) -> None:
        """Start with what the last state is worth."""
        self._adjoint, self._problems, self._kernels, self._threads = adjoint, problems, kernels, threads
        self._rims = rims
        self._back = kernels[1].start(problems[1], inputs_back, threads)
        self._forward: Session | None = None

    def take_back(self, inputs: Inputs, steps: int) -> None:
        """Take back some steps, at most those of a band."""
        if self._forward is None:
            self._forward = self._kernels[0].start(self._problems[0], inputs, self._threads)
        else:
            self._forward.begin(inputs.arrays, inputs.first)
        after = {name: self._adjoint.states[name] for name in self._adjoint.changing}
        # The last step's own new values are read by no derivative but that of statements that read them.
        self._forward.advance(steps if any(level == 1 for _, level in after.values()) else steps - 1, last=True)
        for name, (field, level) in after.items():
            self._back.read_from(name, self._forward.address(field, self._forward.steps - (steps - 1 + level)))
        self._back.advance(steps, last=True)

    def results(self) -> dict[str, Array]:
        """Return what everything is worth."""
        split = self._adjoint.split
        return self._back.results() if split is None else joined(split, self._back.newest, self._rims, self._threads)

    def close(self) -> None:
        """Hand the memory back."""
        self._back.close()
        if self._forward is not None:
            self._forward.close()
