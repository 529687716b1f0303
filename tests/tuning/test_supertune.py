"""Across strategies: feasible sets intersected and apart, the winner, and why it wins."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.cli.app import app
from tilewright.costs.arrays import TileSizes
from tilewright.verbs.tuning.supertune import feasible_sets, union

CASE = {"shape": (1024, 1024), "steps": 64, "machine": "k20c"}


def test_sets_are_a_partition_and_their_least_is_the_least():
    random = np.random.default_rng(3)
    costs = [np.where(random.random(500) < 0.6, random.random(500), np.inf) for _ in range(3)]
    found = feasible_sets(("a", "b", "c"), costs)
    table = np.stack(costs)
    assert sum(each.points for each in found) == int(np.isfinite(table).any(axis=0).sum())
    assert min(each.cost for each in found) == table.min()
    assert len({each.families for each in found}) == len(found) == 7
    for each in found:
        inside = [np.isfinite(cost) == (name in each.families) for name, cost in zip("abc", costs, strict=True)]
        mask = np.logical_and.reduce(inside)
        assert each.points == mask.sum() == sum(each.wins)
        assert each.cost == table[:, mask].min() == table["abc".index(each.winner), each.index]


def test_the_union_has_every_size_once():
    def sizes(*rows):
        columns = np.array(rows).T
        return TileSizes(time=columns[0], space=tuple(columns[1:]), k=np.zeros(len(rows), dtype=int))

    merged = union([sizes((4, 1, 2), (2, 9, 9)), sizes((4, 1, 2), (2, 1, 9))])
    assert np.stack([merged.time, *merged.space], axis=1).tolist() == [[2, 1, 9], [2, 9, 9], [4, 1, 2]]
    with pytest.raises(UsageError, match="at least one space"):
        union([])


@pytest.mark.parametrize("metric", ["time", "traffic", "energy", "power", "edp", "ed2p"])
def test_the_winner_is_the_least_over_strategies_and_sets(metric):
    found = tw.supertune("heat2d", metric=metric, **CASE)
    families = {"none", "hybrid", "skewed", "diamond", "streaming"}
    assert {entry.tiling.family for entry in found.entries} == families
    # Models of skewed and diamond tiles know no thread blocks: they stand behind.
    ranked, rest = found.entries[:3], found.entries[3:]
    assert {entry.tiling.family for entry in ranked} == {"none", "hybrid", "streaming"}
    for part in (ranked, rest):
        assert [entry.value for entry in part] == sorted(entry.value for entry in part)
    assert found.winner.loss == 0
    # Streaming tiles of a GPU have thread blocks: their sizes are no other family's.
    tiled = min(entry.value for entry in found.entries if entry.tiling.family not in ("none", "streaming"))
    assert all("streaming" not in each.families for each in found.sets)
    assert found.sets[0].cost == tiled == min(each.cost for each in found.sets)
    ranked = tw.select("heat2d", metric=metric, within=None, top=1, **CASE)[0]
    assert tw.select("heat2d", metric=metric, within=0.0, **CASE)[0].tiling == ranked.tiling
    own = {"time": ranked.costs.seconds, "traffic": ranked.costs.dram_bytes, "energy": ranked.costs.joules}
    assert found.winner.value <= own.get(metric, np.inf) * (1 + 1e-12)  # prices of one and of many tilings
    assert len(found.reasons()) == 4
    for entry in found.entries:
        if metric == "time":
            assert sum(value for _, value in entry.parts) == pytest.approx(entry.costs.seconds)
        elif metric != "traffic":
            assert sum(value for _, value in entry.parts) == pytest.approx(entry.costs.joules)


def test_the_sets_of_two_families_are_the_three_problems_of_the_thesis():
    found = tw.supertune("heat2d", **CASE)
    for each, tiling in zip(found.sets, found.best_of_sets, strict=True):
        assert tiling.family == each.winner
        assert tiling.family in each.families
        predicted = tw.predict("heat2d", tiling=tiling, **CASE)
        assert predicted.costs.seconds == pytest.approx(each.cost)


def test_where_no_time_tile_is_legal_there_is_one_strategy():
    found = tw.supertune("heat2d", shape=(64, 64), steps=1, machine="k20c")
    assert [entry.tiling.family for entry in found.entries] == ["none"]
    assert found.sets == ()
    assert found.reasons() == ()
    with pytest.raises(UsageError, match="the metric is one of time"):
        tw.supertune("heat2d", metric="beauty", **CASE)


def test_the_command_says_why():
    arguments = ["predict", "heat2d", "--shape", "1024x1024", "--steps", "64", "--machine", "k20c", "--top", "3"]
    result = CliRunner().invoke(app, [*arguments, "--explain", "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert len(document["candidates"]) == 3
    strategies = document["strategies"]
    assert strategies["families"][0]["tiling"] == strategies["winner"]
    assert sum(each["points"] for each in strategies["feasible_sets"]) > 1000
    shown = CliRunner().invoke(app, [*arguments, "--explain"])
    assert shown.exit_code == 0
    assert "across strategies" in shown.stderr + shown.stdout
    assert strategies["winner"].partition(":")[0] + " beats" in shown.stderr + shown.stdout
