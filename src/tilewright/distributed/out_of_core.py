"""Runs out of core, from disk to disk.

Two sets of files take turns, so that what a pass reads stays whole until the next one has been written; a journal says
which pass was the last. The input is only read.
"""

import logging
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.units import format_bytes, format_over, format_seconds, format_shape
from tilewright.costs.transfers.disk import Passes
from tilewright.distributed import disk, journal, slabs, sweeps
from tilewright.distributed.compute import Computer
from tilewright.distributed.disk import RowArray
from tilewright.distributed.points import GridPoints, check_target, fingerprint_of
from tilewright.distributed.slabs import Levels
from tilewright.distributed.windows import check_cut
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.points import Index
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.points import PointData

LOGGER = logging.getLogger("tilewright")
_USABLE = 0.95
"""Part of the memory for arrays; the rest is for threads and for what Python takes meanwhile."""
_CHUNK_BYTES = 2**22
"""Bytes of a chunk of a new zarr array, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfCoreRun:
    """A run out of core."""

    problem: Problem  # what is computed on the whole grid
    given: Levels  # per field its levels, newest first; missing older ones are those of the oldest given
    # per updated field memmaps, zarr arrays or paths to write into: for the newest level, or all that a next run needs
    targets: Mapping[str, Sequence[Any]]
    memory: int  # bytes that may be used
    resume: bool = False  # whether it goes on from the last complete pass
    points: PointData | None = None
    swept: bool = True  # whether passes may be sweeps


def run(job: OutOfCoreRun, machine: Machine, computer: Computer) -> dict[str, np.ndarray[Any, Any]]:
    """Run a job; returns what receivers recorded, by field, of shapes (rows, points)."""
    check_cut(job.problem, (0,))
    points = None
    if job.points is not None:
        check_target(computer.target)
        points = GridPoints(job.problem, job.points, lambda field, cells: values_at(job.given[field][0], cells))
    place = _Place.of(job)
    with ExitStack() as stack:
        old = _existing(job, stack)
        past = journal.read(place.folder) if job.resume else None
        meanwhile, usable = _transfer_bytes(job, place, old), int(_USABLE * job.memory)
        if meanwhile > usable:
            needed, given = format_over(2 * meanwhile, job.memory)
            raise ArrayError(
                f"reading and writing chunks needs {needed} of memory, got memory={given}",
                "give more memory, or smaller chunks along the first axis",
            )
        fixed = past.steps if past else None
        chosen, swept = choose(job.problem, usable - meanwhile, machine, computer, fixed, points, sweep=job.swept)
        _tell(job, chosen, past, swept)
        if not job.resume and place.folder.exists():
            _clear(place.folder)
        _check_space(
            job, place, chosen, old, 0 if points is None else sum(each.nbytes for each in points.traces.values())
        )
        out = _made(job, place, old, stack)
        key = _key(job, out, computer)
        if past is not None and past.run != key:
            raise UsageError(
                f"the run to be resumed in {str(place.folder)!r} is of another program, size, input or result",
                "run without resume=True to begin again",
            )
        try:
            place.folder.mkdir(exist_ok=True)
            sets = _Sets(job, place, chosen, out, stack)
            progress = past or journal.RunProgress(run=key, steps=chosen.steps, done=0)
            journal.write(place.folder, progress)
            traces = _Traces(place, points, progress, stack)
            _passes(job, chosen, computer, sets, progress, place, swept=swept, traces=traces)
            _clear(place.folder)
        except OSError as error:
            raise ArrayError(
                f"the disk of a run out of core failed: {error.strerror or error}",
                "resume=True goes on from the last pass",
            ) from error
    return {} if points is None else points.traces


def choose(  # noqa: PLR0913
    problem: Problem,
    memory: int,
    machine: Machine,
    computer: Computer,
    steps: int | None = None,  # per pass, if an earlier part of the run has decided
    points: GridPoints | None = None,
    *,
    sweep: bool = True,
) -> tuple[Passes, sweeps.Swept | None]:
    """Choose how passes go over a grid on disk: slab by slab, or as a sweep."""
    swept = sweeps.plan(problem, memory, machine, computer, steps) if sweep else None
    within = math.inf if swept is None else swept.passes.seconds
    cut = slabs.plan(problem, memory, machine, computer, steps, points, within=within)
    if cut is not None:
        return cut, None
    assert swept is not None  # noqa: S101  (else every run of slabs is within)
    return swept.passes, swept


def _tell(job: OutOfCoreRun, chosen: Passes, past: journal.RunProgress | None, swept: sweeps.Swept | None) -> None:
    problem = job.problem
    how = (
        f"{chosen.slabs} slabs of {chosen.rows} rows"
        if swept is None
        else (f"swept by {swept.tiling} in {chosen.slabs} turns, {chosen.rows} rows")
    )
    LOGGER.info(
        "%s %s, %d steps, %s out of core: %d passes of %d steps, %s in %s; %s read, %s written; "
        "%s expected, of the disk %s, of computing %s%s",
        problem.program.name, format_shape(problem.shape), problem.steps, problem.dtype, chosen.count, chosen.steps,
        how, format_bytes(job.memory), format_bytes(chosen.read_bytes),
        format_bytes(chosen.write_bytes), format_seconds(chosen.seconds), format_seconds(chosen.disk_seconds),
        format_seconds(chosen.compute_seconds), f"; {past.done} passes are done already" if past else "",
    )  # fmt: skip


def values_at(rows: RowArray, cells: Index) -> np.ndarray[Any, Any]:
    """Read some cells of an array, given in row-major order, a row at a time."""
    first, inner = np.divmod(cells, math.prod(rows.shape[1:]))
    found = np.empty(len(cells), rows.dtype)
    row = np.empty((1, *rows.shape[1:]), rows.dtype)
    for number in np.unique(first).tolist():
        rows.read(number, number + 1, row)
        here = first == number
        found[here] = row.ravel()[inner[here]]
    return found


def _passes(  # noqa: PLR0913
    job: OutOfCoreRun,
    chosen: Passes,
    computer: Computer,
    sets: "_Sets",
    progress: journal.RunProgress,
    place: "_Place",
    *,
    swept: sweeps.Swept | None,
    traces: "_Traces",
) -> None:
    if progress.done >= chosen.count:
        return
    stream = _streamer(job.problem, chosen, swept, computer, traces.points)
    for number in range(progress.done, chosen.count):
        left, begin = chosen.count - 1 - number, time.perf_counter()
        source = {**job.given, **sets.written(left + 1)} if number else job.given
        target = sets.written(left)
        steps = chosen.steps if left else job.problem.steps - chosen.steps * number
        stream(steps, source, target, chosen.steps * number)
        traces.keep(chosen.steps * number, steps)
        for levels in target.values():
            for rows in levels:
                rows.sync()
        journal.write(place.folder, replace(progress, done=number + 1))
        LOGGER.info(
            "%s out of core: pass %d of %d in %s",
            job.problem.program.name, number + 1, chosen.count, format_seconds(time.perf_counter() - begin),
        )  # fmt: skip


def _streamer(
    problem: Problem, chosen: Passes, swept: sweeps.Swept | None, computer: Computer, points: GridPoints | None
) -> Callable[[int, Levels, Levels, int], None]:
    """Return what makes a pass, of so many steps, from levels to levels, after so many steps."""
    if swept is not None:
        return sweeps.Sweeper(problem, swept, computer).stream
    buffers = slabs.Buffers(problem, chosen.rows, 1 if computer.copies(problem) else 2)

    def stream(steps: int, source: Levels, target: Levels, done: int) -> None:
        windows = slabs.slabs(problem, chosen, steps)
        slabs.stream(windows, problem.shape[0], source, target, buffers, computer, done=done, points=points)

    return stream


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a run keeps what it needs meanwhile."""

    folder: Path  # beside its first result
    chunks: tuple[int, ...] | None  # of zarr arrays there; None for ``.npy`` files

    @classmethod
    def of(cls, job: OutOfCoreRun) -> "_Place":
        first = job.targets[job.problem.program.updated[0]][0]
        path = disk.path_of(first, "out")
        zarr = disk.is_zarr(first) or path.suffix == ".zarr"
        chunks = getattr(first, "chunks", None) or _chunks(job)
        return cls(folder=path.with_name(path.name + ".tilewright"), chunks=chunks if zarr else None)

    def scratch(self, name: str) -> Path:
        """Return the path of an array that is needed meanwhile."""
        return self.folder / (name + (".npy" if self.chunks is None else ".zarr"))


