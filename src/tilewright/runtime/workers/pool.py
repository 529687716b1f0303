"""Worker processes for what may crash, hang or exhaust memory: each call has a time limit, each death is an outcome.

A worker is a fresh interpreter in a session of its own, never a fork (a forked OpenMP library can hang). A dead one is
replaced and takes nothing with it.

What travels on the pipes is pickled. That is safe here and only here: both ends are this package, run by the same user,
so that a worker gains nothing by what its parent unpickles; nothing that came from a file or from somebody else is ever
unpickled. A kernel that writes where it must not can still damage an answer, which then counts as a crash.
"""

import os
import pickle
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tilewright.base.records import Outcome
from tilewright.runtime.host import thread_count
from tilewright.runtime.workers.worker import FOLDER_VARIABLE, LENGTH, MEMORY_VARIABLE, READY, frame, stack_bytes

START_SECONDS = 30.0  # what a fresh worker may take to start up, before the time of its first call runs
_CHUNK = 2**20
_MOST_SAID = 300  # bytes of a last line that are quoted
_ERRORS = "stderr"  # what a worker, its compilers and libraries write to standard error during a call, in its folder
_DAMAGED = "the answer of the process was damaged"
_BROKEN = "DeviceError"  # after this error a process may have lost its device for good: the next call gets a fresh one
_OUTCOMES = {
    "UsageError": Outcome.ILLEGAL,
    "IllegalTilingError": Outcome.ILLEGAL,
    "TraceError": Outcome.ILLEGAL,
    "ToolchainError": Outcome.COMPILE,
    "DeviceError": Outcome.LAUNCH,
    "SpillsError": Outcome.SPILLS,
    "WrongResultError": Outcome.WRONG,
    "ArrayError": Outcome.LAUNCH,
    "MemoryError": Outcome.LAUNCH,
    "OSError": Outcome.LAUNCH,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How a call ended."""

    value: Any = None  # what it returned, where the outcome is ``ok``
    # ``ok``; ``illegal``, ``compile``, ``launch`` or ``wrong`` after the error that it raised; ``crash`` if its process
    # died; ``timeout`` if it was ended at its limit
    outcome: Outcome = Outcome.OK
    detail: str = ""  # one sentence about a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class _Process:
    """A process and its pipes."""

    popen: "subprocess.Popen[bytes]"
    requests: IO[bytes]
    replies: IO[bytes]


@dataclass(slots=True, kw_only=True)
class _Worker:
    """One process and the call that it is running."""

    folder: Path
    memory: int | None
    process: "_Process | None" = None
    buffer: bytearray = field(default_factory=bytearray)
    job: int = 0
    deadline: float = 0.0
    limit: float = 0.0

    def begin(self, job: int, request: bytes, limit: float) -> None:
        """Start a call, and the process first if there is none."""
        fresh = self.process is None
        process = self.process = self.process or _spawn(self.folder, self.memory)
        self.job, self.limit = job, limit
        self.buffer.clear()
        self.deadline = time.monotonic() + (START_SECONDS if fresh else limit)
        with suppress(OSError):
            os.truncate(self.folder / _ERRORS, 0)
        with suppress(BrokenPipeError):
            process.requests.write(request)
            process.requests.flush()

    def receive(self) -> Reply | None:
        """Take what is on the pipe; return the reply when it is complete or the process has died."""
        data = b"" if self.process is None else os.read(self.process.replies.fileno(), _CHUNK)
        if not data:
            return self._died()
        self.buffer += data
        while len(self.buffer) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self.buffer)[0]
            if len(self.buffer) < end:
                break
            kind, value = _unpack(bytes(self.buffer[LENGTH.size : end]))
            del self.buffer[:end]
            if kind != READY:
                if kind in {_BROKEN, _DAMAGED}:
                    self._end()
                if kind == "value":
                    return Reply(value=value)
                return Reply(outcome=_OUTCOMES.get(kind, Outcome.CRASH), detail=str(value) or kind)
            self.deadline = time.monotonic() + self.limit
        return None

    def _died(self) -> Reply:
        line = self._last_line()
        status = self._end()
        with suppress(ValueError):
            return Reply(outcome=Outcome.CRASH, detail=f"the process was ended by {signal.Signals(-status).name}")
        reason = f": {line}" if line else ""
        return Reply(outcome=Outcome.CRASH, detail=f"the process exited with status {status}{reason}")

    def _last_line(self) -> str:
        """Return the last line of what the process wrote in this call: a library that ends it says why."""
        with suppress(OSError), (self.folder / _ERRORS).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_SAID))
            return file.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return ""

    def expire(self) -> Reply:
        self._end()
        return Reply(outcome=Outcome.TIMEOUT, detail=f"it did not finish in {self.limit:g} s")

    def _end(self) -> int:
        """End the process, its threads and its compilers, and remove their files; return its exit status."""
        process, self.process = self.process, None
        if process is None:
            return 0
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.popen.pid, signal.SIGKILL)
        status = process.popen.wait()
        for pipe in (process.requests, process.replies):
            with suppress(BrokenPipeError):
                pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return status

    close = _end


def _unpack(answer: bytes) -> tuple[str, Any]:
    try:
        kind, value = pickle.loads(answer)  # noqa: S301  (our own worker's pipe)
    except Exception:  # noqa: BLE001  (what is damaged can raise anything)
        return _DAMAGED, ""
    return (kind, value) if isinstance(kind, str) else (_DAMAGED, "")


class WorkerPool:
    """Some worker processes; see :func:`pool`."""

    def __init__(self, workers: Sequence[_Worker]) -> None:
        self._workers = tuple(workers)

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], limit: float) -> list[Reply]:
        """Call a module's function once per argument tuple, one at a time per worker; the replies are in order."""
        waiting = [(number, frame((function, each))) for number, each in reversed(list(enumerate(arguments)))]
        replies: dict[int, Reply] = {}
        idle = list(self._workers)
        busy: list[_Worker] = []
        while waiting or busy:
            while waiting and idle:
                worker = idle.pop(0)
                worker.begin(*waiting.pop(), limit)
                busy.append(worker)
            for worker, reply in _progress(busy):
                replies[worker.job] = reply
                busy.remove(worker)
                idle.append(worker)
        return [replies[number] for number in range(len(arguments))]

    def call(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Reply:  # noqa: ANN401
        """Call a function in the first worker, which keeps what the function keeps in its module."""
        return WorkerPool(self._workers[:1]).map(function, [arguments], limit)[0]

    def close(self) -> None:
        """End every process."""
        for worker in self._workers:
            worker.close()


@contextmanager
def pool(count: int, memory: int | None = None) -> Iterator[WorkerPool]:
    """Make a pool; its processes, each of ``memory`` bytes at most, start when first needed and end with the block."""
    folder = Path(tempfile.mkdtemp(prefix="tilewright-"))
    workers = WorkerPool([_Worker(folder=folder / str(number), memory=memory) for number in range(max(1, count))])
    try:
        yield workers
    finally:
        workers.close()
        shutil.rmtree(folder, ignore_errors=True)


def _progress(busy: Sequence[_Worker]) -> Iterator[tuple[_Worker, Reply]]:
    """Wait until something happens; yield the calls that ended."""
    with selectors.DefaultSelector() as selector:
        for worker in busy:
            if worker.process is not None:
                selector.register(worker.process.replies, selectors.EVENT_READ, worker)
        patience = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
        ready = [key.data for key, _ in selector.select(patience)]
    for worker in list(busy):
        if worker in ready:
            reply = worker.receive()
        else:
            reply = worker.expire() if time.monotonic() >= worker.deadline else None
        if reply is not None:
            yield worker, reply


def _spawn(folder: Path, memory: int | None) -> _Process:
    folder.mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder), FOLDER_VARIABLE: str(folder)}
    environment["PYTHONPATH"] = os.pathsep.join(part for part in sys.path if part)
    if memory is not None:
        # Of the stacks of threads little is ever used, but all of it counts as addresses.
        environment[MEMORY_VARIABLE] = str(memory + thread_count() * stack_bytes())
    with (folder / _ERRORS).open("ab") as errors:
        popen = subprocess.Popen(
            # -P: modules come from our own path and never from the current folder.
            (sys.executable, "-P", "-m", "tilewright.runtime.workers.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            env=environment,
        )
    if popen.stdin is None or popen.stdout is None:
        raise OSError("a process without pipes was started")
    return _Process(popen=popen, requests=popen.stdin, replies=popen.stdout)
