"""The parent's end of a worker."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from case import Case

CACHES = ("XDG_CACHE_HOME", "TILEWRIGHT_CACHE", "NUMBA_CACHE_DIR")
"""Variables that say where a contender keeps what it has compiled."""


class WorkerError(Exception):
    """A worker that reported an error or died."""


class Worker:
    """A contender's process.

    Args:
        contender: Name of the contender.
        threads: Threads it may use.
        cache: An empty directory for every cache, so that compile latencies are those of a first use.
    """

    def __init__(self, contender: str, threads: int, cache: Path) -> None:
        self.contender = contender
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        limits = {
            "OMP_NUM_THREADS": str(threads),
            "NUMBA_NUM_THREADS": str(threads),
            "HL_NUM_THREADS": str(threads),
            "OMP_DYNAMIC": "false",
        }
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **limits, **{name: str(cache) for name in CACHES}},
        )

    def ask(self, **request: object) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            WorkerError: If the worker reports an error or is gone.
        """
        assert self.process.stdin is not None  # noqa: S101
        assert self.process.stdout is not None  # noqa: S101
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(f"{self.contender} died, status {self.process.wait()}") from None
        line = self.process.stdout.readline()
        if not line:
            raise WorkerError(f"{self.contender} died, status {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(f"{self.contender}: {answer['error']}")
        return answer

    def setup(self, case: Case, *, run: bool = True) -> dict[str, Any]:
        """Ask it to prepare a case, and to run it once."""
        return self.ask(do="setup", contender=self.contender, case=case.to_dict(), run=run)

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
