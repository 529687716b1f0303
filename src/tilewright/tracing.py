"""Tracing: a Python function of fields and scalars becomes a program by being called once with symbols."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.base.errors import TilewrightError, TraceError
from tilewright.programs.stencil.expression import (
    Operand,
    Scalar,
    Value,
    as_value,
    flatten,
    reads,
)
from tilewright.programs.stencil.program import LEVELS, STEP, FieldBuilder, Program, StencilGrid, stencil

RESERVED = frozenset(
    {
        *("steps", "boundary", "shape", "dtype", "machine", "backend", "tiling", "threads", "strict", "out", "levels"),
        *("record", "memory", "resume", "axes", "ranks", "network", "topology", "every", "callback", "until", "where"),
        *("sources", "receivers", "metric", "model", "program", "effort", STEP),
    }
)
"""Argument names that clash with options of ``run``, ``predict`` and ``tune``."""
Number = complex  # a default: whole, real or complex


class Argument(FieldBuilder):
    """An argument that may turn out to be a field (indexed) or a scalar (used as a number)."""

    __slots__ = ()

    def as_value(self) -> Value:
        """Use the argument as a number."""
        return Value(Scalar(self.name))


def _forward(method: str) -> Callable[..., Value]:
    def call(self: Argument, *operands: Operand) -> Value:
        result: Value = getattr(self.as_value(), method)(*operands)
        return result

    return call


for _method in [
    m for m in vars(Value) if m.startswith("__") and m not in {"__init__", "__slots__", "__module__", "__doc__"}
]:
    if callable(getattr(Value, _method)) and _method not in {"__getitem__", "__iter__", "__new__", "__class__"}:
        setattr(Argument, _method, _forward(_method))


def trace(function: Callable[..., Any], name: str = "") -> Program:
    """Trace a function into a program.

    Arguments that the body indexes are fields, the others scalars. The returned value updates the first field, a
    tuple updates the leading fields in order, a dict by name. A scalar's default is its value where a run gives none.
    The function is called once, or twice where a difference needs the number of axes before anything is indexed.
    """
    title = name or getattr(function, "__name__", "stencil").replace("<lambda>", "stencil")
    arguments = argument_names(function, title, defaults=True)
    defaults = _defaults(function, title)
    grid = StencilGrid()
    result = _body(function, title, arguments, grid)
    if grid.asked:  # a difference came before the first index, which has told the number of axes since
        if grid.rank is None:
            raise TraceError(
                f"the number of axes of {title!r} is not known: nothing in it is indexed",
                "index a field once, such as u[0, 0] for two axes",
            )
        result = _body(function, title, arguments, StencilGrid(grid.rank))
    values = updates(result, arguments, title)
    indexed = _index_counts(values)
    fields = tuple(argument for argument in arguments if argument in indexed or argument in values)
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    program = stencil(title, _rank(indexed, title), values, fields=fields, summary=summary)
    unused = [a for a in arguments if a not in program.fields and a not in program.scalars]
    if unused:
        raise TraceError(f"the argument {unused[0]!r} of {title!r} is never used", "remove it")
    wrong = [name for name in defaults if name in program.fields]
    if wrong:
        raise TraceError(
            f"the field {wrong[0]!r} of {title!r} has the default {defaults[wrong[0]]!r}, which only scalars have",
            "leave it out, and pass an array when it runs",
        )
    order = {argument: i for i, argument in enumerate(arguments)}
    return Program(
        name=program.name,
        rank=program.rank,
        fields=program.fields,
        scalars=tuple(sorted(program.scalars, key=lambda each: order.get(each, len(order)))),
        statements=program.statements,
        summary=summary,
        defaults=tuple(defaults.items()),
    )


def _body(function: Callable[..., Any], title: str, arguments: list[str], grid: StencilGrid) -> object:
    """Return what the body makes of symbols."""
    try:
        return function(*(Argument(argument, grid=grid) for argument in arguments))
    except TilewrightError:
        raise
    except Exception as error:
        raise _failure(error, title) from error


def _defaults(function: Callable[..., Any], title: str) -> dict[str, Number]:
    """Return the arguments that have a default, which is a number."""
    defaults: dict[str, Number] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        value = parameter.default
        if value is parameter.empty:
            continue
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, bool | int | float | complex):
            raise TraceError(
                f"the default of {name!r} of {title!r} must be a number, got {value!r:.60}",
                f"write it without, and give its value when it runs: {name}=…",
            )
        defaults[name] = value
    return defaults


def _failure(error: Exception, title: str) -> TraceError:
    """Say what a body did that only arrays and numbers can do."""
    if isinstance(error, AttributeError) and isinstance(error.obj, FieldBuilder):
        return TraceError(
            f"the field {error.obj.name!r} of {title!r} has no {error.name!r}",
            LEVELS,
        )
    if isinstance(error, TypeError) and ("Value" in str(error) or "Argument" in str(error)):
        return TraceError(
            f"{title!r} uses a value in a way that only numbers can be used: {error}",
            "it is called once with symbols; functions are tw.sqrt, tw.exp, tw.where and their like",
        )
    return TraceError(
        f"tracing {title!r} failed: {type(error).__name__}: {error}",
        "a stencil's body only indexes fields with whole numbers and computes with the values",
    )


def argument_names(function: Callable[..., Any], title: str, *, defaults: bool = False) -> list[str]:
    """Return the names of a function's arguments, none of which may clash with an option."""
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise TraceError(f"stencil {title!r} takes a fixed list of arguments, got {parameter}")
        if parameter.default is not parameter.empty and not defaults:
            raise TraceError(
                f"the argument {parameter.name!r} of {title!r} has a default, which a recurrence does not keep",
                f"write it without, and give its value when it runs: {parameter.name}={parameter.default!r}"[:200],
            )
        if parameter.kind is parameter.KEYWORD_ONLY:
            raise TraceError(f"stencil {title!r} takes arguments by position, got *, {parameter}", "leave the * out")
        if parameter.name in RESERVED:
            raise TraceError(
                f"the argument {parameter.name!r} of {title!r} clashes with an option of run and tune", "rename it"
            )
    names = [parameter.name for parameter in parameters]
    if not names:
        raise TraceError(f"stencil {title!r} takes no argument", "its first argument is the field it updates")
    return names


def updates(result: object, arguments: list[str], title: str) -> Mapping[str, Value]:
    """Return the new values by name: of the first argument, of the leading ones for a tuple, as they are for a dict."""
    if result is None:
        raise TraceError(f"stencil {title!r} returns nothing", "return the new value of its first field")
    if isinstance(result, Mapping):
        unknown = [key for key in result if key not in arguments]
        if unknown:
            raise TraceError(f"{title!r} updates {unknown[0]!r}, which is not one of its arguments {arguments}")
        return {key: as_value(value) for key, value in result.items()}
    values = result if isinstance(result, tuple | list) else (result,)
    if len(values) > len(arguments):
        raise TraceError(
            f"{title!r} returns {len(values)} values but has {len(arguments)} argument{'s' * (len(arguments) != 1)}"
        )
    return {argument: as_value(value) for argument, value in zip(arguments, values, strict=False)}


def _index_counts(values: Mapping[str, Value]) -> dict[str, int]:
    """Every field that is read, with its number of indices."""
    return {read.field: len(read.offset) for value in values.values() for read in reads(flatten(value))}


def _rank(indexed: Mapping[str, int], title: str) -> int:
    if not indexed:
        raise TraceError(f"stencil {title!r} indexes no field", "write u[0, 0] for the value of u at the cell")
    return next(iter(indexed.values()))
