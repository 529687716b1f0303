"""What the alignment kernel of CPUs costs (:mod:`tilewright.workloads.tables.lower.align`), and its fastest tiles.

Neighbouring columns of a tile are dealt to the lanes of vectors, and its rows are computed one after the other. With
k = ceil(s / lanes) vectors, a tile of t rows takes

    c = (t + 1) (row + k vector + min(k, 4) carry)

one row more for keeping its state and for finding its largest score; in every column of tiles one is computed again on
more bits. ``row`` are the loops that a row starts, ``vector`` ten operations, three loads and two stores, ``carry`` is
what every row looks at of gaps that may come in. Scores of every letter against the tile's columns and four rows of
state lie in the cache that holds them. Columns of tiles are dealt to the threads, see
:mod:`tilewright.costs.cpu.walks`.

Scores count 16 bits here: a tile starts on 8, related sequences need 16. An alignment that is traced is taken to run
through half of the shorter sequence's length, which lies between none and all of it: the tiles that it crosses are
computed again, cell by cell.
"""

import functools
from dataclasses import dataclass

from tilewright.base.constants import ALIGNMENT_LANES, WORD
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.breakdown import Times
from tilewright.costs.cpu.walks import core_memory, row_start, walk_terms
from tilewright.machines.machine import Machine, with_threads

_ITEM = 2  # bytes of a score
_PASSED = 2  # rows of scores that go from row to row: H and V
_STATE = 2 * _PASSED  # rows of scores that a tile keeps: these, and both as they were before the tile
_OPERATIONS, _ACCESSES = 10, 5  # operations of a vector, and its loads and stores
_CARRIED = 4  # vectors that a row looks at again for gaps that come in from other lanes
_CARRY_OPERATIONS, _CARRY_ACCESSES = 3, 2
_ROWS = (*(2**power for power in range(3, 17)), 96, 192, 384, 768)
_COLUMNS = tuple(2**power for power in range(6, 17))
_PARTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64)
"""Columns of tiles that a thread may take, so that all threads end together."""
_KEPT_BYTES = 2**28  # what a traced alignment may keep where smaller tiles would be faster
_MOST_CELLS = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentCase:
    """A pair of sequences on a CPU."""

    lengths: tuple[int, int]  # letters of the first sequence, along the rows, and of the second
    letters: int  # letters of the alphabet
    traced: bool  # whether the alignment is wanted, not the score alone
    machine: Machine  # the CPU; its ``sm_count`` is the number of threads


def times(case: AlignmentCase, rows: int, columns: int) -> Times[float]:
    """Return what a tiling takes, whose columns are a multiple of the lanes that they are dealt to."""
    (m, n), machine = case.lengths, case.machine
    tall, wide, cores = ceil_div(m, rows), ceil_div(n, columns), int(machine.sm_count.value)
    row = _row_seconds(case, columns)
    memory = core_memory(machine)
    edges = 2 * WORD * (rows + (columns if case.traced else 0)) * cores / machine.dram_bandwidth.value
    beside = edges + (memory.flag_seconds if cores > 1 and wide > 1 else 0.0)
    computed = (m + tall + machine.alignment_widened_fraction.value * min(rows, m)) / tall
    last = computed * _row_seconds(case, n - (wide - 1) * columns)
    return Times(
        terms={
            "synchronisation": machine.launch_seconds.value if cores > 1 else 0.0,
            **walk_terms((wide, tall, cores), computed * row, last, beside),
            "tracing": _traced_seconds(case, rows, columns) if case.traced else 0.0,
        }
    )


def _row_seconds(case: AlignmentCase, columns: int) -> float:
    machine = case.machine
    lanes = int(machine.vector_width.value) * WORD // _ITEM
    vectors = ceil_div(max(columns, ALIGNMENT_LANES), lanes)
    flop, access = machine.flop_cycles.value, machine.load_cycles.value
    cycles = _OPERATIONS * flop + _ACCESSES * access + machine.of_rank("loop_cycles", 2).value
    width = lanes * _ITEM
    state = ((_ACCESSES - 1) * width, (_PASSED + 1) * vectors * width)
    scores = (width, (case.letters + _STATE) * vectors * width)
    vector = core_memory(machine).with_arithmetic(cycles / machine.clock.value, state, scores)
    carry = (_CARRY_OPERATIONS * flop + _CARRY_ACCESSES * access) / machine.clock.value
    start = machine.alignment_row_starts.value * row_start(machine)
    return start + vectors * vector + min(vectors, _CARRIED) * carry


def _traced_seconds(case: AlignmentCase, rows: int, columns: int) -> float:
    """Return the seconds of tracing: half of a tile is computed again where it is entered at a random place."""
    crossed = min(case.lengths) / 2
    rows, columns = min(rows, case.lengths[0]), min(columns, case.lengths[1])
    visits = 1.0 + crossed / rows + crossed / columns
    machine = case.machine
    cell = machine.alignment_traced_cycles.value / machine.clock.value
    return visits * (machine.alignment_visit_seconds.value + 0.5 * rows * columns * cell)


def kept_bytes(case: AlignmentCase, rows: int, columns: int) -> int:
    """Return the bytes that a traced alignment keeps: H and E or V on all edges, and a tile's directions."""
    m, n = case.lengths
    return 2 * WORD * ((ceil_div(n, columns) + 1) * m + (ceil_div(m, rows) + 1) * n) + min(rows, m) * min(columns, n)


@functools.lru_cache(maxsize=256)
def alignment_default(
    lengths: tuple[int, int], letters: int, machine: Machine, threads: int | None = None, *, traced: bool
) -> tuple[int, int]:
    """Return rows and columns of the fastest tiles of an alignment; ``traced`` if more than the score is wanted."""
    case = AlignmentCase(lengths=lengths, letters=letters, traced=traced, machine=with_threads(machine, threads))
    return min(alignment_tiles(case), key=lambda tile: times(case, *tile).seconds)


def alignment_tiles(case: AlignmentCase) -> tuple[tuple[int, int], ...]:
    """Return the tiles among which an alignment's is chosen, smaller ones first.

    Rows and columns are powers of two up to the lengths, and columns also such that every thread has as many tiles.
    What a traced alignment keeps stays below a limit, or twice the least that any tile keeps.
    """
    (m, n), threads = case.lengths, int(case.machine.sm_count.value)
    parts = {ceil_div(n, threads * part) for part in _PARTS} | {min(size, n) for size in _COLUMNS}
    columns = sorted({round_up(each, ALIGNMENT_LANES) for each in parts})
    rows = sorted({min(size, m) for size in _ROWS})
    every = tuple((t, s) for t in rows for s in columns if t * s <= _MOST_CELLS)
    if not case.traced:
        return every
    sizes = [kept_bytes(case, *tile) for tile in every]
    most = max(_KEPT_BYTES, 2 * min(sizes))
    return tuple(tile for tile, size in zip(every, sizes, strict=True) if size <= most)
