"""``run``: a program on the caller's arrays."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tilewright.base.dtypes import numpy_type
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.paths import as_path
from tilewright.base.units import whole_number
from tilewright.plan import Target, read_target
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.points import Points
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.regions import is_packable
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime.busy import may_yield, unoccupied
from tilewright.runtime.formats.series import is_series
from tilewright.runtime.host import thread_count
from tilewright.runtime.kernels import CpuKernel, GpuKernel
from tilewright.runtime.points import PointData
from tilewright.runtime.session import Inputs
from tilewright.runtime.simulation import Calculation, Simulation
from tilewright.schedules.tiling import Tiling
from tilewright.verbs.arrays import Given, gather, like, on_device, with_edges
from tilewright.verbs.memo import prepared
from tilewright.verbs.running.forcing import SourceList, gather_points, with_mask
from tilewright.verbs.running.large import RunRequest, kind_of
from tilewright.verbs.running.levels import warn_if_at_rest, warn_if_kept
from tilewright.verbs.running.monitor import Callback, Monitor, make_monitor
from tilewright.verbs.running.record import Run, predicted_seconds, threads_of
from tilewright.verbs.running.targets import check_targets, targets_of
from tilewright.verbs.running.told import Watched, log_choice, while_running
from tilewright.verbs.stencil import ProgramLike, as_program
from tilewright.verbs.unstable import warn_if_unstable

if TYPE_CHECKING:
    from tilewright.runtime.devices.gpu import GpuSession


def run(
    program: ProgramLike,
    *arrays: Any,  # noqa: ANN401
    steps: int,
    boundary: BoundarySpec = "fixed",
    backend: str = "auto",
    tiling: Tiling | str | None = None,
    dtype: Any = None,  # noqa: ANN401
    threads: int | None = None,
    strict: bool = False,
    out: Any = None,  # noqa: ANN401
    every: int | None = None,
    callback: Callback | None = None,
    until: float | None = None,
    where: Any = None,  # noqa: ANN401
    sources: Mapping[str, SourceList] | SourceList | None = None,
    receivers: Mapping[str, Points] | Points | None = None,
    levels: bool = False,
    record: bool = False,
    memory: int | str | None = None,
    resume: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    axes: Sequence[int] | None = None,
    **scalars: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Run a program for a number of steps, in time tiles and compiled where possible.

    Args:
        program: A stencil, a function, a program, or the name of a built-in one.
        *arrays: One array per field, all of one shape, on the host or all on one CUDA device; a tuple gives
            several time levels, newest first, and a single array stands for all of them: a start at rest, which warns
            if it is not all zeros, since ``(u, u)`` says the same and is no mistake. They are only read: NumPy
            arrays, JAX, PyTorch and CuPy arrays and others with DLPack without a copy, xarray's ``DataArray`` by its
            values, anything else as ``numpy.asarray`` reads it. Runs on Dask arrays are lazy. Zarr arrays and paths are
            read and written out of core, a ``numpy.memmap`` where ``out`` is one too.
        steps: Number of time steps, at least 0.
        boundary: What lies outside the grid: a kind such as ``wrap``, a tuple with one entry per axis, or a mapping
            by field. ``fixed`` keeps the cells whose reads would lie outside. ``tw.Boundary("constant", values)`` with
            an array of one value per step: a read outside in a step yields the step's.
        backend: ``auto``, ``c``, ``numpy``, ``opencl`` or ``cuda``; ``auto`` is CUDA for arrays on a CUDA device, else
            C where there is a compiler. A GPU backend takes a device by its number or a part of its name:
            ``opencl:geforce``; ``cuda`` alone is the device of the arrays, or the first one.
        tiling: A tiling such as ``hybrid:t=16,s=32x512``; the cost model's choice by default.
        dtype: Element type to compute in; NumPy's promotion rules decide by default.
        threads: Number of threads. By default those of TILEWRIGHT_THREADS or OMP_NUM_THREADS, else one for every CPU
            that the process may use, fewer while other processes keep some of them busy; the tiling is that of all.
        strict: Keep the order of operations exactly, and subnormal numbers, which kernels otherwise take for zero:
            bit-equal to the untiled program for + - * / and square root.
        out: An array, or a tuple of one per updated field, to write the result into; with ``levels``, arrays in the
            form of that result. Of arrays on a device, arrays there of the same element type. A path that ends in
            ``.zarr`` (with ``every``), ``.h5`` or ``.vti`` gets the start, the state after every ``every`` steps and
            the end, for :func:`tilewright.load` or ParaView.
        every: Look at the run every so many steps; it ends, with a warning that names the step, once a value is not
            finite. ``callback`` and ``until`` are heeded at these steps. Without it a part of the result is looked at.
        callback: Called with the number of steps done and a read-only view of the updated field (a tuple of views if
            there are several), valid during the call; the run ends if it returns True. Of arrays on a device it gets
            copies there, of their kind.
        until: End the run when no value has changed by more than this per step since the last look; ``steps`` is then
            the most that are done.
        where: Truth values of the grid's shape; cells where it is false keep their first value.
        sources: What is added to new values in every step: :class:`tilewright.Points` with values, or pairs of a cell
            and its values, or a list of both, for the first updated field, or a mapping of such by field. Values are a
            number or one per step. Nothing is added to cells that a ``fixed`` boundary or ``where`` holds; a warning
            names a source that adds nothing at all.
        receivers: :class:`tilewright.Points` that record the first updated field, or a mapping of such by field, after
            every step, or every ``every`` steps where the points or the run say so. Then ``(state, traces)`` is
            returned, ``traces`` a mapping of fields to arrays of shape (steps, points).
        levels: Return every time level that a next run needs: a field of several levels gives a tuple of them, newest
            first, as a run takes it. ``callback`` gets views of the same form.
        record: Return a :class:`tilewright.Run`: the result with all levels, the steps done, the tiling, and the times.
        memory: Out of core: bytes of memory for the run, such as ``8GiB``; half of what is free by default.
        resume: Out of core: go on from the last complete pass of a run that was ended; from the start if there is none.
            On ranks: from the last checkpoint.
        checkpoint: On ranks: a folder that keeps the run's state, every ``every`` steps or so, at exchanges.
            With ``out`` a series of states: go on from the last one in it, up to ``steps``.
        axes: Which axes of arrays with more of them are the program's: ``(-2, -1)`` runs a program of two axes over
            the last two, and the others number the grids of a batch. ``(1, 0)`` runs it over the transpose of arrays of
            two axes. Where some have more axes than the program, arrays with as many serve every grid and lie as the
            program does, as all of fewer axes do. The result lies as the arrays do. On the host, without every,
            callback, until, where, sources, receivers and record.
        **scalars: The program's scalars; an array makes one a coefficient field, and one of fewer axes or of extents 1
            is repeated as NumPy does. An array of one value per step, of another length than the last axis of the grid,
            makes it vary from step to step; :func:`tilewright.per_step` says so of any array.

    Returns:
        The new value of the updated field, or a tuple of them if there are several; ``out`` where it was given. Each
        is of the kind of its field's array: a JAX, PyTorch or CuPy array, or a ``DataArray`` with its coordinates,
        dimensions, name and attributes. Arrays of other kinds on a device give one that offers DLPack and
        ``__cuda_array_interface__``, all others, pandas among them, a NumPy array.

    Raises:
        ArrayError: If an array does not fit the program, or memory does not hold the run.
        UsageError: If a name, an option or a scalar cannot be used.
        IllegalTilingError: If the tiling breaks a dependence.
        ToolchainError: If ``backend="c"`` and there is no compiler that works.

    Examples:
        >>> import numpy as np
        >>> run("jacobi1d", np.array([0.0, 3.0, 0.0, 3.0, 0.0]), steps=1)
        array([0., 1., 2., 1., 0.])

        A wave is carried on from both of its levels:

        >>> u = np.zeros((40, 40))
        >>> u[20, 20] = 1.0
        >>> state = run("wave2d", (u, u), steps=3, levels=True)
        >>> np.allclose(run("wave2d", state, steps=4), run("wave2d", (u, u), steps=7))
        True

        A batch of ten grids:

        >>> run("jacobi1d", np.eye(10, 5), steps=1, axes=(-1,)).shape
        (10, 5)
    """
    if not isinstance(tiling, Tiling | str | None) or not isinstance(backend, str):
        raise UsageError(f"tiling and backend are texts such as 'none' and 'c', got {tiling!r:.60} and {backend!r:.60}")
    chosen, target = as_program(program), target_here(backend, threads)
    if _writes_series(arrays, out, every, memory):
        if axes is not None:
            raise UsageError("a run over axes writes no series of states", "give out= an array")
        options = {
            "boundary": boundary, "dtype": dtype, "tiling": tiling, "strict": strict, "where": where,
            "sources": sources, "receivers": receivers,
        }  # fmt: skip
        return _run_and_save(
            chosen, arrays, scalars, target, as_path(out, "out"), options, steps=steps, every=every, callback=callback,
            until=until, levels=levels, record=record, resume=resume,
        )  # fmt: skip
    monitor = make_monitor(every, callback, until, levels=levels)
    kind = kind_of(arrays, out, memory, resume=resume)
    if kind is not None or axes is not None:
        name = "a run over axes" if kind is None else kind.name
        ranked = kind is not None and kind.checkpoints
        if (monitor and not ranked) or callback or until is not None or record or where is not None:
            raise UsageError(f"{name} takes no every, callback, until, where and record")
        if checkpoint is not None and not ranked:
            raise UsageError(f"{name} takes no checkpoint", "out of core, resume=True goes on from the last pass")
        if axes is not None and (sources is not None or receivers is not None):
            raise UsageError(f"{name} takes no sources and receivers")
    if kind is None and checkpoint is not None:
        raise UsageError("a checkpoint= is kept by runs on ranks", "give arrays of tilewright.distributed.Array")
    if axes is not None:
        if kind is not None:
            raise UsageError(f"{kind.name} takes no axes", "give arrays in memory")
        from tilewright.verbs.running.batches import run_batches

        return run_batches(
            chosen, arrays, scalars, axes, target, steps=steps, boundary=boundary, dtype=dtype, tiling=tiling,
            strict=strict, levels=levels, out=out,
        )  # fmt: skip
    if kind is not None:
        asked = RunRequest(
            target=target, steps=steps, boundary=boundary, dtype=dtype, out=out, levels=levels, memory=memory,
            resume=resume, strict=strict, tiling=tiling, threads=threads, sources=sources, receivers=receivers,
            checkpoint=checkpoint, every=every,
        )  # fmt: skip
        return kind.run(chosen, arrays, scalars, asked)
    packed = not (target.on_device or strict)
    case = make_case(
        chosen, arrays, scalars, steps=steps, boundary=boundary, dtype=dtype, where=where,
        sources=sources, receivers=receivers, every=every, packed=packed,
    )  # fmt: skip
    return execute(case, arrays, target, tiling, strict=strict, monitor=monitor, out=out, levels=levels, record=record)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProblem:
    """A checked problem with its data."""

    given: Given  # the arrays and scalars, those of the mask included
    points: PointData | None  # the sources and receivers, if any
    problem: Problem
    storage: Storage = PLAIN  # where its fields lie, where kernels can do that
    added: frozenset[str] = frozenset()  # the field that came with the mask, if any

    def inputs(self, threads: int) -> Inputs:
        """Return what a kernel starts from, for a run on so many threads."""
        points = self.points
        if points is not None and self.problem.points.receivers:
            from tilewright.runtime.point_sums import sums

            points = replace(points, summing=lambda terms, table, start: sums(terms, table, start, threads))
        return replace(self.given.inputs(), points=points)


