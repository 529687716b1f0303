"""Oclgrind as the only OpenCL device of the programs that annotated regions become.

Those programs are linked with the system's OpenCL loader, which reads its list of platforms from a folder; the
interpreter says what it finds, races and accesses out of bounds, in a file.
"""

import contextlib
import importlib.util
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilewright.base.errors import ToolchainError

INSTALL = "pip install 'tilewright[opencl]'"
_LOCAL_BYTES = 256 * 1024


@dataclass(slots=True)
class OclgrindReport:
    """What Oclgrind writes down."""

    path: Path
    _read: int = 0

    def news(self) -> str:
        """Return the first new line since the last call, or nothing."""
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        fresh, self._read = text[self._read :], len(text)
        return next((line.strip() for line in fresh.splitlines() if line.strip()), "")


def library() -> Path:
    """Return Oclgrind's library."""
    spec = importlib.util.find_spec("pyopencl")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        for found in sorted(Path(place).rglob("liboclgrind-rt-icd*.so")):
            return found
    raise ToolchainError("Oclgrind is not installed", INSTALL)


@contextlib.contextmanager
def only_oclgrind() -> Iterator[OclgrindReport]:
    """Let programs that are started meanwhile see Oclgrind and no other platform."""
    where = library()
    with tempfile.TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True) as folder:
        (Path(folder) / "oclgrind.icd").write_text(f"{where}\n", encoding="utf-8")
        report = OclgrindReport(Path(folder) / "report.txt")
        values = {
            "OCL_ICD_VENDORS": folder,
            "OCLGRIND_DATA_RACES": "1",
            "OCLGRIND_LOCAL_MEM_SIZE": str(_LOCAL_BYTES),
            "OCLGRIND_LOG": str(report.path),
        }
        before = {name: os.environ.get(name) for name in values}
        os.environ |= values
        try:
            yield report
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
