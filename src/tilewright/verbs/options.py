"""The options of verbs: one record each, whose fields are the verb's keywords, with what commands say of them.

What a command alone is asked (files that it writes, figures) is a record beside the command. Nothing that takes long
to load is imported, since commands are made from these records before anybody has asked for one.
"""

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import UsageError
from tilewright.base.options import Count, Options, Refusal, option
from tilewright.base.units import parse_seconds, parse_shape

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tilewright.machines.machine import Machine
    from tilewright.machines.networks import Network
    from tilewright.programs.stencil.boundaries import BoundarySpec
    from tilewright.programs.stencil.points import Points, SourceList
    from tilewright.programs.stencil.program import Program
    from tilewright.runtime.simulation import Callback
    from tilewright.schedules.tiling import Tiling
    from tilewright.workload import Request

    MachineLike = Machine | str | Path

BOUNDARY = (
    "fixed, constant:VALUE, nearest, reflect, mirror or wrap (periodic); per axis 'wrap,fixed'; "
    "per side 'nearest/fixed'; per field 'u=wrap;v=fixed'."
)
DTYPE = "Element type, as NumPy names it: float32, int16, …"
_TILING = "A tiling such as hybrid:t=16,s=8x64 or none; the model's choice by default."
MACHINE = "A machine of the catalogue, host, or a machine file."
_STEPS = "Number of time steps; a recurrence's table is filled once."
_SCALAR = "Value of a scalar; repeat it for every one."
_METRIC = "time, traffic, energy, power, edp or ed2p"
_SCOPE = "Who shares the bandwidth: device (as printed) or per_sm."
_RUN, _PREDICT, _ENERGY, _WHATIF, _ANNOTATE = (
    f"tilewright {name} --help says what it takes" for name in ("run", "predict", "energy", "whatif", "annotate")
)


def boundary_of(text: str) -> "BoundarySpec":
    """Read a boundary as commands have it."""
    from tilewright.programs.stencil.boundaries import parse_boundary

    return text if text == "fixed" else parse_boundary(text)


def _numbers(
    text: str, expected: str = "numbers are separated by commas, such as 0.5,1", hint: str = _ENERGY
) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{expected}, got {text!r}", hint) from None


def _factors(text: str) -> tuple[float, ...]:
    return _numbers(text, "factors are numbers such as 0.5,1,2", _WHATIF) if text else ()


def _span(text: str) -> tuple[float, float]:
    start, _, end = text.partition(":")
    return _numbers(start)[0], _numbers(end)[0]


def _sizes(texts: Sequence[str]) -> dict[str, int]:
    sizes = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not value.strip().isdecimal() or len(value) > 18:
            raise UsageError(f"Invalid value for --set: {text!r} is not NAME=VALUE with a whole number", _ANNOTATE)
        sizes[name.strip()] = int(value)
    return sizes


class RunOptions(Options):
    """How :func:`tilewright.run` computes."""

    steps: int = option(..., _STEPS, kind=Count, metavar="T", offered=None)
    boundary: "BoundarySpec" = option("fixed", BOUNDARY, reader=boundary_of)
    backend: str = option("auto", "auto, c, numpy, opencl or cuda; opencl:NAME takes a certain device.")
    tiling: "Tiling | str | None" = option(None, _TILING, "--tile", "--tiling", metavar="TILE")
    dtype: Any = option(None, "Element type; that of --input by default, else float32.")
    threads: int | None = option(None, "Threads; all by default.", metavar="N")
    strict: bool = option(False, "Keep the order of operations exactly: bit-equal for + - * / and sqrt.", rare=True)
    out: Any = None  # an array or a tuple of them, a file, or a series of states that the result is written into
    every: int | None = option(
        None, "Look every K steps; a value that is not finite ends the run.", metavar="K", least=1, rare=True
    )
    callback: "Callback | None" = None  # called at every look; True ends the run
    until: float | None = option(
        None, "End when no value changes by more than this per step.", metavar="CHANGE", rare=True
    )
    # truth values of the grid's shape, of a command the file that holds them
    where: Any = option(
        None, "A .npy file or picture: cells where it is 0 keep their value.", kind=Path, metavar="FILE", rare=True
    )
    # what is added to new values in every step, of a command the texts
    sources: "Mapping[str, SourceList] | SourceList | None" = option(
        None,
        "Add a value to a cell in every step, such as 8,8=1.0.",
        "--source",
        kind=list[str],
        metavar="CELL=VALUE",
        rare=True,
    )
    receivers: "Mapping[str, Points] | Points | None" = None  # what is recorded
    levels: bool = False  # return every time level that a next run needs
    record: bool = False  # return a Run
    memory: int | str | None = None  # bytes, for a run out of core
    resume: bool = option(False, "With --checkpoint: go on from there, on any number of ranks.", rare=True)
    checkpoint: str | os.PathLike[str] | None = option(
        None, "With --distributed: keep the state, every --every steps.", kind=Path, metavar="FOLDER", rare=True
    )
    axes: Sequence[int] | None = None  # those of the arrays that are the program's; the others number grids


