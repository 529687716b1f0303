"""Stencils: every tiling family, by the time and energy models of tiles in space and time."""

from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs import bottleneck
from tilewright.costs import time as time_model
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.bottleneck import Resource
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.energy import tiles as energy_tiles
from tilewright.costs.energy.price import Usage
from tilewright.costs.hardware import hardware
from tilewright.costs.roofline import Roofline, roofline
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine, Quantity
from tilewright.programs.stencil.dependences import analyse
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue as tilings
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning import energy as choices
from tilewright.tuning import select as selection
from tilewright.tuning.choice import best_tiling, choose_blocks, families_of
from tilewright.tuning.spaces import space
from tilewright.tuning.spaces.form_cost import arithmetic_ratio
from tilewright.tuning.spaces.thread_shapes import select_with_threads
from tilewright.workload import Points

_MOST_TILES = 64
"""Tiles on an SM up to which the effect of their number is shown."""


def on_machine(
    problem: Problem, machine: Machine, *, model: str = "exact", scope: str | None = None
) -> "StencilWorkload":
    """Return a problem on a machine.

    Raises:
        UsageError: If there is no such scope, or no model of the element type.
    """
    setting = make_setting(problem, machine, scope)
    return StencilWorkload(problem=problem, machine=machine, model=model, scope=scope, setting=setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class StencilWorkload:
    """A stencil's problem on a machine.

    Attributes:
        problem: What is computed.
        machine: Where.
        model: ``exact``, or ``published`` for the papers' equations as printed.
        scope: Who shares the bandwidth.
        setting: What the models take of all that.
    """

    problem: Problem
    machine: Machine
    model: str
    scope: str | None
    setting: Setting

    @property
    def c_iter(self) -> Quantity:
        """Seconds per loop-body iteration of one vector unit."""
        return self.setting.c_iter

    @property
    def roof(self) -> Roofline | None:
        """What the machine's arithmetic and memory allow the program."""
        return roofline(self.setting)

    @property
    def cell_bytes(self) -> int:
        """Bytes of memory per cell: every copy of every field."""
        return sum(analyse(self.problem.program).copies) * self.problem.itemsize

    def changed(self, machine: Machine, shape: tuple[int, ...], steps: int) -> "StencilWorkload":
        """Return the same program, elsewhere, at another size."""
        return on_machine(replace(self.problem, shape=shape, steps=steps), machine, model=self.model, scope=self.scope)

    def hastened(self) -> "StencilWorkload":
        """Return the same with iterations that take half the time."""
        known = self.setting.c_iter
        half = replace(known, value=0.5 * known.value, low=None, high=None)
        return replace(self, setting=replace(self.setting, c_iter=half))

    def costs(self, tiling: Tiling | None) -> tuple[Tiling, Costs]:
        """Return a tiling, the model's choice by default, with its costs; a grid that wraps runs in blocks."""
        plain = self.model == "exact" and self.scope is None
        blocks = choose_blocks(self.problem, self.machine, tiling) if plain else None
        if blocks is not None:
            return blocks.tiling, blocks.costs
        problem, model = self.problem, self.model
        chosen = best_tiling(problem, self.setting, model) if tiling is None else tilings.legal(problem, tiling)
        ratio = arithmetic_ratio(problem, chosen, self.machine)
        return chosen, time_model.predict(
            problem, chosen, self.machine, model=model, scope=self.scope, arithmetic=ratio
        )

    def expected(self, tiling: Tiling) -> Costs | None:
        """Return the costs of a tiling alone; None where it does not fit, or is none of the problem's."""
        try:
            result = self._evaluated(tiling)
        except UsageError:
            return None
        return time_model.costs_at(result, 0, self.setting) if np.isfinite(result.seconds[0]) else None

    def ranked(
        self, metric: str, *, within: float | None, top: int | None = None, points: Points = "all"
    ) -> list[tuple[Tiling, Costs]]:
        """Return the tilings of all legal families within a share of the best, best first.

        Raises:
            UsageError: If thread blocks cannot be chosen, or none fits.
        """
        band = np.inf if within is None else within
        if points == "threads":
            if metric != "time" or self.model != "exact" or self.scope is not None:
                what = "thread blocks are chosen by the exact model's time"
                raise UsageError(what, "leave metric, model and scope out")
            return self._with_threads(band, top)
        families = families_of(self.problem, self.setting, self.model)
        pool = [self._band(family, metric, (band, top), coarse=points == "coarse") for family in families]
        limit = (1.0 + band) * min(float(np.min(cost, initial=np.inf)) for _, _, cost in pool)
        found: list[tuple[float, int, Tiling, Costs]] = []
        for number, (family, sizes, cost) in enumerate(pool):
            inside = np.flatnonzero(cost <= limit)[:top]
            kept = sizes.take(inside)
            result = time_model.evaluate(family, kept, self.setting, self.model)
            for index, place in enumerate(inside.tolist()):
                costs = time_model.costs_at(result, index, self.setting)
                found.append((float(cost[place]), number, space.tiling_at(family, kept, index), costs))
        found.sort(key=lambda item: item[:2])
        return [(tiling, costs) for _, _, tiling, costs in found[:top]]

    def _band(
        self, family: str, metric: str, kept: tuple[float, int | None], *, coarse: bool
    ) -> tuple[str, TileSizes, Floats]:
        """Return what a family has within a share of its own best; no more is in memory as a whole."""

        def cost(sizes: TileSizes) -> Floats:
            return choices.cost(time_model.evaluate(family, sizes, self.setting, self.model), metric)

        if tilings.traits(family).untiled:
            pieces = iter((time_model.sizes_of(NONE, self.setting),))
        else:
            pieces = space.parts(self.setting, coarse=coarse, family=family)
        sizes, costs, _ = selection.select_pieces(pieces, cost, within=kept[0], top=kept[1])
        return family, sizes, costs

    def _with_threads(self, band: float, top: int | None) -> list[tuple[Tiling, Costs]]:
        """Return hybrid tiles with their thread blocks, best first by the exact model's terms for them."""
        name, machine = self.problem.program.name, self.machine
        if self.setting.cpu or self.problem.program.rank < 2 or "hybrid" not in space.families(self.problem):
            raise UsageError(
                f"thread blocks belong to hybrid tiles on a GPU, not to {name!r} on {machine.name}",
                "take a GPU of `tilewright machines` and a stencil of two or three dimensions",
            )
        most = int(machine.max_block_threads.value) if machine.max_block_threads else 1024
        gpu = hardware(machine, self.setting.block_bytes)
        sizes, shapes, _, _ = select_with_threads(self.problem.program, self.setting, gpu, most, within=band, top=top)
        if not shapes:
            raise UsageError(
                f"no hybrid tile with its thread blocks fits {machine.name} for {name!r}", "leave threads out"
            )
        found = []
        for index, shape in enumerate(shapes):
            tiling = replace(space.tiling_at("hybrid", sizes, index), threads=shape)
            found.append((tiling, time_model.predict(self.problem, tiling, machine)))
        return found

    def usage(self, tiling: Tiling | None, seconds: float | None) -> tuple[Tiling, str, Usage]:
        """Return what a tiling uses: by the printed instance where the paper has one, else by the general rule."""
        problem = self.problem
        tile = None
        if tiling is not None and not tilings.traits(tiling.family).hexagons:
            tile = energy_tiles.printed(problem.program.name, problem.shape, problem.steps, tiling)
        if tile is None or tiling is None:
            chosen, costs = self.costs(tiling)
            assert costs.usage is not None  # noqa: S101  (the setting has an energy model)
            return chosen, self.model, costs.usage if seconds is None else replace(costs.usage, seconds=seconds)
        spent = seconds or replace(self, model="exact").costs(tiling)[1].seconds
        return tiling, tiling.family, tile.usage(spent)

    def resources(self, tiling: Tiling) -> tuple[Resource, ...]:
        """Return the use of every resource by a tiling."""
        return bottleneck.resources(self._evaluated(tiling), 0, self.setting, tiling.family)

    def _evaluated(self, tiling: Tiling) -> Breakdown:
        sizes = time_model.sizes_of(tiling, self.setting)
        return time_model.evaluate(tiling.family, sizes, self.setting, self.model)

    def most_tiles(self, tiling: Tiling) -> int:
        """Return how many tiles may be resident on an SM; 0 on a CPU, and of families that do not count them."""
        kind = tilings.traits(tiling.family)
        counted = not self.setting.cpu and not kind.untiled and not kind.streams
        return min(self.setting.max_tiles, _MOST_TILES) if counted else 0

    def ideal_seconds(self, tiling: Tiling) -> float:
        """Return the time without transfers and synchronisation (thesis, 8.3)."""
        return time_model.ideal_seconds(self.setting, tiling.family)

    def printed_overhead(self, tiling: Tiling) -> float | None:
        """Return the printed estimate (8.5) of hexagons, in seconds."""
        if not tilings.traits(tiling.family).hexagons:
            return None
        return float(time_model.overhead_estimate(time_model.sizes_of(tiling, self.setting), self.setting)[0])
