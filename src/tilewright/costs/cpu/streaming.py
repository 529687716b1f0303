"""The cost of streaming tiles on a CPU: arithmetic, caches, memory, barriers, halos and the pipeline's fill.

Per vector a tile pays the longer of its arithmetic (C_iter of blocked rows, which ``calibrate`` measures) and the lines
that travel to and from the caches (the slabs that outlive an advance; in 3D every slab), since the hardware fetches
ahead, and a share of the time of lines from L3 (in 1D and 2D less where arithmetic hides them); per advance and level a
start-up; and, once per band, loading, transposing and storing; rows of tiles as wide as the grid are transposed by the
first and the last band only. This is our own extension; shares were fitted to measurements (docs/derivations/cpu.md).
"""

from collections.abc import Callable

import numpy as np

from tilewright.base.constants import CACHE_LINE, PAGE, WORD
from tilewright.costs.arrays import Floats, Ints, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.cpu.boxes import grid_seconds, off_chip, overlapped
from tilewright.costs.facts import Facts
from tilewright.costs.rates import CpuRates
from tilewright.costs.reuse import lost_at_random, lost_in_order
from tilewright.costs.work.streaming import StreamWork
from tilewright.machines.numbers import Numbers

ROWS = 10
"""Rows that an advance of a five-point stencil uses, whose start-up ``advance_seconds`` is: every row waits anew."""
FOLLOWED = 56
"""Rows that a stage may use side by side until the hardware loses track of some and fetches them no more ahead."""
UNFOLLOWED = 4.0
"""How many times as long as one that is fetched ahead a line from L2 takes that is not. Both were fitted to acoustic
and elastic waves of orders 2 to 16 in 2D, whose stages use 32 to 182 rows."""


def evaluate(work: StreamWork, facts: Facts, rates: CpuRates) -> Breakdown:
    """Evaluate the model; a wavefront is a band, a tile one tile of it."""
    arithmetic, starts, waits = computation(work, facts, rates)
    copies, memory = _moves(work, facts, rates)
    words = facts.itemsize / WORD
    moved = (work.read_values + work.written_values) * facts.itemsize * work.tiles * work.bands
    turns = work.bands * np.ceil(work.tiles / rates.sm_count)
    compute, move = arithmetic + starts + waits, copies + memory
    return Breakdown(
        wavefronts=work.bands,
        tiles_per_wavefront=work.tiles,
        tiles_per_prism=np.ones_like(work.bands),
        tile_points=work.points.astype(np.int64),
        input_words=work.read_values * words,
        output_words=work.written_values * words,
        shared_bytes=work.footprint_bytes.astype(np.int64),
        tiles_per_sm=np.ones_like(work.bands),
        io_seconds=move,
        compute_seconds=compute,
        prism_seconds=compute + move,
        dram_bytes=moved if off_chip(facts, rates) else np.full(moved.shape, 2.0 * facts.data_bytes),
        terms={
            "arithmetic": turns * arithmetic,
            "starts": turns * starts,
            "copies": turns * copies,
            "transfers": turns * (waits + memory),
            "synchronisation": work.bands * rates.launch_seconds,
        },
    )


def computation(work: StreamWork, facts: Facts, rates: CpuRates) -> tuple[Floats, Floats, Floats]:
    """Return the seconds of one tile's arithmetic, of starting its advances, and of waiting for lines."""
    rank = len(facts.shape)
    arithmetic = (1.0 - work.met) * rates.blocked.value + work.met * rates.blocked_across.value
    near, felt = _line_seconds(work, facts, rates)
    hidden = felt if hides(rank) else 0.0
    each = both(arithmetic, near, hidden, rates.numbers) + (felt - hidden)
    if rank == 2:
        each = each + near * UNFOLLOWED * max(0.0, 1.0 - FOLLOWED * facts.stages / work.uses.used)
    vectors = work.depth * work.lines * work.width / rates.vector_width
    starts = work.depth * work.advances * work.uses.used / ROWS * rates.advance_seconds
    return vectors * arithmetic, np.asarray(starts), np.asarray(vectors * (each - arithmetic))


