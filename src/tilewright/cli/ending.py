"""Ctrl-C and SIGTERM end a command soon, also while a kernel computes and Python's own handlers cannot run."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE = 1.0
"""Seconds in which the main thread may answer a signal by itself, as it does wherever it is not inside a kernel."""
_PLAIN = (signal.SIG_DFL, signal.default_int_handler)


@contextmanager
def at_signals() -> Iterator[None]:
    """Let SIGTERM end the block like Ctrl-C, with a ``KeyboardInterrupt``; where no Python runs, end the process.

    The kernel that is left has no files open and nothing half written: results are written after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    answered = threading.Event()

    def answer(_number: int, _frame: FrameType | None) -> None:
        answered.set()
        raise KeyboardInterrupt

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # A signal that whoever started the command has silenced stays silent.
    taken = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) in _PLAIN]
    before = {number: signal.signal(number, answer) for number in taken}
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading, answered, answer), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writing)


def _watch(reading: int, answered: threading.Event, ours: object) -> None:
    """End the process where a signal stays without an answer; ends itself when nobody writes any more."""
    with os.fdopen(reading, "rb", buffering=0) as arrived:
        while number := arrived.read(1):
            if signal.getsignal(number[0]) is ours and not answered.wait(GRACE):
                os._exit(128 + number[0])
