"""A GPU's numbers for models of thread blocks, with values that hold for most GPUs where a file lacks them."""

from dataclasses import dataclass

from tilewright.base.constants import MAX_SM_THREADS, REGISTERS, STATIC_SHARED
from tilewright.base.errors import UsageError
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity

_L2_BYTES_PER_CYCLE = 17.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A GPU's numbers, all from its machine file."""

    sm_count: int  # multiprocessors
    clock: float  # cycles per second
    schedulers: float  # warp instructions issued per cycle and multiprocessor
    pipeline: float  # cycles from an arithmetic instruction to one that needs its result
    registers: int  # registers per multiprocessor
    shared_bytes: int  # shared memory per multiprocessor
    shared_limit: int  # shared memory per block
    l1_bytes: int  # L1 where no shared memory is used
    block_reserve: int  # shared memory that a block takes besides its own
    max_blocks: int  # resident blocks
    max_threads: int  # resident threads
    block_threads: int
    dram_bandwidth: float  # peak off-chip bandwidth, bytes per second
    l2_bandwidth: float  # L2 bandwidth, bytes per second
    launch_seconds: float  # one kernel call
    double_cost: float  # issue slots of a float64 operation over one of float32
    fetch_latency: float  # cycles from a load of what lies off chip to its value


def hardware(machine: Machine, shared_limit: int = STATIC_SHARED) -> Hardware:
    """Collect a GPU's numbers; where the file lacks one, a value that holds for most GPUs."""
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