def _chunks(job: OutOfCoreRun) -> tuple[int, ...]:
    """Chunks of new zarr arrays: as those of the first array given that has any, else whole rows."""
    for levels in job.given.values():
        for rows in levels:
            if isinstance(rows, disk.ZarrRows):
                return tuple(rows.array.chunks)
    row = math.prod(job.problem.shape[1:]) * job.problem.itemsize
    return (max(1, min(job.problem.shape[0], _CHUNK_BYTES // row)), *job.problem.shape[1:])


def _existing(job: OutOfCoreRun, stack: ExitStack) -> dict[tuple[str, int], RowArray]:
    """Open the targets that are there already, by field and age."""
    problem = job.problem
    found: dict[tuple[str, int], RowArray] = {}
    for field, values in job.targets.items():
        for age, value in enumerate(values):
            if not disk.exists(value):
                path = disk.path_of(value, "out")
                if not path.parent.is_dir():
                    raise UsageError(f"the folder of out={str(path)!r} does not exist")
                if path.suffix == ".zarr":
                    disk.import_zarr()
                continue
            rows = disk.open_rows(value, "out", writes=True)
            stack.callback(rows.close)
            if rows.shape != problem.shape:
                raise ArrayError(
                    f"out must have the shape {format_shape(problem.shape)}, got {format_shape(rows.shape)}"
                )
            if rows.dtype.newbyteorder("=") != np.dtype(problem.dtype):
                raise ArrayError(
                    f"out must have the dtype {problem.dtype}, which a run out of core computes in, got {rows.dtype}",
                    "pass dtype= to compute in another one",
                )
            found[field, age] = rows
    given = {rows.place.rpartition("@")[0] for levels in job.given.values() for rows in levels}
    places = [rows.place.rpartition("@")[0] for rows in found.values()]
    if given & set(places) or len(set(places)) < len(places):
        raise UsageError(
            "out is one of the inputs, or twice the same file", "an input stays whole until the run is over"
        )
    return found


def _transfer_bytes(job: OutOfCoreRun, place: _Place, old: Mapping[tuple[str, int], RowArray]) -> int:
    """Return the memory that one array that is read and one that is written take meanwhile."""
    dtype = job.problem.dtype
    read = max(each.transfer_bytes(dtype) for levels in job.given.values() for each in levels)
    chunk = 0 if place.chunks is None else place.chunks[0]
    new = 3 * chunk * (job.problem.cells // job.problem.shape[0]) * job.problem.itemsize
    return read + max([new, *(each.transfer_bytes(dtype) for each in old.values())])


def _made(
    job: OutOfCoreRun, place: _Place, old: Mapping[tuple[str, int], RowArray], stack: ExitStack
) -> dict[str, list[RowArray]]:
    """Make the targets that are not there yet, and return all of them."""
    out: dict[str, list[RowArray]] = {}
    for field, values in job.targets.items():
        out[field] = []
        for age, value in enumerate(values):
            if (field, age) in old:
                out[field].append(old[field, age])
                continue
            _create(Path(value), job.problem, place.chunks or _chunks(job))
            rows = disk.open_rows(value, "out", writes=True)
            stack.callback(rows.close)
            out[field].append(rows)
    return out


def _create(path: Path, problem: Problem, chunks: tuple[int, ...]) -> None:
    if path.suffix == ".zarr":
        disk.create_zarr(path, problem.shape, problem.dtype, chunks)
    else:
        disk.create_npy(path, problem.shape, problem.dtype)


def _key(job: OutOfCoreRun, out: Mapping[str, Sequence[RowArray]], computer: Computer) -> str:
    """Return a fingerprint of what is computed, from which files into which."""
    numbers = {name: np.ravel(value).astype(complex).tolist() for name, value in computer.scalars.items()}
    places = [[field, *(rows.place for rows in levels)] for each in (job.given, out) for field, levels in each.items()]
    return fingerprint(job.problem, numbers, places, fingerprint_of(job.points))


def _check_space(
    job: OutOfCoreRun, place: _Place, chosen: Passes, old: Mapping[tuple[str, int], RowArray], traces: int
) -> None:
    """Refuse a run whose files do not fit on the disk, all copies counted, before any is made."""
    size = job.problem.cells * job.problem.itemsize
    made = sum(len(values) for values in job.targets.values()) - len(old)
    scratch = sum(size - _allocated(place.scratch(name)) for name in _scratch(job, chosen))
    needed = made * size + sum(rows.missing_bytes for rows in old.values()) + scratch + traces
    free = shutil.disk_usage(place.folder.parent).free
    if needed > free:
        where = str(place.folder.parent)
        written, there = format_over(needed, free)
        raise ArrayError(
            f"this run writes {written} to {where!r}, where {there} are free",
            "between two passes it needs every time level twice, besides its input",
        )


def _allocated(path: Path) -> int:
    files = [path] if path.is_file() else list(path.rglob("*")) if path.is_dir() else []
    return sum(each.stat().st_blocks * 512 for each in files)


def _scratch(job: OutOfCoreRun, chosen: Passes) -> Iterator[str]:
    """Names of the levels that are kept on disk beside the results."""
    for field, values in job.targets.items():
        count = job.problem.program.history(field)
        if chosen.count > 1:
            yield from (f"{field}-{age}-even" for age in range(count))
        if chosen.count > 2:
            yield from (f"{field}-{age}-odd" for age in range(len(values), count))


class _Traces:
    """What receivers recorded, kept on the disk beside the levels, for a run that goes on."""

    def __init__(
        self,
        place: _Place,
        points: GridPoints | None,
        progress: journal.RunProgress,
        stack: ExitStack,
    ) -> None:
        self.points, self._files = points, dict[str, RowArray]()
        if points is None:
            return
        for field, trace in points.traces.items():
            path = place.folder / f"trace-{field}.npy"
            if not trace.size:
                continue
            if not path.exists() or not progress.done:
                disk.create_npy(path, trace.shape, trace.dtype.name)
            self._files[field] = disk.open_rows(path, "traces", writes=True)
            stack.callback(self._files[field].close)
            self._files[field].read(0, len(trace), trace)

    def keep(self, first: int, steps: int) -> None:
        """Write what was recorded in some steps."""
        if self.points is None:
            return
        for field, file in self._files.items():
            rows = self.points.rows(field, first, steps)
            file.write(rows.start, self.points.traces[field][rows])
            file.sync()


class _Sets:
    """The two sets of arrays that passes write in turn; the last pass writes the results."""

    def __init__(
        self, job: OutOfCoreRun, place: _Place, chosen: Passes, out: Mapping[str, Sequence[RowArray]], stack: ExitStack
    ) -> None:
        self._out = out
        made: dict[str, RowArray] = {}
        for name in _scratch(job, chosen):
            path = place.scratch(name)
            if not path.exists():
                _create(path, job.problem, place.chunks or ())
            made[name] = disk.open_rows(path, name, writes=True)
            stack.callback(made[name].close)
        names = [(field, job.problem.program.history(field)) for field in out]
        self._even = {f: [made[f"{f}-{age}-even"] for age in range(n) if chosen.count > 1] for f, n in names}
        self._odd = {
            f: [*out[f], *(made[f"{f}-{age}-odd"] for age in range(len(out[f]), n) if chosen.count > 2)]
            for f, n in names
        }

    def written(self, left: int) -> Levels:
        """Return what the pass writes after which so many are left."""
        return self._out if left == 0 else self._even if left % 2 else self._odd


def _clear(folder: Path) -> None:
    """Delete what a run needed meanwhile; the journal goes last."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".zarr":
            shutil.rmtree(path)
        elif path.suffix == ".npy":
            path.unlink()
    journal.remove(folder)
