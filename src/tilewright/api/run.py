"""``run``: a program on the caller's arrays."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.api.arrays import Array, Given, as_array, gather, like, on_device
from tilewright.api.compile import Executable
from tilewright.api.forcing import Forcing, SourceList, with_mask, with_sources
from tilewright.api.memo import prepared
from tilewright.api.stencil import ProgramLike, as_program
from tilewright.api.watch import (
    Callback,
    Watch,
    first_wild_step,
    make_watch,
    march,
    warn_if_unstable,
    warn_if_wild,
)
from tilewright.base.errors import ArrayError, UsageError
from tilewright.programs.problem import BoundarySpec, Problem, make_problem
from tilewright.runtime.device_arrays import DeviceArray
from tilewright.runtime.host import thread_count
from tilewright.tilings.tiling import Tiling


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
    **scalars: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Run a program for a number of steps, in time tiles and compiled where possible.

    Args:
        program: A stencil, a function, a program, or the name of a built-in one.
        *arrays: One array per field, all of one shape, on the host or all on one CUDA device; a tuple gives
            several time levels, newest first, and a single array stands for all of them. They are only read: NumPy
            arrays, JAX, PyTorch and CuPy arrays and others with DLPack without a copy, xarray's ``DataArray`` by its
            values, anything else as ``numpy.asarray`` reads it (a Dask array is computed).
        steps: Number of time steps, at least 0.
        boundary: What lies outside the grid: a kind such as ``wrap``, a tuple with one entry per axis, or a mapping
            by field. ``fixed`` keeps the cells whose reads would lie outside.
        backend: ``auto``, ``c``, ``numpy``, ``opencl`` or ``cuda``; ``auto`` is CUDA for arrays on a CUDA device, else
            C where there is a compiler. A GPU backend takes a device by its number or a part of its name:
            ``opencl:geforce``; ``cuda`` alone is the device of the arrays, or the first one.
        tiling: A tiling such as ``hybrid:t=16,s=32x512``; the cost model's choice by default.
        dtype: Element type to compute in; NumPy's promotion rules decide by default.
        threads: Number of threads; every CPU that the process may use by default.
        strict: Keep the order of operations exactly: bit-equal to the untiled program for + - * / and square root.
        out: An array, or a tuple of one per updated field, to write the result into.
        every: Look at the run every so many steps; it ends, with a warning that names the step, once a value is not
            finite. ``callback`` and ``until`` are heeded at these steps. Without it a part of the result is looked at.
        callback: Called with the number of steps done and a read-only view of the updated field (a tuple of views if
            there are several), valid during the call; the run ends if it returns True.
        until: End the run when no value has changed by more than this per step since the last look; ``steps`` is then
            the most that are done.
        where: Truth values of the grid's shape; cells where it is false keep their first value.
        sources: Point sources, a list of pairs (cell, values) for the first updated field or a mapping of such lists
            by field: a number, or one per step, is added to the cell's new value in every step.
        **scalars: The program's scalars; an array makes one a coefficient field.

    Returns:
        The new value of the updated field, or a tuple of them if there are several. Each is of the kind of its
        field's array: a JAX, PyTorch or CuPy array, or a ``DataArray`` with its coordinates, dimensions, name and
        attributes. Arrays of other kinds on a device give one that offers DLPack and ``__cuda_array_interface__``,
        all others, Dask and pandas among them, a NumPy array.

    Raises:
        ArrayError: If an array does not fit the program, or memory does not hold the run.
        UsageError: If a name, an option or a scalar cannot be used.
        IllegalTilingError: If the tiling breaks a dependence.
        ToolchainError: If ``backend="c"`` and there is no compiler that works.

    >>> import numpy as np
    >>> run("jacobi1d", np.array([0.0, 3.0, 0.0, 3.0, 0.0]), steps=1)
    array([0., 1., 2., 1., 0.])
    """
    if not isinstance(tiling, Tiling | str | None) or not isinstance(backend, str):
        raise UsageError(f"tiling and backend are texts such as 'none' and 'c', got {tiling!r:.60} and {backend!r:.60}")
    chosen = as_program(program)
    watch = make_watch(every, callback, until)
    given, forcing = with_forcing(gather(chosen, arrays, scalars, dtype), where, sources, steps, boundary)
    problem = make_problem(given.program, given.shape, steps, given.dtype, boundary)
    warn_if_unstable(problem, given)
    count = thread_count(threads)
    targets = None if out is None else _targets(problem, out)
    plain = watch is None and out is None and where is None and sources is None
    here = on_device(given, backend, plain=plain)
    executable = prepared(portion(problem, watch, forcing), tiling, here or backend, strict=strict, threads=count)
    if here is not None:
        kept = compute_on_device(executable, problem, given)
        wrapped = [like(kept[field], arrays[chosen.fields.index(field)]) for field in problem.program.updated]
        return wrapped[0] if len(wrapped) == 1 else tuple(wrapped)
    if watch is None and not forcing.steps:
        results = compute(executable, problem, given, count, targets)
    else:
        state = march(executable, problem, given, count, watch, forcing)
        results = state.results(targets)
        state.close()
    if watch is None:
        warn_if_wild(problem, given, results, lambda: first_wild_step(executable, problem, given, count, forcing))
    if out is not None:
        return out
    wrapped = [like(results[field], arrays[chosen.fields.index(field)]) for field in problem.program.updated]
    return wrapped[0] if len(wrapped) == 1 else tuple(wrapped)


