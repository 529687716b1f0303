"""Runs out of core, from disk to disk.

Two sets of files take turns, so that what a pass reads stays whole until the next one has been written; a journal says
which pass was the last. The input is only read.
"""

import itertools
import logging
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.units import format_bytes, format_over, format_seconds, format_shape
from tilewright.costs.transfers import Passes
from tilewright.distributed import disk, journal, slabs, sweeps
from tilewright.distributed.compute import Computer
from tilewright.distributed.disk import Array, RowArray
from tilewright.distributed.points import GridPoints, check_target, fingerprint_of
from tilewright.distributed.streams import Levels
from tilewright.distributed.windows import check_cut
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.points import Index
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.points import PointData

LOGGER = logging.getLogger("tilewright")
_USABLE = 0.95  # part of the memory for arrays; the rest is for threads and for what Python takes meanwhile
_CHUNK_BYTES = 2**22  # bytes of a chunk of a new zarr array, about


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


def run(job: OutOfCoreRun, machine: Machine, computer: Computer) -> dict[str, Array]:
    """Run a job; returns what receivers recorded, by field, of shapes (rows, points)."""
    check_cut(job.problem, (0,))
    points = None
    if job.points is not None:
        check_target(computer.target)
        points = GridPoints(job.problem, job.points, lambda field, cells: values_at(job.given[field][0], cells))
    with ExitStack() as stack:
        files = _Files(job, stack)
        past = journal.read(files.folder) if job.resume else None
        meanwhile, usable = files.transfer_bytes(), int(_USABLE * job.memory)
        if meanwhile > usable:
            needed, budget = format_over(2 * meanwhile, job.memory)
            raise ArrayError(
                f"reading and writing chunks needs {needed} of memory, got memory={budget}",
                "give more memory, or smaller chunks along the first axis",
            )
        fixed = past.steps if past else None
        chosen, swept = choose(job.problem, usable - meanwhile, machine, computer, fixed, points)
        _tell(job, chosen, past, swept)
        if not job.resume and files.folder.exists():
            files.clear()
        traces = {} if points is None else points.traces
        files.check_space(chosen, sum(each.nbytes for each in traces.values()))
        files.make_results()
        key = _key(job, files.out, computer)
        if past is not None and past.run != key:
            raise UsageError(
                f"the run to be resumed in {str(files.folder)!r} is of another program, size, input or result",
                "run without resume=True to begin again",
            )
        try:
            files.folder.mkdir(exist_ok=True)
            progress = past or journal.RunProgress(run=key, steps=chosen.steps, done=0)
            files.make_scratch(chosen, traces, progress.done)
            journal.write(files.folder, progress)
            if progress.done < chosen.count:
                passing = (
                    slabs.Slabs(job.problem, chosen, computer, points)
                    if swept is None
                    else sweeps.Sweeper(job.problem, swept, computer)
                )
                _passes(job, chosen, passing.stream, files, progress, points)
            files.clear()
        except OSError as error:
            raise ArrayError(
                f"the disk of a run out of core failed: {error.strerror or error}",
                "resume=True goes on from the last pass",
            ) from error
    return traces


def choose(
    problem: Problem,
    memory: int,
    machine: Machine,
    computer: Computer,
    steps: int | None = None,  # per pass, if an earlier part of the run has decided
    points: GridPoints | None = None,
) -> tuple[Passes, sweeps.Swept | None]:
    """Choose how passes go over a grid on disk: slab by slab, or as a sweep."""
    swept = sweeps.plan(problem, memory, machine, computer, steps)
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


def values_at(rows: RowArray, cells: Index) -> Array:
    """Read some cells of an array, given in row-major order, a row at a time."""
    first, inner = np.divmod(cells, math.prod(rows.shape[1:]))
    values = np.empty(len(cells), rows.dtype)
    row = np.empty((1, *rows.shape[1:]), rows.dtype)
    for number in np.unique(first).tolist():
        rows.read(number, number + 1, row)
        inside = first == number
        values[inside] = row.ravel()[inner[inside]]
    return values


