"""The GPU's side of the selector: its constants, how many blocks are resident, and how many of its cycles a tile takes.

Every machine number comes from the machine file; what no data sheet gives is a named constant with its meaning and
default (:class:`GpuConstants`), calibrated from few measurements (:mod:`tilewright.costs.gpu.fit`).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import MOST_REGISTERS, STATIC_SHARED, WARP, WORD
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, ceil_div
from tilewright.costs.facts import Facts
from tilewright.costs.work.threads import ThreadWork, body
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers

_REGISTER_STEP = 8
DOUBLE_SPECIAL_SLOTS = 16.0
"""Further instructions of a division or root in float64: machine code for sm_90 has 15 on the pipe of float64, and as
many others."""
TERMS = (
    "registers",
    "latency",
    "bandwidth",
    "coalescing",
    "bank_conflicts",
    "overflow",
    "reuse",
    "guards",
    "partial_waves",
    "boundary_tiles",
    "l2",
    "l1_sets",
    "near_rows",
    "spills",
    "instruction_cache",
)
"""The terms that can be switched off, to see what each is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuConstants:
    """What no data sheet gives; cycles are of one multiprocessor.

    The first fourteen are calibrated, the others are fixed. All but those of registers and spills and the sizes of
    instruction caches are fitted to the public logs of a V100, tightly around estimates, fast points first: a choice is
    made of these (``reproduce/first_choice.py`` repeats the fit). Registers were read off which launches exist in
    the logs at all (a block that needs more registers than the file has cannot start), not off times.
    """

    # cycles per dependent instruction over the pipeline's length: 1 without any overlap inside a thread
    latency: float = 0.99
    row_cycles: float = 33.0  # cycles per row of a tile for its first access and its barrier
    copy_cycles: float = 73.3  # cycles per round of copying where copies have no guards
    # the same where they have: the loads of several rounds are then not in flight together
    guarded_copy_cycles: float = 136.0
    guarded_copy_slots: float = 46.1  # issue slots per warp and round of guarded copying
    dram_share: float = 1.0  # sustained share of the peak off-chip bandwidth
    l2_share: float = 0.962  # sustained share of the L2 bandwidth
    boundary: float = 1.17  # time of a point in a tile that the grid's boundary cuts, over one in a whole tile
    # issue slots of an access through L1 over one to shared memory: unaligned rows span two lines
    global_access: float = 1.49
    global_row_cycles: float = 442.0  # further cycles per row where values come through L1
    fetch_cycles: float = 3.0  # cycles per block and instruction that comes from beyond the instruction cache
    plain_slots: float = 8.12  # further instructions per point of straight code: addresses and loop control
    guarded_slots: float = 17.7  # the same of guarded code
    # words that a contiguous segment of a copy costs off chip beyond its own: accesses to DRAM of 64 bytes, cut short
    # at either end (what comes through L1 costs the sectors that it touches)
    segment_words: float = 15.3
    # exponent p by which latency and the sum of issue and memory combine: ``(a^p + b^p)^(1/p)``; 1 is their sum,
    # infinity their maximum
    overlap: float = 2.89
    tile_cycles: float = 279.0  # cycles per tile for the first copy
    copy_slots: float = 9.86  # issue slots per warp and round of copying without guards
    row_slots: float = 3.0  # issue slots per warp and row
    issue: float = 1.03  # issue slots per instruction: above 1 for replays and dual-use pipes
    global_latency: float = 1.22  # growth of the time of a dependent instruction where values come through L1
    halo_share: float = 0.3  # share of the halo along the classic axes that comes from DRAM again; the rest is in L2
    l1_share: float = 0.556  # share of L1 that holds useful lines
    step_misses: float = 1.03  # how often a step's rows come from L2 again when L1 holds none of them
    # the same for every further row that a point reads, when L1 holds not even the rows between two uses by one step:
    # few, since warps that read the same row run side by side
    near_misses: float = 0.1
    spill_slots: float = 3.0  # instructions per value that does not fit into registers
    base_registers: float = 40.0  # registers of a kernel without unrolled statements
    even_registers: float = 0.3  # registers per unrolled statement without guards
    # registers per guarded statement: its address and its condition stay alive over all tiles
    guarded_registers: float = 1.55
    near_fetch_cycles: float = 1.6  # cycles per instruction that a scheduler's own cache does not hold, per block on it
    near_code_slots: float = 768.0  # instructions that it holds: 12 KiB of 16 bytes each (Jia et al. 2018)
    # instructions that the instruction cache holds: 128 KiB of 16 bytes each (Jia et al. 2018)
    code_slots: float = 8192.0
    drift: float = 0.514  # share of a partial wave's rounding that blocks which have fallen out of step make up for


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """What is resident on a multiprocessor; arrays of shape (n,)."""

    # whether tiles live in shared memory; else the box does not fit and accesses go through L1
    shared: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
    registers: Floats  # registers per thread, estimated
    spilled: Floats  # values per thread that do not fit into registers
    blocks: Ints  # blocks that are resident together, at least 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledCounts:
    """What a compiler says of the code of n tilings, in place of estimates; arrays of shape (n,)."""

    registers: Ints  # registers per thread
    spilled: Floats  # values per thread that did not fit into registers
    shared_bytes: Ints  # memory on chip per block


