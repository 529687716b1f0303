"""The PETSc matrix type ``seqdia``: a plug-in compiled against the installed PETSc, on demand.

A program that was built without knowing of it takes it with ``-dll_append FILE -mat_type seqdia``.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from tilewright.base.errors import ToolchainError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.paths import written
from tilewright.base.records import Record
from tilewright.runtime import cache
from tilewright.runtime.host import cpu_features, describe_cpu
from tilewright.runtime.toolchains.cpu import Toolchain, compile_shared, toolchain_of
from tilewright.sparse.dia import THREADED_BYTES, unrolling
from tilewright.sparse.lower.dia import library_text

NAME = "libseqdia.so"  # PETSc derives the name of the function it calls from the file's
INSTALL_HINT = "install it with its headers: `apt install libpetsc-real-dev`, or set PETSC_DIR and PETSC_ARCH"
_PACKAGES = ("PETSc", "petsc")
_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Petsc:
    """An installed PETSc."""

    version: str
    compiler: tuple[str, ...]  # the compiler it was built with, usually MPI's
    options: tuple[str, ...]  # folders of its headers
    dtype: str  # of its scalars


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plugin(Record):
    """A compiled plug-in."""

    KEYS = "library petsc compiler dtype options"

    library: str  # path of its file
    petsc: str  # version of the PETSc that it was compiled against
    compiler: str
    dtype: str

    @property
    def options(self) -> tuple[str, ...]:
        """What a PETSc program is started with."""
        return "-dll_append", self.library, "-mat_type", "seqdia"


def find() -> Petsc:
    """Find PETSc: by PETSC_DIR (and PETSC_ARCH), else by pkg-config."""
    tool = shutil.which("pkg-config") or shutil.which("pkgconf")
    if tool is None:
        raise ToolchainError("PETSc is found by pkg-config, which is not installed", "`apt install pkg-config`")
    names = [str(path) for path in _own_packages()] or list(_PACKAGES)
    for name in names:
        version = _ask(tool, "--modversion", name)
        if not version:
            continue
        options = tuple(word for word in (_ask(tool, "--cflags", name) or "").split() if word.startswith("-I"))
        named = _ask(tool, "--variable=ccompiler", name) or "mpicc"
        program = shutil.which(named.split()[0])
        if program is None:
            raise ToolchainError(f"PETSc {version} was built with {named!r}, which does not exist here", INSTALL_HINT)
        folders = [Path(option[2:]) for option in options]
        return Petsc(version=version, compiler=(program,), options=options, dtype=_dtype(folders))
    raise ToolchainError("there is no PETSc with headers on this machine", INSTALL_HINT)


def _own_packages() -> list[Path]:
    """Package files of the PETSc that PETSC_DIR names."""
    directory = os.environ.get("PETSC_DIR", "")
    if not directory:
        return []
    root = Path(directory) / os.environ.get("PETSC_ARCH", "")
    files = [root / "lib" / "pkgconfig" / f"{name}.pc" for name in _PACKAGES]
    present = [path for path in files if path.is_file()]
    if not present:
        raise ToolchainError(f"PETSC_DIR names {str(root)!r}, where there is no lib/pkgconfig/petsc.pc", INSTALL_HINT)
    return present[:1]


def _ask(tool: str, question: str, name: str) -> str:
    try:
        answer = subprocess.run(
            (tool, question, name),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _dtype(folders: list[Path]) -> str:
    for folder in folders:
        path = folder / "petscconf.h"
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        defined = set(re.findall(r"^#define\s+(PETSC_USE_\w+)", text, re.MULTILINE))
        if "PETSC_USE_COMPLEX" in defined:
            raise UsageError("seqdia needs a PETSc with real scalars, this one has complex ones", INSTALL_HINT)
        if "PETSC_USE_REAL_SINGLE" in defined:
            return "float32"
        if "PETSC_USE_REAL_DOUBLE" in defined:
            return "float64"
        raise UsageError("seqdia needs a PETSc with scalars of single or double precision")
    raise ToolchainError("PETSc's headers are missing: there is no petscconf.h", INSTALL_HINT)


def source(dtype: str = "float64") -> str:
    """Return the plug-in's text: its C part with the generated kernels.

    Examples:
        >>> "PetscDLLibraryRegister_seqdia" in source()
        True
    """
    constants = f"#define L2_BYTES {describe_cpu().l2_bytes}\n#define THREADED_BYTES {THREADED_BYTES}\n"
    text = resources.files("tilewright.sparse").joinpath("seqdia.c").read_text(encoding="utf-8")
    # PETSc's traces name the file and line of an error.
    return '#line 1 "seqdia.c"\n' + text.replace("/* KERNELS */", constants + library_text(dtype, unrolling()))


def build(output: str | Path | None = None) -> Plugin:
    """Compile the plug-in, or take it from the kernel cache.

    Args:
        output: Where to write it; its name must be ``libseqdia.so``, from which PETSc derives what to call. By default
            a folder of the user's cache.

    Returns:
        The plug-in.

    Raises:
        ToolchainError: If there is no PETSc, or the compiler fails.
        UsageError: If the file's name is another, or PETSc's scalars are not supported.
    """
    target = None if output is None else Path(output)
    if target is not None and target.is_dir():
        target /= NAME
    if target is not None and target.name != NAME:
        raise UsageError(f"the plug-in's file is called {NAME}, got {target.name!r}", "name a folder, or that file")
    petsc = find()
    tools = toolchain_of(petsc.compiler)
    content, key = _compiled(petsc, tools)
    if target is None:
        store = cache.directory()
        if store is None:
            raise UsageError("there is no cache directory to keep the plug-in in", "name a file with -o")
        target = store / f"petsc-{key[:16]}" / NAME
        cache.make_private(target.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_file() or target.read_bytes() != content:
        with written(target) as new:  # a program that has the former file open keeps it
            new.write_bytes(content)
            new.chmod(0o755)
    place = str(target.resolve())
    return Plugin(library=place, petsc=petsc.version, compiler=tools.identity.partition(" ")[2], dtype=petsc.dtype)


def _compiled(petsc: Petsc, tools: Toolchain) -> tuple[bytes, str]:
    text = source(petsc.dtype)
    flags = tools.flags(strict=False)
    key = fingerprint("petsc", petsc, text, flags, tools.identity, cpu_features())
    store = cache.directory()
    content = cache.load(store, f"{key}.so")
    if content is None:
        content = compile_shared(tools, text, strict=False, options=petsc.options)
        cache.save(store, f"{key}.so", content)
    return content, key
