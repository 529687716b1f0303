"""The order of a sweep, against brute force, read by read."""

import random

import pytest
from tests.schedules.conftest import BOUNDED, make_program

from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.family import BEGIN, END
from tilewright.schedules.tiling import Tiling, parse
from tilewright.schedules.tree.affine import Name, Whole
from tilewright.schedules.tree.nodes import Let, Loop
from tilewright.schedules.tree.order import order


def whole(problem, tiling, at_once=1):
    """All parts of a sweep, one after the other, or some at once."""
    parts = catalogue.sweep(problem, tiling)
    child = Let(END.name, BEGIN + at_once, parts.tree)
    return Loop(name=BEGIN.name, low=Whole(0), high=Whole(parts.count), step=at_once, child=child)


def drawn(seed, rank):
    """A random problem of a few time levels, and tiles that may be swept."""
    rng = random.Random(f"swept/{rank}/{seed}")  # noqa: S311
    program_ = make_program(rng, rank, {1: 3, 2: 2, 3: 1}[rank])
    sides = {
        name: tuple(tuple(Boundary(kind=rng.choice(BOUNDED)) for _ in range(2)) for _ in range(rank))
        for name in program_.fields
    }
    shape = (rng.randint(1, 60), *(rng.randint(2, 6) for _ in range(rank - 1)))
    problem = make_problem(program_, shape, rng.randint(1, 9), boundary=sides)
    family = rng.choice(("hexagonal" if rank == 1 else "hybrid", "diamond"))
    first, rest = rng.randint(1, 3), [rng.randint(1, 5) for _ in range(rank - 1)]
    while True:
        size = first if family in {"hybrid", "hexagonal"} else 2 * first
        tiling = catalogue.complete(problem, Tiling(family=family, time=rng.choice((2, 4, 6)), space=(size, *rest)))
        if catalogue.sweep(problem, tiling) is not None:
            return problem, tiling, rng.randint(1, 3)
        first += 1


@pytest.mark.parametrize(("rank", "seeds"), [(1, 80), (2, 30), (3, 15)])
def test_every_read_of_a_sweep_finds_its_value(oracle, rank, seeds):
    for seed in range(seeds):
        problem, tiling, at_once = drawn(seed, rank)
        found = oracle(problem, tiling, list(order(problem, whole(problem, tiling, at_once))))
        assert found is None, f"{seed}: {found} {problem} {tiling}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("star1d1r", "hexagonal:t=4,s=2"),
        ("heat2d", "hybrid:t=4,s=2x2"),
        ("wave2d", "hybrid:t=4,s=2x2"),
        ("wave3d", "diamond:t=4,s=4x2x4"),
    ],
)
def test_a_sweep_to_the_wrong_side_is_found(oracle, name, text):
    problem = make_problem(program(name), (40, *(6,) * (program(name).rank - 1)), 8, "float32", "fixed")
    tiling = catalogue.complete(problem, parse(text))
    tree = whole(problem, tiling)
    assert oracle(problem, tiling, list(order(problem, tree))) is None
    back = Loop(name="turn", low=tree.low, high=tree.high, child=Let("begin", tree.high - 1 - Name("turn"), tree.child))
    assert oracle(problem, tiling, list(order(problem, back))) is not None


def test_families_whose_tiles_do_not_lean_are_not_swept():
    problem = make_problem(program("heat2d"), (40, 40), 8, "float32", "fixed")
    assert catalogue.sweep(problem, catalogue.complete(problem, parse("skewed:t=4,s=8x8"))) is None
