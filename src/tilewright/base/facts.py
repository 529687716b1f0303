"""Facts of values: computed once, and kept with the value that they are of.

A table of facts by value would have to hash and compare programs of thousands of operations, and would keep them alive.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

Value = TypeVar("Value", bound="Facts")
Others = ParamSpec("Others")
Result = TypeVar("Result")


class Facts:
    """A frozen dataclass that keeps what is found of it; copies, and what other processes get, are without."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone."""
        assert dataclasses.is_dataclass(self)  # noqa: S101  (no other class inherits it)
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}


def fact(find: Callable[Concatenate[Value, Others], Result]) -> Callable[Concatenate[Value, Others], Result]:
    """Make a function find something of a value only once, for each set of further arguments, which are hashed.

    For what a higher layer knows of a value; what its own module knows is a cached property.
    """

    @functools.wraps(find)
    def remembered(value: Value, /, *args: Others.args, **named: Others.kwargs) -> Result:
        facts: dict[Any, Any] = value.__dict__.setdefault("_facts", {})
        key = (find, args, *named.items())
        if key not in facts:
            facts[key] = find(value, *args, **named)
        result: Result = facts[key]
        return result

    return remembered
