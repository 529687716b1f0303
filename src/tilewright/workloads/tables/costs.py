"""What a recurrence's table costs in orthogonal tiles: the time model's quantities, and the energy.

With A = ceil(m / t) rows and B = ceil(n / s) columns of tiles: N_w = A + B - 1 wavefronts, the d-th of
w_d = min(d + 1, A, B, N_w - d) tiles. A tile reads m_i and writes m_o words, counted exactly, and keeps both on chip
(M_tile). Its s / sub sub-tiles are lanes of a pipeline that starts one after the other, so t + s / sub - 1 turns of
sub cells each: c. An SM takes q_d = ceil(w_d / n_SM) tiles of a wavefront, at most k at a time; those that share it
overlap their transfers m' with computing, as in the time model of the stencils:

    T_alg = N_w T_sync + sum over d of (floor(q_d / k) T(k) + T(q_d mod k))
    T(0) = 0, T(1) = m' + c, T(j) = min(m', c) + j max(m', c)

On a CPU the kernel (:mod:`tilewright.workloads.tables.lower.cpu`) has other terms. A tile is t + s - 1 anti-diagonals
of whole vectors, and those of its reach above and on the left; each starts the same few loops. They lie in a ring, in
the cache that holds it. There is no barrier: a core takes every n_SM-th row of tiles, walks along it and waits for a
flag of the tile above (:mod:`tilewright.costs.cpu.walks`). Tiles at the table's edges are smaller, and are charged as
they are.

Energy is the general rule, with words between on-chip memory and registers per sub-tile: its rows' inputs and what it
takes from the left and hands to the right, besides a look-up per cell. For Smith-Waterman it is the printed
4.25 (t_S + t_T) e_gs + (V + 5 t_T t_S / s_S) e_sr + 5 V (e_iadd + e_imax) (thesis, section B.6.2), to the last term.
"""

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tilewright.base.constants import CACHE_LINE, MAX_BLOCK_THREADS, MOST_REGISTERS, STATIC_SHARED, WARP, WORD
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.breakdown import Times
from tilewright.costs.cpu.walks import CoreMemory, core_memory, row_start, walk, walk_terms
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.price import Usage, count_operations, price
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.machines.parameters import Quantity, estimated
from tilewright.programs.stencil.expression import LOOKUP
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.schedules.tiling import Tiling
from tilewright.workloads.tables import orthogonal
from tilewright.workloads.tables.problem import Recurrence, reach_of

LETTER = 0.25  # words of an input's value per row or per column: a letter is a byte, as the thesis counts it
_ROWS = tuple(2**power for power in range(4, 12))
_COLUMNS = tuple(2**power for power in range(5, 14))
_BETWEEN = (96, 192, 384, 768)
"""Widths of a GPU's tiles between the powers of two; up to the last one also equal parts of the columns, in warps."""
_SUBS = (1, 2, 4, 8, 16, 32, 64)
_ROUNDS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Rows of tiles that an SM or core may take: heights between the powers of two, so that none is left over at the end.
On a CPU also the tiles of a row, in all and for every core that may walk behind another."""
_ADDRESSES = 40  # registers of a GPU's thread besides the values that it keeps: pointers, extents and indices
_REGISTERS = 65536


@dataclass(frozen=True, kw_only=True)
class TableCase:
    """A recurrence's table on a machine."""

    program: Recurrence
    shape: tuple[int, int]  # rows and columns
    dtype: str  # element type of the tables
    machine: Machine
    scope: str  # who shares the bandwidth: ``device`` or ``per_sm``
    steps: ClassVar[int] = 1  # a table is filled once

    @property
    def itemsize(self) -> int:
        """Bytes per value."""
        return 1 if self.dtype == "bool" else np.dtype(self.dtype).itemsize

    @functools.cached_property
    def words(self) -> float:
        """Words per value."""
        return self.itemsize / WORD

    @property
    def cpu(self) -> bool:
        """Whether the machine is a CPU."""
        return self.machine.kind == "cpu"

    @functools.cached_property
    def lanes(self) -> int:
        """Cells that an SM or core computes at once."""
        width = int(self.machine.vector_width.value)
        return max(1, int(width / self.words)) if self.cpu else width

    @functools.cached_property
    def c_iter(self) -> Quantity:
        """Seconds per cell of one vector unit, its data being on chip; see :func:`iteration_seconds`."""
        return iteration_seconds(self)

    @functools.cached_property
    def word_seconds(self) -> float:
        """L, seconds per word that a tile moves."""
        count = self.machine.sm_count.value if self.scope == "per_sm" else 1
        return WORD / self.machine.dram_bandwidth.value * count

    @functools.cached_property
    def memory(self) -> CoreMemory:
        """A core's caches."""
        return core_memory(self.machine)


