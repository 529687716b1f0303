"""The kernel of codesign: the best configurations of one case for one width of the SMs, on every n_SM and M_SM."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tilewright.costs.arrays import Floats, Ints
from tilewright.workloads.codesign.energy import longest, value
from tilewright.workloads.codesign.tiles import Configurations

NOTHING = -2
"""In place of a configuration: nothing fits."""
_ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One case's configurations on one part of the hardware; arrays of shape (m,), one per configuration."""

    configurations: Configurations
    io_seconds: Floats
    count: Ints
    sync: Floats
    fronts: tuple[Floats, ...]
    groups: tuple[Floats, ...]
    turns: Floats
    joules: Floats
    sm_count: Floats
    metric: str

    def seconds(self, chosen: Ints, prism: Floats) -> Floats:
        """Return T_alg of some configurations on every n_SM; shape (s, len(chosen))."""
        turns = np.zeros((len(self.sm_count), len(chosen)))
        for n, w in zip(self.fronts, self.groups, strict=True):
            # Quotients of integers far below 2^53 are exact or off an integer by more than their rounding.
            turns += n[chosen] * np.ceil(w[chosen] / self.sm_count[:, None])
        return np.asarray(self.sync[chosen] + prism[chosen] * turns)

    def least(self, chosen: Ints, seconds: Floats, watts: Floats) -> tuple[Floats, Ints]:
        """Return the least value and its position in ``chosen``, -1 without any, per n_SM and M_SM."""
        # ``chosen`` increases, hence also by level, shape (n,); ``seconds`` is (s, n), ``watts`` (s, levels).
        levels = len(self.configurations.starts) - 1
        ends = np.searchsorted(self.configurations.level[chosen], np.arange(levels), side="right")
        lowest = np.full((len(self.sm_count), levels), np.inf)
        where = np.full(lowest.shape, -1, dtype=np.int64)
        rows = np.arange(len(self.sm_count))
        timed, begin = self.metric in {"time", "per_area"}, 0
        for level, end in enumerate(ends.tolist()):
            if timed and level:  # What was best in the smaller memories stays so: only the new ones need be seen.
                lowest[:, level], where[:, level] = lowest[:, level - 1], where[:, level - 1]
            if end > begin:
                values = value(
                    self.metric, seconds[:, begin:end], self.joules[chosen[begin:end]], watts[:, level, None]
                )
                at = values.argmin(axis=1)
                better = values[rows, at] < lowest[:, level]
                lowest[better, level], where[better, level] = values[rows, at][better], at[better] + begin
            begin = end if timed else 0
        return lowest, where

    def best(self, prism: Floats, watts: Floats, seeds: Ints) -> tuple[Floats, Ints]:
        """Return the seconds and configurations of the least values for one n_V; each of shape (s, levels)."""
        work = prism * self.turns
        seeds = np.union1d(seeds, self._promising(work))
        reached, _ = self.least(seeds, self.seconds(seeds, prism), watts)
        joules = float(self.joules.min()) if len(self.joules) else 0.0
        time = longest(self.metric, reached, joules, watts) * self.sm_count[:, None]
        # A configuration can serve its own level and all above it.
        limit = np.maximum.accumulate(time.max(axis=0)[::-1])[::-1] * _ROUNDING
        bound = work + self.sync * self.sm_count.min()
        chosen = np.flatnonzero((bound <= limit[self.configurations.level]) & np.isfinite(work))
        seconds = self.seconds(chosen, prism)
        _, where = self.least(chosen, seconds, watts)
        found = np.where(where >= 0, chosen[where], NOTHING) if len(chosen) else where * 0 + NOTHING
        rows = np.arange(len(self.sm_count))[:, None]
        return (np.where(where >= 0, seconds[rows, where], np.inf) if len(chosen) else where + np.inf), found

    def _promising(self, work: Floats) -> Ints:
        """Return one or two configurations per level that should be good."""
        found = []
        starts = self.configurations.starts.tolist()
        for count in {float(self.sm_count.min()), float(self.sm_count.max())}:
            bound = work + self.sync * count
            found += [begin + int(bound[begin:end].argmin()) for begin, end in pairwise(starts) if end > begin]
        return np.unique(np.array(found, dtype=np.int64))
