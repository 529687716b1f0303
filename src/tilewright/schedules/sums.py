"""What each form of a weighted sum takes: products, additions, loads of inputs and of weights.

A form is a candidate: where it applies, and its work for the results that are computed together. The counts are exact
(tests hold them to the statements that :mod:`tilewright.codegen.sums` writes), so that models and rules
compare forms by what becomes code.
"""

import functools
import itertools
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tilewright.base.intmath import ceil_div
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.weights import Terms, WeightColumn, columns
from tilewright.schedules.code import Block, Place, Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class SumWork:
    """Vector operations of a sum for all results of a block."""

    products: int  # multiplications
    additions: int  # additions and subtractions
    fused: int  # additions that are one instruction with a product, where processors fuse them
    loads: int  # loads of inputs, each distinct vector once
    weights: int  # loads of weights, where registers hold none from one place along the rows to the next

    @property
    def arithmetic(self) -> int:
        """Arithmetic instructions."""
        return self.products + self.additions - self.fused


@dataclass(frozen=True, slots=True, kw_only=True)
class SumForm:
    """A form of a weighted sum."""

    work: Callable[[Terms, Block, Sum], SumWork]  # what it takes
    rank: int = 1  # fewest axes of the program
    pairs: bool = False  # whether it is for pairs of results along axis 0, and for sums with columns of three weights

    def applies(self, terms: Terms, results: Block) -> bool:
        """Whether a sum can be written so for a block."""
        if len(next(iter(terms)).offset) < self.rank:
            return False
        return not self.pairs or (results.axis == 0 and results.rows > 1 and columns(terms) is not None)


def work(terms: Terms, results: Block, form: Sum) -> SumWork:
    """Return what a sum takes in a form other than ``outputs``.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> from tilewright.programs.stencil.weights import linear_sum
    >>> terms, four = linear_sum(program("j2d9pt-gol").statements[0].tape), Block(axis=0, rows=4)
    >>> [work(terms, four, Sum(form=form)).products for form in ("inputs", "winograd")]
    [36, 24]
    """
    return CANDIDATES[form.form].work(terms, results, form)


def input_loads(reads: Iterable[Read], results: Block) -> int:
    """Return the distinct vectors of reads: the places of those that differ on blocked axes alone, for all results."""
    middle = 1 if results.lines > 1 else results.axis
    groups: dict[object, set[tuple[int, int]]] = {}
    for read in reads:
        others = [o for axis, o in enumerate(read.offset) if axis not in {results.axis, middle}]
        at = read.offset[results.axis], read.offset[middle] if results.lines > 1 else 0
        groups.setdefault((read.field, read.level, *others), set()).add(at)
    return sum(len({(a + p, b + q) for a, b in some for p, q in results.places}) for some in groups.values())


Vector = TypeVar("Vector", bound=Hashable)


def inputs(
    terms: Terms,
    places: Sequence[Place],
    vector: Callable[[Read, Place], Vector],
    order: Callable[[Vector], Any] | None = None,
) -> list[tuple[list[Vector], list[tuple[Place, float]]]]:
    """Cut a weighted sum into vectors that are added up, and the results to which they then go with their weights.

    They are several where one result alone reads them, with one weight.
    """
    uses: dict[Vector, list[tuple[Place, float]]] = {}
    for at, (read, weight) in itertools.product(places, terms.items()):
        uses.setdefault(vector(read, at), []).append((at, weight))
    groups: list[tuple[list[Vector], list[tuple[Place, float]]]] = []
    alike: dict[tuple[Place, float], list[Vector]] = {}
    for each, its in sorted(uses.items(), key=lambda use: order(use[0])) if order else uses.items():
        vectors = alike.setdefault(its[0], []) if len(its) == 1 else []
        if not vectors:
            groups.append((vectors, its))
        vectors.append(each)
    return groups


def _input_work(terms: Terms, results: Block, form: Sum) -> SumWork:
    return _by_input(terms, results, results.places, form.accumulators)


def _by_input(terms: Terms, results: Block, places: Sequence[Place], sums: int) -> SumWork:
    """``sums`` is how many every result starts anew; 0 where there is something to add to."""
    cut, products = inputs(terms, places, results.vector), dict.fromkeys(places, len(terms))
    for vectors, uses in cut:
        products[uses[0][0]] -= len(vectors) - 1
    many = sum(products.values())
    return SumWork(
        products=many,
        additions=len(places) * (len(terms) - min(sums, 1)),
        fused=many - sum(min(sums, each) for each in products.values()),
        loads=sum(len(vectors) for vectors, _ in cut),
        weights=_loaded(weight for _, uses in cut for _, weight in uses),
    )


