"""Weighted sums of reads, and the columns of three weights in them that two results at a time can share."""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.base.facts import fact
from tilewright.programs.stencil.expression import Apply, Const, Node, Read, Tape, truths
from tilewright.programs.stencil.program import Program, Statement

FEWEST = 8  # reads from which on a sum is written input by input

Terms = dict[Read, float]


SUM = "+"  # what the names of fields start with that stand for a sum: ``+0`` for the first one


@dataclass(frozen=True, slots=True)
class Apart:
    """An expression whose weighted sums are written apart."""

    tape: Tape  # what is left; a sum is a read of the field :data:`SUM` and its number
    sums: tuple[Terms, ...]  # weights of the sums


@dataclass(frozen=True, slots=True)
class _Linear:
    """A value as a weighted sum."""

    reads: Terms
    others: dict[int, float]  # by position in the tape, weights of what is neither a read nor a sum

    def plus(self, other: "_Linear", factor: float) -> "_Linear":
        reads, others = dict(self.reads), dict(self.others)
        for read, weight in other.reads.items():
            reads[read] = reads.get(read, 0.0) + factor * weight
        for position, weight in other.others.items():
            others[position] = others.get(position, 0.0) + factor * weight
        return _Linear(reads, others)


_NOTHING = _Linear({}, {})


@fact
def apart(statement: Statement, *, pairs: bool = False) -> Apart:
    """Take the weighted sums of a statement's value out of it: the largest ones that are worth writing input by input.

    Before: ``u * u + 0.5 * u[-1] + … - 3``. After: ``(+0 + u * u) - 3`` with the weights of ``+0``.
    ``pairs`` takes sums as well that are worth it only with two results at a time.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> apart(program("j3d27pt").statements[0]).tape, len(apart(program("gradient2d").statements[0]).sums)
    ((Read(field='+0', level=0, offset=()),), 0)
    """
    return _taken(statement.tape, lambda terms: _pays(terms, pairs))


def _taken(tape: Tape, wanted: Callable[[Terms], bool]) -> Apart:
    """Take the largest weighted sums that are wanted out of a tape."""
    values = _values(tape)
    operands = {len(tape) - 1}
    for position, node in enumerate(tape):
        if isinstance(node, Apply) and position in values[position].others:
            operands.update(node.args)
    sums = {position: values[position] for position in sorted(operands) if wanted(values[position].reads)}
    if not sums:
        return Apart(tape, ())
    return _Rest(tape, sums).apart()


@dataclass(frozen=True, slots=True)
class EqualBox:
    """A weighted sum over a whole box of one version of a field, with one weight."""

    field: str
    level: int  # of time
    ranges: tuple[range, ...]  # offsets along every axis
    weight: float


def equal_box(terms: Terms) -> EqualBox | None:
    """Return the box that a sum goes over with one weight, several cells long along every axis; else None.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> equal_box(equal_boxes(program("heat2d").statements[0]).sums[0]).ranges
    (range(-1, 2), range(-1, 2))
    """
    if not terms or len({(read.field, read.level, weight) for read, weight in terms.items()}) > 1:
        return None
    first, weight = next(iter(terms.items()))
    ranges = tuple(range(min(axis), max(axis) + 1) for axis in zip(*(read.offset for read in terms), strict=True))
    whole = len(terms) == math.prod(map(len, ranges))
    return EqualBox(first.field, first.level, ranges, weight) if whole and min(map(len, ranges)) > 1 else None


@fact
def equal_boxes(statement: Statement) -> Apart:
    """Take the sums over boxes with one weight out of a statement's value."""
    return _taken(statement.tape, lambda terms: equal_box(terms) is not None)


class _Rest:
    """Writes what is left of a tape without its sums."""

    def __init__(self, tape: Tape, found: dict[int, _Linear]) -> None:
        self.tape, self.found = tape, found
        self.left: list[Node] = []
        self.moved: dict[int, int] = {}
        self.sums: list[Terms] = []

    def apart(self) -> Apart:
        needed = set[int]()
        stack = [len(self.tape) - 1]
        while stack:
            position = stack.pop()
            if position not in needed:
                needed.add(position)
                stack.extend(self.parts(position))
        for position in sorted(needed):
            self.moved[position] = self.write(position)
        return Apart(tuple(self.left), tuple(self.sums))

    def parts(self, position: int) -> tuple[int, ...]:
        node = self.tape[position]
        if position in self.found:
            return tuple(self.found[position].others)
        return node.args if isinstance(node, Apply) else ()

    def write(self, position: int) -> int:
        node = self.tape[position]
        if position not in self.found:
            args = tuple(self.moved[arg] for arg in self.parts(position))
            return self.push(Apply(node.op, args) if isinstance(node, Apply) else node)
        total = self.push(Read(f"{SUM}{len(self.sums)}", 0, ()))
        self.sums.append(self.found[position].reads)
        for other, weight in self.found[position].others.items():
            term = self.moved[other]
            if abs(weight) != 1.0:
                term = self.push(Apply("mul", (self.push(Const(abs(weight))), term)))
            total = self.push(Apply("add" if weight > 0 else "sub", (total, term)))
        return total

    def push(self, node: Node) -> int:
        self.left.append(node)
        return len(self.left) - 1