class RunFiles(Options):
    """What a run on the command line reads, writes and checks."""

    shape: str | None = option(None, "Extents, outermost first; those of --input by default.", metavar="AxB")
    inputs: tuple[Path, ...] = option(
        (),
        "A .npy file or a picture; repeat it for every field. A .npz file holds fields and levels by name "
        "(u, u_prev), and so does a .zarr or .h5 file that a run wrote. "
        "A colour picture is computed by channel. A recurrence takes FASTA files.",
        "--input",
        metavar="FILE",
    )
    outputs: tuple[Path, ...] = option(
        (),
        "A .npy file or a picture; repeat it for every updated field. A .npz, .zarr or .h5 file holds all "
        "that a run needs to go on from it.",
        "--output",
        metavar="FILE",
    )
    scalars: tuple[str, ...] = option(
        (), f"{_SCALAR} smith_waterman: matrix, match, mismatch, gap_open, gap_extend.", "--set", metavar="NAME=VALUE"
    )
    snapshots: Path | None = option(
        None,
        "Write u-000100.npy beside u.npy, and so on, every K steps; .npz files can be gone on from. A .zarr "
        "or .h5 file gets all of them, .vti files are for ParaView.",
        metavar="FILE",
        rare=True,
    )
    seed: int = option(0, "Seed of the random data that replaces --input.", least=0, rare=True)
    check: bool = option(False, "Compare every cell with the float64 NumPy reference; exit 1 beyond the bound.")
    distributed: bool = option(False, "Under mpiexec: on all ranks, each with a block of the grid.", rare=True)
    topology: str | None = option(None, "Ranks per axis, -1 where MPI decides.", metavar="AxB", rare=True)

    @property
    def written(self) -> tuple[Path, ...]:
        """All files that are written."""
        return self.outputs if self.snapshots is None else (*self.outputs, self.snapshots)


class ModelOptions(Options):
    """What a model is asked of: a problem of some size, on a machine."""

    shape: tuple[int, ...] = option(
        ..., "Extents, outermost first, such as 4096x4096.", metavar="AxB", reader=parse_shape
    )
    steps: int = option(..., _STEPS, kind=Count, offered=None, metavar="T")
    machine: "MachineLike" = option("host", MACHINE, metavar="M")
    model: str = option("exact", "exact or published.")


class ReuseOptions(ModelOptions):
    """How :func:`tilewright.verbs.whatif.reuse` compares tilings on other programs."""

    metric: str = option("time", f"{_METRIC}.")
    scope: str | None = option(None, _SCOPE, rare=True)


class WhatIfOptions(ReuseOptions):
    """How :func:`tilewright.whatif` varies a problem or a machine."""

    steps: int = option(1, _STEPS, kind=Count, offered=None, metavar="T")
    vary: str = option(..., "size, steps, sms, lanes, shared, bandwidth, launch or clock.", offered="size")
    factors: Sequence[float] = option(
        (), "By what it is multiplied, such as 0.5,1,2.", offered="", metavar="F,F", reader=_factors, shown=False
    )
    dtype: str = option("float32", DTYPE)


