"""A worker process: ``python -m tilewright.runtime.workers.worker`` runs what its parent sends it, one call at a time.

Requests and replies are frames on the pipes it was started with: a length, then a pickled value. The process ends with
its parent: when the pipe closes, even in the middle of a kernel, it ends its compilers, removes its temporary files
and exits. Why they may be pickled: :mod:`tilewright.runtime.workers.pool`.
"""

import os
import pickle
import queue
import shutil
import signal
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tilewright.base.errors import TilewrightError

MEMORY_VARIABLE = "TILEWRIGHT_WORKER_BYTES"  # environment variable with the most address space that the process may use
FOLDER_VARIABLE = "TILEWRIGHT_WORKER_FOLDER"
"""Environment variable with the folder of the process's temporary files, which it removes when its parent is gone."""
LENGTH = struct.Struct("<Q")  # the head of a frame: the number of bytes that follow
READY = "ready"  # kind of the first frame, which says that calls can begin
_FIRST_VICTIM = "1000"  # what the system is told, so that it ends this process first when memory runs out


def frame(value: object) -> bytes:
    """Return a value as a frame."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def main() -> None:
    """Run calls until the pipe closes."""
    requests, replies = _private_pipes()
    _prepare()
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, calls), daemon=True).start()
    reply: tuple[str, Any] = (READY, None)
    while True:
        with suppress(BrokenPipeError):
            replies.write(frame(reply))
            replies.flush()
        reply = _answer(calls.get())


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the pipes to ourselves: whatever a library prints goes to standard error."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests, replies


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A handler, unlike SIG_IGN, is not inherited by compilers: those end on SIGTERM.
    signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_VICTIM, encoding="ascii")
    set_limit("RLIMIT_CORE", 0, 0)
    limit = os.environ.get(MEMORY_VARIABLE, "")
    if limit.isdecimal():
        set_limit("RLIMIT_AS", int(limit), int(limit))


def _listen(requests: IO[bytes], calls: "queue.SimpleQueue[bytes]") -> None:
    try:
        while head := requests.read(LENGTH.size):
            calls.put(requests.read(LENGTH.unpack(head)[0]))
    finally:
        _leave()


def _leave() -> None:
    """End our compilers, remove our temporary files, and exit without waiting for the call in progress."""
    with suppress(OSError):
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGTERM)
    folder = os.environ.get(FOLDER_VARIABLE, "")
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            Path(folder).parent.rmdir()  # the last worker of a parent that was killed
    os._exit(0)


def _answer(request: bytes) -> tuple[str, Any]:
    try:
        function, arguments = pickle.loads(request)  # noqa: S301  (a pipe from our own parent, never a file)
        return "value", function(*arguments)
    except TilewrightError as error:
        return type(error).__name__, error.message
    except MemoryError:
        return "MemoryError", "there is not enough memory"
    except Exception as error:  # noqa: BLE001  (the parent decides what it means)
        return type(error).__name__, str(error)


def set_limit(name: str, soft: int, hard: int | None = None) -> None:
    """Limit a resource of this process, named as in :mod:`resource`; nothing happens where the system refuses it."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        kind = getattr(resource, name)
        resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1] if hard is None else hard))


def stack_bytes() -> int:
    """Addresses that a thread's stack takes, where this process limits them; 0 where it does not, or is not asked."""
    with suppress(ImportError):
        import resource

        return max(0, resource.getrlimit(resource.RLIMIT_STACK)[0])  # "no limit" is -1: threads then take 2 MiB
    return 0


if __name__ == "__main__":
    main()
