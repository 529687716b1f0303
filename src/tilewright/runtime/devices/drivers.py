"""The drivers behind the GPU backends: devices by name, and as machines that the cost models know."""

import contextlib

from tilewright.base.errors import TilewrightError
from tilewright.machines import files
from tilewright.machines.defaults import gpu_machine
from tilewright.machines.machine import Machine
from tilewright.plan import Target
from tilewright.runtime.devices import opencl
from tilewright.runtime.devices.device import Device
from tilewright.runtime.store import hosts, wisdom
from tilewright.runtime.warn import warn_once


def open_device(where: Target) -> Device:
    """Find the device that a GPU's target names."""
    if where.backend == "opencl":
        return opencl.select(where.device)
    from tilewright.runtime.devices import cuda

    return cuda.select(where.device)


def circumstances(device: Device) -> wisdom.Circumstances:
    """Return the circumstances of a measurement on a device."""
    return wisdom.device_circumstances(device.name, device.describe(), device.compiler)


def present() -> tuple[wisdom.Circumstances, ...]:
    """Return the circumstances of every device here, of all drivers; a driver that is absent or fails has none."""
    from tilewright.runtime.devices import cuda

    result = []
    for driver in (opencl, cuda):
        with contextlib.suppress(TilewrightError):
            result += [circumstances(device) for device in driver.every()]
    return tuple(result)


def device_machine(device: Device) -> Machine:
    """Return a device as a machine: as it was calibrated, else as its driver describes it."""
    description = device.describe()
    calibration = hosts.device_path(description.slug)
    if calibration is not None:
        try:
            return files.load(str(calibration))
        except TilewrightError as error:
            warn_once(f"the calibration of {description.name} cannot be used: {error.message}")
    return gpu_machine(description)
