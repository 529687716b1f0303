"""Runs from files to files on the ranks of MPI: every rank reads, computes and writes its own block."""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.base.units import format_bytes, format_seconds, format_shape, parse_shape
from tilewright.distributed import disk
from tilewright.distributed.ranks import Array, Traffic, together
from tilewright.inputs import files as data
from tilewright.programs.stencil.program import Program
from tilewright.verbs.files.run import read_sources
from tilewright.verbs.options import RunFiles, RunOptions, refuse
from tilewright.verbs.running.run import run


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
    traffic: Traffic  # of the first rank

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
    _check(files, program)
    scalars: dict[str, Any] = dict(data.scalar_values(program, files.scalars))
    arrays = _arrays(options, files, program, comm)
    sources = read_sources(options.sources)
    comm.Barrier()
    begin = time.perf_counter()
    found = run(program, *arrays, **replace(options, sources=sources, dtype=None).keywords(), **scalars)
    seconds = comm.allreduce(time.perf_counter() - begin, op=MPI.MAX)
    results = found if isinstance(found, tuple) else (found,)
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


def _check(files: RunFiles, program: Program) -> None:
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


def _arrays(options: RunOptions, files: RunFiles, program: Program, comm: Any) -> list[Array]:  # noqa: ANN401
    """Read every field, each rank its own block, or deal random data that the first rank draws."""
    dims = None if files.topology is None else tuple(_ranks(text) for text in files.topology.split("x"))
    if files.inputs:
        given: list[Any] = []
        together(comm, lambda: given.extend(disk.open_array(path) for path in files.inputs))
        dtypes = [options.dtype or each.dtype.name for each in given]
        arrays = [
            Array(tuple(each.shape), dtype, comm=comm, topology=dims) for each, dtype in zip(given, dtypes, strict=True)
        ]
        return [array.read(path) for array, path in zip(arrays, files.inputs, strict=True)]
    if files.shape is None:
        raise UsageError("a run needs a shape or inputs", "give --shape 8192x8192, or --input for every field")
    shape, dtype = parse_shape(files.shape), options.dtype or "float32"
    drawn: list[Any] = []

    def draw() -> None:
        if comm.Get_rank() == 0:
            drawn.extend(data.random_arrays(program, shape, dtype, files.seed))

    together(comm, draw)
    every = [Array(shape, dtype, comm=comm, topology=dims) for _ in program.fields]
    return [array.scatter(drawn[number] if drawn else None) for number, array in enumerate(every)]


def _ranks(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"a topology is written 4x-1, got {text!r}", "-1 where MPI decides") from None
