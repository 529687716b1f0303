"""Runs from files to files: data in, compute, check, data out; on the ranks of MPI every rank its own block."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.errors import UsageError, WrongResultError
from tilewright.base.paths import check_place
from tilewright.base.records import Record
from tilewright.base.units import format_bytes, format_seconds, format_shape, parse_shape
from tilewright.inputs import files as data
from tilewright.inputs.series import Recorder
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.report.progress import waiting
from tilewright.runtime.formats.files import check_output, is_archive, read_planes, write_planes
from tilewright.runtime.formats.pictures import depth_of, is_picture, picture_bits
from tilewright.runtime.formats.series import check_series, is_series
from tilewright.runtime.memory import Array, check_memory
from tilewright.runtime.samples import random_arrays
from tilewright.runtime.session import point_tables
from tilewright.verbs.options import RunFiles, RunOptions, refuse
from tilewright.verbs.running.grids.engine import computed
from tilewright.verbs.running.grids.memory import Levels, Memory
from tilewright.verbs.running.problem import CheckedProblem, warn_if_at_rest
from tilewright.verbs.running.record import Computed
from tilewright.verbs.running.run import run, target_here

if TYPE_CHECKING:
    from tilewright.distributed import rank_arrays

Note = Callable[[str], None]  # what says something beside the results
_LONG_CHECK = 2e8  # cell updates from which a check is announced
_REFERENCE_COPIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A result against the float64 reference."""

    max_error: float  # absolute, over all cells
    within: bool  # whether every cell is within its bound


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileRun(Computed):
    """What a run from files to files did."""

    KEYS = (
        "program=problem.program.name shape=problem.shape steps=steps_done steps_done dtype=problem.dtype backend "
        "tiling=tiling.__str__ threads planes seconds gcells_per_second *=checked"
    )

    planes: int  # how often it was computed: 3 for a colour picture, else 1
    comparison: Comparison | None = None  # with the reference, where it was asked for

    @property
    def gcells_per_second(self) -> float:
        """Cell updates per nanosecond."""
        return self.planes * self.problem.cells * self.steps_done / self.seconds / 1e9

    @property
    def checked(self) -> dict[str, Any]:
        """What the document says of the comparison."""
        check = self.comparison
        return {} if check is None else {"max_error": check.max_error, "checked": True, "within_bound": check.within}

    def __str__(self) -> str:
        if self.comparison is None:
            return self._said()
        verdict = "within" if self.comparison.within else "BEYOND"
        return f"{self._said()}\nevery cell checked: largest error {self.comparison.max_error:.3g}, {verdict} the bound"

    def raise_if_wrong(self) -> None:
        """Raise if the comparison failed."""
        if self.comparison is not None and not self.comparison.within:
            raise WrongResultError(
                f"the result differs from the float64 reference by up to {self.comparison.max_error:.3g}, "
                "more than rounding explains",
                "report it with the command line and the output of `tilewright doctor`",
            )


def run_files(program: Program, options: RunOptions, files: RunFiles, note: Note) -> FileRun:
    """Do one run and write its outputs."""
    if files.check:
        refuse("a checked run", options)
    target = target_here(options.backend, options.threads)
    _check_outputs(program, files, note)
    scalars = data.scalar_values(program, files.scalars)
    planes = data.planes(program, files.inputs, files.shape, options.dtype, files.seed)
    bits = max([8, *(picture_bits(path) for path in files.inputs if is_picture(path))])
    _note_depth(files, len(planes), bits, note)
    snapshots = _Looks(program, options, files, len(planes), bits)
    options = replace(
        options,
        callback=None if files.snapshots is None else snapshots.write,
        where=None if options.where is None else read_planes(options.where)[0],
        sources=read_sources(options.sources),
        levels=files.snapshots is not None and data.holds_state(files.snapshots),
    )
    deep = any(map(data.holds_state, files.outputs))
    engines = [_Plane(program, arrays, scalars, options, target, looks=snapshots, deep=deep) for arrays in planes]
    states = [computed(engine) for engine in engines]
    first, problem = engines[0], engines[0].problem
    results = [{field: levels[0] for field, levels in each.items()} for each in states]
    _write(problem, results, files.outputs, bits, note)
    for path in filter(data.holds_state, files.outputs):
        data.write_state(path, program, {**snapshots.constant, **states[0]}, first.done)
    return FileRun(
        planes=len(planes),
        seconds=sum(engine.seconds for engine in engines),
        steps_done=min(engine.done for engine in engines),
        comparison=_compare([engine.case for engine in engines], results, note) if files.check else None,
        **first.computed_by(),
    )


