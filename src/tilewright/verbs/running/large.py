"""``run`` on arrays that are not in this process's memory: which kind they are, and how each is run."""

import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.paths import as_path
from tilewright.base.units import format_shape, parse_bytes
from tilewright.plan import Target
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.points import Index
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.host import available_bytes
from tilewright.runtime.point_sums import sums
from tilewright.runtime.points import Look, PointData
from tilewright.schedules.tiling import Tiling
from tilewright.verbs import memo
from tilewright.verbs.arrays import Given, gather, with_edges
from tilewright.verbs.running.forcing import gather_points
from tilewright.verbs.running.levels import warn_if_kept
from tilewright.verbs.unstable import warn_if_unstable

if TYPE_CHECKING:
    from tilewright.distributed.compute import Computer
    from tilewright.distributed.disk import RowArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a run is asked for besides its arrays."""

    target: Target  # where it is computed; on ranks, by every one of them
    steps: int
    boundary: BoundarySpec
    dtype: Any  # element type, or None for that of the arrays
    out: Any  # what it writes into
    memory: int | str | None  # bytes that it may use, or None for half of what is free
    resume: bool  # go on from the last complete pass
    levels: bool  # write every time level that a next run needs
    strict: bool  # whether bit-equal to the untiled order of operations
    tiling: Tiling | str | None  # the tiling, or None for the planner's choice
    threads: int | None  # threads that the caller named, or None
    sources: Any = None  # what is added to new values in every step
    receivers: Any = None  # what is recorded
    checkpoint: str | os.PathLike[str] | None = None  # where a run on ranks keeps its state
    every: int | None = None  # steps between two checkpoints


class Runs(Protocol):
    """What runs a program on large arrays of one kind."""

    def __call__(self, program: Program, arrays: Sequence[Any], scalars: Mapping[str, Any], asked: RunRequest) -> Any:  # noqa: ANN401
        """Run it."""


@dataclass(frozen=True, slots=True)
class LargeArrayKind:
    """A kind of large arrays."""

    name: str  # what a run on them is called in errors
    run: Runs  # what runs a program on them
    checkpoints: bool = False  # whether it keeps checkpoints


def kind_of(arrays: Sequence[Any], out: Any, memory: int | str | None, *, resume: bool) -> LargeArrayKind | None:  # noqa: ANN401
    """Return how arrays are run that are not in this process's memory; None for those that are.

    A ``numpy.memmap`` alone is an array like any other, as a source and as a target; from one to another is a run out
    of core. So are zarr arrays and paths, and whatever gives ``memory`` or ``resume``.
    """
    given, targets = _flat(arrays), _flat((out,))
    if any(_is_distributed(each) for each in given):
        return ON_RANKS
    if any(_is_lazy(each) for each in given):
        return LAZY
    if memory is not None or resume or any(_only_on_disk(each) for each in (*given, *targets)):
        return OUT_OF_CORE
    mapped = all(any(isinstance(each, np.memmap) for each in values) for values in (given, targets))
    return OUT_OF_CORE if mapped else None


def _is_distributed(value: object) -> bool:
    ranks = sys.modules.get("tilewright.distributed.ranks")
    return ranks is not None and isinstance(value, ranks.Array)


def _is_lazy(value: object) -> bool:
    """Whether a value is a Dask array, or one of xarray's over it; neither library is imported."""
    return _module(value) == "dask" or (_module(value) == "xarray" and _module(getattr(value, "data", None)) == "dask")


