"""Skewed and diamond tiles in codesign: the same search as for hexagons, by their own time models.

T = N_w T_sync + P(n_V) R(n_SM) holds for them as well, and M_SM only decides which tiles and k there are. What differs
is R: the wavefronts of skewed tiles grow and shrink. The grid of sizes has 2 values per doubling (``coarse``: 1):
heights up to 128, the first size up to 256 (of diamonds 1 to 8 times half the least pitch), the middle one up to 64,
the innermost one up to 1024 in multiples of 32 (in 1D up to 16384); k is 1, 2, 3, 4, 6, 8, 12 and so on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import WARP, WORD
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.gpu import blocks
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.work.families import tiles_of
from tilewright.costs.work.tiles import Fronts
from tilewright.machines.machine import Machine
from tilewright.schedules.family import Family, family_named
from tilewright.schedules.tiling import NONE
from tilewright.tuning.spaces.grids import crossed, ordered
from tilewright.tuning.spaces.space import families
from tilewright.workloads.codesign.design import Axes, DesignOptions, WeightedProblem, expand
from tilewright.workloads.codesign.energy import DesignEnergy
from tilewright.workloads.codesign.search import Search
from tilewright.workloads.codesign.tiles import Configurations, arranged

_HIGHEST, _FIRST, _MIDDLE, _LAST, _LAST_1D = 128, 256, 64, 1024, 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilySearch(Search):
    """One case's configurations of a family on one part of the hardware."""

    rounds: Floats  # R per n_SM; shape (s, m)

    def seconds(self, chosen: Ints, prism: Floats) -> Floats:
        """Return T_alg of some configurations on every n_SM; shape (s, len(chosen))."""
        return np.asarray(self.sync[chosen] + prism[chosen] * self.rounds[:, chosen])


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignQuery:
    """For what hardware and metric configurations are searched."""

    sm_count: Floats  # values of n_SM; shape (s,)
    widths: tuple[int, ...]  # values of n_V
    energy: DesignEnergy | None  # if the metric needs it
    metric: str


def strategies_of(case: WeightedProblem, options: DesignOptions) -> tuple[str, ...]:
    """Return the strategies that are tried for a case."""
    return case.strategies or expand(options.strategies)


def others_of(
    case: WeightedProblem, axes: Axes, machine: Machine, options: DesignOptions
) -> tuple[tuple[Family, Configurations], ...]:
    """Return the families besides hexagons that are tried for a case, each with its configurations."""
    wanted = [family_named(name) for name in strategies_of(case, options) if name not in {"tiled", "none"}]
    if not wanted or families(case.problem) == (NONE.family,):
        return ()
    if options.form.model == "published" or options.form.pitch == "published":
        raise UsageError(
            f"no equations are printed for {wanted[0]} tiles", "take the exact model, or the strategies tiled and none"
        )
    setting = make_setting(case.problem, machine, options.scope)
    found = []
    for family in wanted:
        tiles = _grid(family, setting, coarse=options.grid == "coarse")
        footprint = blocks.shared_bytes(tiles_of(family).blocks(tiles, setting.facts), setting.facts)
        most = options.most_tiles or setting.rates.max_tiles
        ks = np.array(
            [k for k in range(1, most + 1) if k & (k - 1) == 0 or (k % 3 == 0 and k // 3 & (k // 3 - 1) == 0)]
        )
        held = arranged(tiles, footprint, ks, axes.shared_kb, options.blocks_per_sm)
        if len(held.k):
            found.append((family, held))
    return tuple(found)


def family_search(
    case: WeightedProblem, family: Family, held: Configurations, setting: Setting, asked: DesignQuery
) -> tuple[FamilySearch, Sequence[Floats]]:
    """Prepare the search of a family's configurations; return it, and c per n_V, each of shape (tiles,)."""
    facts, rates = setting.facts, setting.rates
    work = tiles_of(family).blocks(held.tiles, facts)
    computes = [blocks.computation(work, facts, setting.at(vector_width=width).rates) for width in asked.widths]
    words = (work.input_values + work.output_values) * facts.itemsize / WORD * work.count * work.tiles
    ((count, width),) = work.fronts.kinds
    ramp = (work.fronts.ramp + 0 * count)[held.tile]
    fronts = Fronts(kinds=((count[held.tile], width[held.tile]),), ramp=ramp)
    rounds = np.stack([fronts.turns(held.k * int(each)) for each in asked.sm_count])
    joules: Floats = np.zeros(len(held.k))
    if asked.energy is not None:
        joules = asked.energy.dynamic(case, words)[held.tile]
    search = FamilySearch(
        configurations=held,
        io_seconds=blocks.io(work, facts, rates)[held.tile],
        count=work.count[held.tile],
        sync=(work.fronts.count * rates.launch_seconds)[held.tile],
        fronts=(),
        groups=(),
        turns=(rounds * asked.sm_count[:, None]).min(axis=0),
        joules=joules,
        sm_count=asked.sm_count,
        metric=asked.metric,
        rounds=rounds,
    )
    return search, computes


def _grid(family: Family, setting: Setting, *, coarse: bool) -> TileSizes:
    rank, density = len(setting.facts.shape), 1 if coarse else 2
    heights = [int(t) for t in _geometric(2, min(_HIGHEST, 2 * max(1, setting.facts.steps)), 2, density)]
    last = _geometric(WARP, _LAST_1D if rank == 1 else _LAST, WARP, density)
    axes: list[Ints] = [np.array(heights, dtype=np.int64)]
    axes += [_geometric(1, size, 1, density) for size in (_FIRST, _MIDDLE)[: rank - 1]]
    axes.append(last)
    return ordered(family, crossed(family, axes, setting))


def _geometric(first: int, last: int, step: int, per_doubling: int) -> Ints:
    count = max(1, round(np.log2(max(last, first) / first) * per_doubling))
    sizes = np.round(np.geomspace(first, max(last, first), count + 1) / step).astype(np.int64) * step
    return np.asarray(np.unique(np.maximum(sizes, first)))
