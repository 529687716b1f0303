"""Fused groups in C against the NumPy reference."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.sampling import some

import tilewright as tw
from tilewright.machines.files import load
from tilewright.programs.stencil.boundaries import parse_boundary
from tilewright.runtime.memory import Workspace
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.call import compile_pipeline, execute, new_grid
from tilewright.workloads.pipelines.catalogue import pipeline
from tilewright.workloads.pipelines.cpu_costs import count_group
from tilewright.workloads.pipelines.problem import compute, make_pipeline_problem
from tilewright.workloads.pipelines.rows import RowTile, plan_rows, ring_bytes, streamable

BORDERS = ("reflect", "mirror", "nearest", "wrap", "constant:0.25", "wrap,mirror", "nearest/reflect,constant:1/mirror")


def outputs(problem, fusion, tile, scalars=(), *, threads=2, seed=0, strict=True):
    """Run a fusion with one tile and compute the reference; both as dicts of the pipeline's outputs."""
    program = problem.pipeline
    rng = np.random.default_rng(seed)
    grids = {}
    for grid in program.inputs:
        kind = problem.dtype(grid)
        values = rng.random(problem.shape) * (1 if kind.startswith("float") else 120)
        grids[grid] = values.astype(kind)
    steps = compile_pipeline(problem, fusion, [tile] * len(fusion), strict=strict)
    for step in steps:
        for grid in step.layout.outputs:
            grids[grid] = new_grid(problem, grid)
    execute(problem, steps, grids, scalars, threads, Workspace())
    want = compute(problem, [grids[g] for g in program.inputs], dict(zip(program.scalars, scalars, strict=True)))
    return {g: grids[g] for g in program.outputs}, {g: want[g] for g in program.outputs}


def agree(problem, fusion, tile, scalars=(), **options):
    got, want = outputs(problem, fusion, tile, scalars, **options)
    for grid, expected in want.items():
        np.testing.assert_array_equal(got[grid], expected, err_msg=f"{grid} {problem.shape}")


@pytest.mark.parametrize("border", some(BORDERS[::-1], 3))
def test_canny_under_every_border_is_bit_equal(border):
    program = pipeline("canny", sigma=0.5)
    for shape, tile in (((37, 210), RowTile(width=64, rows=2)), ((9, 9), RowTile(width=128, rows=4))):
        problem = make_pipeline_problem(program, shape, "float32", parse_boundary(border))
        agree(problem, fusions.full(program), tile)


