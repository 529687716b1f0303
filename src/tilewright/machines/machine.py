"""The machine value: elementary parameters with their provenance.

The papers' symbols: n_SM is ``sm_count``, n_V ``vector_width``, M_SM ``shared_bytes``, R_SM ``registers``, MTB_SM
``max_blocks``, L the inverse of ``dram_bandwidth``, tau_sync ``barrier_seconds``, T_sync ``launch_seconds``.
"""

import dataclasses
import math
from dataclasses import dataclass

from tilewright.base.constants import MAX_BLOCK_THREADS
from tilewright.base.errors import UsageError
from tilewright.machines.coefficients import COEFFICIENTS, KINDS, Coefficient

SOURCES = ("paper", "datasheet", "measured", "estimated", "description")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number with its unit and where it comes from."""

    value: float  # finite, at least 0
    unit: str  # ``1`` for a count
    source: str  # one of :data:`SOURCES`; ``description`` is the machine's own
    note: str = ""  # where exactly, or how
    low: float | None = None  # lower end of the plausible range; None where the value is taken as exact
    high: float | None = None  # its upper end, or None

    def __post_init__(self) -> None:
        for number in (self.value, self.low, self.high):
            if number is not None and not (math.isfinite(number) and number >= 0):
                raise UsageError(f"a quantity is a finite number of at least 0, got {number!r} {self.unit}")
        if not (self.low is None or self.low <= self.value) or not (self.high is None or self.value <= self.high):
            raise UsageError(f"a quantity lies in its range, got {self.value} in [{self.low}, {self.high}] {self.unit}")
        if self.source not in SOURCES:
            raise UsageError(f"the source of a quantity is one of {', '.join(SOURCES)}, got {self.source!r}")


def guessed(value: float, unit: str, low: float, high: float, note: str) -> Quantity:
    """Return an estimated quantity, whose plausible range is given as multiples of it."""
    return Quantity(value=value, unit=unit, source="estimated", note=note, low=low * value, high=high * value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What the schema says about one parameter of a machine."""

    unit: str  # the unit its values must have
    meaning: str  # one line on what it is
    optional: bool = False  # whether a machine may lack it
    estimate: Quantity | None = None  # what a machine has whose file does not say, or None
    kinds: tuple[str, ...] = KINDS  # the kinds of machines that may have it
    between: tuple[float, float] = (0.0, math.inf)  # the least and the most that a machine may plausibly have
    within: str = ""  # the parameter that it is a part of, and so never more than


def _estimated(coefficient: Coefficient) -> Parameter:
    """Return an empirical coefficient as a parameter: an estimate until somebody measures it."""
    low, high = coefficient.between
    estimate = Quantity(
        value=coefficient.value,
        unit=coefficient.unit,
        source="estimated",
        note=coefficient.note,
        low=low,
        high=high,
    )
    meaning, unit, kinds = coefficient.meaning, coefficient.unit, coefficient.kinds
    return Parameter(unit=unit, meaning=meaning, optional=True, estimate=estimate, kinds=kinds)


