"""Building pipelines: grids are made one stencil after the other, by a traced function or by the catalogue.

A Python function of grids becomes a pipeline by being called once; stencils called on grids build the graph.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilewright.base.errors import TilewrightError, TraceError
from tilewright.inputs.stencil import WholeGrid
from tilewright.programs.stencil.expression import (
    Operand,
    Read,
    Scalar,
    Tape,
    Value,
    as_value,
    complex_constant,
    flatten,
    reads,
)
from tilewright.programs.stencil.program import Program, refuse_places
from tilewright.tracing import RESERVED, Argument
from tilewright.workloads.pipelines.problem import DTYPES, ROUNDINGS, Pipeline, PipelineStencil

MAX_STENCILS = 512


class GridBuilder(WholeGrid):
    """A grid under construction: ``g[0, 1]`` reads it inside a stencil, ``g.astype(...)`` converts it."""

    __slots__ = ("builder",)

    def __init__(self, name: str, builder: "PipelineBuilder") -> None:
        super().__init__(name)
        self.builder = builder

    def astype(self, dtype: str, rounding: str = "nearest") -> "GridBuilder":
        """Return this grid in another element type: a stencil of its own, which a fusion makes free.

        Fractions become whole numbers by ``nearest`` (ties to even), ``floor`` or ``truncate``; values outside the
        type's range become its nearest end.
        """
        return self.builder.converted(self, str(dtype), rounding)

    def apply_stencil(
        self, program: Program, body: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> "GridBuilder | tuple[GridBuilder, ...]":
        """Apply a stencil to grids: one new grid per field that it updates."""
        if any(isinstance(a, GridBuilder) and a.builder is not self.builder for a in arguments):
            raise TraceError(f"stencil {program.name!r} was called on grids of different pipelines")
        result = body(*arguments)
        values = list(result.values()) if isinstance(result, dict) else result
        several = isinstance(values, tuple | list)
        grids = []
        for value in values if several else (values,):
            if any(read.level != 0 for read in reads(flatten(as_value(value)))):
                raise TraceError(
                    f"stencil {program.name!r} reads another time level, which a grid of a pipeline does not have",
                    "a stencil of a pipeline is applied once; call it again for another step",
                )
            grids.append(self.builder.apply(program.name, value))
        return tuple(grids) if several else grids[0]


class PipelineBuilder:
    """Collects the stencils of one pipeline."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rank = 0
        self.titles: list[str] = []
        self.stencils: list[PipelineStencil] = []

    def input(self, title: str) -> GridBuilder:
        """Add an input; its name is its title until the pipeline is finished."""
        self.titles.append(title)
        return GridBuilder(title, self)

    def apply(self, title: str, value: Operand) -> GridBuilder:
        """Add a stencil: a new grid whose cells are ``value``."""
        tape = flatten(as_value(value))
        number = complex_constant(tape)
        if number is not None:
            raise TraceError(f"a pipeline computes in real numbers, {title!r} has the constant {number}")
        refuse_places(tape, f"the pipeline's stencil {title!r}")
        return self._add(title, tape, "", "")

    def converted(self, grid: GridBuilder, dtype: str, rounding: str) -> GridBuilder:
        """Add a conversion."""
        if dtype not in DTYPES:
            raise TraceError(f"the element type of a grid is one of {', '.join(DTYPES)}, got {dtype!r}")
        if rounding not in ROUNDINGS:
            raise TraceError(f"a rounding is one of {', '.join(ROUNDINGS)}, got {rounding!r}")
        # The rank may not be known yet; an empty offset stands for the centre until it is.
        return self._add(f"to_{dtype}", (Read(grid.name, 0, ()),), dtype, rounding)

    def _add(self, title: str, tape: Tape, convert: str, rounding: str) -> GridBuilder:
        number = len(self.stencils) + 1
        output = f"#{number}"
        self.rank = self.rank or max((len(node.offset) for node in tape if isinstance(node, Read)), default=0)
        stencil = PipelineStencil(
            name=f"S{number}", title=title, output=output, tape=tape, convert=convert, rounding=rounding
        )
        self.stencils.append(stencil)
        return GridBuilder(output, self)

    def finish(self, outputs: tuple[GridBuilder, ...], summary: str = "") -> Pipeline:
        """Name the grids G1, G2, … and return the checked pipeline, without stencils that no output needs."""
        if names := [grid.name for grid in outputs if not grid.name.startswith("#")]:
            raise TraceError(f"an output of pipeline {self.name!r} is a grid that a stencil computes, got {names[0]!r}")
        read = {node.field for s in self.stencils for node in s.tape if isinstance(node, Read)}
        scalars = tuple(t for t in self.titles if t not in read)
        numbers = {n.name for s in self.stencils for n in s.tape if isinstance(n, Scalar)}
        for title in scalars:
            if title not in numbers:
                raise TraceError(f"the argument {title!r} of pipeline {self.name!r} is never used", "remove it")
        inputs = [title for title in self.titles if title in read]
        if clash := sorted(numbers & set(inputs)):
            raise TraceError(f"{clash[0]!r} is used both as a grid and as a number in pipeline {self.name!r}")
        rough = Pipeline(
            name=self.name,
            rank=self.rank or 2,
            inputs=tuple(inputs),
            titles=tuple(inputs),
            stencils=tuple(replace(s, tape=self._centred(s.tape)) for s in self.stencils),
            outputs=tuple(dict.fromkeys(grid.name for grid in outputs)),
            scalars=scalars,
            summary=summary,
        )
        return _numbered_pipeline(_checked_pipeline(_without_dead(rough)))

    def _centred(self, tape: Tape) -> Tape:
        centre = (0,) * (self.rank or 2)
        return tuple(replace(n, offset=centre) if isinstance(n, Read) and n.offset == () else n for n in tape)


def _checked_pipeline(pipeline: Pipeline) -> Pipeline:
    if not pipeline.stencils:
        raise TraceError(f"pipeline {pipeline.name!r} applies no stencil", "call a @tw.stencil function on its grids")
    if len(pipeline.stencils) > MAX_STENCILS:
        raise TraceError(f"a pipeline has at most {MAX_STENCILS} stencils, {pipeline.name!r} has more")
    if pipeline.rank not in {2, 3}:
        raise TraceError(f"a pipeline has 2 or 3 dimensions, {pipeline.name!r} has {pipeline.rank}")
    grids = set(pipeline.inputs)
    for stencil in pipeline.stencils:
        for read in stencil.reads:
            if read.field not in grids or read.level != 0:
                raise TraceError(f"{stencil.title!r} reads {read.field!r}, which is not computed yet")
            if len(read.offset) != pipeline.rank:
                raise TraceError(f"{stencil.title!r} has {len(read.offset)} dimensions in a {pipeline.rank}D pipeline")
        if not stencil.reads:
            raise TraceError(f"{stencil.title!r} reads no grid", "write u[0, 0] for the value of u at the cell")
        grids.add(stencil.output)
    return pipeline


def _without_dead(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline without stencils that no output needs: of S1 -> G2 and S2 -> G3 with output G2 the first."""
    needed = set(pipeline.outputs)
    stencils: list[PipelineStencil] = []
    for stencil in reversed(pipeline.stencils):
        if stencil.output in needed:
            needed |= set(stencil.inputs)
            stencils.append(stencil)
    scalars = {n.name for s in stencils for n in s.tape if isinstance(n, Scalar)}
    return replace(
        pipeline,
        stencils=tuple(reversed(stencils)),
        scalars=tuple(name for name in pipeline.scalars if name in scalars),
    )


def _numbered_pipeline(pipeline: Pipeline) -> Pipeline:
    """Number grids and stencils as the paper does: inputs first, then outputs in the order of computation."""
    names = {grid: f"G{i}" for i, grid in enumerate(pipeline.grids, 1)}
    stencils = tuple(
        replace(
            stencil,
            name=f"S{i}",
            output=names[stencil.output],
            tape=tuple(replace(n, field=names[n.field]) if isinstance(n, Read) else n for n in stencil.tape),
        )
        for i, stencil in enumerate(pipeline.stencils, 1)
    )
    return replace(
        pipeline,
        inputs=tuple(names[grid] for grid in pipeline.inputs),
        stencils=stencils,
        outputs=tuple(names[grid] for grid in pipeline.outputs),
    )


def scalar(name: str) -> Value:
    """Return a number that is given when the pipeline runs."""
    return Value(Scalar(name))


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