def with_forcing(
    given: Given,
    where: Any,  # noqa: ANN401
    sources: Mapping[str, SourceList] | SourceList | None,
    steps: int,
    boundary: BoundarySpec,
) -> tuple[Given, Forcing]:
    """Add a mask and sources to checked inputs, where there are any; see :func:`run`."""
    if where is not None:
        given = with_mask(given, where)
    if sources is None:
        return given, Forcing()
    make_problem(given.program, given.shape, steps, given.dtype, boundary)  # the steps are known to be a number
    return with_sources(given, sources, steps)


def portion(problem: Problem, watch: Watch | None, forcing: Forcing) -> Problem:
    """Return the problem of one portion: the steps between two looks or changes of sources."""
    steps = problem.steps
    part = min(steps, watch.every if watch else steps, forcing.longest or steps)
    return problem if part == steps else replace(problem, steps=part)


def compute(
    executable: Executable, problem: Problem, given: Given, threads: int, out: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """Run a prepared problem.

    Args:
        executable: What :func:`tilewright.api.compile.prepare` made of the problem.
        problem: The problem.
        given: Checked arrays and scalars.
        threads: Number of threads.
        out: Arrays to write into, by field.

    Returns:
        The newest version of every updated field.

    Raises:
        ArrayError: If memory does not hold the run.
    """
    if executable.device is not None:
        from tilewright.api.watch import make_state

        state = make_state(executable, problem, given, threads)
        try:
            state.advance(problem.steps)
            return state.results(out)
        finally:
            state.close()
    if executable.compiled is not None:
        from tilewright.runtime.cpu import execute
        from tilewright.runtime.session import Inputs

        inputs = Inputs(arrays=given.versions, scalars=given.scalars, out=out)
        return execute(executable.compiled, problem, inputs, threads, halo=executable.halo)
    from tilewright.programs import reference
    from tilewright.runtime.memory import check_memory

    copies = sum(problem.program.history(field) + 2 for field in problem.program.fields)
    check_memory(copies * problem.cells * problem.itemsize)
    results = reference.run(problem, given.versions, given.scalars)
    for field, target in (out or {}).items():
        np.copyto(target, results[field], casting="same_kind")
    return results


def compute_on_device(executable: Executable, problem: Problem, given: Given) -> "dict[str, DeviceArray]":
    """Run a prepared problem on arrays of its device.

    Returns:
        The newest version of every updated field, where it was computed.
    """
    from tilewright.runtime.gpu import GpuSession
    from tilewright.runtime.session import Inputs

    if executable.device is None:
        raise ArrayError("an array lies on a GPU, and the run does not", "use backend='cuda'")
    inputs = Inputs(arrays=given.versions, scalars=given.scalars)
    session = GpuSession(executable.device, problem, inputs, executable.halo)
    try:
        session.advance(problem.steps)
        return {field: session.take(field) for field in problem.program.updated}
    finally:
        session.close()


def _targets(problem: Problem, out: Any) -> dict[str, Array]:  # noqa: ANN401
    updated = problem.program.updated
    given = out if isinstance(out, tuple) else (out,)
    if len(given) != len(updated):
        raise UsageError(f"out needs {len(updated)} arrays ({', '.join(updated)}), got {len(given)}")
    targets = {}
    for field, target in zip(updated, given, strict=True):
        if not isinstance(target, np.ndarray):
            target = as_array(target, "out")  # noqa: PLW2901
        if target.shape != problem.shape:
            raise ArrayError(f"out must have the shape {problem.shape}, got {target.shape}")
        if target.dtype.kind not in "biufc" or not np.can_cast(problem.dtype, target.dtype, "same_kind"):
            raise ArrayError(f"out cannot hold {problem.dtype} values, it has the dtype {target.dtype}")
        if not target.flags.writeable:
            raise ArrayError("out is read-only", "pass an array that may be written")
        targets[field] = target
    return targets