_COUNT, _BYTES, _CACHE, _RATE, _JOULES = (1.0, 1e5), (1.0, 2.0**36), (0.0, 2.0**36), (1e4, 1e16), (0.0, 1e-3)
"""Plausible counts, bytes on chip, of caches that may be missing, bytes per second (an interpreter of
kernels is a machine, too), and joules of one operation."""
PARAMETERS: dict[str, Parameter] = {
    "sm_count": Parameter(
        unit="1", meaning="multiprocessors, or cores of a CPU (n_SM)", between=_COUNT, within="die_sm_count"
    ),
    "vector_width": Parameter(unit="1", meaning="float32 lanes per multiprocessor or core (n_V)", between=_COUNT),
    "shared_bytes": Parameter(
        unit="B",
        meaning="shared memory per multiprocessor, or L2 cache per core (M_SM)",
        between=_BYTES,
        within="unified_bytes",
    ),
    "dram_bandwidth": Parameter(
        unit="B/s",
        meaning="sustained off-chip bandwidth of the whole device (1/L)",
        between=_RATE,
    ),
    "barrier_seconds": Parameter(unit="s", meaning="one synchronisation inside a tile (tau_sync)", between=(0.0, 1e-2)),
    "launch_seconds": Parameter(
        unit="s", meaning="one synchronisation of all tiles: a kernel call or a barrier (T_sync)", between=(0.0, 1.0)
    ),
    "clock": Parameter(unit="Hz", meaning="clock of the vector units", between=(1e5, 1e11)),
    "flop_cycles": Parameter(
        unit="1", meaning="cycles per arithmetic operation of one vector, for estimates of C_iter"
    ),
    "special_cycles": Parameter(
        unit="1", meaning="cycles per division or root of one vector, on GPUs per function as well"
    ),
    "load_cycles": Parameter(unit="1", meaning="cycles per load or store of one vector from on-chip memory"),
    "loop_cycles_1d": Parameter(unit="1", meaning="cycles of loop and index work per iteration, one dimension"),
    "loop_cycles_2d": Parameter(unit="1", meaning="the same, two dimensions"),
    "loop_cycles_3d": Parameter(unit="1", meaning="the same, three dimensions"),
    "fp64_ratio": Parameter(
        unit="1", meaning="float64 operations per float32 operation at full rate", between=(1e-4, 2.0)
    ),
    "block_shared_bytes": Parameter(
        unit="B", meaning="shared memory that one block may use", optional=True, between=_BYTES, within="shared_bytes"
    ),
    "registers": Parameter(
        unit="1", meaning="32-bit registers per multiprocessor (R_SM)", optional=True, between=(1.0, 1e8)
    ),
    "max_blocks": Parameter(
        unit="1", meaning="thread blocks per multiprocessor (MTB_SM)", optional=True, between=_COUNT
    ),
    "max_threads": Parameter(unit="1", meaning="threads per multiprocessor", optional=True, between=(1.0, 1e6)),
    "max_block_threads": Parameter(
        unit="1", meaning="threads per block", optional=True, between=(1.0, 1e6), within="max_threads"
    ),
    "l1_bytes": Parameter(unit="B", meaning="L1 data cache per core or multiprocessor", optional=True, between=_CACHE),
    "l2_bytes": Parameter(
        unit="B", meaning="L2 cache of the whole device", optional=True, between=_CACHE, within="die_l2_bytes"
    ),
    "l3_bytes": Parameter(unit="B", meaning="L3 cache of the whole device", optional=True, between=_CACHE),
    "unified_bytes": Parameter(
        unit="B", meaning="memory per multiprocessor that L1 and shared memory divide", optional=True, between=_CACHE
    ),
    "schedulers": Parameter(unit="1", meaning="warp schedulers per multiprocessor", optional=True),
    "pipeline_cycles": Parameter(
        unit="1", meaning="cycles from an arithmetic instruction to one that needs its result", optional=True
    ),
    "l2_bandwidth": Parameter(
        unit="B/s", meaning="bandwidth of the L2 cache of the whole device", optional=True, between=_RATE
    ),
    "peak_dram_bandwidth": Parameter(unit="B/s", meaning="peak off-chip bandwidth", optional=True, between=_RATE),
    "cache_bandwidth": Parameter(unit="B/s", meaning="bandwidth of M_SM, per core", optional=True),
    "outer_bandwidth": Parameter(unit="B/s", meaning="bandwidth of L3 per core, all cores active", optional=True),
    "core_bandwidth": Parameter(unit="B/s", meaning="off-chip bandwidth of one core alone", optional=True),
    "call_seconds": Parameter(unit="s", meaning="start and end of one team of threads", optional=True),
    "advance_seconds": Parameter(
        unit="s", meaning="start-up of one advance of one level of a streaming tile, ten rows being used", optional=True
    ),
    "line_ratio": Parameter(
        unit="1",
        meaning="time of lines between L1 and L2 in streaming tiles over what M_SM's bandwidth says",
        optional=True,
    ),
    "blocked_ratio": Parameter(
        unit="1", meaning="C_iter of rows blocked in registers over C_iter, divisions and roots aside", optional=True
    ),
    "blocked_cycles": Parameter(
        unit="1", meaning="cycles per operation of one vector where rows are blocked in registers", optional=True
    ),
    "swept_ratio": Parameter(unit="1", meaning="C_iter of sweeps without tiles over C_iter", optional=True),
    "row_seconds": Parameter(unit="s", meaning="start-up of one innermost row of a tile", optional=True),
    "shared_bandwidth": Parameter(
        unit="B/s", meaning="bandwidth of the shared memories of the whole device", optional=True
    ),
    "global_latency": Parameter(unit="1", meaning="cycles that a load from off-chip memory takes", optional=True),
    "shared_latency": Parameter(unit="1", meaning="cycles that a load from shared memory takes", optional=True),
    "hiding_warps": Parameter(
        unit="1", meaning="resident warps per multiprocessor that hide latencies (#ResWarp_min)", optional=True
    ),
    "int_lanes": Parameter(unit="1", meaning="32-bit integer additions per cycle and multiprocessor", optional=True),
    "special_lanes": Parameter(
        unit="1", meaning="square roots and functions per cycle and multiprocessor", optional=True
    ),
    "static_watts": Parameter(
        unit="W", meaning="static power (P_stat)", optional=True, between=(0.0, 1500.0), within="tdp_watts"
    ),
    "tdp_watts": Parameter(
        unit="W",
        meaning="power that the board, or a CPU's package, may draw (TDP)",
        optional=True,
        between=(1.0, 1e4),
    ),
    "global_word_joules": Parameter(
        unit="J", meaning="moving a word between DRAM and chip (e_gs)", optional=True, between=_JOULES
    ),
    "shared_word_joules": Parameter(unit="J", meaning="moving a word on chip (e_sr)", optional=True, between=_JOULES),
    "add_joules": Parameter(unit="J", meaning="one float32 addition (e_fadd)", optional=True, between=_JOULES),
    "multiply_joules": Parameter(
        unit="J", meaning="one float32 multiplication (e_fmul)", optional=True, between=_JOULES
    ),
    "int_add_joules": Parameter(unit="J", meaning="one integer addition (e_iadd)", optional=True, between=_JOULES),
    "int_max_joules": Parameter(unit="J", meaning="one integer maximum (e_imax)", optional=True, between=_JOULES),
    "compute_capability": Parameter(
        unit="1", meaning="what the compiler is told: 9.0 for sm_90", optional=True, between=(1.0, 99.0)
    ),
    "memory_bytes": Parameter(
        unit="B", meaning="memory of the whole device", optional=True, between=(2.0**20, 2.0**50)
    ),
    "die_area": Parameter(unit="mm^2", meaning="published area of the whole die", optional=True, between=(1.0, 1e5)),
    "die_sm_count": Parameter(
        unit="1", meaning="multiprocessors on the die, also the disabled ones", optional=True, between=_COUNT
    ),
    "die_l2_bytes": Parameter(
        unit="B", meaning="L2 cache on the die, also the disabled part", optional=True, between=_CACHE
    ),
    "transistors": Parameter(
        unit="1", meaning="published number of transistors of the die", optional=True, between=(1e6, 1e14)
    ),
    "process": Parameter(unit="nm", meaning="name of the manufacturing process", optional=True, between=(0.1, 1e4)),
    **{name: _estimated(each) for name, each in COEFFICIENTS.items()},
}
"""Every parameter of a machine by name: the schema of machine files."""

