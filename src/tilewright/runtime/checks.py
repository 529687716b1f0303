"""A kernel beside the NumPy reference, on small problems of random numbers that a tiling cuts into whole and cut tiles.

Tuning checks its candidates so, and runs what a compiler of OpenCL makes of a text, once per text and device: some make
code that computes something else, and nothing else says so.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.dtypes import limits
from tilewright.base.errors import WrongResultError
from tilewright.base.fingerprint import fingerprint
from tilewright.programs.stencil import reference, rounding
from tilewright.programs.stencil.points import Weights
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import STEP
from tilewright.runtime import cache
from tilewright.runtime.kernels import GpuKernel, Kernel
from tilewright.runtime.memory import Array
from tilewright.runtime.points import FaceSums, PointData, Receivers, Sources
from tilewright.runtime.samples import random_arrays, random_profiles
from tilewright.runtime.session import Inputs, point_tables
from tilewright.schedules.tiling import Tiling

_OPERATIONS = 6e6  # operations that the check of a run may cost the reference
_SEED = 20
_SMALLEST = 7
_NO_SIZE = 37  # extent of the small problem along an axis that the tiling does not cut
_ANY = 2**20  # an extent, or steps, of which a small problem takes what it wants
_trusted: set[str] = set()


def trust(kernel: GpuKernel) -> None:
    """Compare a kernel with the reference, unless that was done on its device before.

    Raises:
        WrongResultError: If it computes something else.
    """
    device = kernel.program.device
    key = f"{fingerprint('checked', kernel.program.source.fingerprint, device.name, device.compiler)}.checked"
    if key not in _trusted and cache.load(cache.directory(), key) is None:
        difference = _difference(kernel, _SEED)
        # Where random numbers tie, rounding may decide what a program chooses: not in two draws.
        if difference and _difference(kernel, _SEED + 1):
            raise WrongResultError(
                f"{device.name} (driver: {device.compiler}) computes something else than NumPy: {difference}",
                "its compiler is at fault: take another device, or backend='c'",
            )
        cache.save(cache.directory(), key, b"")
    _trusted.add(key)


def compare(kernel: Kernel, problem: Problem, inputs: Inputs, bounds: tuple[Mapping[str, Array], ...]) -> None:
    """Compare a kernel's results with the reference's, given these and how far off they may be.

    Raises:
        WrongResultError: If they differ by more.
    """
    exact, allowed = bounds
    given = replace(inputs, out=blank_grids(problem))
    for field, result in kernel.run(problem, given, kernel.plan.target.threads).items():
        error, is_within = rounding.worst_excess(result, exact[field], allowed[field])
        if not is_within:
            raise WrongResultError(
                f"{str(kernel.plan.tiling)!r} is off by up to {error:.3g} in {field!r} on a small problem, "
                "more than rounding explains"
            )


def draw(problem: Problem, scalars: Mapping[str, Any], seed: int = _SEED) -> Inputs:
    """Draw what a run starts from, but for the scalars."""
    arrays = random_arrays(problem.program, problem.shape, problem.dtype, seed)
    return Inputs(
        arrays={field: (array,) for field, array in zip(problem.program.fields, arrays, strict=True)},
        scalars={**scalars, **random_profiles(problem.program, problem.shape, seed)},
    )


def blank_grids(problem: Problem) -> dict[str, Array]:
    """Make arrays for results: memory of earlier runs may hold the right ones already."""
    dtype = np.dtype(problem.dtype)
    value = np.iinfo(dtype).max if dtype.kind in "iu" else np.nan
    return {field: np.full(problem.shape, value, dtype) for field in problem.program.updated}


def small_problem(problem: Problem, tiling: Tiling, operations: float, block: tuple[int, ...] = ()) -> Problem:
    """Return a small problem that a tiling cuts into several tiles where the reference can afford it.

    Per axis two tiles and a rest, one and a half tiles in time, none more than the user's problem has; then the
    longest extent shrinks until the reference needs no more operations. ``block`` is what stands for the sizes of a
    tiling that has none.
    """
    program = problem.program
    sizes = tiling.space or block or (_NO_SIZE,) * program.rank
    steps = min(problem.steps, tiling.time + tiling.time // 2 + 3)
    reaches = [max(pair) for pair in program.reach]
    least = [2 * reach + _SMALLEST for reach in reaches]
    lengths = [
        max(low, 2 * size + 2 * reach * tiling.time + 5) for low, size, reach in zip(least, sizes, reaches, strict=True)
    ]
    extents = [min(want, extent) for want, extent in zip(lengths, problem.shape, strict=True)]
    afford = operations / max(1, steps * (program.flops + program.loads))
    while float(np.prod([float(extent) for extent in extents])) > afford:
        axis = max(range(len(extents)), key=lambda i: extents[i] / least[i])
        if extents[axis] <= least[axis]:
            break
        extents[axis] = max(least[axis], extents[axis] * 4 // 5)
    return replace(problem, shape=tuple(extents), steps=steps)


def _difference(kernel: GpuKernel, seed: int) -> str:
    """Say how a kernel's results on a small problem differ from the reference's, or nothing."""
    plan = kernel.plan
    like = replace(plan.problem, shape=(_ANY,) * plan.problem.program.rank, steps=_ANY, part=None)
    problem = small_problem(like, plan.tiling, _OPERATIONS, kernel.program.schedule.cells)
    number = 0.25 if problem.rounds else 2
    scalars: dict[str, Any] = {
        name: np.full(problem.steps, number) if name in problem.varying else number for name in problem.program.scalars
    }
    if STEP in scalars:
        scalars[STEP] = np.arange(problem.steps)
    inputs = draw(problem, scalars, seed)
    if problem.points:
        points = _points(problem)
        inputs = replace(inputs, points=points, traces=points.traces(problem))
    tables = point_tables(problem, inputs)
    added = rounding.nothing if tables is None else tables.added
    exact = reference.run(problem, inputs.arrays, inputs.scalars, added=added)
    # What compilers do wrong is no matter of rounding: a bound as tight as that of tuning would take further runs.
    share = float(limits(problem.dtype).eps) ** 0.5 if problem.rounds else 0.0
    sizes = {field: np.max(np.abs(value), where=np.isfinite(value), initial=1.0) for field, value in exact.items()}
    allowed = {field: np.full(problem.shape, share * float(size)) for field, size in sizes.items()}
    try:
        compare(kernel, problem, inputs, (exact, allowed))
    except WrongResultError as error:
        return error.message
    return ""


def _points(problem: Problem) -> PointData:
    """Put one source and one receiver into the middle of every field that has some."""
    middle, one = np.array([problem.cells // 2 + problem.shape[-1] // 2]), np.zeros(1, np.int64)
    weights = Weights.of(problem.shape, one, middle, np.ones(1), np.zeros(1))
    emitted = np.ones((problem.steps, 1))
    return PointData(
        sources=tuple(Sources(field=each, weights=weights, values=emitted) for each in problem.points.sources),
        receivers=tuple(Receivers(field=each, weights=weights) for each in problem.points.receivers),
        faces=tuple(FaceSums(problem, *each) for each in problem.points.faces),
    )
