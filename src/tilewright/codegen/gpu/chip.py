"""What a hexagonal prism keeps on chip: which cells of which versions, where, and which of them it must load.

Everything is counted in cells relative to a tile: along axis 0 from the left end of the hexagon's first row, along a
classic axis from the start of the classic tile at row 0.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.codegen.gpu.site import offsets, reached
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.geometry import Face
from tilewright.schedules.prism import Prism

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipSlot:
    """One version slot of a field on chip."""

    pieces: tuple[Span, ...]  # cells along axis 0 that a whole tile loads, as half-open ranges
    hull: Span  # cells along axis 0 that any tile may read


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipField:
    """A field on chip."""

    name: str
    low: int  # first cell along axis 0
    high: int  # end of its cells along axis 0
    start: int  # index on chip of its first value
    # its version slots; slot ``k`` holds version ``v`` with ``v - v0 = k`` modulo their number, where ``v0`` is the
    # version at the tile's first row
    slots: tuple[ChipSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLayout:
    """The layout of a tile's values."""

    fields: tuple[ChipField, ...]  # every field, in field order
    box: tuple[Span, ...]  # per classic axis, first cell and end of what a tile touches
    pure: tuple[Span, ...]  # per axis, least and greatest offset of a read as written
    values: int  # how many

    def extent(self, axis: int) -> int:
        """Cells along a classic axis, counted from 1."""
        low, high = self.box[axis - 1]
        return high - low


def chip_of(problem: Problem, cut: Prism[int], most_pieces: int) -> SharedLayout:
    """Lay out a tile; a slot whose cells come in more than ``most_pieces`` pieces is loaded as one."""
    rank, hexagon = problem.program.rank, cut.hexagon
    box = _box(problem, cut)
    plane = math.prod(high - low for low, high in box)
    fields, start = [], 0
    for field, copies in zip(problem.program.fields, problem.program.analysis.copies, strict=True):
        low, high = _field_hull(problem, hexagon, field)
        slots = tuple(_slot(problem, hexagon, field, slot, (low, high), most_pieces) for slot in range(copies))
        fields.append(ChipField(name=field, low=low, high=high, start=start, slots=slots))
        start += copies * (high - low) * plane
    return SharedLayout(
        fields=tuple(fields),
        box=tuple(box),
        pure=tuple(offsets(problem, axis, bent=False) for axis in range(rank)),
        values=start,
    )


def values_of(problem: Problem, cut: Prism[int]) -> int:
    """Return the number of values on chip of a tile."""
    plane = math.prod(high - low for low, high in _box(problem, cut))
    hulls = [_field_hull(problem, cut.hexagon, field) for field in problem.program.fields]
    copies = problem.program.analysis.copies
    return plane * sum(count * (high - low) for count, (low, high) in zip(copies, hulls, strict=True))


def _box(problem: Problem, cut: Prism[int]) -> list[Span]:
    """Per classic axis, first cell and end of what a tile touches."""
    reach = [offsets(problem, axis, bent=True) for axis in range(1, problem.program.rank)]
    rows = cut.hexagon.height - 1
    return [(low - skew.slope * rows, skew.size + high) for skew, (low, high) in zip(cut.skews, reach, strict=True)]


def _field_hull(problem: Problem, hexagon: Face, field: str) -> Span:
    spans = [span for span, _, _ in _touched(problem, hexagon, field)]
    return min(low for low, _ in spans), max(high for _, high in spans)


def _touched(problem: Problem, hexagon: Face, field: str) -> Iterator[tuple[Span, int, int | None]]:
    """Yield what every row touches of a field: the cells, the version after the tile's first, and who made it.

    The maker is the row of the same tile that computes the version, -1 for none, or None where the row itself writes.
    """
    analysis = problem.program.analysis
    stages = len(analysis.stages)
    stage_of = {i: number for number, stage in enumerate(analysis.stages) for i in stage}
    writer = {statement.field: i for i, statement in enumerate(problem.program.statements)}
    for i, statement in enumerate(problem.program.statements):
        for row in range(stage_of[i], hexagon.height, stages):
            low, high = hexagon.row(row)
            step = row // stages
            if statement.field == field:
                yield (low, high), step + 1, None
            for read in statement.reads:
                if read.field != field:
                    continue
                maker = -1
                if field in writer:
                    maker = (step + read.level - 1) * stages + stage_of[writer[field]]
                for distance in reached(problem, read, 0, bent=True):
                    near = distance == read.offset[0]
                    yield (low + distance, high + distance), step + read.level, maker if near else hexagon.height


def _slot(problem: Problem, hexagon: Face, field: str, slot: int, every: Span, most_pieces: int) -> ChipSlot:
    copies = problem.program.analysis.copies[problem.program.fields.index(field)]
    missing: list[Span] = []
    hull: list[Span] = []
    for (low, high), version, maker in _touched(problem, hexagon, field):
        if maker is None or version % copies != slot:
            continue
        hull.append((low, high))
        if maker == hexagon.height:  # only where a boundary bends it, and boundary tiles load the hull
            continue
        if maker < 0 or problem.program.rank == 3:  # in 3D lines of classic tiles hand over to each other in memory
            missing.append((low, high))
        else:
            own = hexagon.row(maker)
            missing += [(low, min(high, own[0])), (max(low, own[1]), high)]
    pieces = _union([(low, high) for low, high in missing if low < high])
    if len(pieces) > most_pieces:
        pieces = [(pieces[0][0], pieces[-1][1])]
    whole = (min(low for low, _ in hull), max(high for _, high in hull)) if hull else (every[0], every[0])
    return ChipSlot(pieces=tuple(pieces), hull=whole)


def _union(spans: list[Span]) -> list[Span]:
    """Join ranges that meet.

    >>> _union([(5, 7), (0, 2), (2, 3)])
    [(0, 3), (5, 7)]
    """
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined
