"""The empirical coefficients of the cost models: what they are taken to be where a machine's file does not say.

Every one has the range in which it is plausible and what says so; a calibration or a machine's file overrules it.
"""

from typing import NamedTuple

KINDS = ("gpu", "cpu")
"""Kinds of machines."""


class Coefficient(NamedTuple):
    """An empirical coefficient."""

    meaning: str  # one line on what it is
    value: float  # its estimate
    between: tuple[float, float]  # the least and the greatest plausible value
    note: str  # what the estimate rests on
    unit: str = "1"  # ``1`` for a pure number
    kinds: tuple[str, ...] = ("cpu",)  # of the machines that have it


COEFFICIENTS: dict[str, Coefficient] = {
    "function_cycles": Coefficient(
        "cycles per exponential of one vector of float32; other functions go with it",
        10.0,
        (7.0, 160.0),
        "polynomials on a Zen 4, above the nominal clock; processors without fused multiplication call C's library",
    ),
    "outer_latency": Coefficient(
        "cycles that the first cells of a row wait for where they come from L3, before anything is fetched ahead",
        140.0,
        (42.0, 280.0),
        "fitted to sweeps of skewed tiles on a Zen 4; no micro-benchmark measures it",
    ),
    "cache_fraction": Coefficient(
        "usable fraction of a core's own cache, before data spill",
        0.75,
        (0.5, 1.0),
        "the rest goes to conflicts and to other data",
    ),
    "l3_tile_fraction": Coefficient(
        "usable fraction of a core's part of L3 for what a tile touches",
        0.5,
        (0.3, 0.8),
        "as much as the copies fill by which calibrations measure the bandwidth of L3",
    ),
    "l3_grid_fraction": Coefficient(
        "usable fraction of L3 for a whole grid",
        0.5,
        (0.3, 0.8),
        "as much as the copies fill by which calibrations measure the bandwidth of L3",
    ),
    "l3_reuse_fraction": Coefficient(
        "usable fraction of a core's part of L3 for the slabs of a tile or the grid of a sweep, between two uses",
        0.5,
        (0.3, 0.8),
        "sweeps of five Zen 4 hosts: no worst choice is worse than with 0.8, one is better; virtual machines share L3",
    ),
    "l2_ways": Coefficient(
        "lines of a set of L2", 8.0, (4.0, 20.0), "usual; it only changes how sharply a cache overflows"
    ),
    "l3_ways": Coefficient(
        "lines of a set of L3", 16.0, (8.0, 32.0), "usual; it only changes how sharply a cache overflows"
    ),
    "overlap_exponent": Coefficient(
        "exponent p of the p-norm with which arithmetic and transfers from L2 overlap",
        8.0,
        (4.0, 16.0),
        "streaming tiles on a Zen 4 are off by 3.5 % in the mean with 4, by 3.2 with 8, by 3.1 with 16",
    ),
    "bytes_per_fetch": Coefficient(
        "bytes that the bandwidths of memory and L3 count per byte fetched",
        1.5,
        (1.0, 1.5),
        "the copies that measure them write one of every two bytes back; 1 if writing back costs nothing",
    ),
    "l3_exposed_fraction": Coefficient(
        "exposed fraction of the time of transfers from L3: arithmetic does not hide it",
        0.3,
        (0.23, 0.47),
        "142 instances of streaming tiles of 16 programs on a Zen 4 say 0.28, those in 2D 0.23, those in 3D 0.47",
    ),
    "l3_exposed_fraction_boxes": Coefficient(
        "the same in the boxes of hexagonal and hybrid tiles, whose rows are shorter",
        0.6,
        (0.5, 0.9),
        "five programs at 1024 x 1024 on a Zen 4, in tiles as large as L2",
    ),
    "l3_overlap_exponent": Coefficient(
        "power of the fraction of the arithmetic's time in which transfers from L2 run, by which less of those from L3 "
        "is exposed, in 1D and 2D",
        2.0,
        (1.0, 4.0),
        "sweeps of ten programs on a Zen 4 prefer 2 to 1, 3 and 4 a little; refuted in 3D (docs/derivations/cpu.md)",
    ),
    "far_row_ratio": Coefficient(
        "time of rows of hexagonal and hybrid tiles in a grid in memory over one in L2",
        1.25,
        (1.15, 1.37),
        "five programs at 4096 x 4096 and three at 256^3 on a Zen 4; in a grid in L3 half as much more, 1.05 to 1.15",
    ),
    "inplace_cut_cycles": Coefficient(
        "cycles that the end of a piece of a row waits, where a tile cuts rows and a statement updates in place: "
        "vectors read what two others have just stored",
        36.0,
        (9.0, 45.0),
        "pieces of 128 cells on a Zen 4 wait 3 ns in small grids and 15 ns in large ones",
    ),
    "short_row_cycles": Coefficient(
        "cycles by which a neighbour along a row takes longer in pieces of rows that are too short to put it together "
        "from vectors in registers: it is loaded, mostly from two lines",
        1.0,
        (0.6, 1.6),
        "pieces of 64 cells of five programs on an Intel Xeon with AVX-512 take 1.4 to 4.6 cycles per vector longer",
    ),
    "chain_cycles": Coefficient(
        "cycles from an operation of a recurrence to one that needs its result",
        2.5,
        (2.0, 4.0),
        "3 to 4 on processors since 2015, which run above their nominal clocks: 2.1 to 2.4 of these on a Zen 4",
    ),
    "chain_store_cycles": Coefficient(
        "cycles from the store of a recurrence's value to what its load gives",
        6.0,
        (4.0, 10.0),
        "5 to 8 on processors since 2015; 6 of the nominal clock on a Zen 4",
    ),
    "transpose_in_operations": Coefficient(
        "operations that transposing a vector on its way into a streaming tile takes as long as",
        12.0,
        (6.0, 24.0),
        "fitted to streaming tiles on a Zen 4",
    ),
    "transpose_out_operations": Coefficient(
        "the same on its way out", 20.0, (10.0, 40.0), "fitted to streaming tiles on a Zen 4"
    ),
    "copy_operations": Coefficient(
        "the same of a vector that is copied as it is", 3.0, (1.0, 6.0), "fitted to streaming tiles on a Zen 4"
    ),
    "strategy_margin": Coefficient(
        "model-uncertainty margin of skewed, diamond and overlapped tiles: what they must win by",
        1.25,
        (1.1, 1.5),
        "the standard deviation of log prediction over measurement in sweeps on a Zen 4; of others 0.1 to 0.2",
    ),
    "uncalibrated_margin": Coefficient(
        "model-uncertainty margin of all time tiles on a CPU that nobody has calibrated: what they must win by",
        1.18,
        (1.0, 1.4),
        "over 35 short runs on a Zen 3 guesses promised 1.15 times what was measured, with a standard deviation of 1.2",
    ),
    "diagonal_row_starts": Coefficient(
        "starts of a row that an anti-diagonal of a table's tile takes as long as: its cells, what comes from above "
        "and from the left, and what goes down and to the right",
        5.0,
        (4.0, 7.0),
        "all of them took 22 to 28 ns on a Zen 3, one start being estimated to take 4.1",
    ),
    "alignment_row_starts": Coefficient(
        "starts of a row that a row of an alignment's tile takes as long as, besides its vectors",
        5.0,
        (4.0, 7.0),
        "a row took 22 to 24 ns on a Zen 3, where one start is estimated to take 4.1",
    ),
    "alignment_widened_fraction": Coefficient(
        "fraction of a tile by which a column of an alignment's tiles takes longer where scores leave 8 bits",
        0.25,
        (0.0, 0.5),
        "a tile that is half done on 8 bits is computed again on 16, whose vectors hold half as many",
    ),
    "alignment_traced_cycles": Coefficient(
        "cycles of a cell of an alignment that is computed again to be traced; each waits for the one before",
        13.0,
        (10.0, 16.0),
        "5.0 to 5.6 ns on a Zen 3 of 2.45 GHz",
    ),
    "alignment_visit_seconds": Coefficient(
        "a call for a tile of an alignment that is computed again, with its arrays",
        2e-5,
        (1e-5, 4e-5),
        "an estimate",
        unit="s",
    ),
    "row_pass_cycles": Coefficient(
        "cycles of entry and exit of a pass of a fused pipeline over a row", 30.0, (10.0, 60.0), "an estimate"
    ),
    "row_pointer_cycles": Coefficient(
        "cycles in which a pass of a fused pipeline finds the place of one row in its ring",
        2.0,
        (1.0, 6.0),
        "an estimate",
    ),
    "halo_bandwidth": Coefficient(
        "bytes of a periodic grid's halo that are copied in a second, in short pieces of rows",
        7e9,
        (3e9, 2e10),
        "with the halo's seconds a block of j2d5pt at 1024 x 1024 costs 0.11 ms, of fdtd2d there 0.3 and of j3d7pt at "
        "128^3 0.4; on a Zen 4 it was 0.12, 0.29 and 0.49",
        unit="B/s",
    ),
    "block_call_seconds": Coefficient(
        "call of one more block of steps on a periodic grid",
        1e-5,
        (2e-6, 5e-5),
        "with halo_bandwidth",
        unit="s",
        kinds=KINDS,
    ),
    "halo_seconds_1d": Coefficient(
        "what the halo of a version costs besides its bytes: bookkeeping, and copies of rows apart; one dimension",
        1e-5,
        (2e-6, 3e-5),
        "with halo_bandwidth",
        unit="s",
        kinds=KINDS,
    ),
    "halo_seconds_2d": Coefficient(
        "the same, two dimensions", 4e-5, (1e-5, 1e-4), "with halo_bandwidth", unit="s", kinds=KINDS
    ),
    "halo_seconds_3d": Coefficient(
        "the same, three dimensions", 4e-5, (1e-5, 1e-4), "with halo_bandwidth", unit="s", kinds=KINDS
    ),
    "disk_read_bandwidth": Coefficient(
        "bytes of large files that are read in a second, past the page cache",
        1e9,
        (1e8, 7e9),
        "between a disk of a virtual machine and NVMe; `calibrate --disk FOLDER` measures it",
        unit="B/s",
    ),
    "disk_write_bandwidth": Coefficient(
        "bytes of large files that are written in a second, until they are on the disk",
        5e8,
        (5e7, 5e9),
        "between a disk of a virtual machine and NVMe; `calibrate --disk FOLDER` measures it",
        unit="B/s",
    ),
    "network_latency": Coefficient(
        "time of an empty message between two ranks of MPI (alpha, or L + 2o of LogP)",
        2e-6,
        (3e-7, 5e-5),
        "between shared memory and Ethernet; `calibrate --network` measures it under mpiexec",
        unit="s",
    ),
    "network_bandwidth": Coefficient(
        "bytes a second of a large message between two ranks of MPI (1/beta, or 1/G of LogGP)",
        1e10,
        (1e9, 5e10),
        "between Ethernet and the networks of supercomputers; `calibrate --network` measures it under mpiexec",
        unit="B/s",
    ),
    "periodic_threshold_1d": Coefficient(
        "fraction of the time of sweeps that blocks of steps on a periodic grid must stay below, since between two "
        "blocks the threads wait for one of them; one dimension",
        0.97,
        (0.85, 1.0),
        "in 1D and 3D seven programs that promised 0.85 to 0.98 took 0.63 to 1.14 on a Zen 4, 0.70 in the median",
        kinds=KINDS,
    ),
    "periodic_threshold_2d": Coefficient(
        "the same, two dimensions",
        0.88,
        (0.8, 1.0),
        "five programs at 1024 x 1024 that promised 0.89 to 0.97 took 1.06 to 1.2 times as long as sweeps on a Zen 4",
        kinds=KINDS,
    ),
    "periodic_threshold_3d": Coefficient(
        "the same, three dimensions",
        0.97,
        (0.85, 1.0),
        "in 1D and 3D seven programs that promised 0.85 to 0.98 took 0.63 to 1.14 on a Zen 4, 0.70 in the median",
        kinds=KINDS,
    ),
    "block_reserve_bytes": Coefficient(
        "shared memory that a block takes besides its own",
        1024.0,
        (0.0, 1024.0),
        "CUDA C++ programming guide, compute capability 8.0 and above; older ones reserve none",
        unit="B",
        kinds=("gpu",),
    ),
    "host_bandwidth": Coefficient(
        "bytes that are copied between the host's memory and the device's in a second, one way",
        1.2e10,
        (3e9, 6e10),
        "16 lanes of PCI Express 2.0 to 5.0, pinned memory; pageable memory is slower",
        unit="B/s",
        kinds=("gpu",),
    ),
    "integer_cycles": Coefficient(
        "cycles for which an integer instruction or a multiplication of integers occupies its pipe of a scheduler",
        2.0,
        (1.0, 2.0),
        "half the rate of float32 on compute capability 7.0 to 9.0 (CUDA C++ programming guide, throughput)",
        kinds=("gpu",),
    ),
    "control_cycles": Coefficient("the same of a branch", 2.0, (1.0, 4.0), "an estimate", kinds=("gpu",)),
    "special_pipe_cycles": Coefficient(
        "the same of a function, a conversion, or the reading of a special register",
        4.0,
        (2.0, 8.0),
        "an estimate",
        kinds=("gpu",),
    ),
    "taken_branch_cycles": Coefficient(
        "cycles by which a warp's next instruction is late after a branch that is taken",
        8.0,
        (0.0, 16.0),
        "an estimate",
        kinds=("gpu",),
    ),
    "integer_latency": Coefficient(
        "cycles from an integer instruction to one that waits for its result",
        6.0,
        (4.0, 6.0),
        "Jia et al. 2018, table 4.1, of Volta",
        kinds=("gpu",),
    ),
    "double_latency": Coefficient(
        "the same of a float64 instruction", 8.0, (8.0, 16.0), "Jia et al. 2018, table 4.1, of Volta", kinds=("gpu",)
    ),
    "load_latency": Coefficient(
        "the same of a load from shared memory without conflicts",
        29.0,
        (19.0, 33.0),
        "measured on Hopper by others; 19 on Volta (Jia et al. 2018, table 3.1)",
        kinds=("gpu",),
    ),
    "fetch_latency": Coefficient(
        "the same of a load from DRAM", 600.0, (400.0, 900.0), "an estimate under load", kinds=("gpu",)
    ),
    "meeting_latency": Coefficient(
        "cycles from the last warp's arrival at a block's barrier until all go on",
        25.0,
        (15.0, 50.0),
        "an estimate",
        kinds=("gpu",),
    ),
    "special_latency": Coefficient(
        "cycles from a shuffle, a function or the reading of a special register to its result",
        24.0,
        (16.0, 40.0),
        "an estimate; a shuffle takes 22 on Volta",
        kinds=("gpu",),
    ),
}
"""Every coefficient by name."""