def make_case(
    program: Recurrence, shape: tuple[int, ...], dtype: str, machine: Machine, scope: str | None = None
) -> TableCase:
    """Collect what the model needs; the scope is ``device`` on a GPU and ``per_sm`` on a CPU by default."""
    if len(shape) != 2 or min(shape) < 1:
        raise UsageError(f"a table has rows and columns, at least one of each, got {'x'.join(map(str, shape))}")
    scope = scope or ("per_sm" if machine.kind == "cpu" else "device")
    if scope not in {"device", "per_sm"}:
        raise UsageError(f"the scope of the bandwidth is one of device, per_sm, got {scope!r}")
    return TableCase(program=program, shape=(shape[0], shape[1]), dtype=dtype, machine=machine, scope=scope)


def tile_words(case: TableCase, tiling: Tiling) -> tuple[float, float]:
    """Return the 4-byte words that a tile reads from memory and writes to it: m_i and m_o."""
    t, s = tiling.time, tiling.space[0]
    live_in, live_out = orthogonal.live(case.program, t, s)
    letters = case.program.kinds["row"] * t + case.program.kinds["column"] * s
    return (live_in - letters) * case.words + letters * LETTER, live_out * case.words


def tile_usage(case: TableCase, tiling: Tiling, seconds: float) -> Usage:
    """Return what all tiles use in a run of so many seconds; tiles are counted by their area, m n / (t s)."""
    t, s, sub = tiling.time, tiling.space[0], tiling.sub[0]
    points = t * s
    tiles = case.shape[0] * case.shape[1] / points
    program = case.program
    lookups = sum(op.startswith(LOOKUP) for op in program.applied)
    crossed = 2 * sum(reach_of(many)[1] for many in program.reads.values())
    shared = points * (lookups + program.kinds["cell"]) + (program.kinds["row"] + crossed) * t * s / sub
    kinds = count_operations([op for op in program.applied if not op.startswith(LOOKUP)], case.dtype[0] in "ib")
    return Usage.of(
        seconds=seconds,
        global_words=tiles * sum(tile_words(case, tiling)),
        shared_words=tiles * shared * max(1.0, case.words),
        updates=tiles * points * max(1.0, case.words),
        operations=kinds,
    )


def iteration_seconds(case: TableCase) -> Quantity:
    """Return C_iter: seconds per cell of one vector unit, its data being on chip.

    Where the machine file gives it for this recurrence, that value; else an estimate from operations and accesses.
    """
    machine, program = case.machine, case.program
    entry = machine.iteration_seconds(program.name)
    if entry is not None:
        return entry
    specials = sum(op in SPECIAL for op in program.applied)
    lookups = sum(op.startswith(LOOKUP) for op in program.applied)
    flops = program.operations - specials - lookups
    # Neighbours in the row stay in registers; what was computed a row above is loaded, and every table is stored.
    above = sum(any(offset[0] for offset in many) for many in program.reads.values())
    accesses = above + len(program.tables) + max(1, lookups)
    loop = machine.of_rank("loop_cycles", 2)

    def seconds(end: str) -> float:
        work = flops * machine.flop_cycles.end(end) + specials * machine.special_cycles.end(end)
        return (work + accesses * machine.load_cycles.end(end) + loop.end(end)) / machine.clock.value

    return estimated(seconds, "s", f"from {flops + specials} operations and {accesses} loads and stores per cell")


