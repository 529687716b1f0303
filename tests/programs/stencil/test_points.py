"""Weights of points between cells: linear and sinc, at boundaries, and what is refused."""

import numpy as np
import pytest

from tilewright.base.errors import TilewrightError
from tilewright.programs.stencil.boundaries import sides_of
from tilewright.programs.stencil.points import RADIUS, Points, joined, numbered, of_cells, weights

FIXED = sides_of(2, "fixed")


def read(points, field, sides):
    """What points read in a field."""
    found = weights(points, field.shape, sides)
    return found.read(found.at(field)[:, np.newaxis])[:, 0]


def test_linear_weights_are_exact_on_what_is_linear_in_each_coordinate():
    y, x = np.meshgrid(np.arange(9.0), np.arange(7.0), indexing="ij")
    field = 2 + 3 * y - x + 0.5 * x * y
    places = np.random.default_rng(1).uniform(0, 1, (50, 2)) * [8, 6]
    places[:3] = [[0, 0], [8, 6], [3, 6]]
    wanted = 2 + 3 * places[:, 0] - places[:, 1] + 0.5 * places.prod(axis=1)
    assert np.allclose(read(Points(places), field, FIXED), wanted, atol=1e-12)


def test_sinc_weights_are_close_on_what_is_band_limited_and_exact_on_cells():
    y, x = np.meshgrid(np.arange(40.0), np.arange(44.0), indexing="ij")
    places = np.random.default_rng(2).uniform(10, 25, (80, 2))

    def wave(y, x):
        return np.cos(2 * np.pi * (y / 5.0 - x / 7.0) + 0.3)

    wanted, field = wave(*places.T), wave(y, x)
    error = np.abs(read(Points(places, interpolation="sinc"), field, FIXED) - wanted).max()
    assert error < 0.01 < np.abs(read(Points(places), field, FIXED) - wanted).max()
    found = weights(Points([(12, 13)], interpolation="sinc"), field.shape, FIXED)
    assert found.cell.tolist() == [12 * 44 + 13]
    assert found.weight.tolist() == [1.0]


def test_sinc_weights_are_those_of_hicks():
    found = weights(Points([10.25], interpolation="sinc"), (30,), sides_of(1, "fixed"))
    assert found.cell.tolist() == list(range(10 - RADIUS + 1, 10 + RADIUS + 1))
    distance = found.cell - 10.25
    window = np.i0(4.14 * np.sqrt(1 - (distance / 4) ** 2)) / np.i0(4.14)
    assert np.allclose(found.weight, np.sin(np.pi * distance) / (np.pi * distance) * window, atol=1e-15)


