"""The state of an NVIDIA GPU while something is timed: driver, clocks, power, temperature, as NVML says."""

import importlib
from typing import Any

_THROTTLES = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x20: "temperature", 0x40: "hardware temperature", 0x80: "power brake",
}  # fmt: skip


class Card:
    """One card; without NVML it has nothing to say."""

    def __init__(self, bus: str) -> None:
        """Look for it.

        Args:
            bus: Where it is, such as ``0000:65:00.0``; nothing where that is not known.
        """
        self._nvml: Any = None
        try:
            nvml = importlib.import_module("pynvml")
            nvml.nvmlInit()
            self._handle = nvml.nvmlDeviceGetHandleByPciBusId(bus.encode())
            self._nvml = nvml
        except Exception as error:  # noqa: BLE001  (no package, no driver, no such card)
            self.absent = f"{type(error).__name__}: {error}"

    def about(self) -> dict[str, Any]:
        """Driver, limits and application clocks; or why they are not known."""
        if self._nvml is None:
            return {"nvml": self.absent}
        nvml, card = self._nvml, self._handle
        return {
            "driver": _text(self._said(nvml.nvmlSystemGetDriverVersion)),
            "power_limit_watts": _scaled(self._said(nvml.nvmlDeviceGetPowerManagementLimit, card), 1e-3),
            "largest_sm_mhz": self._said(nvml.nvmlDeviceGetMaxClockInfo, card, nvml.NVML_CLOCK_SM),
            "largest_memory_mhz": self._said(nvml.nvmlDeviceGetMaxClockInfo, card, nvml.NVML_CLOCK_MEM),
        }

    def state(self) -> dict[str, Any]:
        """Clocks, power and temperature now, and what holds the clocks down."""
        if self._nvml is None:
            return {}
        nvml, card = self._nvml, self._handle
        reasons = self._said(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, card) or 0
        return {
            "sm_mhz": self._said(nvml.nvmlDeviceGetClockInfo, card, nvml.NVML_CLOCK_SM),
            "memory_mhz": self._said(nvml.nvmlDeviceGetClockInfo, card, nvml.NVML_CLOCK_MEM),
            "watts": _scaled(self._said(nvml.nvmlDeviceGetPowerUsage, card), 1e-3),
            "celsius": self._said(nvml.nvmlDeviceGetTemperature, card, nvml.NVML_TEMPERATURE_GPU),
            "held_down_by": [name for bit, name in _THROTTLES.items() if reasons & bit],
        }

    def _said(self, ask: Any, *arguments: Any) -> Any:  # noqa: ANN401
        try:
            return ask(*arguments)
        except self._nvml.NVMLError:
            return None


def _text(value: Any) -> Any:  # noqa: ANN401
    return value.decode() if isinstance(value, bytes) else value


def _scaled(value: Any, factor: float) -> Any:  # noqa: ANN401
    return None if value is None else factor * value
