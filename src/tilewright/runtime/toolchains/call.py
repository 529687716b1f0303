"""Calls of compilers, which leave nothing behind however they end: no process, no file of their own."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

# The shell limits itself and becomes the compiler, so no moment is left in which a compiler runs without its limit.
_LIMITED = ("/bin/sh", "-c", 'ulimit -v "$0" 2>/dev/null; exec "$@"')


def call(
    arguments: Sequence[str], seconds: float, folder: str | None = None, memory: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a compiler; on Linux each of its processes may take ``memory`` bytes.

    A driver that is killed leaves the compiler that it started running and their temporary files where they are; so
    these are put into a folder of the caller's, and both are killed.
    """
    environment = {**os.environ, "LC_ALL": "C"} | ({} if folder is None else {"TMPDIR": folder})
    command = tuple(arguments)
    if memory is not None and sys.platform == "linux":
        if shutil.which(command[0]) is None:
            raise FileNotFoundError(f"no such program: {command[0]}")
        command = (*_LIMITED, str(memory // 1024), *command)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
    ) as process:
        try:
            out, said = process.communicate(timeout=seconds)
        except BaseException:
            for child in _children(process.pid):
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, out, said)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except (OSError, ValueError):  # another system, or one that does not tell
        return []
