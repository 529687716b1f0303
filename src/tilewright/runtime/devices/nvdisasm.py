"""Machine code -> its listing, with NVIDIA's disassembler: no driver and no GPU takes part."""

import functools
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

from tilewright.base.errors import ToolchainError, sentence
from tilewright.runtime.devices.nvrtc import INSTALL

_SECONDS = 60.0
_OTHER = "put the nvdisasm of an older CUDA toolkit on the path"


def disassemble(cubin: bytes) -> str:
    """Return the listing of a cubin with the encodings of its instructions."""
    refusal = ToolchainError("NVIDIA's disassembler nvdisasm is missing", INSTALL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        for program in _programs():
            command = [program, "-c", "-hex", str(path)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
            except (OSError, subprocess.TimeoutExpired) as error:
                refusal = ToolchainError(f"nvdisasm did not end: {error}")
                continue
            if not done.returncode:
                return done.stdout
            reason = sentence(done.stderr).removeprefix("nvdisasm fatal").lstrip(" :")
            # Those of CUDA 13.1 and later list no code below sm_75, which NVRTC 12 makes.
            refusal = ToolchainError(f"nvdisasm refuses the machine code: {reason:.200}", _OTHER)
    raise refusal


@functools.cache
def _programs() -> tuple[str, ...]:
    """The disassemblers of the package nvidia-cuda-nvdisasm and of an installed toolkit."""
    package = importlib.util.find_spec("nvidia")
    roots = [] if package is None or package.submodule_search_locations is None else package.submodule_search_locations
    found = sorted((str(path) for root in roots for path in Path(root).glob("**/bin/nvdisasm")), reverse=True)
    return (*found, *filter(None, [shutil.which("nvdisasm")]))
