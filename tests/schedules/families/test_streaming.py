"""Streaming tiles: legality read by read, cover, and exact counts, against a walk over every piece."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.counting import exact_counts

from tilewright.codegen.sites import Site
from tilewright.codegen.streaming.layout import StreamLayout
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.stencil.reference import map_index
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.family import Legal, Violation
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming import levels as pipeline
from tilewright.schedules.tiling import Tiling, parse
from tilewright.tuning.spaces.cpu_schedule import choose_body


def tiling_of(problem, seed):
    rng = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    rank = problem.program.rank
    space = tuple(rng.randint(1, extent + 3) for extent in problem.shape)
    needed = streaming.needed_rows(problem)
    rows = 1 if rank == 1 else rng.randint(needed, needed + 3)
    return Tiling(family="streaming", time=rng.randint(1, 5), space=space, rows=rows)


def block_of(problem, seed):
    """A tiling of a GPU's thread block."""
    rng = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    space = tuple(rng.randint(1, extent + 3) for extent in problem.shape)
    return Tiling(family="streaming", time=rng.randint(1, 6), space=space, threads=(1,) * len(space))


class Walk:
    """Runs a tiling on sets of cells: per tile, which values it has; complains about a read of one that it lacks."""

    def __init__(self, problem, tiling):
        self.problem, self.program = problem, problem.program
        self.stream = streaming.geometry(problem, catalogue.complete(problem, tiling))
        self.stages = self.program.stages
        self.pieces = list(catalogue.scan(problem, tiling))
        self.complaints = []
        starts = list(itertools.accumulate(self.stream.levels, initial=0))
        groups = itertools.groupby(self.pieces, key=lambda piece: (piece.wavefront, piece.tile))
        own = dict(enumerate(itertools.product(*(itertools.pairwise(c) for c in self.stream.cuts))))
        self.seen = {}
        for (wavefront, tile), pieces in groups:
            assert (wavefront, tile) not in self.seen
            values = np.zeros((problem.steps * len(self.stages), *problem.shape), dtype=bool)
            values[: starts[wavefront] * len(self.stages)] = True
            for piece in pieces:
                self.run(piece, values)
            self.seen[wavefront, tile] = values
            cells = tuple(slice(*span) for span in own[tile][-problem.program.rank :])
            last = starts[wavefront + 1] * len(self.stages)
            made = values[(slice(last - len(self.stages), last), *cells)]
            if not made.all():
                self.complaints.append(f"tile {tile} of band {wavefront} does not finish its own cells")

    def run(self, piece, values):
        box = tuple(slice(*span) for span in piece.box)
        step, stage = divmod(piece.time, len(self.stages))
        if values[(piece.time, *box)].any():
            self.complaints.append(f"{piece} computes cells again")
        for number in self.stages[stage]:
            statement = self.program.statements[number]
            for read in statement.reads:
                if read.field in self.program.updated:
                    self.check(piece, step, statement, read, values)
        values[(piece.time, *box)] = True

    def check(self, piece, step, statement, read, values):
        writer = next(i for i, s in enumerate(self.program.statements) if s.field == read.field)
        made = step + read.level - 1
        if made < 0:
            return
        time = made * len(self.stages) + next(n for n, stage in enumerate(self.stages) if writer in stage)
        axes, keep = [], []
        sides = self.problem.sides(read.field)
        limits = zip(piece.box, self.problem.update_box(statement), strict=True)
        for axis, (span, bounds) in enumerate(limits):
            cells = np.arange(max(span[0], bounds[0]), min(span[1], bounds[1])) + read.offset[axis]
            inside = np.ones(len(cells), dtype=bool)
            for side, outside in zip(sides[axis], (cells < 0, cells >= self.problem.shape[axis]), strict=True):
                if side.kind == "constant":
                    inside &= ~outside
                else:
                    cells = np.where(outside, map_index(cells, self.problem.shape[axis], side.kind), cells)
            axes.append(cells[inside])
            keep.append(inside.any())
        if all(keep) and not values[time][np.ix_(*axes)].all():
            self.complaints.append(f"{piece} reads {read}, which its tile has not computed")


