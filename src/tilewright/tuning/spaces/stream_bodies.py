"""How the stages of streaming tiles are written, for processors with 32 and with 16 vector registers."""

import functools
import itertools
from collections.abc import Sequence

from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.machines.numbers import FEW, MANY, VectorUnits
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.weights import Terms, apart, columns, equal_box, equal_boxes
from tilewright.schedules import catalogue
from tilewright.schedules.code import Block, RowCode, Stage, StageCode, Sum
from tilewright.schedules.streaming.levels import LevelPipeline, of_problem
from tilewright.schedules.sums import CANDIDATES
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.sum_forms import asked_form, column_sum, fastest, statement_cycles

_MANY_PLANES, _MANY_LINES = 2, 3
"""Planes, and rows of each, computed together where two results are: the sums of 12 results fit into 32 registers."""
_FEW_PLANES, _FEW_LINES = 4, 2
"""The same with few registers: the sums of 8 results, four inputs, a weight and a product fit into 16."""
_SHARED = 9  # reads common to neighbouring rows of a plane from which on computing two together pays
_CARRIED = 16
"""Vectors that may stay in registers from one iteration to the next; compilers keep them if nothing can change them."""
_ALIKE = 27  # columns from which on it pays to write all places along the rows alike
_HELD = 12  # weights of one place along the rows that compilers hold in registers while all lines go by
_MANY_SUMS, _FEW_SUMS = 16, 6  # sums that are carried on from one vector to the next, with 32 and with 16 registers


def stream_stages(problem: Problem, tiling: Tiling, *, strict: bool) -> tuple[Stage, ...]:
    """Decide how every stage of a streaming tiling is computed."""
    if tiling.neighbours == "shuffles":
        raise UsageError(
            f"rows of streaming tiles are dimension-lifted, so that neighbours are loaded, got {str(tiling)!r}",
            "leave neighbours out",
        )
    form, whole = asked_form(problem, tiling, strict=strict), catalogue.complete(problem, tiling)
    if form == "loop" and problem.program.rank < 3:
        raise UsageError(f"sums=loop is for streaming tiles in 3D, got {str(tiling)!r}", "write sums=winograd")
    pipeline, rows = of_problem(problem), whole.rows or 1
    numbers = range(len(pipeline.stages))
    many = [_Stage(problem, pipeline, number, rows, form, MANY) for number in numbers]
    if form == "winograd":
        if not any(each.cut(terms) for each in many for group in each.sums for terms in group):
            raise UsageError(
                f"sums=winograd is for columns of weights along axis 0 and tiles of several rows, got {str(tiling)!r} "
                f"for {problem.program.name!r}",
                "leave sums out",
            )
        few = many  # two results at a time are asked for, however many registers that takes
    else:
        few = [_Stage(problem, pipeline, number, rows, form, FEW) for number in numbers]
    return tuple(Stage(many=a.code(), few=b.code()) for a, b in zip(many, few, strict=True))


