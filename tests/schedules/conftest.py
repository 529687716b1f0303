"""Random problems and the brute-force oracle: the order of computations is checked read by read."""

import itertools
import math
import random

import numpy as np
import pytest

from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.stencil.reference import map_index
from tilewright.schedules import catalogue
from tilewright.schedules.families import diamond
from tilewright.schedules.tiling import Tiling

BOUNDED = ("fixed", "constant", "nearest", "reflect", "mirror")


def make_program(rng, rank, reach):
    """Up to three updated fields in up to three stages, a coefficient field, up to three time levels."""
    updated = ["u", "v", "w"][: rng.choice((1, 1, 2, 3))]
    below = [rng.randint(0, reach) for _ in range(rank)]
    above = [rng.randint(0, reach) for _ in range(rank)]

    def offset():
        return tuple(rng.randint(-low, high) for low, high in zip(below, above, strict=True))

    values = {}
    for i, name in enumerate(updated):
        value = FieldBuilder(name)[offset()]
        for _ in range(rng.randint(1, 4)):
            field = FieldBuilder(rng.choice([*updated, "k"]))
            earlier = FieldBuilder(updated[rng.randrange(i)]) if i else field
            level = rng.choice(("now", "now", "now", "prev", "prev2", "new"))
            if field.name == "k" or level == "now":
                value = value + field[offset()]
            elif level == "new":
                value = value + (earlier.new[offset()] if i else field[offset()])
            else:
                value = value + getattr(field, level)[offset()]
        values[name] = value
    return stencil(f"random{rank}d", rank, values)


def make_random(seed, rank, shapes=((3, 40), (3, 16), (3, 10)), kinds=BOUNDED):
    """Return a random problem and a random legal tiling of it."""
    rng = random.Random(seed)  # noqa: S311
    program = make_program(rng, rank, {1: 3, 2: 2, 3: 1}[rank])
    shape = tuple(rng.randint(*shapes[rank - 1]) for _ in range(rank))

    def side():
        return Boundary(kind=rng.choice(kinds), value=1.0)

    boundary = {name: tuple((side(), side()) for _ in range(rank)) for name in program.fields}
    problem = make_problem(program, shape, rng.choice((0, 1, 3, 5, 7, 9, 12)), boundary=boundary)
    base = max(1, slopes(problem)[0].widest) + rng.choice((0, 0, 1, 2, 5))
    space = (base, *(rng.randint(1, 6) for _ in range(rank - 1)))
    family = "hexagonal" if rank == 1 else "hybrid"
    return problem, Tiling(family=family, time=rng.choice((2, 4, 6)), space=space)