def read_sources(texts: Any) -> list[tuple[tuple[int, ...], float]] | None:  # noqa: ANN401
    """Read sources as they are written on the command line: a cell each, and what is added to it in every step."""
    sources = []
    for text in texts or ():
        cell, _, value = text.partition("=")
        try:
            sources.append((tuple(int(part) for part in cell.split(",")), float(value)))
        except ValueError:
            raise UsageError(
                f"a source is written CELL=VALUE, got {text!r}", "write it like --source 8,8=1.0"
            ) from None
    return sources or None


class _Plane(Memory):
    """A run on one plane, whose files say what a state lacks and whose results are looked at as they are written."""

    packed = False

    def __init__(self, *arguments: Any, looks: "_Looks", deep: bool) -> None:  # noqa: ANN401
        super().__init__(*arguments)
        self._looks, self._levels = looks, deep  # deep: whether all levels are written at the end

    def copies_levels(self) -> bool:
        return self._levels

    def results(self) -> Levels:
        return self.finish()

    def warn_if_at_rest(self) -> None:
        if not self._looks.begun:
            warn_if_at_rest(self.case.given, files=True)
            self._looks.begin(self.case)

    def warn_if_nonfinite(self, levels: Levels) -> None:
        pass


class _Looks:
    """What is written while a run is under way."""

    def __init__(self, program: Program, options: RunOptions, files: RunFiles, planes: int, bits: int) -> None:
        self._bits, self._program, self._target = bits, program, files.snapshots
        self.constant: dict[str, list[Array]] = {}  # fields that no step changes
        self.begun = False  # whether a run has
        if files.snapshots is not None and options.every is None:
            raise UsageError("snapshots need to know how often they are written", "give --every 100")
        if planes > 1:
            refuse("a colour picture", options, files)
        whole = next(filter(data.holds_state, files.outputs), None)
        if planes > 1 and whole is not None:
            raise UsageError(
                f"a colour picture is computed by channel, which a {whole.suffix} file does not hold", "write a .npy"
            )
        target = files.snapshots
        self._series = Recorder(target, program) if target is not None and is_series(target) else None

    def begin(self, case: CheckedProblem) -> None:
        program, self.begun = self._program, True
        self.constant = {
            field: [np.asarray(level, case.problem.dtype) for level in case.given.versions[field]]
            for field in program.fields
            if field not in program.updated
        }

    def write(self, step: int, view: Any) -> None:  # noqa: ANN401
        assert self._target is not None  # noqa: S101  (it is called where there is one)
        target, updated = self._target.with_stem(f"{self._target.stem}-{step:06d}"), self._program.updated
        views = view if len(updated) > 1 else (view,)
        levels = {
            field: each if isinstance(each, tuple) else (each,) for field, each in zip(updated, views, strict=True)
        }
        if self._series is not None:
            self._series.write(step, {**self.constant, **levels})
        elif is_archive(target):
            data.write_state(target, self._program, {**self.constant, **levels})
        else:
            write_planes(target, (levels[updated[0]][0],), self._bits)


def _check_outputs(program: Program, files: RunFiles, note: Note) -> None:
    """Find out before any computation whether the results can be written, and say what they will lack."""
    single = [path for path in files.outputs if not data.holds_state(path)]
    if len(single) > len(program.updated):
        updated = ", ".join(program.updated)
        raise UsageError(f"{program.name!r} updates {updated}: --output is given {len(single)} times")
    for path in files.written:
        if is_series(path):
            check_series(path)
        elif is_archive(path):
            check_place(path)
        if data.holds_state(path):
            data.archive_names(program)
        else:
            check_output(path)
    if len(single) == len(files.outputs):
        for field, path in zip(program.updated, single, strict=False):
            _note_lost(program, field, path, note)
    if files.snapshots is not None:
        _note_lost(program, program.updated[0], files.snapshots, note, alone=True)


