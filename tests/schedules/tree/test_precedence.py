"""The interpreter that finds broken dependences in schedule trees, against brute force, on illegal tilings as well."""

import random

import numpy as np
import pytest
from tests.oracles.forms import Atom, Class, Form
from tests.oracles.precedence import Distance, TreeSizes, breaks, broken
from tests.oracles.search import solution
from tests.sampling import some
from tests.schedules.conftest import make_program

from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules import catalogue
from tilewright.schedules.family import Legal, Violation
from tilewright.schedules.geometry import Hexagon, Skew
from tilewright.schedules.tiling import Tiling, parse
from tilewright.schedules.tree.affine import Name, Whole, extent_of
from tilewright.schedules.tree.nodes import Compute, Loop, Parallel, Private, Range, Sequence
from tilewright.workloads.tables import orthogonal

_SHAPES = {1: (44,), 2: (26, 14), 3: (8, 24, 9)}


def _case(seed, family, rank):
    """A random problem with reads as they are written, on a grid of several tiles, and a tiling of any first size."""
    rng = random.Random(f"{family}/{rank}/{seed}")  # noqa: S311
    program_ = make_program(rng, rank, {1: 3, 2: 2, 3: 1}[rank])
    boundary = {name: tuple((Boundary(kind="fixed"),) * 2 for _ in range(rank)) for name in program_.fields}
    problem = make_problem(program_, _SHAPES[rank], 9, boundary=boundary)
    size = 2 * rng.randint(1, 8) if family == "diamond" else rng.randint(1, 4)
    sizes = [size, *(rng.randint(1, 4) for _ in range(rank - 1))]
    return problem, Tiling(family=family, time=rng.choice((2, 4)), space=tuple(sizes))


