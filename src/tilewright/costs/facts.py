"""What the models of costs know of a problem, whatever the machine: its grid, its reach, and what a cell moves.

A CPU's kernel cuts boxes of cells at the ends of a program's middle: there it computes one branch of every choice by
the cell's place, elsewhere all of them, and what lives at the ends of an axis alone is computed, read and kept there.
Counts are means over the cells of the grid. A GPU's thread computes the whole program in every cell. What gradients add
are states that are kept or read besides those of a step: a band that keeps its states writes each of them to memory,
past the caches, and the band of the adjoint reads them from there. Tiles do not change that.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from tilewright.base.facts import fact
from tilewright.base.intmath import ceil_div
from tilewright.costs.reuse import Uses, uses
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.expression import Const, Value, flatten
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program, Statement
from tilewright.programs.stencil.reference import along
from tilewright.programs.stencil.regions import conditions, inner_programs, middle, nested_axes
from tilewright.programs.stencil.slopes import values_of
from tilewright.programs.stencil.storage import PLAIN, Storage, Subdomains
from tilewright.schedules.code import planes_together
from tilewright.schedules.families import streaming
from tilewright.schedules.families.streaming import TileGrowth
from tilewright.schedules.streaming.block import BlockGrowth, block_growth
from tilewright.schedules.streaming.levels import of_problem

_THIN = 0.25
"""Share of the cells below which what a statement updates is a slab along a side, summed there and worth nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of a grid's cells."""

    share: float  # their share of all cells; shares of a problem sum to 1
    program: Program  # what is computed there, without what no result depends on


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Values per cell, means over a grid to the nearest whole number."""

    copies: int  # values kept per cell, over all fields and time levels
    levels: int  # updated values that the next step reads per cell: one per updated field and time level
    fields: int  # fields that are updated
    constants: int  # fields that are read but never updated
    reads: int  # values read per cell and step by the sweeps of all statements, each of which goes over its fields anew
    # per axis, how often these are read again at further places along it, where nothing holds them between
    further: tuple[int, ...]
    again: int  # the same along axis 0 for the planes of tiles in 3D, of which two may be computed together
    writes: int  # values written per cell and step, one per statement
    fetches: int  # those of them whose lines are fetched only to be overwritten: what is updated in place has been read
    flops: int  # operations per cell and step


@dataclass(frozen=True, slots=True, kw_only=True)
class Divisions:
    """By which programs a grid's cells are computed, in every order in which a kernel goes through them."""

    boxes: tuple[Part, ...]  # in boxes, and in a sweep
    rows: tuple[Part, ...]  # in rows of streaming tiles that meet no end of the program's middle
    across: tuple[Part, ...]  # in those that meet one
    row_ends: int  # at how many places along a row the middle begins or ends inside the grid, where a kernel cuts there


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(Counts):
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
    divisions: Divisions  # by which programs its cells are computed
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
    updated, divided = len(program.updated), divisions(problem, storage.subdomains, cpu=cpu)
    stream = streaming.tile_growth(problem) if cpu and streaming.FAMILY.applies(problem, storage) else None
    return Facts(
        **asdict(counts(program, divided.boxes)),
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
    statements = tuple(each for each in problem.program.statements if each.field not in thin)
    if not thin or not statements:
        return problem
    read = {read.field for each in statements for read in each.reads} | {each.field for each in statements}
    fields = tuple(field for field in problem.program.fields if field in read)
    return replace(
        problem,
        program=replace(problem.program, fields=fields, statements=statements),
        boundaries=tuple(problem.sides(field) for field in fields),
        regions=tuple(pair for pair in problem.regions if pair[0] in read),
    )


@fact
def divisions(problem: Problem, subdomains: Subdomains = (), *, cpu: bool) -> Divisions:
    """Return how a kernel divides a grid; a GPU's computes one program in all cells."""
    if not cpu:
        whole = (Part(share=1.0, program=problem.program),)
        return Divisions(boxes=whole, rows=whole, across=whole, row_ends=0)
    return Divisions(
        boxes=parts(problem, subdomains),
        rows=parts(problem, subdomains, across=False),
        across=parts(problem, subdomains, across=True),
        row_ends=row_ends(problem, subdomains),
    )


def parts(problem: Problem, subdomains: Subdomains = (), *, across: bool | None = None) -> tuple[Part, ...]:
    """Return by which programs a kernel on a CPU computes the cells of a grid; one where it has no regions.

    ``across`` is of streaming tiles, whose rows are not cut: whether these meet an end of the middle.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> from tilewright.programs.stencil.problem import make_problem
    >>> len(parts(make_problem(program("heat2d"), (64, 64), 5)))
    1
    """
    program, last = problem.program, problem.program.rank - 1
    nested = bool(subdomains) and across is None
    inner = dict(inner_programs(program, subdomains, nested=nested))
    order = [axis for axis in nested_axes(program) if axis != last or not across]
    if not inner or not order:
        return (Part(share=1.0, program=program),)
    ends = _ends(problem, subdomains)
    share = [(high - low) / extent for (low, high), extent in zip(ends, problem.shape, strict=True)]
    if across is not None:
        share[last] = 1.0
    cells, rest, inner_program = [], 1.0, program
    for count in range(1, len(order) + 1) if nested else (len(order),):
        inside = math.prod(share[axis] for axis in order[:count])
        cells.append(Part(share=rest - inside, program=_used(inner_program, subdomains)))
        rest, inner_program = inside, inner[tuple(sorted(order[:count]))]
    cells.append(Part(share=rest, program=_used(inner_program, subdomains)))
    return tuple(each for each in cells if each.share > 0)


def row_ends(problem: Problem, subdomains: Subdomains = ()) -> int:
    """Return at how many places along a row a program's middle begins or ends inside the grid."""
    low, high = _ends(problem, subdomains)[-1]
    return int(low > 0) + int(high < problem.shape[-1])


def _ends(problem: Problem, subdomains: Subdomains) -> tuple[tuple[int, int], ...]:
    nodes = conditions(problem.program)
    if not nodes and not subdomains:  # axes may be longer than memory
        return tuple((0, extent) for extent in problem.shape)
    lines = [
        (node, along(node, *problem.places(node.axis, 0, problem.shape[node.axis]), np.dtype(bool), {}))
        for node in nodes
    ]
    return middle(problem, subdomains, lines)


def _used(program: Program, subdomains: Subdomains) -> Program:
    """Leave out what no result depends on, and statements of fields that are not kept where they are 0."""
    bounded = {field for field, _ in subdomains}
    statements = [replace(each, tape=flatten(values_of(each.tape, Value)[-1])) for each in program.statements]
    computed = tuple(each for each in statements if each.field not in bounded or not isinstance(each.tape[-1], Const))
    fields = {each.field for each in computed} | {read.field for each in computed for read in each.reads}
    return replace(program, statements=computed, fields=tuple(field for field in program.fields if field in fields))


def counts(whole: Program, cells: tuple[Part, ...]) -> Counts:
    """Return how many values a step keeps, reads and writes per cell, as means to the nearest whole number."""
    copies = dict(zip(whole.fields, whole.analysis.copies, strict=True))

    def mean(of: Callable[[Program], int], least: int = 0) -> int:
        return max(least, round(sum(each.share * of(each.program) for each in cells)))

    return Counts(
        copies=mean(lambda program: sum(copies[field] for field in program.fields), 1),
        levels=mean(lambda program: sum(whole.history(field) for field in program.updated), 1),
        fields=mean(lambda program: len(program.updated), 1),
        constants=mean(lambda program: len(program.fields) - len(program.updated)),
        reads=mean(lambda program: sum(len({(r.field, r.level) for r in each.reads}) for each in program.statements)),
        further=tuple(mean(functools.partial(_further, axis)) for axis in range(whole.rank)),
        again=mean(_again),
        writes=mean(lambda program: len(program.statements), 1),
        fetches=mean(lambda program: sum(copies[s.field] > whole.history(s.field) for s in program.statements)),
        flops=mean(lambda program: program.flops),
    )


def _further(axis: int, program: Program) -> int:
    return sum(_places(axis, statement) for statement in program.statements)


def _again(program: Program) -> int:
    """Count the same for the planes of tiles in 3D: two planes of results that are computed together share theirs."""
    return sum(
        ceil_div(_places(0, statement), 2 if planes_together(statement) else 1) for statement in program.statements
    )


def _places(axis: int, statement: Statement) -> int:
    """Count at how many further places along an axis a statement reads, over the versions of all fields."""
    offsets: dict[tuple[str, int], set[int]] = {}
    for read in statement.reads:
        offsets.setdefault((read.field, read.level), set()).add(read.offset[axis])
    return sum(max(each) - min(each) for each in offsets.values())