class ProblemOptions(ModelOptions):
    """What a model is asked of, with what decides its kernel."""

    dtype: str = option("float32", DTYPE)
    boundary: "BoundarySpec" = option("fixed", BOUNDARY, reader=boundary_of)


class TuneOptions(ProblemOptions):
    """How :func:`tilewright.tune` searches."""

    backend: str = option("auto", "auto or c; --effort none plans for opencl and cuda as well.")
    effort: str = option("quick", "none runs nothing; quick, full and exhaustive try more and more.")
    seconds: float | None = option(
        None, "Begin nothing new after this time, such as 30 or 5min.", metavar="N", reader=parse_seconds
    )
    candidates: int | None = option(None, "Try at most so many candidates.", metavar="N", least=1)
    machine: "MachineLike" = option("host", "Whose model ranks; any machine with --effort none.", metavar="M")
    threads: int | None = option(None, "Threads; all by default.", metavar="N")
    metric: str = option("time", f"What is to be small: {_METRIC}.", rare=True)
    strict: bool = option(False, "Keep the order of operations exactly.", rare=True)
    model: str = option("exact", "exact or published.", rare=True)
    resume: bool = option(
        True,
        "Measure anew what an earlier tuning has measured.",
        "--fresh",
        offered=False,
        kind=bool,
        rare=True,
        reader=operator.not_,
    )
    progress: bool | None = None  # show a bar; by default where standard error is a terminal
    executor: "Executor | None" = None  # whose workers compile and measure


class CostOptions(ProblemOptions):
    """What :func:`tilewright.predict` and those that ask as it does are given."""

    steps: int = option(1, _STEPS, kind=Count, offered=None, metavar="T")
    model: str = option("exact", "exact, or published: the papers' equations as printed.")
    scope: str | None = None  # who shares the bandwidth: ``device`` or ``per_sm``

    def request(self) -> "Request":
        """Return what a workload is asked."""
        from tilewright.workload import Request

        return Request(**{name: getattr(self, name) for name in Request.__dataclass_fields__})


class PredictOptions(CostOptions):
    """What :func:`tilewright.predict` predicts."""

    tiling: "Tiling | str | None" = option(None, _TILING, "--tile", "--tiling", metavar="TILE")
    ranks: int | None = option(None, "Over N ranks of MPI, each a machine of its own.", metavar="N", least=1, rare=True)
    network: "str | Network | None" = option(
        None, "With --ranks: what connects them: slingshot, hdr, …", metavar="NAME", rare=True
    )
    topology: Sequence[int] | None = option(
        None, "With --ranks: ranks per axis.", metavar="AxB", reader=parse_shape, rare=True
    )


class SelectOptions(CostOptions):
    """What :func:`tilewright.select` keeps."""

    top: int | None = option(None, "Rank the best N tilings.", metavar="N", least=1)
    within: float | None = option(
        0.10, "Rank the tilings within a share of the best: 0.1 for 10 %.", offered=None, metavar="SHARE"
    )
    metric: str = option("time", f"What to rank by: {_METRIC}.")
    threads: bool = False  # means nothing any more: a GPU's thread blocks are chosen with the tiles


class SupertuneOptions(ProblemOptions):
    """How :func:`tilewright.supertune` compares strategies."""

    scope: str | None = None  # who shares the bandwidth
    metric: str = "time"  # what is to be small


class MeteredOptions(CostOptions):
    """What :func:`tilewright.energy` and those beside it share, as their command says it."""

    shape: tuple[int, ...] = option(..., "Extents, such as 4096x4096.", offered=None, metavar="AxB", reader=parse_shape)
    steps: int = option(1, "Number of time steps.", kind=Count, metavar="T")
    machine: "MachineLike" = option("host", "One of the catalogue, host, or a file.", offered="k20c", metavar="M")
    model: str = option("exact", "exact, or published: (B.3) to (B.6) for jacobi2d.")
    scope: str | None = option(None, _SCOPE, rare=True)


class EnergyOptions(MeteredOptions):
    """What :func:`tilewright.energy` predicts."""

    tiling: "Tiling | str | None" = option(None, _TILING, "--tile", "--tiling", metavar="TILE")
    seconds: float | None = option(None, "A measured time in place of the predicted one.")