AREA_PARAMETERS: dict[str, Parameter] = {
    "vector_unit": Parameter(unit="mm^2", meaning="core logic of one vector unit (beta_VU)"),
    "register_kb": Parameter(unit="mm^2/kB", meaning="register file, per kB and vector unit (beta_R)"),
    "register": Parameter(unit="mm^2", meaning="register file, overhead per vector unit (alpha_R)"),
    "shared_kb": Parameter(unit="mm^2/kB", meaning="shared memory, per kB and SM (beta_M)"),
    "shared": Parameter(unit="mm^2", meaning="shared memory, overhead per SM (alpha_M)"),
    "l1_kb": Parameter(unit="mm^2/kB", meaning="L1 cache, per kB and pair of SMs (beta_L1)"),
    "l1": Parameter(unit="mm^2", meaning="L1 cache, overhead per pair of SMs (alpha_L1)"),
    "l2_kb": Parameter(unit="mm^2/kB", meaning="L2 cache, per kB (beta_L2)"),
    "l2": Parameter(unit="mm^2", meaning="L2 cache, overhead per SM (alpha_L2)"),
    "overhead": Parameter(unit="mm^2", meaning="common overhead per SM (alpha_oh)"),
    "bandwidth": Parameter(
        unit="mm^2.s/GB", meaning="memory interface, per GB/s beyond the machine's own bandwidth", optional=True
    ),
    "issue": Parameter(unit="mm^2", meaning="width cost: schedulers per SM and multiple of its width", optional=True),
    "network": Parameter(
        unit="mm^2", meaning="width cost: operand network per vector unit and multiple of the SM's width", optional=True
    ),
}
"""The coefficients of the area model by name (thesis, C.4-C.6): the schema of a machine file's table ``[area]``."""