def _note_lost(program: Program, field: str, path: Path, note: Note, *, alone: bool = False) -> None:
    """Say that no run can go on from a file of a single array, where a next one needs more."""
    levels, fields = program.history(field) > 1, alone and len(program.updated) > 1
    if path.suffix.lower() == ".npy" and (levels or fields):
        content = f"the newest time level of {field!r}" if levels else repr(field)
        note(
            f"warning: {str(path)!r} holds {content} alone, from which no run can go on "
            f"(hint: {path.with_suffix('.npz').name} keeps all fields and time levels, and --input reads it)"
        )


def _note_depth(files: RunFiles, planes: int, bits: int, note: Note) -> None:
    """Say which pictures hold fewer bits than those that are read."""
    for path in files.written:
        depth = depth_of(path, planes, bits) if is_picture(path) else bits
        if depth < bits:
            note(
                f"warning: {str(path)!r} holds {depth} bits per channel, the input {bits} "
                "(hint: .png keeps 16, .npy everything)"
            )


def _write(
    problem: Problem, results: Sequence[Mapping[str, Array]], outputs: Sequence[Path], bits: int, note: Note
) -> None:
    for field in problem.program.updated:
        bad = sum(int(np.count_nonzero(~np.isfinite(result[field]))) for result in results)
        if bad:
            note(f"warning: {bad} values of {field!r} are not finite after {problem.steps} steps")
    single = [path for path in outputs if not data.holds_state(path)]
    for field, path in zip(problem.program.updated, single, strict=False):
        clipped = write_planes(path, tuple(result[field] for result in results), bits)
        if clipped:
            note(f"warning: {clipped} values of {field!r} outside 0 to 1 are clipped in {str(path)!r}")


def _compare(cases: Sequence[CheckedProblem], results: Sequence[Mapping[str, Array]], note: Note) -> Comparison:
    """Compare every cell with the float64 reference; see :func:`tilewright.programs.stencil.rounding.bound`."""
    from tilewright.programs.stencil import rounding

    problem = cases[0].problem
    check_memory(_REFERENCE_COPIES * problem.cells * np.dtype(np.float64).itemsize * len(problem.program.fields))
    if problem.cells * problem.steps * len(cases) >= _LONG_CHECK:
        note("comparing with the NumPy reference, which takes a while")
    errors, within, count = [], True, [0]
    steps = problem.steps * sum(rounding.runs(problem, each.given.versions, each.given.scalars) for each in cases)

    def stepped() -> None:
        count[0] += 1

    for each, result in zip(cases, results, strict=True):
        with waiting("comparing with the NumPy reference", lambda: (count[0] / max(1, steps), None)):
            tables = point_tables(problem, each.inputs())
            added = rounding.nothing if tables is None else tables.added
            exact, allowed = rounding.bound(problem, each.given.versions, each.given.scalars, stepped, added)
        for field in problem.program.updated:
            error, is_within = rounding.worst_excess(result[field], exact[field], allowed[field])
            errors.append(error)
            within = within and is_within
    return Comparison(max_error=max(errors), within=within)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RanksRun(Record):
    """What a run on ranks did."""

    KEYS = (
        "program shape steps dtype topology seconds gcells_per_second steps_per_exchange=traffic.steps "
        "exchanges=traffic.exchanges messages=traffic.messages bytes=traffic.bytes overlapped=traffic.overlapped"
    )

    program: str
    shape: tuple[int, ...]  # of the whole grid
    steps: int
    dtype: str
    topology: tuple[int, ...]  # ranks per axis
    seconds: float  # computing and messages on the slowest rank, without reading or writing files
    traffic: "rank_arrays.Traffic"  # of the first rank

    @property
    def gcells_per_second(self) -> float:
        """Cell updates per nanosecond."""
        return math.prod(self.shape) * self.steps / self.seconds / 1e9

    def __str__(self) -> str:
        traffic, hidden = self.traffic, ", overlapped" if self.traffic.overlapped else ""
        program = f"{self.program} {format_shape(self.shape)}, {self.steps} steps, {self.dtype}"
        received = f"{traffic.messages} messages, {format_bytes(traffic.bytes)}"
        return "\n".join(
            (
                f"{program} on {format_shape(self.topology)} ranks",
                f"{format_seconds(self.seconds)}, {self.gcells_per_second:.3g} GCells/s",
                f"an exchange every {traffic.steps} steps{hidden}; the first rank received {received}",
            )
        )


