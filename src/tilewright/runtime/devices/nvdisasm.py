"""Machine code -> its listing, with NVIDIA's disassembler: no driver and no GPU takes part."""

import functools
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

from tilewright.base.errors import ToolchainError
from tilewright.runtime.devices.nvrtc import INSTALL

_SECONDS = 60.0


def available() -> bool:
    """Whether there is a disassembler."""
    return _program() is not None


def disassemble(cubin: bytes) -> str:
    """Return the listing of a cubin with the encodings of its instructions.

    Args:
        cubin: Machine code, see :func:`tilewright.runtime.devices.nvrtc.compile_cuda`.

    Raises:
        ToolchainError: If there is no disassembler, or it refuses the code.
    """
    program = _program()
    if program is None:
        raise ToolchainError("NVIDIA's disassembler nvdisasm is missing", INSTALL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        command = [program, "-c", "-hex", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ToolchainError(f"nvdisasm did not end: {error}") from error
    if done.returncode:
        raise ToolchainError(f"nvdisasm refuses the machine code: {done.stderr.strip()[:200]}")
    return done.stdout


@functools.cache
def _program() -> str | None:
    """The disassembler of the package nvidia-cuda-nvdisasm, or of an installed toolkit."""
    package = importlib.util.find_spec("nvidia")
    roots = [] if package is None or package.submodule_search_locations is None else package.submodule_search_locations
    found = sorted(str(path) for root in roots for path in Path(root).glob("**/bin/nvdisasm"))
    return found[-1] if found else shutil.which("nvdisasm")