class CompareOptions(MeteredOptions):
    """How :func:`tilewright.verbs.energy.energy.compare` chooses by energy."""

    steps: int = option(..., "Number of time steps.", kind=Count, offered=1, metavar="T")
    cap: float | None = option(None, "Also choose under a power cap.", metavar="W")
    clocks: Sequence[float] = option(
        (1.0,), "Clocks to choose from, over the machine's own.", offered="1", metavar="F,F", reader=_numbers
    )
    coarse: bool = False  # whether a coarse grid of tiles does


class MeterOptions(Options):
    """What runs under a meter, as :func:`tilewright.verbs.energy.runs.meter_run` takes it."""

    meter: str | None = option(
        "rapl", "Run it and meter it: rapl, nvml, or a recorded trace.csv with --between.", offered=None, metavar="M"
    )
    between: tuple[float, float] | None = option(
        None, "Seconds of the recorded trace: start and end.", metavar="A:B", reader=_span, rare=True
    )
    backend: str = option("c", "What runs under the meter: c, opencl or cuda.", rare=True)


class FitOptions(Options):
    """How :func:`tilewright.verbs.energy.runs.fit_energy` fits."""

    train: float = option(0.1, "Share of the runs to fit, at random.", rare=True)
    seed: int = option(0, "Of that choice.", rare=True)


class CalibrateOptions(Options):
    """How :func:`tilewright.calibrate` measures."""

    backend: str = option("auto", "auto or c; opencl or cuda for a GPU.")
    output: str | Path | None = option(
        None, "Write this .toml file in place of the user's store.", "--output", "-o", metavar="FILE"
    )
    quick: bool = option(False, "Fewer samples and instances.")
    thorough: bool = option(False, "More samples and instances: three minutes, not one and a half, on two cores.")
    seconds: float | None = option(
        None,
        "Time for measuring C_iter, on a GPU; 150 by default, less with --quick and on a processor's OpenCL.",
        metavar="N",
    )
    note: Callable[[str], None] | None = None  # told of what is measured
    progress: bool | None = None  # show a bar; by default where standard error is a terminal


class ValidateOptions(Options):
    """How :func:`tilewright.validate` scores predictions."""

    model: str = option("exact", "exact, or published: the papers' equations as printed.")
    points: int = option(
        10, "Calibration points per stencil, never scored.", metavar="N", least=0, most=1000, rare=True
    )
    seed: int = option(0, "Seed of the choice of those points.", least=0, rare=True)
    off: Sequence[str] = option((), "Switch a term of the exact model off.", metavar="TERM", rare=True)
    held_out: bool = option(False, "Fit every stencil's constants on the other stencils only.", rare=True)


class MeasureOptions(Options):
    """What :func:`tilewright.verbs.validate.validate_here` measures."""

    shape: tuple[int, ...] = option(..., "Extents, outermost first.", offered=None, metavar="AxB", reader=parse_shape)
    steps: int = option(..., "Number of time steps.", kind=Count, offered=None, metavar="T")
    backend: str = option("auto", "What to measure with: auto or c.")
    candidates: int = option(40, "Tilings to measure with --program.", metavar="N", least=2, rare=True)
    executor: "Executor | None" = None  # whose workers measure


class FileDefaults(Options):
    """What is said of results beside what their files hold; None where a file says it, or its default holds."""

    program: "Program | None" = option(
        None, "Report this program by the models alone, or what a file is of.", kind=str, metavar="P"
    )
    # of a tuning log, which says neither; the steps of one sample
    shape: tuple[int, ...] | None = option(None, "Extents, outermost first.", metavar="AxB", reader=parse_shape)
    steps: int | None = option(None, "Number of time steps.", kind=Count, metavar="T")
    machine: "MachineLike | None" = option(None, MACHINE, metavar="M")
    dtype: str = option("float32", DTYPE)
    boundary: "BoundarySpec" = option("fixed", BOUNDARY, reader=boundary_of)