def make_case(
    program: Program,
    arrays: Sequence[Any],
    scalars: Mapping[str, Any],
    *,
    steps: int,
    boundary: BoundarySpec,
    dtype: Any = None,  # noqa: ANN401
    where: Any = None,  # noqa: ANN401
    sources: Mapping[str, SourceList] | SourceList | None = None,
    receivers: Mapping[str, Points] | Points | None = None,
    every: int | None = None,  # steps between records, where receivers do not say it
    packed: bool = False,  # fields that live in subdomains have memory there alone, where kernels can do that
) -> CheckedProblem:
    """Check what a run is given; warn of a scheme that is unstable, and of sources that add nothing."""
    program, boundary, scalars = with_edges(program, boundary, scalars)
    given = gather(program, arrays, scalars, dtype, steps, packed=packed)
    own = set(given.versions)
    if where is not None:
        given = with_mask(given, where)
    problem = make_problem(given.program, given.shape, steps, given.dtype, boundary, given.varying)
    storage = PLAIN
    if packed and program.subdomains:
        if is_packable(problem):
            storage = Storage(subdomains=given.program.subdomains)
        else:
            given = whole(given)
    added = frozenset(set(given.versions) - own)
    mask = next((given.versions[name][0] for name in added), None)
    points = gather_points(given, problem, sources, receivers, every, mask=mask)
    if points is not None:
        problem = replace(problem, points=points.fields(problem))
    warn_if_kept(problem)
    warn_if_unstable(problem, given.scalars, given.versions)
    return CheckedProblem(given=given, points=points, problem=problem, storage=storage, added=added)


def whole(given: Given) -> Given:
    """Return what was given with arrays of the grid's shape in place of those of subdomains."""
    parts = dict(given.program.subdomains)
    spread = {f: tuple(part.spread(each, given.shape) for each in given.versions[f]) for f, part in parts.items()}
    return replace(given, versions={**given.versions, **spread})


def _writes_series(arrays: Sequence[Any], out: Any, every: int | None, memory: object) -> bool:  # noqa: ANN401
    """Whether a run in memory writes its states to a file; a zarr path without ``every`` is that of an array."""
    if not is_series(out) or memory is not None or kind_of(arrays, None, None, resume=False) is not None:
        return False
    return every is not None or as_path(out, "out").suffix.lower() != ".zarr"


def _run_and_save(
    program: Program,
    arrays: Sequence[Any],
    scalars: Mapping[str, Any],
    target: Target,
    path: Path,
    options: dict[str, Any],
    *,
    steps: int,
    every: int | None,
    callback: Callback | None,
    until: float | None,
    levels: bool,
    record: bool,
    resume: bool,
) -> Any:  # noqa: ANN401
    """Run, and write the start, the state at every look, and the end to a series."""
    from tilewright.verbs.running.saving import Recorder, attributes, labels, load, states

    done, given = 0, tuple(arrays)
    if resume and path.exists():
        before = load(path)
        done, given = int(before.steps[-1]), before.state
        if before.fields != program.fields:
            raise ArrayError(
                f"{path.name!r} holds the fields {', '.join(before.fields)}, and {program.name!r} has "
                f"{', '.join(program.fields)}"
            )
    tiling, strict = options.pop("tiling"), options.pop("strict")
    left = max(0, whole_number(steps, "steps", 0, 2**31 - 1, "from 0 to 2^31 - 1") - done)
    case = make_case(program, given, scalars, steps=left, every=every, **options)
    if done and (case.problem.varying or case.points is not None):
        raise UsageError(
            "values per step, sources and receivers begin anew, so such a run is not resumed", "run it whole"
        )
    newest = arrays[0][0] if isinstance(arrays[0], tuple) else arrays[0]
    dims, coords = labels(newest)
    recorder = Recorder(path, program, dims=dims, coords=coords, attrs=attributes(case.problem, scalars))
    start = states(program, case.given.versions, numpy_type(case.problem.dtype))
    recorder.constant = {field: start[field] for field in program.fields if field not in program.updated}
    if done:
        recorder.go_on(done)
    else:
        recorder.write(0, start)
    look = recorder.looking(callback, done, levels=levels) if every is not None else callback
    monitor = make_monitor(every, look, until, levels=True)
    run = execute(case, arrays, target, tiling, strict=strict, monitor=monitor, levels=True, record=True)
    if recorder.last != done + run.steps_done:
        last = {
            f: each if isinstance(each, tuple) else (each,) for f, each in zip(program.updated, run.levels, strict=True)
        }
        ended = states(program, {**recorder.constant, **last}, numpy_type(case.problem.dtype))
        recorder.write(done + run.steps_done, ended)
    plain = tuple(each[0] if isinstance(each, tuple) and not levels else each for each in run.levels)
    state = plain[0] if len(plain) == 1 else plain
    if record:
        return replace(run, state=state, steps_done=done + run.steps_done)
    return state if options["receivers"] is None else (state, run.traces)


def calculation_of(
    case: CheckedProblem, target: Target, tiling: Tiling | str | None, *, strict: bool, monitor: Monitor | None
) -> Calculation:
    """Plan a case and load its kernel; what is planned is one portion: the steps between two looks."""
    problem = case.problem
    steps = min(problem.steps, monitor.every if monitor else problem.steps)
    part = problem if steps == problem.steps else replace(problem, steps=steps)
    kernel = prepared(part, target, tiling, strict=strict, copies=part is problem, storage=case.storage)
    if case.storage.subdomains and not isinstance(kernel, CpuKernel):  # there is no compiler
        again = replace(case, given=whole(case.given), storage=PLAIN)
        return calculation_of(again, target, tiling, strict=strict, monitor=monitor)
    threads = unoccupied(target.threads) if target.yields and kernel.parallel else target.threads
    log_choice(kernel, problem, threads)
    return Calculation(kernel=kernel, problem=problem, inputs=case.inputs(target.threads), threads=threads)


def target_here(backend: str, threads: int | None) -> Target:
    """Read where to compute, with this machine's threads; they yield to other processes' where none are asked for."""
    return replace(read_target(backend, thread_count(threads)), yields=may_yield(threads))


def execute(
    case: CheckedProblem,
    arrays: Sequence[Any],
    target: Target,
    tiling: Tiling | str | None,
    *,
    strict: bool,
    monitor: Monitor | None = None,
    out: Any = None,  # noqa: ANN401
    levels: bool = False,
    record: bool = False,
) -> Any:  # noqa: ANN401
    """Run a case, and return its results as :func:`run` does, of the kinds of the caller's arrays."""
    problem = case.problem
    warn_if_at_rest(case.given)
    targets = () if out is None else targets_of(problem, out, problem.shape, levels=levels)
    there = on_device(case.given, target, case.added)
    check_targets(targets, None if there is None else there.device)
    if there is not None and monitor is not None:
        monitor = replace(monitor, shown=lambda run, field, age: _shown(run, field, age, arrays))
    calculation = calculation_of(case, there or target, tiling, strict=strict, monitor=monitor)
    spread = dict(problem.program.subdomains) if not calculation.kernel.plan.storage.subdomains else {}
    given_targets, targets = targets, () if spread else targets
    watched = None if monitor is None else Watched(monitor)
    recorded = case.points.traces(problem) if case.points is not None and case.points.receivers else None
    begin = time.perf_counter()
    with while_running(calculation.kernel, problem, watched):
        if there is not None:
            inputs = replace(calculation.inputs, traces=recorded)
            calculation = replace(calculation, inputs=inputs)
            found, done = _compute_there(calculation, watched, targets, deep=levels or record)
        else:
            found, done = calculation.compute(watched, targets=targets, deep=levels or record, traces=recorded)
    seconds = time.perf_counter() - begin
    if monitor is None and there is None:
        calculation.warn_if_nonfinite({field: versions[0] for field, versions in found.items()})
    if spread:
        found = {f: tuple(spread[f].cut(each) for each in v) if f in spread else v for f, v in found.items()}
        for age, level in enumerate(given_targets):
            for field, into in level.items():
                np.copyto(into, found[field][age], casting="unsafe")
    by_field = [
        tuple(like(values, arrays[problem.program.fields.index(field)]) for values in found[field]) for field in found
    ]
    kept = tuple(entry if len(entry) > 1 else entry[0] for entry in by_field)
    several = kept if levels else tuple(entry[0] for entry in by_field)
    result = out if out is not None else several[0] if len(several) == 1 else several
    traces = {} if case.points is None or recorded is None else case.points.done(recorded, done)
    if not record:
        return result if recorded is None else (result, traces)
    kernel = calculation.kernel
    return Run(
        state=result,
        levels=kept,
        traces=traces,
        problem=problem,
        steps_done=done,
        backend=kernel.plan.target.backend,
        tiling=kernel.plan.tiling,
        threads=threads_of(kernel, calculation.threads),
        seconds=seconds,
        predicted_seconds=predicted_seconds(kernel, problem, done),
    )


