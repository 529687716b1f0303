"""The order of a sweep, against brute force, read by read."""

import random
from dataclasses import replace

import pytest
from tests.schedules.conftest import BOUNDED, make_program

from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue, prism
from tilewright.schedules.tiling import Tiling, parse
from tilewright.schedules.tree.affine import Name, Whole
from tilewright.schedules.tree.nodes import Let, Loop
from tilewright.schedules.tree.order import order


def whole(problem, tiling, at_once=1):
    """All parts of a sweep, one after the other, or some at once."""
    cut = prism.geometry(problem, tiling)
    parts = prism.swept_parts(cut, problem.shape[0], problem.steps)
    child = Let(prism.END.name, prism.BEGIN + at_once, prism.swept(problem, tiling))
    return Loop(name=prism.BEGIN.name, low=Whole(0), high=Whole(parts), step=at_once, child=child)


def drawn(seed, rank):
    """A random problem of a few time levels, and prisms that may be swept."""
    rng = random.Random(f"swept/{rank}/{seed}")  # noqa: S311
    program_ = make_program(rng, rank, {1: 3, 2: 2, 3: 1}[rank])
    sides = {
        name: tuple(tuple(Boundary(kind=rng.choice(BOUNDED)) for _ in range(2)) for _ in range(rank))
        for name in program_.fields
    }
    shape = (rng.randint(1, 60), *(rng.randint(2, 6) for _ in range(rank - 1)))
    problem = make_problem(program_, shape, rng.randint(1, 9), boundary=sides)
    family = rng.choice(("hybrid", "diamond")) if rank > 1 else rng.choice(("hexagonal", "diamond"))
    first, rest = rng.randint(1, 3), [rng.randint(1, 5) for _ in range(rank - 1)]
    while True:
        size = 2 * first if family == "diamond" else first
        tiling = catalogue.complete(problem, Tiling(family=family, time=rng.choice((2, 4, 6)), space=(size, *rest)))
        if prism.steep(problem, tiling):
            return problem, tiling, rng.randint(1, 3)
        first += 1


@pytest.mark.parametrize(("rank", "seeds"), [(1, 80), (2, 30), (3, 10)])
def test_every_read_of_a_sweep_finds_its_value(oracle, rank, seeds):
    for seed in range(seeds):
        problem, tiling, at_once = drawn(seed, rank)
        found = oracle(problem, tiling, list(order(problem, whole(problem, tiling, at_once))))
        assert found is None, f"{seed}: {found} {problem} {tiling}"


@pytest.mark.parametrize("name", ["star1d1r", "heat2d", "wave2d"])
def test_a_sweep_to_the_wrong_side_is_found(oracle, name):
    rank = program(name).rank
    problem = make_problem(program(name), (40, *(6,) * (rank - 1)), 8, "float32", "fixed")
    tiling = catalogue.complete(problem, parse(f"{'hybrid' if rank > 1 else 'hexagonal'}:t=4,s={'x'.join('2' * rank)}"))
    tree = whole(problem, tiling)
    assert oracle(problem, tiling, list(order(problem, tree))) is None
    back = Loop(name="turn", low=tree.low, high=tree.high, child=Let("begin", tree.high - 1 - Name("turn"), tree.child))
    assert oracle(problem, tiling, list(order(problem, back))) is not None


def test_tiles_whose_neighbours_neighbours_are_read_are_not_swept():
    problem = make_problem(program("star2d4r"), (40, 40), 8, "float32", "fixed")
    tiling = catalogue.complete(problem, parse("hybrid:t=4,s=4x8"))
    assert prism.steep(problem, tiling)
    assert not prism.steep(problem, replace(tiling, space=(3, 8)))
