"""A problem: a program with a shape, a number of steps, a dtype and boundaries."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import is_rounded, numpy_type
from tilewright.base.errors import UsageError
from tilewright.base.names import meant
from tilewright.base.units import format_shape, whole_number
from tilewright.programs.stencil.program import STEP, Program, Statement
from tilewright.programs.stencil.subdomains import Subdomain

KINDS = ("fixed", "constant", "nearest", "reflect", "mirror", "wrap")
SYNONYMS = {"periodic": "wrap"}
"""Other names of a kind that mean exactly the same."""
_MEANT = {
    "dirichlet": "fixed keeps the values at the edge, constant:0 is a value outside",
    "neumann": "reflect has no gradient across the edge, mirror none at the outermost cells",
}
GPU_COMPILED = ("float32", "float64", "int32", "int64")
"""Element types that code is generated for on GPUs."""
DTYPES = (
    *GPU_COMPILED,
    *("int8", "int16", "uint8", "uint16", "uint32"),
    *("complex64", "complex128", "float16", "bfloat16"),
)
"""Element types of fields; code is generated for all of them on CPUs."""
MAX_CELLS = 2**46


@dataclass(frozen=True, slots=True)
class Boundary:
    """What a read outside one side of the grid yields, with ``scipy.ndimage``'s names.

    ``fixed`` is the exception: a cell with any read outside a fixed side is not updated and keeps its initial value.
    A cell outside along several ``constant`` axes takes the value of the innermost of them.

    Attributes:
        kind: One of :data:`KINDS`.
        value: The value outside, for ``constant``. Runs and gradients also take an array of one per step.

    Examples:
        >>> str(Boundary("constant", 1.5)), str(Boundary("wrap"))
        ('constant:1.5', 'wrap')
    """

    kind: str = "fixed"
    value: complex = 0.0

    def __str__(self) -> str:
        return f"constant:{self.value:g}" if self.kind == "constant" else self.kind


FIXED = Boundary()
Sides = tuple[tuple[Boundary, Boundary], ...]
"""Per axis, outermost first, the boundary below index 0 and the one above the last index."""


Span = tuple[int, int]
"""Cells along an axis, from the first to before the last: from the end where that is negative, or for the last 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFields:
    """Which fields of a problem have sources that add to cells, and receivers that record cells.

    Attributes:
        sources: Updated fields whose new values sources are added to.
        receivers: Updated fields whose new values are recorded.
        cells: Cells that are added to or recorded in a step.
    """

    sources: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    cells: int = 0

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.sources or self.receivers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Where a grid lies in a larger one that it is a part of.

    Attributes:
        start: Index of its first cell in the larger grid, per axis; where that wraps it may be outside.
        shape: Extents of the larger grid.
    """

    start: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A program on a grid.

    Attributes:
        program: What one step computes.
        shape: Extents, outermost first.
        steps: Number of time steps.
        dtype: NumPy name of the element type of every field.
        boundaries: One :data:`Sides` per field, in the order of ``program.fields``.
        points: Fields with sources and receivers.
        varying: Scalars with a value for every step, in the order of the program's; the step's number among them.
        part: Where the grid lies in the one that its cells' indices are counted in; None where that is the grid itself.
        kept: Versions that are kept of every updated field, where that is more than the steps need: after a run of
            fewer steps every state is there.
        series: Fields that no statement updates and that have a version per step.
        regions: By updated field, the cells that are updated, where it is not those whose reads no ``fixed`` side cuts.
        subdomains: Updated fields whose arrays have the cells of their subdomains alone.
    """

    program: Program
    shape: tuple[int, ...]
    steps: int
    dtype: str = "float32"
    boundaries: tuple[Sides, ...]
    points: PointFields = PointFields()
    varying: tuple[str, ...] = ()
    part: Part | None = None
    kept: int = 0
    series: tuple[str, ...] = ()
    regions: tuple[tuple[str, tuple[Span, ...]], ...] = ()
    subdomains: tuple[tuple[str, Subdomain], ...] = ()

    def __hash__(self) -> int:
        """Hash what tells most problems apart; boundaries rarely do and are many."""
        return hash((self.program, self.shape, self.steps, self.dtype))

    @property
    def plain(self) -> bool:
        """Whether the versions that steps need are all that is kept and read, of all cells."""
        return not self.kept and not self.series and not self.regions

    @property
    def rounds(self) -> bool:
        """Whether results are rounded: of real and of complex numbers."""
        return is_rounded(self.dtype)

    @property
    def cells(self) -> int:
        """Number of cells of the grid."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    def places(self, axis: int, low: int, high: int) -> tuple[npt.NDArray[np.int64], int]:
        """Return the indices that cells have as :data:`tilewright.index` counts them.

        Args:
            axis: The axis.
            low: The first cell of this grid.
            high: The end of the cells.

        Returns:
            The indices, and the extent of the axis along which they count.
        """
        found = np.arange(low, high)
        if self.part is None:
            return found, self.shape[axis]
        extent = self.part.shape[axis]
        return (found + self.part.start[axis]) % extent, extent

    def field_shape(self, field: str) -> tuple[int, ...]:
        """Shape of a field's arrays: the grid's but in subdomains."""
        part = dict(self.subdomains).get(field)
        return self.shape if part is None else part.shape(self.shape)

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
        found = []
        for extent, (low, high) in zip(self.shape, self.spans(statement), strict=True):
            first = low if low >= 0 else max(0, extent + low)
            last = extent + high if high <= 0 else min(extent, high)
            found.append((first, last) if first < last else (0, 0))
        return tuple(found)

    def spans(self, statement: Statement) -> tuple[Span, ...]:
        """The cells that a statement updates, in a grid of any shape."""
        given = dict(self.regions).get(statement.field)
        return given or tuple((low, -high) for low, high in self.margins(statement))

    def margins(self, statement: Statement) -> tuple[tuple[int, int], ...]:
        """Per axis the cells below and above that a statement does not update, in a grid of any shape.

        Those with a read outside a ``fixed`` side.
        """
        found = []
        for axis in range(self.program.rank):
            low = high = 0
            for read in statement.reads:
                below, above = self.sides(read.field)[axis]
                low = max(low, -read.offset[axis] if below.kind == "fixed" else 0)
                high = max(high, read.offset[axis] if above.kind == "fixed" else 0)
            found.append((low, high))
        return tuple(found)


BoundarySpec = str | Boundary | tuple["BoundarySpec", ...] | list["BoundarySpec"] | Mapping[str, "BoundarySpec"]
"""A kind for all sides, where ``periodic`` is ``wrap``;
a tuple of one entry per axis, each a kind or a pair (below, above); or a mapping by field."""


def make_problem(
    program: Program,
    shape: tuple[int, ...],
    steps: int,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    varying: Iterable[str] = (),
) -> Problem:
    """Make a checked problem.

    Args:
        program: What one step computes.
        shape: Extents, outermost first; one per dimension of the program, each at least 1.
        steps: Number of time steps, at least 0.
        dtype: One of :data:`DTYPES`.
        boundary: See :data:`BoundarySpec`.
        varying: Scalars that are given a value for every step, besides the step's number.

    Returns:
        The problem.

    Raises:
        UsageError: If anything does not fit.

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
    number = program.complex_constant
    if number is not None and not dtype.startswith("complex"):
        raise UsageError(
            f"{program.name!r} has the complex constant {number}, so its dtype is complex64 or complex128, "
            f"got {dtype!r}"
        )
    problem = Problem(
        program=program,
        shape=shape,
        steps=steps,
        dtype=dtype,
        boundaries=resolve(program, boundary),
        varying=tuple(name for name in program.scalars if name in {STEP, *varying}),
    )
    numpy_type(dtype)
    outside = [side.value for sides in problem.boundaries for pair in sides for side in pair]
    if any(np.ndim(value) for value in outside):
        raise UsageError("values per step of a boundary are for runs in memory and gradients", "give one number")
    if not dtype.startswith("complex") and any(isinstance(value, complex) for value in outside):
        number = next(value for value in outside if isinstance(value, complex))
        raise UsageError(f"what lies outside a grid of {dtype} values is real, got {number}")
    if problem.cells > MAX_CELLS:
        raise UsageError(f"a grid may have at most 2^46 cells, got {format_shape(shape)}")
    return problem


