"""GPU backends: from a problem to kernels on a device, the tiling by default, and what a device cannot do."""

import contextlib
import functools
from collections.abc import Iterable
from dataclasses import replace

from tilewright.api.blocks import plan_blocks
from tilewright.base.errors import TilewrightError, UsageError
from tilewright.codegen.gpu_emit import SCHEDULES, emit_device
from tilewright.codegen.gpu_prelude import DIALECTS, TYPES
from tilewright.machines import files
from tilewright.machines.device import gpu_machine
from tilewright.machines.machine import Machine
from tilewright.programs.periodic import extend, wrapped_axes
from tilewright.programs.problem import Problem
from tilewright.runtime import gpu, hosts, opencl, wisdom
from tilewright.runtime.kernels import GpuKernel
from tilewright.runtime.session import Halo
from tilewright.runtime.warn import warn_once
from tilewright.tilings import stream_block
from tilewright.tilings.tiling import NONE, Tiling
from tilewright.tuning.gpu_default import gpu_defaults

BACKENDS = DIALECTS
_BLOCK_STEPS = 16
"""Steps of a block of a problem that wraps, where a tiling is asked for."""


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


def prepare_gpu(problem: Problem, tiling: Tiling | None, backend: str, *, strict: bool) -> GpuKernel:
    """Make a problem ready on a device.

    Args:
        problem: The problem.
        tiling: A tiling that is known to be legal, or None for what the cost model of the device expects to be fastest.
        backend: See :func:`open_device`.
        strict: Bit-equal to the untiled order of operations.

    Returns:
        The kernels, with the periodic copies of a problem that wraps and runs in time tiles.

    Raises:
        ArrayError: If a tile does not fit the device.
        ToolchainError: If there is no device, or it does not compile the kernels.
        UsageError: If the device cannot compute in the element type.
    """
    if problem.dtype not in TYPES:
        raise UsageError(f"GPU backends compute in {', '.join(TYPES)}, got {problem.dtype}", "use backend='numpy'")
    device = open_device(backend)
    if tiling is None:
        return _by_model(device, device_machine(device), problem, strict)
    block = None if tiling.family == "none" else _block(problem)
    whole = problem if block is None else block.problem
    return GpuKernel(program=_loaded(device, whole, tiling, strict, block is not None), halo=block)


@functools.lru_cache(maxsize=64)
def _by_model(device: gpu.Device, machine: Machine, problem: Problem, strict: bool) -> GpuKernel:
    """Return the kernels that the machine's cost model puts first, of those that run on the device and do not spill."""
    blocks = plan_blocks(problem, machine, lambda block: gpu_defaults(block, machine)[0].tiling)
    if blocks is not None:
        whole = blocks.extended.problem
        tilings = [each.tiling for each in gpu_defaults(whole, machine) if each.tiling.family != "none"]
        found = _first(device, whole, tilings, strict, periodic=True)
        if found is not None:
            return GpuKernel(program=found, halo=Halo(around=blocks.extended.around, steps=whole.steps, problem=whole))
    tilings = [each.tiling for each in gpu_defaults(problem, machine)]
    found = _first(device, problem, tilings, strict)
    return GpuKernel(program=found or _loaded(device, problem, NONE, strict, periodic=False))


def _first(
    device: gpu.Device, problem: Problem, tilings: Iterable[Tiling], strict: bool, *, periodic: bool = False
) -> gpu.Program | None:
    """Return the kernels of the first tiling that the device can run and whose code does not spill, if any."""
    most = device.describe().block_threads
    for tiling in tilings:
        try:
            found = _loaded(device, problem, tiling, strict, periodic)
        except TilewrightError:
            continue
        needs = found.resources
        spills = needs is not None and (needs.spill_bytes or needs.stack_bytes)
        if not spills and (not most or max(kernel.threads for kernel in found.source.kernels) <= most):
            return found
    return None


@functools.lru_cache(maxsize=64)
def _program(device: gpu.Device, problem: Problem, tiling: Tiling, strict: bool, periodic: bool) -> gpu.Program:
    return gpu.load(device, emit_device(problem, tiling, device.dialect, strict=strict, periodic=periodic), tiling)


def _loaded(device: gpu.Device, problem: Problem, tiling: Tiling, strict: bool, periodic: bool) -> gpu.Program:
    # The text depends on neither shape nor steps, so that problems that differ in nothing else share a program.
    like = replace(problem, shape=(64,) * problem.program.rank, steps=2)
    return _program(device, like, tiling, strict, periodic)


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
