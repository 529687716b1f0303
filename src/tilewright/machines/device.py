"""Sound defaults for a GPU, from what its driver says about it. Nothing is measured here and nothing is read."""

import re
from dataclasses import dataclass, replace

from tilewright.base.constants import STATIC_SHARED
from tilewright.machines import files
from tilewright.machines.machine import PARAMETERS, Machine
from tilewright.machines.parameters import Quantity, guessed


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
    base = _known(description.name) or _generic(description)
    told: dict[str, float] = {
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
    says = {name: _told(value, PARAMETERS[name].unit) for name, value in told.items() if value > 0}
    return replace(base, name=description.slug, title=description.name, **says)  # type: ignore[arg-type]


def _known(name: str) -> Machine | None:
    words = re.sub(r"[^a-z0-9]+", " ", name.lower()).split()
    joined = "".join(words)
    for known in sorted(files.names(), key=len, reverse=True):
        if known in words or (len(known) > 5 and known in joined):
            found = files.load(known)
            return found if found.kind == "gpu" else None
    return None


def _generic(description: GpuDescription) -> Machine:
    clock = description.clock_hz or 1.5e9
    units = max(1, description.units)
    shared = description.shared_bytes or description.block_bytes or STATIC_SHARED
    return Machine(
        name=description.slug,
        title=description.name,
        kind="gpu",
        sm_count=_told(units, "1"),
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


def _told(value: float, unit: str) -> Quantity:
    return Quantity(value=value, unit=unit, source="description", note="as the driver describes the device")
