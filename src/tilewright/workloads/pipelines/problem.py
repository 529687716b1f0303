"""Pipelines of stencils: a directed acyclic graph whose nodes are grids and whose edges are stencils applied once.

A stencil reads one or several grids and writes one; what computes several grids is decomposed. The formulation is that
of Ben Cheikh et al., "Tuning framework for stencil computation in heterogeneous parallel platforms" (2015), (13)-(18).
A problem is a pipeline on grids, with a shape, element types and borders; :func:`compute` is the NumPy reference that
kernels must match.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import is_rounded
from tilewright.base.errors import UsageError, one_of
from tilewright.base.units import format_shape
from tilewright.programs.stencil.boundaries import BoundarySpec, Sides, parse_boundary, sides_of
from tilewright.programs.stencil.expression import Node, Placed, Read, Tape, flops, reads
from tilewright.programs.stencil.powers import refuse_negative_powers
from tilewright.programs.stencil.problem import MAX_CELLS
from tilewright.programs.stencil.program import refuse_bits
from tilewright.programs.stencil.reference import evaluate, pad

Array = npt.NDArray[Any]
DTYPES = ("uint8", "uint16", "int16", "int32", "float32", "float64")  # element types of grids
ROUNDINGS = ("nearest", "floor", "truncate")
"""How a conversion to whole numbers rounds; ``nearest`` takes ties to the even number, as NumPy's ``rint``."""
BORDERS = ("constant", "nearest", "reflect", "mirror", "wrap")
"""What lies outside a grid, with ``scipy.ndimage``'s names."""
Halo = tuple[tuple[int, int], ...]  # per axis, outermost first: cells below and above


def halo_text(halo: Halo) -> str:
    """Write a halo as the paper does, (y, x); both sides where they differ.

    >>> halo_text(((7, 7), (4, 4))), halo_text(((1, 0), (2, 2)))
    ('(7,4)', '(1+0,2)')
    """
    return f"({','.join(str(a) if a == b else f'{a}+{b}' for a, b in halo)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStencil:
    """One stencil of a pipeline: ``output`` becomes the tape's value at every cell."""

    name: str  # S1, S2, … in the order of computation
    title: str  # the function it was traced from
    output: str  # the grid it writes
    tape: Tape  # the expression; ``Read.field`` names a grid
    convert: str = ""  # element type that it converts to; empty for the type of what it reads
    rounding: str = ""  # one of :data:`ROUNDINGS`, for conversions to whole numbers, which saturate

    @property
    def reads(self) -> tuple[Read, ...]:
        """The distinct reads."""
        return reads(self.tape)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The grids it reads, in order."""
        return tuple(dict.fromkeys(read.field for read in self.reads))

    def reach(self, grid: str) -> Halo:
        """Per axis, how far it reads a grid below and above the cell (H of the paper, on either side)."""
        offsets = [read.offset for read in self.reads if read.field == grid]
        return tuple(
            (max(0, *(-o for o in along)), max(0, *along)) for along in ((0, *a) for a in zip(*offsets, strict=True))
        )

    @property
    def window(self) -> int:
        """Distinct offsets that it reads, whatever the grid: #Op of a cell as the paper's listings count it.

        (18) sums over the inputs; listing 1 counts a blend of two pictures as one operation, so the listings do not.
        """
        return len({read.offset for read in self.reads})

    @property
    def flops(self) -> int:
        """Arithmetic operations per cell."""
        return flops(self.tape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline; it has no shape, no element types and no borders."""

    name: str
    rank: int  # 2 or 3
    inputs: tuple[str, ...]  # given grids in argument order: G1, G2, …
    titles: tuple[str, ...]  # names of the inputs' arguments
    stencils: tuple[PipelineStencil, ...]  # in an order of computation
    outputs: tuple[str, ...]  # wanted grids
    scalars: tuple[str, ...] = ()  # given when it runs
    summary: str = ""  # one line on what it computes

    @property
    def grids(self) -> tuple[str, ...]:
        """Every grid: inputs, then the stencils' outputs."""
        return (*self.inputs, *(stencil.output for stencil in self.stencils))

    def producer(self, grid: str) -> int | None:
        """Number of the stencil that writes a grid, or None for an input."""
        index = self.grids.index(grid) - len(self.inputs)
        return index if index >= 0 else None

    def members(self, group: Sequence[int]) -> tuple[PipelineStencil, ...]:
        """The stencils of a group of numbers."""
        return tuple(self.stencils[number] for number in group)

    def readers(self, grid: str, group: Sequence[int]) -> list[int]:
        """Numbers of those stencils of a group that read a grid."""
        return [number for number in group if grid in self.stencils[number].inputs]

    def dtypes(self, kinds: tuple[str, ...]) -> dict[str, str]:
        """Element type of every grid, for the inputs' types."""
        if len(kinds) != len(self.inputs):
            raise UsageError(f"{self.name!r} has {len(self.inputs)} inputs, got {len(kinds)} element types")
        for dtype in kinds:
            one_of("the element type of a grid", dtype, DTYPES)
        types = dict(zip(self.inputs, kinds, strict=True))
        for stencil in self.stencils:
            operands = {types[grid] for grid in stencil.inputs}
            if len(operands) > 1:
                raise UsageError(
                    f"{stencil.name} ({stencil.title}) of {self.name!r} reads grids of types {sorted(operands)}",
                    "convert them: grid.astype('float32')",
                )
            kind = operands.pop()
            if is_rounded(kind):
                refuse_bits(stencil.tape, f"{stencil.title!r} of {self.name!r}", kind)
            else:
                refuse_negative_powers(stencil.tape, stencil.title, kind)
            types[stencil.output] = stencil.convert or kind
        return types


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineProblem:
    """A pipeline on grids."""

    pipeline: Pipeline
    shape: tuple[int, ...]  # extents of every grid, outermost first
    dtypes: tuple[str, ...]  # element type per grid, in the order of ``pipeline.grids``
    borders: tuple[Sides, ...]  # what reads outside yield, per grid
    # values of a cell that lie side by side, each with neighbours of its own: the last axis, and what its reads add to
    # a place, count values
    channels: int = 1
    # per input, how many of its values further on the next one of a row lies in memory: 0 for one value a row; nothing
    # where all are 1
    steps: tuple[int, ...] = ()

    def step(self, grid: str) -> int:
        """How far apart the values of a grid's row are."""
        return dict(zip(self.pipeline.inputs, self.steps, strict=False)).get(grid, 1)

    def dtype(self, grid: str) -> str:
        """Element type of a grid."""
        return self.dtypes[self.pipeline.grids.index(grid)]

    def itemsize(self, grid: str) -> int:
        """Bytes per cell of a grid."""
        return np.dtype(self.dtype(grid)).itemsize

    def sides(self, grid: str) -> Sides:
        """What lies outside a grid."""
        return self.borders[self.pipeline.grids.index(grid)]

    def reach(self, stencil: PipelineStencil, grid: str) -> Halo:
        """Per axis, how far a stencil may read a grid, which may mean cells on the other side where borders fold."""
        folds = [{side.kind for side in sides} & {"reflect", "mirror"} for sides in self.sides(grid)]
        return tuple(
            (max(pair),) * 2 if folded else pair for pair, folded in zip(stencil.reach(grid), folds, strict=True)
        )

    def wraps(self, grid: str, axis: int) -> bool:
        """Whether a grid is periodic along an axis."""
        return self.sides(grid)[axis][0].kind == "wrap"

    @property
    def cells(self) -> int:
        """Cells of a grid."""
        return math.prod(self.shape)


