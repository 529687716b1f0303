"""Sound defaults for a CPU, from its own description. Nothing is measured here and nothing is read."""

from dataclasses import dataclass

from tilewright.machines.machine import Machine
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
    """Make a machine from a CPU's description; what the description does not say is estimated, with a range.

    The time model's parameters on a CPU: n_SM is the number of cores, n_V the float32 lanes of a vector, M_SM the L2
    cache per core, T_sync one barrier of all threads.
    """
    cores = max(1, description.cores)
    clock = description.clock_hz if description.clock_hz > 0 else 2.5e9
    bandwidth = cores * _CORE_BANDWIDTH if cores <= 8 else 8 * _CORE_BANDWIDTH * (cores / 8) ** 0.5
    told = "as the CPU describes itself"
    return Machine(
        name="host",
        title=description.model_name or "this machine's CPU",
        kind="cpu",
        sm_count=_known(cores, "1", told),
        vector_width=_known(max(1, description.simd_bits // 32), "1", told),
        shared_bytes=_known(max(2**15, description.l2_bytes), "B", told),
        dram_bandwidth=guessed(bandwidth, "B/s", 0.6, 1.4, "30 GB/s per core, growing as a root above 8 cores"),
        barrier_seconds=guessed(5e-9, "s", 0.0, 4.0, "start-up of the loops of one row of a tile"),
        launch_seconds=guessed(1e-6, "s", 0.25, 5.0, "one OpenMP barrier"),
        clock=_known(clock, "Hz", told)
        if description.clock_hz > 0
        else guessed(clock, "Hz", 0.6, 1.6, "a usual clock"),
        flop_cycles=_flop_cycles(fused=description.fused),
        special_cycles=guessed(2.2, "1", 0.5, 8.0, "reciprocal and root by refined approximation"),
        load_cycles=guessed(0.4, "1", 0.8, 2.0, "two to three loads a cycle, above the nominal clock"),
        loop_cycles_1d=guessed(0.67, "1", 0.0, 3.0, "index and loop control of a vectorised row"),
        loop_cycles_2d=guessed(0.67, "1", 0.0, 3.0, "index and loop control of a vectorised row"),
        loop_cycles_3d=guessed(1.0, "1", 0.0, 3.0, "index and loop control of a vectorised row"),
        fp64_ratio=guessed(0.5, "1", 1.0, 1.0, "half the lanes"),
        l1_bytes=_known(description.l1_bytes, "B", told),
        l3_bytes=_known(description.l3_bytes, "B", told),
        cache_bandwidth=guessed(_L2_BYTES_PER_CYCLE * clock, "B/s", 0.5, 2.0, "40 bytes a nominal cycle from L2"),
        outer_bandwidth=guessed(_L3_BYTES_PER_CYCLE * clock, "B/s", 0.4, 1.5, "30 bytes a nominal cycle from L3"),
        advance_seconds=guessed(75 / clock, "s", 0.2, 3.0, "75 cycles: entry and row ends of a block of rows"),
        blocked_ratio=guessed(0.8, "1", 0.75, 1.9, "shared loads; 0.97 on a Zen 4, 0.8 fits short runs on a Zen 3"),
        line_ratio=guessed(1.0, "1", 0.5, 2.0, "fetched ahead, beside arithmetic; 1.06 on a Zen 4"),
        row_seconds=guessed(10 / clock, "s", 0.25, 3.0, "entry, remainder and misprediction of a vectorised loop"),
    )


def _flop_cycles(*, fused: bool) -> Quantity:
    if fused:
        return guessed(0.15, "1", 0.5, 3.0, "two vector units, most operations fused, above the nominal clock")
    return guessed(0.24, "1", 0.5, 2.0, "two vector units, nothing fused, above the nominal clock")


def _known(value: float, unit: str, note: str) -> Quantity:
    return Quantity(value=value, unit=unit, source="description", note=note)
