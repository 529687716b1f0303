"""Processes of tests that need some of their own: forked from one that has imported what they need."""

import contextlib
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_MODULES: list[str] = []
_LONGEST = 120


def prepare(*modules: str) -> None:
    """Import some modules once, for all processes that are started from then on."""
    _MODULES.extend(modules)
    _CONTEXT.set_forkserver_preload(_MODULES)


prepare(__name__, "pytest", "PIL.Image", "h5py", "zarr")
prepare("tilewright.cli.app", "tilewright.cli.run", "tilewright.driver", "tilewright.planner", "tilewright.costs.time")


def _work(environment: dict[str, str], work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    signal.alarm(_LONGEST)  # the end of one that a signal did not reach
    os.environ.update(environment)
    with contextlib.suppress(KeyboardInterrupt):  # what was opened is closed, as in a process that ends by itself
        work(*arguments)


def start(work: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """Start some work, a function of a module; its last argument is where it tells what it has done.

    Returns:
        The process, and the other end of that.
    """
    told, telling = _CONTEXT.Pipe(duplex=False)
    environment = {name: value for name, value in os.environ.items() if name.startswith("TILEWRIGHT")}
    process = _CONTEXT.Process(target=_work, args=(environment, work, (*arguments, telling)))
    process.start()
    telling.close()
    return process, told


def end(process: BaseProcess, told: Connection, number: int | None = None) -> tuple[int | None, str]:
    """Wait for a process, which a signal may end, and return its exit status and all that it told."""
    if number is not None:
        with contextlib.suppress(ProcessLookupError):  # it came to its end before
            os.kill(process.pid, number)
    said = b""
    while more := os.read(told.fileno(), 9999):
        said += more
    told.close()
    process.join()
    assert process.exitcode != -signal.SIGALRM, "a process never ended"
    return process.exitcode, said.decode()


def run(work: Callable[..., None], *arguments: Any) -> tuple[int | None, str]:
    """Let a process do some work, and return its exit status and what it told."""
    return end(*start(work, *arguments))


def execute(text: str, told: Connection) -> None:
    """Do what ``python -W error -c`` does with a text, and tell what it prints."""
    warnings.simplefilter("error")
    with open(told.fileno(), "w", closefd=False) as stream, contextlib.redirect_stdout(stream):
        exec(text, {"__name__": "__main__"})  # noqa: S102  (a test's own)


def tell(told: Connection, text: object) -> None:
    """Tell something at once."""
    os.write(told.fileno(), f"{text} ".encode())