_ESTIMATES = {name: each.estimate for name, each in PARAMETERS.items() if each.estimate is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine: every elementary parameter that a cost model needs.

    :data:`PARAMETERS` describes the quantities; one that is optional and unknown is None, or the estimate where there
    is one.
    """

    name: str  # its name in the catalogue
    title: str  # its name in full
    kind: str  # ``gpu`` or ``cpu``
    sm_count: Quantity
    vector_width: Quantity
    shared_bytes: Quantity
    dram_bandwidth: Quantity
    barrier_seconds: Quantity
    launch_seconds: Quantity
    clock: Quantity
    flop_cycles: Quantity
    special_cycles: Quantity
    load_cycles: Quantity
    loop_cycles_1d: Quantity
    loop_cycles_2d: Quantity
    loop_cycles_3d: Quantity
    fp64_ratio: Quantity
    block_shared_bytes: Quantity | None = None
    registers: Quantity | None = None
    max_blocks: Quantity | None = None
    max_threads: Quantity | None = None
    max_block_threads: Quantity | None = None
    l1_bytes: Quantity | None = None
    l2_bytes: Quantity | None = None
    l3_bytes: Quantity | None = None
    unified_bytes: Quantity | None = None
    schedulers: Quantity | None = None
    pipeline_cycles: Quantity | None = None
    l2_bandwidth: Quantity | None = None
    peak_dram_bandwidth: Quantity | None = None
    cache_bandwidth: Quantity | None = None
    outer_bandwidth: Quantity | None = None
    outer_latency: Quantity = _ESTIMATES["outer_latency"]
    core_bandwidth: Quantity | None = None
    call_seconds: Quantity | None = None
    row_seconds: Quantity | None = None
    shared_bandwidth: Quantity | None = None
    global_latency: Quantity | None = None
    shared_latency: Quantity | None = None
    hiding_warps: Quantity | None = None
    int_lanes: Quantity | None = None
    special_lanes: Quantity | None = None
    advance_seconds: Quantity | None = None
    blocked_ratio: Quantity | None = None
    blocked_cycles: Quantity | None = None
    swept_ratio: Quantity | None = None
    line_ratio: Quantity | None = None
    static_watts: Quantity | None = None
    tdp_watts: Quantity | None = None
    global_word_joules: Quantity | None = None
    shared_word_joules: Quantity | None = None
    add_joules: Quantity | None = None
    multiply_joules: Quantity | None = None
    int_add_joules: Quantity | None = None
    int_max_joules: Quantity | None = None
    compute_capability: Quantity | None = None
    memory_bytes: Quantity | None = None
    die_area: Quantity | None = None
    die_sm_count: Quantity | None = None
    die_l2_bytes: Quantity | None = None
    transistors: Quantity | None = None
    process: Quantity | None = None
    function_cycles: Quantity = _ESTIMATES["function_cycles"]
    cache_fraction: Quantity = _ESTIMATES["cache_fraction"]
    l3_tile_fraction: Quantity = _ESTIMATES["l3_tile_fraction"]
    l3_grid_fraction: Quantity = _ESTIMATES["l3_grid_fraction"]
    l3_reuse_fraction: Quantity = _ESTIMATES["l3_reuse_fraction"]
    l2_ways: Quantity = _ESTIMATES["l2_ways"]
    l3_ways: Quantity = _ESTIMATES["l3_ways"]
    overlap_exponent: Quantity = _ESTIMATES["overlap_exponent"]
    bytes_per_fetch: Quantity = _ESTIMATES["bytes_per_fetch"]
    l3_exposed_fraction: Quantity = _ESTIMATES["l3_exposed_fraction"]
    l3_exposed_fraction_boxes: Quantity = _ESTIMATES["l3_exposed_fraction_boxes"]
    l3_overlap_exponent: Quantity = _ESTIMATES["l3_overlap_exponent"]
    far_row_ratio: Quantity = _ESTIMATES["far_row_ratio"]
    inplace_cut_cycles: Quantity = _ESTIMATES["inplace_cut_cycles"]
    short_row_cycles: Quantity = _ESTIMATES["short_row_cycles"]
    chain_cycles: Quantity = _ESTIMATES["chain_cycles"]
    chain_store_cycles: Quantity = _ESTIMATES["chain_store_cycles"]
    transpose_in_operations: Quantity = _ESTIMATES["transpose_in_operations"]
    transpose_out_operations: Quantity = _ESTIMATES["transpose_out_operations"]
    copy_operations: Quantity = _ESTIMATES["copy_operations"]
    strategy_margin: Quantity = _ESTIMATES["strategy_margin"]
    uncalibrated_margin: Quantity = _ESTIMATES["uncalibrated_margin"]
    diagonal_row_starts: Quantity = _ESTIMATES["diagonal_row_starts"]
    alignment_row_starts: Quantity = _ESTIMATES["alignment_row_starts"]
    alignment_widened_fraction: Quantity = _ESTIMATES["alignment_widened_fraction"]
    alignment_traced_cycles: Quantity = _ESTIMATES["alignment_traced_cycles"]
    alignment_visit_seconds: Quantity = _ESTIMATES["alignment_visit_seconds"]
    row_pass_cycles: Quantity = _ESTIMATES["row_pass_cycles"]
    row_pointer_cycles: Quantity = _ESTIMATES["row_pointer_cycles"]
    halo_bandwidth: Quantity = _ESTIMATES["halo_bandwidth"]
    block_call_seconds: Quantity = _ESTIMATES["block_call_seconds"]
    halo_seconds_1d: Quantity = _ESTIMATES["halo_seconds_1d"]
    halo_seconds_2d: Quantity = _ESTIMATES["halo_seconds_2d"]
    halo_seconds_3d: Quantity = _ESTIMATES["halo_seconds_3d"]
    disk_read_bandwidth: Quantity = _ESTIMATES["disk_read_bandwidth"]
    disk_write_bandwidth: Quantity = _ESTIMATES["disk_write_bandwidth"]
    network_latency: Quantity = _ESTIMATES["network_latency"]
    network_bandwidth: Quantity = _ESTIMATES["network_bandwidth"]
    periodic_threshold_1d: Quantity = _ESTIMATES["periodic_threshold_1d"]
    periodic_threshold_2d: Quantity = _ESTIMATES["periodic_threshold_2d"]
    periodic_threshold_3d: Quantity = _ESTIMATES["periodic_threshold_3d"]
    block_reserve_bytes: Quantity = _ESTIMATES["block_reserve_bytes"]
    host_bandwidth: Quantity = _ESTIMATES["host_bandwidth"]
    integer_cycles: Quantity = _ESTIMATES["integer_cycles"]
    control_cycles: Quantity = _ESTIMATES["control_cycles"]
    special_pipe_cycles: Quantity = _ESTIMATES["special_pipe_cycles"]
    taken_branch_cycles: Quantity = _ESTIMATES["taken_branch_cycles"]
    integer_latency: Quantity = _ESTIMATES["integer_latency"]
    double_latency: Quantity = _ESTIMATES["double_latency"]
    load_latency: Quantity = _ESTIMATES["load_latency"]
    fetch_latency: Quantity = _ESTIMATES["fetch_latency"]
    meeting_latency: Quantity = _ESTIMATES["meeting_latency"]
    special_latency: Quantity = _ESTIMATES["special_latency"]
    # coefficients of the area model by name, see :data:`AREA_PARAMETERS`; empty where nobody calibrated it
    area: tuple[tuple[str, Quantity], ...] = ()
    # C_iter per program of the catalogue: seconds of one iteration of its loop body on one vector unit, float32
    c_iter: tuple[tuple[str, Quantity], ...] = ()

    @property
    def block_threads(self) -> int:
        """Threads that a block has at most; CUDA's limit where nobody says."""
        return int(self.max_block_threads.value) if self.max_block_threads else MAX_BLOCK_THREADS

    @property
    def architecture(self) -> str:
        """What CUDA's compiler is told, such as ``sm_90``; empty where nobody says."""
        return f"sm_{round(10 * self.compute_capability.value)}" if self.compute_capability else ""

    def iteration_seconds(self, program: str, family: str = "") -> Quantity | None:
        """Return the determined C_iter of a program of the catalogue, or None."""
        # family: ``streaming`` for rows blocked in registers, ``none`` for sweeps without tiles; ``row``, ``box``,
        # ``none row`` and ``none box`` for the start-ups that were fitted with it
        return dict(self.c_iter).get(f"{program} {family}".strip())

    def of_rank(self, name: str, rank: int) -> Quantity:
        """Return a parameter that depends on the dimensions: ``loop_cycles`` and 2 are ``loop_cycles_2d``.

        Four dimensions have those of three: a row's loop is the same, and loops over planes and volumes are short work.
        """
        found: Quantity = getattr(self, f"{name}_{min(rank, 3)}d")
        return found

    def known(self) -> dict[str, Quantity]:
        """Return what is known of the machine by name: the parameters of its kind that it has."""
        every = {name: getattr(self, name) for name, each in PARAMETERS.items() if self.kind in each.kinds}
        return {name: quantity for name, quantity in every.items() if quantity is not None}

    def to_dict(self) -> dict[str, object]:
        """Return the machine as plain data, unknown parameters left out."""
        plain: dict[str, object] = {"name": self.name, "title": self.title, "kind": self.kind}
        plain["quantities"] = {name: dataclasses.asdict(value) for name, value in self.known().items()}
        plain["c_iter"] = {name: dataclasses.asdict(value) for name, value in self.c_iter}
        if self.area:
            plain["area"] = {name: dataclasses.asdict(value) for name, value in self.area}
        return plain


def with_threads(machine: Machine, threads: int | None) -> Machine:
    """Return a CPU of which so many cores take part, each with its share of the bandwidth; a GPU stays as it is."""
    if threads is None or machine.kind != "cpu" or threads == machine.sm_count.value:
        return machine
    count, bandwidth = machine.sm_count, machine.dram_bandwidth
    share = threads / count.value
    return dataclasses.replace(
        machine,
        sm_count=dataclasses.replace(count, value=threads, low=None, high=None),
        dram_bandwidth=dataclasses.replace(bandwidth, value=share * bandwidth.value, low=None, high=None),
    )
