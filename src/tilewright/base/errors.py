"""The errors a user sees: one sentence each, with a hint.

Every error states what was expected, what was got (quoted) and where, and offers a hint. The command line prints
``str(error)`` and exits with :attr:`TilewrightError.exit_status`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_LONGEST = 500


class TilewrightError(Exception):
    """Base class of every error that tilewright raises on purpose.

    Args:
        message: One sentence: what was expected and what was got.
        hint: What to do about it, or an empty string.
    """

    exit_status = 1

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = sentence(message)
        self.hint = sentence(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


class UsageError(TilewrightError, ValueError):
    """A name, option or value that cannot be used; exit status 2."""

    exit_status = 2


class TraceError(UsageError):
    """A stencil function that cannot be traced."""


class ArrayError(UsageError):
    """An array whose rank, shape, dtype or layout does not fit the program."""


class IllegalTilingError(UsageError):
    """A tiling that breaks a dependence of the program or does not apply to it."""


class IllegalTransformError(UsageError):
    """A transformation of loops that breaks a dependence, which the message names, or does not apply."""


class ToolchainError(TilewrightError):
    """A compiler that is missing, or that failed."""


class DeviceError(ToolchainError):
    """A device that failed while it ran: an access outside its memory, a launch that it refuses. It may be unusable."""


class SpillsError(ToolchainError):
    """A kernel whose values do not fit into registers."""


class WrongResultError(TilewrightError):
    """A computed result outside its rounding bound."""


class TilewrightWarning(UserWarning):
    """Something works less well than it could; the message says what to do about it."""


def sentence(text: str) -> str:
    """Make a text one line of bounded length: what it quotes may be anything.

    >>> sentence(" what  " + chr(10) + "it said")
    'what it said'
    """
    line = " ".join(filter(None, map(str.strip, text.splitlines())))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"


def one_of(name: str, value: object, choices: Iterable[object], hint: str = "") -> None:
    """Refuse a value that is none of several.

    >>> one_of("the metric", "speed", ("time", "energy"))
    Traceback (most recent call last):
    tilewright.base.errors.UsageError: the metric is one of time, energy, got 'speed'
    """
    known = list(choices)
    if value not in known:
        raise UsageError(f"{name} is one of {', '.join(map(str, known))}, got {value!r:.60}", hint)


@contextmanager
def told(what: str, hint: str = "") -> Iterator[None]:
    """Say what cannot be done, and the first line of why, where other libraries and the system fail at it.

    Raises:
        ArrayError: In place of whatever a block raises, but errors of ours.

    >>> with told("the file cannot be read"):
    ...     raise EOFError("it ends")
    Traceback (most recent call last):
    tilewright.base.errors.ArrayError: the file cannot be read: it ends
    """
    try:
        yield
    except TilewrightError:
        raise
    except Exception as error:  # noqa: BLE001  (readers of files raise whatever their codecs do)
        said = getattr(error, "strerror", None) or str(error).strip().partition("\n")[0] or type(error).__name__
        raise ArrayError(f"{what}: {said}", hint) from None
