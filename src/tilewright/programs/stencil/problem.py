"""A problem: a program with a shape, a number of steps, a dtype and boundaries."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import NARROW, arithmetic, check_fits, is_rounded, numpy_type
from tilewright.base.errors import UsageError
from tilewright.base.facts import Facts, fact
from tilewright.base.fingerprint import fingerprint
from tilewright.base.units import format_shape, whole_number
from tilewright.programs.stencil.boundaries import FACES, BoundarySpec, Sides, resolve
from tilewright.programs.stencil.edges import plain_edges
from tilewright.programs.stencil.expression import check_constants
from tilewright.programs.stencil.powers import refuse_negative_powers
from tilewright.programs.stencil.program import STEP, Program, Statement, refuse_bits

GPU_COMPILED = ("float32", "float64", "int32", "int64")  # element types that code is generated for on GPUs
MAX_TILED_RANK = 3  # most dimensions of programs that tiles in time cut, and that code is generated for on GPUs
DTYPES = (
    *GPU_COMPILED,
    *("int8", "int16", "uint8", "uint16", "uint32"),
    *("complex64", "complex128", "float16", "bfloat16"),
)
"""Element types of fields; code is generated for all of them on CPUs."""
MAX_CELLS = 2**46


Span = tuple[int, int]
"""Cells along an axis, from the first to before the last: from the end where that is negative, or for the last 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFields:
    """Which fields of a problem have sources that add to cells, and receivers that record cells."""

    sources: tuple[str, ...] = ()  # updated fields to whose new values sources are added
    receivers: tuple[str, ...] = ()  # updated fields whose new values are recorded
    cells: int = 0  # added to or recorded in a step
    # updated fields whose new values are summed over the steps near the grid's sides, with the numbers of cells, low
    # and high, per axis; only what their statements update counts
    faces: tuple[tuple[str, tuple[Span, ...]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sources or self.receivers or self.faces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Where a grid lies in a larger one that it is a part of."""

    start: tuple[int, ...]  # index of its first cell in the larger grid, which may be outside where that wraps
    shape: tuple[int, ...]  # of the larger grid


@dataclass(frozen=True, kw_only=True)
class Problem(Facts):
    """A program on a grid; where its fields lie in memory is :class:`tilewright.programs.stencil.storage.Storage`."""

    program: Program  # one step
    shape: tuple[int, ...]  # extents, outermost first
    steps: int
    dtype: str = "float32"  # NumPy name of the element type of every field
    boundaries: tuple[Sides, ...]  # one :data:`Sides` per field, in the order of ``program.fields``
    points: PointFields = PointFields()  # fields with sources and receivers
    varying: tuple[str, ...] = ()  # scalars with a value per step, in the program's order; the step's number among them
    part: Part | None = None  # of the grid that cells' indices are counted in; None where that is the grid itself
    # by updated field, the cells that are updated, where these are not those whose reads no ``fixed`` side cuts
    regions: tuple[tuple[str, tuple[Span, ...]], ...] = ()
    FORMER_FIELDS: ClassVar[Mapping[str, object]] = {"kept": 0, "series": (), "subdomains": ()}  # until 0.3.0

    def __hash__(self) -> int:
        """Hash what tells most problems apart; boundaries rarely do and are many."""
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.program, self.shape, self.steps, self.dtype))

    @functools.cached_property
    def fingerprint(self) -> str:
        """Fingerprint of what is computed, whatever the shape and the steps."""
        return fingerprint(self.program, self.dtype, self.boundaries)

    @property
    def rounds(self) -> bool:
        """Whether results are rounded: of real and of complex numbers."""
        return is_rounded(self.dtype)

    @property
    def flushes(self) -> bool:
        """Whether kernels that are not strict take subnormal numbers for zero: not those of 16 bits."""
        return self.rounds and self.dtype not in NARROW

    @property
    def cells(self) -> int:
        """Number of cells of the grid."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    def places(self, axis: int, low: int, high: int) -> tuple[npt.NDArray[np.int64], int]:
        """Return the indices of cells as :data:`tilewright.index` counts them, and the extent along which it does."""
        indices = np.arange(low, high)
        if self.part is None:
            return indices, self.shape[axis]
        extent = self.part.shape[axis]
        return (indices + self.part.start[axis]) % extent, extent

    @property
    def itemsize(self) -> int:
        """Bytes per value."""
        return numpy_type(self.dtype).itemsize

    def sides(self, field: str) -> Sides:
        """The boundaries of one field."""
        return self.boundaries[self.program.fields.index(field)]

    def update_box(self, statement: Statement) -> tuple[tuple[int, int], ...]:
        """The cells that a statement updates, per axis as a half-open range (empty as ``(0, 0)``).

        All cells, less the :meth:`margins`, or those of a region.
        """
        box = []
        for extent, (low, high) in zip(self.shape, self.spans(statement), strict=True):
            first = low if low >= 0 else max(0, extent + low)
            last = extent + high if high <= 0 else min(extent, high)
            box.append((first, last) if first < last else (0, 0))
        return tuple(box)

    def spans(self, statement: Statement) -> tuple[Span, ...]:
        """The cells that a statement updates, in a grid of any shape."""
        region = dict(self.regions).get(statement.field)
        return region or tuple((low, -high) for low, high in self.margins(statement))

    def margins(self, statement: Statement) -> tuple[tuple[int, int], ...]:
        """Per axis the cells below and above that a statement does not update, in a grid of any shape.

        Those with a read outside a ``fixed`` side, or one of what an inner expression has no value of.
        """
        read_fields = {read.field for read in statement.reads} if self.program.inner else ()
        inner = {
            each.field: self.margins(each)
            for each in self.program.statements
            if each.field in read_fields and each.field in self.program.inner
        }
        margins = []
        for axis in range(self.program.rank):
            low = high = 0
            for read in statement.reads:
                below, above = self.sides(read.field)[axis]
                unset = inner[read.field][axis] if read.field in inner else (0, 0)
                low = max(low, unset[0] - read.offset[axis] if below.kind == "fixed" else 0)
                high = max(high, unset[1] + read.offset[axis] if above.kind == "fixed" else 0)
            margins.append((low, high))
        return tuple(margins)


def cells_at_end(span: Span) -> int:
    """Return how many cells a span has at one end of an axis, in a grid of any shape; 0 where it is not at one alone.

    >>> cells_at_end((0, 2)), cells_at_end((-1, 0)), cells_at_end((1, -1))
    (2, 1, 0)
    """
    low, high = span
    return high - low if low >= 0 < high or low < 0 >= high else 0


def make_problem(
    program: Program,
    shape: tuple[int, ...],
    steps: int,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    varying: Iterable[str] = (),
) -> Problem:
    """Make a checked problem.

    Examples:
        >>> from tilewright.programs.stencil.catalogue import program
        >>> make_problem(program("jacobi1d"), (10,), 5).update_box(program("jacobi1d").statements[0])
        ((1, 9),)
    """
    shape = _extents(shape)
    if len(shape) != program.rank:
        raise UsageError(
            f"{program.name!r} has {program.rank} dimension{'s' * (program.rank > 1)}, "
            f"got the shape {format_shape(shape) or '()'}"
        )
    if any(extent < 1 for extent in shape):
        raise UsageError(f"every extent must be at least 1, got the shape {format_shape(shape)}")
    steps = whole_number(steps, "steps", 0, 2**31 - 1, "from 0 to 2^31 - 1")
    if dtype not in DTYPES:
        raise UsageError(f"the dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    _check_tapes(program, dtype)
    # Equal programs may differ in these.
    own = (program.defaults, program.subdomains)
    return _checked(program, own, shape, steps, dtype, resolve(program, boundary), frozenset(varying))


@functools.lru_cache(maxsize=256)
def _checked(
    program: Program,
    _own: object,
    shape: tuple[int, ...],
    steps: int,
    dtype: str,
    boundaries: tuple[Sides, ...],
    varying: frozenset[str],
) -> Problem:
    """Check the boundaries; equal questions have one problem, so that what was found of it is there."""
    if any(np.ndim(side.value) for axes in boundaries for pair in axes for side in pair):
        raise UsageError(
            "values per step or along a side of a boundary are for runs, predictions, tuning and gradients",
            "give one number",
        )
    for field, axes in zip(program.fields, boundaries, strict=True):
        for side in (side for pair in axes for side in pair):
            check_fits(side.value, dtype, f"the boundary value {{}} of {field!r}")
            check_fits(side.factor, dtype, f"the factor {{}} of the boundary of {field!r}")
    edges = plain_edges(program, dict(zip(program.fields, boundaries, strict=True)))
    if edges.program is not program:
        _check_faces(program, boundaries, shape, dtype)
        program = edges.program
    problem = Problem(
        program=program,
        shape=shape,
        steps=steps,
        dtype=dtype,
        boundaries=tuple(edges.sides[field] for field in program.fields),
        varying=tuple(name for name in program.scalars if name in {STEP, *varying}),
    )
    if problem.cells > MAX_CELLS:
        raise UsageError(f"a grid may have at most 2^46 cells, got {format_shape(shape)}")
    return problem


@fact
def _check_tapes(program: Program, dtype: str) -> None:
    for statement in program.statements:
        if is_rounded(dtype):
            refuse_bits(statement.tape, repr(program.name), dtype)
        else:
            refuse_negative_powers(statement.tape, program.name, dtype)
        check_constants(statement.tape, arithmetic(dtype).name, program.name)


def _check_faces(program: Program, boundaries: tuple[Sides, ...], shape: tuple[int, ...], dtype: str) -> None:
    """Raise where conditions on faces cannot be had: of whole numbers, and of reads that go through a whole grid."""
    for sides in boundaries:
        for axis, pair in enumerate(sides):
            kind = next((side.kind for side in pair if side.kind in FACES), None)
            if kind is None:
                continue
            if not is_rounded(dtype):
                raise UsageError(f"a {kind!r} boundary computes fractions, got {dtype}", "pass dtype='float32'")
            if shape[axis] < max(program.reach[axis]):
                raise UsageError(
                    f"a {kind!r} boundary needs at least as many cells along an axis as {program.name!r} reads far, "
                    f"{max(program.reach[axis])}, got {shape[axis]} along axis {axis}"
                )


def _extents(shape: object) -> tuple[int, ...]:
    if isinstance(shape, str | bytes) or not isinstance(shape, Iterable):
        raise UsageError(f"a shape is a tuple of extents, got {shape!r}", "write shape=(512, 512)")
    return tuple(whole_number(extent, "an extent", -(2**62), 2**62, "of at most 2^62") for extent in shape)
