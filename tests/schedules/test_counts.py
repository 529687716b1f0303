"""Exact counts against counting by hand on the scan."""

import itertools

import pytest
from tests.oracles.counting import exact_counts
from tests.sampling import some

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.counting import block_of
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.schedules.tree.affine import Name, Whole, extent_of
from tilewright.schedules.tree.nodes import Compute, Loop, Parallel, Range


def _subtiles(problem, tiling):
    """Per (wavefront, tile) and sub-tile, its pieces in order."""
    found = {}
    for piece in catalogue.scan(problem, tiling):
        found.setdefault((piece.wavefront, piece.tile), {}).setdefault(piece.sub, []).append(piece)
    return found


def _cells(pieces):
    return {
        (piece.time, *cell) for piece in pieces for cell in itertools.product(*(range(*span) for span in piece.box))
    }


def _reads_stay_inside(problem, cells):
    statements, stages = problem.program.statements, problem.program.stages
    offsets = [[read.offset for i in stage for read in statements[i].reads] for stage in stages]
    return all(
        0 <= x + o < extent
        for time, *cell in cells
        for offset in offsets[time % len(stages)]
        for x, o, extent in zip(cell, offset, problem.shape, strict=True)
    )


@pytest.mark.parametrize(("rank", "seeds"), [(1, 60), (2, 40), (3, 20)])
def test_tiles_are_counted_exactly(random_case, rank, seeds):
    full = 0
    for seed in range(1000, 1000 + seeds):
        problem, tiling = random_case(seed, rank)
        counts = exact_counts(problem, tiling)
        found = _subtiles(problem, tiling)
        waves = [wave for wave, _ in found]
        cells = [_cells(pieces) for subs in found.values() for pieces in subs.values()]
        by_hand = {
            "wavefronts": len(set(waves)),
            "tiles": len(found),
            "tiles_per_wavefront": max([0, *(waves.count(wave) for wave in set(waves))]),
            "subtiles": len(cells),
            "subtiles_per_tile": max([0, *(len(subs) for subs in found.values())]),
            "full": sum(len(c) == counts.points and _reads_stay_inside(problem, c) for c in cells),
            "total_points": sum(map(len, cells)),
        }
        assert by_hand == {name: getattr(counts, name) for name in by_hand}, (seed, str(tiling), problem.shape)
        assert counts.partial == counts.subtiles - counts.full
        full += counts.full
    assert full > 0


def _words(problem, tiling):
    """Points, live-in, live-out and footprint of a sub-tile far from every edge, from the definitions."""
    found = _subtiles(problem, tiling)
    wave = sorted({wave for wave, _ in found})[len({wave for wave, _ in found}) // 2]
    tiles = sorted(tile for w, tile in found if w == wave)
    subs = found[wave, tiles[len(tiles) // 2]]
    order = list(subs)
    middle = tuple(extent // 2 for extent in problem.shape[1:])
    height = max(piece.time for pieces in subs.values() for piece in pieces)
    chosen = next(sub for sub in order if any(cell[2:] == middle and cell[0] == height for cell in _cells(subs[sub])))
    tile = set().union(*map(_cells, subs.values()))
    before = [_cells(subs[sub]) for sub in order[: order.index(chosen)]]
    own = _cells(subs[chosen])
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


def _check_words(problem, tiling):
    counts = exact_counts(problem, tiling)
    assert counts.full > 0, str(tiling)
    assert _words(problem, tiling) == (counts.points, counts.live_in, counts.live_out, counts.footprint), (
        problem.program,
        str(tiling),
    )


@pytest.mark.parametrize("seed", range(40))
def test_words_of_random_1d_programs(random_case, seed):
    small, tiling = random_case(seed, 1)
    problem = make_problem(small.program, (300,), 4 * tiling.time)
    _check_words(problem, tiling)


@pytest.mark.parametrize("seed", some(range(14), 7))
def test_words_of_random_2d_programs(random_case, seed):
    small, tiling = random_case(seed, 2)
    tiling = Tiling(family="hybrid", time=min(4, tiling.time), space=tiling.space)
    problem = make_problem(small.program, (150, 70), 3 * tiling.time)
    _check_words(problem, tiling)


@pytest.mark.parametrize("name", ["wave3d", "laplacian3d", "j3d27pt"])
def test_words_in_3d(name):
    _check_words(make_problem(program(name), (26, 20, 20), 6), parse("hybrid:t=2,s=2x2x3"))


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


def test_sweeps():
    problem = make_problem(program("fdtd2d"), (8, 9), 5)
    counts = exact_counts(problem, NONE)
    assert (counts.wavefronts, counts.tiles, counts.points, counts.total_points) == (10, 10, 72, 720)
    assert (counts.live_in, counts.live_out, counts.partial) == (3 * 72, 2 * 72, 10)
    pointwise = make_problem(program("star1d1r"), (8,), 0)
    assert exact_counts(pointwise, NONE).tiles_per_wavefront == 0


def test_counts_do_not_grow_with_the_problem():
    problem = make_problem(program("j2d5pt"), (2**22, 2**22), 2**31 - 1)
    counts = exact_counts(problem, parse("hybrid:t=4,s=3x1000000"))
    assert counts.total_points == 2**44 * (2**31 - 1)
    assert counts.points == 4 * (3 + 1 + 3 + 1) // 2 * 10**6


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