def walked(problem, tiling):
    """The walk, of which nothing is to be complained about."""
    assert isinstance(catalogue.check(problem, tiling), Legal), str(tiling)
    walk = Walk(problem, tiling)
    assert not walk.complaints, (str(tiling), walk.complaints[0])
    counts = catalogue.counts(problem, catalogue.complete(problem, tiling))
    assert counts == exact_counts(problem, tiling)
    assert len(walk.seen) == counts.tiles
    return walk


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_random_programs_read_only_what_their_tile_has(random_case, rank):
    for seed in range(20):
        problem, _ = random_case(seed, rank, shapes=((12, 60), (9, 24), (7, 11)))
        walked(problem, tiling_of(problem, seed))


@pytest.mark.parametrize("rank", [2, 3])
def test_thread_blocks_read_only_what_earlier_advances_have_brought(random_case, rank):
    """All units of an advance may run at once: no one is earlier."""
    for seed in range(8):
        problem, _ = random_case(seed, rank, shapes=((12, 60), (9, 24), (7, 11)))
        walk = walked(problem, block_of(problem, seed))
        assert walk.stream.pipeline.lag.period >= streaming.of_problem(problem).lag.period


@pytest.mark.parametrize(("name", "period"), [("j2d5pt", 1), ("star2d2r", 2), ("box2d1r", 2)])
def test_thread_blocks_wait_a_row_for_other_threads_alone(name, period):
    problem = make_problem(program(name), (40, 90), 6)
    assert stream_block.block_growth(problem).pipeline.lag.period == period