def predict(case: TableCase, tiling: Tiling) -> Costs:
    """Predict what a complete, legal tiling of a table costs; its k, if given, is the number of tiles per SM."""
    costs = expected(case, tiling)
    if costs is None:
        read, written = tile_words(case, tiling)
        raise UsageError(
            f"a tile of {str(tiling)!r} needs {int((read + written) * WORD)} bytes of shared memory and "
            f"{tiling.space[0] // tiling.sub[0]} threads, which {case.machine.name} has not for {tiling.k or 1} per SM",
            "take smaller sizes, a larger sub or a smaller k",
        )
    return costs


def expected(case: TableCase, tiling: Tiling) -> Costs | None:
    """Return the costs of a complete, legal tiling as :func:`predict` does, or None where it does not fit."""
    parts = _parts(case, tiling)
    return None if parts is None else _costs(case, tiling, parts)


def best(case: TableCase) -> Iterator[tuple[Tiling, Costs]]:
    """Yield the feasible tilings of a grid of sizes that have code for the machine, with their costs, by their sizes.

    Heights and widths are powers of two, up to the table's extents but no smaller than the reach, and heights that deal
    the rows to all SMs or cores in whole rounds; on a CPU also widths that cut the columns into equal parts.
    """
    for tiling in _space(case):
        costs = expected(case, tiling)
        if costs is not None:
            yield tiling, costs


def times(case: TableCase, tilings: Iterable[Tiling] | None = None) -> Iterator[tuple[Tiling, float]]:
    """Yield tilings that fit with their seconds alone, which are found many times faster than all costs."""
    for tiling in _space(case) if tilings is None else tilings:
        parts = _parts(case, tiling)
        if parts is not None:
            yield tiling, parts.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _TileTimes(Times[float]):
    """The time of a tiling, and of one tile; see :class:`tilewright.costs.time.Costs`."""

    compute: float
    moved: float
    words: float
    k: int


