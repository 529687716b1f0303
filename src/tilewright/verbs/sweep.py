"""The points of a what-if sweep, and a machine with one of its quantities multiplied."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError, one_of
from tilewright.base.records import Record
from tilewright.base.tables import Shown
from tilewright.costs.energy.constants import at_clock, settled
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.report import energy as tables
from tilewright.schedules.tiling import Tiling
from tilewright.tuning import energy as choices

VARIED = ("size", "steps", "sms", "lanes", "shared", "bandwidth", "launch", "clock")
"""What can be varied, each by factors of what there is."""
_FIELDS = {
    "sms": ("sm_count",),
    "lanes": ("vector_width",),
    "shared": ("shared_bytes", "block_shared_bytes"),
    "bandwidth": ("dram_bandwidth", "peak_dram_bandwidth", "core_bandwidth"),
    "launch": ("launch_seconds",),
}
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_CLOCKS = (0.4, 0.6, 0.8, 1.0, 1.2)
DROP = 0.9
"""Efficiency below this share of the best one of a sweep counts as a drop."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Row(Record):
    """One point of a sweep."""

    KEYS = (
        "factor amount tiling=tiling.__str__ seconds=costs.seconds joules=costs.joules watts "
        "gcells_per_second=costs.gcells_per_second efficiency bound_by=costs.bound_by reuse_loss"
    )

    factor: float  # what the varied quantity was multiplied by
    amount: str  # such as 4096x4096 or 26 multiprocessors
    tiling: Tiling  # the best tiling there
    costs: Costs
    efficiency: float  # the ideal time (8.3) over the predicted one
    # by which share the metric is worse with the best tiling of factor 1; None where it does not fit
    reuse_loss: float | None

    @property
    def watts(self) -> float | None:
        """Average power."""
        return self.costs.energy.watts if self.costs.energy else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WhatIf(Record):
    """A sweep."""

    KEYS = "program machine vary metric rows drops_at warning largest_shape=largest intervals"

    program: str  # name of the program
    machine: str  # name of the machine
    vary: str  # what was varied
    metric: str  # by which the best tiling is best
    rows: tuple[Row, ...]  # the points
    # largest extents of the same proportions that fit the machine's memory; None if unknown
    largest: tuple[int, ...] | None
    intervals: tuple[str, ...]  # how sure the times are

    @property
    def drops_at(self) -> tuple[str, ...]:
        """The amounts at which the efficiency is below 0.9 of the best one of the sweep."""
        best = max(row.efficiency for row in self.rows)
        return tuple(row.amount for row in self.rows if row.efficiency < DROP * best)

    @property
    def warning(self) -> str:
        """One sentence where the power at a point is above the board's, of the point with the most; else nothing."""
        powers = [row.costs.energy for row in self.rows if row.costs.energy is not None]
        return max(powers, key=lambda each: each.watts).warning if powers else ""

    def shown(self) -> Shown:
        """Return what people read."""
        return tables.sweep(self.to_dict())


def factors_of(vary: str, factors: Sequence[float], metric: str) -> tuple[float, ...]:
    """Return the factors of a sweep in increasing order, 1 among them."""
    one_of("what is varied", vary, VARIED)
    one_of("the metric", metric, choices.METRICS)
    if any(not (np.isfinite(factor) and factor > 0) for factor in factors):
        raise UsageError(f"a quantity is varied by factors above 0, got {list(factors)!r}")
    return tuple(sorted({1.0, *(factors or (_CLOCKS if vary == "clock" else FACTORS))}))


def larger(shape: tuple[int, ...], factor: float) -> tuple[int, ...]:
    """Return extents multiplied by a factor, at least 1 each."""
    return tuple(max(1, round(extent * factor)) for extent in shape)


def varied_machine(machine: Machine, vary: str, factor: float) -> tuple[Machine, str]:
    """Return a machine with a quantity multiplied, and what that is then."""
    if vary == "clock":
        changed = at_clock(machine, factor)
        return changed, f"{changed.clock.value / 1e6:.0f} MHz"
    values = {name: _scaled(getattr(machine, name), factor) for name in _FIELDS[vary] if getattr(machine, name)}
    changed = dataclasses.replace(settled(machine), **values)  # type: ignore[arg-type]
    first = values[_FIELDS[vary][0]]
    return changed, f"{first.value:g}" if first.unit == "1" else f"{first.value:.4g} {first.unit}"


def _scaled(quantity: Quantity, factor: float) -> Quantity:
    """Scale a quantity; counts and bytes stay whole and at least 1."""
    value = factor * quantity.value
    if quantity.unit in {"1", "B"}:
        value = max(1, round(value))
    return dataclasses.replace(quantity, value=value, low=None, high=None)