class _Stage:
    """One stage: what it computes, for processors with so many registers."""

    def __init__(
        self, problem: Problem, pipeline: LevelPipeline, number: int, rows: int, form: str, units: VectorUnits
    ) -> None:
        program = problem.program
        self.rank, self.rows, self.form, self.units, self.few = program.rank, rows, form, units, units == FEW
        self.fields = [program.fields[k] for k, stage in enumerate(pipeline.stage_of) if stage == number]
        self.statements = {each.field: each for each in program.statements if each.field in self.fields}

    def code(self) -> StageCode:
        planes = plane_blocks(self.rows, few=self.few) if self.in_planes else ()
        if planes:
            most = _FEW_LINES if self.few else _MANY_LINES
            shapes = [(count, lines) for lines in (most, 1) for count in planes]
        else:
            most = next((lines for lines in (self.lines, 1) if self.carries(lines)), self.lines)
            shapes = [(self.rows, most), (self.rows, 1)]
        carried = not planes and self.carries(most)
        blocks = [
            RowCode(
                axis=0,
                rows=rows,
                lines=lines,
                sums=self.forms(Block(axis=0, rows=rows, lines=lines)),
                pairs=self.pairs,
                carried=carried,
                in_turn=bool(self.form or carried or any(self.sums)),
            )
            for rows, lines in dict.fromkeys(shapes)
        ]
        distinct = not planes and self._carried(most) <= _CARRIED
        return StageCode(blocks=tuple(blocks), planes=planes, distinct=distinct)

    @functools.cached_property
    def sums(self) -> list[tuple[Terms, ...]]:
        if self.form == "outputs":
            return [() for _ in self.fields]
        every = [self.statements.get(field) for field in self.fields]
        return [() if each is None else apart(each, pairs=self.pairs).sums for each in every]

    def cut(self, terms: Terms) -> bool:
        """Whether a sum has columns that make two results at a time cheaper."""
        return CANDIDATES["winograd"].applies(terms, Block(axis=0, rows=self.rows))

    def carries(self, lines: int) -> bool:
        """Whether there are sums over boxes with one weight, and registers for what is carried of them."""
        if self.rank < 2 or self.form or any(self.sums):
            return False
        every = [terms for each in self.statements.values() for terms in equal_boxes(each).sums]
        ahead = [len(box.ranges[-1]) - 1 for box in map(equal_box, every) if box]
        most = _FEW_SUMS if self.few else _MANY_SUMS
        return 0 < sum(ahead) * self.rows * lines <= most and len(set(ahead)) == 1

    @functools.cached_property
    def pairs(self) -> bool:
        """Whether short sums count as weighted sums: asked for, or where two at a time take fewer cycles than they."""
        if self.rank != 2 or self.rows == 1 or self.few or self.form not in {"", "winograd"}:
            return False
        results = Block(axis=0, rows=self.rows)

        def taken(*, pairs: bool) -> float:
            total = 0.0
            for statement in self.statements.values():
                weighted = apart(statement, pairs=pairs).sums
                sums = tuple(fastest(terms, results, self._options(terms, results), MANY) for terms in weighted)
                total += statement_cycles(statement, results, sums, MANY, pairs=pairs)
            return total

        return self.form == "winograd" or taken(pairs=True) < taken(pairs=False)

    @functools.cached_property
    def in_planes(self) -> bool:
        """Whether functions compute some planes at a time: where two results at a time, or loops, are written."""
        if self.rank < 3 or self.form in {"inputs", "columns"}:
            return False
        return any(self.form == "loop" or self.cut(terms) for group in self.sums for terms in group)

    @functools.cached_property
    def lines(self) -> int:
        """Rows of a plane computed together: two where a row shares many reads with the next one."""
        if self.rank < 3 or (self.few and any(self.sums)):
            return 1
        reads = [(read.field, read.level, read.offset) for each in self.statements.values() for read in each.reads]
        shared = sum((field, level, (z, y + 1, x)) in reads for field, level, (z, y, x) in reads)
        return 2 if shared >= _SHARED else 1

    def forms(self, block: Block) -> tuple[tuple[Sum, ...], ...]:
        """The forms that take the fewest cycles, of those that are possible or asked for: of every field's value."""
        return tuple(
            tuple(fastest(terms, block, self._options(terms, block), self.units) for terms in group)
            for group in self.sums
        )

    def _options(self, terms: Terms, results: Block) -> list[Sum]:
        """How a sum may be written; of forms that take as long the first is taken."""
        paired = columns(terms) if CANDIDATES["winograd"].applies(terms, results) else None
        if self.in_planes and (self.form == "loop" or self.cut(terms)):
            loop = Sum(form="loop", weights=_HELD, loaded=self.few)
            if paired is None or results.rows != _MANY_PLANES or self.form == "loop":
                return [loop]
            return [Sum(form="winograd", weights=_HELD, alike=len(paired[0]) > _ALIKE), loop]
        inputs, by_columns = Sum(form="inputs"), column_sum(terms, results.count)
        if self.form in {"inputs", "columns"}:
            return [inputs if self.form == "inputs" else by_columns]
        pairs = [] if paired is None else [Sum(form="winograd")]
        if self.form == "winograd":
            return pairs or [inputs]
        # Where registers are few compilers may hold no weight of a sum, but those of a column.
        return [by_columns, inputs, *pairs] if self.few and results.count > 1 else [inputs, *pairs]

    def _carried(self, lines: int) -> int:
        """Vectors that the next iteration would find in registers: those with a neighbour to the right."""
        rows: set[tuple[str, int, int, int]] = set()
        vectors: set[tuple[str, int, int, int, int]] = set()
        for field, shift, line in itertools.product(self.fields, range(self.rows), range(lines)):
            for read in self._reads(field):
                *outer, along = read.offset
                at, beside = (*outer, 0, 0)[:2]
                row = read.field, read.level, shift + at, line + beside
                rows.add(row)
                vectors.add((*row, along))
        return len(vectors) - len(rows)

    def _reads(self, field: str) -> Sequence[Read]:
        """What a field's new value reads; one that is handed on reads itself."""
        if field in self.statements:
            return self.statements[field].reads
        return (Read(field, 0, (0,) * self.rank),)


def plane_blocks(rows: int, *, few: bool) -> tuple[int, ...]:
    """Cut the planes of an advance into blocks: pairs, or, with few registers, as equal ones as can be.

    >>> plane_blocks(6, few=True), plane_blocks(5, few=False)
    ((3, 3), (2, 2, 1))
    """
    if not few:
        return tuple(min(_MANY_PLANES, rows - shift) for shift in range(0, rows, _MANY_PLANES))
    count = ceil_div(rows, _FEW_PLANES)
    cuts = [rows * k // count for k in range(count + 1)]
    return tuple(high - low for low, high in itertools.pairwise(cuts))
