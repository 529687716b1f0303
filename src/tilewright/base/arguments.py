"""Arguments checked against the annotations of a function, so that a wrong one is named and not stumbled over.

``@checked`` reads, once and at the first call, what the annotations of the parameters say: numbers, texts, truth
values, paths, classes, and sequences, mappings and unions of them. Numbers of any library become Python's. What an
annotation leaves open (``Any``, arrays in general) is the function's to check.
"""

import functools
import inspect
import math
import numbers
import operator
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Union

import numpy as np

from tilewright.base.deprecations import refuse
from tilewright.base.errors import UsageError, quoted

P = ParamSpec("P")
R = TypeVar("R")
_WORDS = {
    float: "a number", int: "a whole number", str: "a text", bool: "True or False", Path: "a path",
    type(None): "None",
}  # fmt: skip
_LARGEST = 2**63


class _Unfit(Exception):  # noqa: N818  (no error that anybody sees)
    """A value that an annotation does not allow."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function refuse arguments that its annotations do not allow.

    Examples:
        >>> @checked
        ... def widen(width: float, times: int = 2) -> float:
        ...     return width * times
        >>> widen(np.float32(1.5), times=3.0)
        4.5
        >>> widen("wide")
        Traceback (most recent call last):
        tilewright.base.errors.UsageError: 'width' of widen is a number, got 'wide'
    """

    @functools.cache
    def annotations() -> tuple[list[tuple[str, Any]], dict[str, Any], Any]:
        """Return what is known of positional arguments, in order, of named ones, and of any other."""
        hints = typing.get_type_hints(function)
        parameters = inspect.signature(function).parameters
        every = {name: (each.kind, hints.get(name, Any)) for name, each in parameters.items()}
        order = [(name, hint) for name, (kind, hint) in every.items() if kind < inspect.Parameter.KEYWORD_ONLY]
        kwargs = [hint for kind, hint in every.values() if kind is inspect.Parameter.VAR_KEYWORD]
        return order, {name: hint for name, (_, hint) in every.items()}, kwargs[0] if kwargs else Any

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        order, named, kwarg = annotations()
        parameters = [order[min(number, len(order) - 1)] if order else ("", Any) for number in range(len(args))]
        fitted = [_fit_value(function, name, value, hint) for (name, hint), value in zip(parameters, args, strict=True)]
        keywords = {name: _fit_value(function, name, each, named.get(name, kwarg)) for name, each in options.items()}
        return function(*fitted, **keywords)

    return call


def _fit_value(function: Callable[..., Any], name: str, value: Any, hint: Any) -> Any:  # noqa: ANN401
    try:
        return _fit(value, hint)
    except _Unfit:
        refuse(name)
        where = function.__qualname__.removesuffix(".__call__")
        hint_at = "use .decode()" if isinstance(value, bytes | bytearray) else ""
        raise UsageError(f"{name!r} of {where} is {described(hint)}, got {quoted(value)}", hint_at) from None


def _fit(value: Any, hint: Any) -> Any:  # noqa: ANN401
    if hint is Any:
        return value
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {Union, types.UnionType}:
        fitted = _first_fit(value, inner)
    elif hint in _SCALARS:
        fitted = _SCALARS[hint](value)
    elif origin is tuple:
        fitted = _tuple(value, inner)
    elif origin in {Sequence, list}:
        fitted = _sequence(value, inner[0])
    else:
        fitted = _instance(value, origin or hint, inner)
    return fitted


def _instance(value: Any, kind: Any, inner: Sequence[Any]) -> Any:  # noqa: ANN401
    if isinstance(kind, type) and not typing.is_typeddict(kind) and not isinstance(value, kind):
        raise _Unfit
    for key, each in value.items() if kind is Mapping else ():
        _fit(key, inner[0])
        _fit(each, inner[1])
    return value


def _first_fit(value: Any, hints: Sequence[Any]) -> Any:  # noqa: ANN401
    if any(isinstance(hint, type) and type(value) is hint for hint in hints):
        return value
    for hint in hints:
        try:
            return _fit(value, hint)
        except _Unfit:
            continue
    raise _Unfit


