"""The errors a user sees: one sentence each, with a hint.

Every error states what was expected, what was got (quoted) and where, and offers a hint: a name that is nearly right,
the extra that brings a library. The command line prints ``str(error)`` and exits with
:attr:`TilewrightError.exit_status`.
"""

import difflib
import sys
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


def quoted(value: object) -> str:
    """Write a value so that a sentence can hold it: sixty letters of it at most.

    >>> quoted("a" * 100)[-3:]
    'aa…'
    """
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def one_of(name: str, value: object, choices: Iterable[object], hint: str = "") -> None:
    """Refuse a value that is none of several.

    >>> one_of("the metric", "speed", ("time", "energy"))
    Traceback (most recent call last):
    tilewright.base.errors.UsageError: the metric is one of time, energy, got 'speed'
    """
    values = list(choices)
    if value not in values:
        raise UsageError(f"{name} is one of {', '.join(map(str, values))}, got {value!r:.60}", hint)


@contextmanager
def told(failure: str, hint: str = "") -> Iterator[None]:
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
        reason = getattr(error, "strerror", None) or str(error).strip().partition("\n")[0] or type(error).__name__
        raise ArrayError(f"{failure}: {reason}", hint) from None


def meant(name: str, candidates: Iterable[str], otherwise: str = "") -> str:
    """Return a hint at known names that are like one that is not, or what is to be said where there are none.

    A name whose consonants are those that a known one begins with is short for it; else what is alike is meant.

    >>> meant("het2d", ["heat2d", "wave2d"]), meant("x", ["heat2d"], "see the list")
    ('did you mean heat2d?', 'see the list')
    >>> meant("bnd", ["backend", "boundary"])
    'did you mean boundary?'
    """
    names = list(candidates)
    start = _consonants(name)
    short = [each for each in names if len(start) > 1 and _consonants(each).startswith(start)]
    close = difflib.get_close_matches(name, short, n=3, cutoff=0.0) or difflib.get_close_matches(name, names, n=3)
    return f"did you mean {' or '.join(close)}?" if close else otherwise


def _consonants(name: str) -> str:
    """The first letter of a name and everything after it but vowels, in small letters."""
    small = name.lower()
    return small[:1] + "".join(letter for letter in small[1:] if letter not in "aeiou")


class MissingLibraryError(UsageError, ModuleNotFoundError):
    """A library that is missing or too old, with the extra that brings it; also a ``ModuleNotFoundError``."""


@contextmanager
def needed(
    library: str,  # the name under which it is imported
    user: str,  # what needs it
    extra: str = "",  # of ``pyproject.toml``; named as the library by default
) -> Iterator[None]:
    """Say which extra brings a library, where the imports of a block do not find it.

    Where a library is missing that this one needs, that error stays.

    >>> with needed("jax", "tilewright.jax"):
    ...     raise ModuleNotFoundError("No module named 'jax'", name="jax")
    Traceback (most recent call last):
    tilewright.base.errors.MissingLibraryError: tilewright.jax needs jax, which is not installed (hint: pip install "tilewright[jax]")
    """  # noqa: E501  (a doctest's line is not broken)
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise
        absent = error.name == library or sys.modules.get(library) is None  # else it is too old
        state = "which is not installed" if absent else f"whose version here has no {error.name}"
        missing = MissingLibraryError(
            f"{user} needs {library}, {state}", f'pip install "tilewright[{extra or library}]"'
        )
        missing.name = error.name
        raise missing from None
