"""What a recurrence's table costs in orthogonal tiles: the time model's quantities, and the energy.

With A = ceil(m / t) rows and B = ceil(n / s) columns of tiles: N_w = A + B - 1 wavefronts, the d-th of
w_d = min(d + 1, A, B, N_w - d) tiles. A tile reads m_i and writes m_o words, counted exactly, and keeps both on chip
(M_tile). Its s / sub sub-tiles are lanes of a pipeline that starts one after the other, so t + s / sub - 1 turns of
sub cells each, or on a CPU t rows of whole vectors: c. An SM takes q_d = ceil(w_d / n_SM) tiles of a wavefront, at most
k at a time; those that share it overlap their transfers m' with computing, as in the time model of the stencils:

    T_alg = N_w T_sync + sum over d of (floor(q_d / k) T(k) + T(q_d mod k))
    T(0) = 0, T(1) = m' + c, T(j) = min(m', c) + j max(m', c)

Energy is the general rule, with words between on-chip memory and registers per sub-tile: its rows' inputs and what it
takes from the left and hands to the right, besides a look-up per cell. For Smith-Waterman it is the printed
4.25 (t_S + t_T) e_gs + (V + 5 t_T t_S / s_S) e_sr + 5 V (e_iadd + e_imax) (thesis, section B.6.2), to the last term.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import MAX_BLOCK_THREADS, WORD
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.costs.energy import Usage, count_operations, price
from tilewright.costs.energy_constants import constants
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine, Quantity
from tilewright.programs.expression import Apply
from tilewright.programs.operators import SPECIAL
from tilewright.programs.table import LOOKUP, Recurrence
from tilewright.tilings import orthogonal
from tilewright.tilings.tiling import Tiling

LETTER = 0.25
"""Words of an input's value per row or per column: a letter is a byte, as the thesis counts it."""
_ROWS = tuple(2**power for power in range(4, 12))
_COLUMNS = tuple(2**power for power in range(5, 14))
_SUBS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCase:
    """A recurrence's table on a machine.

    Attributes:
        program: The recurrence.
        shape: Rows and columns.
        dtype: Element type of the tables.
        machine: The machine.
        scope: Who shares the bandwidth: ``device`` or ``per_sm``.
    """

    program: Recurrence
    shape: tuple[int, int]
    dtype: str
    machine: Machine
    scope: str

    @property
    def words(self) -> float:
        """Words per value."""
        return (1 if self.dtype == "bool" else np.dtype(self.dtype).itemsize) / WORD

    @property
    def cpu(self) -> bool:
        """Whether the machine is a CPU."""
        return self.machine.kind == "cpu"

    @property
    def lanes(self) -> int:
        """Cells that an SM or core computes at once."""
        width = int(self.machine.vector_width.value)
        return max(1, int(width / self.words)) if self.cpu else width


def make_case(
    program: Recurrence, shape: tuple[int, ...], dtype: str, machine: Machine, scope: str | None = None
) -> TableCase:
    """Collect what the model needs; the scope is ``device`` on a GPU and ``per_sm`` on a CPU by default.

    Raises:
        UsageError: If the shape is no table's, or the scope is unknown.
    """
    if len(shape) != 2 or min(shape) < 1:
        raise UsageError(f"a table has rows and columns, at least one of each, got {'x'.join(map(str, shape))}")
    scope = scope or ("per_sm" if machine.kind == "cpu" else "device")
    if scope not in {"device", "per_sm"}:
        raise UsageError(f"the scope of the bandwidth is one of device, per_sm, got {scope!r}")
    return TableCase(program=program, shape=(shape[0], shape[1]), dtype=dtype, machine=machine, scope=scope)


def tile_words(case: TableCase, tiling: Tiling) -> tuple[float, float]:
    """Return the 4-byte words that a tile reads from memory and writes to it: m_i and m_o."""
    counts = orthogonal.counts_table(case.program, case.shape, tiling)
    sweep = orthogonal.sweep_of(case.program)
    letters = sweep.rows * tiling.time + sweep.columns * tiling.space[0]
    values = counts.live_in - letters
    return values * case.words + letters * LETTER, counts.live_out * case.words


