"""Predictions of many ranks: what they count is what a run sends, and what cannot be is refused."""

import json
import math
import random

import numpy as np
import pytest
from tests.distributed.cases import draw
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli.app import app
from tilewright.costs.transfers import exchange, strips
from tilewright.distributed.windows import Decomposition, depths, halo, split
from tilewright.programs.stencil.forms import wrapped_axes
from tilewright.programs.stencil.problem import make_problem

OPTIONS = {"shape": (4096, 4096), "steps": 100, "machine": "zen3"}


@pytest.mark.parametrize("seed", range(60))
def test_an_exchange_is_counted_as_it_is_sent(seed):
    chance = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    problem, _, _ = draw(37, seed)
    rank = problem.program.rank
    topology = tuple(chance.randint(1, 5) for _ in range(rank))
    block = tuple(chance.randint(1, 9) for _ in range(rank))
    steps = chance.randint(1, 3)
    shape = tuple(size * each for size, each in zip(block, topology, strict=True))
    kinds = [tuple((a, b) for a, b in sides) for sides in problem.boundaries]
    problem = make_problem(
        problem.program, shape, 1, problem.dtype, dict(zip(problem.program.fields, kinds, strict=True))
    )
    wraps = [axis in wrapped_axes(problem) for axis in range(rank)]
    around = depths(problem, steps)
    if any(
        wrap and n > 1 and sum(pair) > (n - 1) * size
        for wrap, n, pair, size in zip(wraps, topology, around, block, strict=True)
    ):
        pytest.skip("a window that holds copies of its own block")
    layout = Decomposition(shape=shape, topology=topology)
    middle = int(np.ravel_multi_index([(each - 1) // 2 for each in topology], topology))
    found = halo(problem, layout, middle, steps)
    others = {owner: parts for owner, parts in found.parts.items() if owner != middle}
    counted = exchange(block, topology, around, wraps)
    assert counted.messages == sum(map(len, others.values()))
    assert counted.cells == sum(part.cells for parts in others.values() for part in parts)
    assert counted.window == found.window.problem.shape


def test_more_latency_asks_for_fewer_exchanges():
    slow = tw.predict("heat2d", ranks=1024, network="ethernet10", **OPTIONS)
    fast = tw.predict("heat2d", ranks=1024, network="ndr", **OPTIONS)
    assert slow.best.count <= fast.best.count
    assert slow.seconds > fast.seconds
    assert slow.best.seconds <= slow.every.seconds
    assert slow.topology == (32, 32)
    assert slow.block == (128, 128)
    assert slow.best.messages == 8 * slow.best.count
    width = slow.best.steps
    assert slow.best.bytes == slow.best.count * 4 * ((128 + 2 * width) ** 2 - 128**2)


def test_one_rank_sends_nothing():
    found = tw.predict("wave2d", ranks=1, **OPTIONS)
    assert (found.best.messages, found.best.bytes, found.best.redundant) == (0, 0, 1.0)
    assert math.isclose(found.efficiency, 1.0)


@pytest.mark.parametrize("ranks", [100_000, 7, 97])
def test_any_number_of_ranks(ranks):
    found = tw.predict("heat2d", ranks=ranks, network="slingshot", **{**OPTIONS, "shape": (65536, 65536)})
    assert found.ranks == ranks
    assert 0 < found.efficiency <= 1.001


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranks": 4, "network": "slingshut"}, "slingshot"),
        ({"ranks": 0}, "ranks"),
        ({"ranks": 4, "topology": (3, -1)}, "do not fit"),
        ({"ranks": 4, "topology": (4,)}, "2 numbers of ranks"),
        ({"ranks": 10**6 + 3, "shape": (9, 9)}, "do not fit"),
        ({"ranks": 4, "machine": "h200"}, "is a GPU"),
        ({"ranks": 4, "tiling": "none"}, "without tiling"),
        ({"network": "hdr"}, "ranks=1024"),
    ],
)
def test_what_cannot_be_predicted_is_one_sentence(options, message):
    with pytest.raises(tw.UsageError, match=message):
        tw.predict("heat2d", **{**OPTIONS, **options})


def test_the_command_prints_and_draws(tmp_path):
    path = tmp_path / "plot.svg"
    arguments = [
        "heat2d",
        "--shape",
        "512x512",
        "--steps",
        "20",
        "--machine",
        "zen3",
        "--ranks",
        "8",
        "--network",
        "hdr",
    ]
    found = CliRunner().invoke(app, ["predict", *arguments, "--scaling", str(path), "--json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["ranks"] == 8
    assert [each["ranks"] for each in document["scaling"]["weak"]] == [1, 2, 4, 8]
    assert path.read_text().startswith("<?xml")
    text = CliRunner().invoke(app, ["predict", *arguments])
    assert "an exchange every" in text.output
    assert CliRunner().invoke(app, ["predict", *arguments[:-4], "--network", "hdr"]).exit_code == 2


@pytest.mark.parametrize("boundary", ["nearest", "wrap"])
@pytest.mark.parametrize("extent", range(2, 8))
def test_the_model_has_strips_where_a_rank_in_the_middle_has_an_interior(extent, boundary):
    """Of a step that reaches one cell, two steps at a time: a block of four cells is strips alone."""
    problem = make_problem(tw.program("jacobi1d"), (5 * extent,), 2, "float64", boundary)
    layout, around = Decomposition(shape=problem.shape, topology=(5,)), depths(problem, 2)
    cells, parts = strips((extent,), (5,), around, (boundary == "wrap",)), split(problem, layout, 2, 2)
    assert around == ((2, 2),)
    assert (cells is None) == (parts is None) == (extent <= 4)
    assert cells is None or cells == sum(each.problem.cells for each in parts.strips)