@pytest.mark.parametrize(
    ("family", "rank", "seeds", "illegal"),
    [
        ("hexagonal", 1, 90, 10),
        ("hybrid", 2, 40, 3),
        ("diamond", 1, 90, 15),
        ("diamond", 2, 40, 8),
        ("skewed", 1, 40, 0),
        ("skewed", 2, 30, 0),
    ],
)
@pytest.mark.parametrize("part", some([2, 1], 1))
def test_verdicts_are_those_of_brute_force(oracle, family, rank, seeds, illegal, part):
    """Of the first half by default, which has at least a quarter of the illegal ones."""
    found = 0
    for seed in range(seeds // part):
        problem, tiling = _case(seed, family, rank)
        complaint = oracle(problem, tiling)
        dependence = broken(problem, catalogue.tree(problem, tiling))
        assert (dependence is None) == (complaint is None), (seed, str(tiling), complaint, str(dependence))
        verdict = catalogue.check(problem, tiling)  # the closed form, which may be stricter and never is laxer
        assert dependence is None or isinstance(verdict, Violation), (seed, str(tiling))
        found += dependence is not None
    assert found >= illegal // part**2


def test_boundaries_that_bend_reads_are_never_forgotten(oracle, random_case):
    """There the verdict may be stricter than brute force, which knows where the grid ends, and is never laxer."""
    rng, legal = random.Random(5), 0  # noqa: S311
    for seed in range(60):
        problem, tiling = random_case(seed, 1, kinds=("nearest", "reflect", "mirror"))
        narrow = Tiling(family="hexagonal", time=tiling.time, space=(rng.randint(1, 3),))
        if broken(problem, catalogue.tree(problem, narrow)) is None:
            assert oracle(problem, narrow) is None, (seed, str(narrow))
            legal += 1
    assert 10 < legal < 60


_FAULTS = {
    "colour 1 starts with colour 0": (Hexagon, "time_origin", lambda self, colour, phase: phase * self.height),
    "colours swapped in time": (
        Hexagon,
        "time_origin",
        lambda self, colour, phase: phase * self.height - colour * self.half,
    ),
    "rows grow too slowly": (Hexagon, "slope", 1),
    "classic cuts lean too little": (Skew, "slope", 1),
    "classic cuts do not lean": (Skew, "slope", 0),
}


@pytest.mark.parametrize("fault", _FAULTS)
@pytest.mark.parametrize("tiling", ["hybrid:t=4,s=3x4", "hybrid:t=2,s=2x3"])
def test_faults_in_the_geometry_are_found(monkeypatch, oracle, fault, tiling):
    problem = make_problem(program("star2d2r"), (40, 24), 12)
    assert broken(problem, catalogue.tree(problem, parse(tiling))) is None
    shape, name, wrong = _FAULTS[fault]
    if name == "slope":
        monkeypatch.setattr(shape, "__init__", _with_slope(shape.__init__, wrong))
    else:
        monkeypatch.setattr(shape, name, wrong)
    complaint = oracle(problem, parse(tiling))
    found = broken(problem, catalogue.tree(problem, parse(tiling)))
    if complaint is None:  # hexagons of two rows do not grow
        assert (fault, found) == ("rows grow too slowly", None)
    else:
        assert found is not None or complaint.startswith("cover")
    assert found is not None or fault.startswith("rows")


def _with_slope(init, slope):
    def made(self, **given):
        init(self, **{**given, "slope": slope})

    return made


@pytest.mark.parametrize("lag", [0, 1, 2, 3])
def test_bands_of_skewed_tiles_wait_long_enough(monkeypatch, lag):
    """Of tiles of two cells that lean by six in a band the next band may start three wavefronts later, not sooner."""
    problem = make_problem(program("star1d3r"), (60,), 8)
    tiling = parse("skewed:t=2,s=2")
    assert broken(problem, catalogue.tree(problem, tiling)) is None
    monkeypatch.setattr(Skew, "delay", lambda self, height, tiles: tiles * 0 + lag)
    assert (broken(problem, catalogue.tree(problem, tiling)) is None) == (lag == 3)


def test_children_of_a_sequence_follow_each_other():
    here, t = ((Whole(0), extent_of(0)),), Name("t")
    stages = [Compute(t, Whole(stage), here) for stage in (0, 1)]
    sizes = TreeSizes(shape=(50,), steps=20, stages=2)
    for order, wrong in ((stages, False), (stages[::-1], True)):
        tree = Loop(name="t", low=Whole(0), high=Name("steps"), child=Sequence(tuple(order)))
        assert breaks(tree, Distance(time=1, offsets=((-1, 1),), stage=1), sizes) == wrong


def test_concurrent_cells_hold_no_dependence_across():
    """One tile per cell, all steps of it inside: whatever another cell computed is not there."""
    t, cell = Name("t"), Name("cell")
    inside = Loop(name="t", low=Whole(0), high=Name("steps"), child=Compute(t, Whole(0), ((cell, cell + 1),)))
    tree = Parallel((Range("cell", Whole(0), extent_of(0)),), inside)
    sizes = TreeSizes(shape=(9,), steps=5, stages=1)
    assert not breaks(tree, Distance(time=1, offsets=((0, 0),)), sizes)
    assert breaks(tree, Distance(time=1, offsets=((1, 1),)), sizes)
    assert not breaks(tree, Distance(time=5, offsets=((1, 1),)), sizes)
    assert not breaks(tree, Distance(time=1, offsets=((9, 9),)), sizes)


def test_memory_of_a_tile_is_not_looked_through():
    private = Private(buffers=(), origin=(), side=Whole(0), bands=Whole(1), child=Sequence(()))
    with pytest.raises(TypeError, match="computes in memory of its own"):
        breaks(private, Distance(time=1, offsets=((0, 0),)), TreeSizes(shape=(9,), steps=5, stages=1))


def test_numbers_are_found_where_there_are_any():
    """6 x + 10 y = 15 z + 1 with x, y, z from 0 to 40, by hand and by enumeration."""
    for least in range(0, 400, 7):

        def equal(scope, least=least):
            del scope
            form = Form(-1, {Atom(0): 6, Atom(1): 10, Atom(2): -15})
            yield lambda: [form, form.times(-1), Form(-least, {Atom(0): 1, Atom(1): 2, Atom(2): 3})]

        x, y, z = np.ogrid[:41, :41, :41]
        some = bool(((6 * x + 10 * y == 15 * z + 1) & (x + 2 * y + 3 * z >= least)).any())
        assert (solution([Class(0, 40)] * 3, equal) is not None) == some


def test_boxes_are_cut_where_boxes_have_failed():
    """Two pairs of numbers, one of which has no answer: the other one is not tried out for each of its parts."""
    looks = 0

    def apart(_):
        nonlocal looks
        looks += 1
        yield lambda: [Form(0, {Atom(0): 1, Atom(1): -1})]
        yield lambda: [Form(-7, {Atom(2): 3, Atom(3): -3}), Form(8, {Atom(2): -3, Atom(3): 3})]  # 7 <= 3 (x - y) <= 8

    assert solution([Class(0, 63)] * 2 + [Class(0, 1023)] * 2, apart) is None
    assert looks < 1023


def test_a_base_below_the_slope_is_refused_even_where_its_order_would_keep_every_dependence(oracle):
    """Where a stage reads far that no row of a neighbour's next to it runs, or in one direction only."""
    u, v, k = FieldBuilder("u"), FieldBuilder("v"), FieldBuilder("k")
    values = {"u": 0.5 * u[-3] + 0.25 * v[1] + 0.125 * u[1]}
    values["v"] = 0.5 * v[0] + 0.125 * u[-3] + 0.25 * u.new[0] + 0.1 * u.prev[0]
    for program_ in (stencil("one_sided", 1, {"u": 0.5 * u[3] + 0.25 * k[3]}), stencil("stages", 1, values)):
        problem, tiling = make_problem(program_, (400,), 21), parse("hexagonal:t=2,s=1")
        least = slopes(problem)[0].widest
        assert oracle(problem, tiling) is None
        assert broken(problem, catalogue.tree(problem, tiling)) is None
        verdict = catalogue.check(problem, tiling)
        assert isinstance(verdict, Violation)
        assert f"their first size is 1, and below {least} dependences lead beyond the neighbouring tile" in str(verdict)
        assert isinstance(catalogue.check(problem, parse(f"hexagonal:t=2,s={least}")), Legal)


def test_tables_run_along_anti_diagonals_where_the_tree_says_so():
    """The family asks one thing of dependences, that none points up and to the right; tiles hold the reach."""
    for seed in range(40):
        rng = random.Random(seed)  # noqa: S311
        offsets = [(-rng.randint(0, 3), rng.randint(-3, 2)) for _ in range(rng.randint(1, 3))]
        offsets = [(up, beside) if up else (0, -1 - abs(beside)) for up, beside in offsets]
        rows, columns = (max(1, *(-offset[axis] for offset in offsets)) + rng.randint(0, 3) for axis in (0, 1))
        sub = rng.choice([part for part in range(1, columns + 1) if columns % part == 0])
        tiling = Tiling(family="orthogonal", time=rows, space=(columns,), sub=(sub,))
        sizes = TreeSizes(shape=(50, 60), steps=1, stages=1)
        distances = [Distance(time=0, offsets=tuple((o, o) for o in offset)) for offset in offsets]
        h = FieldBuilder("h")
        filled = stencil("filled", 2, {"h": sum((h.new[offset] for offset in offsets[1:]), h.new[offsets[0]])})
        problem = make_problem(filled, (50, 60), 1)
        verdict = catalogue.check(problem, tiling)
        assert isinstance(verdict, Violation) == any(breaks(orthogonal.table_tree(tiling), d, sizes) for d in distances)


def test_time_tiles_of_recurrences_are_broken_in_the_tree_as_well():
    """Prisms cannot wait for a neighbour; nor can the code of any time tile, whose rows are vectors."""
    problem = make_problem(program("smith_waterman"), (40, 30), 3)
    sweep = [Distance(time=d.time, offsets=tuple((o, o) for o in d.offset)) for d in problem.program.analysis.sweep]
    sizes = TreeSizes(shape=problem.shape, steps=3, stages=1)
    plain = make_problem(program("j2d5pt"), problem.shape, 3)
    for text in ("hybrid:t=2,s=2x3", "diamond:t=2,s=4x4"):  # skewed tiles would keep it, computed cell by cell
        assert isinstance(catalogue.check(problem, parse(text)), Violation)
        assert any(breaks(catalogue.tree(plain, parse(text)), each, sizes) for each in sweep), text
    none = catalogue.tree(plain, parse("none"))
    assert not any(breaks(none, each, sizes) for each in sweep)
