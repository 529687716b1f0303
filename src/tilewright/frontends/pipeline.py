"""Tracing pipelines: a Python function of grids becomes a pipeline by being called once.

Stencils called on grids build the graph.
"""

import inspect
from collections.abc import Callable
from typing import Any

from tilewright.base.errors import TilewrightError, TraceError
from tilewright.frontends.trace import RESERVED, Argument
from tilewright.programs.pipelines.builder import GridBuilder, PipelineBuilder
from tilewright.programs.pipelines.pipeline import Pipeline
from tilewright.programs.stencil.expression import Read, as_value, flatten, reads
from tilewright.programs.stencil.program import Program


class GridArgument(GridBuilder, Argument):
    """An argument of a pipeline: a grid, or a number if it is used as one."""

    __slots__ = ()


def trace_pipeline(function: Callable[..., Any], name: str = "") -> Pipeline:
    """Trace a function that calls stencils on grids and numbers, and returns grids, into a pipeline."""
    title = name or getattr(function, "__name__", "pipeline").replace("<lambda>", "pipeline")
    builder = PipelineBuilder(title)
    arguments = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise TraceError(f"pipeline {title!r} takes a fixed list of arguments, got {parameter}")
        if parameter.name in RESERVED:
            raise TraceError(f"the argument {parameter.name!r} of {title!r} clashes with an option", "rename it")
        builder.titles.append(parameter.name)
        arguments.append(GridArgument(parameter.name, builder))
    try:
        result = function(*arguments)
    except TilewrightError:
        raise
    except Exception as error:
        raise TraceError(
            f"tracing pipeline {title!r} failed: {type(error).__name__}: {error}",
            "a pipeline's body only calls stencils on grids",
        ) from error
    outputs = result if isinstance(result, tuple | list) else (result,)
    for output in outputs:
        if not isinstance(output, GridBuilder):
            raise TraceError(
                f"pipeline {title!r} returns grids, got a value of type {type(output).__name__}",
                "compute with @tw.stencil functions, and call them on grids",
            )
    return builder.finish(tuple(outputs), (inspect.getdoc(function) or "").partition("\n")[0])


def apply_stencil(
    program: Program, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> GridBuilder | tuple[GridBuilder, ...]:
    """Apply a stencil, which has this body, to grids: one new grid per field that it updates."""
    builders = {id(a.builder): a.builder for a in arguments if isinstance(a, GridBuilder)}
    if len(builders) != 1:
        raise TraceError(f"stencil {program.name!r} was called on grids of different pipelines")
    builder = next(iter(builders.values()))
    result = function(*arguments)
    values = list(result.values()) if isinstance(result, dict) else result
    several = isinstance(values, tuple | list)
    grids = []
    for value in values if several else (values,):
        for read in reads(flatten(as_value(value))):
            _check_read(program, read)
        grids.append(builder.apply(program.name, value))
    return tuple(grids) if several else grids[0]


def _check_read(program: Program, read: Read) -> None:
    if read.level != 0:
        raise TraceError(
            f"stencil {program.name!r} reads another time level, which a grid of a pipeline does not have",
            "a stencil of a pipeline is applied once; call it again for another step",
        )