def _extents(shape: object) -> tuple[int, ...]:
    if isinstance(shape, str | bytes) or not isinstance(shape, Iterable):
        raise UsageError(f"a shape is a tuple of extents, got {shape!r}", "write shape=(512, 512)")
    return tuple(whole_number(extent, "an extent", -(2**62), 2**62, "of at most 2^62") for extent in shape)


def parse_boundary(text: str) -> BoundarySpec:
    """Parse a boundary as the command line writes it.

    ``wrap``; per axis ``fixed,wrap``; per side ``nearest/constant:1``; per field ``u=wrap;v=fixed``.

    Raises:
        UsageError: If a part is no boundary.

    Examples:
        >>> parse_boundary("wrap,nearest/fixed")
        (Boundary(kind='wrap', value=0.0), (Boundary(kind='nearest', value=0.0), Boundary(kind='fixed', value=0.0)))
    """
    if "=" in text:
        pairs = [part.partition("=") for part in text.split(";") if part.strip()]
        return {name.strip(): parse_boundary(spec) for name, _, spec in pairs}
    if "," in text:
        return tuple(parse_boundary(part) for part in text.split(","))
    if "/" in text:
        return tuple(_kind(part) for part in text.split("/"))
    return _kind(text)


def _kind(text: str) -> Boundary:
    kind, _, value = text.strip().partition(":")
    kind = SYNONYMS.get(kind, kind)
    if kind not in KINDS:
        raise _unknown(kind)
    try:
        return Boundary(kind=kind, value=_value(value) if value else 0.0)
    except ValueError:
        raise UsageError(f"the value of a constant boundary is a number, got {value!r}", "write constant:0.5") from None


