"""What a kernel costs on a GPU whose threads share the iterations of one loop.

The card, the share of a throughput that resident warps reach, and the sum of accesses, shared memory and operations
are those of fused pipelines (Ben Cheikh et al. 2015, (29) and (31)-(35);
:mod:`tilewright.workloads.pipelines.gpu_costs`). What is different: a grid of a given number of blocks walks over the
iterations in turns (OrCuda, Mametjanov et al. 2012), and the code is a C compiler's, with its registers, spills and
shared memory.

Before: a kernel's work per iteration, its launch and what its code needs. After: seconds of one launch.
"""

import math
from dataclasses import dataclass

from tilewright.base.constants import REGISTER_UNIT, SECTOR, WARP, WARP_UNIT, WORD
from tilewright.costs.breakdown import Times
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers

_LINE = 128  # bytes that a multiprocessor's L1 cache serves in a cycle
_DIVIDED = 64.0  # kilobytes that a preference for 16, 32 or 48 of L1 is a part of: those of Fermi and Kepler


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementAccess:
    """Accesses to one array from the iterations of a kernel."""

    count: float  # per iteration
    itemsize: int  # bytes of an element
    # elements between those of neighbouring threads: 1 where a warp's lie side by side, 0 where they are one; None
    # where nothing tells it
    stride: int | None
    nbytes: float  # bytes of the array

    @property
    def apart(self) -> bool:
        """Whether the elements of neighbouring threads lie apart."""
        return self.stride is None or abs(self.stride) > 1

    @property
    def sectors(self) -> float:
        """Transactions of a warp."""
        if self.stride == 0:
            return 1.0
        apart = SECTOR if self.stride is None else abs(self.stride) * self.itemsize
        return min(WARP, max(1.0, WARP * apart / SECTOR))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLaunch:
    """A kernel, its launch, and what an iteration of its loop does."""

    threads: int  # threads of a block
    blocks: int  # blocks of the grid
    l1: int  # kilobytes of L1 of 64 that are preferred: 16, 32 or 48; 0 without a preference
    registers: int  # registers of a thread
    spill_bytes: float  # bytes that a thread stores and loads again per iteration for want of registers
    shared_bytes: int  # shared memory of a block
    iterations: float  # iterations of the loop; 1 where one thread runs alone
    floats: float  # operations on float32 per iteration
    doubles: float  # operations on float64
    integers: float  # operations on integers
    specials: float  # divisions, roots and functions
    accesses: tuple[ElementAccess, ...]  # accesses to memory
    chip_words: float = 0.0  # words between shared memory and registers
    barriers: int = 0  # barriers of a block per turn