def make_pipeline_problem(
    pipeline: Pipeline,
    shape: Sequence[int],
    dtype: str | Sequence[str] = "float32",
    border: BoundarySpec = "reflect",
    channels: int = 1,
    steps: Sequence[int] = (),
) -> PipelineProblem:
    """Make a checked problem; there may be a ``dtype`` per input, and a border per axis, side or grid."""
    pipeline = spread(pipeline, channels)
    extents = tuple(int(extent) for extent in shape)
    if len(extents) != pipeline.rank or any(extent < 1 for extent in extents):
        raise UsageError(
            f"{pipeline.name!r} has {pipeline.rank} dimensions of at least 1 cell, "
            f"got the shape {format_shape(extents) or '()'}"
        )
    kinds = (dtype,) * len(pipeline.inputs) if isinstance(dtype, str) else tuple(dtype)
    types = pipeline.dtypes(kinds)
    problem = PipelineProblem(
        pipeline=pipeline,
        shape=(*extents[:-1], extents[-1] * channels),
        channels=channels,
        steps=tuple(steps) if any(step != 1 for step in steps) else (),
        dtypes=tuple(types[grid] for grid in pipeline.grids),
        borders=_borders(pipeline, border),
    )
    if problem.cells > MAX_CELLS:
        raise UsageError(f"a grid may have at most 2^46 cells, got {format_shape(extents)}")
    return problem


@functools.lru_cache(maxsize=64)
def spread(pipeline: Pipeline, channels: int) -> Pipeline:
    """Return a pipeline for cells of several values that lie side by side."""

    def moved(node: Node) -> Node:
        if not isinstance(node, Read):
            return node
        return replace(node, offset=(*node.offset[:-1], node.offset[-1] * channels))

    if channels == 1:
        return pipeline
    stencils = tuple(replace(each, tape=tuple(map(moved, each.tape))) for each in pipeline.stencils)
    return replace(pipeline, stencils=stencils)


def _borders(pipeline: Pipeline, border: BoundarySpec) -> tuple[Sides, ...]:
    if isinstance(border, str):
        border = parse_boundary(border)
    if isinstance(border, Mapping):
        names = dict(zip((*pipeline.titles, *pipeline.grids), (*pipeline.inputs, *pipeline.grids), strict=True))
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
    padded = {grid: _padded(problem, grids[grid], stencil.reach(grid), problem.sides(grid)) for grid in stencil.inputs}
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
    dtype = problem.dtype(stencil.output)
    if stencil.convert:
        return convert(np.asarray(value), dtype, stencil.rounding)
    return np.array(np.broadcast_to(value, problem.shape), dtype=dtype)


def _padded(problem: PipelineProblem, array: Array, reach: Halo, sides: Sides) -> Array:
    """Extend an array cell by cell."""
    if problem.channels == 1:
        return pad(array, reach, sides)
    *outer, (low, high) = reach
    whole = (*outer, (low // problem.channels, high // problem.channels), (0, 0))
    cells = pad(array.reshape(*array.shape[:-1], -1, problem.channels), whole, (*sides, sides[-1]))
    return cells.reshape(*cells.shape[:-2], -1)


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
