"""The problems of an adjoint: what steps back are computed by, with the states that they read.

The adjoint reads a forward state per step. In a *band* of steps all their states are computed again in one run, which
keeps them, one behind the other in its memory; the kernel of the adjoint goes through them from the end, so that no
state is copied and both runs are tiled in time. Steps that depend on no state are taken back in as few runs as
:class:`AtOnce` says.
"""

from dataclasses import dataclass, replace
from typing import Literal

from tilewright.programs.stencil.adjoint_parts import Adjoint, Inner, Split
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.storage import PLAIN, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnce:
    """Runs, one after the other, that take back steps that depend on no state."""

    way: Literal["whole", "regions", "edges", "steady"]
    problems: tuple[Problem, ...]


def at_once(whole: Problem, adjoint: Adjoint, *, on_device: bool = False) -> AtOnce:
    """Return the cheapest runs for as many steps as the adjoint's problem has."""
    inner, steady = adjoint.inner, adjoint.steady
    if adjoint.split is not None and not adjoint.sums and not on_device:
        if inner is None:
            return AtOnce(way="regions", problems=(split_problem(whole, adjoint.split),))
        first, older = inner_problem(whole, inner), inner.older
        rest = () if older is None else (make_problem(older, whole.shape, 1, whole.dtype, inner.older_boundary),)
        return AtOnce(way="edges", problems=(first, *rest))
    if steady is not None:
        problem = make_problem(steady.program, whole.shape, whole.steps, whole.dtype, steady.boundary)
        return AtOnce(way="steady", problems=(problem, replace(whole, steps=1)))
    return AtOnce(way="whole", problems=(whole,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Some steps of a run or of its adjoint, and the states that they keep or read."""

    problem: Problem
    storage: Storage = PLAIN


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


def inner_problem(whole: Problem, inner: Inner) -> Problem:
    """Return an adjoint's problem of updated cells alone, without sums."""
    problem = make_problem(inner.program, whole.shape, whole.steps, whole.dtype, inner.boundary, whole.varying)
    return replace(problem, regions=tuple(inner.regions.items()))