def tile_usage(case: TableCase, tiling: Tiling, seconds: float) -> Usage:
    """Return what all tiles use in a run of so many seconds; tiles are counted by their area, m n / (t s).

    Args:
        case: The table on its machine.
        tiling: A complete, legal tiling.
        seconds: T_alg.

    Returns:
        The amounts.
    """
    t, s, sub = tiling.time, tiling.space[0], tiling.sub[0]
    points = t * s
    tiles = case.shape[0] * case.shape[1] / points
    sweep = orthogonal.sweep_of(case.program)
    ops = [node.op for statement in case.program.statements for node in statement.tape if isinstance(node, Apply)]
    lookups = sum(op.startswith(LOOKUP) for op in ops)
    crossed = 2 * sum(max([0, *(-offset[1] for offset in many)]) for many in sweep.tables.values())
    shared = points * (lookups + sweep.cells) + (sweep.rows + crossed) * t * s / sub
    kinds = count_operations([op for op in ops if not op.startswith(LOOKUP)], case.dtype[0] in "ib")
    every = [tiles * points * max(1.0, case.words) * count for count in kinds]
    return Usage(
        seconds=seconds,
        global_words=tiles * sum(tile_words(case, tiling)),
        shared_words=tiles * shared * max(1.0, case.words),
        adds=every[0],
        multiplies=every[1],
        int_adds=every[2],
        int_maxima=every[3],
        specials=every[4],
    )


def iteration_seconds(case: TableCase) -> Quantity:
    """Return C_iter: seconds per cell of one vector unit, its data being on chip.

    Where the machine file gives it for this recurrence, that value; else an estimate from operations and accesses.
    """
    machine, program = case.machine, case.program
    known = machine.iteration_seconds(program.name)
    if known is not None:
        return known
    ops = [node.op for statement in program.statements for node in statement.tape if isinstance(node, Apply)]
    specials = sum(op in SPECIAL for op in ops)
    lookups = sum(op.startswith(LOOKUP) for op in ops)
    flops = program.operations - specials - lookups
    # Neighbours in the row stay in registers; what was computed a row above is loaded, and every table is stored.
    above = sum(any(offset[0] for offset in many) for many in program.reads.values())
    accesses = above + len(program.tables) + max(1, lookups)
    parts = (machine.flop_cycles, machine.special_cycles, machine.load_cycles, machine.loop_cycles(2))

    def seconds(cycles: tuple[float, ...]) -> float:
        work = flops * cycles[0] + specials * cycles[1] + accesses * cycles[2] + cycles[3]
        return work / machine.clock.value

    return Quantity(
        value=seconds(tuple(part.value for part in parts)),
        unit="s",
        source="estimated",
        note=f"from {flops + specials} operations and {accesses} loads and stores per cell",
        low=seconds(tuple(part.value if part.low is None else part.low for part in parts)),
        high=seconds(tuple(part.value if part.high is None else part.high for part in parts)),
    )


def predict(case: TableCase, tiling: Tiling) -> Costs:
    """Predict what a tiling of a table costs.

    Args:
        case: The table on its machine.
        tiling: A complete, legal tiling; its k, if given, is the number of tiles per SM.

    Returns:
        The costs.

    Raises:
        UsageError: If a tile, or as many as asked for, does not fit the machine.
    """
    found = _predict(case, tiling)
    if found is None:
        read, written = tile_words(case, tiling)
        raise UsageError(
            f"a tile of {str(tiling)!r} needs {int((read + written) * WORD)} bytes of shared memory and "
            f"{tiling.space[0] // tiling.sub[0]} threads, which {case.machine.name} has not for {tiling.k or 1} per SM",
            "take smaller sizes, a larger sub or a smaller k",
        )
    return found


