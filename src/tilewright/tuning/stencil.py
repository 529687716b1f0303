"""Stencils: every tiling family, by the time and energy models of tiles in space and time."""

from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs import bottleneck
from tilewright.costs import time as time_model
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.bottleneck import Resource, Roofline, roofline
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.energy.price import Usage
from tilewright.costs.facts import facts_of
from tilewright.costs.published import energy as published_energy
from tilewright.costs.published import time as published_time
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import Costs, streaming_seconds
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.schedules import catalogue as tilings
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning import select as choices
from tilewright.tuning.choice import choose_blocks, computed_form
from tilewright.tuning.ranking import best_tiling, families_of
from tilewright.tuning.spaces import space
from tilewright.tuning.spaces.cpu_schedule import arithmetic_ratio
from tilewright.tuning.spaces.periodic import PeriodicBlocks
from tilewright.workload import Points

_MOST_BLOCKS = 50  # tilings of a block of steps on an extended grid that are ranked, where nobody says how many
_MOST_TILES = 64  # tiles on an SM up to which the effect of their number is shown


def on_machine(
    problem: Problem, machine: Machine, *, model: str = "exact", scope: str | None = None
) -> "StencilWorkload":
    """Return a problem on a machine."""
    form = computed_form(problem, machine) if model == "exact" and scope is None else problem
    setting = make_setting(form, machine, scope)
    return StencilWorkload(problem=problem, form=form, machine=machine, model=model, scope=scope, setting=setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class StencilWorkload:
    """A stencil's problem on a machine."""

    problem: Problem
    form: Problem  # in which it is computed
    machine: Machine
    model: str  # ``exact``, or ``published`` for the papers' equations as printed
    scope: str | None  # who shares the bandwidth
    setting: Setting  # what the models take of all these

    def c_iter(self, tiling: Tiling) -> Quantity:
        """Seconds per loop-body iteration of one vector unit, in the code of a tiling's family."""
        # On a GPU what a file has is of hexagons: what a paper measured on its authors' code enters its equations
        # alone.
        kind, setting = tiling.family, self._setting(tiling)
        if kind.streams and setting.gpu is not None:
            return streaming_seconds(setting)
        threads = self.model == "exact" and time_model.models_threads(tiling.family, self.setting)
        return setting.rates.c_iter if kind.hexagons and not threads else setting.rates.other

    @property
    def roof(self) -> Roofline | None:
        """What the machine's arithmetic and memory allow the program."""
        return roofline(self.setting)

    @property
    def cell_bytes(self) -> int:
        """Bytes of memory per cell: every copy of every field."""
        return sum(self.form.program.analysis.copies) * self.form.itemsize

    def changed(self, machine: Machine, shape: tuple[int, ...], steps: int) -> "StencilWorkload":
        """Return the same program, elsewhere, at another size."""
        return on_machine(replace(self.problem, shape=shape, steps=steps), machine, model=self.model, scope=self.scope)

    def hastened(self) -> "StencilWorkload":
        """Return the same with iterations that take half the time."""

        def half(rate: Quantity) -> Quantity:
            return rate.at(0.5 * rate.value)

        rates, gpu = self.setting.rates, self.setting.gpu
        faster = self.setting.at(c_iter=half(rates.c_iter), other=half(rates.other))
        if gpu is not None:  # models of thread blocks count instructions: they go with the clock
            faster = faster.at(swept=half(rates.swept), numbers=gpu.at(clock=2.0 * gpu.clock))
        return replace(self, setting=faster)

    def costs(self, tiling: Tiling | None) -> tuple[Tiling, Costs]:
        """Return a tiling, the model's choice by default, with its costs; a grid that wraps runs in blocks."""
        plain = self.model == "exact" and self.scope is None
        blocks = choose_blocks(self.form, self.machine, tiling) if plain else None
        if blocks is not None:
            return blocks.tiling, blocks.costs
        problem, model = self.form, self.model
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
        """Return the tilings of all legal families within a share of the best, best first."""
        band = np.inf if within is None else within
        plain = self.model == "exact" and self.scope is None
        blocks = choose_blocks(self.form, self.machine) if plain and not self.setting.cpu else None
        tilings = self._ranked(metric, (band, top), coarse=points == "coarse")
        if blocks is not None:
            tilings = self._with_blocks(blocks, tilings, metric, (band, top))
        return tilings

    def _ranked(self, metric: str, quota: tuple[float, int | None], *, coarse: bool) -> list[tuple[Tiling, Costs]]:
        """Return what is within a share of the best of all families, at most so many, best first."""
        band, top = quota
        families = families_of(self.form, self.setting, self.model)
        pool = [self._band(family, metric, quota, coarse=coarse) for family in families]
        limit = (1.0 + band) * min(float(np.min(cost, initial=np.inf)) for _, _, cost in pool)
        priced: list[tuple[float, int, Tiling, Costs]] = []
        for number, (family, sizes, cost) in enumerate(pool):
            inside = np.flatnonzero(cost <= limit)[:top]
            kept_sizes = sizes.take(inside)
            result = time_model.evaluate(family, kept_sizes, self.setting, self.model)
            for index, place in enumerate(inside.tolist()):
                costs = time_model.costs_at(result, index, self.setting)
                priced.append((float(cost[place]), number, space.tiling_at(family, kept_sizes, index), costs))
        priced.sort(key=lambda item: item[:2])
        return [(tiling, costs) for _, _, tiling, costs in priced[:top]]

    def _with_blocks(
        self, blocks: PeriodicBlocks, tilings: list[tuple[Tiling, Costs]], metric: str, quota: tuple[float, int | None]
    ) -> list[tuple[Tiling, Costs]]:
        """Add what blocks of steps on the extended grid take in the best tilings of one block."""
        band, top = quota
        inner = on_machine(blocks.extended.problem, self.machine)
        best = inner.ranked(metric, within=band, top=top or _MOST_BLOCKS)
        pairs = [(each.tiling, each.costs) for each in (self._blocks(tiling) for tiling, _ in best) if each is not None]
        every = [(blocks.tiling, blocks.costs), *(pair for pair in pairs if pair[0] != blocks.tiling), *tilings]
        cost = choices.of_costs([costs for _, costs in every], metric)
        order = np.argsort(cost, kind="stable")
        return [every[place] for place in order.tolist() if cost[place] <= (1.0 + band) * cost[order[0]]][:top]

    def _blocks(self, tiling: Tiling) -> PeriodicBlocks | None:
        return None if tiling.family.untiled else choose_blocks(self.form, self.machine, tiling)

    def _band(
        self, family: Family, metric: str, quota: tuple[float, int | None], *, coarse: bool
    ) -> tuple[Family, TileSizes, Floats]:
        """Return what a family has within a share of its own best; no more is in memory as a whole."""

        def cost(sizes: TileSizes) -> Floats:
            return choices.cost(time_model.evaluate(family, sizes, self.setting, self.model), metric)

        if family.untiled:
            pieces = iter((time_model.sizes_of(NONE, self.setting),))
        else:
            pieces = space.parts(self.setting, coarse=coarse, family=family, model=self.model)
        sizes, costs, _ = choices.select_pieces(pieces, cost, within=quota[0], top=quota[1])
        return family, sizes, costs

    def usage(self, tiling: Tiling | None, seconds: float | None) -> tuple[Tiling, str, Usage]:
        """Return what a tiling uses: by the printed instance where the paper has one, else by the general rule."""
        problem = self.problem
        tile = None
        if tiling is not None and not tiling.family.hexagons:
            tile = published_energy.printed(problem.program.name, problem.shape, problem.steps, tiling)
        if tile is None or tiling is None:
            chosen, costs = self.costs(tiling)
            assert costs.usage is not None  # noqa: S101  (the setting has an energy model)
            return chosen, self.model, costs.usage if seconds is None else replace(costs.usage, seconds=seconds)
        spent = seconds or replace(self, model="exact").costs(tiling)[1].seconds
        return tiling, tiling.family, tile.usage(spent)

    def resources(self, tiling: Tiling) -> tuple[Resource, ...]:
        """Return the use of every resource by a tiling."""
        return bottleneck.resources(self._evaluated(tiling), 0, self._setting(tiling), tiling.family)

    def _evaluated(self, tiling: Tiling) -> Breakdown:
        setting = self._setting(tiling)
        return time_model.evaluate(tiling.family, time_model.sizes_of(tiling, setting), setting, self.model)

    def _setting(self, tiling: Tiling) -> Setting:
        """The setting of a tiling alone: where a grid wraps, blocks of its steps stream over one that does not."""
        setting = self.setting
        if setting.cpu or setting.facts.block is not None or not tiling.family.streams:
            return setting
        plain = make_problem(self.form.program, setting.facts.shape, setting.facts.steps, self.form.dtype)
        return replace(setting, facts=facts_of(plain, cpu=False))

    def most_tiles(self, tiling: Tiling) -> int:
        """Return how many tiles may be resident on an SM; 0 on a CPU, and of families that do not count them."""
        kind = tiling.family
        counted = not self.setting.cpu and not kind.untiled and not kind.streams
        return min(self.setting.rates.max_tiles, _MOST_TILES) if counted else 0

    def ideal_seconds(self, tiling: Tiling) -> float:
        """Return the time without transfers and synchronisation (thesis, 8.3)."""
        return time_model.ideal_seconds(self._setting(tiling), tiling.family, self.model)

    def printed_overhead(self, tiling: Tiling) -> float | None:
        """Return the printed estimate (8.5) of hexagons, in seconds; models of thread blocks have no C_iter for it."""
        threads = self.model == "exact" and time_model.models_threads(tiling.family, self.setting)
        if threads or not tiling.family.hexagons:
            return None
        return float(published_time.overhead_estimate(time_model.sizes_of(tiling, self.setting), self.setting)[0])
