"""Vectors at the ends of rows: every boundary, every tiling that has them, bit-equal to the untiled reference."""

import re

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.codegen.boxes.rows import BoxStatement
from tilewright.codegen.print.c_prelude import mixed_lanes
from tilewright.codegen.sites import Site
from tilewright.driver import emit_tilings
from tilewright.programs.stencil import catalogue, reference
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.runtime.cpu import stencil_kernels
from tilewright.runtime.kernels import execute
from tilewright.runtime.session import Inputs
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules import catalogue as tilings
from tilewright.schedules.tiling import NONE, parse
from tilewright.tuning.spaces.cpu_schedule import choose_body

SIDES = ("wrap", ("nearest", "reflect"), ("mirror", "constant:0.5"), ("constant:0.25", "mirror"))
TILINGS = {1: ("none", "hexagonal:t=8,s=64"), 2: ("none", "hybrid:t=4,s=8x32"), 3: ("none",)}
SHAPES = {1: (150,), 2: (21, 67), 3: (6, 7, 53)}


@pytest.mark.parametrize(("name", "last"), covering(["star1d2r", "star2d2r", "fdtd2d", "wave2d", "box3d1r"], SIDES))
def test_ends_of_rows_are_those_of_the_reference(name, last):
    known = catalogue.program(name)
    boundary = (*("nearest",) * (known.rank - 1), last)
    problem = make_problem(known, SHAPES[known.rank], 6, "float32", boundary)
    random = np.random.default_rng(3)
    given = {field: [random.random(problem.shape, dtype=np.float32)] for field in known.fields}
    exact = reference.run(problem, given, {})
    for tiling in TILINGS[known.rank]:
        if last == "wrap" and tiling.startswith("hexagonal"):
            continue
        arrays = [(given[field][0],) * known.history(field) for field in known.fields]
        out = tw.run(known, *arrays, steps=6, boundary=boundary, backend="c", tiling=tiling, strict=True)
        found = dict(zip(known.updated, out if isinstance(out, tuple) else (out,), strict=True))
        for field, values in exact.items():
            np.testing.assert_array_equal(found[field], values)


@pytest.mark.parametrize("kind", ["wrap", "nearest", "reflect", "mirror", "constant"])
@pytest.mark.parametrize("lanes", [4, 16])
def test_lanes_outside_are_the_cells_they_stand_for(kind, lanes):
    row = np.arange(1.0, 2 * lanes + 2)
    first, last = row[:lanes], row[-lanes:]
    side = Boundary(kind=kind, value=-7.0)
    for distance in range(1, lanes):
        around = reference.pad(row, ((distance, distance),), ((side, side),))
        for name, own, far in (("low", first, last), ("high", last, first)):
            other = {"wrap": far, "constant": np.full(lanes, -7.0)}.get(kind)
            called = f"outside_{name}_{kind}_{distance}" if other is None else f"beside_{name}_{distance}"
            found = np.concatenate([own, own if other is None else other])[mixed_lanes(called, lanes)]
            np.testing.assert_array_equal(found, around[:lanes] if name == "low" else around[-lanes:])


@pytest.mark.parametrize("extent", [1, 2, 17, 20, 32, 33, 48, 50])
def test_rows_shorter_than_a_vector_and_their_ends_are_right(extent):
    """Of up to 16 lanes and a reach of two on either side."""
    known = catalogue.program("star2d2r")
    boundary = ("nearest", ("reflect", "mirror"))
    problem = make_problem(known, (5, extent), 3, "float32", boundary)
    given = np.random.default_rng(5).random(problem.shape, dtype=np.float32)
    out = tw.run(known, given, steps=3, boundary=boundary, backend="c", tiling="none", strict=True)
    np.testing.assert_array_equal(out, reference.run(problem, {"u": [given]}, {})["u"])


@pytest.mark.parametrize("extent", [34, 47, 48, 64])
@pytest.mark.parametrize("last", ["wrap", "mirror"])
def test_rows_updated_in_place_are_right_whatever_is_left_over(extent, last):
    known = catalogue.program("fdtd2d")
    problem = make_problem(known, (6, extent), 4, "float32", ("wrap", last))
    random = np.random.default_rng(8)
    given = {field: [random.random(problem.shape, dtype=np.float32)] for field in known.fields}
    arrays = [given[field][0] for field in known.fields]
    out = tw.run(known, *arrays, steps=4, boundary=("wrap", last), backend="c", tiling="none", strict=True)
    exact = reference.run(problem, given, {})
    for field, values in zip(known.updated, out, strict=True):
        np.testing.assert_array_equal(values, exact[field])


LONG = (64, 79, 111, 112, 113, 127, 128, 130, 144, 175, 176)
"""Cells of rows around those whose neighbours are put together, of up to 16 lanes."""


