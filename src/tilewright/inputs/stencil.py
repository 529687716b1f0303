"""``@tw.stencil``: a Python function of fields and scalars becomes a program."""

import functools
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, overload

from tilewright.base.errors import UsageError
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.expression import LEVEL_NAMES, Leaf, Read, Scalar, Value, as_value
from tilewright.programs.stencil.printing import describe
from tilewright.programs.stencil.program import STEP, FieldBuilder, Program
from tilewright.programs.stencil.slopes import values_of
from tilewright.tracing import argument_names, trace

_FUNCTION = frozenset({"__wrapped__", "__annotations__", "__type_params__"})
"""Attributes that a decorated function has of the function itself."""


class WholeGrid(FieldBuilder):
    """A grid to which stencils are applied as a whole, such as one of a pipeline."""

    __slots__ = ()

    def apply_stencil(self, program: Program, body: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        """Return what a stencil of this body makes of grids and numbers."""
        raise NotImplementedError


class Stencil:
    """A stencil written as a Python function.

    It keeps the function's name and documentation, prints as the program it stands for, and may be called inside
    another stencil's body with that stencil's fields and scalars. It is pickled by value, as its traced program: a
    process that does not know the function can unpickle, run and call it.

    Attributes:
        program: The traced program.
    """

    program: Program
    __name__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], name: str = "") -> None:
        if not callable(function):
            raise UsageError(
                f"a stencil is made of a function, got a value of type {type(function).__name__}",
                "write @tw.stencil above a function",
            )
        self.program = trace(function, name)
        functools.update_wrapper(self, function)
        self.__name__ = self.program.name
        self._arguments = tuple(argument_names(function, self.__name__, defaults=True))

    def __getstate__(self) -> dict[str, Any]:
        return without_function(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__wrapped__ = body_of(self.program, self._arguments)

    def __call__(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401  (whatever the body returns)
        """Apply the body to another stencil's fields and scalars, or to the grids of a pipeline.

        Raises:
            UsageError: If an argument is an array: arrays go to ``tw.run``.
        """
        grid = next((argument for argument in arguments if isinstance(argument, WholeGrid)), None)
        if grid is not None:
            return grid.apply_stencil(self.program, functools.partial(self.__wrapped__, **named), arguments)
        for argument in (*arguments, *named.values()):
            if not isinstance(argument, FieldBuilder | Value | bool | int | float | complex):
                raise UsageError(
                    f"stencil {self.__name__!r} was called with a value of type {type(argument).__name__}",
                    f"apply it to arrays with tw.run({self.__name__}, array, steps=…)",
                )
        if not any(isinstance(argument, FieldBuilder | Value) for argument in (*arguments, *named.values())):
            raise UsageError(
                f"stencil {self.__name__!r} was called outside of another stencil's body",
                f"apply it to arrays with tw.run({self.__name__}, array, steps=…)",
            )
        return self.__wrapped__(*arguments, **named)

    def __repr__(self) -> str:
        return describe(self.program)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(describe(self.program))}</pre>"


def without_function(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a decorated function without the function and what may not be pickled either."""
    return {name: value for name, value in attributes.items() if name not in _FUNCTION}


@overload
def stencil(function: Callable[..., Any], /, *, name: str = "") -> Stencil: ...


@overload
def stencil(*, name: str = "") -> Callable[[Callable[..., Any]], Stencil]: ...


def stencil(
    function: Callable[..., Any] | None = None, /, *, name: str = ""
) -> Stencil | Callable[[Callable[..., Any]], Stencil]:
    """Make a stencil of a function by calling it once with symbols; no source is parsed.

    Arguments that the body indexes are fields, the others scalars. The returned value updates the first field, a
    tuple updates the leading fields in order, a dict by name. A scalar's default, a number, is its value where a run
    gives none. ``u.prev[…]`` and ``u.prev2[…]`` read earlier time
    levels, ``u.new[…]`` values already computed in this step.

    Args:
        function: The body.
        name: The program's name; the function's own by default.

    Returns:
        The stencil, or a decorator if no function is given.

    Raises:
        TraceError: If the body does something that a stencil cannot.
        UsageError: If it is no function.

    Examples:
        >>> @stencil
        ... def heat(u, alpha):
        ...     return u[0] + alpha * (u[-1] - 2 * u[0] + u[1])
        >>> heat
        heat(u; alpha): 1D, 3 loads and 5 flops per cell and step
          u <- u[0] + alpha * (u[-1] - 2 * u[0] + u[1])
    """
    if function is None:
        return lambda body: Stencil(body, name)
    return Stencil(function, name)


ProgramLike = Program | Stencil | str | Callable[..., Any]
"""A program, a stencil, the name of a built-in program, or a function to trace."""


def as_program(program: ProgramLike) -> Program:
    """Return the program that a user means.

    Examples:
        >>> as_program("heat2d").loads
        9
    """
    if isinstance(program, Program):
        return program
    if isinstance(program, Stencil):
        return program.program
    if isinstance(program, str):
        return catalogue.program(program)
    if callable(program):
        return trace(program)
    raise UsageError(
        f"a program is a stencil, a function or a built-in one's name, got a value of type {type(program).__name__}",
        "decorate a function with @tw.stencil, or see `tilewright programs`",
    )


def body_of(program: Program, arguments: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of these arguments that builds and returns what a stencil's body did when it was traced."""
    parameters = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=dict(program.defaults).get(name, Parameter.empty))
        for name in arguments
    ]
    signature = Signature(parameters)

    def body(*values: Any, **named: Any) -> Any:  # noqa: ANN401  (what a body is given and returns)
        bound = signature.bind(*values, **named)
        bound.apply_defaults()
        leaf = functools.partial(_argument, bound.arguments)
        results = {statement.field: values_of(statement.tape, leaf)[-1] for statement in program.statements}
        if tuple(results) != arguments[: len(results)]:
            return results
        return results[arguments[0]] if len(results) == 1 else tuple(results.values())

    body.__signature__ = signature  # type: ignore[attr-defined]
    return body


def _argument(arguments: Mapping[str, Any], leaf: Leaf) -> Value:
    """What an argument stands for of a program's leaf."""
    if isinstance(leaf, Scalar) and leaf.name != STEP:
        return as_value(arguments[leaf.name])
    if not isinstance(leaf, Read):
        return Value(leaf)
    field = arguments[leaf.field]
    value: Value = (getattr(field, LEVEL_NAMES[leaf.level]) if leaf.level else field)[leaf.offset]
    return value
