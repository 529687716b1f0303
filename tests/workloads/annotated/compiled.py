"""Functions of C files, as a program that links them would call them."""

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path


def library(path: Path, *flags: str) -> ctypes.CDLL:
    """Compile a file and load it."""
    target = path.with_suffix(".so")
    command = ["cc", *flags, "-shared", "-fPIC", "-w", "-fopenmp", str(path), "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))


def pointers(arrays: Sequence) -> list[ctypes.c_void_p]:
    """Arrays as arguments."""
    return [ctypes.c_void_p(each.ctypes.data) for each in arrays]