@pytest.mark.parametrize("kind", ["reflect", "mirror", "nearest", "wrap", "constant:2.5"])
def test_beyond_the_grid_points_read_what_the_boundary_says(kind):
    from tilewright.programs.stencil.boundaries import parse_boundary
    from tilewright.programs.stencil.reference import pad

    generator = np.random.default_rng(3)
    field, sides = generator.normal(size=(6, 5)), sides_of(2, parse_boundary(kind))
    places = generator.uniform(0, 1, (40, 2)) * [5, 4]
    places[0] = [0.5, 0.25]
    padded = pad(field, ((6, 6), (6, 6)), sides)
    wanted = read(Points(places + 6, interpolation="sinc"), padded, FIXED)
    assert np.allclose(read(Points(places, interpolation="sinc"), field, sides), wanted, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_coordinates_within_rounding_of_a_grid_line_are_on_it(dtype):
    """Cells at multiples of a spacing, however they are computed; 34 of these 580 grids were refused."""
    for spacing in (
        0.1,
        0.2,
        0.3,
        0.7,
        0.01,
        1e-3,
        1 / 3,
        0.15,
        2.5,
        12.5,
        1e-9,
        3e5,
        0.6,
        0.9,
        1.1,
        7.3,
        5e-4,
        0.35,
        33.3,
        1e10,
    ):
        for n in range(2, 31):
            kind = np.dtype(dtype).type
            lines = kind(spacing) * np.arange(n, dtype=dtype)
            ways = [lines, np.linspace(0, lines[-1], n, dtype=dtype), lines * kind(1 + np.finfo(dtype).eps)]
            for coordinates in (*ways, -ways[0][:1] - np.finfo(dtype).tiny):
                found = weights(Points(coordinates, spacing=spacing), (n,), sides_of(1, "fixed"))
                assert found.cell.tolist() == list(range(len(coordinates)))
                assert found.weight.tolist() == [1.0] * len(coordinates)


def test_coordinates_off_a_grid_line_stay_where_they_are():
    for place in (3 + 1e-12, 3 - 1e-12, 2.5, 1e-14):
        assert Points([place]).coordinates[0, 0] == place
        assert Points([place * 0.1], spacing=0.1).coordinates[0, 0] == pytest.approx(place, rel=1e-15, abs=0)
    with pytest.raises(TilewrightError, match="outside"):
        weights(Points([3 + 1e-12]), (4,), sides_of(1, "fixed"))
    around_it = weights(Points([0.4 - 1e-15], spacing=0.1), (4,), sides_of(1, "wrap"))
    assert sorted(around_it.cell.tolist()) == [0, 3]
    with pytest.raises(TilewrightError, match="outside"):
        weights(Points([0.1 * 3 + 0.1], spacing=0.1), (4,), sides_of(1, "wrap"))


def test_beyond_fixed_sides_there_is_nothing():
    found = weights(Points([(0.5, 2.0)], interpolation="sinc"), (9, 9), FIXED)
    assert found.cell.tolist() == [2 + 9 * row for row in range(RADIUS + 1)]


def test_points_that_are_cells_and_parts_together():
    parts = [of_cells(np.array([6, 0]), (3, 4)), weights(Points([(1.5, 2)]), (3, 4), FIXED)]
    found = joined(parts, (3, 4))
    assert found.points == 3
    assert found.point.tolist() == [0, 1, 2, 2]
    assert found.cell.tolist() == [6, 0, 6, 10]
    assert found.weight.tolist() == [1, 1, 0.5, 0.5]
    assert joined([], (3, 4)).points == 0


@pytest.mark.parametrize("far", [1, 10**6])
def test_distinct_cells_are_numbered(far):
    cells, numbers = numbered(np.array([5, 3, 5, far]))
    assert cells.tolist() == sorted({5, 3, far})
    assert cells[numbers].tolist() == [5, 3, 5, far]


def test_copies_around_a_periodic_grid():
    halo = ((2, 5), (0, 3))
    extended = np.pad(np.arange(12).reshape(3, 4), halo, mode="wrap")
    found = of_cells(np.array([7, 0, 9, 7]), (3, 4)).within([(-2, 8), (0, 7)])
    assert found.shape == extended.shape
    assert np.array_equal(found.cells, np.flatnonzero(np.isin(extended, [0, 7, 9])))
    assert np.array_equal(extended.ravel()[found.cell], np.array([7, 0, 9, 7])[found.point])
    assert (np.diff(found.point) >= 0).all()


def drawn(draw, shape):
    """Weights of points on and between cells, several on one cell, and one without an entry."""
    places = draw.uniform(0, 1, (9, len(shape))) * (np.array(shape) - 1)
    places[:3] = np.rint(places[:3])
    places[4] = places[5]
    found = weights(
        Points(places, interpolation=str(draw.choice(["linear", "sinc"]))), shape, sides_of(2, "constant:2")
    )
    return found.some(found.point != 7)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("columns", [1, 3])
def test_sums_are_taken_in_the_order_of_the_entries(seed, columns):
    draw, shape = np.random.default_rng(seed), (9, 7)
    found = drawn(draw, shape)
    level, amplitudes = draw.normal(size=(*shape, columns)).astype("float32"), draw.normal(size=(9, columns))
    read = np.repeat(found.constant[:, np.newaxis], columns, axis=1)
    added = np.zeros((63, columns))
    for point, cell, weight in zip(found.point, found.cell, found.weight, strict=True):
        read[point] += weight * level.reshape(63, -1)[cell]
        added[cell] += weight * amplitudes[point]
    assert found.read(level.reshape(63, -1)[found.cells]).tobytes() == read.tobytes()
    assert found.inject(amplitudes).tobytes() == added[found.cells].tobytes()


def test_a_source_transposed_is_a_receiver():
    draw, shape = np.random.default_rng(7), (9, 7)
    found = drawn(draw, shape)
    back = found.transpose.transpose
    for name in ("cells", "point", "column", "weight"):
        wanted = np.arange(len(found.cells)) if name == "cells" else getattr(found, name)
        assert np.array_equal(getattr(back, name), wanted)
    level, amplitudes = draw.normal(size=(len(found.cells), 1)), draw.normal(size=(9, 1))
    read = found.read(level) - found.constant[:, np.newaxis]
    assert (read * amplitudes).sum() == pytest.approx((level * found.inject(amplitudes)).sum(), rel=1e-12)


def test_terms_are_added_to_the_cells_of_a_level_one_by_one():
    draw, shape = np.random.default_rng(8), (9, 7)
    found = drawn(draw, shape)
    level = np.asfortranarray(draw.normal(size=shape).astype("float32"))
    wanted, terms = level.copy(), draw.normal(size=len(found.point))
    for cell, term in zip(found.cell, terms, strict=True):
        wanted[np.unravel_index(cell, shape)] += np.float32(term)
    found.add(level, terms)
    assert np.array_equal(level, wanted)
    assert np.array_equal(found.at(level), level.ravel()[found.cells])


def test_bad_points_are_refused_in_a_sentence():
    for given, told in [
        ({"coordinates": [(1.0, np.nan)]}, "coordinates are finite"),
        ({"coordinates": [(1.0, 2.0), (3.0,)]}, "coordinates are real numbers"),
        ({"coordinates": "here"}, "coordinates are real numbers"),
        ({"coordinates": [[1j, 2]]}, "coordinates are real numbers"),
        ({"coordinates": np.zeros((2, 2, 2))}, "one row per point"),
        ({"coordinates": []}, "one row per point"),
        ({"interpolation": "cubic"}, "linear, sinc"),
        ({"spacing": 0}, "spacing is positive"),
        ({"spacing": (1.0, 2.0, 3.0)}, "one per axis"),
        ({"spacing": "m"}, "spacing are real numbers"),
        ({"every": 0}, "at least 1"),
        ({"every": 1.5}, "at least 1"),
        ({"values": np.zeros((3, 2))}, r"\(steps, 1\), got \(3, 2\)"),
        ({"values": [0.0, np.inf]}, "finite"),
        ({"values": "wavelet"}, "are numbers"),
    ]:
        with pytest.raises(TilewrightError, match=told):
            Points(**{"coordinates": [(1.0, 2.0)], **given})


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ([(-0.5, 2)], "outside the grid 9x9"),
        ([(2, 3), (2, 8.01), (9, 9)], "point 1 at .* and 1 more lies outside"),
        ([(1.0, 2.0, 3.0)], "2 axes have as many coordinates"),
        ([4.0], "2 axes have as many coordinates"),
    ],
)
def test_points_outside_are_refused_in_a_sentence(places, told):
    with pytest.raises(TilewrightError, match=told):
        weights(Points(places), (9, 9), FIXED)
    if len(places[0] if isinstance(places[0], tuple) else ()) == 2:
        assert weights(Points([(8.5, 2)]), (9, 9), sides_of(2, "wrap")).cell.tolist() == [74, 2]