def test_bands_strips_and_rows_do_not_change_a_bit():
    program = pipeline("unsharp", sigma=1.0)
    problem = make_pipeline_problem(program, (61, 333), "float32", "mirror")
    results = [
        outputs(problem, fusion, tile, (1.5,), threads=threads)[0]["G4"]
        for fusion in (fusions.full(program), fusions.unfused(program), ((0,), (1, 2)))
        for tile in (RowTile(width=64, rows=1, band=7), RowTile(width=512, rows=4), RowTile(width=192, rows=2, band=1))
        for threads in (1, 2)
        if tile.rows != 4 or threads == 2
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("name", ["sobel", "harris", "convrows", "blur"])
def test_the_others_agree(name):
    program = pipeline(name)
    problem = make_pipeline_problem(program, (40, 150))
    agree(problem, fusions.full(program), RowTile(width=128, rows=2), (0.05,) * len(program.scalars))


def test_some_partial_fusions_of_canny_agree():
    program = pipeline("canny")
    problem = make_pipeline_problem(program, (50, 140), "float64")
    for fusion in fusions.fusions(program)[40::90]:
        agree(problem, fusion, RowTile(width=64, rows=2))


@tw.stencil
def box(u):
    return u[0, 0, 0] + u[-1, 0, 0] * 0.5 + u[1, 0, 1] * 0.25 + u[0, -2, 0] * 0.125 + u[0, 1, -1]


BOXES = tw.pipeline(lambda u: box(box(u)), name="boxes").program


def test_three_dimensions():
    for border in ("reflect", "wrap", "constant:0.5", "mirror", "nearest,wrap,reflect"):
        problem = make_pipeline_problem(BOXES, (9, 21, 75), "float32", parse_boundary(border))
        agree(problem, fusions.full(BOXES), RowTile(width=64, lines=8))


def test_asymmetric_reach():
    @tw.stencil
    def skew(u):
        return u[-3, 0] + 2 * u[1, 4] - u[0, -1]

    program = tw.pipeline(lambda u: skew(skew(skew(u))), name="skewed").program
    for border in ("nearest", "wrap", "mirror"):
        problem = make_pipeline_problem(program, (33, 190), "float64", border)
        agree(problem, fusions.full(program), RowTile(width=64, rows=4))


def converted(wide, scaled, target, rounding):
    return lambda image: scaled(wide(image.astype("int16")).astype("float32")).astype(target, rounding=rounding)


def test_bytes_and_whole_numbers():
    blend = pipeline("blend")
    problem = make_pipeline_problem(blend, (21, 300), "uint8")
    for fusion in (fusions.full(blend), fusions.unfused(blend)):
        agree(problem, fusion, RowTile(width=128, rows=2), (37.0,))

    @tw.stencil
    def wide(u):
        return u[0, -1] + 3 * u[0, 0] - u[1, 1]

    @tw.stencil
    def scaled(u):
        return (u[0, 0] - 60) * 7.3

    for rounding, target in itertools.product(("nearest", "floor", "truncate"), ("uint8", "int16", "int32")):
        program = tw.pipeline(converted(wide, scaled, target, rounding), name="mixed").program
        problem = make_pipeline_problem(program, (13, 140), "uint8", "mirror")
        agree(problem, fusions.full(program), RowTile(width=128, rows=2))


@pytest.mark.parametrize("target", ["uint8", "int16", "int32"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_conversions_saturate(source, target):
    pipe = tw.pipeline(lambda image: image.astype(target), name="cut")
    limits = np.iinfo(target)
    values = [
        np.nan,
        np.inf,
        -np.inf,
        limits.max,
        limits.max + 0.5,
        limits.max + 1.0,
        limits.min - 0.5,
        limits.min,
        2.5,
        3.5,
    ]
    image = np.array([values * 8, [v * 0.5 for v in values] * 8], dtype=source)
    np.testing.assert_array_equal(pipe(image), pipe(image, backend="numpy"))


def test_grids_smaller_than_the_reach_run_unfused():
    program = pipeline("blur", sigma=2.0)
    problem = make_pipeline_problem(program, (5, 3))
    assert streamable(problem, (0, 1)).startswith("a grid of 5x3 is smaller than the reach 8")
    agree(problem, fusions.unfused(program), RowTile(width=64, rows=2))
    image = np.random.default_rng(0).random((5, 3))
    np.testing.assert_allclose(
        tw.pipeline("blur", sigma=2.0)(image), tw.pipeline("blur", sigma=2.0)(image, backend="numpy")
    )


def test_wrap_meets_no_other_border_inside_a_group():
    program = pipeline("blur", radius=2)
    problem = make_pipeline_problem(program, (40, 40), "float32", {"G1": "reflect", "G2": "wrap"})
    assert "both wrap" in streamable(problem, (0, 1))
    pipe = tw.pipeline("blur", radius=2)
    image = np.random.default_rng(0).random((40, 40)).astype(np.float32)
    border = {"G1": "reflect", "G2": "wrap"}
    got = pipe(image, boundary=border, strict=True)
    np.testing.assert_array_equal(got, pipe(image, boundary=border, backend="numpy"))


def test_passes_join_stencils_that_run_at_the_same_lag():
    program = pipeline("canny", sigma=1.0)
    plan = plan_rows(make_pipeline_problem(program, (64, 64)), tuple(range(8)), 2)
    assert [step.stencils for step in plan.passes] == [(0,), (1,), (2, 4), (3, 5, 6), (7,)]
    assert plan.grid("G2").depth == 4 + 4 + 2


def random_pipeline(rng, name):
    """A pipeline of a few stencils that read random grids at random offsets."""

    def body(image):
        grids = [image]
        for _ in range(int(rng.integers(2, 7))):
            first, second = (grids[int(rng.integers(len(grids)))] for _ in range(2))
            offsets, weights = rng.integers(-4, 5, (3, 2)).tolist(), rng.random(3).tolist()

            def one(u, v, offsets=offsets, weights=weights):
                total = u[0, 0] * 0.5 + v[0, 0] * 0.25
                for (dy, dx), weight in zip(offsets, weights, strict=True):
                    total = total + u[dy, dx] * weight
                return total

            grids.append(apply(one, first, second))
        return grids[-1]

    return tw.pipeline(body, name=name).program


def apply(function, first, second):
    """Apply a plain function of two grids as a stencil."""
    return first.builder.apply("random", function(first, second))


@pytest.mark.parametrize("trial", [*range(4), *(pytest.param(i, marks=pytest.mark.stress) for i in range(4, 80))])
def test_random_pipelines(trial):
    rng = np.random.default_rng(trial)
    program = random_pipeline(rng, f"random{trial}")
    shape = tuple(int(n) for n in rng.integers(30, 120, 2))
    border = BORDERS[trial % len(BORDERS)]
    problem = make_pipeline_problem(program, shape, "float64", parse_boundary(border))
    every = [f for f in fusions.fusions(program) if not any(streamable(problem, group) for group in f)]
    fusion = every[int(rng.integers(len(every)))]
    agree(problem, fusion, RowTile(width=64, rows=int(rng.integers(1, 5)), band=int(rng.integers(0, 40))))


@pytest.mark.parametrize(
    ("program", "shape", "tile"),
    [
        (pipeline("canny"), (60, 300), RowTile(width=64, rows=2)),
        (pipeline("unsharp"), (60, 300), RowTile(width=256, rows=1)),
        (BOXES, (20, 40, 90), RowTile(width=64, lines=8)),
    ],
)
def test_the_rings_take_the_memory_that_the_model_counts(program, shape, tile):
    problem = make_pipeline_problem(program, shape, "float32", "mirror")
    (group,) = fusions.full(program)
    (step,) = compile_pipeline(problem, (group,), [tile], strict=True)
    plan = plan_rows(problem, group, 1 if program.rank == 3 else tile.rows)
    whole, own = ring_bytes(problem, plan, tile), ring_bytes(problem, plan, tile, inputs=False)
    assert whole <= step.layout.scratch < whole + 2 * 4096
    assert whole - own == ring_bytes(problem, replace(plan, grids=tuple(plan.grid(g) for g in program.inputs)), tile)


def test_the_time_to_compute_grows_with_rows_as_with_columns():
    """Of pictures with tiles for every core, in tiles of one size."""
    program, tile, machine = pipeline("unsharp", sigma=1.0), RowTile(width=64, band=32), load("zen3")
    group = fusions.full(program)[0]
    compute = []
    for shape in ((512, 1024), (1024, 1024), (512, 2048)):
        problem = make_pipeline_problem(program, shape, "float32", "mirror")
        costs = count_group(problem, group, tile.rows, machine).costs(tile)
        compute.append(costs.terms["arithmetic"])
    assert compute[1:] == pytest.approx([2 * compute[0]] * 2, rel=1e-12)