class Order:
    """When every cell of every logical step is computed: wavefront, tile, place; how often."""

    def __init__(self, problem, tiling, pieces=None):
        self.problem = problem
        self.stages = problem.program.stages
        shape = (problem.steps * len(self.stages), *problem.shape)
        self.wavefront, self.tile, self.place, self.times = (np.zeros(shape, dtype=int) for _ in range(4))
        self.monotone = True
        last = -1
        for place, piece in enumerate(pieces or catalogue.scan(problem, tiling)):
            at = (piece.time, *(slice(*span) for span in piece.box))
            self.wavefront[at], self.tile[at], self.place[at] = piece.wavefront, piece.tile, place
            self.times[at] += 1
            self.monotone &= piece.wavefront >= last
            last = piece.wavefront

    def complaint(self):
        """Say what is wrong, or return None."""
        if not (self.times == 1).all():
            return f"cover: cells are computed {self.times.min()} to {self.times.max()} times"
        if not self.monotone:
            return "order: a wavefront starts before an earlier one is done"
        for i, statement in enumerate(self.problem.program.statements):
            for read in statement.reads:
                wrong = self._wrong(i, read)
                if wrong:
                    return wrong
        return None

    def _times(self, i, steps):
        """When a statement computes in some steps, to be spread over cells."""
        return (steps * len(self.stages) + next(s for s, stage in enumerate(self.stages) if i in stage))[:, None]

    def _wrong(self, i, read):
        program, steps = self.problem.program, np.arange(self.problem.steps)
        if read.field not in program.updated:
            return None
        writer = next(j for j, s in enumerate(program.statements) if s.field == read.field)
        here, there = self._cells(program.statements[i], program.statements[writer], read)
        copies = program.analysis.copies[program.fields.index(read.field)]
        made = steps + read.level - 1
        known = made >= 0
        if not self._before((self._times(writer, made[known]), *there), (self._times(i, steps[known]), *here)):
            return f"flow: {read}"
        over = made + copies
        in_place, kept = i == writer and read.level - 1 + copies == 0, over < self.problem.steps
        later = self._times(writer, over[kept]), *there
        if not self._before((self._times(i, steps[kept]), *here), later, in_place=in_place):
            return f"memory: {read}"
        return None

    def _cells(self, reader, writer, read):
        """Cells that the reader updates and the cells they read, where the writer updates these."""
        ranges = [np.arange(*span) for span in self.problem.update_box(reader)]
        grid = np.meshgrid(*ranges, indexing="ij")
        keep = np.ones(grid[0].shape, dtype=bool)
        sources = []
        sides = self.problem.sides(read.field)
        for axis, (cells, extent) in enumerate(zip(grid, self.problem.shape, strict=True)):
            target = cells + read.offset[axis]
            for side, outside in zip(sides[axis], (target < 0, target >= extent), strict=True):
                if side.kind == "constant":
                    keep &= ~outside
                elif side.kind != "fixed":
                    target = np.where(outside, map_index(target, extent, side.kind), target)
            sources.append(target)
            low, high = self.problem.update_box(writer)[axis]
            keep &= (target >= low) & (target < high)
        return tuple(cells[keep] for cells in grid), tuple(cells[keep] for cells in sources)

    def _before(self, first, second, *, in_place=False):
        waves = self.wavefront[first], self.wavefront[second]
        places = self.place[first], self.place[second]
        same = (waves[0] == waves[1]) & (self.tile[first] == self.tile[second])
        sequence = places[0] <= places[1] if in_place else places[0] < places[1]
        return bool(((waves[0] < waves[1]) | (same & sequence)).all())


@pytest.fixture
def oracle():
    """``oracle(problem, tiling)`` returns a complaint or None; the order is the tiling's, or that of given pieces."""
    return lambda problem, tiling, pieces=None: Order(problem, tiling, pieces).complaint()


@pytest.fixture
def random_case():
    """``random_case(seed, rank)`` returns a random problem and a random legal tiling."""
    return make_random


def subtiles(problem, tiling):
    """Per (wavefront, tile) and sub-tile, its pieces in order."""
    found = {}
    for piece in catalogue.scan(problem, tiling):
        found.setdefault((piece.wavefront, piece.tile), {}).setdefault(piece.sub, []).append(piece)
    return found


def size_of(pieces):
    """How many cells there are in pieces, of which no two have one in common."""
    return sum(math.prod(max(0, high - low) for low, high in piece.box) for piece in pieces)


def cells_of(pieces):
    return {
        (piece.time, *cell) for piece in pieces for cell in itertools.product(*(range(*span) for span in piece.box))
    }


def reads_stay_inside(problem, pieces):
    statements, stages = problem.program.statements, problem.program.stages
    offsets = [[read.offset for i in stage for read in statements[i].reads] for stage in stages]
    return all(
        low + o >= 0 and high + o <= extent
        for piece in pieces
        if size_of([piece])
        for offset in offsets[piece.time % len(stages)]
        for (low, high), o, extent in zip(piece.box, offset, problem.shape, strict=True)
    )


def tiling_of(problem, family, seed):
    """A random legal tiling."""
    rng, rank = random.Random(f"{family}/{seed}"), problem.program.rank  # noqa: S311
    if family == "diamond":
        time = rng.choice((2, 4, 6))
        least = diamond.least_pitch(problem, time)
        rest = (rng.randint(1, 6) for _ in range(rank - 1))
        return Tiling(family=family, time=time, space=(least + rng.choice((0, 0, 2, 4)), *rest))
    sub = tuple(rng.randint(1, 5) for _ in range(rank))
    space = tuple(part * rng.choice((1, 1, 2, 3)) for part in sub)
    given = sub if family == "skewed" and rng.random() < 0.7 else ()
    return Tiling(family=family, time=rng.randint(1, 5), space=space, sub=given)