def _compute_there(
    calculation: Calculation, watched: Watched | None, targets: Sequence[Mapping[str, Any]], *, deep: bool
) -> tuple[dict[str, tuple[Any, ...]], int]:
    """Run on arrays of a device, where the updated fields stay: those with a target in it, others in new arrays."""
    if not isinstance(calculation.kernel, GpuKernel):
        raise ArrayError("an array lies on a GPU, and the run does not", "use backend='cuda'")
    with Simulation(calculation) as run:
        run.advance(calculation.problem.steps, watched.every if watched else 0, watched.of(run) if watched else None)
        session = cast("GpuSession", run.state)
        given: dict[tuple[str, int], Any] = {
            (field, age): target for age, level in enumerate(targets) for field, target in level.items()
        }
        ages = {field: range(history if deep else 1) for field, history in run.histories.items()}
        for (field, age), target in given.items():
            session.give(field, age, target)
        new = {field: [age for age in levels if (field, age) not in given] for field, levels in ages.items()}
        taken = {field: iter(arrays) for field, arrays in session.take(new).items()}
        found = {
            field: tuple(given[field, age] if (field, age) in given else next(taken[field]) for age in levels)
            for field, levels in ages.items()
        }
        return found, run.done


def _shown(run: Simulation, field: str, age: int, arrays: Sequence[Any]) -> Any:  # noqa: ANN401
    """A copy of a field on its device, of the kind of the caller's array."""
    copied = cast("GpuSession", run.state).copied(field, age)
    return like(copied, arrays[run.problem.program.fields.index(field)])