def _module(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _only_on_disk(value: object) -> bool:
    """Whether a value is a path, or an array of zarr's; zarr is not imported."""
    return isinstance(value, str | os.PathLike) or _module(value) == "zarr"


def _flat(values: Sequence[Any]) -> list[Any]:
    return [each for value in values for each in (value if isinstance(value, tuple) else (value,))]


def stand_in(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Return an array of a shape and an element type that takes no memory, to be checked in place of a large one."""
    if math.prod(shape) * np.dtype(dtype).itemsize >= 2**63:
        raise ArrayError(f"an array of {format_shape(shape)} cells is larger than any disk")
    return np.broadcast_to(np.zeros((), dtype), shape)


def checked(
    program: Program, arrays: Sequence[Any], scalars: Mapping[str, Any], asked: RunRequest
) -> tuple[Given, Problem]:
    """Check stand-ins of large arrays as arrays in memory are checked, and warn of an unstable scheme."""
    program, boundary, scalars = with_edges(program, asked.boundary, scalars)
    given = gather(program, arrays, scalars, asked.dtype, asked.steps)
    problem = make_problem(given.program, given.shape, asked.steps, given.dtype, boundary, given.varying)
    warn_if_kept(problem)
    warn_if_unstable(problem, given.scalars)
    return given, problem


def with_points(given: Given, problem: Problem, asked: RunRequest, look: Look) -> tuple[Problem, PointData | None]:
    """Check sources and receivers; return the problem with the fields that have some, and them, or None."""
    from tilewright.distributed.points import check_target

    points = gather_points(given, problem, asked.sources, asked.receivers, look=look)
    if points is None:
        return problem, None
    check_target(asked.target)
    if problem.points.receivers or points.receivers:
        threads = asked.target.threads
        points = replace(points, summing=lambda terms, table, start: sums(terms, table, start, threads))
    return replace(problem, points=points.fields(problem)), points


def _results(state: Any, traces: Mapping[str, Any], asked: RunRequest) -> Any:  # noqa: ANN401
    """Return a run's state, with what receivers recorded where there are any."""
    return state if asked.receivers is None else (state, dict(traces))


def run_out_of_core(program: Program, arrays: Sequence[Any], scalars: Mapping[str, Any], asked: RunRequest) -> Any:  # noqa: ANN401
    """Run a program from disk to disk, on memmaps, zarr arrays, paths, or arrays in memory; return ``out``, opened."""
    from tilewright.distributed import disk, out_of_core

    if asked.out is None:
        raise UsageError(
            "a run out of core writes its result to disk, and got no out=",
            "pass out= a memmap, a zarr array or a path; memory= and resume= are for such runs only",
        )
    memory = (available_bytes() or 2**32) // 2 if asked.memory is None else parse_bytes(asked.memory)
    with ExitStack() as stack:

        def opened(value: Any, name: str) -> "tuple[RowArray, ...]":  # noqa: ANN401
            values = value if isinstance(value, tuple) else (value,)
            found = tuple(disk.open_rows(each, repr(name)) for each in values)
            for rows in found:
                stack.callback(rows.close)
            return found

        names = [*program.fields, *(f"array {number + 1}" for number in range(len(program.fields), len(arrays)))]
        fields = {name: opened(value, name) for name, value in zip(names, arrays, strict=False)}
        coefficients = {name: opened(value, name) for name, value in scalars.items() if _is_field(value, program.rank)}
        stands = [tuple(stand_in(rows.shape, rows.dtype) for rows in each) for each in fields.values()]
        others = {name: stand_in(each[0].shape, each[0].dtype) for name, each in coefficients.items()}
        given, problem = checked(program, stands, {**scalars, **others}, asked)
        repeated = {
            name: (disk.open_rows(values[0], name),)
            for name, values in given.versions.items()
            if name not in {*program.fields, *coefficients}
        }
        rows = {**fields, **coefficients, **repeated}
        problem, points = with_points(
            given, problem, asked, lambda field, cells: out_of_core.values_at(rows[field][0], cells)
        )
        job = out_of_core.OutOfCoreRun(
            problem=problem,
            given=rows,
            points=points,
            targets=_targets(problem, asked.out, levels=asked.levels),
            memory=memory,
            resume=asked.resume,
        )
        computer = _computer(given, asked.target.threads, asked)
        traces = out_of_core.run(job, memo.host(), computer)
    return _results(_opened(asked.out), traces, asked)


def _computer(given: Given, threads: int, asked: RunRequest) -> "Computer":
    from tilewright.distributed.compute import Computer

    return Computer(
        target=asked.target,
        threads=threads,
        tiling=asked.tiling,
        strict=asked.strict,
        scalars=given.scalars,
        make=memo.prepared,
    )


def _is_field(value: object, rank: int) -> bool:
    """Whether a scalar's value is a whole field; one of fewer axes is repeated, or has a value per step."""
    return _only_on_disk(value) or (isinstance(value, np.ndarray) and value.ndim == rank and rank > 1)


def _targets(problem: Problem, out: Any, *, levels: bool) -> dict[str, tuple[Any, ...]]:  # noqa: ANN401
    """Return what is written into, by field and age."""
    program = problem.program
    given = out if isinstance(out, tuple) and not (levels and len(program.updated) == 1) else (out,)
    if len(given) != len(program.updated):
        raise UsageError(f"out needs {len(program.updated)} arrays ({', '.join(program.updated)}), got {len(given)}")
    found = {}
    for field, entry in zip(program.updated, given, strict=True):
        history = program.history(field) if levels else 1
        found[field] = entry if levels and isinstance(entry, tuple) else (entry,)
        if len(found[field]) != history:
            raise UsageError(
                f"out needs {history} array{'s' * (history > 1)} for {field!r}, got {len(found[field])}",
                "give them in the form of the result: a tuple of a field's levels, newest first",
            )
    return found


def _opened(out: Any) -> Any:  # noqa: ANN401
    """Open what a run wrote where a path was given."""
    from tilewright.distributed import disk

    if isinstance(out, tuple):
        return tuple(_opened(each) for each in out)
    return disk.open_array(out) if isinstance(out, str | os.PathLike) else out


def run_on_ranks(program: Program, arrays: Sequence[Any], scalars: Mapping[str, Any], asked: RunRequest) -> Any:  # noqa: ANN401
    """Run a program on distributed arrays; every rank of their communicator calls this."""
    from tilewright.distributed import ranks, runs
    from tilewright.distributed.checkpoints import Checkpoints

    values = {name: value for name, value in scalars.items() if _is_distributed(value)}
    comm = next(each.comm for each in _flat(arrays) if _is_distributed(each))
    found: list[tuple[Given, Problem]] = []

    def check() -> None:
        if asked.out is not None or asked.memory is not None:
            raise UsageError("a run on distributed arrays takes no out and memory")
        if asked.checkpoint is None and (asked.resume or asked.every is not None):
            raise UsageError(
                "a run on distributed arrays goes on from a checkpoint, and got no checkpoint=",
                "name a folder: checkpoint='state', every=1000",
            )
        if not all(_is_distributed(each) for each in _flat(arrays)):
            raise UsageError("some arrays of a run are distributed over ranks, and some are not")
        stands = [tuple(stand_in(each.shape, each.dtype) for each in _flat((array,))) for array in arrays]
        others = {name: stand_in(value.shape, value.dtype) for name, value in values.items()}
        found.append(checked(program, stands, {**scalars, **others}, asked))

    ranks.together(comm, check)
    given, problem = found[0]
    levels = {name: tuple(_flat((array,))) for name, array in zip(program.fields, arrays, strict=True)}
    levels |= {name: (value,) for name, value in values.items()}
    like = levels[program.fields[0]][0]
    for name in given.versions.keys() - levels.keys():  # every rank has all of an array of fewer axes
        levels[name] = (ranks.Array(like.shape, given.versions[name][0].dtype, comm=comm, topology=like.topology),)
        levels[name][0].local[...] = given.versions[name][0][tuple(slice(*each) for each in like.box)]
    looks = runs.Looks(levels)
    asked_points: list[Any] = []
    ranks.together(comm, lambda: asked_points.append(with_points(given, problem, asked, looks.ask)))
    looks.fetch(comm)
    problem, points = with_points(given, problem, asked, looks.answer)
    threads = asked.target.threads
    if asked.threads is None:
        threads = ranks.threads_per_rank(comm, threads)
    computer = _computer(given, threads, asked)
    kept = None
    if asked.checkpoint is not None:
        kept = Checkpoints(
            folder=as_path(asked.checkpoint, "checkpoint").absolute(), every=asked.every, resume=asked.resume
        )
    job = runs.RankRun(problem=problem, arrays=levels, points=points, checkpoints=kept)
    results, traces = runs.run(job, memo.host(), computer)
    entries = [each if asked.levels and len(each) > 1 else each[0] for each in results.values()]
    return _results(entries[0] if len(entries) == 1 else tuple(entries), traces, asked)


def run_lazily(program: Program, arrays: Sequence[Any], scalars: Mapping[str, Any], asked: RunRequest) -> Any:  # noqa: ANN401
    """Describe a lazy run on Dask arrays, or xarray's over them; arrays in memory are cut as the first Dask one."""
    import dask.array as da

    from tilewright.distributed import chunks

    if asked.out is not None:
        raise UsageError("a run on Dask arrays is lazy and takes no out", "store its result with to_zarr or da.store")

    def lazy(value: Any) -> Any:  # noqa: ANN401
        plain = value.data if _module(value) == "xarray" else value
        return plain if _module(plain) == "dask" else da.asarray(plain)

    fields = [tuple(map(lazy, _flat((array,)))) for array in arrays]
    values = {
        name: lazy(value)
        for name, value in scalars.items()
        if _is_lazy(value) or (isinstance(value, np.ndarray) and value.ndim == program.rank > 1)
    }
    if any(size != size for array in _flat(fields) for size in array.shape):  # noqa: PLR0124
        raise UsageError("a Dask array of a run has a known shape", "compute_chunk_sizes() finds it")
    stands = [tuple(stand_in(each.shape, each.dtype) for each in levels) for levels in fields]
    others = {name: stand_in(value.shape, value.dtype) for name, value in values.items()}
    given, problem = checked(program, stands, {**scalars, **others}, asked)
    levels = {**dict(zip(program.fields, fields, strict=True)), **{name: (value,) for name, value in values.items()}}
    if asked.receivers is not None:
        raise UsageError(
            "a run on Dask arrays takes no receivers, whose cells lie in several tasks",
            "run it in memory, out of core or on ranks",
        )
    for name in given.versions.keys() - levels.keys():
        levels[name] = (da.asarray(given.versions[name][0]),)
    problem, points = with_points(given, problem, asked, lambda field, cells: values_of(levels[field][0], cells))
    first = next(each for array in arrays for each in _flat((array,)) if _is_lazy(each))
    results = chunks.run(problem, levels, lazy(first).chunks, memo.host(), _computer(given, 1, asked), points)

    def returned(field: str) -> Any:  # noqa: ANN401
        original = _flat((arrays[program.fields.index(field)],))[0]
        found = results[field] if asked.levels else results[field][:1]
        if _module(original) == "xarray":
            found = tuple(original.copy(deep=False, data=each) for each in found)
        return found if len(found) > 1 else found[0]

    entries = [returned(field) for field in results]
    return entries[0] if len(entries) == 1 else tuple(entries)


def values_of(array: Any, cells: Index) -> Any:  # noqa: ANN401
    """Compute some cells of a Dask array."""
    places = np.unravel_index(cells, array.shape)
    return array.vindex[tuple(places)].compute() if len(cells) else np.zeros(0, array.dtype)


LAZY = LargeArrayKind("a run on Dask arrays", run_lazily)
OUT_OF_CORE = LargeArrayKind("a run out of core", run_out_of_core)
ON_RANKS = LargeArrayKind("a run on distributed arrays", run_on_ranks, checkpoints=True)
