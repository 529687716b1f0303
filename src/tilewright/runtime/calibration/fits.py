"""Instances that were measured -> C_iter, start-ups and the time of lines, entered into a machine.

C_iter follows the papers' method (Prajapati et al., PPoPP 2017, section 5.2): a robust fit through the times of random
small instances (:mod:`tilewright.costs.fit`). What times them is given from outside.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.costs import fit
from tilewright.costs.rates import iteration_seconds, operation_cycles
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.tiling import Tiling

TURNS = 4  # times that every instance is timed
_BOXES, _STREAMS = ("l3_exposed_fraction_boxes", "far_row_ratio"), ("l3_exposed_fraction_3d",)
"""Parameters that say how much of the time beyond L2 is exposed, by the tiles in which it is."""
_EXPOSED = (0.35, 1.6)  # least and most that is exposed, over what is estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One instance of a program, timed."""

    shape: tuple[int, ...]  # extents of the grid
    steps: int  # time steps
    tiling: Tiling
    seconds: float  # the least time of its repetitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance(Timing):
    """One measured instance of a program; seconds of streaming tiles are without loading and storing."""

    # what it takes per second of C_iter, of a row's start-up and of a box's; of streaming tiles, per second of C_iter
    # and of an advance's start-up, and the seconds of their lines between caches; on GPUs, per second of C_iter, and
    # the seconds of launches and barriers
    factors: tuple[float, ...]


def in_turns(
    measures: Sequence[Callable[[], Sequence[Timing]]],
    chosen: Sequence[Callable[[Sequence[float]], float]],  # of each: what of the times of an instance counts
) -> tuple[tuple[Timing, ...], ...]:
    """Time the same instances in turn, several times: a disturbance is over by then."""
    seconds: tuple[dict[Timing, list[float]], ...] = tuple({} for _ in measures)
    for _ in range(TURNS):
        for measure, found in zip(measures, seconds, strict=True):
            for each in measure():
                found.setdefault(replace(each, seconds=0.0), []).append(each.seconds)
    return tuple(
        tuple(replace(timing, seconds=choose(many)) for timing, many in found.items())
        for found, choose in zip(seconds, chosen, strict=True)
    )


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
        name: (np.array([each.factors for each in series]), np.array([each.seconds for each in series]))
        for name, series in instances.items()
    }
    flat = {name: data[name] for name, series in instances.items() if len(series[0].shape) == 2} or data
    before = machine.line_ratio.value if machine.line_ratio else 1.0
    plain = {name: (factors / (1.0, 1.0, before, 1.0), seconds) for name, (factors, seconds) in data.items()}
    numbers = Numbers(machine)
    ratio, advance = fit.stream_constants([plain[name] for name in flat], numbers)
    change = (1.0, 1.0, ratio.value, 1.0)
    fits = {
        name: fit.stream_iteration(f * change, seconds, advance.value, numbers) for name, (f, seconds) in plain.items()
    }
    return replace(machine, line_ratio=ratio, advance_seconds=advance), fits


def with_programs(machine: Machine, fits: Mapping[str, fit.Fit]) -> Machine:
    """Enter fitted C_iter into a machine, by name of the program, and what they say about every other program.

    The start-ups of a row and of a box of other programs become the median over these. The cycles from which C_iter of
    other programs is estimated are scaled by the median ratio of fitted to estimated values.
    """
    ratios = [each.iteration / iteration_seconds(catalogue.program(name), machine).value for name, each in fits.items()]
    scale, least, most = statistics.median(ratios), min(ratios), max(ratios)
    note = f"default x {scale:.2f}, the median over {len(ratios)} measured programs"
    rescaled: dict[str, Any] = {}
    for name in ("flop_cycles", "special_cycles", "load_cycles", "loop_cycles_1d", "loop_cycles_2d", "loop_cycles_3d"):
        old: Quantity = getattr(machine, name)
        low, high = least * old.value, most * old.value
        rescaled[name] = Quantity(
            value=scale * old.value, unit=old.unit, source="estimated", note=note, low=low, high=high
        )
    many = f"fitted with C_iter, median of {len(fits)} programs"
    return replace(
        entered(replace(machine, c_iter=()), fits, "random instances", starts=True),
        row_seconds=fit.robust([each.row for each in fits.values()], "s", many),
        barrier_seconds=fit.robust([each.box for each in fits.values()], "s", f"start-up of all rows of a box, {many}"),
        **rescaled,
    )


