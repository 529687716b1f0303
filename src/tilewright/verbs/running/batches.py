"""``run`` over some axes of arrays that have more: the others number the grids of a batch."""

import functools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_shape
from tilewright.driver import make
from tilewright.plan import Plan, Target
from tilewright.planner import batch_plan
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.batches import run_batch
from tilewright.runtime.busy import unoccupied
from tilewright.runtime.call import overlap
from tilewright.runtime.host import thread_count
from tilewright.runtime.kernels import Kernel
from tilewright.runtime.session import Inputs
from tilewright.schedules.tiling import Tiling
from tilewright.verbs.arrays import Array, as_array, check_values, gather, like, with_edges
from tilewright.verbs.memo import prepared
from tilewright.verbs.running.levels import warn_if_at_rest, warn_if_kept
from tilewright.verbs.running.targets import targets_of
from tilewright.verbs.unstable import warn_if_unstable


def run_batches(
    program: Program,
    arrays: Sequence[Any],  # those with no more axes than the program serve every grid
    scalars: Mapping[str, Any],
    axes: Sequence[int],  # which of the others' axes are the program's, in its order
    target: Target,
    *,
    steps: int,
    boundary: BoundarySpec,
    dtype: Any = None,  # noqa: ANN401
    tiling: Tiling | str | None = None,
    strict: bool = False,
    levels: bool = False,
    out: Any = None,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Run a program on every grid of a batch."""
    program, boundary, edged = with_edges(program, boundary, scalars)
    wanted = len(program.fields)
    if len(arrays) != wanted:
        raise ArrayError(f"{program.name!r} takes {wanted} array{'s' * (wanted != 1)}, got {len(arrays)}")
    read = {
        field: tuple(as_array(level, field) for level in (given if isinstance(given, tuple) else (given,)))
        for field, given in zip(program.fields, arrays, strict=True)
    }
    read |= {name: (as_array(value, name),) for name, value in scalars.items() if np.ndim(value)}
    ndim = max(array.ndim for versions in read.values() for array in versions)
    batch = _Batch(rank=program.rank, ndim=ndim, axes=_axes(program, axes, ndim))
    shape = batch.shape(read)
    numbers = edged | {name: batch.one(read[name][0]) for name in scalars if name in read}
    given = gather(program, [tuple(map(batch.one, read[field])) for field in program.fields], numbers, dtype, steps)
    moved = {
        field: tuple(batch.grids(array, shape, given.shape) for array in read[field])
        if field in read
        else given.versions[field]
        for field in given.program.fields
    }
    check_values({}, moved, given.dtype)
    problem = make_problem(given.program, given.shape, steps, given.dtype, boundary, given.varying)
    warn_if_kept(problem)
    warn_if_unstable(problem, given.scalars)
    warn_if_at_rest(replace(given, versions=moved))
    count, threads = math.prod(shape), thread_count(target.threads or None)
    team = unoccupied(threads) if target.yields else threads
    plan = batch_plan(problem, count, target, tiling, strict=strict)
    kernel = prepared(problem, target, tiling, strict=strict) if plan is None else batch_kernel(plan)
    inputs = Inputs(arrays=moved, scalars=given.scalars)
    targets = () if out is None else targets_of(problem, out, batch.whole(shape, problem.shape), levels=levels)
    into = _as_grids(batch, targets, problem, read)
    found = run_batch(kernel, problem, inputs, count, team, deep=levels, out=into)
    results = {field: tuple(batch.back(grids, shape) for grids in found[field]) for field in found}
    if out is not None:
        for age, row in enumerate(targets if into is None else ()):
            for field, place in row.items():
                np.copyto(place, results[field][age], casting="same_kind")
        return out
    kinds = dict(zip(program.fields, arrays, strict=True))
    kept = tuple(tuple(like(each, kinds[field]) for each in results[field]) for field in results)
    states = tuple(entry if len(entry) > 1 else entry[0] for entry in kept)
    return states[0] if len(states) == 1 else states


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Which axes are the program's."""

    rank: int  # number of the program's axes
    ndim: int  # most axes of any array
    axes: tuple[int, ...]  # places of the program's among those, not negative

    def _last(self, array: Array) -> Array:
        """Return an array with the program's axes last; one of a single grid beside batches as it is."""
        if array.ndim < self.ndim and array.ndim <= self.rank:
            return array
        whole = array.reshape((1,) * (self.ndim - array.ndim) + array.shape)
        return np.moveaxis(whole, self.axes, range(-self.rank, 0))

    def shape(self, arrays: Mapping[str, tuple[Array, ...]]) -> tuple[int, ...]:
        """Return the extents of the batch's own axes."""
        every = {name: self._last(each).shape[: -self.rank] for name, kept in arrays.items() for each in kept}
        try:
            found = np.broadcast_shapes(*every.values())
        except ValueError:
            told = ", ".join(f"{name!r} has {format_shape(shape) or 'one'}" for name, shape in every.items())
            raise ArrayError(f"the arrays hold batches of different shapes: {told}") from None
        if 0 in found:
            raise ArrayError("a batch has at least one grid")
        return found

    def one(self, array: Array) -> Array:
        """Return the first grid."""
        turned = self._last(array)
        return turned if turned.ndim <= self.rank else turned[(0,) * (turned.ndim - self.rank)]

    def grids(self, array: Array, shape: tuple[int, ...], grid: tuple[int, ...]) -> Array:
        """Return all grids, one after the other along one axis; those of an array of a single grid as that."""
        turned = self._last(array)
        if turned.ndim <= self.rank:
            return np.broadcast_to(turned, grid)
        return np.broadcast_to(turned, (*shape, *grid)).reshape(-1, *grid)

    def stacked(self, array: Array) -> Array | None:
        """See an array with all axes of the batch in one; None where that needs a copy."""
        turned = self._last(array)
        found = turned.reshape(-1, *turned.shape[-self.rank :])
        return found if np.may_share_memory(found, array) else None

    def whole(self, shape: tuple[int, ...], grid: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a result, its axes where those of the arrays are."""
        kinds = np.moveaxis(np.broadcast_to(np.empty(()), (*shape, *grid)), range(-self.rank, 0), self.axes)
        return kinds.shape

    def back(self, grids: Array, shape: tuple[int, ...]) -> Array:
        """Return results with their axes where those of the arrays are."""
        return np.moveaxis(grids.reshape(*shape, *grids.shape[1:]), range(-self.rank, 0), self.axes)


def _as_grids(
    batch: _Batch,
    targets: Sequence[Mapping[str, Array]],
    problem: Problem,
    read: Mapping[str, Sequence[Array]],
) -> dict[str, list[Array]] | None:
    """Return the caller's arrays as grids one after the other, or None where they do not lie so or are read as well."""
    every = [each for by_field in targets for each in by_field.values()]
    if not every or any(each.dtype != problem.dtype for each in every):
        return None
    if overlap(every, [given for kept in read.values() for given in kept]):
        return None
    if any(batch.stacked(each) is None for each in every):
        return None
    return {
        field: [each for each in (batch.stacked(by[field]) for by in targets if field in by) if each is not None]
        for field in targets[0]
    }


def _axes(program: Program, axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Check the axes, and return them counted from the front."""
    try:
        places = tuple(operator.index(axis) for axis in axes)
    except TypeError:
        raise UsageError(f"axes are whole numbers, one per axis of the program, got {axes!r:.60}") from None
    if len(places) != program.rank:
        raise UsageError(f"{program.name!r} has {program.rank} axes, so axes has as many numbers, got {axes!r:.60}")
    if not all(-ndim <= axis < ndim for axis in places) or len({axis % ndim for axis in places}) < len(places):
        raise UsageError(f"axes are different ones of the arrays' {ndim}, got {axes!r:.60}")
    return tuple(axis % ndim for axis in places)


@functools.lru_cache(maxsize=32)
def batch_kernel(plan: Plan[Problem]) -> Kernel:
    """Make the kernel of a plan for batches, or find it."""
    return make(plan)
