"""Words that a tile given by its rows reads, hands on and touches: exact for any program, by boxes.

A tile is one box of cells per logical step. All counts are those of a tile far from every edge of the grid.
"""

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from tilewright.programs.stencil.program import Program, Statement
from tilewright.schedules.pieces import Box, volume

_LOOKAHEAD = 4
"""A value is read at most this many time steps after its own."""


@functools.lru_cache(maxsize=1024)
def words(program: Program, rows: tuple[Box, ...], axes: tuple[int, ...]) -> tuple[int, int]:
    """Count live-in and live-out of a tile, given its cells per logical step (from stage 0 on) along ``axes``."""
    analysis = program.analysis
    stages = analysis.stages
    stage_of = {program.statements[i].field: number for number, stage in enumerate(stages) for i in stage}
    needed: dict[tuple[str, int], dict[Box, None]] = {}
    kept: dict[tuple[str, int], Box | None] = {}
    for row in range(len(rows) + _LOOKAHEAD * len(stages)):
        box = rows[row] if row < len(rows) else None
        for i in stages[row % len(stages)]:
            _reads(program.statements[i], (row, box, axes), (stage_of, len(stages)), (needed, kept))
    live_in = live_out = 0
    for (field, source), boxes in needed.items():
        own = rows[source] if field in stage_of and 0 <= source < len(rows) else None
        live_in += _outside(*_moved(tuple(sorted(boxes)), own))
        if own is not None:
            inner = kept[field, source]
            live_out += volume(own) - (0 if inner is None else volume(_meet(own, inner)))
    return live_in, live_out


def _reads(
    statement: Statement,
    where: tuple[int, Box | None, Sequence[int]],
    order: tuple[dict[str, int], int],
    found: tuple[dict[tuple[str, int], dict[Box, None]], dict[tuple[str, int], Box | None]],
) -> None:
    """Note what one statement of one row reads; ``box`` is None for a row behind the tile's last one."""
    (row, box, axes), (stage_of, stages), (needed, kept) = where, order, found
    # reads that differ along other axes alone are one
    reads = dict.fromkeys(
        (each.field, each.level, tuple(each.offset[axis] for axis in axes)) for each in statement.reads
    )
    for field, level, offsets in reads:
        source = -1
        if field in stage_of:
            source = (row // stages + level - 1) * stages + stage_of[field]
        key = (field, source)
        wanted = needed.setdefault(key, {})
        if box is None:
            kept[key] = None
            continue
        moved = tuple((low + o, high + o) for (low, high), o in zip(box, offsets, strict=True))
        if volume(moved):
            wanted[moved] = None
        before = kept.get(key, moved)
        kept[key] = None if before is None else _meet(before, moved)


def _meet(a: Box, b: Box) -> Box:
    return tuple((max(p, r), min(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))


def _moved(boxes: tuple[Box, ...], own: Box | None) -> tuple[tuple[Box, ...], Box | None]:
    """Move boxes so that equal pictures at different places are counted once."""
    if not boxes:
        return boxes, own
    corner = tuple(low for low, _ in boxes[0])

    def shifted(box: Box) -> Box:
        return tuple((low - c, high - c) for (low, high), c in zip(box, corner, strict=True))

    return tuple(map(shifted, boxes)), None if own is None else shifted(own)


@functools.lru_cache(maxsize=4096)
def _outside(boxes: tuple[Box, ...], own: Box | None) -> int:
    """Cells of the union of boxes, less those of ``own``: counted on the grid of all their ends."""
    if not boxes:
        return 0
    every = boxes if own is None else (*boxes, own)
    ends = [sorted({end for box in every for end in box[axis]}) for axis in range(len(boxes[0]))]
    inside = np.zeros([len(axis) - 1 for axis in ends], dtype=bool)

    def place(box: Box) -> tuple[slice, ...]:
        return tuple(
            slice(axis.index(low), axis.index(high)) if low < high else slice(0, 0)
            for axis, (low, high) in zip(ends, box, strict=True)
        )

    for box in boxes:
        inside[place(box)] = True
    if own is not None:
        inside[place(own)] = False
    total = inside.astype(object)
    for axis in reversed(ends):
        total = total @ np.array([b - a for a, b in itertools.pairwise(axis)], dtype=object)
    return int(total)


def footprint(program: Program, rows: Sequence[Box]) -> int:
    """Count the values of the boxes, one per field and kept version, that hold all that a tile reads and writes."""
    # ``rows`` has the cells per logical step, from one of stage 0 on.
    analysis = program.analysis
    hulls: dict[str, Box] = {}
    for number, stage in enumerate(analysis.stages):
        own = [row for row in rows[number :: len(analysis.stages)] if volume(row)]
        if not own:
            continue
        box = tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in zip(*own, strict=True))
        for i in stage:
            statement = program.statements[i]
            touched = [(statement.field, (0,) * program.rank), *((r.field, r.offset) for r in statement.reads)]
            for field, offset in touched:
                moved = tuple((low + o, high + o) for (low, high), o in zip(box, offset, strict=True))
                old = hulls.get(field, moved)
                hulls[field] = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, moved, strict=True))
    copies = dict(zip(program.fields, analysis.copies, strict=True))
    return sum(copies[field] * volume(hull) for field, hull in hulls.items())