def test_no_band_writes_a_slot_that_it_reads():
    for steps, most, versions, first in itertools.product(range(23), (1, 2, 3, 6, 7), (1, 2, 3), (0, 1)):
        bands = list(stream_block.bands(steps, most, versions, first))
        ring, slot = 2 * versions, first
        assert sum(band.levels for band in bands) == steps
        assert [band.levels for band in bands] == [most] * (steps // most) + [1] * (steps % most)
        for band in bands:
            assert band.source == slot, (steps, most, versions)
            read = {(band.source - age) % ring for age in range(versions)}
            written = {(band.target - age) % ring for age in range(min(versions, band.levels))}
            assert not read & written, (steps, most, versions)
            if band.levels < versions:  # what it starts from is what the next one needs as well
                assert (band.target - band.levels) % ring == band.source
            slot = band.target


def test_a_wrong_lag_is_found(monkeypatch):
    problem = make_problem(program("j2d5pt"), (20, 20), 6)
    assert not Walk(problem, parse("streaming:t=3,s=9x16,rows=2")).complaints
    good = streaming.geometry(problem, catalogue.complete(problem, parse("streaming:t=3,s=9x16,rows=2")))
    hurried = type(good.pipeline.lag)(period=0, offsets=(0,))
    fields = {name: getattr(good.pipeline, name) for name in type(good.pipeline).__slots__}
    wrong = type(good.pipeline)(**{**fields, "lag": hurried})
    monkeypatch.setattr(streaming, "of_problem", lambda _: wrong)
    assert Walk(problem, parse("streaming:t=3,s=9x16,rows=2")).complaints


@pytest.mark.parametrize(
    ("name", "shape", "text"),
    [
        ("j2d5pt", (40, 90), "streaming:t=3,s=13x16,rows=4"),
        ("fdtd2d", (40, 90), "streaming:t=2,s=40x32,rows=2"),
        ("wave2d", (33, 70), "streaming:t=4,s=11x32,rows=3"),
        ("j2d5pt", (40, 90), "streaming:t=3,s=13x16,threads=1x8"),
        ("wave2d", (33, 70), "streaming:t=2,s=11x32,threads=1x8"),
        ("j3d27pt", (9, 12, 40), "streaming:t=3,s=5x4x16,threads=1x2x8"),
        ("j1d3pt", (300,), "streaming:t=4,s=64"),
        ("j3d27pt", (9, 12, 40), "streaming:t=2,s=9x4x16,rows=2"),
    ],
)
def test_counts_are_those_of_the_pieces(name, shape, text):
    problem, tiling = make_problem(program(name), shape, 7), parse(text)
    counted = exact_counts(problem, tiling)
    stream = streaming.geometry(problem, catalogue.complete(problem, tiling))
    points, untouched = {}, {}
    reach = problem.program.reach
    for piece in catalogue.scan(problem, tiling):
        key = (piece.wavefront, piece.tile)
        points[key] = points.get(key, 0) + math.prod(b - a for a, b in piece.box)
        margins = zip(piece.box, reach, problem.shape, strict=True)
        inside = all(a - low >= 0 and b + high <= n for (a, b), (low, high), n in margins)
        untouched[key] = untouched.get(key, True) and inside
    assert counted.wavefronts == len({wavefront for wavefront, _ in points}) == len(stream.levels)
    assert counted.tiles == len(points)
    assert counted.full == sum(untouched.values())
    longest = {w for w, levels in enumerate(stream.levels) if levels == max(stream.levels)}
    whole = [points[key] for key, inside in untouched.items() if inside and key[0] in longest]
    assert not whole or max(whole) <= counted.points
    assert counted.total_points == 7 * len(stream.pipeline.stages) * math.prod(shape)


def test_a_tile_far_from_every_edge_computes_the_counted_points():
    problem, tiling = make_problem(program("star2d2r"), (120, 320), 6), parse("streaming:t=3,s=40x64,rows=5")
    counted = exact_counts(problem, tiling)
    points = {}
    for piece in catalogue.scan(problem, tiling):
        key = (piece.wavefront, piece.tile)
        points[key] = points.get(key, 0) + math.prod(b - a for a, b in piece.box)
    assert counted.points == sum((40 + 4 * left) * (64 + 4 * left) for left in range(3))
    assert max(points.values()) == counted.points
    assert counted.live_in == (40 + 12) * (64 + 12)
    assert counted.live_out == 40 * 64


@pytest.mark.parametrize(
    ("name", "shape", "text", "slabs", "cells"),
    [
        ("star2d2r", (120, 320), "streaming:t=3,s=40x64,rows=5", 1 * 2 + 2 * 4 * (1 + 3), 64 + 12),
        ("j3d27pt", (40, 60, 128), "streaming:t=2,s=20x20x64,rows=3", 1 * 2 + 2 * 2 * (1 + 2), (20 + 4) * (64 + 4)),
    ],
)
def test_the_footprint_is_the_slabs_that_a_tile_has(name, shape, text, slabs, cells):
    """Of two versions the rows that pass, of all of a band those kept from advance to advance, fresh and older."""
    problem, tiling = make_problem(program(name), shape, 6), parse(text)
    layout = StreamLayout(Site(problem=problem, prefix="", strict=False, body=choose_body(problem, tiling)), tiling)
    assert slabs == sum(field.slabs for field in layout.fields)
    assert exact_counts(problem, tiling).footprint == slabs * cells


def test_the_last_band_writes_the_slot_of_the_last_version():
    for steps, most, history in itertools.product(range(12), (1, 2, 5), (1, 2, 3)):
        count = streaming.bands(steps, most, history)
        odd = {slot for slot in range(2 * history) if 1 <= slot <= history}
        assert (steps % (2 * history) in odd) == bool(count % 2), (steps, most, history)
        lengths = [steps * (b + 1) // count - steps * b // count for b in range(count)]
        assert sum(lengths) == steps
        assert max(lengths, default=0) <= most


@pytest.mark.parametrize(
    ("name", "shape", "boundary", "text", "verdict"),
    [
        ("smith_waterman", (30, 30), "fixed", "streaming:t=2,s=8x16", Violation),
        ("star2d2r", (30, 30), "fixed", "streaming:t=2,s=8x16,rows=3", Violation),
        ("star2d2r", (30, 30), "fixed", "streaming:t=2,s=8x16,rows=4", Legal),
        ("j2d5pt", (2, 30), "mirror", "streaming:t=2,s=8x16", Violation),
    ],
)
def test_what_streams_is_legal_and_what_is_not(name, shape, boundary, text, verdict):
    problem = make_problem(program(name), shape, 3, boundary=boundary)
    assert isinstance(catalogue.check(problem, parse(text)), verdict)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_stream_advances_by_the_rows_asked_for(rows):
    problem = make_problem(program("j2d5pt"), (40, 90), 6)
    tiling = catalogue.complete(problem, parse(f"streaming:t=3,s=13x16,rows={rows}"))
    assert streaming.geometry(problem, tiling).rows == rows


def test_what_a_fixed_boundary_never_reads_is_not_kept():
    for kind, kept in (("fixed", (0, 0)), ("nearest", (1, 1)), (("fixed", "constant"), (0, 1))):
        problem = make_problem(program("j2d5pt"), (40, 90), 6, "float32", (kind, kind))
        assert pipeline.of_problem(problem).ghosts[0][-2:] == (kept, kept)
    ahead = make_problem(stencil("ahead", 1, {"u": 0.5 * FieldBuilder("u")[0] + 0.5 * FieldBuilder("u")[2]}), (40,), 6)
    kept = pipeline.of_problem(replace(ahead, boundaries=(((Boundary(kind="nearest"),) * 2,),))).ghosts[0][-1]
    assert kept == (0, 2)


def test_rows_are_kept_that_only_an_end_of_the_grid_reads_behind():
    """Reads ahead alone need two rows; where they are reflected, the one behind its cell as well."""
    u = FieldBuilder("u")
    ahead = stencil("ahead", 2, {"u": 0.5 * u[1, 0] + 0.25 * u[2, 0]})
    for kind, needed in (("nearest", 2), ("reflect", 3)):
        problem = make_problem(ahead, (40, 67), 3, "float32", kind)
        assert streaming.needed_rows(problem) == needed
        for rows in (needed - 1, needed):
            answer = catalogue.check(problem, parse(f"streaming:t=2,s=5x48,rows={rows}"))
            assert isinstance(answer, Legal if rows == needed else Violation)


@pytest.mark.parametrize("reach", [1, 5])
def test_a_stage_that_nobody_reads_again_starts_as_far_below_a_tile_as_it_is_read(reach):
    """Nothing runs behind from step to step here, so only the start leaves room for what the last stage reads."""
    u, v = FieldBuilder("u"), FieldBuilder("v")
    values = {"u": 0.5 * u[0, 0], "v": u.new[-reach, 0] + u.new[reach, 0] + 0.25 * v[0, 0]}
    problem = make_problem(stencil("behind", 2, values), (60, 40), 3)
    rows = streaming.needed_rows(problem)
    for text in (f"streaming:t=3,s=15x40,rows={rows}", "streaming:t=3,s=15x40,threads=1x8"):
        walk = Walk(problem, parse(text))
        assert len(walk.seen) == exact_counts(problem, parse(text)).tiles
        assert not walk.complaints, walk.complaints[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["j2d5pt", "star2d3r", "wave2d", "j3d7pt", "star3d2r", "wave3d"])
def test_blocks_that_choose_their_threads_have_one_for_some_loaded_cells_up_to_a_limit(name, dtype):
    """All cells are dealt out as evenly as can be, in 2D to whole warps."""
    rng = random.Random(name)  # noqa: S311
    known = program(name)
    problem = make_problem(known, (200,) * known.rank, 20, dtype)
    for number in range(30):
        space = tuple(rng.choice((1, 2, 3, 5, 8, 20, 40, 100)) for _ in range(known.rank)) if number else ()
        chosen = stream_block.threads_for(problem, Tiling(family="streaming", time=rng.randint(1, 3), space=space))
        first, *outer, inner = chosen.threads
        filled = catalogue.complete(problem, chosen)  # which refuses more than a block can have
        rows = stream_block.tile_of(problem, filled).loaded
        assert first == 1
        assert known.rank == 3 or inner % 32 == 0
        assert math.prod(chosen.threads) <= 512
        cells = stream_block.tile_of(problem, filled).cells
        for count, each, row in zip((*outer, inner), cells, rows[1:], strict=True):
            assert count * (each - 1) < row <= count * each


def reaching(*offset):
    """A program in 3D that reads as far on two sides."""
    u = FieldBuilder("u")
    return stencil("far", 3, {"u": u[0, 0, 0] + u[offset] + u[tuple(-o for o in offset)]})


@pytest.mark.parametrize(
    ("chosen", "dtype", "levels"),
    [
        (program("j2d5pt"), "float32", 7),
        (program("j2d5pt"), "float64", 7),
        (program("box2d4r"), "float32", 1),  # reads that are written out
        (program("box3d2r"), "float32", 1),
        (reaching(0, 1, 1), "float32", 2),
        (reaching(0, 5, 0), "float32", 1),  # halos wider than half of what is loaded, on one axis
        (reaching(0, 0, 5), "float32", 1),
    ],
)
def test_blocks_take_the_most_levels_that_nothing_forbids(chosen, dtype, levels):
    problem = make_problem(chosen, (200,) * chosen.rank, 20, dtype)
    assert stream_block.default_sizes(problem)[0] == levels
