"""Probes: what is timed again and again to tell a parameter of a machine, and the one loop that runs a list of them.

Before: ``Probe("launch_seconds", barriers, "one loop …")``. After: a quantity in the unit the parameter is declared
with: the median of what the sampler returns that ``barriers()`` prepares, the 5th to the 95th percentile as its range,
and its note.
"""

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from tilewright.costs import fit
from tilewright.machines.machine import PARAMETERS, Machine
from tilewright.machines.parameters import Quantity

Note = Callable[[str], None]  # called with a line about what goes on
Sampler = Callable[[], float]  # takes one sample


@dataclass(frozen=True, slots=True)
class Probe:
    """What tells one parameter of a machine by being measured again and again."""

    parameter: str  # its name
    prepare: Callable[[], Sampler]  # takes memory and warms up; samples are in the unit of the parameter
    note: str  # how it is measured
    title: str = field(default="", kw_only=True)  # what goes on, for people; empty where the probe before says it
    # the value of two that counts: what was found first, by default, and later
    better: Callable[[float, float], float] = field(default=lambda first, _: first, kw_only=True)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def warmed(sample: Sampler) -> Callable[[], Sampler]:
    """Return what prepares a sampler by a sample that does not count."""

    def prepare() -> Sampler:
        sample()
        return sample

    return prepare


def samples(prepare: Callable[[], Sampler], count: int) -> tuple[float, ...]:
    """Take so many samples, one after the other."""
    sample = prepare()
    return tuple(sample() for _ in range(count))


def quantities(probes: Iterable[Probe], count: int, note: Note = lambda _: None) -> dict[str, Quantity]:
    """Run probes in order, ``count`` samples of each; return quantities by the names of their parameters."""
    result = {}
    for probe in probes:
        if probe.title:
            note(probe.title)
        unit = PARAMETERS[probe.parameter].unit
        result[probe.parameter] = fit.robust(samples(probe.prepare, count), unit, probe.note)
    return result


def measured(machine: Machine, probes: Iterable[Probe], count: int, note: Note) -> Machine:
    """Return a machine with what probes tell, see :func:`quantities`."""
    return replace(machine, **quantities(probes, count, note))  # type: ignore[arg-type]  # (names of its quantities)


def measured_again(machine: Machine, probes: Iterable[Probe], count: int) -> Machine:
    """Run probes once more: ranges widen to the new median, and the better value counts."""
    for probe in probes:
        quantity: Quantity | None = getattr(machine, probe.parameter)
        if quantity is not None:
            later = statistics.median(samples(probe.prepare, count))
            low, high = min(quantity.low or quantity.value, later), max(quantity.high or quantity.value, later)
            widened = replace(quantity, value=probe.better(quantity.value, later), low=low, high=high)
            machine = replace(machine, **{probe.parameter: widened})  # type: ignore[arg-type]
    return machine
