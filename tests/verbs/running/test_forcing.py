"""Sources and receivers: in every family, at every boundary, on every backend; and what is refused."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.runtime import points

pytestmark = pytest.mark.filterwarnings("ignore:the source of")

SHAPES = {1: (150,), 2: (46, 57), 3: (19, 22, 36)}


def star(rank):
    """A wave of reach 2 with a coefficient field."""

    @tw.stencil(name=f"wave{rank}")
    def body(u, m):
        centre = (0,) * rank
        return 1.9 * u[centre] - 0.95 * u.prev[centre] + m[centre] * tw.laplacian(u, accuracy=4)

    return body


def test_a_point_on_a_cell_is_a_pair():
    u = np.random.default_rng(9).normal(size=(20, 24))
    wave = np.sin(np.arange(12.0))
    points = tw.run("heat2d", u, steps=12, sources=tw.Points([(4, 5), (4, 5)], values=wave), strict=True)
    pairs = tw.run("heat2d", u, steps=12, sources=[((4, 5), wave), ((4, 5), wave)], strict=True)
    both = tw.run("heat2d", u, steps=12, sources=[tw.Points([(4, 5)], values=wave), ((4, 5), wave)], strict=True)
    assert np.array_equal(points, pairs)
    assert np.array_equal(points, both)


def test_traces_are_the_values_after_every_step():
    u = np.random.default_rng(10).normal(size=(20, 24))
    cells = [(3, 4), (0, 7), (12, 23)]
    _, traces = tw.run("heat2d", u, steps=9, receivers=tw.Points(cells), strict=True)
    states = [tw.run("heat2d", u, steps=k + 1, strict=True) for k in range(9)]
    assert np.array_equal(traces["u"], [[state[cell] for cell in cells] for state in states])
    for given in ({"receivers": tw.Points(cells, every=4)}, {"receivers": tw.Points(cells), "every": 4}):
        _, some = tw.run("heat2d", u, steps=9, strict=True, **given)
        assert np.array_equal(some["u"], traces["u"][3::4])


def test_fields_that_nothing_updates_and_cells_that_are_held_keep_their_values():
    generator = np.random.default_rng(11)
    u, k = generator.normal(size=(9, 9)), generator.normal(size=(9, 9))
    body = tw.stencil(lambda u, k: u[0, 0] + 0.1 * k[0, 0] * (u[0, 1] - u[0, -1]), name="advected")
    receivers = {"k": tw.Points([(2.5, 3)]), "u": tw.Points([(4, 0), (3, 0.5)])}
    for backend in ("c", "numpy"):
        _, traces = tw.run(body, u, k, steps=3, receivers=receivers, backend=backend)
        assert np.allclose(traces["k"], (k[2, 3] + k[3, 3]) / 2)
        assert np.array_equal(traces["u"][:, 0], [u[4, 0]] * 3)
    assert not np.allclose(traces["u"][0, 1], traces["u"][2, 1])


@pytest.mark.parametrize("tables", [1, 2**26])
def test_a_run_may_be_looked_at_and_ended(tables, monkeypatch):
    monkeypatch.setattr("tilewright.runtime.points.MOST_BYTES", tables)
    u = np.random.default_rng(13).normal(size=(30, 33))
    source, receiver = tw.Points([(9.5, 9.25)], values=np.arange(14.0)), tw.Points([(12.5, 9), (3, 3)])
    given = {"sources": source, "receivers": tw.Points(receiver.coordinates, every=1)}
    _, whole = tw.run("wave2d", (u, u), steps=14, **given)
    seen = []
    _, cut = tw.run("wave2d", (u, u), steps=14, every=3, callback=lambda n, v: seen.append(n) or n == 9, **given)
    assert seen == [3, 6, 9]
    assert cut["u"].shape == (9, 2)
    assert np.allclose(cut["u"], whole["u"][:9], rtol=1e-12)


def test_a_plan_takes_sources_and_receivers():
    plan = tw.tune("heat2d", shape=(40, 40), steps=8, effort="none")
    u = np.zeros((40, 40), np.float32)
    source, receiver = tw.Points([(20, 20)], values=1.0), tw.Points([(20.5, 20)])
    state, traces = plan.run(u, sources=source, receivers=receiver)
    assert np.array_equal(state, tw.run("heat2d", u, steps=8, sources=source, tiling=plan.tiling))
    assert traces["u"].shape == (8, 1)


def test_many_sums_are_the_same_in_c(monkeypatch):
    u = np.random.default_rng(14).normal(size=(40, 44)).astype(np.float32)
    places = np.random.default_rng(15).uniform(0, 39, (50, 2))
    receiver = tw.Points(places, interpolation="sinc")
    few = tw.run("heat2d", u, steps=150, receivers=receiver)[1]["u"]
    monkeypatch.setattr(points, "_MANY", 0)
    many = tw.run("heat2d", u, steps=150, receivers=receiver)[1]["u"]
    assert few.tobytes() == many.tobytes()


def test_sources_are_scaled_cell_by_cell():
    generator = np.random.default_rng(17)
    u, m = np.zeros(SHAPES[2]), generator.uniform(0.02, 0.05, SHAPES[2])
    place, wave = [(20.25, 30.5)], np.ones(1)
    given = {"steps": 1}
    plain = tw.run(star(2), (u, u), m, sources=tw.Points(place, values=wave), **given)
    assert np.count_nonzero(plain) == 4
    for scale in (m, "m"):
        found = tw.run(star(2), (u, u), m, sources=tw.Points(place, values=wave, scale=scale), **given)
        assert np.allclose(found, plain * m)
    assert np.allclose(tw.run(star(2), (u, u), m, sources=tw.Points(place, values=wave, scale=3), **given), 3 * plain)


def test_no_steps_record_nothing():
    u = np.ones((8, 8))
    state, traces = tw.run("heat2d", u, steps=0, receivers=tw.Points([(4, 4)]), sources=tw.Points([(4, 4)], values=1.0))
    assert np.array_equal(state, u)
    assert traces["u"].shape == (0, 1)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int8", "int64"])
def test_fields_of_whole_numbers_take_those_that_they_hold(dtype):
    body = tw.stencil(lambda u: u[-1] + u[1], name="sides")
    u = np.zeros(8, dtype)
    for source in (tw.Points([3], values=30), ((3,), 30), ((3,), [30, 30])):
        found = tw.run(body, u, steps=2, sources=[source])
        assert found.dtype == dtype
        assert found.tolist() == [0, 0, 30, 30, 30, 0, 0, 0]
    if dtype.startswith("u"):
        for source in (tw.Points([3], values=-1), ((3,), -1)):
            with pytest.raises(tw.UsageError, match=f"the source value -1 does not fit {dtype} .*from 0 to"):
                tw.run(body, u, steps=2, sources=[source])