def best(case: TableCase) -> Iterator[tuple[Tiling, Costs]]:
    """Yield the feasible tilings of a grid of sizes with their costs; the order is that of the sizes."""
    up, left = case.program.reach
    rows = sorted({min(max(size, up, 1), case.shape[0]) for size in _ROWS})
    columns = sorted({max(size, left) for size in _COLUMNS if size < 2 * case.shape[1]} or {max(32, left)})
    for t in rows:
        for s in columns:
            subs = (max(1, s // case.lanes),) if case.cpu else _SUBS
            for sub in (each for each in subs if s % each == 0):
                tiling = Tiling(family=orthogonal.NAME, time=t, space=(s,), sub=(sub,))
                found = _predict(case, tiling) if t >= up else None
                if found is not None:
                    yield tiling, found


def _predict(case: TableCase, tiling: Tiling) -> Costs | None:
    machine = case.machine
    counts = orthogonal.counts_table(case.program, case.shape, tiling)
    read, written = tile_words(case, tiling)
    c_iter = iteration_seconds(case)
    k = _resident(case, tiling, read + written)
    if k < 1:
        return None
    compute = _compute_seconds(case, tiling, c_iter.value)
    count = machine.sm_count.value
    word = WORD / machine.dram_bandwidth.value * (count if case.scope == "per_sm" else 1)
    moved = (read + written) * word + 2 * machine.barrier_seconds.value
    rows, columns = ceil_div(case.shape[0], tiling.time), ceil_div(case.shape[1], tiling.space[0])
    sync = counts.wavefronts * machine.launch_seconds.value
    turns = fronts_by_turns(rows, columns, int(count))
    seconds = sync + sum(number * _together(q, k, moved, compute) for q, number in turns)
    energy = price(tile_usage(case, tiling, seconds), constants(machine))
    cells, flops = counts.total_points, counts.total_points * case.program.operations
    bound = "compute" if compute >= moved else "memory"
    return Costs(
        seconds=seconds,
        joules=energy.joules,
        dram_bytes=(read + written) * WORD * counts.tiles,
        wavefronts=counts.wavefronts,
        tiles_per_wavefront=counts.tiles_per_wavefront,
        tile_points=counts.points,
        tile_io_words=read + written,
        tile_shared_bytes=int((read + written) * WORD),
        tiles_per_sm=k,
        compute_seconds_per_tile=compute,
        io_seconds_per_tile=moved,
        flops=flops,
        gcells_per_second=cells / seconds * 1e-9,
        gflops_per_second=flops / seconds * 1e-9,
        bound_by="synchronisation" if sync > 0.5 * seconds else bound,
        energy=energy,
    )


def fronts_by_turns(rows: int, columns: int, sm_count: int) -> tuple[tuple[int, int], ...]:
    """Group the wavefronts of rows x columns tiles by the tiles that an SM takes of them.

    Args:
        rows: Rows of tiles.
        columns: Columns of tiles.
        sm_count: n_SM.

    Returns:
        Pairs of q, from 1, and the number of wavefronts with ceil(w_d / n_SM) = q.

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
    """Tiles per SM: as asked, else as many as fit; 0 where a tile, or what was asked, does not fit."""
    if case.cpu:
        return 1 if (tiling.k or 1) == 1 else 0
    machine = case.machine
    block = (machine.block_shared_bytes or machine.shared_bytes).value
    most = int(machine.max_block_threads.value) if machine.max_block_threads else MAX_BLOCK_THREADS
    if words * WORD > block or tiling.space[0] // tiling.sub[0] > most:
        return 0
    slots = int(machine.max_blocks.value) if machine.max_blocks else 1
    fits = min(int(machine.shared_bytes.value // (words * WORD)), slots)
    return fits if tiling.k is None else tiling.k if tiling.k <= fits else 0


def _compute_seconds(case: TableCase, tiling: Tiling, c_iter: float) -> float:
    t, s, sub = tiling.time, tiling.space[0], tiling.sub[0]
    machine = case.machine
    if case.cpu:
        start = machine.row_seconds.value if machine.row_seconds else 0.0
        return float(t * (ceil_div(s, case.lanes) * c_iter + start))
    threads = s // sub
    turn = sub * ceil_div(threads, case.lanes) * c_iter + machine.barrier_seconds.value
    return float((t + threads - 1) * turn)
