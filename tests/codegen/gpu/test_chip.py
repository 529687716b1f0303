"""What hexagonal prisms load onto the chip of a GPU, against a walk over every cell of a tile."""

import itertools

from tilewright.codegen.gpu.chip import chip_of
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules.prism import geometry
from tilewright.schedules.tiling import Tiling


def missing(problem, hexagon):
    """Per field and slot, the cells that a tile reads along axis 0 and has not computed before."""
    analysis, known = problem.program.analysis, problem.program
    made, found = set(), {}
    for row in range(hexagon.height):
        step, stage = divmod(row, len(analysis.stages))
        cells = range(*hexagon.row(row))
        for statement in (known.statements[number] for number in analysis.stages[stage]):
            for read in statement.reads:
                version, copies = step + read.level, analysis.copies[known.fields.index(read.field)]
                for cell in (x + read.offset[0] for x in cells):
                    if (read.field, version, cell) not in made:
                        found.setdefault((read.field, version % copies), set()).add(cell)
            made |= {(statement.field, step + 1, cell) for cell in cells}
    return found


def runs(cells):
    """Half-open ranges of neighbouring cells."""
    starts = [cell for cell in sorted(cells) if cell - 1 not in cells]
    ends = [cell + 1 for cell in sorted(cells) if cell + 1 not in cells]
    return list(zip(starts, ends, strict=True))


def far(*offsets):
    """A program that reads a field which is never updated at these distances."""
    k = FieldBuilder("k")
    value = 0.5 * FieldBuilder("u")[0]
    for offset in offsets:
        value = value + 0.1 * k[offset]
    return stencil("far", 1, {"u": value})


def pieces(known, time, more):
    """The pieces that the kernel loads, the others beside them."""
    problem = make_problem(known, (64,) * known.rank, 12)
    family, classic = ("hexagonal", ()) if known.rank == 1 else ("hybrid", (8,))
    tiling = Tiling(family=family, time=time, space=(max(1, slopes(problem)[0].widest) + more, *classic))
    cut = geometry(problem, tiling)
    needed = missing(problem, cut.hexagon)
    for field in chip_of(problem, cut, 3).fields:
        for number, slot in enumerate(field.slots):
            loaded = list(slot.pieces)
            yield loaded, runs(needed.get((field.name, number), set()))


def test_a_tile_loads_what_it_does_not_compute_and_nothing_else():
    for time, more, name in itertools.product(
        [2, 4], [0, 3], ["j1d3pt", "star1d4r", "j2d9pt", "gradient2d", "wave2d", "heat2d_var", "fdtd2d"]
    ):
        for loaded, needed in pieces(program(name), time, more):
            assert loaded == needed, (time, more, name)


def test_up_to_three_pieces_are_loaded_one_by_one():
    for offsets, count in (((-9, 0), 2), ((-9, 0, 9), 3), ((-20, -9, 0, 9), 4)):
        loaded, needed = list(pieces(far(*offsets), 2, 0))[-1]
        assert len(needed) == count
        assert loaded == (needed if count <= 3 else [(needed[0][0], needed[-1][1])])
