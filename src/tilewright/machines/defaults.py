"""Sound defaults for a CPU, from its own description, and for a GPU, from what its driver says. Nothing is measured."""

import re
from dataclasses import dataclass, replace

from tilewright.base.constants import STATIC_SHARED
from tilewright.machines import files
from tilewright.machines.machine import PARAMETERS, Machine
from tilewright.machines.parameters import Quantity, guessed

_CORE_BANDWIDTH = 30e9
_L2_BYTES_PER_CYCLE = 40.0
_L3_BYTES_PER_CYCLE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuDescription:
    """What a CPU says about itself."""

    cores: int  # physical cores that this process may use, at least 1
    simd_bits: int  # width of the widest vectors that are worth using, 64 to 512 or more
    l1_bytes: int  # L1 data cache per core
    l2_bytes: int  # L2 cache per core
    l3_bytes: int  # L3 cache in all, 0 if there is none
    clock_hz: float  # sustained clock, or the nominal one where it is not known better
    model_name: str = ""  # what the CPU calls itself
    fused: bool = True  # whether a multiplication and an addition are one instruction


def host_machine(description: CpuDescription) -> Machine:
    """Make a machine from a CPU's description; what the description does not say is estimated, with a range."""
    # The time model's parameters on a CPU: n_SM is the number of cores, n_V the float32 lanes of a vector, M_SM the L2
    # cache per core, T_sync one barrier of all threads.
    cores = max(1, description.cores)
    clock = description.clock_hz if description.clock_hz > 0 else 2.5e9
    bandwidth = cores * _CORE_BANDWIDTH if cores <= 8 else 8 * _CORE_BANDWIDTH * (cores / 8) ** 0.5
    return Machine(
        name="host",
        title=description.model_name or "this machine's CPU",
        kind="cpu",
        sm_count=_quantity(cores, "1"),
        vector_width=_quantity(max(1, description.simd_bits // 32), "1"),
        shared_bytes=_quantity(max(2**15, description.l2_bytes), "B"),
        dram_bandwidth=guessed(bandwidth, "B/s", 0.6, 1.4, "30 GB/s per core, growing as a root above 8 cores"),
        barrier_seconds=guessed(5e-9, "s", 0.0, 4.0, "start-up of the loops of one row of a tile"),
        launch_seconds=guessed(1e-6, "s", 0.25, 5.0, "one OpenMP barrier"),
        clock=_quantity(clock, "Hz") if description.clock_hz > 0 else guessed(clock, "Hz", 0.6, 1.6, "a usual clock"),
        flop_cycles=guessed(0.15, "1", 0.5, 3.0, "two vector units, most operations fused, above the nominal clock")
        if description.fused
        else guessed(0.24, "1", 0.5, 2.0, "two vector units, nothing fused, above the nominal clock"),
        special_cycles=guessed(2.2, "1", 0.5, 8.0, "reciprocal and root by refined approximation"),
        load_cycles=guessed(0.4, "1", 0.8, 2.0, "two to three loads a cycle, above the nominal clock"),
        loop_cycles_1d=guessed(0.67, "1", 0.0, 3.0, "index and loop control of a vectorised row"),
        loop_cycles_2d=guessed(0.67, "1", 0.0, 3.0, "index and loop control of a vectorised row"),
        loop_cycles_3d=guessed(1.0, "1", 0.0, 3.0, "index and loop control of a vectorised row"),
        fp64_ratio=guessed(0.5, "1", 1.0, 1.0, "half the lanes"),
        l1_bytes=_quantity(description.l1_bytes, "B"),
        l3_bytes=_quantity(description.l3_bytes, "B"),
        cache_bandwidth=guessed(_L2_BYTES_PER_CYCLE * clock, "B/s", 0.5, 2.0, "40 bytes a nominal cycle from L2"),
        outer_bandwidth=guessed(_L3_BYTES_PER_CYCLE * clock, "B/s", 0.4, 1.5, "30 bytes a nominal cycle from L3"),
        advance_seconds=guessed(75 / clock, "s", 0.2, 3.0, "75 cycles: entry and row ends of a block of rows"),
        blocked_ratio=guessed(0.8, "1", 0.75, 1.9, "shared loads; 0.97 on a Zen 4, 0.8 fits short runs on a Zen 3"),
        line_ratio=guessed(1.0, "1", 0.5, 2.0, "fetched ahead, beside arithmetic; 1.06 on a Zen 4"),
        row_seconds=guessed(10 / clock, "s", 0.25, 3.0, "entry, remainder and misprediction of a vectorised loop"),
    )


def _quantity(value: float, unit: str, by: str = "the CPU describes itself") -> Quantity:
    return Quantity(value=value, unit=unit, source="description", note=f"as {by}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDescription:
    """What a driver says about a device; 0 where it does not say."""

    name: str  # what the device calls itself
    units: int  # multiprocessors
    clock_hz: float = 0.0
    shared_bytes: int = 0  # memory on chip per multiprocessor
    block_bytes: int = 0  # memory on chip that a block may use
    memory_bytes: int = 0
    block_threads: int = 0
    unit_threads: int = 0  # threads per multiprocessor
    unit_blocks: int = 0  # blocks per multiprocessor
    registers: int = 0  # registers per multiprocessor
    capability: float = 0.0  # compute capability, 9.0 for sm_90
    l2_bytes: int = 0  # L2 cache of the whole device
    bus: str = ""  # where it is, as its driver and its power meter name it: ``0000:65:00.0``
    gpu: bool = True  # false for a processor or an interpreter behind a GPU's interface

    @property
    def slug(self) -> str:
        """A name for machine files.

        >>> GpuDescription(name="NVIDIA H100 80GB HBM3", units=132).slug
        'nvidia-h100-80gb-hbm3'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:60] or "device"


def gpu_machine(description: GpuDescription) -> Machine:
    """Make a machine from a device's description.

    A device whose name holds that of a machine of the catalogue starts from that one; any other gets what its driver
    says, and estimates with a range for the rest.

    >>> gpu_machine(GpuDescription(name="NVIDIA H200", units=132)).peak_dram_bandwidth.value
    4800000000000.0
    """
    base = _of_catalogue(description.name) or _generic_machine(description)
    numbers: dict[str, float] = {
        "sm_count": description.units,
        "clock": description.clock_hz,
        "shared_bytes": description.shared_bytes,
        "block_shared_bytes": description.block_bytes,
        "memory_bytes": description.memory_bytes,
        "max_block_threads": description.block_threads,
        "max_threads": description.unit_threads,
        "max_blocks": description.unit_blocks,
        "registers": description.registers,
        "compute_capability": description.capability,
    }
    by = "the driver describes the device"
    described = {name: _quantity(value, PARAMETERS[name].unit, by) for name, value in numbers.items() if value > 0}
    return replace(base, name=description.slug, title=description.name, **described)  # type: ignore[arg-type]


def _of_catalogue(name: str) -> Machine | None:
    words = re.sub(r"[^a-z0-9]+", " ", name.lower()).split()
    joined = "".join(words)
    for listed in sorted(files.names(), key=len, reverse=True):
        if listed in words or (len(listed) > 5 and listed in joined):
            machine = files.load(listed)
            return machine if machine.kind == "gpu" else None
    return None


def _generic_machine(description: GpuDescription) -> Machine:
    clock = description.clock_hz or 1.5e9
    units = max(1, description.units)
    shared = description.shared_bytes or description.block_bytes or STATIC_SHARED
    return Machine(
        name=description.slug,
        title=description.name,
        kind="gpu",
        sm_count=_quantity(units, "1", "the driver describes the device"),
        vector_width=guessed(64, "1", 0.125, 2.0, "lanes of a usual multiprocessor"),
        shared_bytes=guessed(shared, "B", 1.0, 2.0, "what one block may use"),
        dram_bandwidth=guessed(units * 6e9, "B/s", 0.1, 6.0, "6 GB/s per multiprocessor"),
        barrier_seconds=guessed(30 / clock, "s", 0.1, 4.0, "30 cycles"),
        launch_seconds=guessed(3e-6, "s", 0.3, 5.0, "one kernel call in a stream"),
        clock=guessed(clock, "Hz", 0.5, 1.5, "a usual clock"),
        flop_cycles=guessed(1.0, "1", 0.5, 2.0, "one operation per lane and cycle"),
        special_cycles=guessed(8.0, "1", 0.5, 3.0, "a quarter-rate unit plus refinement"),
        load_cycles=guessed(1.0, "1", 0.25, 4.0, "from shared memory, some from registers"),
        loop_cycles_1d=guessed(10.0, "1", 0.0, 3.0, "as on gtx980"),
        loop_cycles_2d=guessed(16.0, "1", 0.0, 3.0, "as on gtx980"),
        loop_cycles_3d=guessed(60.0, "1", 0.0, 3.0, "as on gtx980"),
        fp64_ratio=guessed(0.5, "1", 0.03, 1.0, "of a device for computing"),
    )
