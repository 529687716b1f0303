"""The warnings a user sees. They point at the line of the user's that led to them, however deep they arise."""

import inspect
import os
import threading
import warnings
from pathlib import Path

from tilewright.base.deprecations import DEPRECATIONS, WENT_IN, TilewrightDeprecationWarning
from tilewright.base.errors import TilewrightWarning

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_seen: set[str] = set()
_lock = threading.Lock()


def warn(message: str, category: type[TilewrightWarning] = TilewrightWarning) -> None:
    """Warn, at the innermost line outside this package."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_once(message: str, category: type[TilewrightWarning] = TilewrightWarning) -> None:
    """Warn, once per process and message."""
    with _lock:
        if message in _seen:
            return
        _seen.add(message)
    warn(message, category)


def warn_of(name: str) -> None:
    """Warn, once per process, that something goes: a name of :data:`tilewright.base.deprecations.DEPRECATIONS`."""
    warn_once(str(DEPRECATIONS[name]), TilewrightDeprecationWarning)


def warn_skipped(count: int, where: str) -> None:
    """Warn of entries of a file that name tiling families which are gone, if there are any."""
    if count:
        entries = "1 entry" if count == 1 else f"{count} entries"
        warn_once(f"{where}: skipped {entries} of tiling families that were removed in version {WENT_IN}")


def forget_warnings() -> None:
    """Let every warning be given again (for tests)."""
    with _lock:
        _seen.clear()
