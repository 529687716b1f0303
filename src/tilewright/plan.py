"""What is decided about a run before anything is written or compiled, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.forms import Extended
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.code import CpuSchedule, GpuSchedule
from tilewright.schedules.tiling import NONE, Tiling

BACKENDS = ("auto", "c", "numpy", "opencl", "cuda")
"""What a caller may ask for; ``auto`` is C, or NumPy where there is no code or no compiler."""
DEVICE_BACKENDS = ("opencl", "cuda")
_REFUSAL = f"the backend is one of {', '.join(BACKENDS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a problem is computed."""

    backend: str  # ``c``, ``numpy``, ``opencl`` or ``cuda``
    device: str = ""  # of a GPU backend, the device's number or a part of its name; empty for the first one
    threads: int = 0  # of the processor; 0 for every CPU that the process may use
    fallback: bool = False  # whether NumPy may compute instead, where no code is generated or nothing compiles it
    yields: bool = False  # whether fewer threads than planned compute where other processes keep CPUs busy

    @property
    def on_device(self) -> bool:
        """Whether kernels run on a device other than this processor."""
        return self.backend in DEVICE_BACKENDS

    @property
    def name(self) -> str:
        """What :func:`read_target` makes it of: ``auto`` where NumPy may compute instead, or ``cuda:1``."""
        return "auto" if self.fallback else self.backend + (self.device and f":{self.device}")


def read_target(
    backend: str, threads: int | None = None, *, among: Sequence[str] = BACKENDS, refusal: str = _REFUSAL
) -> Target:
    """Read the name of a backend, perhaps with a device: ``opencl:geforce``.

    >>> read_target("cuda:1").device
    '1'
    """
    name, _, device = backend.partition(":")
    if name not in among or (device and name not in DEVICE_BACKENDS):
        raise UsageError(f"{refusal}, got {backend!r}")
    plain = "c" if name == "auto" else name
    return Target(backend=plain, device=device, threads=threads or 0, fallback=name == "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every decision about one run."""

    problem: Problem  # what is computed
    target: Target
    schedule: CpuSchedule | GpuSchedule | None = None  # None for NumPy, which needs none
    strict: bool = False  # whether every operation keeps its order and its own rounding
    # what is computed where that is not the problem itself: a periodic grid in time tiles with its copies, or a program
    # with inner expressions in fields of their own
    block: Extended | None = None
    evidence: str = "asked"  # why this tiling: ``asked``, ``measured``, ``wisdom`` (of an earlier tuning) or ``model``

    @property
    def tiling(self) -> Tiling:
        """The order of computation."""
        return NONE if self.schedule is None else self.schedule.tiling

    @property
    def storage(self) -> Storage:
        """Where fields' versions and cells lie."""
        return self.schedule.storage if isinstance(self.schedule, CpuSchedule) else PLAIN

    @property
    def computed(self) -> Problem:
        """What the kernels compute."""
        return self.problem if self.block is None else self.block.problem
