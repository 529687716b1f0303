"""Which candidates are tried, and in which order."""

import itertools
from collections import Counter

import numpy as np
import pytest

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import TileSizes
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.shortlist import FamilySpace, effort_level, ranked, shortlist


def family_space(family, heights, widths, cost, expected=None):
    """A grid of heights and widths; ``cost(t, s)`` is the predicted cost."""
    grid = [(t, s) for t in heights for s in widths]
    sizes = TileSizes(
        time=np.array([t for t, _ in grid]),
        space=(np.array([s for _, s in grid]),),
        k=np.zeros(len(grid), dtype=np.int64),
    )

    def make(index):
        return NONE if family == "none" else Tiling(family=family, time=grid[index][0], space=(grid[index][1],))

    costs = np.array([float(cost(t, s)) for t, s in grid])
    return FamilySpace(
        family=family_named(family),
        sizes=sizes,
        cost=costs,
        make=make,
        expected=costs if expected is None else expected,
    )


UNTILED = family_space("none", [1], [1], lambda t, s: 500.0)
HEXAGONS = family_space("hexagonal", range(2, 42, 2), range(8, 88, 8), lambda t, s: 100 + abs(t - 20) + abs(s - 40))
SLOW = family_space("streaming", range(1, 9), range(64, 640, 64), lambda t, s: 300 + t * s / 64)
SPACE = (UNTILED, HEXAGONS, SLOW)


def test_the_models_first_choice_comes_first_and_none_second():
    chosen = shortlist(SPACE, 20)
    assert chosen[0].tiling == Tiling(family="hexagonal", time=20, space=(40,))
    assert chosen[1].tiling == NONE
    assert len({candidate.tiling for candidate in chosen}) == len(chosen) == 20


def test_the_models_ten_first_are_in_every_larger_shortlist():
    first = {candidate.tiling for candidate in ranked(SPACE, 10)}
    assert first <= {candidate.tiling for candidate in shortlist(SPACE, 40)}


def test_larger_shortlists_hold_the_first_ten():
    first = [candidate.tiling for candidate in shortlist(SPACE, 10)]
    for count in (11, 40, 200):
        assert [candidate.tiling for candidate in shortlist(SPACE, count)][:10] == first


def test_larger_shortlists_span_families():
    for count in (16, 64):
        assert {candidate.tiling.family for candidate in shortlist(SPACE, count)} == {"none", "hexagonal", "streaming"}


def test_the_first_ten_are_unlike_each_other():
    """A family and heights that the model puts a little behind come before many tilings that are alike."""
    alike = family_space("streaming", [8, 16], range(64, 1064, 10), lambda t, s: 100 + s / 1000 + (t == 16))
    behind = family_space("hexagonal", range(4, 24, 4), range(64, 1064, 10), lambda t, s: 120 + s / 1000)
    space = (UNTILED, alike, behind)
    assert {candidate.tiling.family for candidate in ranked(space, 10)} == {"streaming"}
    ten = shortlist(space, 10)
    assert ten[0].tiling == Tiling(family="streaming", time=8, space=(64,))
    count = Counter(candidate.tiling.family for candidate in ten)
    assert count["none"] == 1
    assert 2 <= count["hexagonal"] <= 5 <= count["streaming"]
    assert {c.tiling.time for c in ten if c.tiling.family == "streaming"} == {8, 16}
    hexagons = [c.tiling.time for c in ten if c.tiling.family == "hexagonal"]
    assert len(set(hexagons)) == len(hexagons)


def test_what_is_far_behind_waits():
    assert "streaming" not in {candidate.tiling.family for candidate in shortlist(SPACE, 10)}


def test_families_are_compared_by_what_is_expected():
    """A margin or a copy puts a family behind, though its cost is lower."""
    cheap = family_space("hexagonal", [4], [8, 16], lambda t, s: s, expected=np.array([800.0, 1600.0]))
    chosen = shortlist((cheap, SLOW), 3)
    assert chosen[0].tiling == Tiling(family="streaming", time=1, space=(64,))
    assert chosen[0].predicted == 301.0
    assert ranked((cheap, SLOW), 1)[0].tiling.family == "hexagonal"


def test_heights_and_costs_are_spread():
    chosen = shortlist(SPACE, 120)
    heights = {c.tiling.time for c in chosen if c.tiling.family == "hexagonal"}
    assert heights == set(range(2, 42, 2))
    cost = HEXAGONS.cost
    taken = sorted(c.predicted for c in chosen if c.tiling.family == "hexagonal")
    quartiles = np.quantile(cost, [0.25, 0.5, 0.75])
    assert all(any(low <= each <= high for each in taken) for low, high in itertools.pairwise(quartiles))
    assert max(taken) > np.quantile(cost, 0.95)


def test_a_small_space_is_listed_once_and_whole():
    small = (UNTILED, family_space("hexagonal", [2, 4], [8, 16], lambda t, s: t * s))
    assert len(shortlist(small, 100)) == 5
    assert [c.predicted for c in ranked(small, 100)] == [16.0, 32.0, 32.0, 64.0, 500.0]


def test_what_does_not_fit_is_left_out():
    broken = family_space("hexagonal", [2, 4, 6], [8], lambda t, s: np.inf if t == 4 else t)
    assert {c.tiling.time for c in shortlist((broken,), 9)} == {2, 6}
    nothing = family_space("hexagonal", [2], [8], lambda t, s: np.inf)
    assert [c.tiling for c in shortlist((UNTILED, nothing), 9)] == [NONE]
    assert shortlist((nothing,), 9) == ()


def test_the_order_does_not_depend_on_the_order_of_the_points():
    mixed = np.random.default_rng(1).permutation(len(HEXAGONS.cost))
    other = FamilySpace(
        family=family_named("hexagonal"),
        sizes=HEXAGONS.sizes.take(mixed),
        cost=HEXAGONS.cost[mixed],
        make=lambda index: HEXAGONS.make(int(mixed[index])),
        expected=HEXAGONS.expected[mixed],
    )
    assert [c.tiling for c in ranked((other,), 30)] == [c.tiling for c in ranked((HEXAGONS,), 30)]


def test_effort_levels():
    assert effort_level("none").repeats == 0
    sizes = [effort_level(name).candidates for name in ("quick", "full", "exhaustive")]
    assert sizes == sorted(sizes)
    assert sizes[-1] >= 200
    mine = effort_level("quick", seconds=5.0, candidates=3)
    assert (mine.seconds, mine.candidates) == (5.0, 3)
    for bad in ({"seconds": 0.0}, {"seconds": float("nan")}, {"candidates": 0}, {"candidates": 2.5}):
        with pytest.raises(UsageError):
            effort_level("quick", **bad)
    with pytest.raises(UsageError, match="none, quick, full, exhaustive"):
        effort_level("maximal")
