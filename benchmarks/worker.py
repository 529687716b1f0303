"""A contender in its own process: one JSON document per line in and out.

The parent sends ``{"do": "setup", "contender": …, "case": …, "run": …}``, ``{"do": "choose"}``, ``{"do": "save",
"path": …}``, ``{"do": "run"}`` and ``{"do": "quit"}``; every request is answered by one line. Whatever libraries print
goes to standard error.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


class _Session:
    def __init__(self) -> None:
        self.contender: Any = None

    def setup(self, request: dict[str, Any]) -> dict[str, Any]:
        """Import, generate, compile and, if asked to, run once; the parts are timed apart."""
        begin = time.perf_counter()
        from case import Case
        from rivals import UnavailableError, create

        try:
            self.contender = create(request["contender"], Case.from_dict(request["case"]))
            ready = time.perf_counter()
            self.contender.prepare()
            compiled = time.perf_counter()
            if request["run"]:
                self.contender.run()
        except (ImportError, UnavailableError) as error:
            return {"skip": str(error)}
        return {
            "import_seconds": ready - begin,
            # A contender that tries several forms says itself how long its chosen one took.
            "compile_seconds": getattr(self.contender, "compile_seconds", compiled - ready),
            "first_run_seconds": time.perf_counter() - compiled,
            "describe": self.contender.describe(),
        }

    def choose(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let a contender of several forms find out which is fastest."""
        del request
        if hasattr(self.contender, "choose"):
            self.contender.choose()
        return {"describe": self.contender.describe()}

    def save(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write the arrays of the last run into a folder, one ``.npy`` file per field."""
        result = self.contender.result()
        for field, array in result.items():
            np.save(Path(request["path"], f"{field}.npy"), array)
        return {"fields": list(result)}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run once more, or ``count`` times one after the other; all that is returned is of one run.

        ``seconds`` is the whole call, ``cpu_seconds`` what all its threads computed (or waited busily),
        ``kernel_seconds`` what the contender reports of it.
        """
        count = request.get("count", 1)
        faults, used, begin = _faults(), time.process_time(), time.perf_counter()
        for _ in range(count):
            kernel = self.contender.run()
        seconds = (time.perf_counter() - begin) / count
        cpu_seconds = (time.process_time() - used) / count
        faults = (_faults() - faults) // count
        return {"seconds": seconds, "cpu_seconds": cpu_seconds, "kernel_seconds": kernel, "page_faults": faults}


def _faults() -> int:
    """Pages that the system had to find for this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def main() -> None:
    """Answer requests until ``quit`` or the end of the input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    session = _Session()
    verbs = {"setup": session.setup, "choose": session.choose, "save": session.save, "run": session.run}
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "quit":
            break
        try:
            answer = verbs[request["do"]](request)
        except Exception as error:  # noqa: BLE001  (the parent shows it and goes on with the others)
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