def boxes(statement: Statement) -> dict[int, list[range]]:
    """Of the rows that a statement reads, by level of time, from the least to the greatest offset per outer axis."""
    outer_offsets: dict[int, list[tuple[int, ...]]] = {}
    for read in sorted(statement.reads, key=lambda read: read.level):
        outer_offsets.setdefault(read.level, []).append(read.offset[:-1])
    return {
        level: [range(min(a), max(a) + 1) for a in zip(*outer, strict=True)] for level, outer in outer_offsets.items()
    }


def box_sum(statement: Statement) -> Terms | None:
    """The weights of a value that is one sum over boxes of one field, else None.

    At every level of time, the rows that it reads form a box.
    """
    split = apart(statement)
    pure = len(split.tape) == len(split.sums) == 1 and len({read.field for read in statement.reads}) == 1
    if not pure:
        return None
    many = len({(read.level, read.offset[:-1]) for read in statement.reads})
    return split.sums[0] if many == sum(math.prod(map(len, box)) for box in boxes(statement).values()) else None


def linear_sum(tape: Tape) -> Terms | None:
    """Return the weights of a tape's reads, or None where its value is more than a weighted sum of them.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> len(linear_sum(program("heat3d").statements[0].tape) or ())
    27
    """
    total = _values(tape)[-1]
    return total.reads if total.reads and not total.others else None


def _pays(terms: Terms, pairs: bool = False) -> bool:
    """Whether a sum is worth writing input by input.

    One whose rows have mostly equal weights is not: neighbouring results share sums of rows
    (:mod:`tilewright.codegen.tapes`).
    """
    different = {(read.field, read.level, read.offset[:-1], weight) for read, weight in terms.items()}
    if 2 * len(different) <= len(terms):
        return False
    return len(terms) >= FEWEST or (pairs and columns(terms) is not None)


def _values(tape: Tape) -> list[_Linear]:
    """Every position as a weighted sum; what is none is one of itself."""
    values: list[_Linear] = []
    are_truths = truths(tape)
    for position, node in enumerate(tape):
        value = _NOTHING if node == Const(0) else None
        if isinstance(node, Read):
            value = _Linear({node: 1.0}, {})
        elif isinstance(node, Apply):
            # Truth values are added and multiplied in their own way.
            value = None if any(are_truths[arg] for arg in node.args) else _applied(node, tape, values)
        values.append(_Linear({}, {position: 1.0}) if value is None else value)
    return values


def _applied(node: Apply, tape: Tape, values: Sequence[_Linear]) -> _Linear | None:
    """A sum of sums, or a multiple of one."""
    args = [values[arg] for arg in node.args]
    numbers = [_factor(tape[arg]) for arg in node.args]
    match node.op, numbers:
        case "neg", _:
            return _NOTHING.plus(args[0], -1.0)
        case "add" | "sub", _:
            return args[0].plus(args[1], 1.0 if node.op == "add" else -1.0)
        case "mul", [float() as factor, _]:
            return _NOTHING.plus(args[1], factor)
        case "mul", [_, float() as factor]:
            return _NOTHING.plus(args[0], factor)
        case "div", [_, float() as factor] if factor:
            return _NOTHING.plus(args[0], 1.0 / factor)
    return None


def _factor(node: Node) -> float | None:
    """A constant by which a sum may be multiplied: a real one."""
    return float(node.value) if isinstance(node, Const) and not isinstance(node.value, complex) else None


FEWEST_COLUMNS = 3  # places on the other axes with columns from which on two results at a time pay; in 2D fewer may
_COLUMN = 3
_RANK = 3
MOST_GROWTH = 12.0
"""Most by which the absolute weights of a value may grow; three columns with more would not keep the promised bound."""
MOST_GROWTH_OF_FEW = 8.0  # the same at fewer places than :data:`FEWEST_COLUMNS`