def _space(case: TableCase) -> Iterator[Tiling]:
    (up, left), lanes = case.program.reach, case.lanes
    (m, n), count = case.shape, int(case.machine.sm_count.value)
    turn = lanes if case.cpu else 1
    heights = {*_ROWS, *(round_up(ceil_div(m, part * each), turn) for part in {1, count} for each in _ROUNDS)}
    rows = sorted({max(up, 1, min(size, m)) for size in heights if size <= _ROWS[-1]})
    if case.cpu:
        widths = {*_COLUMNS, *(ceil_div(n, part * each) for part in {1, count} for each in _ROUNDS)}
        columns = sorted({round_up(max(left, 1, min(size, n)), lanes) for size in widths if size <= _COLUMNS[-1]})
        shapes = [(s, s // lanes) for s in columns]
    else:
        every = [pair for pair in _widths(case) if _starts(case, pair[0] // pair[1], pair[1])]
        shapes = [(s, sub) for s, sub in every if _in_registers(case, s // sub, sub)] or every
    for t in rows:
        for s, sub in shapes:
            yield Tiling(family=orthogonal.FAMILY, time=t, space=(s,), sub=(sub,))


def _widths(case: TableCase) -> list[tuple[int, int]]:
    n, left = case.shape[1], case.program.reach[1]
    usual = {max(size, left) for size in (*_COLUMNS, *_BETWEEN) if size < 2 * n} or {max(_COLUMNS[0], left)}
    widths = set()
    for sub in {*_SUBS, left} - {0}:
        parts = {round_up(ceil_div(n, each), WARP * sub) for each in _ROUNDS}
        widths |= {(s, sub) for s in usual if s % sub == 0} | {(s, sub) for s in parts if left <= s <= _BETWEEN[-1]}
    return sorted(widths)


def split(case: TableCase, tiling: Tiling) -> tuple[Tiling, ...]:
    """Return a GPU's tile cut into sub-tiles in every way that a block can run, without spilling if there is one."""
    s = tiling.space[0]
    every = [sub for sub in range(1, s + 1) if s % sub == 0 and _starts(case, s // sub, sub)]
    choices = [sub for sub in every if _in_registers(case, s // sub, sub)] or every
    return tuple(replace(tiling, sub=(sub,)) for sub in choices)


def _starts(case: TableCase, threads: int, sub: int) -> bool:
    """Say whether one block of a GPU can run so many sub-tiles of so many columns."""
    most = case.machine.max_block_threads
    room = min(MAX_BLOCK_THREADS, int(most.value) if most else MAX_BLOCK_THREADS)
    passed = orthogonal.passed_bytes(case.program, threads, case.itemsize)
    return sub >= case.program.reach[1] and threads <= room and passed <= STATIC_SHARED


def _in_registers(case: TableCase, threads: int, sub: int) -> bool:
    """Say whether the rows above and the inputs of a thread's columns stay in registers."""
    program, registers = case.program, case.machine.registers
    up, left = program.reach
    values = len(program.tables) * (up + 1) * (left + sub) + program.kinds["column"] * sub
    needed = _ADDRESSES + math.ceil(values * max(1.0, case.itemsize / WORD))
    room = registers.value if registers else _REGISTERS
    return needed <= MOST_REGISTERS and needed * round_up(threads, WARP) <= room


def _parts(case: TableCase, tiling: Tiling) -> _TileTimes | None:
    return _on_cpu(case, tiling) if case.cpu else _on_gpu(case, tiling)


def _on_gpu(case: TableCase, tiling: Tiling) -> _TileTimes | None:
    machine, words = case.machine, sum(tile_words(case, tiling))
    k = _resident(case, tiling, words)
    if k < 1:
        return None
    barrier = machine.barrier_seconds.value
    t, sub, threads = tiling.time, tiling.sub[0], tiling.space[0] // tiling.sub[0]
    compute = float((t + threads - 1) * (sub * ceil_div(threads, case.lanes) * case.c_iter.value + barrier))
    moved = words * case.word_seconds + 2 * barrier
    rows, columns = ceil_div(case.shape[0], t), ceil_div(case.shape[1], tiling.space[0])
    fronts = fronts_by_turns(rows, columns, int(machine.sm_count.value))
    computed = compute * sum(number * q for q, number in fronts)
    return _TileTimes(
        terms={
            "arithmetic": computed,
            "transfers": sum(number * _together(q, k, moved, compute) for q, number in fronts) - computed,
            "synchronisation": (rows + columns - 1) * machine.launch_seconds.value,
        },
        compute=compute,
        moved=moved,
        words=words,
        k=k,
    )


def _on_cpu(case: TableCase, tiling: Tiling) -> _TileTimes | None:
    if (tiling.k or 1) != 1:
        return None
    (m, n), (t, s) = case.shape, (tiling.time, tiling.space[0])
    tall, wide, count = ceil_div(m, t), ceil_div(n, s), int(case.machine.sm_count.value)
    words = sum(tile_words(case, tiling))
    moved = words * case.word_seconds + (case.memory.flag_seconds if count > 1 and tall > 1 else 0.0)
    vector = _vector_seconds(case, t)

    def mean(rows: int) -> float:
        """The time of computing one of a row's tiles, the last of which may be narrower."""
        whole = _diagonals(case, rows, s, vector)
        last = n - (wide - 1) * s
        return whole if last == s else ((wide - 1) * whole + _diagonals(case, rows, last, vector)) / wide

    tile, final = mean(t), mean(m - (tall - 1) * t)
    team = case.machine.launch_seconds.value if count > 1 else 0.0
    return _TileTimes(
        terms=walk_terms((tall, wide, count), tile, final, moved) | {"synchronisation": team},
        compute=_diagonals(case, t, s, vector),
        moved=moved,
        words=words,
        k=1,
    )


def _diagonals(case: TableCase, rows: int, columns: int, vector: float) -> float:
    """Return the seconds of a CPU's tile: those of its anti-diagonals, whose lengths grow by one, stay and shrink."""
    lanes, (up, left) = case.lanes, case.program.reach
    short, long = min(rows, columns), max(rows, columns)
    full, rest = divmod(short - 1, lanes)
    growing = lanes * full * (full + 1) // 2 + rest * (full + 1)
    vectors = 2 * growing + (long - short + 1) * ceil_div(short, lanes)
    machine = case.machine
    start = machine.diagonal_row_starts.value * row_start(machine)
    return (rows + columns - 1 + up + left) * start + vectors * vector


def _vector_seconds(case: TableCase, rows: int) -> float:
    """Return the seconds of a vector of cells on a CPU, whose ring lies in the cache that holds it."""
    program, itemsize = case.program, case.itemsize
    (up, left), letters = program.reach, program.kinds["row"] + program.kinds["column"]
    distances = sum(len({-o[0] - o[1] for o in offsets}) for offsets in program.reads.values())
    ring = len(program.tables) * (up + left + 1) * (rows + up) * itemsize + letters * rows * WORD
    moved = (distances + len(program.tables)) * case.lanes * itemsize
    # Along an anti-diagonal every value of an input per cell lies in a row, and so in a line, of its own.
    line = program.kinds["cell"] * CACHE_LINE
    return case.memory.with_arithmetic(case.c_iter.value, (moved, ring), (line * case.lanes, line * rows))


def _costs(case: TableCase, tiling: Tiling, parts: _TileTimes) -> Costs:
    # Thousands of tilings are evaluated: what is needed of their exact counts is written down here once more.
    tall, wide = (ceil_div(n, size) for n, size in zip(case.shape, (tiling.time, *tiling.space), strict=True))
    tiles = tall * wide
    usage = tile_usage(case, tiling, parts.seconds)
    energy = price(usage, constants(case.machine))
    cells = math.prod(case.shape)
    flops = cells * case.program.operations
    bound = "compute" if parts.compute >= parts.moved else "memory"
    return Costs(
        terms=parts.terms,
        joules=energy.joules,
        dram_bytes=parts.words * WORD * tiles,
        wavefronts=tall + wide - 1,
        tiles_per_wavefront=min(tall, wide),
        tile_points=tiling.time * tiling.space[0],
        tile_io_words=parts.words,
        tile_shared_bytes=int(parts.words * WORD),
        tiles_per_sm=parts.k,
        compute_seconds_per_tile=parts.compute,
        io_seconds_per_tile=parts.moved,
        flops=flops,
        gcells_per_second=cells / parts.seconds * 1e-9,
        gflops_per_second=flops / parts.seconds * 1e-9,
        bound_by="synchronisation" if parts.terms["synchronisation"] > 0.5 * parts.seconds else bound,
        energy=energy,
        usage=usage,
    )


def turns(case: TableCase, tiling: Tiling) -> float:
    """Return the tiles that the busiest SM or core waits for and computes, one after the other."""
    rows, columns = ceil_div(case.shape[0], tiling.time), ceil_div(case.shape[1], tiling.space[0])
    count = int(case.machine.sm_count.value)
    if case.cpu:
        return walk(rows, columns, count, 1.0, 1.0)
    return sum(number * q for q, number in fronts_by_turns(rows, columns, count))


def fronts_by_turns(rows: int, columns: int, sm_count: int) -> tuple[tuple[int, int], ...]:
    """Group the wavefronts of rows x columns tiles by the tiles q that an SM takes of them: (q, wavefronts), q from 1.

    >>> fronts_by_turns(3, 5, 2)
    ((1, 4), (2, 3))
    """
    widest = min(rows, columns)
    last = ceil_div(widest, sm_count)
    growing = [min(q * sm_count, widest - 1) - min((q - 1) * sm_count, widest - 1) for q in range(1, last + 1)]
    flat = rows + columns - 2 * widest + 1
    return tuple((q, 2 * number + (flat if q == last else 0)) for q, number in enumerate(growing, 1))


def _together(tiles: int, k: int, moved: float, compute: float) -> float:
    """Time of an SM for so many tiles, k at a time."""
    longer, shorter = max(moved, compute), min(moved, compute)

    def seconds(number: int) -> float:
        return (0.0, moved + compute)[number] if number < 2 else shorter + number * longer

    full, rest = divmod(tiles, k)
    return full * seconds(k) + seconds(rest)


def _resident(case: TableCase, tiling: Tiling, words: float) -> int:
    """Tiles per SM of a GPU: as asked, else as many as fit; 0 where a tile, or what was asked, does not fit."""
    machine = case.machine
    block = (machine.block_shared_bytes or machine.shared_bytes).value
    if words * WORD > block or tiling.space[0] // tiling.sub[0] > Numbers(machine).max_block_threads:
        return 0
    slots = int(machine.max_blocks.value) if machine.max_blocks else 1
    fits = min(int(machine.shared_bytes.value // (words * WORD)), slots)
    return fits if tiling.k is None else tiling.k if tiling.k <= fits else 0
