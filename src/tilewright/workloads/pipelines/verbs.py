"""``tw.pipeline``: pipelines of stencils, fused by the cost model and run on the caller's arrays."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.deprecations import refuse
from tilewright.base.errors import ArrayError, UsageError, one_of
from tilewright.base.units import whole_number
from tilewright.inputs.arrays import as_array, like
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.runtime.call import by_cells, overlap
from tilewright.runtime.host import thread_count
from tilewright.workloads.pipelines import catalogue
from tilewright.workloads.pipelines.builder import trace_pipeline
from tilewright.workloads.pipelines.call import run
from tilewright.workloads.pipelines.problem import (
    DTYPES,
    Array,
    Pipeline,
    PipelineProblem,
    compute,
    halo_text,
    make_pipeline_problem,
)

_MOST_APART = 4  # values of a row that lie further apart are packed first
BACKENDS = ("auto", "c", "numpy")


class StencilPipeline:
    """A pipeline that can be called on arrays.

    Attributes:
        program: The traced pipeline.
        interleaved: Whether arrays have an axis more, the last one, of values that are computed each for itself.
    """

    def __init__(self, program: Pipeline, *, interleaved: bool = False) -> None:
        self.program, self.interleaved = program, interleaved

    @checked
    def __call__(
        self,
        *arrays: Any,  # noqa: ANN401
        boundary: BoundarySpec | None = None,
        fusion: str | None = None,
        iterations: int = 1,
        backend: str = "auto",
        threads: int | None = None,
        strict: bool = False,
        out: Any = None,  # noqa: ANN401
        **scalars: float,
    ) -> Any:  # noqa: ANN401
        """Run the pipeline.

        Args:
            *arrays: One array per input grid, all of one shape; they are only read.
            boundary: What lies outside every grid, ``reflect`` by default, with ``scipy.ndimage``'s names: ``reflect``,
                ``nearest``, ``mirror``, ``wrap`` or ``constant:VALUE``; per axis, or by grid, as ``tw.run`` takes it.
            fusion: Groups such as ``"(S1, S2) | S3"``, ``full`` or ``none``; the cost model's choice by default.
            iterations: How often to apply the pipeline, each time to the results of the time before.
            backend: ``auto``, ``c`` or ``numpy``.
            threads: Number of threads; every CPU that the process may use by default.
            strict: Keep every operation's own rounding: bit-equal to NumPy for + - * / and square root.
            out: An array, or a tuple of one per output, to write into.
            **scalars: Values of the pipeline's scalars.

        Returns:
            One array, or a tuple of one per output, of the caller's array type.

        Raises:
            UsageError: If an option or a scalar is wrong or missing.
            ArrayError: If an array does not fit.
        """
        current, shape, problem, values = self._checked(arrays, boundary, scalars, apart=iterations == 1)
        iterations = whole_number(iterations, "iterations", 1, 2**62, "of at least 1")
        if iterations > 1:
            _check_iterated(problem)
        targets = _targets(problem, shape, out)
        count = thread_count(threads)
        one_of("the backend of a pipeline", backend, BACKENDS)
        into = _usable(targets, current, problem) if iterations == 1 else [None] * len(targets)
        for _ in range(iterations):
            results = run(problem, current, values, into, fusion=fusion, strict=strict, backend=backend, threads=count)
            current = [*results, *current[len(results) :]]
        final = []
        for target, row_result in zip(targets, results, strict=True):
            result = row_result.reshape(shape)
            if target is not None and not np.may_share_memory(target, result):
                np.copyto(target, result)
            final.append(like(result, arrays[0]) if target is None else target)
        return final[0] if len(final) == 1 else tuple(final)

    @checked
    def reference(
        self,
        *arrays: Any,  # noqa: ANN401
        boundary: BoundarySpec | None = None,
        **scalars: float,
    ) -> dict[str, Array]:
        """Compute every grid with NumPy, one stencil after the other.

        Args:
            *arrays: One array per input grid.
            boundary: What lies outside every grid, ``reflect`` by default.
            **scalars: Values of the pipeline's scalars.

        Returns:
            Every grid by name, G1, G2, ….
        """
        inputs, _, problem, values = self._checked(arrays, boundary, scalars)
        return compute(problem, inputs, dict(zip(self.program.scalars, values, strict=True)))

    def _checked(
        self,
        arrays: Sequence[Any],
        boundary: BoundarySpec | None,
        scalars: Mapping[str, float],
        *,
        apart: bool = True,  # whether the values of an input's row may lie apart
    ) -> tuple[list[Array], tuple[int, ...], PipelineProblem, list[float]]:
        """Return the inputs' rows, the shape of the arrays, the problem and the scalars."""
        program, axes = self.program, self.program.rank + self.interleaved
        if len(arrays) != len(program.inputs):
            raise UsageError(
                f"pipeline {program.name!r} takes {len(program.inputs)} array{'s' * (len(program.inputs) > 1)} "
                f"({', '.join(program.titles)}), got {len(arrays)}",
                f"numbers are given by name: {', '.join(program.scalars)}" if program.scalars else "",
            )
        inputs = [as_array(array, title) for array, title in zip(arrays, program.titles, strict=True)]
        for array, title in zip(inputs, program.titles, strict=True):
            if array.ndim != axes or array.shape != inputs[0].shape or 0 in array.shape:
                raise ArrayError(
                    f"{title!r} of {program.name!r} must have {axes} dimensions of at least 1 cell, all arrays "
                    f"one shape, got {array.shape}"
                )
            if str(array.dtype) not in DTYPES:
                raise ArrayError(
                    f"{title!r} must be one of {', '.join(DTYPES)}, got {array.dtype}", "convert it with array.astype"
                )
        types = tuple(str(array.dtype) for array in inputs)
        shape = inputs[0].shape
        cells, channels = shape[: program.rank], math.prod(shape[program.rank :])
        rows = [_rows(array.reshape(*cells[:-1], cells[-1] * channels), apart=apart) for array in inputs]
        steps = [array.strides[-1] // array.itemsize if array.shape[-1] > 1 else 1 for array in rows]
        problem = make_pipeline_problem(program, cells, types, boundary or "reflect", channels, steps)
        return rows, shape, problem, _values(program, scalars)

    def __repr__(self) -> str:
        program = self.program
        scalars = f"; {', '.join(program.scalars)}" if program.scalars else ""
        named = [f"{grid} {title}" for grid, title in zip(program.inputs, program.titles, strict=True)]
        lines = [f"{program.name}({', '.join(named)}{scalars}) -> {', '.join(program.outputs)}: {program.rank}D"]
        for stencil in program.stencils:
            reads = ", ".join(f"{grid}: {halo_text(stencil.reach(grid))}" for grid in stencil.inputs)
            lines.append(f"  {stencil.name} {stencil.title}: {{{reads}}} -> {stencil.output}")
        return "\n".join(lines)


def _usable(targets: Sequence[Any], read: Sequence[Array], problem: PipelineProblem) -> list[Array | None]:
    """Return the rows of the caller's arrays that results are written to as they are, None for the others."""
    rows = [
        target.reshape(problem.shape) if target is not None and target.flags.carray and target.dtype.isnative else None
        for target in targets
    ]
    return [None] * len(rows) if overlap([each for each in rows if each is not None], read) else rows


def _rows(array: Array, *, apart: bool) -> Array:
    """Return an array whose rows a kernel reads as they are, or a copy that it does."""
    cells = by_cells(array, forward=True)
    is_near = apart and cells.strides[-1] <= _MOST_APART * cells.itemsize
    return cells if is_near else by_cells(cells, rows=True)


def _values(program: Pipeline, scalars: Mapping[str, float]) -> list[float]:
    for name in scalars:
        if name not in program.scalars:
            refuse(name)
            hint = f"its scalars are {', '.join(program.scalars)}" if program.scalars else "it has none"
            raise UsageError(f"pipeline {program.name!r} has no scalar {name!r}", hint)
    values = []
    for name in program.scalars:
        value = scalars.get(name, catalogue.SCALARS.get(name) if program.name in catalogue.MAKERS else None)
        if value is None:
            raise UsageError(f"pipeline {program.name!r} needs the scalar {name!r}", f"pass {name}=…")
        values.append(float(value))
    return values


def _check_iterated(problem: PipelineProblem) -> None:
    program = problem.pipeline
    pairs = zip(program.outputs, program.inputs, strict=False)
    if len(program.outputs) > len(program.inputs) or any(problem.dtype(a) != problem.dtype(b) for a, b in pairs):
        raise UsageError(
            f"pipeline {program.name!r} cannot be iterated: its outputs must be of its first inputs' types and no more"
        )


def _targets(problem: PipelineProblem, shape: tuple[int, ...], out: Any) -> list[Any]:  # noqa: ANN401
    count = len(problem.pipeline.outputs)
    targets = [None] * count if out is None else list(out) if isinstance(out, tuple | list) else [out]
    if len(targets) != count:
        raise UsageError(f"pipeline {problem.pipeline.name!r} has {count} outputs, got out= of {len(targets)}")
    for target, grid in zip(targets, problem.pipeline.outputs, strict=True):
        if target is None:
            continue
        if (
            not isinstance(target, np.ndarray)
            or target.shape != shape
            or target.dtype.newbyteorder("=") != problem.dtype(grid)
        ):
            raise ArrayError(f"out= must be a NumPy array of shape {shape} and type {problem.dtype(grid)}")
    return targets


def pipeline(
    source: Callable[..., Any] | str | Pipeline | None = None, /, *, name: str = "", **options: float | None
) -> Any:  # noqa: ANN401
    """Make a pipeline: of a function that calls stencils on grids, or one that ships.

    Args:
        source: A function, traced by being called once with grids; or the name of a pipeline that ships: ``blend``,
            ``convrows``, ``blur``, ``sobel``, ``canny``, ``unsharp``, ``harris``.
        name: The pipeline's name; the function's own by default.
        **options: For one that ships: ``sigma``, ``radius``, ``gradient``.

    Returns:
        A :class:`StencilPipeline`, or a decorator if nothing is given.

    Raises:
        TraceError: If the function does something else.
        UsageError: If there is no such pipeline.

    Examples:
        >>> import numpy as np
        >>> from tilewright.inputs.stencil import stencil
        >>> across = stencil(lambda u: u[0, 1] - u[0, -1], name="across")
        >>> down = stencil(lambda u: u[1, 0] - u[-1, 0], name="down")
        >>> mixed = pipeline(lambda image: down(across(image)), name="mixed")
        >>> mixed(np.arange(12.0).reshape(3, 4) ** 2).tolist()[1]
        [16.0, 32.0, 32.0, 16.0]
    """
    if source is None:
        return lambda function: StencilPipeline(trace_pipeline(function, name))
    return StencilPipeline(as_pipeline(source, options, name))


def as_pipeline(source: Any, options: Mapping[str, float | None], name: str = "") -> Pipeline:  # noqa: ANN401
    """Return the pipeline that a user means."""
    if isinstance(source, str):
        return catalogue.pipeline(source, **options)
    if options:
        raise UsageError(f"only a pipeline that ships takes options, got {', '.join(options)}")
    if isinstance(source, Pipeline):
        return source
    if isinstance(source, StencilPipeline):
        return source.program
    if callable(source):
        return trace_pipeline(source, name)
    raise UsageError(f"a pipeline is a function of grids or a name, got a value of type {type(source).__name__}")
