"""Instances that were measured -> C_iter, start-ups and the time of lines, entered into a machine.

C_iter follows the papers' method (Prajapati et al., PPoPP 2017, section 5.2): a robust fit through the times of random
small instances (:mod:`tilewright.costs.fit`). What times them is given from outside.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.costs import fit
from tilewright.costs.rates import iteration_seconds, operation_cycles
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.program import Program
from tilewright.schedules.families import streaming
from tilewright.schedules.tiling import Tiling

TURNS = 2
"""Times that every instance is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One measured instance of a program."""

    shape: tuple[int, ...]  # extents of the grid
    steps: int  # time steps
    tiling: Tiling
    # what it takes per second of C_iter, of a row's start-up and of a box's; of streaming tiles, per second of C_iter
    # and of an advance's start-up, and the seconds of their lines between caches; on GPUs, per second of C_iter, and
    # the seconds of launches and barriers
    factors: tuple[float, ...]
    seconds: float  # the least time of its repetitions; of streaming tiles, without loading and storing


def entered(each: fit.Fit, note: str) -> Quantity:
    """Return a fitted C_iter as a machine file has it."""
    return Quantity(value=each.iteration, unit="s", source="measured", note=note, low=each.low, high=each.high)


def _note(each: fit.Fit, instances: str) -> str:
    return f"fit through {each.instances} {instances}, off by {each.deviation:.1%} in the median"


def _entries(name: str, each: fit.Fit, instances: str) -> list[tuple[str, Quantity]]:
    starts = {"row": each.row, "box": each.box}
    entries = [(name, entered(each, _note(each, instances)))]
    note = "start-up, fitted with C_iter"
    return entries + [
        (f"{name} {what}", Quantity(value=value, unit="s", source="measured", note=note))
        for what, value in starts.items()
    ]


def in_turns(
    programs: Sequence[Program], measure: Callable[[Program], Sequence[Instance]]
) -> dict[str, tuple[Instance, ...]]:
    """Measure the same instances of all programs in turn, twice, and keep the least: a disturbance is over by then."""
    least: dict[str, dict[object, Instance]] = {program.name: {} for program in programs}
    for _ in range(TURNS):
        for program in programs:
            fastest = least[program.name]
            for each in measure(program):
                key = each.shape, each.steps, each.tiling
                if key not in fastest or each.seconds < fastest[key].seconds:
                    fastest[key] = each
    return {name: tuple(fastest.values()) for name, fastest in least.items()}


def fitted(instances: Sequence[Instance]) -> fit.Fit:
    """Fit C_iter to instances."""
    factors = np.array([instance.factors for instance in instances])
    return fit.iteration(factors, np.array([instance.seconds for instance in instances]))


def fitted_streams(machine: Machine, instances: Mapping[str, Sequence[Instance]]) -> tuple[Machine, dict[str, fit.Fit]]:
    """Fit C_iter of streaming tiles to instances, and before it how fast lines travel and how long an advance takes.

    Both are read off programs in 2D, whose tiles have rows of many lengths; C_iter of all is fitted with them given.
    """
    if not instances:
        return machine, {}
    data = {
        name: (np.array([each.factors for each in some]), np.array([each.seconds for each in some]))
        for name, some in instances.items()
    }
    flat = {name: data[name] for name, some in instances.items() if len(some[0].shape) == 2} or data
    before = machine.line_ratio.value if machine.line_ratio else 1.0
    plain = {name: (factors / (1.0, 1.0, before, 1.0), seconds) for name, (factors, seconds) in data.items()}
    numbers = Numbers(machine)
    ratio, advance = fit.stream_constants([plain[name] for name in flat], numbers)
    change = (1.0, 1.0, ratio.value, 1.0)
    fits = {
        name: fit.stream_iteration(f * change, seconds, advance.value, numbers) for name, (f, seconds) in plain.items()
    }
    return replace(machine, line_ratio=ratio, advance_seconds=advance), fits


def with_streams(machine: Machine, fits: Mapping[str, fit.Fit]) -> Machine:
    """Enter fitted C_iter of streaming tiles and what they say about other programs."""
    if not fits:
        return machine
    entries, ratios, cycles = [], [], []
    for name, each in fits.items():
        value = entered(each, _note(each, "instances of streaming tiles"))
        entries.append((f"{name} {streaming.FAMILY}", value))
        plain = machine.iteration_seconds(name)
        if plain is not None:
            ratios.append(each.iteration / plain.value)
        cycles.append(operation_cycles(catalogue.program(name), machine, each.iteration))
    many = f"{len(fits)} program{'s' * (len(fits) != 1)}"
    return replace(
        machine,
        c_iter=(*machine.c_iter, *entries),
        blocked_ratio=fit.robust(ratios, "1", f"median of {many}") if ratios else machine.blocked_ratio,
        blocked_cycles=fit.robust(cycles, "1", f"C_iter of streaming tiles per operation, median of {many}"),
    )


def with_sweeps(machine: Machine, fits: Mapping[str, fit.Fit]) -> Machine:
    """Enter fitted C_iter of sweeps without tiles, by name of the program."""
    entries = [
        entry for name, each in fits.items() for entry in _entries(f"{name} none", each, "instances without tiles")
    ]
    tiled = [(each, machine.iteration_seconds(name)) for name, each in fits.items()]
    ratios = [each.iteration / plain.value for each, plain in tiled if plain is not None and plain.value > 0]
    return replace(
        machine,
        c_iter=(*machine.c_iter, *entries),
        swept_ratio=fit.robust(ratios, "1", f"median of {len(ratios)} programs") if ratios else machine.swept_ratio,
    )


def with_programs(machine: Machine, programs: Sequence[Program], fits: Sequence[fit.Fit]) -> Machine:
    """Enter fitted C_iter into a machine, and what they say about every other program.

    The start-ups of a row and of a box of other programs become the median over these. The cycles from which C_iter of
    other programs is estimated are scaled by the median ratio of fitted to estimated values.
    """
    entries = []
    ratios = []
    for program, each in zip(programs, fits, strict=True):
        ratios.append(each.iteration / iteration_seconds(program, machine).value)
        entries += _entries(program.name, each, "random instances")
    rows, boxes, many = [each.row for each in fits], [each.box for each in fits], f"{len(fits)} programs"
    result = replace(
        machine,
        c_iter=tuple(entries),
        row_seconds=fit.robust(rows, "s", f"fitted with C_iter, median of {len(rows)} programs"),
        barrier_seconds=fit.robust(boxes, "s", f"start-up of all rows of a box, fitted with C_iter, median of {many}"),
    )
    return _rescaled(result, ratios)


def _rescaled(machine: Machine, ratios: Sequence[float]) -> Machine:
    scale, least, most = statistics.median(ratios), min(ratios), max(ratios)
    names = ("flop_cycles", "special_cycles", "load_cycles", "loop_cycles_1d", "loop_cycles_2d", "loop_cycles_3d")
    note = f"default x {scale:.2f}, the median over {len(ratios)} measured programs"
    changes: dict[str, Any] = {}
    for name in names:
        old: Quantity = getattr(machine, name)
        changes[name] = replace(
            old, value=scale * old.value, low=least * old.value, high=most * old.value, source="estimated", note=note
        )
    return replace(machine, **changes)
