"""The machine value: elementary parameters with their provenance.

The papers' symbols: n_SM is ``sm_count``, n_V ``vector_width``, M_SM ``shared_bytes``, R_SM ``registers``, MTB_SM
``max_blocks``, L the inverse of ``dram_bandwidth``, tau_sync ``barrier_seconds``, T_sync ``launch_seconds``.
"""

import dataclasses
import math
from dataclasses import dataclass

from tilewright.base.constants import MAX_BLOCK_THREADS
from tilewright.base.errors import UsageError

SOURCES = ("paper", "datasheet", "measured", "estimated", "description")
KINDS = ("gpu", "cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number with its unit and where it comes from.

    Attributes:
        value: The number, finite and at least 0.
        unit: Its unit; ``1`` for a count.
        source: One of :data:`SOURCES`: printed in a paper, on a data sheet, measured, estimated from other numbers, or
            read from the machine's own description.
        note: Where exactly, or how.
        low: Lower end of the plausible range, or None where the value is taken as exact.
        high: Upper end of the plausible range, or None.
    """

    value: float
    unit: str
    source: str
    note: str = ""
    low: float | None = None
    high: float | None = None

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
    """What the schema says about one parameter of a machine.

    Attributes:
        unit: The unit its values must have.
        meaning: One line on what it is.
        optional: Whether a machine may lack it.
        estimate: What a machine has whose file does not say, or None.
        kinds: The kinds of machines that may have it.
    """

    unit: str
    meaning: str
    optional: bool = False
    estimate: Quantity | None = None
    kinds: tuple[str, ...] = KINDS


def _coefficient(
    meaning: str,
    value: float,
    between: tuple[float, float],
    note: str,
    *,
    unit: str = "1",
    kinds: tuple[str, ...] = ("cpu",),
) -> Parameter:
    """Return an empirical coefficient of the cost models: an estimate until somebody measures it."""
    low, high = between
    estimate = Quantity(value=value, unit=unit, source="estimated", note=note, low=low, high=high)
    return Parameter(unit=unit, meaning=meaning, optional=True, estimate=estimate, kinds=kinds)


PARAMETERS: dict[str, Parameter] = {
    "sm_count": Parameter(unit="1", meaning="multiprocessors, or cores of a CPU (n_SM)"),
    "vector_width": Parameter(unit="1", meaning="float32 lanes per multiprocessor or core (n_V)"),
    "shared_bytes": Parameter(unit="B", meaning="shared memory per multiprocessor, or L2 cache per core (M_SM)"),
    "dram_bandwidth": Parameter(unit="B/s", meaning="sustained off-chip bandwidth of the whole device (1/L)"),
    "barrier_seconds": Parameter(unit="s", meaning="one synchronisation inside a tile (tau_sync)"),
    "launch_seconds": Parameter(
        unit="s", meaning="one synchronisation of all tiles: a kernel call or a barrier (T_sync)"
    ),
    "clock": Parameter(unit="Hz", meaning="clock of the vector units"),
    "flop_cycles": Parameter(
        unit="1", meaning="cycles per arithmetic operation of one vector, for estimates of C_iter"
    ),
    "special_cycles": Parameter(unit="1", meaning="cycles per division, root or function of one vector"),
    "load_cycles": Parameter(unit="1", meaning="cycles per load or store of one vector from on-chip memory"),
    "loop_cycles_1d": Parameter(unit="1", meaning="cycles of loop and index work per iteration, one dimension"),
    "loop_cycles_2d": Parameter(unit="1", meaning="the same, two dimensions"),
    "loop_cycles_3d": Parameter(unit="1", meaning="the same, three dimensions"),
    "fp64_ratio": Parameter(unit="1", meaning="float64 operations per float32 operation at full rate"),
    "block_shared_bytes": Parameter(unit="B", meaning="shared memory that one block may use", optional=True),
    "registers": Parameter(unit="1", meaning="32-bit registers per multiprocessor (R_SM)", optional=True),
    "max_blocks": Parameter(unit="1", meaning="thread blocks per multiprocessor (MTB_SM)", optional=True),
    "max_threads": Parameter(unit="1", meaning="threads per multiprocessor", optional=True),
    "max_block_threads": Parameter(unit="1", meaning="threads per block", optional=True),
    "l1_bytes": Parameter(unit="B", meaning="L1 data cache per core or multiprocessor", optional=True),
    "l2_bytes": Parameter(unit="B", meaning="L2 cache of the whole device", optional=True),
    "l3_bytes": Parameter(unit="B", meaning="L3 cache of the whole device", optional=True),
    "unified_bytes": Parameter(
        unit="B", meaning="memory per multiprocessor that L1 and shared memory divide", optional=True
    ),
    "schedulers": Parameter(unit="1", meaning="warp schedulers per multiprocessor", optional=True),
    "pipeline_cycles": Parameter(
        unit="1", meaning="cycles from an arithmetic instruction to one that needs its result", optional=True
    ),
    "l2_bandwidth": Parameter(unit="B/s", meaning="bandwidth of the L2 cache of the whole device", optional=True),
    "peak_dram_bandwidth": Parameter(unit="B/s", meaning="peak off-chip bandwidth", optional=True),
    "cache_bandwidth": Parameter(unit="B/s", meaning="bandwidth of M_SM, per core", optional=True),
    "outer_bandwidth": Parameter(unit="B/s", meaning="bandwidth of L3 per core, all cores active", optional=True),
    "outer_latency": _coefficient(
        "cycles that the first cells of a row wait for where they come from L3, before anything is fetched ahead",
        140.0,
        (42.0, 280.0),
        "fitted to sweeps of skewed tiles on a Zen 4; no micro-benchmark measures it",
    ),
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
    "static_watts": Parameter(unit="W", meaning="static power (P_stat)", optional=True),
    "global_word_joules": Parameter(unit="J", meaning="moving a word between DRAM and chip (e_gs)", optional=True),
    "shared_word_joules": Parameter(unit="J", meaning="moving a word on chip (e_sr)", optional=True),
    "add_joules": Parameter(unit="J", meaning="one float32 addition (e_fadd)", optional=True),
    "multiply_joules": Parameter(unit="J", meaning="one float32 multiplication (e_fmul)", optional=True),
    "int_add_joules": Parameter(unit="J", meaning="one integer addition (e_iadd)", optional=True),
    "int_max_joules": Parameter(unit="J", meaning="one integer maximum (e_imax)", optional=True),
    "compute_capability": Parameter(unit="1", meaning="what the compiler is told: 9.0 for sm_90", optional=True),
    "memory_bytes": Parameter(unit="B", meaning="memory of the whole device", optional=True),
    "die_area": Parameter(unit="mm^2", meaning="published area of the whole die", optional=True),
    "die_sm_count": Parameter(unit="1", meaning="multiprocessors on the die, also the disabled ones", optional=True),
    "die_l2_bytes": Parameter(unit="B", meaning="L2 cache on the die, also the disabled part", optional=True),
    "transistors": Parameter(unit="1", meaning="published number of transistors of the die", optional=True),
    "process": Parameter(unit="nm", meaning="name of the manufacturing process", optional=True),
    "cache_fraction": _coefficient(
        "usable fraction of a core's own cache, before data spill",
        0.75,
        (0.5, 1.0),
        "the rest goes to conflicts and to other data",
    ),
    "l3_tile_fraction": _coefficient(
        "usable fraction of a core's part of L3 for what a tile touches",
        0.5,
        (0.3, 0.8),
        "as much as the copies fill by which calibrations measure the bandwidth of L3",
    ),
    "l3_grid_fraction": _coefficient(
        "usable fraction of L3 for a whole grid",
        0.5,
        (0.3, 0.8),
        "as much as the copies fill by which calibrations measure the bandwidth of L3",
    ),
    "l3_reuse_fraction": _coefficient(
        "usable fraction of a core's part of L3 for the slabs of a tile or the grid of a sweep, between two uses",
        0.8,
        (0.5, 1.0),
        "j3d7pt on a Zen 4 keeps 7.7 of 16 MB and loses 12",
    ),
    "l2_ways": _coefficient(
        "lines of a set of L2", 8.0, (4.0, 20.0), "usual; it only changes how sharply a cache overflows"
    ),
    "l3_ways": _coefficient(
        "lines of a set of L3", 16.0, (8.0, 32.0), "usual; it only changes how sharply a cache overflows"
    ),
    "overlap_exponent": _coefficient(
        "exponent p of the p-norm with which arithmetic and transfers from L2 overlap",
        8.0,
        (4.0, 16.0),
        "streaming tiles on a Zen 4 are off by 3.5 % in the mean with 4, by 3.2 with 8, by 3.1 with 16",
    ),
    "bytes_per_fetch": _coefficient(
        "bytes that the bandwidths of memory and L3 count per byte fetched",
        1.5,
        (1.0, 1.5),
        "the copies that measure them write one of every two bytes back; 1 if writing back costs nothing",
    ),
    "l3_exposed_fraction": _coefficient(
        "exposed fraction of the time of transfers from L3: arithmetic does not hide it",
        0.3,
        (0.23, 0.47),
        "142 instances of streaming tiles of 16 programs on a Zen 4 say 0.28, those in 2D 0.23, those in 3D 0.47",
    ),
    "l3_exposed_fraction_boxes": _coefficient(
        "the same in the boxes of hexagonal and hybrid tiles, whose rows are shorter",
        0.6,
        (0.5, 0.9),
        "five programs at 1024 x 1024 on a Zen 4, in tiles as large as L2",
    ),
    "l3_overlap_exponent": _coefficient(
        "power of the fraction of the arithmetic's time in which transfers from L2 run, by which less of those from L3 "
        "is exposed, in 1D and 2D",
        2.0,
        (1.0, 4.0),
        "sweeps of ten programs on a Zen 4 prefer 2 to 1, 3 and 4 a little; refuted in 3D (docs/derivations/cpu.md)",
    ),
    "far_row_ratio": _coefficient(
        "time of rows of hexagonal and hybrid tiles in a grid in memory over one in L2",
        1.25,
        (1.15, 1.37),
        "five programs at 4096 x 4096 and three at 256^3 on a Zen 4; in a grid in L3 half as much more, 1.05 to 1.15",
    ),
    "inplace_cut_cycles": _coefficient(
        "cycles that the end of a piece of a row waits, where a tile cuts rows and a statement updates in place: "
        "vectors read what two others have just stored",
        36.0,
        (9.0, 45.0),
        "pieces of 128 cells on a Zen 4 wait 3 ns in small grids and 15 ns in large ones",
    ),
    "transpose_in_operations": _coefficient(
        "operations that transposing a vector on its way into a streaming tile takes as long as",
        12.0,
        (6.0, 24.0),
        "fitted to streaming tiles on a Zen 4",
    ),
    "transpose_out_operations": _coefficient(
        "the same on its way out", 20.0, (10.0, 40.0), "fitted to streaming tiles on a Zen 4"
    ),
    "copy_operations": _coefficient(
        "the same of a vector that is copied as it is", 3.0, (1.0, 6.0), "fitted to streaming tiles on a Zen 4"
    ),
    "strategy_margin": _coefficient(
        "model-uncertainty margin of skewed, diamond and overlapped tiles: what they must win by",
        1.25,
        (1.1, 1.5),
        "the standard deviation of log prediction over measurement in sweeps on a Zen 4; of others 0.1 to 0.2",
    ),
    "uncalibrated_margin": _coefficient(
        "model-uncertainty margin of all time tiles on a CPU that nobody has calibrated: what they must win by",
        1.18,
        (1.0, 1.4),
        "over 35 short runs on a Zen 3 guesses promised 1.15 times what was measured, with a standard deviation of 1.2",
    ),
    "diagonal_row_starts": _coefficient(
        "starts of a row that an anti-diagonal of a table's tile takes as long as: its cells, what comes from above "
        "and from the left, and what goes down and to the right",
        5.0,
        (4.0, 7.0),
        "all of them took 22 to 28 ns on a Zen 3, one start being estimated to take 4.1",
    ),
    "alignment_row_starts": _coefficient(
        "starts of a row that a row of an alignment's tile takes as long as, besides its vectors",
        5.0,
        (4.0, 7.0),
        "a row took 22 to 24 ns on a Zen 3, where one start is estimated to take 4.1",
    ),
    "alignment_widened_fraction": _coefficient(
        "fraction of a tile by which a column of an alignment's tiles takes longer where scores leave 8 bits",
        0.25,
        (0.0, 0.5),
        "a tile that is half done on 8 bits is computed again on 16, whose vectors hold half as many",
    ),
    "alignment_traced_cycles": _coefficient(
        "cycles of a cell of an alignment that is computed again to be traced; each waits for the one before",
        13.0,
        (10.0, 16.0),
        "5.0 to 5.6 ns on a Zen 3 of 2.45 GHz",
    ),
    "alignment_visit_seconds": _coefficient(
        "a call for a tile of an alignment that is computed again, with its arrays",
        2e-5,
        (1e-5, 4e-5),
        "an estimate",
        unit="s",
    ),
    "row_pass_cycles": _coefficient(
        "cycles of entry and exit of a pass of a fused pipeline over a row", 30.0, (10.0, 60.0), "an estimate"
    ),
    "row_pointer_cycles": _coefficient(
        "cycles in which a pass of a fused pipeline finds the place of one row in its ring",
        2.0,
        (1.0, 6.0),
        "an estimate",
    ),
    "halo_bandwidth": _coefficient(
        "bytes of a periodic grid's halo that are copied in a second, in short pieces of rows",
        7e9,
        (3e9, 2e10),
        "with the halo's seconds a block of j2d5pt at 1024 x 1024 costs 0.11 ms, of fdtd2d there 0.3 and of j3d7pt at "
        "128^3 0.4; on a Zen 4 it was 0.12, 0.29 and 0.49",
        unit="B/s",
    ),
    "block_call_seconds": _coefficient(
        "call of one more block of steps on a periodic grid",
        1e-5,
        (2e-6, 5e-5),
        "with halo_bandwidth",
        unit="s",
        kinds=KINDS,
    ),
    "halo_seconds_1d": _coefficient(
        "what the halo of a version costs besides its bytes: bookkeeping, and copies of rows apart; one dimension",
        1e-5,
        (2e-6, 3e-5),
        "with halo_bandwidth",
        unit="s",
        kinds=KINDS,
    ),
    "halo_seconds_2d": _coefficient(
        "the same, two dimensions", 4e-5, (1e-5, 1e-4), "with halo_bandwidth", unit="s", kinds=KINDS
    ),
    "halo_seconds_3d": _coefficient(
        "the same, three dimensions", 4e-5, (1e-5, 1e-4), "with halo_bandwidth", unit="s", kinds=KINDS
    ),
    "disk_read_bandwidth": _coefficient(
        "bytes of large files that are read in a second, past the page cache",
        1e9,
        (1e8, 7e9),
        "between a disk of a virtual machine and NVMe; `calibrate --disk FOLDER` measures it",
        unit="B/s",
    ),
    "disk_write_bandwidth": _coefficient(
        "bytes of large files that are written in a second, until they are on the disk",
        5e8,
        (5e7, 5e9),
        "between a disk of a virtual machine and NVMe; `calibrate --disk FOLDER` measures it",
        unit="B/s",
    ),
    "network_latency": _coefficient(
        "time of an empty message between two ranks of MPI (alpha, or L + 2o of LogP)",
        2e-6,
        (3e-7, 5e-5),
        "between shared memory and Ethernet; `calibrate --network` measures it under mpiexec",
        unit="s",
    ),
    "network_bandwidth": _coefficient(
        "bytes a second of a large message between two ranks of MPI (1/beta, or 1/G of LogGP)",
        1e10,
        (1e9, 5e10),
        "between Ethernet and the networks of supercomputers; `calibrate --network` measures it under mpiexec",
        unit="B/s",
    ),
    "periodic_threshold_1d": _coefficient(
        "fraction of the time of sweeps that blocks of steps on a periodic grid must stay below, since between two "
        "blocks the threads wait for one of them; one dimension",
        0.97,
        (0.85, 1.0),
        "in 1D and 3D seven programs that promised 0.85 to 0.98 took 0.63 to 1.14 on a Zen 4, 0.70 in the median",
        kinds=KINDS,
    ),
    "periodic_threshold_2d": _coefficient(
        "the same, two dimensions",
        0.88,
        (0.8, 1.0),
        "five programs at 1024 x 1024 that promised 0.89 to 0.97 took 1.06 to 1.2 times as long as sweeps on a Zen 4",
        kinds=KINDS,
    ),
    "periodic_threshold_3d": _coefficient(
        "the same, three dimensions",
        0.97,
        (0.85, 1.0),
        "in 1D and 3D seven programs that promised 0.85 to 0.98 took 0.63 to 1.14 on a Zen 4, 0.70 in the median",
        kinds=KINDS,
    ),
    "block_reserve_bytes": _coefficient(
        "shared memory that a block takes besides its own",
        1024.0,
        (0.0, 1024.0),
        "CUDA C++ programming guide, compute capability 8.0 and above; older ones reserve none",
        unit="B",
        kinds=("gpu",),
    ),
    "integer_cycles": _coefficient(
        "cycles for which an integer instruction or a multiplication of integers occupies its pipe of a scheduler",
        2.0,
        (1.0, 2.0),
        "half the rate of float32 on compute capability 7.0 to 9.0 (CUDA C++ programming guide, throughput)",
        kinds=("gpu",),
    ),
    "control_cycles": _coefficient("the same of a branch", 2.0, (1.0, 4.0), "an estimate", kinds=("gpu",)),
    "special_pipe_cycles": _coefficient(
        "the same of a function, a conversion, or the reading of a special register",
        4.0,
        (2.0, 8.0),
        "an estimate",
        kinds=("gpu",),
    ),
    "taken_branch_cycles": _coefficient(
        "cycles by which a warp's next instruction is late after a branch that is taken",
        8.0,
        (0.0, 16.0),
        "an estimate",
        kinds=("gpu",),
    ),
    "integer_latency": _coefficient(
        "cycles from an integer instruction to one that waits for its result",
        6.0,
        (4.0, 6.0),
        "Jia et al. 2018, table 4.1, of Volta",
        kinds=("gpu",),
    ),
    "double_latency": _coefficient(
        "the same of a float64 instruction", 8.0, (8.0, 16.0), "Jia et al. 2018, table 4.1, of Volta", kinds=("gpu",)
    ),
    "load_latency": _coefficient(
        "the same of a load from shared memory without conflicts",
        29.0,
        (19.0, 33.0),
        "measured on Hopper by others; 19 on Volta (Jia et al. 2018, table 3.1)",
        kinds=("gpu",),
    ),
    "fetch_latency": _coefficient(
        "the same of a load from DRAM", 600.0, (400.0, 900.0), "an estimate under load", kinds=("gpu",)
    ),
    "meeting_latency": _coefficient(
        "cycles from the last warp's arrival at a block's barrier until all go on",
        25.0,
        (15.0, 50.0),
        "an estimate",
        kinds=("gpu",),
    ),
    "special_latency": _coefficient(
        "cycles from a shuffle, a function or the reading of a special register to its result",
        24.0,
        (16.0, 40.0),
        "an estimate; a shuffle takes 22 on Volta",
        kinds=("gpu",),
    ),
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

    Attributes:
        name: Its name in the catalogue.
        title: Its name in full.
        kind: ``gpu`` or ``cpu``.
        c_iter: Per program of the catalogue, the seconds that one iteration of its loop body takes on one vector unit
            (C_iter), float32, where somebody determined it.
        area: The coefficients of the area model by name, see :data:`AREA_PARAMETERS`; empty where nobody calibrated it.

    The other attributes are described by :data:`PARAMETERS`; one that is optional and unknown is None, or the estimate
    where there is one.
    """

    name: str
    title: str
    kind: str
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
    area: tuple[tuple[str, Quantity], ...] = ()
    c_iter: tuple[tuple[str, Quantity], ...] = ()

    @property
    def block_threads(self) -> int:
        """Threads that a block has at most; CUDA's limit where nobody says."""
        return int(self.max_block_threads.value) if self.max_block_threads else MAX_BLOCK_THREADS

    def iteration_seconds(self, program: str, family: str = "") -> Quantity | None:
        """Return the determined C_iter of a program of the catalogue, or None.

        Args:
            program: The program.
            family: ``streaming`` for that of rows blocked in registers, which is kept as ``"PROGRAM streaming"``;
                ``none`` for that of sweeps without tiles. ``row`` and ``box``, or ``none row`` and ``none box``, for
                the start-ups that were fitted with it.
        """
        return dict(self.c_iter).get(f"{program} {family}".strip())

    def of_rank(self, name: str, rank: int) -> Quantity:
        """Return a parameter that depends on the dimensions, 1 to 3: ``loop_cycles`` and 2 are ``loop_cycles_2d``."""
        found: Quantity = getattr(self, f"{name}_{rank}d")
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
