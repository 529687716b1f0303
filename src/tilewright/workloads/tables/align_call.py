"""Local alignment on this CPU: the kernel compiled, cached and called; alignments traced tile by tile."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.base.constants import ALIGNMENT_LANES
from tilewright.base.intmath import ceil_div, round_up
from tilewright.runtime.call import CompiledFunction, compiled, packed, scratch
from tilewright.workloads.tables.lower.align import emit_align
from tilewright.workloads.tables.scoring import Codes, Scoring

Ints = npt.NDArray[np.int32]
_FLAG_WORDS = 16
_PAIR, _ONLY_Y, _ONLY_X = 0, 1, 2
_START = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two sequences and how they are scored."""

    x: Codes  # letters of the first sequence, along the rows; at least one
    y: Codes  # letters of the second, along the columns; at least one
    scoring: Scoring


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTable:
    """What the score kernel leaves of the table."""

    tile: tuple[int, int]  # rows and columns of a tile
    best: Ints  # best score per tile; shape (tile rows, tile columns)
    bits: npt.NDArray[np.uint8]  # that each tile was computed on; the same shape
    left: Ints  # H and E on the vertical edges; shape (2, tile columns + 1, m), or (2, 1, m) unless kept
    top: Ints  # H and V on the horizontal edges; shape (2, tile rows + 1, n), or (2, 1, 1) unless kept

    @property
    def score(self) -> int:
        """The best score of all."""
        return int(self.best.max(initial=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentPath:
    """An alignment as steps: 0 pairs a letter of x with one of y, 1 takes one of y alone, 2 one of x alone."""

    x: tuple[int, int]  # half-open range of the letters of x that take part
    y: tuple[int, int]  # the same of y
    steps: npt.NDArray[np.uint8]  # from the start


def _kernels() -> tuple[CompiledFunction, ...]:
    return compiled(emit_align)


def parallel() -> bool:
    """Whether the kernel runs on several threads."""
    return _kernels()[0].parallel


def score_table(pair: Pair, tile: tuple[int, int], threads: int, *, keep: bool = False, bits: int = 8) -> ScoreTable:
    """Compute the scores of all local alignments on ``bits`` (8, 16, 32) or more, in tiles of 64 i columns."""
    kernel, _ = _kernels()
    x, y, scoring = pair.x, pair.y, pair.scoring
    (m, n), (t, s) = (len(x), len(y)), tile
    tall, wide = ceil_div(m, t), ceil_div(n, s)
    count = kernel.team(threads, parts=wide)
    letters = len(scoring.letters)
    columns = round_up(s, ALIGNMENT_LANES)
    own = 25 * columns + 7 * letters * columns + round_up(16 * t, ALIGNMENT_LANES) + ALIGNMENT_LANES
    copies = (wide + 1) * m + (tall + 1) * n if keep else m
    work = scratch(own * count, 8 * copies)
    left = np.zeros((2, wide + 1 if keep else 1, m), dtype=np.int32)
    top = np.zeros((2, tall + 1, n) if keep else (2, 1, 1), dtype=np.int32)
    best = np.zeros((tall, wide), dtype=np.int32)
    used = np.zeros((tall, wide), dtype=np.uint8)
    flags = np.zeros(wide * _FLAG_WORDS, dtype=np.int64)
    matrix = scoring.array()
    # Columns that only fill up a tile score at most 0, whatever the matrix: nothing may grow there.
    lowest = min(0, int(matrix.min()))
    sizes = (m, n, letters, scoring.gap_open, scoring.gap_extend, t, s, count, int(keep), bits, lowest, own)
    arrays = (x, y, matrix, left[0], left[1], top[0], top[1], best, used, flags)
    kernel(arrays, sizes, work)
    return ScoreTable(tile=tile, best=best, bits=used, left=left, top=top)


def trace_path(pair: Pair, table: ScoreTable) -> AlignmentPath:
    """Trace a best alignment, of a score above 0, through a table whose edges were kept, computing its tiles again."""
    t, s = table.tile
    a, b = divmod(int(np.argmax(table.best)), table.best.shape[1])
    visit = _Visit(pair, table)
    row, column, state = -1, -1, 0
    end: tuple[int, int] | None = None
    parts: list[npt.NDArray[np.uint8]] = []
    while True:
        sizes, steps = visit.follow((a, b), (row, column), state)
        row, column, state = (int(size) for size in sizes[6:9])
        parts.append(steps)
        if end is None:
            end = (a * t + int(sizes[10]) + 1, b * s + int(sizes[11]) + 1)
        here = (a * t + row + 1, b * s + column + 1)
        if state == _START or min(here) == 0:
            break
        a, row = (a - 1, t - 1) if row < 0 else (a, row)
        b, column = (b - 1, s - 1) if column < 0 else (b, column)
    return AlignmentPath(x=(here[0], end[0]), y=(here[1], end[1]), steps=np.concatenate(parts)[::-1])


class _Visit:
    """Computes tiles again, from their kept edges, with directions."""

    def __init__(self, pair: Pair, table: ScoreTable) -> None:
        self.pair, self.table = pair, table
        rows, columns = min(table.tile[0], len(pair.x)), min(table.tile[1], len(pair.y))
        self.way = np.empty(rows * columns, dtype=np.uint8)
        self.steps = np.empty(rows + columns + 2, dtype=np.uint8)
        self.work = np.empty(2 * columns, dtype=np.int32)
        self.matrix = pair.scoring.array()

    def follow(
        self, tile: tuple[int, int], place: tuple[int, int], state: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Follow an alignment through a tile, from a place in it towards its start; a row below 0 asks for the end."""
        pair, table, scoring = self.pair, self.table, self.pair.scoring
        i0, j0 = tile[0] * table.tile[0], tile[1] * table.tile[1]
        rows = min(table.tile[0], len(pair.x) - i0) if place[0] < 0 else place[0] + 1
        columns = min(table.tile[1], len(pair.y) - j0) if place[0] < 0 else place[1] + 1
        corner = int(table.left[0, tile[1], i0 - 1]) if i0 and tile[1] else 0
        head = (rows, columns, len(scoring.letters), scoring.gap_open, scoring.gap_extend, corner)
        sizes = np.array((*head, *place, state, table.score, 0, 0), dtype=np.int64)
        parts = (
            pair.x[i0 : i0 + rows],
            pair.y[j0 : j0 + columns],
            self.matrix,
            *table.left[:, tile[1], i0 : i0 + rows],
            *table.top[:, tile[0], j0 : j0 + columns],
        )
        arrays = (*map(packed, parts), self.way, self.steps)
        _kernels()[1](arrays, sizes, self.work)
        return sizes, self.steps[: sizes[9]].copy()