def _plain_value(value: Any) -> Any:  # noqa: ANN401
    """Return a number of Python's or an array of no axes as a scalar."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _number(value: Any) -> float:  # noqa: ANN401
    plain = _plain_value(value)
    if not isinstance(plain, numbers.Real) or isinstance(plain, bool):
        raise _Unfit
    try:
        return float(plain)
    except OverflowError:
        raise _Unfit from None


def _whole(value: Any) -> int:  # noqa: ANN401
    plain = _plain_value(value)
    if isinstance(plain, bool | np.bool_):
        raise _Unfit
    try:
        number = operator.index(plain)
    except TypeError:
        real = _number(plain)
        if not math.isfinite(real) or real != int(real):
            raise _Unfit from None
        number = int(real)
    if abs(number) >= _LARGEST:
        raise _Unfit
    return number


def _truth(value: Any) -> bool:  # noqa: ANN401
    plain = _plain_value(value)
    if not isinstance(plain, bool | np.bool_ | int) or plain not in {0, 1}:
        raise _Unfit
    return bool(plain)


def _text(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise _Unfit
    return value


def _path(value: Any) -> Path:  # noqa: ANN401
    if not isinstance(value, str | os.PathLike):
        raise _Unfit
    return Path(value)


def _nothing(value: Any) -> None:  # noqa: ANN401
    if value is not None:
        raise _Unfit


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    float: _number, int: _whole, bool: _truth, str: _text, Path: _path, type(None): _nothing,
}  # fmt: skip


def _tuple(value: Any, inner: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: ANN401
    entries = _sequence(value, Any)
    hints = inner[:1] * len(entries) if inner[-1] is Ellipsis else inner
    if len(entries) != len(hints):
        raise _Unfit
    return tuple(_fit(each, hint) for each, hint in zip(entries, hints, strict=True))


def _sequence(value: Any, inner: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray) or not hasattr(value, "__len__"):
        raise _Unfit
    if isinstance(value, np.ndarray) and value.ndim == 0:
        raise _Unfit
    if inner is not Any:
        for each in value:
            _fit(each, inner)
    return value


def described(hint: Any, *, many: bool = False) -> str:  # noqa: ANN401
    """Say what an annotation allows, of one value or of many.

    >>> described(float | None), described(Sequence[int]), described(Sequence[tuple[int, int]])
    ('a number or None', 'a sequence of whole numbers', 'a sequence of pairs of whole numbers')
    >>> described(float | str | None | Sequence[float | Sequence[float | str]])
    'a number, a text, None or a sequence of these'
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {Union, types.UnionType}:
        nested = [each for each in inner if typing.get_origin(each) in _SEQUENCES]
        scalars = set().union(*(_leaves(each) for each in inner if each not in nested))
        repeated = [each for each in nested if len(scalars) > 1 and _leaves(each) <= scalars]
        words = [described(each, many=many) for each in inner if each not in repeated]
        words += ["sequences of these" if many else "a sequence of these"] if repeated else []
        *first, last = dict.fromkeys(words)
        return f"{', '.join(first)} or {last}" if first else last
    contains = origin in _SEQUENCES
    if origin is tuple and len(inner) == 2 and inner[-1] is not Ellipsis:
        word = "a pair"
    elif contains:
        word = "a sequence"
    else:
        name = getattr(origin or hint, "__name__", str(hint))
        word = _WORDS.get(hint) or f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {_KINDS.get(name, name)}"
    if many and word.startswith(("a ", "an ")):
        word = word.split(" ", 1)[-1]
        word = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    entries = [each for each in inner if each is not Ellipsis and each is not Any] if contains else []
    of = dict.fromkeys(described(each, many=True) for each in entries)
    return f"{word} of {' and '.join(of)}" if of else word


def _leaves(hint: Any) -> set[Any]:  # noqa: ANN401
    """Return what an annotation's sequences hold, at any depth; itself where it is none."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin not in {Union, types.UnionType, *_SEQUENCES}:
        return set() if isinstance(hint, typing.ForwardRef) or hint is Ellipsis else {origin or hint}
    return set().union(*map(_leaves, inner))


_SEQUENCES = {Sequence, list, tuple}
_KINDS = {"Mapping": "mapping", "ndarray": "NumPy array", "Callable": "function"}
