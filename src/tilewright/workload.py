"""What a workload offers: a problem of some kind on a machine, and what verbs ask of it.

Verbs such as ``predict``, ``energy`` and ``whatif`` are written once, over :class:`Workload`; ``verbs/dispatch.py``
says which workload serves a program.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, Self

from tilewright.costs.bottleneck import Resource, Roofline
from tilewright.costs.energy.price import Usage
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.schedules.tiling import Tiling

Points = Literal["all", "coarse"]  # points of a space: all, or those of a coarse grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked about a program."""

    shape: tuple[int, ...]
    steps: int
    dtype: str = "float32"
    boundary: BoundarySpec = "fixed"
    model: str = "exact"  # ``exact`` or ``published``
    scope: str | None = None  # who shares the bandwidth


class Named(Protocol):
    """A program of any kind."""

    @property
    def name(self) -> str:
        """Its name."""


class Case(Protocol):
    """What a workload computes, as far as every verb needs to know it."""

    @property
    def program(self) -> Named:
        """The program."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the grid."""

    @property
    def steps(self) -> int:
        """Time steps."""

    @property
    def dtype(self) -> str:
        """Element type."""


class Workload(Protocol):
    """A problem on a machine, by a model of its costs. Tilings are legal and complete, unless it says otherwise."""

    @property
    def problem(self) -> Case:
        """What is computed."""

    @property
    def machine(self) -> Machine:
        """Where."""

    @property
    def model(self) -> str:
        """``exact`` or ``published``."""

    def c_iter(self, tiling: Tiling) -> Quantity:
        """Return the seconds per loop-body iteration of one vector unit in a tiling's code, with provenance."""

    @property
    def roof(self) -> Roofline | None:
        """What the machine's arithmetic and memory allow, or None where nothing says so."""

    @property
    def cell_bytes(self) -> int:
        """Bytes of memory per cell."""

    def changed(self, machine: Machine, shape: tuple[int, ...], steps: int) -> Self:
        """Return the same program, elsewhere, at another size; raise UsageError where it has no such steps."""

    def hastened(self) -> Self:
        """Return the same with iterations that take half the time."""

    def costs(self, tiling: Tiling | None) -> tuple[Tiling, Costs]:
        """Return a tiling, the model's choice by default, with its costs.

        Raises:
            UsageError: If it does not apply or does not fit the machine.
            IllegalTilingError: If it breaks a dependence.
        """

    def expected(self, tiling: Tiling) -> Costs | None:
        """Return the costs of a tiling alone, without blocks or thread shapes; None where it does not fit."""

    def ranked(
        self, metric: str, *, within: float | None, top: int | None = None, points: Points = "all"
    ) -> list[tuple[Tiling, Costs]]:
        """Return what fits of some points of the space, best first: at most ``top``, within a share of the best.

        Raises:
            UsageError: If there are no such points.
        """

    def usage(self, tiling: Tiling | None, seconds: float | None) -> tuple[Tiling, str, Usage]:
        """Return a tiling, the fastest by default, the energy model's name, and the amounts; seconds if measured."""

    def resources(self, tiling: Tiling) -> tuple[Resource, ...]:
        """Return the use of every resource by a tiling."""

    def most_tiles(self, tiling: Tiling) -> int:
        """Return how many tiles may be resident on an SM; 0 where their number means nothing."""

    def ideal_seconds(self, tiling: Tiling) -> float:
        """Return the time without transfers and synchronisation (thesis, 8.3), a lower bound."""

    def printed_overhead(self, tiling: Tiling) -> float | None:
        """Return the printed estimate of the time over the ideal one (8.5), in seconds; None without one."""