def thread_numbers(machine: Machine) -> Numbers:
    """Return a GPU's numbers for blocks that ask for no more shared memory than any may have."""
    if machine.kind != "gpu":
        raise UsageError(f"the model of thread blocks is for GPUs, {machine.name!r} is a {machine.kind}")
    gpu = Numbers(machine)
    return gpu.at(block_shared_bytes=min(STATIC_SHARED, gpu.block_shared_bytes))


def double_cost(facts: Facts, gpu: Numbers) -> float:
    """Return for how many times as long an operation occupies its pipe as one of float32 does."""
    return 1.0 / gpu.fp64_ratio if facts.itemsize > WORD else 1.0


def arithmetic_slots(facts: Facts) -> float:
    """Return the instructions of a point's arithmetic, where divisions and roots of float64 are written out."""
    cell = body(facts.problem.program)
    return cell.arithmetic + (DOUBLE_SPECIAL_SLOTS * cell.specials if facts.itemsize > WORD else 0.0)


def residency(
    work: ThreadWork,
    gpu: Numbers,
    facts: Facts,
    constants: GpuConstants,
    off: Collection[str] = (),
    compiled: CompiledCounts | None = None,
) -> Residency:
    """Estimate the resident blocks: limited by slots, threads, shared memory and registers (CUDA occupancy)."""
    words = facts.itemsize / WORD
    each = np.where(work.even, constants.even_registers, constants.guarded_registers)
    need = constants.base_registers + words * each * work.statements
    registers = np.minimum(MOST_REGISTERS, np.ceil(need / _REGISTER_STEP) * _REGISTER_STEP)
    bytes_used = work.box_values * facts.itemsize
    if compiled is not None:
        bytes_used = np.asarray(compiled.shared_bytes, dtype=np.float64)
        registers = np.maximum(1.0, np.ceil(compiled.registers / _REGISTER_STEP) * _REGISTER_STEP)
    shared = bytes_used <= gpu.block_shared_bytes
    blocks = np.minimum(gpu.max_blocks, gpu.max_threads // np.maximum(work.threads, 1))
    if "registers" not in off:
        blocks = np.minimum(blocks, np.floor(gpu.registers / (registers * work.warps * WARP)).astype(np.int64))
    fits = (gpu.shared_bytes // np.maximum(bytes_used, 1)).astype(np.int64)
    blocks = np.where(shared, np.minimum(blocks, fits), blocks)
    if "overflow" in off:
        shared = np.ones_like(shared)
    if compiled is not None:
        need = np.asarray(MOST_REGISTERS + compiled.spilled, dtype=np.float64)
    spilled = np.maximum(0.0, need - MOST_REGISTERS) if "spills" not in off else np.zeros_like(need)
    return Residency(shared=shared, registers=registers, spilled=spilled, blocks=np.maximum(1, blocks))


def whole_tiles(shape: tuple[int, ...], sizes: tuple[Ints, ...], slopes: tuple[int, ...], rows: Ints) -> Floats:
    """Return which share of a prism's points lies in tiles that no boundary of the classic axes cuts."""
    whole = np.ones(len(rows))
    for extent, size, slope in zip(shape[1:], sizes[1:], slopes[1:], strict=True):
        cut = slope * (rows - 1)
        whole = whole * np.maximum(0, (extent - cut) // size) * size / extent
    return np.minimum(1.0, whole)


def whole_fronts(steps: int, rows: Ints) -> tuple[Floats, Floats, Ints]:
    """Count wavefronts: those whose hexagons lie within the steps, the equivalent of the others, and all of them."""
    # Colour 1 starts at steps 0, t_T, …, colour 0 half a height earlier (3).
    whole, rest = np.zeros(len(rows)), np.zeros(len(rows))
    fronts = np.zeros(len(rows), dtype=np.int64)
    for start in (0 * rows, rows // 2):
        number = ceil_div(steps + start, rows)
        first = np.minimum(steps, rows - start) / rows
        last = np.minimum(rows, steps + start - (number - 1) * rows) / rows
        last = np.where(number > 1, last, 0.0)
        cut = (first < 1).astype(np.int64) + ((last < 1) & (number > 1))
        whole = whole + number - cut
        rest = rest + np.where(first < 1, first, 0.0) + np.where((last < 1) & (number > 1), last, 0.0)
        fronts = fronts + number
    return whole, rest, fronts
