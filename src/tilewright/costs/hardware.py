"""A GPU's numbers for models of thread blocks, with values that hold for most GPUs where a file lacks them."""

from dataclasses import dataclass

from tilewright.base.constants import MAX_SM_THREADS, REGISTERS, STATIC_SHARED
from tilewright.base.errors import UsageError
from tilewright.machines.machine import Machine, Quantity

_L2_BYTES_PER_CYCLE = 17.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A GPU's numbers, all from its machine file.

    Attributes:
        sm_count: Multiprocessors.
        clock: Cycles per second.
        schedulers: Warp instructions issued per cycle and multiprocessor.
        pipeline: Cycles from an arithmetic instruction to one that needs its result.
        registers: Registers per multiprocessor.
        shared_bytes: Shared memory per multiprocessor.
        shared_limit: Shared memory per block.
        l1_bytes: L1 where no shared memory is used.
        block_reserve: Shared memory that a block takes besides its own.
        max_blocks: Resident blocks.
        max_threads: Resident threads.
        block_threads: Threads of a block.
        dram_bandwidth: Peak off-chip bandwidth, bytes per second.
        l2_bandwidth: L2 bandwidth, bytes per second.
        launch_seconds: One kernel call.
        double_cost: Issue slots of a float64 operation over one of float32.
        fetch_latency: Cycles from a load of what lies off chip to its value.
    """

    sm_count: int
    clock: float
    schedulers: float
    pipeline: float
    registers: int
    shared_bytes: int
    shared_limit: int
    l1_bytes: int
    block_reserve: int
    max_blocks: int
    max_threads: int
    block_threads: int
    dram_bandwidth: float
    l2_bandwidth: float
    launch_seconds: float
    double_cost: float
    fetch_latency: float


def hardware(machine: Machine, shared_limit: int = STATIC_SHARED) -> Hardware:
    """Collect a GPU's numbers.

    Args:
        machine: The machine.
        shared_limit: What the code may use per block at most; the device's own limit holds as well.

    Returns:
        The numbers. Where the file lacks one, a value that holds for most GPUs.

    Raises:
        UsageError: If the machine is no GPU.
    """
    if machine.kind != "gpu":
        raise UsageError(f"the model of thread blocks is for GPUs, {machine.name!r} is a {machine.kind}")
    clock, shared = machine.clock.value, int(machine.shared_bytes.value)
    peak = machine.peak_dram_bandwidth or machine.dram_bandwidth
    estimate = _L2_BYTES_PER_CYCLE * machine.sm_count.value * clock
    return Hardware(
        sm_count=int(machine.sm_count.value),
        clock=clock,
        schedulers=_or(machine.schedulers, 4),
        pipeline=_or(machine.pipeline_cycles, 6),
        registers=int(_or(machine.registers, REGISTERS)),
        shared_bytes=shared,
        shared_limit=min(shared_limit, int(_or(machine.block_shared_bytes, shared))),
        l1_bytes=int(_or(machine.unified_bytes, _or(machine.l1_bytes, 16384))),
        block_reserve=int(machine.block_reserve_bytes.value),
        max_blocks=int(_or(machine.max_blocks, 16)),
        max_threads=int(_or(machine.max_threads, MAX_SM_THREADS)),
        block_threads=machine.block_threads,
        dram_bandwidth=peak.value,
        l2_bandwidth=_or(machine.l2_bandwidth, estimate),
        launch_seconds=machine.launch_seconds.value,
        double_cost=1.0 / machine.fp64_ratio.value,
        fetch_latency=machine.fetch_latency.value,
    )


def _or(quantity: Quantity | None, default: float) -> float:
    return default if quantity is None else quantity.value