class FuseOptions(Options):
    """How :func:`tilewright.fuse` ranks fusions."""

    shape: Sequence[int] = option(
        ..., "Extents, outermost first, such as 4096x4096.", offered="4096x4096", metavar="AxB", reader=parse_shape
    )
    machine: "MachineLike" = option("host", "A machine, see `tilewright machines`.", metavar="M")
    top: int = option(1, "How many fusions to list.", metavar="N")
    fusion: str | None = option(None, "One fusion to look at: '(S1, S2) | S3', full or none.", metavar="F")
    dtype: str | None = option(None, "Element type of the inputs; float32 by default, uint8 for blend.")
    boundary: "BoundarySpec | None" = option(
        None, "What lies outside the grids: reflect (default), nearest, mirror, wrap or constant:VALUE."
    )
    model: str = option("exact", "exact, or published (the paper as printed).")
    exhaustive: bool = option(False, "Look beyond the vendor's guidelines for blocks of threads.", rare=True)


class ImageOptions(Options):
    """How a picture is processed."""

    sigma: float = option(1.0, "Standard deviation of the blur in cells, for blur and canny.")
    low: float = option(0.1, "Lower threshold of canny, of the picture's range (0 to 1).")
    high: float = option(0.2, "Upper threshold of canny.")
    boundary: str | None = option(
        None, "reflect (default), nearest, mirror, wrap or constant:VALUE; canny's default is scikit-image's."
    )
    threads: int | None = option(None, "Threads; all by default.", metavar="N")


class ChainOptions(Options):
    """How a matrix chain is planned."""

    memory: int = option(
        ...,
        "On-chip memory in words, that is matrix elements: 65536 are 512 KiB in float64.",
        metavar="WORDS",
        shown=False,
    )
    model: str = option("exact", "exact, published (the thesis as printed) or counts (integer formulas alone).")
    objective: str | None = option(None, "opcount (default), two-step, words, weighted, time or energy.", shown=False)
    weights: tuple[float, float] = option((1.0, 1.0), "Of multiply-adds and words, for the objective 'weighted'.")
    machine: "MachineLike | None" = option(
        None, "Also report seconds and joules on this machine, such as k20c.", metavar="M"
    )
    itemsize: int = 4  # bytes of an element
    pareto: bool = option(False, "Also list every tree that no other beats in both costs.")
    operands: Sequence[int] | None = None  # which matrix each factor is, where some are the same
    transposed: Sequence[bool] | None = None  # which factors are read transposed


class AnnotateOptions(Options):
    """How :func:`tilewright.annotate` tunes a file."""

    out: str | Path | None = option(None, "Where the new file goes.", "--output", "-o", metavar="OUT", shown=False)
    backend: str = option("c", "c (with OpenMP), opencl, opencl:oclgrind or cuda.")
    seconds: float = option(60.0, "Time for the whole file.", metavar="N")
    runs: int | None = option(None, "Most variants per size of the input.", metavar="N", shown="the file's")
    search: str | None = option(
        None,
        "Exhaustive, Randomsearch, Randomlocal, Simplex, Annealing, Direct, Firefly or Model.",
        metavar="NAME",
        shown="the file's",
    )
    sizes: Mapping[str, int] | None = option(
        None,
        "An input parameter's value; may be repeated.",
        "--set",
        kind=list[str],
        metavar="NAME=VALUE",
        shown=False,
        reader=_sizes,
    )
    strict: bool = option(False, "Refuse transforms that a dependence forbids instead of leaving them out.")
    allow_compilers: Sequence[str] = option(
        (), "A further program that build commands may run.", "--allow-compiler", metavar="NAME", rare=True
    )
    log: str | Path | None = option(
        None, "Keeps every result; a cut search goes on from it.", metavar="FILE", rare=True
    )
    seed: int = option(0, "Of the inputs and the search.", metavar="N", rare=True)
    repeats: int | None = option(None, "Times that a variant is timed.", metavar="N", shown="the file's", rare=True)
    machine: "MachineLike | None" = option(
        None,
        "With --backend cuda: price variants for a GPU of the catalogue or a file, and run none.",
        metavar="M",
        shown="this machine's GPU, which runs them, or that of the build command",
        rare=True,
    )


