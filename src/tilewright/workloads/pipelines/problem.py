"""A pipeline on grids: with a shape, element types and borders; and the NumPy reference that kernels must match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import UsageError, one_of
from tilewright.base.units import format_shape
from tilewright.programs.stencil.boundaries import BoundarySpec, Sides, sides_of
from tilewright.programs.stencil.expression import Placed, Read
from tilewright.programs.stencil.problem import MAX_CELLS
from tilewright.programs.stencil.reference import evaluate, pad
from tilewright.workloads.pipelines.pipeline import ITEMSIZE, Pipeline, PipelineStencil

Array = npt.NDArray[Any]
BORDERS = ("constant", "nearest", "reflect", "mirror", "wrap")
"""What lies outside a grid, with ``scipy.ndimage``'s names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineProblem:
    """A pipeline on grids."""

    pipeline: Pipeline
    shape: tuple[int, ...]  # extents of every grid, outermost first
    dtypes: tuple[str, ...]  # element type per grid, in the order of ``pipeline.grids``
    borders: tuple[Sides, ...]  # what reads outside yield, per grid

    def dtype(self, grid: str) -> str:
        """Element type of a grid."""
        return self.dtypes[self.pipeline.grids.index(grid)]

    def itemsize(self, grid: str) -> int:
        """Bytes per cell of a grid."""
        return ITEMSIZE[self.dtype(grid)]

    def sides(self, grid: str) -> Sides:
        """What lies outside a grid."""
        return self.borders[self.pipeline.grids.index(grid)]

    @property
    def cells(self) -> int:
        """Cells of a grid."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total


def make_pipeline_problem(
    pipeline: Pipeline,
    shape: Sequence[int],
    dtype: str | Sequence[str] = "float32",
    border: BoundarySpec = "reflect",
) -> PipelineProblem:
    """Make a checked problem; there may be a ``dtype`` per input, and a border per axis, side or grid."""
    extents = tuple(int(extent) for extent in shape)
    if len(extents) != pipeline.rank or any(extent < 1 for extent in extents):
        raise UsageError(
            f"{pipeline.name!r} has {pipeline.rank} dimensions of at least 1 cell, "
            f"got the shape {format_shape(extents) or '()'}"
        )
    given = (dtype,) * len(pipeline.inputs) if isinstance(dtype, str) else tuple(dtype)
    types = pipeline.dtypes(given)
    problem = PipelineProblem(
        pipeline=pipeline,
        shape=extents,
        dtypes=tuple(types[grid] for grid in pipeline.grids),
        borders=_borders(pipeline, border),
    )
    if problem.cells > MAX_CELLS:
        raise UsageError(f"a grid may have at most 2^46 cells, got {format_shape(extents)}")
    return problem


def _borders(pipeline: Pipeline, border: BoundarySpec) -> tuple[Sides, ...]:
    if isinstance(border, Mapping):
        names = {**dict(zip(pipeline.titles, pipeline.inputs, strict=True)), **{grid: grid for grid in pipeline.grids}}
        unknown = sorted(set(border) - set(names))
        if unknown:
            raise UsageError(f"{pipeline.name!r} has no grid {unknown[0]!r}", f"its grids are {list(pipeline.grids)}")
        by_grid = {names[name]: spec for name, spec in border.items()}
        every = tuple(sides_of(pipeline.rank, by_grid.get(grid, "reflect")) for grid in pipeline.grids)
    else:
        every = (sides_of(pipeline.rank, border),) * len(pipeline.grids)
    for sides in every:
        for side in (side for pair in sides for side in pair):
            one_of("the boundary of a grid", side.kind, BORDERS)
    return every


def compute(problem: PipelineProblem, arrays: Sequence[Array], scalars: Mapping[str, float]) -> dict[str, Array]:
    """Compute every grid of a pipeline, by name, from those of its inputs with NumPy, one stencil after the other."""
    grids = {
        name: np.asarray(array, dtype=problem.dtype(name))
        for name, array in zip(problem.pipeline.inputs, arrays, strict=True)
    }
    with np.errstate(all="ignore"):
        for stencil in problem.pipeline.stencils:
            grids[stencil.output] = _apply(problem, stencil, grids, scalars)
    return grids


def _apply(
    problem: PipelineProblem, stencil: PipelineStencil, grids: Mapping[str, Array], scalars: Mapping[str, float]
) -> Array:
    padded = {grid: pad(grids[grid], stencil.reach(grid), problem.sides(grid)) for grid in stencil.inputs}
    kind = np.dtype(problem.dtype(stencil.inputs[0]))

    def read(node: Read | Placed) -> Array:
        if not isinstance(node, Read):
            raise TypeError("a pipeline's stencils read grids alone")
        reach = stencil.reach(node.field)
        cells = tuple(
            slice(low + offset, low + offset + extent)
            for (low, _), offset, extent in zip(reach, node.offset, problem.shape, strict=True)
        )
        return padded[node.field][cells]

    typed = {name: kind.type(value) for name, value in scalars.items()}
    value = evaluate(stencil.tape, read, typed)
    wanted = problem.dtype(stencil.output)
    if stencil.convert:
        return convert(np.asarray(value), wanted, stencil.rounding)
    return np.array(np.broadcast_to(value, problem.shape), dtype=wanted)


def convert(values: Array, dtype: str, rounding: str) -> Array:
    """Convert values: whole numbers saturate, NaN becomes 0, fractions round as asked.

    >>> [int(v) for v in convert(np.array([-1.0, 0.5, 1.5, 300.0]), "uint8", "nearest")]
    [0, 0, 2, 255]
    """
    target = np.dtype(dtype)
    if target.kind == "f":
        return values.astype(target)
    if values.dtype.kind == "f":
        rounded = {"nearest": np.rint, "floor": np.floor, "truncate": np.trunc}[rounding](values.astype(np.float64))
        values = np.nan_to_num(rounded, nan=0.0, posinf=np.inf, neginf=-np.inf)
    limits = np.iinfo(target)
    return np.clip(values, limits.min, limits.max).astype(target)
