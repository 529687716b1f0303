"""The warnings a user sees."""

import threading
import warnings

from tilewright.base.errors import TilewrightWarning

_seen: set[str] = set()
_lock = threading.Lock()


def warn_once(message: str) -> None:
    """Warn, once per process and message."""
    with _lock:
        if message in _seen:
            return
        _seen.add(message)
    warnings.warn(message, TilewrightWarning, stacklevel=3)


def forget_warnings() -> None:
    """Let every warning be given again (for tests)."""
    with _lock:
        _seen.clear()
