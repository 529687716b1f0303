"""What the models of costs know of a problem, whatever the machine: its grid, its reach, and what a cell moves.

A CPU's kernel cuts boxes of cells at the ends of a program's middle and computes what is needed there alone, so that
counts are means over the grid; a GPU's thread computes the whole program in every cell. What gradients add are states
that are kept or read besides those of a step: a band that keeps its states writes each of them to memory, past the
caches, and the band of the adjoint reads them from there. Tiles do not change that.
"""

import math
from dataclasses import asdict, dataclass, replace

from tilewright.base.facts import fact
from tilewright.costs import regions
from tilewright.costs.reuse import Uses, uses
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.families import streaming
from tilewright.schedules.families.streaming import TileGrowth
from tilewright.schedules.streaming.block import BlockGrowth, block_growth
from tilewright.schedules.streaming.levels import of_problem

_THIN = 0.25
"""Share of the cells below which what a statement updates is a slab along a side, summed there and worth nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(regions.Counts):
    """What a problem brings into the models of its costs, as the code of one kind of machine computes it."""

    problem: Problem  # without statements of thin slabs
    storage: Storage  # where its fields' versions and cells lie
    shape: tuple[int, ...]  # extents S_1, S_2, S_3
    steps: int  # time steps T
    stages: int  # logical steps per time step
    itemsize: int  # bytes per value
    # slope of the tiles per axis and logical step: the dependences' reach to the wider side on the hexagon's axis, to
    # the right on the others
    slopes: tuple[int, ...]
    sides: tuple[tuple[int, int], ...]  # per axis, the dependences' reach to the left and to the right per logical step
    history: int  # versions that the next step reads of the field of which it reads most
    points: int  # cells that sources are added to, or receivers record, in a step
    versions: int  # values per cell that are kept or read besides ``copies``: states of a band of a gradient
    state_bytes: int  # bytes per cell and step in which these travel to or from where they are kept
    state_fills: int  # lines of them among ``reads`` and ``fetches``
    divisions: regions.Divisions  # by which programs its cells are computed
    stream: TileGrowth | None  # how streaming tiles grow in a CPU's caches; None where there are none
    reuse: Uses | None  # what lies between two uses of a row in them
    block: BlockGrowth | None  # how streaming tiles grow in a GPU's thread blocks; None where there are none

    @property
    def updated(self) -> int:
        """Values written per cell and step: at least one per updated field."""
        return max(1, self.copies - self.levels - self.constants)

    @property
    def cells(self) -> int:
        """Cells of the grid."""
        return math.prod(self.shape)

    @property
    def data_bytes(self) -> int:
        """Bytes of every copy of every field, and of all states that are kept."""
        return (self.copies + self.versions) * self.cells * self.itemsize

    @property
    def swept_bytes(self) -> int:
        """Bytes of a step where no cache keeps anything between statements: each reads all that it needs."""
        return self.cells * self.itemsize * (self.reads + self.writes + self.fetches)


def facts_of(problem: Problem, *, cpu: bool, storage: Storage = PLAIN) -> Facts:
    """Collect what is known of a problem as a CPU's code computes it, or a GPU's."""
    problem = bulk(problem)
    program, reach = problem.program, slopes(problem)
    storage = replace(storage, series=tuple(field for field in storage.series if field in program.fields))
    updated, divided = len(program.updated), regions.divisions(problem, storage.subdomains, cpu=cpu)
    stream = streaming.tile_growth(problem) if cpu and streaming.FAMILY.applies(problem, storage) else None
    return Facts(
        **asdict(regions.counts(program, divided.boxes)),
        problem=problem,
        storage=storage,
        shape=problem.shape,
        steps=problem.steps,
        stages=len(program.stages),
        itemsize=problem.itemsize,
        slopes=(reach[0].widest, *(slope.right for slope in reach[1:])),
        sides=tuple((slope.left, slope.right) for slope in reach),
        history=max(program.history(field) for field in program.updated),
        points=problem.points.cells,
        versions=storage.kept * updated + max(0, problem.steps - 1) * len(storage.series),
        state_bytes=problem.itemsize * (updated * bool(storage.kept) + len(storage.series)),
        state_fills=len(storage.series),
        divisions=divided,
        stream=stream,
        reuse=None if stream is None else uses(program, of_problem(problem), stream.rows),
        block=block_growth(problem) if not cpu and streaming.FAMILY.applies(problem, gpu=True) else None,
    )


@fact
def bulk(problem: Problem) -> Problem:
    """Return a problem without the statements that update thin slabs; the same one if there are none."""
    if not problem.regions:
        return problem
    boxes = dict(problem.regions)
    thin = {
        each.field
        for each in problem.program.statements
        if each.field in boxes
        and math.prod(high - low for low, high in problem.update_box(each)) < _THIN * problem.cells
    }
    rest = tuple(each for each in problem.program.statements if each.field not in thin)
    if not thin or not rest:
        return problem
    read = {read.field for each in rest for read in each.reads} | {each.field for each in rest}
    fields = tuple(field for field in problem.program.fields if field in read)
    return replace(
        problem,
        program=replace(problem.program, fields=fields, statements=rest),
        boundaries=tuple(problem.sides(field) for field in fields),
        regions=tuple(pair for pair in problem.regions if pair[0] in read),
    )
