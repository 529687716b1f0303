"""What goes wrong in a worker process: one function per fault. Imported by workers, so it is a module of its own."""

import contextlib
import ctypes
import fcntl
import os
import stat
import sys
import time

from tilewright.base.errors import DeviceError, IllegalTilingError, SpillsError, ToolchainError, WrongResultError
from tilewright.runtime.workers.worker import LENGTH


def act(kind):  # noqa: C901, PLR0912
    """Do as told; returns the kind and the process."""
    if kind == "crash":
        ctypes.string_at(0)
    elif kind == "loop":
        ctypes.CDLL(None).pause()  # in C, with the interpreter's lock released, as a kernel would be
    elif kind == "python loop":
        while True:
            pass
    elif kind == "memory":
        bytearray(2**46)
    elif kind == "junk":
        for pipe in range(3, 64):  # as a kernel that writes where it must not
            with contextlib.suppress(OSError):
                if stat.S_ISFIFO(os.fstat(pipe).st_mode) and fcntl.fcntl(pipe, fcntl.F_GETFL) & os.O_WRONLY:
                    os.write(pipe, LENGTH.pack(4) + b"junk")
    elif kind == "exit":
        os._exit(3)
    elif kind == "illegal":
        raise IllegalTilingError("no such tiling")
    elif kind == "compile":
        raise ToolchainError("no such code")
    elif kind == "device":
        raise DeviceError("CUDA_ERROR_ILLEGAL_ADDRESS")
    elif kind == "spills":
        raise SpillsError("16 bytes of spills")
    elif kind == "wrong":
        raise WrongResultError("off by 3")
    elif kind == "other":
        raise ZeroDivisionError("who knows")
    elif kind == "print":
        sys.stdout.write("noise\n")
        os.write(1, b"more noise\n")
    elif kind == "child":
        import subprocess

        subprocess.Popen(["sleep", "1000"])
        time.sleep(1000)
    return kind, os.getpid()


def limits():
    """Return what the worker sees of its limits."""
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0], os.environ["TMPDIR"]


def large(size):
    """Return more than a pipe holds at once."""
    return b"x" * size


def end_with(words: str) -> None:
    """End the process as a library does that cannot go on."""
    os.write(2, f"{words}\n".encode())
    os._exit(1)
