"""Runs tests in children of a process that has everything but the package imported: imports cost most of a short test.

Reads a JSON object per line (``arguments`` of pytest, ``seconds`` of processor time, ``output``, and variables of the
``environment`` where some are to be set); prints the status.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback

MEMORY = 8 * 2**30
FAILED = 70
"""Exit status where pytest itself could not be run."""
_FREQUENT = (
    "pytest", "numpy", "hypothesis", "hypothesis.strategies", "scipy.ndimage", "scipy.sparse", "islpy", "pycparser",
    "rich.console", "typer", "concurrent.futures", "ctypes", "_pytest.python", "_pytest.assertion.rewrite",
)  # fmt: skip


def _child(request: dict[str, object]) -> int:
    """Run pytest with limits; a pause of the machine does not count."""
    import pytest

    os.setsid()
    environment = request.get("environment", {})
    assert isinstance(environment, dict)
    os.environ.update(environment)
    seconds = int(str(request["seconds"]))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    output = os.open(str(request["output"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
    arguments = request["arguments"]
    assert isinstance(arguments, list)
    # Modules of plugins are there already, and what a fork left open is closed late: neither is the package's fault.
    ignored = ("PytestAssertRewriteWarning", "PytestUnraisableExceptionWarning")
    options = [word for name in ignored for word in ("-W", f"ignore::pytest.{name}")]
    status = int(pytest.main([*options, *map(str, arguments)]))
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _wait(child: int, seconds: float) -> int:
    """Wait for a child; what it started ends with it."""
    end = time.monotonic() + seconds
    status = None
    while status is None and time.monotonic() < end:
        found, value = os.waitpid(child, os.WNOHANG)
        status = os.waitstatus_to_exitcode(value) if found else None
        time.sleep(0.01 if status is None else 0)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
        return -signal.SIGALRM
    return status


def main() -> None:
    """Serve until the input ends."""
    sys.path[0] = ""  # the copy, not this file's folder, whose own folders libraries may take for others of their names
    for name in _FREQUENT:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            status = FAILED
            try:
                status = _child(request)
            except BaseException:  # noqa: BLE001  (a child of a fork may not run what is after this)
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(status)
        sys.stdout.write(f"{_wait(child, 8.0 * request['seconds'])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
