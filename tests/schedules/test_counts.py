"""Exact counts against counting by hand on the scan."""

import itertools
import math
import random

import pytest
from tests.oracles.counting import exact_counts
from tests.sampling import some

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules.counting import block_of, work_of
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.schedules.tree.affine import Name, Whole, extent_of
from tilewright.schedules.tree.nodes import Compute, Guard, Loop, Parallel, Range

from .conftest import cells_of, reads_stay_inside, size_of, subtiles, tiling_of


def _words(problem, tiling):
    """Points, live-in, live-out and footprint of a sub-tile far from every edge, from the definitions."""
    found = subtiles(problem, tiling)
    wave = sorted({wave for wave, _ in found})[len({wave for wave, _ in found}) // 2]
    tiles = sorted(tile for w, tile in found if w == wave)
    subs = found[wave, tiles[len(tiles) // 2]]
    order = list(subs)
    middle = tuple(extent // 2 for extent in problem.shape[1:])
    height = max(piece.time for pieces in subs.values() for piece in pieces)
    chosen = next(sub for sub in order if any(cell[2:] == middle and cell[0] == height for cell in cells_of(subs[sub])))
    tile = set().union(*map(cells_of, subs.values()))
    before = [cells_of(subs[sub]) for sub in order[: order.index(chosen)]]
    own = cells_of(subs[chosen])
    reads, writes, touched = _values(problem.program, own)
    earlier = set().union(*(_values(problem.program, cells)[0] for cells in before)) if before else set()
    _, tile_writes, _ = _values(problem.program, tile)
    out = sum(_read_outside(problem.program, value, tile) for value in writes)
    return len(own), len(reads - tile_writes - earlier), out, _footprint(problem.program, touched)


def _footprint(program, touched):
    """Places in the boxes around what is touched, in all copies of the fields."""
    footprint = 0
    for field, copies in zip(program.fields, program.analysis.copies, strict=True):
        where = [cell for name, *cell in touched if name == field]
        size = copies if where else 0
        for axis in zip(*where, strict=True):
            size *= max(axis) - min(axis) + 1
        footprint += size
    return footprint


def _values(program, cells):
    """Values that computations read and write, as (field, version, *cell), and the places they touch."""
    stages = program.stages
    reads, writes, touched = set(), set(), set()
    for time, *cell in cells:
        step = time // len(stages)
        for i in stages[time % len(stages)]:
            statement = program.statements[i]
            writes.add((statement.field, step + 1, *cell))
            touched.add((statement.field, *cell))
            for read in statement.reads:
                at = tuple(x + o for x, o in zip(cell, read.offset, strict=True))
                version = step + read.level if read.field in program.updated else 0
                reads.add((read.field, version, *at))
                touched.add((read.field, *at))
    return reads, writes, touched


def _read_outside(program, value, tile):
    field, version, *cell = value
    stages = program.stages
    for number, stage in enumerate(stages):
        for i in stage:
            for read in program.statements[i].reads:
                if read.field == field:
                    time = (version - read.level) * len(stages) + number
                    if (time, *(x - o for x, o in zip(cell, read.offset, strict=True))) not in tile:
                        return True
    return False


def _words_of_a_whole_tile(problem, tiling):
    """The same of a full skewed tile."""
    found = subtiles(problem, tiling)
    points = exact_counts(problem, tiling).points
    tiles = [list(itertools.chain(*subs.values())) for subs in found.values()]
    own = cells_of(next(tile for tile in tiles if size_of(tile) == points and reads_stay_inside(problem, tile)))
    reads, writes, touched = _values(problem.program, own)
    out = sum(_read_outside(problem.program, value, own) for value in writes)
    return len(own), len(reads - writes), out, _footprint(problem.program, touched)


def _check_words(problem, tiling):
    counts = exact_counts(problem, tiling)
    assert counts.full > 0, str(tiling)
    found = (_words if tiling.family.hexagons else _words_of_a_whole_tile)(problem, tiling)
    assert found == (counts.points, counts.live_in, counts.live_out, counts.footprint), (problem.program, str(tiling))


@pytest.mark.parametrize("family", ["prism", "skewed"])
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("part", some([3, 1], 1))
def test_words_of_random_programs(random_case, family, rank, part):
    """The first third in 2D by default."""
    for seed in range({1: 40, 2: 14 if family == "prism" else 24}[rank] // (1 if rank == 1 else part)):
        small, tiling = random_case(seed, rank)
        if family == "skewed":
            drawn = tiling_of(small, "skewed", seed)
            tiling = Tiling(family="skewed", time=min(3, drawn.time), space=drawn.space)
            problem = make_problem(small.program, (260,) if rank == 1 else (44, 40), 2 * tiling.time)
        elif rank == 1:
            problem = make_problem(small.program, (300,), 4 * tiling.time)
        else:
            tiling = Tiling(family="hybrid", time=min(4, tiling.time), space=tiling.space)
            problem = make_problem(small.program, (150, 70), 3 * tiling.time)
        _check_words(problem, tiling)


@pytest.mark.parametrize(
    ("name", "shape", "steps", "text"),
    [
        *((name, (26, 20, 20), 6, "hybrid:t=2,s=2x2x3") for name in ("wave3d", "laplacian3d", "j3d27pt")),
        *((name, (14, 13, 15), 4, "skewed:t=2,s=3x2x4") for name in ("wave3d", "j3d7pt")),
    ],
)
def test_words_in_3d(name, shape, steps, text):
    _check_words(make_problem(program(name), shape, steps), parse(text))


def test_the_longest_tile_where_the_grid_is_shorter_than_a_tile():
    """Then it may be any tile, neither the first ones nor the one in the middle."""
    rng, cut = random.Random(7), 0  # noqa: S311
    for _ in range(20):
        offsets = [tuple(rng.randint(-2, 3) for _ in range(2)) for _ in range(rng.randint(1, 3))]
        u = FieldBuilder("u")
        program_ = stencil("case", 2, {"u": sum((u[offset] for offset in offsets[1:]), u[offsets[0]])})
        sub, shape = [rng.randint(1, 3) for _ in range(2)], tuple(rng.randint(1, 8) for _ in range(2))
        space = tuple(size * rng.randint(1, 5) for size in sub)
        problem = make_problem(program_, shape, rng.randint(1, 12))
        tiling = Tiling(family="skewed", time=problem.steps, space=space, sub=tuple(sub))
        longest = max(len(subs) for subs in subtiles(problem, tiling).values())
        assert exact_counts(problem, tiling).subtiles_per_tile == longest, (offsets, shape, str(tiling))
        cut += longest < math.prod(space) // math.prod(sub)
    assert cut > 6


@pytest.mark.parametrize(("size", "height"), [(1, 2), (3, 4), (64, 16), (32, 64)])
def test_the_papers_closed_forms(size, height):
    """Hexagon area, live-in of equation (7), exact live-out, and 2 (t_S + t_T) words of shared memory in 1D."""
    problem = make_problem(program("jacobi1d"), (10_000,), 1000)
    counts = exact_counts(problem, Tiling(family="hexagonal", time=height, space=(size,)))
    width = size + height - 2
    assert counts.points == height * (width + size) // 2
    assert counts.live_in == size + 2 * height
    assert counts.footprint == 2 * (size + height)
    if size >= 2:
        assert counts.live_out == size + 2 * height - 2
    assert counts.wavefronts == -(-1000 // height) + -(-(1000 + height // 2) // height)


@pytest.mark.parametrize(("size", "height"), [(4, 2), (64, 16), (32, 64)])
def test_the_thesis_words_of_jacobi_1d(size, height):
    """M_io of the thesis' J1D is 2 (t_S + 2 t_T): exact for what comes in, one row too many for what goes out."""
    problem = make_problem(program("jacobi1d"), (100_000,), 1000)
    counts = exact_counts(problem, Tiling(family="skewed", time=height, space=(size,)))
    assert counts.points == size * height
    assert counts.live_in == size + 2 * height
    assert counts.live_out == size + 2 * (height - 1)
    bands, tiles = -(-1000 // height), -(-(100_000 + height - 1) // size)
    assert counts.wavefronts == (bands - 1) * (1 + -(-height // size)) + tiles


def test_sweeps():
    problem = make_problem(program("fdtd2d"), (8, 9), 5)
    counts = exact_counts(problem, NONE)
    assert (counts.wavefronts, counts.tiles, counts.points, counts.total_points) == (10, 10, 72, 720)
    assert (counts.live_in, counts.live_out, counts.partial) == (3 * 72, 2 * 72, 10)
    pointwise = make_problem(program("star1d1r"), (8,), 0)
    assert exact_counts(pointwise, NONE).tiles_per_wavefront == 0


def test_counts_do_not_grow_with_the_problem():
    problem = make_problem(program("j2d5pt"), (2**22, 2**22), 2**31 - 1)
    for text, points in (
        ("hybrid:t=4,s=3x1000000", 4 * (3 + 1 + 3 + 1) // 2 * 10**6),
        ("skewed:t=4,s=4096x1048576,sub=64x1048576", 4 * 4096 * 2**20),
        ("diamond:t=4,s=8x1048576", 4 * 4 * 2**20),
    ):
        counts = exact_counts(problem, parse(text))
        assert (counts.total_points, counts.points) == (2**44 * (2**31 - 1), points)


def test_a_diamond_is_a_hexagon_of_one_cell():
    problem = make_problem(program("jacobi1d"), (500,), 60)
    pair = [exact_counts(problem, parse(text)) for text in ("diamond:t=8,s=8", "hexagonal:t=8,s=1")]
    assert pair[0] == pair[1]


@pytest.mark.parametrize("whole", ["a loop", "a box"])
def test_tiles_that_span_an_axis_are_refused_where_they_are_counted(whole):
    """Strips of eight rows, whose columns are one box of a tile, or blocks in a loop of it."""
    problem, row, block = make_problem(program("heat2d"), (64, 96), 1), Name("row") * 8, Name("block") * 16
    columns = (Whole(0), extent_of(1)) if whole == "a box" else (block, block + 16)
    cells = Compute(step=Whole(0), stage=Whole(0), box=((row, row + 8), columns))
    inside = cells if whole == "a box" else Loop(name="block", low=Whole(0), high=extent_of(1), child=cells)
    tree = Parallel((Range("row", Whole(0), extent_of(0)),), inside)
    with pytest.raises(UsageError, match=r"the work of a tile .* spans a whole axis of the grid .*cut that axis"):
        block_of(problem, tree)


def test_what_lies_above_tiles_and_is_no_loop_is_refused_where_it_is_counted():
    problem, row = make_problem(program("heat2d"), (64, 96), 1), Name("row") * 8
    cells = Compute(step=Whole(0), stage=Whole(0), box=((row, row + 8), (Whole(0), Whole(96))))
    tiles = Parallel((Range("row", Whole(0), Whole(8)),), cells)
    guarded = Guard(low=Whole(0), value=Whole(0), high=Whole(1), child=tiles)
    with pytest.raises(UsageError, match=r"above the tiles .* alone, got a Guard \(hint: put it inside the tiles\)"):
        work_of(problem, guarded)
