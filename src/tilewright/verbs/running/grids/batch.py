"""Runs over some axes of arrays that have more: the others number the grids of a batch."""

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
from tilewright.inputs.arrays import Array, as_array, check_values, like
from tilewright.inputs.memo import prepared
from tilewright.plan import Plan
from tilewright.planner import batch_plan
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.batches import run_batch
from tilewright.runtime.busy import unoccupied
from tilewright.runtime.call import overlap
from tilewright.runtime.host import thread_count
from tilewright.runtime.kernels import Kernel
from tilewright.runtime.session import Inputs
from tilewright.verbs.options import refuse
from tilewright.verbs.running.grids.engine import Engine, state_of
from tilewright.verbs.running.problem import check, targets_of, warn_if_at_rest


class Batch(Engine):
    """A run on every grid of a batch. Arrays with no more axes than the program serve every grid."""

    name = "a run over axes"

    def open(self) -> None:
        """Check the arrays, and plan for so many grids."""
        refuse(self.name, self.options)
        program, options, scalars = self.program, self.options, self.scalars
        assert options.axes is not None  # noqa: S101  (of those is this kind)
        count = len(program.fields)
        if len(self.arrays) != count:
            raise ArrayError(f"{program.name!r} takes {count} array{'s' * (count != 1)}, got {len(self.arrays)}")
        read = {
            field: tuple(as_array(level, field) for level in (entry if isinstance(entry, tuple) else (entry,)))
            for field, entry in zip(program.fields, self.arrays, strict=True)
        }
        read |= {name: (as_array(value, name),) for name, value in scalars.items() if np.ndim(value)}
        ndim = max(array.ndim for versions in read.values() for array in versions)
        self._axes = axes = _Axes(rank=program.rank, ndim=ndim, own=_own_axes(program, options.axes, ndim))
        self._shape = axes.shape(read)
        firsts = [tuple(map(axes.one, read[field])) for field in program.fields]
        numbers = {**scalars, **{name: axes.one(read[name][0]) for name in scalars if name in read}}
        case = check(program, firsts, numbers, options, stands=True)
        given, self.problem = case.given, case.problem
        moved = {
            field: tuple(axes.grids(array, self._shape, given.shape) for array in read[field])
            if field in read
            else given.versions[field]
            for field in given.program.fields
        }
        check_values({}, moved, given.dtype)
        warn_if_at_rest(replace(given, versions=moved))
        self._inputs = Inputs(arrays=moved, scalars=given.scalars)
        self._plan()
        self._targets = {}
        if options.out is not None:
            whole = axes.whole(self._shape, self.problem.shape)
            self._targets = targets_of(self.problem, options.out, whole, levels=options.levels)
        self._into = _as_grids(axes, self._targets, self.problem, read)

    def advance(self, step: int) -> None:  # noqa: ARG002  (nothing is seen before the last)
        """Run all steps of every grid."""
        count, deep = math.prod(self._shape), self.options.levels
        self._found = run_batch(self._kernel, self.problem, self._inputs, count, self._team, deep=deep, out=self._into)

    def results(self) -> Any:  # noqa: ANN401
        """Return the results, which lie as the arrays do."""
        results = {f: [self._axes.back(grids, self._shape) for grids in levels] for f, levels in self._found.items()}
        if self.options.out is not None:
            for field, targets in self._targets.items() if self._into is None else ():
                for target, values in zip(targets, results[field], strict=True):
                    np.copyto(target, values, casting="same_kind")
            return self.options.out
        kinds = dict(zip(self.program.fields, self.arrays, strict=True))
        return state_of([[like(each, kinds[f]) for each in levels] for f, levels in results.items()], deep=True)

    def _plan(self) -> None:
        options, target = self.options, self.target
        threads = thread_count(target.threads or None)
        self._team = unoccupied(threads) if target.yields else threads
        plan = batch_plan(self.problem, math.prod(self._shape), target, options.tiling, strict=options.strict)
        self._kernel = (
            prepared(self.problem, target, options.tiling, strict=options.strict)
            if plan is None
            else batch_kernel(plan)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axes:
    """Which axes are the program's."""

    rank: int  # number of the program's axes
    ndim: int  # most axes of any array
    own: tuple[int, ...]  # places of the program's among those, not negative

    def _last(self, array: Array) -> Array:
        """Return an array with the program's axes last; one of a single grid beside batches as it is."""
        if array.ndim < self.ndim and array.ndim <= self.rank:
            return array
        whole = array.reshape((1,) * (self.ndim - array.ndim) + array.shape)
        return np.moveaxis(whole, self.own, range(-self.rank, 0))

    def shape(self, arrays: Mapping[str, tuple[Array, ...]]) -> tuple[int, ...]:
        shapes = {name: self._last(each).shape[: -self.rank] for name, levels in arrays.items() for each in levels}
        try:
            common = np.broadcast_shapes(*shapes.values())
        except ValueError:
            listing = ", ".join(f"{name!r} has {format_shape(shape) or 'one'}" for name, shape in shapes.items())
            raise ArrayError(f"the arrays hold batches of different shapes: {listing}") from None
        if 0 in common:
            raise ArrayError("a batch has at least one grid")
        return common

    def one(self, array: Array) -> Array:
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
        grids = turned.reshape(-1, *turned.shape[-self.rank :])
        return grids if np.may_share_memory(grids, array) else None

    def whole(self, shape: tuple[int, ...], grid: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a result, its axes where those of the arrays are."""
        kinds = np.moveaxis(np.broadcast_to(np.empty(()), (*shape, *grid)), range(-self.rank, 0), self.own)
        return kinds.shape

    def back(self, grids: Array, shape: tuple[int, ...]) -> Array:
        """Return results with their axes where those of the arrays are."""
        return np.moveaxis(grids.reshape(*shape, *grids.shape[1:]), range(-self.rank, 0), self.own)


def _as_grids(
    axes: _Axes, targets: Mapping[str, Sequence[Array]], problem: Problem, read: Mapping[str, Sequence[Array]]
) -> dict[str, list[Array]] | None:
    """Return the caller's arrays as grids one after the other, or None where they do not lie so or are read as well."""
    every = [each for levels in targets.values() for each in levels]
    if not every or any(each.dtype != problem.dtype for each in every):
        return None
    if overlap(every, [version for versions in read.values() for version in versions]):
        return None
    stacked = {field: [axes.stacked(each) for each in levels] for field, levels in targets.items()}
    grids = {field: [each for each in levels if each is not None] for field, levels in stacked.items()}
    return grids if sum(map(len, grids.values())) == len(every) else None


def _own_axes(program: Program, axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    try:
        numbers = tuple(operator.index(axis) for axis in axes)
    except TypeError:
        raise UsageError(f"axes are whole numbers, one per axis of the program, got {axes!r:.60}") from None
    if len(numbers) != program.rank:
        raise UsageError(f"{program.name!r} has {program.rank} axes, so axes has as many numbers, got {axes!r:.60}")
    if not all(-ndim <= axis < ndim for axis in numbers) or len({axis % ndim for axis in numbers}) < len(numbers):
        raise UsageError(f"axes are different ones of the arrays' {ndim}, got {axes!r:.60}")
    return tuple(axis % ndim for axis in numbers)


@functools.lru_cache(maxsize=32)
def batch_kernel(plan: Plan) -> Kernel:
    """Make the kernel of a plan for batches, or find it."""
    return make(plan)
