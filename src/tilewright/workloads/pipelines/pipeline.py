"""Pipelines of stencils: a directed acyclic graph whose nodes are grids and whose edges are stencils applied once.

A stencil reads one or several grids and writes one; what computes several grids is decomposed. The formulation is that
of Ben Cheikh et al., "Tuning framework for stencil computation in heterogeneous parallel platforms" (2015), (13)-(18).
"""

from dataclasses import dataclass, replace

from tilewright.base.dtypes import is_rounded
from tilewright.base.errors import TraceError, UsageError, one_of
from tilewright.programs.stencil.expression import Read, Scalar, Tape, flops, reads
from tilewright.programs.stencil.powers import refuse_negative_powers
from tilewright.programs.stencil.program import refuse_bits

DTYPES = ("uint8", "int16", "int32", "float32", "float64")
"""Element types of grids."""
ROUNDINGS = ("nearest", "floor", "truncate")
"""How a conversion to whole numbers rounds; ``nearest`` takes ties to the even number, as NumPy's ``rint``."""
MAX_STENCILS = 512
ITEMSIZE = {"uint8": 1, "int16": 2, "int32": 4, "float32": 4, "float64": 8}
Halo = tuple[tuple[int, int], ...]
"""Per axis, outermost first: cells below and above."""


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

    def dtypes(self, given: tuple[str, ...]) -> dict[str, str]:
        """Element type of every grid, for the inputs' types."""
        if len(given) != len(self.inputs):
            raise UsageError(f"{self.name!r} has {len(self.inputs)} inputs, got {len(given)} element types")
        for dtype in given:
            one_of("the element type of a grid", dtype, DTYPES)
        types = dict(zip(self.inputs, given, strict=True))
        for stencil in self.stencils:
            found = {types[grid] for grid in stencil.inputs}
            if len(found) > 1:
                raise UsageError(
                    f"{stencil.name} ({stencil.title}) of {self.name!r} reads grids of types {sorted(found)}",
                    "convert them: grid.astype('float32')",
                )
            kind = found.pop()
            if is_rounded(kind):
                refuse_bits(stencil.tape, f"{stencil.title!r} of {self.name!r}", kind)
            else:
                refuse_negative_powers(stencil.tape, stencil.title, kind)
            types[stencil.output] = stencil.convert or kind
        return types


def check(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline if it has stencils, reads what is there, and is not too large."""
    if not pipeline.stencils:
        raise TraceError(f"pipeline {pipeline.name!r} applies no stencil", "call a @tw.stencil function on its grids")
    if len(pipeline.stencils) > MAX_STENCILS:
        raise TraceError(f"a pipeline has at most {MAX_STENCILS} stencils, {pipeline.name!r} has more")
    if pipeline.rank not in {2, 3}:
        raise TraceError(f"a pipeline has 2 or 3 dimensions, {pipeline.name!r} has {pipeline.rank}")
    known = set(pipeline.inputs)
    for stencil in pipeline.stencils:
        for read in stencil.reads:
            if read.field not in known or read.level != 0:
                raise TraceError(f"{stencil.title!r} reads {read.field!r}, which is not computed yet")
            if len(read.offset) != pipeline.rank:
                raise TraceError(f"{stencil.title!r} has {len(read.offset)} dimensions in a {pipeline.rank}D pipeline")
        if not stencil.reads:
            raise TraceError(f"{stencil.title!r} reads no grid", "write u[0, 0] for the value of u at the cell")
        known.add(stencil.output)
    return pipeline


def without_dead(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline without stencils that no output needs.

    Before: S1 -> G2, S2 -> G3 with output G2. After: S1 -> G2. Names stay as they are.
    """
    needed = set(pipeline.outputs)
    kept: list[PipelineStencil] = []
    for stencil in reversed(pipeline.stencils):
        if stencil.output in needed:
            needed |= set(stencil.inputs)
            kept.append(stencil)
    scalars = {n.name for s in kept for n in s.tape if isinstance(n, Scalar)}
    return replace(
        pipeline,
        stencils=tuple(reversed(kept)),
        scalars=tuple(name for name in pipeline.scalars if name in scalars),
    )
