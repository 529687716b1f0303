"""The user's store of calibrated hosts: one machine file per CPU, number of cores and compiler.

A file's name holds the identity of what it was measured on, so that one made elsewhere, or with another compiler, is
simply not found. Files appear by atomic renaming; one that cannot be read is as good as absent.
"""

import functools
from pathlib import Path

from tilewright.base.documents import user_folder
from tilewright.base.errors import TilewrightError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.paths import replaced
from tilewright.machines import files
from tilewright.machines.defaults import host_machine
from tilewright.machines.files import to_toml
from tilewright.machines.machine import Machine
from tilewright.runtime import cache
from tilewright.runtime.host import available_cpus, cpu_features
from tilewright.runtime.store.folder import VARIABLE
from tilewright.runtime.toolchains.cpu import compiler_identity, target_cpu
from tilewright.runtime.warn import warn_once


def path() -> Path:
    """Return where this host's calibration is kept; ``TILEWRIGHT_STORE`` overrides the user's data directory."""
    return user_folder("data", VARIABLE) / "machines" / f"host-{identity()[:16]}.toml"


def identity() -> str:
    """Return the fingerprint of what a calibration depends on: the CPU, its usable cores, the compiler."""
    return fingerprint("host", cpu_features(), available_cpus(), compiler_identity())


def host() -> Machine:
    """Return this machine's CPU: calibrated if a calibration of this very CPU and compiler is kept, else described."""
    try:
        place = path()
        status = place.stat()
        return _calibrated_machine(place, (status.st_mtime_ns, status.st_size))
    except (OSError, RuntimeError):
        return host_machine(target_cpu())
    except TilewrightError as error:
        warn_once(f"the calibration of this machine cannot be used: {error.message} (hint: run `tilewright calibrate`)")
        return host_machine(target_cpu())


def calibrated() -> bool:
    """Whether a calibration of this very CPU and compiler is kept."""
    try:
        return path().is_file()
    except (OSError, RuntimeError):
        return False


@functools.lru_cache(maxsize=4)
def _calibrated_machine(path: Path, stamp: tuple[int, int]) -> Machine:  # noqa: ARG001  (part of the key)
    machine = files.load(str(path))
    if machine.kind != "cpu":
        raise UsageError(f"{str(path)!r} describes no CPU")
    return machine


def _place(machine: Machine) -> Path:
    return path() if machine.kind == "cpu" else path().with_name(f"{machine.name}.toml")


def device_path(name: str) -> Path | None:
    """Return where the calibration of a device of this name is kept, or None if there is none."""
    try:
        place = path().with_name(f"{name}.toml")
        return place if place.is_file() else None
    except (OSError, RuntimeError):
        return None


def keep(machine: Machine) -> Path | None:
    """Keep a calibration of this host or of one of its devices; a disk that is full or read-only costs one warning."""
    try:
        target = _place(machine)
        cache.make_private(target.parent)
        with replaced(target, 0o600, follow=False) as place:
            place.write_text(to_toml(machine), encoding="utf-8")
    except (OSError, RuntimeError) as error:
        warn_once(f"the calibration cannot be kept: {error} (hint: set {VARIABLE} to a directory of your own)")
        return None
    return target
