"""The machine value: elementary parameters with their provenance, each declared once, as a field of :class:`Machine`.

The papers' symbols: n_SM is ``sm_count``, n_V ``vector_width``, M_SM ``shared_bytes``, R_SM ``registers``, MTB_SM
``max_blocks``, L the inverse of ``dram_bandwidth``, tau_sync ``barrier_seconds``, T_sync ``launch_seconds``.

Machine files, their checks, tables and documents follow from the declarations. A parameter that every file must have
has no default; one that is ``optional`` may be unknown; one with an ``estimate`` is taken to be that until a
calibration or a file says otherwise.
"""

import dataclasses
from dataclasses import dataclass

from tilewright.machines.parameters import Parameter, Quantity, cpu_parameter, gpu_parameter, parameter

_COUNT, _BYTES, _CACHE = (1.0, 1e5), (1.0, 2.0**36), (0.0, 2.0**36)
"""Plausible counts, bytes on chip, and of caches that may be missing."""
_FRACTION, _CYCLES = (0.0, 1.0), (0.0, 1e6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine: every elementary parameter that a cost model needs."""

    name: str  # its name in the catalogue
    title: str  # its name in full
    kind: str  # one of ``KINDS``
    # What every machine's file says.
    sm_count: Quantity = parameter(
        "multiprocessors, or cores of a CPU (n_SM)", between=_COUNT, within="die_sm_count", whole=True
    )
    vector_width: Quantity = parameter("float32 lanes per multiprocessor or core (n_V)", between=_COUNT, whole=True)
    shared_bytes: Quantity = parameter(
        "shared memory per multiprocessor, or L2 cache per core (M_SM)", "B", between=_BYTES, within="unified_bytes"
    )
    dram_bandwidth: Quantity = parameter("sustained off-chip bandwidth of the whole device (1/L)", "B/s")
    barrier_seconds: Quantity = parameter("one synchronisation inside a tile (tau_sync)", "s", between=(0.0, 0.01))
    launch_seconds: Quantity = parameter(
        "one synchronisation of all tiles: a kernel call or a barrier (T_sync)", "s", between=(0.0, 1.0)
    )
    clock: Quantity = parameter("clock of the vector units", "Hz", between=(1e5, 1e11))
    flop_cycles: Quantity = parameter(
        "cycles per arithmetic operation of one vector, for estimates of C_iter", between=_CYCLES
    )
    special_cycles: Quantity = parameter(
        "cycles per division or root of one vector, on GPUs per function as well", between=_CYCLES
    )
    load_cycles: Quantity = parameter("cycles per load or store of one vector from on-chip memory", between=_CYCLES)
    loop_cycles_1d: Quantity = parameter("cycles of loop and index work per iteration, one dimension", between=_CYCLES)
    loop_cycles_2d: Quantity = parameter("the same, two dimensions", between=_CYCLES)
    loop_cycles_3d: Quantity = parameter("the same, three dimensions", between=_CYCLES)
    fp64_ratio: Quantity = parameter("float64 operations per float32 operation at full rate", between=(1e-4, 2.0))
    # What may be unknown.
    block_shared_bytes: Quantity | None = parameter(
        "shared memory that one block may use", "B", optional=True, between=_BYTES, within="shared_bytes"
    )
    registers: Quantity | None = parameter(
        "32-bit registers per multiprocessor (R_SM)", optional=True, between=(1.0, 1e8)
    )
    max_blocks: Quantity | None = parameter("thread blocks per multiprocessor (MTB_SM)", optional=True, between=_COUNT)
    max_threads: Quantity | None = parameter("threads per multiprocessor", optional=True, between=(1.0, 1e6))
    max_block_threads: Quantity | None = parameter(
        "threads per block", optional=True, between=(1.0, 1e6), within="max_threads"
    )
    l1_bytes: Quantity | None = parameter(
        "L1 data cache per core or multiprocessor", "B", optional=True, between=_CACHE
    )
    l2_bytes: Quantity | None = parameter(
        "L2 cache of the whole device", "B", optional=True, between=_CACHE, within="die_l2_bytes"
    )
    l3_bytes: Quantity | None = parameter("L3 cache of the whole device", "B", optional=True, between=_CACHE)
    unified_bytes: Quantity | None = parameter(
        "memory per multiprocessor that L1 and shared memory divide", "B", optional=True, between=_CACHE
    )
    schedulers: Quantity | None = parameter("warp schedulers per multiprocessor", optional=True, between=_COUNT)
    pipeline_cycles: Quantity | None = parameter(
        "cycles from an arithmetic instruction to one that needs its result", optional=True, between=_CYCLES
    )
    l2_bandwidth: Quantity | None = parameter("bandwidth of the L2 cache of the whole device", "B/s", optional=True)
    peak_dram_bandwidth: Quantity | None = parameter("peak off-chip bandwidth", "B/s", optional=True)
    cache_bandwidth: Quantity | None = parameter("bandwidth of M_SM, per core", "B/s", optional=True)
    outer_bandwidth: Quantity | None = parameter("bandwidth of L3 per core, all cores active", "B/s", optional=True)
    core_bandwidth: Quantity | None = parameter("off-chip bandwidth of one core alone", "B/s", optional=True)
    call_seconds: Quantity | None = parameter("start and end of one team of threads", "s", optional=True)
    advance_seconds: Quantity | None = parameter(
        "start-up of one advance of one level of a streaming tile, ten rows being used", "s", optional=True
    )
    line_ratio: Quantity | None = parameter(
        "time of lines between L1 and L2 in streaming tiles over what M_SM's bandwidth says", optional=True
    )
    blocked_ratio: Quantity | None = parameter(
        "C_iter of rows blocked in registers over C_iter, divisions and roots aside", optional=True
    )
    blocked_cycles: Quantity | None = parameter(
        "cycles per operation of one vector where rows are blocked in registers", optional=True
    )
    swept_ratio: Quantity | None = parameter("C_iter of sweeps without tiles over C_iter", optional=True)
    row_seconds: Quantity | None = parameter("start-up of one innermost row of a tile", "s", optional=True)
    shared_bandwidth: Quantity | None = parameter(
        "bandwidth of the shared memories of the whole device", "B/s", optional=True
    )
    global_latency: Quantity | None = parameter(
        "cycles that a load from off-chip memory takes", optional=True, between=_CYCLES
    )
    shared_latency: Quantity | None = parameter(
        "cycles that a load from shared memory takes", optional=True, between=_CYCLES
    )
    hiding_warps: Quantity | None = parameter(
        "resident warps per multiprocessor that hide latencies (#ResWarp_min)", optional=True
    )
    int_lanes: Quantity | None = parameter("32-bit integer additions per cycle and multiprocessor", optional=True)
    special_lanes: Quantity | None = parameter("square roots and functions per cycle and multiprocessor", optional=True)
    static_watts: Quantity | None = parameter(
        "static power (P_stat)", "W", optional=True, between=(0.0, 1500.0), within="tdp_watts"
    )
    tdp_watts: Quantity | None = parameter(
        "power that the board, or a CPU's package, may draw (TDP)", "W", optional=True, between=(1.0, 1e4)
    )
    global_word_joules: Quantity | None = parameter("moving a word between DRAM and chip (e_gs)", "J", optional=True)
    shared_word_joules: Quantity | None = parameter("moving a word on chip (e_sr)", "J", optional=True)
    add_joules: Quantity | None = parameter("one float32 addition (e_fadd)", "J", optional=True)
    multiply_joules: Quantity | None = parameter("one float32 multiplication (e_fmul)", "J", optional=True)
    int_add_joules: Quantity | None = parameter("one integer addition (e_iadd)", "J", optional=True)
    int_max_joules: Quantity | None = parameter("one integer maximum (e_imax)", "J", optional=True)
    compute_capability: Quantity | None = parameter(
        "what the compiler is told: 9.0 for sm_90", optional=True, between=(1.0, 99.0)
    )
    memory_bytes: Quantity | None = parameter(
        "memory of the whole device", "B", optional=True, between=(2.0**20, 2.0**50)
    )
    die_area: Quantity | None = parameter("published area of the whole die", "mm^2", optional=True, between=(1.0, 1e5))
    die_sm_count: Quantity | None = parameter(
        "multiprocessors on the die, also the disabled ones", optional=True, between=_COUNT
    )
    die_l2_bytes: Quantity | None = parameter(
        "L2 cache on the die, also the disabled part", "B", optional=True, between=_CACHE
    )
    transistors: Quantity | None = parameter(
        "published number of transistors of the die", optional=True, between=(1e6, 1e14)
    )
    process: Quantity | None = parameter("name of the manufacturing process", "nm", optional=True, between=(0.1, 1e4))
    # Empirical numbers of the cost models: estimates, until a calibration or a file says otherwise.
    function_cycles: Quantity = cpu_parameter(
        "cycles per exponential of one vector of float32; other functions go with it",
        estimate=(7.0, 10.0, 160.0),
        note="polynomials on a Zen 4, above the nominal clock; processors without fused multiplication call C's "
        "library",
    )
    outer_latency: Quantity = cpu_parameter(
        "cycles that the first cells of a row wait for where they come from L3, before anything is fetched ahead",
        estimate=(42.0, 140.0, 280.0),
        note="fitted to sweeps of skewed tiles on a Zen 4; no micro-benchmark measures it",
    )
    cache_fraction: Quantity = cpu_parameter(
        "usable fraction of a core's own cache, before data spill",
        estimate=(0.5, 0.75, 1.0),
        note="the rest goes to conflicts and to other data",
        between=_FRACTION,
    )
    l3_tile_fraction: Quantity = cpu_parameter(
        "usable fraction of a core's part of L3 for what a tile touches",
        estimate=(0.3, 0.5, 0.8),
        note="as much as the copies fill by which calibrations measure the bandwidth of L3",
        between=_FRACTION,
    )
    l3_grid_fraction: Quantity = cpu_parameter(
        "usable fraction of L3 for a whole grid",
        estimate=(0.3, 0.5, 0.8),
        note="as much as the copies fill by which calibrations measure the bandwidth of L3",
        between=_FRACTION,
    )
    l3_reuse_fraction: Quantity = cpu_parameter(
        "usable fraction of a core's part of L3 for the slabs of a tile or the grid of a sweep, between two uses",
        estimate=(0.3, 0.5, 0.8),
        note="sweeps of five Zen 4 hosts: no worst choice is worse than with 0.8, one is better; virtual machines "
        "share L3",
        between=_FRACTION,
        positive=True,
    )
    l2_ways: Quantity = cpu_parameter(
        "lines of a set of L2",
        estimate=(4.0, 8.0, 20.0),
        note="usual; it only changes how sharply a cache overflows",
        whole=True,
    )
    l3_ways: Quantity = cpu_parameter(
        "lines of a set of L3",
        estimate=(8.0, 16.0, 32.0),
        note="usual; it only changes how sharply a cache overflows",
        whole=True,
    )
    overlap_exponent: Quantity = cpu_parameter(
        "exponent p of the p-norm with which arithmetic and transfers from L2 overlap",
        estimate=(4.0, 8.0, 16.0),
        note="streaming tiles on a Zen 4 are off by 3.5 % in the mean with 4, by 3.2 with 8, by 3.1 with 16",
        positive=True,
    )
    bytes_per_fetch: Quantity = cpu_parameter(
        "bytes that the bandwidths of memory and L3 count per byte fetched",
        estimate=(1.0, 1.5, 1.5),
        note="the copies that measure them write one of every two bytes back; 1 if writing back costs nothing",
    )
    l3_exposed_fraction: Quantity = cpu_parameter(
        "exposed fraction of the time of transfers from L3: arithmetic does not hide it",
        estimate=(0.23, 0.3, 0.47),
        note="142 instances of streaming tiles of 16 programs on a Zen 4 say 0.28, those in 2D 0.23, those in 3D 0.47",
        between=_FRACTION,
    )
    l3_exposed_fraction_3d: Quantity = cpu_parameter(
        "the same in streaming tiles in 3D, behind whose arithmetic nothing hides",
        estimate=(0.03, 0.3, 0.6),
        note="as in 2D; calibrations measure it with all cores at work",
        between=_FRACTION,
    )
    l3_exposed_fraction_boxes: Quantity = cpu_parameter(
        "the same in the boxes of hexagonal and hybrid tiles, whose rows are shorter",
        estimate=(0.5, 0.6, 0.9),
        note="five programs at 1024 x 1024 on a Zen 4, in tiles as large as L2",
        between=_FRACTION,
    )
    l3_overlap_exponent: Quantity = cpu_parameter(
        "power of the fraction of the arithmetic's time in which transfers from L2 run, by which less of those from "
        "L3 is exposed, in 1D and 2D",
        estimate=(1.0, 2.0, 4.0),
        note="sweeps of ten programs on a Zen 4 prefer 2 to 1, 3 and 4 a little; refuted in 3D "
        "(docs/derivations/cpu.md)",
    )
    far_row_ratio: Quantity = cpu_parameter(
        "time of rows of hexagonal and hybrid tiles in a grid in memory over one in L2",
        estimate=(1.15, 1.25, 1.37),
        note="five programs at 4096 x 4096 and three at 256^3 on a Zen 4; in a grid in L3 half as much more, 1.05 to "
        "1.15",
    )
    inplace_cut_cycles: Quantity = cpu_parameter(
        "cycles that the end of a piece of a row waits, where a tile cuts rows and a statement updates in place: "
        "vectors read what two others have just stored",
        estimate=(9.0, 36.0, 45.0),
        note="pieces of 128 cells on a Zen 4 wait 3 ns in small grids and 15 ns in large ones",
    )
    short_row_cycles: Quantity = cpu_parameter(
        "cycles by which a neighbour along a row takes longer in pieces of rows that are too short to put it "
        "together from vectors in registers: it is loaded, mostly from two lines",
        estimate=(0.6, 1.0, 1.6),
        note="pieces of 64 cells of five programs on an Intel Xeon with AVX-512 take 1.4 to 4.6 cycles per vector "
        "longer",
    )
    chain_cycles: Quantity = cpu_parameter(
        "cycles from an operation of a recurrence to one that needs its result",
        estimate=(2.0, 2.5, 4.0),
        note="3 to 4 on processors since 2015, which run above their nominal clocks: 2.1 to 2.4 of these on a Zen 4",
    )
    chain_store_cycles: Quantity = cpu_parameter(
        "cycles from the store of a recurrence's value to what its load gives",
        estimate=(4.0, 6.0, 10.0),
        note="5 to 8 on processors since 2015; 6 of the nominal clock on a Zen 4",
    )
    transpose_in_operations: Quantity = cpu_parameter(
        "operations that transposing a vector on its way into a streaming tile takes as long as",
        estimate=(6.0, 12.0, 24.0),
        note="fitted to streaming tiles on a Zen 4",
    )
    transpose_out_operations: Quantity = cpu_parameter(
        "the same on its way out", estimate=(10.0, 20.0, 40.0), note="fitted to streaming tiles on a Zen 4"
    )
    copy_operations: Quantity = cpu_parameter(
        "the same of a vector that is copied as it is",
        estimate=(1.0, 3.0, 6.0),
        note="fitted to streaming tiles on a Zen 4",
    )
    strategy_margin: Quantity = cpu_parameter(
        "model-uncertainty margin of skewed and diamond tiles: what they must win by",
        estimate=(1.1, 1.25, 1.5),
        note="the standard deviation of log prediction over measurement in sweeps on a Zen 4; of others 0.1 to 0.2",
    )
    uncalibrated_margin: Quantity = cpu_parameter(
        "model-uncertainty margin of all time tiles on a CPU that nobody has calibrated: what they must win by",
        estimate=(1.0, 1.18, 1.4),
        note="over 35 short runs on a Zen 3 guesses promised 1.15 times what was measured, with a standard deviation "
        "of 1.2",
    )
    diagonal_row_starts: Quantity = cpu_parameter(
        "starts of a row that an anti-diagonal of a table's tile takes as long as: its cells, what comes from above "
        "and from the left, and what goes down and to the right",
        estimate=(4.0, 5.0, 7.0),
        note="all of them took 22 to 28 ns on a Zen 3, one start being estimated to take 4.1",
    )
    alignment_row_starts: Quantity = cpu_parameter(
        "starts of a row that a row of an alignment's tile takes as long as, besides its vectors",
        estimate=(4.0, 5.0, 7.0),
        note="a row took 22 to 24 ns on a Zen 3, where one start is estimated to take 4.1",
    )
    alignment_widened_fraction: Quantity = cpu_parameter(
        "fraction of a tile by which a column of an alignment's tiles takes longer where scores leave 8 bits",
        estimate=(0.0, 0.25, 0.5),
        note="a tile that is half done on 8 bits is computed again on 16, whose vectors hold half as many",
        between=_FRACTION,
    )
    alignment_traced_cycles: Quantity = cpu_parameter(
        "cycles of a cell of an alignment that is computed again to be traced; each waits for the one before",
        estimate=(10.0, 13.0, 16.0),
        note="5.0 to 5.6 ns on a Zen 3 of 2.45 GHz",
    )
    alignment_visit_seconds: Quantity = cpu_parameter(
        "a call for a tile of an alignment that is computed again, with its arrays", "s", estimate=(1e-5, 2e-5, 4e-5)
    )
    row_pass_cycles: Quantity = cpu_parameter(
        "cycles of entry and exit of a pass of a fused pipeline over a row", estimate=(10.0, 30.0, 60.0)
    )
    row_pointer_cycles: Quantity = cpu_parameter(
        "cycles in which a pass of a fused pipeline finds the place of one row in its ring", estimate=(1.0, 2.0, 6.0)
    )
    halo_bandwidth: Quantity = cpu_parameter(
        "bytes of a periodic grid's halo that are copied in a second, in short pieces of rows",
        "B/s",
        estimate=(3e9, 7e9, 2e10),
        note="with the halo's seconds a block of j2d5pt at 1024 x 1024 costs 0.11 ms, of fdtd2d there 0.3 and of "
        "j3d7pt at 128^3 0.4; on a Zen 4 it was 0.12, 0.29 and 0.49",
        positive=True,
    )
    block_call_seconds: Quantity = parameter(
        "call of one more block of steps on a periodic grid",
        "s",
        estimate=(2e-6, 1e-5, 5e-5),
        note="with halo_bandwidth",
    )
    halo_seconds_1d: Quantity = parameter(
        "what the halo of a version costs besides its bytes: bookkeeping, and copies of rows apart; one dimension",
        "s",
        estimate=(2e-6, 1e-5, 3e-5),
        note="with halo_bandwidth",
    )
    halo_seconds_2d: Quantity = parameter(
        "the same, two dimensions", "s", estimate=(1e-5, 4e-5, 0.0001), note="with halo_bandwidth"
    )
    halo_seconds_3d: Quantity = parameter(
        "the same, three dimensions", "s", estimate=(1e-5, 4e-5, 0.0001), note="with halo_bandwidth"
    )
    disk_read_bandwidth: Quantity = cpu_parameter(
        "bytes of large files that are read in a second, past the page cache",
        "B/s",
        estimate=(1e8, 1e9, 7e9),
        note="between a disk of a virtual machine and NVMe; `calibrate --disk FOLDER` measures it",
        positive=True,
    )
    disk_write_bandwidth: Quantity = cpu_parameter(
        "bytes of large files that are written in a second, until they are on the disk",
        "B/s",
        estimate=(5e7, 5e8, 5e9),
        note="between a disk of a virtual machine and NVMe; `calibrate --disk FOLDER` measures it",
        positive=True,
    )
    network_latency: Quantity = cpu_parameter(
        "time of an empty message between two ranks of MPI (alpha, or L + 2o of LogP)",
        "s",
        estimate=(3e-7, 2e-6, 5e-5),
        note="between shared memory and Ethernet; `calibrate --network` measures it under mpiexec",
    )
    network_bandwidth: Quantity = cpu_parameter(
        "bytes a second of a large message between two ranks of MPI (1/beta, or 1/G of LogGP)",
        "B/s",
        estimate=(1e9, 1e10, 5e10),
        note="between Ethernet and the networks of supercomputers; `calibrate --network` measures it under mpiexec",
        positive=True,
    )
    periodic_threshold_1d: Quantity = parameter(
        "fraction of the time of sweeps that blocks of steps on a periodic grid must stay below, since between two "
        "blocks the threads wait for one of them; one dimension",
        estimate=(0.85, 0.97, 1.0),
        note="in 1D and 3D seven programs that promised 0.85 to 0.98 took 0.63 to 1.14 on a Zen 4, 0.70 in the median",
        between=_FRACTION,
    )
    periodic_threshold_2d: Quantity = parameter(
        "the same, two dimensions",
        estimate=(0.8, 0.88, 1.0),
        note="five programs at 1024 x 1024 that promised 0.89 to 0.97 took 1.06 to 1.2 times as long as sweeps on a "
        "Zen 4",
        between=_FRACTION,
    )
    periodic_threshold_3d: Quantity = parameter(
        "the same, three dimensions",
        estimate=(0.85, 0.97, 1.0),
        note="in 1D and 3D seven programs that promised 0.85 to 0.98 took 0.63 to 1.14 on a Zen 4, 0.70 in the median",
        between=_FRACTION,
    )
    block_reserve_bytes: Quantity = gpu_parameter(
        "shared memory that a block takes besides its own",
        "B",
        estimate=(0.0, 1024.0, 1024.0),
        note="CUDA C++ programming guide, compute capability 8.0 and above; older ones reserve none",
        between=_CACHE,
    )
    host_bandwidth: Quantity = gpu_parameter(
        "bytes that are copied between the host's memory and the device's in a second, one way",
        "B/s",
        estimate=(3e9, 1.2e10, 6e10),
        note="16 lanes of PCI Express 2.0 to 5.0, pinned memory; pageable memory is slower",
        positive=True,
    )
    integer_cycles: Quantity = gpu_parameter(
        "cycles for which an integer instruction or a multiplication of integers occupies its pipe of a scheduler",
        estimate=(1.0, 2.0, 2.0),
        note="half the rate of float32 on compute capability 7.0 to 9.0 (CUDA C++ programming guide, throughput)",
    )
    control_cycles: Quantity = gpu_parameter("the same of a branch", estimate=(1.0, 2.0, 4.0))
    special_pipe_cycles: Quantity = gpu_parameter(
        "the same of a function, a conversion, or the reading of a special register", estimate=(2.0, 4.0, 8.0)
    )
    taken_branch_cycles: Quantity = gpu_parameter(
        "cycles by which a warp's next instruction is late after a branch that is taken", estimate=(0.0, 8.0, 16.0)
    )
    integer_latency: Quantity = gpu_parameter(
        "cycles from an integer instruction to one that waits for its result",
        estimate=(4.0, 6.0, 6.0),
        note="Jia et al. 2018, table 4.1, of Volta",
    )
    double_latency: Quantity = gpu_parameter(
        "the same of a float64 instruction", estimate=(8.0, 8.0, 16.0), note="Jia et al. 2018, table 4.1, of Volta"
    )
    load_latency: Quantity = gpu_parameter(
        "the same of a load from shared memory without conflicts",
        estimate=(19.0, 29.0, 33.0),
        note="measured on Hopper by others; 19 on Volta (Jia et al. 2018, table 3.1)",
    )
    fetch_latency: Quantity = gpu_parameter(
        "the same of a load from DRAM", estimate=(400.0, 600.0, 900.0), note="an estimate under load"
    )
    meeting_latency: Quantity = gpu_parameter(
        "cycles from the last warp's arrival at a block's barrier until all go on", estimate=(15.0, 25.0, 50.0)
    )
    special_latency: Quantity = gpu_parameter(
        "cycles from a shuffle, a function or the reading of a special register to its result",
        estimate=(16.0, 24.0, 40.0),
        note="an estimate; a shuffle takes 22 on Volta",
    )
    # coefficients of the area model by name, see :data:`AREA_PARAMETERS`; empty where nobody calibrated it
    area: tuple[tuple[str, Quantity], ...] = ()
    # C_iter per program of the catalogue: seconds of one iteration of its loop body on one vector unit, float32
    c_iter: tuple[tuple[str, Quantity], ...] = ()

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
        """Return a parameter that depends on the dimensions: ``loop_cycles`` and 2 are ``loop_cycles_2d``."""
        # Four dimensions have those of three: a row's loop is the same, and loops over planes and volumes are short
        # work.
        quantity: Quantity = getattr(self, f"{name}_{min(rank, 3)}d")
        return quantity

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


PARAMETERS: dict[str, Parameter] = {
    each.name: each.metadata["parameter"] for each in dataclasses.fields(Machine) if "parameter" in each.metadata
}
"""Every parameter of a machine by name, as :class:`Machine` declares it: the schema of machine files."""

AREA_PARAMETERS: dict[str, Parameter] = {
    "vector_unit": Parameter(meaning="core logic of one vector unit (beta_VU)", unit="mm^2"),
    "register_kb": Parameter(meaning="register file, per kB and vector unit (beta_R)", unit="mm^2/kB"),
    "register": Parameter(meaning="register file, overhead per vector unit (alpha_R)", unit="mm^2"),
    "shared_kb": Parameter(meaning="shared memory, per kB and SM (beta_M)", unit="mm^2/kB"),
    "shared": Parameter(meaning="shared memory, overhead per SM (alpha_M)", unit="mm^2"),
    "l1_kb": Parameter(meaning="L1 cache, per kB and pair of SMs (beta_L1)", unit="mm^2/kB"),
    "l1": Parameter(meaning="L1 cache, overhead per pair of SMs (alpha_L1)", unit="mm^2"),
    "l2_kb": Parameter(meaning="L2 cache, per kB (beta_L2)", unit="mm^2/kB"),
    "l2": Parameter(meaning="L2 cache, overhead per SM (alpha_L2)", unit="mm^2"),
    "overhead": Parameter(meaning="common overhead per SM (alpha_oh)", unit="mm^2"),
    "bandwidth": Parameter(
        meaning="memory interface, per GB/s beyond the machine's own bandwidth", unit="mm^2.s/GB", optional=True
    ),
    "issue": Parameter(meaning="width cost: schedulers per SM and multiple of its width", unit="mm^2", optional=True),
    "network": Parameter(
        meaning="width cost: operand network per vector unit and multiple of the SM's width", unit="mm^2", optional=True
    ),
}
"""The coefficients of the area model by name (thesis, C.4-C.6): the schema of a machine file's table ``[area]``."""


def with_threads(machine: Machine, threads: int | None) -> Machine:
    """Return a CPU of which so many cores take part, each with its share of the bandwidth; a GPU stays as it is."""
    if threads is None or machine.kind != "cpu" or threads == machine.sm_count.value:
        return machine
    count, bandwidth = machine.sm_count, machine.dram_bandwidth
    share = threads / count.value
    return dataclasses.replace(
        machine,
        sm_count=count.at(threads),
        dram_bandwidth=bandwidth.at(share * bandwidth.value),
    )