@pytest.mark.parametrize(
    ("name", "kind"),
    covering(
        ["star2d2r", "wave2d", "fdtd2d", "heat2d_var", "star3d4r", "box2d3r"],
        [(last, dtype) for dtype in ("float32", "float64") for last in ("fixed", "wrap", "mirror")],
    ),
)
def test_long_rows_whose_neighbours_are_put_together(name, kind):
    """Bit-equal to the reference: blocks of rows and single ones, whole rows and pieces of them, of any length."""
    last, dtype = kind
    known = catalogue.program(name)
    boundary = (*("fixed" if last == "fixed" else "nearest",) * (known.rank - 1), last)
    pairs = []
    for extent in LONG:
        problem = make_problem(known, (*(15, 11)[: known.rank - 1], extent), 3, dtype, boundary)
        pieces = [f"hybrid:t=4,s=8x{extent - 20}"] if known.rank == 2 and last == "fixed" else []
        pairs += [(problem, tilings.complete(problem, parse(tiling))) for tiling in ("none", *pieces)]
    source = emit_tilings(pairs, strict=True)
    for (problem, tiling), kernel, entry in zip(
        pairs, stencil_kernels(source, toolchain()), source.kernels, strict=True
    ):
        assert re.search(rf"\b{entry.entry}_box_\d+_long\(", source.text), tiling
        random = np.random.default_rng(4)
        given = {field: random.random(problem.shape).astype(dtype) for field in known.fields}
        arrays = {field: [values] * known.history(field) for field, values in given.items()}
        exact = reference.run(problem, arrays, {})
        found = execute(kernel, problem, Inputs(arrays=arrays, scalars={}), 2)
        for field in known.updated:
            np.testing.assert_array_equal(found[field], exact[field], err_msg=f"{tiling} of {problem.shape}")


@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 16), ("float64", 8), ("int64", 8), ("complex64", 8)])
@pytest.mark.parametrize("far", [-1, 0])
def test_neighbours_a_whole_vector_away_are_put_together(dtype, lanes, far):
    """A whole vector of 64 bytes away, or a cell less."""
    away = lanes + far
    field = FieldBuilder("u")
    total = field[0] + 2 * field[-away] + 3 * field[away] + field[-1] + 5 * field[1]
    far_reads = stencil("far_reads", 1, {"u": total if dtype == "int64" else 0.1 * total})
    given = (100 * np.random.default_rng(4).random((400,))).astype(dtype)
    problem = make_problem(far_reads, given.shape, 3, dtype, "fixed")
    exact = reference.run(problem, {"u": [given]}, {})["u"]
    for neighbours in ("shuffles", "loads"):
        tiling = f"none:neighbours={neighbours}"
        found = tw.run(far_reads, given, steps=3, backend="c", tiling=tiling, strict=True)
        np.testing.assert_array_equal(found, exact)


def test_neighbours_of_narrow_numbers_are_put_together_within_what_a_register_holds():
    """Registers hold numbers of 16 bits as ``float32``: 16 of them, where a cache line of memory has 32."""
    field = FieldBuilder("u")
    for away in (16, 17, 20):
        program = stencil("narrow", 1, {"u": 0.5 * field[-away] + 0.25 * field[0] + 0.25 * field[3]})
        given = np.random.default_rng(6).random((400,)).astype("float16")
        exact = reference.run(make_problem(program, given.shape, 3, "float16", "nearest"), {"u": [given]}, {})["u"]
        found = tw.run(program, given, steps=3, boundary="nearest", backend="c", tiling="none", strict=True)
        np.testing.assert_array_equal(found, exact)
    with pytest.raises(tw.UsageError, match="within a vector of 64 bytes"):
        tw.run(program, given, steps=3, backend="c", tiling="none:neighbours=shuffles")


def test_only_ends_that_are_updated_and_read_outside_are_vectors():
    def asked(name, boundary):
        problem = make_problem(catalogue.program(name), SHAPES[catalogue.program(name).rank], 1, boundary=boundary)
        site = Site(problem=problem, prefix="p", strict=False, body=choose_body(problem, NONE))
        return BoxStatement(site, 0).vectors_at_ends

    assert asked("j2d5pt", "wrap") == (True, True)
    assert asked("j2d5pt", "fixed") == (False, False)
    assert asked("j2d5pt", ("wrap", ("fixed", "nearest"))) == (False, False)
    assert asked("box3d4r", "wrap") == (True, True)
    assert asked("fdtd2d", ("nearest", "fixed")) == (False, False)


@pytest.mark.parametrize(("reads", "vectors"), [(200, True), (201, False)])
def test_ends_of_many_reads_are_cells(reads, vectors):
    """In the program's own order; else they are a large sum."""
    u = FieldBuilder("u")
    places = [(y, x) for y in range(-7, 8) for x in range(-7, 8)][:reads]
    known = stencil("many", 2, {"u": sum(0.001 * (k + 1) * u[at] for k, at in enumerate(places))})
    problem = make_problem(known, (40, 50), 1, boundary="wrap")
    site = Site(problem=problem, prefix="p", strict=True, body=choose_body(problem, NONE, strict=True))
    assert BoxStatement(site, 0).vectors_at_ends == (vectors, vectors)


def test_strict_order_holds_at_ends_with_constants():
    generator = np.random.default_rng(3)
    start = generator.uniform(-1.0, 1.0, (50, 138))

    @tw.stencil
    def mixed(u, b):
        left = 0.0638 * u[2, -1] - -(-0.1739 * u[-2, 0]) + 0.1532 * u[2, 1] + 0.1758 * u[-2, 0] * b
        return left + 0.1058 * u[-2, -2] + -0.1365 * u[0, 1] + u[-2, 2] / -6.394 + 0.01

    options = {"steps": 5, "boundary": "constant:-0.909", "strict": True, "b": -0.645}
    compiled = tw.run(mixed, start, tiling="none", backend="c", **options)
    assert np.array_equal(compiled, tw.run(mixed, start, backend="numpy", **options))
