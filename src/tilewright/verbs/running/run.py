"""``run``: a program on the caller's arrays."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.plan import Target, read_target
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.points import Points, SourceList
from tilewright.runtime.busy import may_yield
from tilewright.runtime.host import thread_count
from tilewright.runtime.simulation import Callback
from tilewright.schedules.tiling import Tiling
from tilewright.verbs.options import RunOptions
from tilewright.verbs.running.grids.choice import kind_of
from tilewright.verbs.running.grids.engine import computed


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
        WrongResultError: If the compiler of an OpenCL device makes of it what computes something else on a small grid.

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
    options = RunOptions.of(locals())
    if not isinstance(tiling, Tiling | str | None) or not isinstance(backend, str):
        raise UsageError(f"tiling and backend are texts such as 'none' and 'c', got {tiling!r:.60} and {backend!r:.60}")
    kind = kind_of(arrays, scalars, options)
    return computed(kind(as_program(program), arrays, scalars, options, target_here(backend, threads)))


def target_here(backend: str, threads: int | None) -> Target:
    """Read where to compute, with this machine's threads; they yield to other processes' where none are asked for."""
    return replace(read_target(backend, thread_count(threads)), yields=may_yield(threads))