def resident(launch: LoopLaunch, machine: Machine) -> int:
    """Return the blocks that are resident on a multiprocessor together (29); 0 where not even one fits."""
    gpu, warps = Numbers(machine), -(-launch.threads // WARP)
    own = -(-max(1, launch.registers) // REGISTER_UNIT) * REGISTER_UNIT
    blocks = min(gpu.max_blocks, gpu.max_threads // (warps * WARP))
    blocks = min(blocks, int(gpu.registers // (own * WARP * (-(-warps // WARP_UNIT) * WARP_UNIT))))
    _, shared = _chip_bytes(launch, machine)
    if launch.threads > gpu.max_block_threads or launch.shared_bytes > gpu.block_shared_bytes:
        return 0
    return min(blocks, int(shared // (launch.shared_bytes + machine.block_reserve_bytes.value))) if shared else 0


def launch_times(launch: LoopLaunch, machine: Machine) -> Times[float]:
    """Return what one launch takes; infinite where a block does not fit."""
    blocks, gpu = resident(launch, machine), Numbers(machine)
    if not blocks or launch.iterations <= 0:
        return Times(terms={"synchronisation": gpu.launch_seconds if blocks else math.inf})
    working = min(launch.blocks, math.ceil(launch.iterations / launch.threads))
    queue = math.ceil(working / gpu.sm_count)
    together, busy = min(blocks, queue), min(gpu.sm_count, working)
    lanes = min(launch.threads, math.ceil(launch.iterations / working))
    reached = min(1.0, together * math.ceil(lanes / WARP) / gpu.hiding_warps)
    turns = math.ceil(launch.iterations / (working * launch.threads))
    # Of the busiest multiprocessor: iterations of whole warps, those that idle included.
    work = queue * turns * math.ceil(lanes / WARP) * WARP
    rate = gpu.clock * reached
    operations = launch.floats / gpu.vector_width + launch.doubles / max(gpu.vector_width * gpu.fp64_ratio, 1e-9)
    operations += launch.integers / gpu.int_lanes + launch.specials / gpu.special_lanes
    lines = sum(each.count * max(1.0, each.sectors * SECTOR / _LINE) for each in launch.accesses) / WARP
    lines += launch.spill_bytes / _LINE
    chip = launch.chip_words * WORD * gpu.sm_count / gpu.shared_bandwidth
    barriers = queue * turns * launch.barriers * gpu.barrier_seconds / together
    moved = _memory_bytes(launch, machine, together) / (gpu.dram_bandwidth * busy / gpu.sm_count * reached)
    latency = gpu.global_latency / gpu.clock * (1.0 - reached)
    return Times(
        terms={
            "synchronisation": gpu.launch_seconds,
            "arithmetic": work * operations / rate,
            "on-chip memory": work * lines / rate + work * chip / reached,
            "barriers": barriers,
            "transfers": moved,
            "latency": latency,
        }
    )


def region_times(
    kernels: float, copied: tuple[float, float], calls: int, streams: int, machine: Machine
) -> Times[float]:
    """Return what a region takes: its arrays come to the device, its kernels run, its results go back.

    Pieces of several streams overlap: while one computes, others are copied. Every piece has calls of its own, besides
    the first launch of every kernel. ``copied`` is bytes to the device and back.
    """
    parts = (copied[0] / machine.host_bandwidth.value, kernels, copied[1] / machine.host_bandwidth.value)
    rest = (sum(parts) - max(parts)) / streams
    return Times(
        terms={
            "kernels": kernels,
            "transfers": max(parts) + rest - kernels,
            "synchronisation": streams * calls * machine.launch_seconds.value,
        }
    )


def _chip_bytes(launch: LoopLaunch, machine: Machine) -> tuple[float, float]:
    """Return the bytes of L1 and of shared memory of a multiprocessor, as a preference divides them."""
    shared = machine.shared_bytes.value
    own = machine.l1_bytes.value if machine.l1_bytes else 0.0
    if machine.unified_bytes is None:
        return own, shared
    whole = machine.unified_bytes.value
    if launch.l1:
        own = whole * launch.l1 / _DIVIDED
        return own, min(shared, whole - own)
    return max(own, whole - shared), shared


def _memory_bytes(launch: LoopLaunch, machine: Machine, together: int) -> float:
    """Return the bytes between memory and chip of a launch.

    An array comes once, but no more of it than is asked for. Where the elements of neighbouring threads lie apart, a
    transaction brings more than its element; L1 keeps the rest for the next one if it holds a transaction for every
    thread and access, L2 if it holds the array. What spills leaves L1 where it is more than that.
    """
    level1, _ = _chip_bytes(launch, machine)
    level2 = machine.l2_bytes.value if machine.l2_bytes else 0.0
    threads = together * launch.threads
    reuse = threads * SECTOR * sum(each.apart for each in launch.accesses) <= level1
    total = 0.0
    for each in launch.accesses:
        demand = each.count * launch.iterations * (SECTOR if each.apart else each.itemsize)
        total += demand if each.apart and not reuse and each.nbytes > level2 else min(each.nbytes, demand)
    return total + (0.0 if threads * launch.spill_bytes <= level1 else launch.spill_bytes * launch.iterations)