@dataclass(frozen=True, slots=True)
class WeightColumn:
    """Three weights along axis 0, or two."""

    read: Read  # the first of the reads
    weights: tuple[float, ...]  # g0, g1, g2, or g0, g1

    @property
    def reads(self) -> tuple[Read, ...]:
        """The reads."""
        field, level, (z, *near) = self.read.field, self.read.level, self.read.offset
        return tuple(Read(field, level, (z + k, *near)) for k in range(len(self.weights)))

    @property
    def factors(self) -> tuple[float, float, float, float]:
        """What the four sums of values are multiplied with, in the order a, b, c, e; two weights need no c.

        >>> WeightColumn(Read("u", 0, (-1, 0)), (1.0, 2.0, 4.0)).factors
        (1.0, 3.5, 1.5, 4.0)
        >>> WeightColumn(Read("u", 0, (0, 0)), (1.0, 2.0)).factors
        (1.0, 3.0, 0.0, 2.0)
        """
        if len(self.weights) < _COLUMN:
            low, high = self.weights
            return (low, low + high, 0.0, high)
        low, middle, high = self.weights
        return (low, (low + middle + high) / 2, (low - middle + high) / 2, high)

    @property
    def growth(self) -> float:
        """By how much the absolute weights of a value grow at most."""
        low, *middle, high = map(abs, self.weights)
        both = sum(map(abs, self.factors[1:3]))
        if not min(low, *middle, high):
            return float("inf")
        return max(*(both / each for each in middle), (both + low) / high, (both + high) / low)


def columns(terms: Terms) -> tuple[tuple[WeightColumn, ...], Terms] | None:
    """Cut weighted reads into columns and the rest; None where there are none, or few in 3D.

    Whether two results at a time take less is what a model says (:mod:`tilewright.costs.operations`). In 2D one column
    is taken per place on the other axis if there are many places: what all of them need does not fit into registers.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> found = columns(linear_sum(program("j2d9pt-gol").statements[0].tape))
    >>> len(found[0]), len(found[1])
    (3, 0)
    """
    return _columns(tuple(terms.items()))


@functools.lru_cache(maxsize=64)
def _columns(items: tuple[tuple[Read, float], ...]) -> tuple[tuple[WeightColumn, ...], Terms] | None:
    terms = dict(items)
    groups = [list(group) for _, group in itertools.groupby(sorted(terms, key=_key), key=lambda read: _key(read)[:-1])]
    flat = len(groups[0][0].offset) < _RANK
    threes = [_cut(terms, reads, _COLUMN, MOST_GROWTH) for reads in groups]
    if sum(map(bool, threes)) >= FEWEST_COLUMNS:
        if flat:
            threes = [_least_growth(terms, reads) for reads in groups]
        triples = list(itertools.chain.from_iterable(threes))
        return tuple(triples), _rest(terms, triples)
    if not flat:
        return None
    triples = []
    for reads in groups:
        whole = _cut(terms, reads, _COLUMN, MOST_GROWTH_OF_FEW)
        triples += whole
        if whole:
            left = _rest(terms, whole)
            triples += _cut(terms, [read for read in reads if read in left], _COLUMN - 1, MOST_GROWTH_OF_FEW)
    rest = _rest(terms, triples)
    return (tuple(triples), rest) if triples else None


@fact
def shares_products(program: Program) -> bool:
    """Whether all values of a program hold weighted sums, and all of these have columns.

    Then two neighbours along axis 0 can be computed together from fewer products.
    """
    all_sums = [apart(statement).sums for statement in program.statements]
    return program.rank > 1 and all(sums and all(columns(terms) is not None for terms in sums) for sums in all_sums)


def _cut(terms: Terms, reads: Sequence[Read], count: int, most: float) -> list[WeightColumn]:
    """Cut reads that differ on axis 0 alone, in order, into columns of so many neighbours."""
    cut: list[WeightColumn] = []
    start = 0
    while start + count <= len(reads):
        column = _column(terms, reads[start : start + count])
        if column is None or column.growth > most:
            start += 1
        else:
            cut.append(column)
            start += count
    return cut


def _least_growth(terms: Terms, reads: Sequence[Read]) -> list[WeightColumn]:
    """Of the columns of three neighbours the one whose weights grow least, if it keeps the bound."""
    every = (_column(terms, reads[start : start + _COLUMN]) for start in range(len(reads) - _COLUMN + 1))
    candidates = [column for column in every if column is not None and column.growth <= MOST_GROWTH]
    return sorted(candidates, key=lambda column: column.growth)[:1]


def _column(terms: Terms, reads: Sequence[Read]) -> WeightColumn | None:
    """Reads as a column; None unless they are neighbours, whose offsets are distinct and sorted."""
    near = reads[-1].offset[0] - reads[0].offset[0] == len(reads) - 1
    return WeightColumn(reads[0], tuple(terms[read] for read in reads)) if near else None


def _rest(terms: Terms, found: Sequence[WeightColumn]) -> Terms:
    covered = set(itertools.chain.from_iterable(column.reads for column in found))
    return {read: weight for read, weight in terms.items() if read not in covered}


def _key(read: Read) -> tuple[object, ...]:
    """What the reads of a column share, and last where they are on axis 0."""
    return (read.field, read.level, read.offset[1:], read.offset[0])
