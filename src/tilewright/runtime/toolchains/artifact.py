"""Compiled code between a compiler and a loader: plain values, which another process may be handed."""

import ctypes
import os
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from tilewright.base.records import Resources
from tilewright.codegen.source import KernelSource, LayoutT


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(Generic[LayoutT]):
    """What a compiler made of a unit."""

    source: KernelSource[LayoutT]
    content: bytes = b""  # a shared object; nothing where a GPU's driver compiles and loads in one
    command: tuple[str, ...] = ()  # the compiler with its options; nothing on a GPU
    # content fingerprint of the text and of all that decides how it is compiled; empty where nothing is kept
    key: str = ""
    parallel: bool = False  # whether it was compiled with OpenMP
    resources: Resources | None = None  # what the code needs of a GPU, where the compiler says


_PREFIX = "tilewright-"
_LEFT = 600.0  # seconds after which a file is nobody's who has yet to load it
_SUFFIXES = {"win32": ".dll", "darwin": ".dylib"}


def open_library(content: bytes) -> ctypes.CDLL:
    """Load a library from bytes that were checked: through a private file, so that nobody can change it in between."""
    path = ""
    try:
        handle, path = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIXES.get(sys.platform, ".so"))
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return ctypes.CDLL(path)
    except OSError:
        if not hasattr(os, "memfd_create"):
            raise
    finally:
        if path:
            _remove(Path(path))
    # A temporary directory that is full or forbids execution. The descriptor stays open: the loader knows libraries by
    # their path, and a second one of the same number would be taken for the first.
    descriptor = os.memfd_create("tilewright")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    return ctypes.CDLL(f"/proc/self/fd/{descriptor}")


def _remove(path: Path) -> None:
    """Remove a library's file. Windows keeps those that are loaded: there, what earlier processes left is removed."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        for left in path.parent.glob(f"{_PREFIX}*{path.suffix}"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > _LEFT:
                    left.unlink()