def run_files_on_ranks(program: Program, options: RunOptions, files: RunFiles) -> RanksRun | None:
    """Do one run; every rank of the job calls this, and the first alone gets what it did."""
    refuse("--distributed", options, files)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):
        raise UsageError("runs on ranks need mpi4py and an MPI", "pip install 'tilewright[mpi]'") from None
    comm = MPI.COMM_WORLD
    _check_for_ranks(files, program)
    scalars: dict[str, Any] = dict(data.scalar_values(program, files.scalars))
    arrays = _arrays_of_ranks(options, files, program, comm)
    sources = read_sources(options.sources)
    comm.Barrier()
    begin = time.perf_counter()
    result = run(program, *arrays, **replace(options, sources=sources, dtype=None).keywords(), **scalars)
    seconds = comm.allreduce(time.perf_counter() - begin, op=MPI.MAX)
    results = result if isinstance(result, tuple) else (result,)
    for path, array in zip(files.outputs, results, strict=False):
        array.write(path)
    if comm.Get_rank():
        return None
    first = results[0]
    return RanksRun(
        program=program.name,
        shape=first.shape,
        steps=options.steps,
        dtype=first.dtype.name,
        topology=first.topology,
        seconds=seconds,
        traffic=first.traffic,
    )


def _check_for_ranks(files: RunFiles, program: Program) -> None:
    """Refuse what a run on ranks does not do, before anything is read."""
    for path in (*files.inputs, *files.outputs):
        if path.suffix not in {".npy", ".zarr"}:
            raise UsageError(
                f"ranks read and write .npy files and zarr arrays, got {str(path)!r}", "convert it with NumPy"
            )
    if files.inputs and len(files.inputs) != len(program.fields):
        raise UsageError(
            f"{program.name!r} has the fields {', '.join(program.fields)}: --input is given {len(files.inputs)} times"
        )
    if len(files.outputs) > len(program.updated):
        raise UsageError(
            f"{program.name!r} updates {', '.join(program.updated)}: --output is given {len(files.outputs)} times"
        )


def _arrays_of_ranks(options: RunOptions, files: RunFiles, program: Program, comm: Any) -> "list[rank_arrays.Array]":  # noqa: ANN401
    """Read every field, each rank its own block, or deal random data that the first rank draws."""
    from tilewright.distributed import disk, rank_arrays

    dims = None if files.topology is None else tuple(_rank_count(text) for text in files.topology.split("x"))
    if files.inputs:
        inputs: list[Any] = []
        rank_arrays.together(comm, lambda: inputs.extend(disk.open_array(path) for path in files.inputs))
        dtypes = [options.dtype or each.dtype.name for each in inputs]
        arrays = [
            rank_arrays.Array(tuple(each.shape), dtype, comm=comm, topology=dims)
            for each, dtype in zip(inputs, dtypes, strict=True)
        ]
        return [array.read(path) for array, path in zip(arrays, files.inputs, strict=True)]
    if files.shape is None:
        raise UsageError("a run needs a shape or inputs", "give --shape 8192x8192, or --input for every field")
    shape, dtype = parse_shape(files.shape), options.dtype or "float32"
    drawn: list[Any] = []

    def draw() -> None:
        if comm.Get_rank() == 0:
            drawn.extend(random_arrays(program, shape, dtype, files.seed))

    rank_arrays.together(comm, draw)
    every = [rank_arrays.Array(shape, dtype, comm=comm, topology=dims) for _ in program.fields]
    return [array.scatter(drawn[number] if drawn else None) for number, array in enumerate(every)]


def _rank_count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"a topology is written 4x-1, got {text!r}", "-1 where MPI decides") from None
