"""Counts of hexagonal tiles, against the scalar geometry, exact counts of `tilewright.schedules` and brute force."""

import itertools

import numpy as np
import pytest
from tests.oracles.counting import exact_counts

from tilewright.costs.arrays import TileSizes, ceil_sum
from tilewright.costs.facts import facts_of
from tilewright.costs.work import hexagonal
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.geometry import Hexagon, Skew
from tilewright.schedules.tiling import Tiling


def sizes(time, *space, k=0):
    arrays = np.broadcast_arrays(*(np.asarray(v, dtype=np.int64).reshape(-1) for v in (time, *space, k)))
    return TileSizes(time=arrays[0], space=tuple(arrays[1:-1]), k=arrays[-1])


def facts(name, shape, steps=10):
    return facts_of(make_problem(program(name), shape, steps), cpu=False)


def test_ceil_sum_against_a_loop():
    random = np.random.default_rng(7)
    count, first, step = random.integers(0, 60, 500), random.integers(0, 5000, 500), random.integers(0, 3000, 500)
    divisor = random.integers(1, 300, 500)
    expected = [
        sum(-(-(f + i * s) // d) for i in range(n))
        for n, f, s, d in zip(count.tolist(), first.tolist(), step.tolist(), divisor.tolist(), strict=True)
    ]
    assert ceil_sum(count, first, step, divisor).tolist() == expected


@pytest.mark.parametrize("name", ["jacobi1d", "star1d2r", "star1d3r"])
def test_arrays_agree_with_the_scalar_geometry(name):
    for steps, extent in itertools.product((1, 5, 6, 7, 16, 40), (1, 9, 50, 133)):
        place = facts(name, (extent,), steps)
        grid = list(itertools.product(range(2, 14, 2), range(place.slopes[0], 12)))
        many = sizes([t for t, _ in grid], [s for _, s in grid])
        fronts, tiles = hexagonal.wavefronts(many, place), hexagonal.tiles_per_wavefront(many, place)
        for i, (t, s) in enumerate(grid):
            hexagon = Hexagon(height=t, base=s, slope=place.slopes[0])
            rows = [high - low for low, high in map(hexagon.row, range(t))]
            assert hexagonal.width(many, place)[i] == max(rows) == hexagon.width
            assert hexagonal.pitch(many, place)[i] == hexagon.pitch
            assert hexagonal.face_points(many, place)[i] == sum(rows) == hexagon.points
            for colour in (0, 1):
                assert fronts[colour][i] == hexagon.phases(colour, steps)
                assert tiles[colour][i] == hexagon.tiles(colour, extent)


def test_first_order_geometry_of_the_paper():
    """Rows are t_S, t_S + 2, … and back; area t_T (w_tile + t_S) / 2; w_tile = t_S + t_T - 2 (4)."""
    for t, s in itertools.product(range(2, 20, 2), range(1, 10)):
        hexagon = Hexagon(height=t, base=s, slope=1)
        up = list(range(s, s + t, 2))
        assert [high - low for low, high in map(hexagon.row, range(t))] == up + up[::-1]
        assert hexagon.width == s + t - 2
        assert hexagon.points == t * (hexagon.width + s) // 2
        assert hexagon.pitch == 2 * s + t - 2


def test_number_of_wavefronts_is_equation_3():
    for t, steps in itertools.product(range(2, 20, 2), range(1, 60)):
        colour0, colour1 = hexagonal.wavefronts(sizes(t, 3), facts("jacobi1d", (50,), steps))
        late = steps - steps // t * t
        epsilon = 0 if 0 < late <= t // 2 else 1
        assert colour0[0] + colour1[0] == 2 * -(-steps // t) + epsilon


@pytest.mark.parametrize("reach", [1, 2, 3])
def test_live_in_and_live_out_by_brute_force(reach):
    place = facts(f"star1d{reach}r", (500,))
    for t, s in itertools.product(range(2, 12, 2), range(reach, 9)):
        hexagon = Hexagon(height=t, base=s, slope=reach)
        inside = {(i, x) for i in range(t) for x in range(*hexagon.row(i))}
        read = {(i - 1, x + d) for i, x in inside for d in range(-reach, reach + 1)}
        readers = {(i, x): {(i + 1, x + d) for d in range(-reach, reach + 1)} for i, x in inside}
        assert hexagonal.live_in(sizes(t, s), place)[0] == len(read - inside)
        assert hexagonal.live_out(sizes(t, s), place)[0] == sum(bool(after - inside) for after in readers.values())
        if reach == 1:
            assert len(read - inside) == s + 2 * t
            assert hexagonal.live_out(sizes(t, s), place)[0] == s + 2 * t - 2 - (s == 1)


@pytest.mark.parametrize(
    ("name", "shape"), [("jacobi1d", (60,)), ("j2d5pt", (40, 50)), ("j2d9pt", (40, 50)), ("j3d7pt", (30, 20, 25))]
)
def test_words_of_a_tile_agree_with_the_tilings_room(name, shape):
    problem = make_problem(program(name), shape, 12)
    place = facts(name, shape, 12)
    family = "hexagonal" if len(shape) == 1 else "hybrid"
    for t, s, inner in itertools.product((2, 4, 8), (2, 3, 6), (4, 7)):
        space = (s, *(inner,) * (len(shape) - 1))
        counts = exact_counts(problem, Tiling(family=family, time=t, space=space))
        one = sizes(t, *space)
        read, written = hexagonal.tile_words(one, place)
        assert (read[0], written[0]) == (counts.live_in, counts.live_out)
        assert hexagonal.face_points(one, place)[0] * one.inner[0] == counts.points
        assert sum(hexagonal.wavefronts(one, place))[0] == counts.wavefronts
        assert hexagonal.shared_values(one, place)[0] >= counts.footprint


def test_tiles_in_sequence_are_a_product_of_ceilings():
    place = facts("heat3d", (64, 100, 130))
    assert hexagonal.prism_tiles(sizes(8, 4, 9, 32), place)[0] == -(-107 // 9) * -(-137 // 32)
    assert Skew(size=9, slope=1).tiles(100, 8) == -(-107 // 9)
