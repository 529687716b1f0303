"""Libraries that extras bring: one sentence where one is missing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tilewright.base.errors import UsageError


class MissingLibraryError(UsageError, ModuleNotFoundError):
    """A library that is missing or too old, with the extra that brings it; also a ``ModuleNotFoundError``."""


@contextmanager
def needed(
    library: str,  # the name under which it is imported
    what: str,  # what needs it
    extra: str = "",  # of ``pyproject.toml``; named as the library by default
) -> Iterator[None]:
    """Say which extra brings a library, where the imports of a block do not find it.

    Where a library is missing that this one needs, that error stays.

    >>> with needed("jax", "tilewright.jax"):
    ...     raise ModuleNotFoundError("No module named 'jax'", name="jax")
    Traceback (most recent call last):
    tilewright.base.extras.MissingLibraryError: tilewright.jax needs jax, which is not installed (hint: pip install "tilewright[jax]")
    """  # noqa: E501  (a doctest's line is not broken)
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise
        absent = error.name == library or sys.modules.get(library) is None  # else it is too old
        state = "which is not installed" if absent else f"whose version here has no {error.name}"
        missing = MissingLibraryError(
            f"{what} needs {library}, {state}", f'pip install "tilewright[{extra or library}]"'
        )
        missing.name = error.name
        raise missing from None
