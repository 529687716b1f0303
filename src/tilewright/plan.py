"""What is decided about a run before anything is written or compiled, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.periodic import Extended
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.tables.table import Recurrence
from tilewright.schedules.bodies.body import Body
from tilewright.schedules.bodies.unrolling import TableShape
from tilewright.schedules.gpu_schedule import GpuSchedule
from tilewright.schedules.tiling import Tiling

BACKENDS = ("auto", "c", "numpy", "opencl", "cuda")
"""What a caller may ask for; ``auto`` is C, or NumPy where there is no code or no compiler."""
DEVICE_BACKENDS = ("opencl", "cuda")
_REFUSAL = f"the backend is one of {', '.join(BACKENDS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a problem is computed.

    Attributes:
        backend: ``c``, ``numpy``, ``opencl`` or ``cuda``.
        device: Of a GPU backend, the device's number or a part of its name; empty for the first one.
        threads: Threads on the processor; 0 for every CPU that the process may use.
        fallback: Whether NumPy may compute instead, where no code is generated or nothing compiles it.
        yields: Whether fewer threads than planned compute where other processes keep CPUs busy.
    """

    backend: str
    device: str = ""
    threads: int = 0
    fallback: bool = False
    yields: bool = False

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

    Args:
        backend: One of :data:`BACKENDS`.
        threads: Threads on the processor; every CPU that the process may use by default.
        among: Those that apply.
        refusal: What an error says of them.

    Raises:
        UsageError: If there is no such backend.

    >>> read_target("cuda:1").device
    '1'
    """
    name, _, device = backend.partition(":")
    if name not in among or (device and name not in DEVICE_BACKENDS):
        raise UsageError(f"{refusal}, got {backend!r}")
    plain = "c" if name == "auto" else name
    return Target(backend=plain, device=device, threads=threads or 0, fallback=name == "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """Every decision about one run.

    Attributes:
        problem: What is computed.
        target: Where.
        tiling: The order in which it is computed, and what was asked for of the code.
        body: How the code on a processor is written; None for NumPy and on other devices.
        schedule: On a GPU, the tiling with everything decided that it leaves open; else None.
        strict: Whether every operation keeps its order and its own rounding.
        block: Of a periodic grid in time tiles, the grid with its periodic copies and the steps between two refreshes.
        batch: Whether there are many grids, each of which one thread of a processor computes.
        swept: Whether a call computes some parts of a sweep alone, on a processor.
        evidence: Why this tiling: ``asked``, ``measured``, ``wisdom`` (what an earlier tuning measured) or ``model``.
    """

    problem: Problem
    target: Target
    tiling: Tiling
    body: Body | None = None
    schedule: GpuSchedule | None = None
    strict: bool = False
    block: Extended | None = None
    batch: bool = False
    swept: bool = False
    evidence: str = "asked"

    @property
    def computed(self) -> Problem:
        """What the kernels compute: the problem, or that on the grid with its periodic copies."""
        return self.problem if self.block is None else self.block.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """Every decision about filling a table once.

    Attributes:
        program: The recurrence.
        shape: Rows and columns.
        dtype: Element type of the tables.
        floating: Inputs whose values are of the tables' type; the others are whole numbers.
        target: Where.
        tiling: Its orthogonal tiles; ``none`` for NumPy.
        threads: Threads of a processor.
        kept: Anti-diagonals after which a wanted table's cells are copied into it.
        block: On a GPU, threads and sub-tiles of a tile; else None.
    """

    program: Recurrence
    shape: tuple[int, int]
    dtype: str
    floating: tuple[str, ...]
    target: Target
    tiling: Tiling
    threads: int = 1
    kept: int
    block: TableShape | None = None