def _loaded(weights: Iterable[float]) -> int:
    """How many weights are loads: what is taken once needs none."""
    return sum(abs(weight) != 1.0 for weight in weights)


@dataclass(frozen=True, slots=True)
class SumPart:
    """Reads that are added together: of one column, or all with the same weight."""

    reads: tuple[Read, ...]  # in order along the columns' axis
    weights: tuple[float, ...]  # one for all reads that are added up before they are multiplied


def parts(terms: Terms, most: int, axis: int = 0) -> Iterator[SumPart]:
    """Cut a weighted sum into parts of at most so many weights, of columns along an axis."""
    by_column: dict[object, list[Read]] = {}

    def column(read: Read) -> tuple[object, ...]:
        return read.field, -read.level, read.offset[:axis], read.offset[axis + 1 :]

    for read in sorted(terms, key=lambda read: (*column(read), read.offset[axis])):
        by_column.setdefault(column(read), []).append(read)
    alone: dict[float, list[Read]] = {}
    for reads in by_column.values():
        if len(reads) == 1:
            alone.setdefault(terms[reads[0]], []).append(reads[0])
            continue
        count = ceil_div(len(reads), most)
        for k in range(count):
            part = tuple(reads[len(reads) * k // count : len(reads) * (k + 1) // count])
            yield SumPart(part, tuple(terms[read] for read in part))
    for weight, reads in alone.items():
        yield SumPart(tuple(reads), (weight,))


def _column_work(terms: Terms, results: Block, form: Sum) -> SumWork:
    cut = list(parts(terms, form.weights, results.axis))
    many, sums = results.count, min(form.accumulators, len(cut))
    products = sum(len(part.weights) for part in cut)
    added_first = sum(len(part.reads) - len(part.weights) for part in cut)
    loaded = _loaded(weight for part in cut for weight in part.weights)
    return SumWork(
        products=many * products,
        additions=many * (added_first + products - 1),
        fused=many * (products - sums),
        loads=input_loads(terms, results),
        weights=loaded if form.loaded else many * loaded,
    )


A, B, C, E = range(4)  # the four sums of a pair of results, in the order of :attr:`WeightColumn.factors`
TURNED = {A: (operator.sub, 0, 2), B: (operator.add, 1, 2), C: (operator.sub, 2, 1), E: (operator.sub, 3, 1)}
"""What of the four values of a column is multiplied for each of them."""
_OF_TWO = {A: (operator.sub, 0, 1), B: (None, 1, 1), E: (operator.sub, 2, 1)}
"""The same for a column of two weights, without c; b is a value itself."""


def turned(column: WeightColumn) -> Mapping[int, tuple[Callable[[Any, Any], Any] | None, int, int]]:
    """What a column multiplies for a pair of results, by the sum it goes to: an operation on two of its values."""
    return TURNED if len(column.weights) > 2 else _OF_TWO


def _winograd_work(terms: Terms, results: Block, form: Sum) -> SumWork:
    split = columns(terms)
    if split is None:
        raise ValueError("there is no column of three weights in this sum")
    if len(next(iter(terms)).offset) > 2:
        return _paired_loop_work(terms, results, form)
    pairs, cut = results.rows // 2, [(column.factors, turned(column)) for column in split[0]]
    factors = [weights[k] for weights, some in cut for k in some]
    added = sum(operation is not None for _, some in cut for operation, _, _ in some.values())
    rest = _by_input(split[1], results, results.places[: 2 * pairs], 0)
    left = _by_input(terms, results, results.places[2 * pairs :], 1)
    # b and c start sums, b + c and b - c two more, onto which the others go.
    return SumWork(
        products=pairs * len(factors) + rest.products + left.products,
        additions=pairs * (added + len(factors)) + rest.additions + left.additions,
        fused=pairs * (len(factors) - 2) + rest.fused + left.fused,
        loads=input_loads(terms, results),
        weights=pairs * _loaded(factors) + rest.weights + left.weights,
    )


@dataclass(frozen=True, slots=True)
class Near:
    """The reads at one offset along the rows."""

    offset: int
    columns: tuple[WeightColumn, ...]  # columns of three along axis 0, in order
    rest: tuple[tuple[Read, float], ...]  # other reads with their weights, in order

    @property
    def shape(self) -> object:
        """What has to be the same for two offsets to be written alike."""
        reads = [column.read for column in self.columns], [read for read, _ in self.rest]
        return [[(read.field, read.level, read.offset[:-1]) for read in some] for some in reads]

    @property
    def factors(self) -> tuple[float, ...]:
        """The part of the table for this offset."""
        products = [factor for column in self.columns for factor in column.factors]
        return (*products, *(weight for _, weight in self.rest))


def nears(terms: Terms, found: Sequence[WeightColumn] = ()) -> tuple[Near, ...]:
    """Sort reads, and columns of others, by their offset along the rows."""

    def order(read: Read) -> tuple[object, ...]:
        return (read.field, read.level, read.offset)

    offsets = sorted({c.read.offset[-1] for c in found} | {read.offset[-1] for read in terms})
    return tuple(
        Near(
            offset,
            tuple(sorted((c for c in found if c.read.offset[-1] == offset), key=lambda c: order(c.read))),
            tuple(sorted(((r, w) for r, w in terms.items() if r.offset[-1] == offset), key=lambda t: order(t[0]))),
        )
        for offset in offsets
    )


def runs(near: Sequence[Near]) -> Iterator[tuple[Near, ...]]:
    """Offsets one after the other that are written alike."""
    run: list[Near] = []
    for each in near:
        if run and (each.offset != run[-1].offset + 1 or each.shape != run[-1].shape):
            yield tuple(run)
            run = []
        run.append(each)
    yield tuple(run)


def paired(terms: Terms, *, alike: bool) -> tuple[Near, ...]:
    """Sort columns of three and other reads by their offset along the rows; empty where there are no columns.

    With ``alike``, columns whose weights allow two results at a time at some offsets only are taken read by read, so
    that all offsets are written alike.
    """
    return _paired(tuple(terms.items()), alike)


@functools.lru_cache(maxsize=64)
def _paired(items: tuple[tuple[Read, float], ...], alike: bool) -> tuple[Near, ...]:
    terms = dict(items)
    split = columns(terms)
    if split is None:
        return ()
    near, rest = split
    if alike:
        near = _alike(terms, near)
        done = {read for column in near for read in column.reads}
        rest = {read: weight for read, weight in terms.items() if read not in done}
    return nears(rest, near)


def _alike(terms: Terms, found: Sequence[WeightColumn]) -> tuple[WeightColumn, ...]:
    """The columns that are some at every other offset, too, where all three of their reads are."""
    offsets = {read.offset[-1] for read in terms}
    whole = {column.reads for column in found}

    def kept(column: WeightColumn) -> bool:
        moved = (tuple(_along(read, offset) for read in column.reads) for offset in offsets)
        return all(reads in whole or not set(reads) <= terms.keys() for reads in moved)

    return tuple(column for column in found if kept(column))


def _along(read: Read, offset: int) -> Read:
    return Read(read.field, read.level, (*read.offset[:-1], offset))


def _paired_loop_work(terms: Terms, results: Block, form: Sum) -> SumWork:
    products = added = 0
    for near in paired(terms, alike=form.alike):
        products += len(TURNED) * len(near.columns) * results.lines + len(near.rest) * results.count
        # The values of a row are added and subtracted once for all columns that hold them.
        added += len(TURNED) * len(
            {
                (line + column.read.offset[1], column.read.field, column.read.level, column.read.offset[0])
                for column in near.columns
                for line in range(results.lines)
            }
        )
    joined = 2 * results.count if added else 0
    return SumWork(
        products=products,
        additions=products + added + joined,
        fused=products,
        loads=input_loads(terms, results),
        weights=products,
    )


def _loop_work(terms: Terms, results: Block, form: Sum) -> SumWork:
    products = len(terms) * results.count
    return SumWork(
        products=products,
        additions=products + results.count * (form.accumulators - 1),
        fused=products,
        loads=input_loads(terms, results),
        weights=len(terms) * results.lines if form.loaded else products,
    )


CANDIDATES: Mapping[str, SumForm] = {
    "inputs": SumForm(work=_input_work),
    "columns": SumForm(work=_column_work, rank=2),
    "winograd": SumForm(work=_winograd_work, rank=2, pairs=True),
    "loop": SumForm(work=_loop_work, rank=2),
}
"""By form."""
