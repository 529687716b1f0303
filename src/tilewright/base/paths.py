"""Paths as callers give them."""

import os
from pathlib import Path

from tilewright.base.errors import UsageError


def as_path(value: object, name: str) -> Path:
    """Return a path that a caller gave, whether or not anything is there.

    Args:
        value: What was given.
        name: What it is, for the message.

    Raises:
        UsageError: If it is none that a system may have.

    >>> as_path("u.npy", "the result").suffix
    '.npy'
    """
    if not isinstance(value, str | os.PathLike) or value == "":
        raise UsageError(f"{name} is a path, got {value!r:.60}")
    try:
        path = Path(value)
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError, TypeError) as error:  # a name that is too long, or with a NUL
        said = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{name} is a path, got {value!r:.60}: {said}") from None
    return path