def _passes(
    job: OutOfCoreRun,
    chosen: Passes,
    stream: Callable[[int, Levels, Levels, int], None],  # so many steps, from levels to levels, after so many steps
    files: "_Files",
    progress: journal.RunProgress,
    points: GridPoints | None,
) -> None:
    for number in range(progress.done, chosen.count):
        remaining, begin, start = chosen.count - 1 - number, time.perf_counter(), chosen.steps * number
        source = {**job.given, **files.written(remaining + 1)} if number else job.given
        target = files.written(remaining)
        steps = chosen.steps if remaining else job.problem.steps - start
        stream(steps, source, target, start)
        if points is not None:
            for field, file in files.traces.items():
                rows = points.rows(field, start, steps)
                file.write(rows.start, points.traces[field][rows])
        for each in itertools.chain(files.traces.values(), *target.values()):
            each.sync()
        journal.write(files.folder, replace(progress, done=number + 1))
        LOGGER.info(
            "%s out of core: pass %d of %d in %s",
            job.problem.program.name, number + 1, chosen.count, format_seconds(time.perf_counter() - begin),
        )  # fmt: skip


class _Files:
    """The files of a run: its results, and what it needs meanwhile in a folder beside the first of them.

    These are two sets of levels that passes write in turn, the results among them, and what receivers recorded.
    """

    def __init__(self, job: OutOfCoreRun, stack: ExitStack) -> None:
        self._job, self._stack = job, stack
        first = job.targets[job.problem.program.updated[0]][0]
        path = disk.path_of(first, "out")
        self.folder = path.with_name(path.name + ".tilewright")
        self._ending = ".zarr" if disk.is_zarr(first) or path.suffix == ".zarr" else ".npy"
        self._chunks = getattr(first, "chunks", None) or _chunks(job)  # of new zarr arrays
        self._there: dict[tuple[str, int], RowArray] = {}
        self.out: dict[str, list[RowArray]] = {}
        self.traces: dict[str, RowArray] = {}
        for field, values in job.targets.items():
            for age, value in enumerate(values):
                if disk.exists(value):
                    self._there[field, age] = self._result(value)
                    continue
                path = disk.path_of(value, "out")
                if not path.parent.is_dir():
                    raise UsageError(f"the folder of out={str(path)!r} does not exist")
                if path.suffix == ".zarr":
                    disk.import_zarr()
        sources = {rows.place.rpartition("@")[0] for levels in job.given.values() for rows in levels}
        targets = [rows.place.rpartition("@")[0] for rows in self._there.values()]
        if sources & set(targets) or len(set(targets)) < len(targets):
            raise UsageError(
                "out is one of the inputs, or twice the same file", "an input stays whole until the run is over"
            )

    def transfer_bytes(self) -> int:
        """Return the memory that one array that is read and one that is written take meanwhile."""
        problem = self._job.problem
        read = max(each.transfer_bytes(problem.dtype) for levels in self._job.given.values() for each in levels)
        chunk = self._chunks[0] if self._ending == ".zarr" else 0
        new = 3 * chunk * (problem.cells // problem.shape[0]) * problem.itemsize
        return read + max([new, *(each.transfer_bytes(problem.dtype) for each in self._there.values())])

    def check_space(self, chosen: Passes, traces: int) -> None:
        size = self._job.problem.cells * self._job.problem.itemsize
        created = sum(len(values) for values in self._job.targets.values()) - len(self._there)
        names = [name for each in self._sets_of(chosen) for names in each.values() for name in names]
        scratch = sum(size - _allocated_bytes(self._path(name)) for name in names)
        needed = created * size + sum(rows.missing_bytes for rows in self._there.values()) + scratch + traces
        free = shutil.disk_usage(self.folder.parent).free
        if needed > free:
            written, available = format_over(needed, free)
            raise ArrayError(
                f"this run writes {written} to {str(self.folder.parent)!r}, where {available} are free",
                "between two passes it needs every time level twice, besides its input",
            )

    def make_results(self) -> None:
        for field, values in self._job.targets.items():
            self.out[field] = [
                self._there.get((field, age)) or self._opened(value, "out") for age, value in enumerate(values)
            ]

    def make_scratch(self, chosen: Passes, traces: Mapping[str, Array], number: int) -> None:
        """Make what the run needs meanwhile, or open what an earlier part of it left, whose traces are read."""
        even, odd = (
            {field: [self._opened(self._path(name), name) for name in names] for field, names in each.items()}
            for each in self._sets_of(chosen)
        )
        self._sets = even, {field: [*self.out[field], *further] for field, further in odd.items()}
        for field, trace in traces.items():
            path = self.folder / f"trace-{field}.npy"
            if not trace.size:
                continue
            if not path.exists() or not number:
                disk.create_npy(path, trace.shape, trace.dtype.name)
            self.traces[field] = self._opened(path, "traces")
            self.traces[field].read(0, len(trace), trace)

    def written(self, left: int) -> Levels:
        return self._sets[(left + 1) % 2] if left else self.out

    def clear(self) -> None:
        """Delete what the run needed meanwhile; the journal goes last."""
        for path in sorted(self.folder.iterdir()):
            if path.suffix == ".zarr":
                shutil.rmtree(path)
            elif path.suffix == ".npy":
                path.unlink()
        journal.remove(self.folder)

    def _result(self, value: Any) -> RowArray:  # noqa: ANN401
        problem, rows = self._job.problem, self._opened(value, "out")
        if rows.shape != problem.shape:
            raise ArrayError(f"out must have the shape {format_shape(problem.shape)}, got {format_shape(rows.shape)}")
        if rows.dtype.newbyteorder("=") != np.dtype(problem.dtype):
            raise ArrayError(
                f"out must have the dtype {problem.dtype}, which a run out of core computes in, got {rows.dtype}",
                "pass dtype= to compute in another one",
            )
        return rows

    def _opened(self, value: Any, name: str) -> RowArray:  # noqa: ANN401
        """Open an array to write, which is made if it is not there."""
        problem = self._job.problem
        if not disk.exists(value):
            path = Path(value)
            if path.suffix == ".zarr":
                disk.create_zarr(path, problem.shape, problem.dtype, self._chunks)
            else:
                disk.create_npy(path, problem.shape, problem.dtype)
        rows = disk.open_rows(value, name, writes=True)
        self._stack.callback(rows.close)
        return rows

    def _sets_of(self, chosen: Passes) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Name by field the levels of one set, and those by which the results are fewer than the other."""
        counts = {
            field: (len(values), self._job.problem.program.history(field))
            for field, values in self._job.targets.items()
        }
        even = {f: [f"{f}-{age}-even" for age in range(n) if chosen.count > 1] for f, (_, n) in counts.items()}
        odd = {f: [f"{f}-{age}-odd" for age in range(out, n) if chosen.count > 2] for f, (out, n) in counts.items()}
        return even, odd

    def _path(self, name: str) -> Path:
        return self.folder / (name + self._ending)


def _allocated_bytes(path: Path) -> int:
    files = [path] if path.is_file() else list(path.rglob("*")) if path.is_dir() else []
    return sum(each.stat().st_blocks * 512 for each in files)


def _chunks(job: OutOfCoreRun) -> tuple[int, ...]:
    """Chunks of new zarr arrays: as those of the first array given that has any, else whole rows."""
    for levels in job.given.values():
        for rows in levels:
            if isinstance(rows, disk.ZarrRows):
                return tuple(rows.array.chunks)
    row = math.prod(job.problem.shape[1:]) * job.problem.itemsize
    return (max(1, min(job.problem.shape[0], _CHUNK_BYTES // row)), *job.problem.shape[1:])


def _key(job: OutOfCoreRun, out: Mapping[str, Sequence[RowArray]], computer: Computer) -> str:
    paths = [[field, *(rows.place for rows in levels)] for each in (job.given, out) for field, levels in each.items()]
    return fingerprint(job.problem, computer.numbers, paths, fingerprint_of(job.points))