def _value(text: str) -> complex:
    return complex(text) if text.endswith("j") else float(text)


def _unknown(kind: str) -> UsageError:
    """The error about a kind that is none."""
    known = (*KINDS, *SYNONYMS)
    hint = _MEANT.get(kind.lower()) or meant(kind, known, "such as reflect or constant:0.5; per axis 'wrap,fixed'")
    return UsageError(f"a boundary is one of {', '.join(KINDS)}, got {kind!r}", hint)


def resolve(program: Program, spec: BoundarySpec) -> tuple[Sides, ...]:
    """Return the boundaries of every field of a program."""
    if isinstance(spec, Mapping):
        unknown = sorted(set(spec) - set(program.fields))
        if unknown:
            raise UsageError(f"{program.name!r} has no field {unknown[0]!r}", f"its fields are {list(program.fields)}")
        return tuple(sides_of(program.rank, spec.get(name, FIXED)) for name in program.fields)
    return (sides_of(program.rank, spec),) * len(program.fields)


def sides_of(rank: int, spec: BoundarySpec) -> Sides:
    """Return the boundaries of one field, for a kind, an entry per axis, or an entry per side."""
    if isinstance(spec, Boundary) and np.ndim(spec.value):
        return (_pair(spec),) * rank
    if isinstance(spec, str | Boundary):
        return _all_around(rank, spec)
    if isinstance(spec, Mapping):
        raise UsageError("a boundary by field holds no further mapping", "give each field a kind or one entry per axis")
    if not isinstance(spec, tuple | list):
        raise UsageError(f"a boundary is a kind or one entry per axis, got {spec!r}", "such as 'wrap'")
    if len(spec) != rank:
        raise UsageError(f"a boundary has one entry per axis, expected {rank}, got {len(spec)}")
    return tuple(_pair(entry) for entry in spec)


@functools.lru_cache(maxsize=64)
def _all_around(rank: int, spec: str | Boundary) -> Sides:
    return (_pair(spec),) * rank


def _pair(spec: BoundarySpec) -> tuple[Boundary, Boundary]:
    if isinstance(spec, str | Boundary):
        side = _kind(spec) if isinstance(spec, str) else spec
        pair = (side, side)
    elif not isinstance(spec, tuple | list) or len(spec) != 2:
        raise UsageError(f"an axis has a boundary below and one above, got {spec!r}", "write it as a pair")
    else:
        pair = (_pair(spec[0])[0], _pair(spec[1])[0])
    for side in pair:
        if side.kind not in KINDS:
            raise _unknown(side.kind)
    if (pair[0].kind == "wrap") != (pair[1].kind == "wrap"):
        raise UsageError("an axis wraps on both sides or on none", f"got {pair[0]} below and {pair[1]} above")
    return pair