def _moves(work: StreamWork, facts: Facts, rates: CpuRates) -> tuple[Floats, Floats]:
    """Seconds in which one tile is transposed or copied, and in which it comes from memory and goes there."""
    costs, straight = rates.numbers, rates.numbers.copy_operations * (1 - work.turned)
    loads = work.read_values * (costs.transpose_in_operations * work.turned + straight)
    stores = work.written_values * (costs.transpose_out_operations * work.turned + straight)
    operation = rates.c_iter.value / max(1, facts.flops + 8)
    # What a band writes goes past the caches, so that all bands but the first one read from memory.
    first, memory = 1.0 / work.bands, rates.word_seconds / WORD
    read = work.read_values * (first * grid_seconds(facts, rates) + (1.0 - first) * memory)
    moved = (read + work.written_values * memory) * facts.itemsize
    return (loads + stores) / rates.vector_width * operation, np.asarray(moved)


def hides(rank: int) -> bool:
    """Whether arithmetic hides lines from L3: in 3D it does not (docs/derivations/cpu.md)."""
    return rank < 3


def both(arithmetic: float | Floats, near: float | Floats, felt: float | Floats, cpu: Numbers) -> Floats:
    """Seconds of arithmetic beside lines from L2 (``near``) and what is felt of those from L3 while it waits for L2."""
    longer = overlapped(arithmetic, near, cpu)
    idle = np.less(near, arithmetic)
    waits = np.where(idle, near, 1.0) / np.where(idle, arithmetic, 1.0)
    return np.asarray(longer + felt * waits**cpu.l3_overlap_exponent)


def _line_seconds(work: StreamWork, facts: Facts, rates: CpuRates) -> tuple[Floats, Floats]:
    """Seconds of lines per vector and level: of those from L2, which run beside the arithmetic, and of all others."""
    inner, mid, last = fills(work, facts, rates)
    numbers = rates.numbers
    memory = numbers.bytes_per_fetch * rates.word_seconds / WORD
    exposed = numbers.l3_exposed_fraction if hides(len(facts.shape)) else numbers.l3_exposed_fraction_3d
    exposed = exposed * numbers.bytes_per_fetch
    near = inner * rates.cache_byte_seconds * rates.line_ratio
    far = mid * exposed * rates.outer_byte_seconds + last * memory if rates.outer_bytes else mid * memory
    vector = rates.vector_width * facts.itemsize  # half of a line, or a quarter, where registers are narrower
    return vector * near, vector * far


def fills(work: StreamWork, facts: Facts, rates: CpuRates) -> tuple[Floats, Floats, Floats]:
    """Return the values per cell and level that L1, L2 and a core's part of L3 lack and fetch."""
    # Rows that a level uses again within an advance find between the two uses what :func:`tilewright.costs.reuse.uses`
    # counts; of those that outlive an advance the whole tile lies in between.
    uses, row = work.uses, work.width * facts.itemsize
    lines, ways = ceil_div(row, CACHE_LINE), max(1, rates.l1_bytes // PAGE)
    apart = [((between + 1.0) * work.side - 1.0, count) for between, count in uses.near]
    apart.append((work.footprint_bytes / row - 1.0, uses.far))

    def in_order(between: float, lines: float) -> float:
        return lost_in_order(between, int(lines), ways)

    inner = sum(count * _each(in_order, between, lines) for between, count in apart)
    if len(facts.shape) == 3:
        beside = sum(facts.sides[1]) * (uses.used - uses.written)
        inner = inner + beside * _each(in_order, np.full(row.shape, uses.used - 1.0), lines)
    room = max(rates.numbers.l3_reuse_fraction * rates.outer_bytes, rates.shared_bytes)

    def at_random(size: float, ways: float) -> Floats:
        lost = [_each(lambda share: lost_at_random(share, int(ways)), between * row / size) for between, _ in apart]
        return np.asarray(sum(count * each for (_, count), each in zip(apart, lost, strict=True)) / work.rows)

    mid, last = at_random(rates.shared_bytes, rates.numbers.l2_ways), at_random(room, rates.numbers.l3_ways)
    return np.asarray(inner / work.rows), mid, last


def _each(function: Callable[..., float], *columns: Ints | Floats) -> Floats:
    """The values of a function for every row of columns, each called for once."""
    unique, inverse = np.unique(np.stack(columns), axis=1, return_inverse=True)
    values = np.array([function(*row) for row in unique.T.tolist()], dtype=np.float64)
    return np.asarray(values[inverse.ravel()])