class AreaOptions(Options):
    """How :func:`tilewright.workloads.codesign.area.area` models a die."""

    form: str = option("exact", "exact (C.6), or published: the truncated (C.7).", "--model")
    process: str = option("none", "Scaling to the machine's process: none, optical or density.")
    caches: bool = option(True, "Count the L1 and L2 caches.", "--caches/--no-caches")
    width_cost: bool = option(False, "Charge what grows with the width of an SM (our extension).")
    # per memory points of (kB, mm^2), of a command the file that holds them
    points: "Mapping[str, Sequence[tuple[float, float]]] | None" = option(
        None, "Calibrate memories from memory,kb,mm2 points.", kind=Path, metavar="FILE.csv"
    )


class ShotOptions(Options):
    """A shot through a velocity model in a file; the numbers are those of :func:`tilewright.waves.shot`."""

    spacing: str = option(..., "Cells' distance in m: 10, or 10,12.5.", metavar="H")
    source: str = option(..., "Place of the source in m, depth first.", metavar="Z,X")
    time: float = option(..., "Time to compute in seconds.", metavar="S")
    frequency: float = option(15.0, "Of the Ricker wavelet.", metavar="HZ")
    receivers: Path | None = option(None, "A .npy or text file of places in m, one receiver a row.", metavar="FILE")
    depth: float | None = option(
        None, "Receivers above every column of the model, so deep.", "--receiver-depth", metavar="M"
    )
    target: Path | None = option(None, "Where traces go: .npz, or .npy of the first.", "--output", "-o", metavar="FILE")
    density: Path | None = option(None, "A .npy file, kg/m^3.", metavar="FILE")
    shear: Path | None = option(None, "A .npy file of speeds of shear waves: elastic.", metavar="FILE")
    layer: int | None = option(None, "Cells of a sponge around: 20 by default, 0 for none.", metavar="N")
    cpml: int | None = option(None, "Cells of a convolutional PML around, in place of it.", metavar="N")
    absorb: str | None = option(
        None, "Layers per axis and side: free/cpml:20,sponge:30; or none.", metavar="SIDES", rare=True
    )
    space_order: int = option(8, "Order of the differences, 2 to 16.", rare=True)
    time_step: float | None = option(None, "Half of the longest stable one by default.", metavar="S", rare=True)
    interpolation: str = option("linear", "linear or sinc.", rare=True)
    every: int = option(1, "Record every so many steps.", metavar="N", rare=True)
    dtype: str = option("float32", "float32 or float64.")
    threads: int | None = option(None, "Threads; all by default.", metavar="N")


