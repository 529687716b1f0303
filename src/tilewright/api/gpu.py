"""GPU backends: from a problem to kernels on a device, the tiling by default, and what a device cannot do."""

import contextlib
import functools
from dataclasses import replace

from tilewright.base.errors import TilewrightError, UsageError
from tilewright.codegen.gpu_chip import STATIC_BYTES
from tilewright.codegen.gpu_default import default_tiling
from tilewright.codegen.gpu_emit import SCHEDULES, emit_device
from tilewright.codegen.gpu_prelude import DIALECTS, TYPES
from tilewright.machines import files
from tilewright.machines.device import gpu_machine
from tilewright.machines.machine import Machine
from tilewright.programs.periodic import extend, wrapped_axes
from tilewright.programs.problem import Problem
from tilewright.runtime import gpu, hosts, opencl, wisdom
from tilewright.runtime.session import Halo
from tilewright.runtime.warn import warn_once
from tilewright.tilings import stream_block
from tilewright.tilings.tiling import Tiling

BACKENDS = DIALECTS
_BLOCK_STEPS = 16
"""Steps of a block of a problem that wraps."""


def is_gpu(backend: str) -> bool:
    """Whether a backend is a GPU's: ``opencl`` or ``cuda``, perhaps with a device, ``opencl:name``."""
    return backend.partition(":")[0] in BACKENDS


def open_device(backend: str) -> gpu.Device:
    """Open the device that a backend names.

    Args:
        backend: ``opencl`` or ``cuda``, with ``:`` and a number or part of a name for a certain device.

    Raises:
        ToolchainError: If there is no driver or no device.
        UsageError: If no device fits.
    """
    kind, _, wanted = backend.partition(":")
    if kind == "opencl":
        return opencl.select(wanted)
    from tilewright.runtime import cuda

    return cuda.select(wanted)


def prepare_gpu(
    problem: Problem, tiling: Tiling | None, backend: str, *, strict: bool
) -> tuple[gpu.Program, Halo | None]:
    """Make a problem ready on a device.

    Args:
        problem: The problem.
        tiling: A tiling that is known to be legal, or None for the default one.
        backend: See :func:`open_device`.
        strict: Bit-equal to the untiled order of operations.

    Returns:
        The kernels, and the periodic copies of a problem that wraps and runs in time tiles.

    Raises:
        ArrayError: If a tile does not fit the device.
        ToolchainError: If there is no device, or it does not compile the kernels.
        UsageError: If the device cannot compute in the element type.
    """
    if problem.dtype not in TYPES:
        raise UsageError(f"GPU backends compute in {', '.join(TYPES)}, got {problem.dtype}", "use backend='numpy'")
    device = open_device(backend)
    dialect = backend.partition(":")[0]
    block = _block(problem) if tiling is None or tiling.family != "none" else None
    whole = problem if block is None else block.problem
    chosen = default_tiling(whole, min(device.local_bytes, STATIC_BYTES)) if tiling is None else tiling
    if chosen.family == "none":
        block, whole = None, problem
    return _loaded(device, whole, chosen, dialect, strict, block is not None), block


@functools.lru_cache(maxsize=64)
def _program(
    device: gpu.Device, problem: Problem, tiling: Tiling, dialect: str, strict: bool, periodic: bool
) -> gpu.Program:
    return gpu.load(device, emit_device(problem, tiling, dialect, strict=strict, periodic=periodic), tiling)


def _loaded(
    device: gpu.Device, problem: Problem, tiling: Tiling, dialect: str, strict: bool, periodic: bool
) -> gpu.Program:
    # The text depends on neither shape nor steps, so that problems that differ in nothing else share a program.
    like = replace(problem, shape=(64,) * problem.program.rank, steps=2)
    return _program(device, like, tiling, dialect, strict, periodic)


def _block(problem: Problem) -> Halo | None:
    """Return the periodic copies around a problem that wraps, for a block of steps."""
    if problem.steps < 2 or not wrapped_axes(problem):
        return None
    found = extend(problem, min(_BLOCK_STEPS, problem.steps))
    return None if found is None else Halo(around=found.around, steps=found.problem.steps, problem=found.problem)


def circumstances(device: gpu.Device) -> wisdom.Circumstances:
    """Return the circumstances of a measurement on a device."""
    return wisdom.device_circumstances(device.name, device.describe(), device.compiler)


def present() -> tuple[wisdom.Circumstances, ...]:
    """Return the circumstances of every device here, of all drivers; a driver that is absent or fails has none."""
    from tilewright.runtime import cuda

    found = []
    for driver in (opencl, cuda):
        with contextlib.suppress(TilewrightError):
            found += [circumstances(device) for device in driver.every()]
    return tuple(found)


def device_machine(device: gpu.Device) -> Machine:
    """Return a device as a machine: as it was calibrated, else as its driver describes it."""
    told = device.describe()
    known = hosts.device_path(told.slug)
    if known is not None:
        try:
            return files.load(str(known))
        except TilewrightError as error:
            warn_once(f"the calibration of {told.name} cannot be used: {error.message}")
    return gpu_machine(told)


def for_device(problem: Problem, tiling: Tiling) -> Tiling:
    """Return a tiling with what it needs on a GPU: the threads of a streaming one."""
    return stream_block.threads_for(problem, tiling) if tiling.family == "streaming" else tiling


def check_family(tiling: Tiling) -> None:
    """Refuse a tiling family without GPU kernels.

    Raises:
        UsageError: If there are none.
    """
    if tiling.family not in SCHEDULES:
        raise UsageError(f"GPU backends have no kernels for {str(tiling)!r}", f"use {', '.join(SCHEDULES)}")
