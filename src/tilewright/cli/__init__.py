"""The command line: parse, call ``verbs``, show. One file per group of commands, no logic."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE = 1.0
"""Seconds in which the main thread may answer a signal by itself: Python's handlers run between its own steps, and in
kernels between tiles, but not in what other libraries compute."""
_PLAIN = (signal.SIG_DFL, signal.default_int_handler)


def main() -> None:
    """Run the command line; the entry point of the ``tilewright`` command."""
    from tilewright.base.deprecations import TilewrightDeprecationWarning

    if not sys.warnoptions:  # Python shows these to developers alone
        warnings.simplefilter("default", TilewrightDeprecationWarning)
    warnings.showwarning = _show_warning
    try:
        with at_signals():
            from tilewright.cli.app import app

            app(prog_name="tilewright")
    except KeyboardInterrupt:  # while the command line itself was still being loaded
        raise SystemExit(128 + signal.SIGINT) from None


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line; where in the code it was raised helps no user."""
    from tilewright.cli import output

    output.note(f"warning: {message}")


@contextmanager
def at_signals() -> Iterator[None]:
    """Let SIGTERM end the block like Ctrl-C, with a ``KeyboardInterrupt``; where no Python runs, end the process.

    What is left then has no files open and nothing half written: results are written after it. The status of a command
    that a signal ended is 128 and the signal's number: 130, or 143.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    answered, ended = threading.Event(), []

    def answer(number: int, _frame: FrameType | None) -> None:
        ended.append(128 + number)
        answered.set()
        raise KeyboardInterrupt

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # A signal that whoever started the command has silenced stays silent.
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) in _PLAIN]
    before, woken = {number: signal.getsignal(number) for number in numbers}, -1
    try:
        for number in numbers:
            signal.signal(number, answer)
        woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=_watch, args=(reading, answered, answer), daemon=True).start()
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        # What stops at a signal in its own way, such as a tuning with its best so far, ends well.
        if ended and (isinstance(end, KeyboardInterrupt) or end.code == 128 + signal.SIGINT):
            raise SystemExit(ended[0]) from None
        raise
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
