"""What lies between two uses of a row: counted again by walking line by line through a simulated cache."""

import itertools
from collections import OrderedDict

import pytest

from tilewright.costs import reuse
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.families import streaming
from tilewright.schedules.streaming.levels import of_problem

LEVELS, ADVANCES = 9, 3


def walked(name):
    """The pipeline of a program, its rows per advance and what lies between two uses of a row."""
    kernel = program(name)
    problem = make_problem(kernel, (64,) * kernel.rank, 64)
    pipeline, rows = of_problem(problem), streaming.tile_growth(problem).rows
    return kernel, pipeline, rows, reuse.uses(kernel, pipeline, rows)


class Cache:
    """Sets of lines, each of which forgets the line that was used longest ago."""

    def __init__(self, sets, ways):
        self.sets, self.ways = [OrderedDict() for _ in range(sets)], ways

    def misses(self, line):
        held = self.sets[line % len(self.sets)]
        missed = line not in held
        held[line] = True
        held.move_to_end(line)
        if len(held) > self.ways:
            held.popitem(last=False)
        return missed


def misses(name, lines, sets, ways):
    """Lines per row and level that a cache lacks in a tile's last advance, rows an odd number of lines apart."""
    kernel, pipeline, rows, _ = walked(name)
    places, cache, missed = {}, Cache(sets, ways), 0
    counted = range(4, LEVELS)  # those before start from rows that nothing has used yet
    for advance in range(ADVANCES):
        for level in range(LEVELS):
            for stage in range(len(pipeline.stages)):
                read, written = reuse._touched(kernel, pipeline, rows, advance, level, stage)
                used = [places.setdefault(row, len(places) * ((lines + 2) | 1)) for row in sorted(read | written)]
                new = sum(cache.misses(start + k) for k in range(lines) for start in used)
                missed += new * (advance == ADVANCES - 1 and level in counted)
    return missed / lines / rows / len(counted)


PROGRAMS = ["j2d5pt", "wave2d", "heat2d_var", "star2d2r", "gradient2d", "j2d9pt-gol"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_cache_without_sets_holds_what_is_no_further_apart_than_it_is_large(name):
    _, _, rows, uses = walked(name)
    lines, (between, again) = 32, uses.near[-1]
    assert len(uses.near) == 1
    # Half a row more or less decides: at a line's own place there are whole numbers of rows in between.
    assert misses(name, lines, 1, int((between + 3) * lines)) == pytest.approx(uses.far / rows)
    assert misses(name, lines, 1, int((between - 3) * lines)) == pytest.approx((uses.far + again) / rows, rel=0.25)


def test_a_first_level_cache_loses_what_the_formula_says():
    for name, lines in itertools.product(PROGRAMS, [16, 27, 37, 48, 69]):
        _, _, rows, uses = walked(name)
        said = uses.far + sum(count * reuse.lost_in_order(apart, lines, 8) for apart, count in uses.near)
        assert said / rows == pytest.approx(misses(name, lines, 64, 8), abs=0.6, rel=0.2), (name, lines)


def test_uses_by_hand():
    """Five points, four rows at a time: two rows of the newest version and two slabs written outlive an advance."""
    _, _, rows, uses = walked("j2d5pt")
    assert rows == 4
    assert uses.near == ((9.0, 6.0),)  # 4 rows that the level before wrote, 2 slabs that it read
    assert (uses.far, uses.written) == (4.0, 4.0)
    _, _, _, two = walked("wave2d")
    assert two.near == ((13.0, 10.0),)  # 4 rows more: the version before, which the level before has read
    _, _, _, line = walked("j1d3pt")
    assert (line.near, line.far) == (((1.0, 2.0),), 0.0)


@pytest.mark.parametrize("name", ["j2d5pt", "wave2d", "fdtd2d", "heat2d_var", "heat3d"])
def test_slabs_are_those_of_the_tiling(name):
    kernel, pipeline, rows, uses = walked(name)
    for levels in (1, 8, 33):
        kept = sum(
            2 * pipeline.keep[f] * (pipeline.history[f] + levels) + pipeline.versions[f] * (rows - pipeline.keep[f])
            for f in range(len(kernel.fields))
        )
        assert uses.slabs + levels * uses.slabs_per_level == kept


def test_shares_run_from_nothing_to_all():
    for lost in (
        [reuse.lost_in_order(between, 32, 8) for between in range(60)],
        [reuse.lost_in_order(between, 1, 12) for between in range(0, 4000, 50)],  # deep tiles of a narrow grid
        [reuse.lost_at_random(occupied / 10, 8) for occupied in range(60)],
    ):
        assert lost[0] == 0.0
        assert lost[-1] == pytest.approx(1.0, abs=1e-6)
        assert all(a <= b + 1e-12 for a, b in itertools.pairwise(lost))
    # More ways make a sharper limit where the cache is full.
    assert reuse.lost_at_random(0.7, 16) < reuse.lost_at_random(0.7, 8)
    assert reuse.lost_at_random(1.4, 16) > reuse.lost_at_random(1.4, 8)
