"""A time limit for work on loop nests: whoever asks for the work sets it, and what may take long looks at it."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tilewright.base.errors import UsageError

LATE = "the time was over"  # what is said of work that the end of the time cut short
_left: ContextVar[Callable[[], float] | None] = ContextVar("left", default=None)


class TimeUpError(UsageError):
    """The time for work on a loop nest is over."""


@contextmanager
def limited(left: Callable[[], float]) -> Iterator[None]:
    """Let work on loop nests end with a :class:`TimeUpError` when no seconds are left; the innermost limit counts."""
    token = _left.set(left)
    try:
        yield
    finally:
        _left.reset(token)


def check_time() -> None:
    """Raise a :class:`TimeUpError` if the time is over."""
    left = _left.get()
    if (math.inf if left is None else left()) <= 0:
        raise TimeUpError(f"{LATE} before the loops were analysed", "give more --seconds")