def with_sweeps(machine: Machine, fits: Mapping[str, fit.Fit]) -> Machine:
    """Enter fitted C_iter of sweeps without tiles, by name of the program."""
    ratios, named = _over_tiles(machine, fits), {f"{name} none": each for name, each in fits.items()}
    return replace(
        entered(machine, named, "instances without tiles", starts=True),
        swept_ratio=fit.robust(ratios, "1", f"median of {len(ratios)} programs") if ratios else machine.swept_ratio,
    )


def with_streams(machine: Machine, fits: Mapping[str, fit.Fit]) -> Machine:
    """Enter fitted C_iter of streaming tiles, by name of the program, and what they say about other programs."""
    if not fits:
        return machine
    ratios, named = _over_tiles(machine, fits), {f"{name} {streaming.FAMILY}": each for name, each in fits.items()}
    cycles = [operation_cycles(catalogue.program(name), machine, each.iteration) for name, each in fits.items()]
    many = f"median of {len(fits)} program{'s' * (len(fits) != 1)}"
    return replace(
        entered(machine, named, "instances of streaming tiles"),
        blocked_ratio=fit.robust(ratios, "1", many) if ratios else machine.blocked_ratio,
        blocked_cycles=fit.robust(cycles, "1", f"C_iter of streaming tiles per operation, {many}"),
    )


def exposing(machine: Machine, ratio: float) -> Machine:
    """A machine of which so many times as much of the time beyond L2 is exposed as this one says."""
    every = {name: getattr(machine, name).at(_exposed(machine, name, ratio)) for name in (*_BOXES, *_STREAMS)}
    return replace(machine, **every)


def with_exposed(machine: Machine, instances: Iterable[Instance]) -> Machine:
    """Enter how much of the time beyond L2 is exposed, as instances in memory say that all cores compute."""
    found: dict[str, Quantity] = {}
    every = list(instances)
    for names, streams in ((_BOXES, False), (_STREAMS, True)):
        ratios = [
            float(np.clip((each.seconds - each.factors[0]) / each.factors[1], *_EXPOSED))
            for each in every
            if each.tiling.family.streams == streams and each.factors[1] > 0  # where L3 is known
        ]
        note = f"median of {len(ratios)} instances in memory, computed by all cores"
        for name in names if ratios else ():
            found[name] = fit.robust([_exposed(machine, name, ratio) for ratio in ratios], "1", note)
    return replace(machine, **found)  # type: ignore[arg-type]  # (names of its quantities)


def _exposed(machine: Machine, name: str, ratio: float) -> float:
    """So many times an exposed fraction, or how much longer than near ones far rows take."""
    value, none = getattr(machine, name).value, 1.0 if name == "far_row_ratio" else 0.0
    return float(none + ratio * (value - none))


def _over_tiles(machine: Machine, fits: Mapping[str, fit.Fit]) -> list[float]:
    """Fitted C_iter over those in tiles, of the programs that have one."""
    tiled = [(each, machine.iteration_seconds(name)) for name, each in fits.items()]
    return [each.iteration / plain.value for each, plain in tiled if plain is not None and plain.value > 0]


def entered(
    machine: Machine,
    fits: Mapping[str, fit.Fit],  # by name of the program, and perhaps of what cuts it
    instances: str,  # what they were fitted through
    *,
    starts: bool = False,  # whether start-ups were fitted with C_iter
    wanted: int = 0,  # instances that were asked for
    said: str = "",  # what else is to be known of the times
) -> Machine:
    """Enter fitted C_iter into a machine."""
    entries = dict(machine.c_iter)
    for name, each in fits.items():
        short = f" (of {wanted}: the time was up)" if each.instances < wanted else ""
        note = f"fit through {each.instances} {instances}{short}, off by {each.deviation:.1%} in the median{said}"
        value, low, high = each.iteration, each.low, each.high
        entries[name] = Quantity(value=value, unit="s", source="measured", note=note, low=low, high=high)
        for part, start in (("row", each.row), ("box", each.box)) if starts else ():
            note = "start-up, fitted with C_iter"
            entries[f"{name} {part}"] = Quantity(value=start, unit="s", source="measured", note=note)
    return replace(machine, c_iter=tuple(entries.items()))