_UNWATCHED = Refusal(("every", "callback", "until", "where", "record"))
_NO_PASS = Refusal(("checkpoint",), hint="out of core, resume=True goes on from the last pass")
_NO_AXES = Refusal(("axes",), hint="give arrays in memory")
_NO_CHECKPOINT = Refusal(
    ("checkpoint",), "a checkpoint= is kept by runs on ranks", "give arrays of tilewright.distributed.Array"
)
_NO_THRESHOLDS = Refusal(("low", "high"), "{kind} has no thresholds: --low and --high are for canny")
_OF_MODELLED_ENERGY = ("seconds", "clocks", "model", "dtype", "boundary", "scope")
REFUSED: dict[str, tuple[Refusal, ...]] = {
    "a run in memory": (_NO_CHECKPOINT,),
    "a run on a device": (_NO_CHECKPOINT,),
    "a run that writes a series": (
        Refusal(("axes",), "a run over axes writes no series of states", "give out= an array"),
    ),
    "a run over axes": (_UNWATCHED, _NO_PASS, Refusal(("sources", "receivers"))),
    "a run out of core": (_UNWATCHED, _NO_PASS, _NO_AXES),
    "a run on distributed arrays": (
        Refusal(("callback", "until", "where", "record")),
        _NO_AXES,
        Refusal(("out", "memory")),
    ),
    "a run on Dask arrays": (
        _UNWATCHED,
        _NO_PASS,
        _NO_AXES,
        Refusal(("out",), "{kind} is lazy and takes no out", "store its result with to_zarr or da.store"),
        Refusal(
            ("receivers",),
            "{kind} takes no receivers, whose cells lie in several tasks",
            "run it in memory, out of core or on ranks",
        ),
    ),
    # of the command
    "--distributed": (
        Refusal(("check", "until", "where", "snapshots"), "{kind} does not go with {flag}", "run on one process"),
    ),
    "a run on one process": (
        Refusal(
            ("topology", "checkpoint", "resume"),
            "--topology, --checkpoint and --resume go with --distributed",
            _RUN,
        ),
    ),
    "a checked run": (Refusal(("until",), "--check computes all steps, so it does not go with --until"),),
    "a colour picture": (
        Refusal(("snapshots", "until"), "{kind} is computed by channel, so --snapshots and --until do not apply to it"),
    ),
    "image blur": (_NO_THRESHOLDS,),
    "image canny": (),
    "image sobel": (Refusal(("sigma",), "{kind} blurs nothing: --sigma is for blur and canny"), _NO_THRESHOLDS),
    "a chain by another objective": (
        Refusal(("weights",), "weights are for the objective 'weighted'", "add --objective weighted"),
    ),
    "--fusion": (Refusal(("top",), "{kind} names one fusion, so there is nothing to rank by --top"),),
    "a validation by logs": (
        Refusal(("candidates",), "--candidates are measured with --program, {kind} measures none"),
    ),
    "a validation by measuring": (
        Refusal(("points", "seed", "off", "held_out"), "{kind} fits nothing: {flag} is for logs", "give --log FILE"),
    ),
    "a validation of the published model": (
        Refusal(("off", "held_out"), "{flag} is for the exact model, the published one has no such terms"),
    ),
    "a page of files": (Refusal(("top",), "--top ranks the tilings of --program, files hold theirs"),),
    "--fit": (
        Refusal(
            ("tiling", "cap", "meter", "between", "append", "shape", "steps", *_OF_MODELLED_ENERGY),
            "{kind} takes metered runs from a file, so it does not go with {flag}",
            _ENERGY,
        ),
    ),
    "--tables": (
        Refusal(
            (
                *("workload", "metric", "caches", "machine", "energy", "model", "pitch", "single", "scope"),
                *("strategies", "blocks_per_sm", "thread_registers", "block_threads", "axis", "grid"),
            ),
            "{kind} weighs what is solved, so it does not go with {flag}",
            "leave --tables out to solve anew",
        ),
    ),
    "an energy without a fit": (
        Refusal(("train", "seed", "save"), "--train, --seed and --output go with --fit", _ENERGY),
    ),
    "an energy of one tiling": (
        Refusal(("cap",), "--tile names one tiling, so there is none to choose by --cap", _ENERGY),
    ),
    "--meter": (
        Refusal(
            ("cap", "machine", *_OF_MODELLED_ENERGY),
            "{kind} measures, so it does not go with {flag}",
            _ENERGY,
        ),
    ),
    "an energy that is not metered": (Refusal(("between", "append", "backend"), "{flag} goes with --meter", _ENERGY),),
    "a table": (
        Refusal(
            ("strict", "boundary"),
            "--strict and --boundary are for stencils; what lies outside a table is part of its recurrence",
        ),
        Refusal(
            ("every", "until", "where", "snapshots", "sources"),
            "{flag} is for stencils, which march in time; {kind} is filled once",
        ),
    ),
    "--tile": (
        Refusal(
            ("top", "within", "metric"),
            "{kind} names one tiling, so there is nothing to rank by --top, --within or --metric",
            _PREDICT,
        ),
    ),
    "--ranks": (
        Refusal(
            ("top", "within", "tiling", "metric", "explain", "export"),
            "{kind} goes without --top, --within, --tile, --metric, --explain and --export",
            _PREDICT,
        ),
    ),
    "a prediction of one machine": (
        Refusal(
            ("network", "topology", "scaling"),
            "--network, --topology and --scaling are of many ranks: say how many with --ranks",
            _PREDICT,
        ),
    ),
}
"""The options that do not go with each kind of run, checked in this order."""


def refuse(kind: str, *records: Options) -> None:
    """Refuse the options that do not go with a kind of run."""
    for refusal in REFUSED[kind]:
        refusal.check(kind, records)
