"""Tiles and wavefronts of a schedule tree, counted by classes: no longer where the grid is larger, or the run.

Tiles that behave alike are counted as one: every loop is a variable over a class of numbers
(:mod:`tests.oracles.forms`), and a class is cut only where something decides differently inside it,
such as whether a tile is cut by the grid.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tests.oracles.counting.fronts import Profile, overlapping, profile_of
from tests.oracles.forms import Ambiguous, Class, Form, FormScope, Later, Names, number

from tilewright.programs.stencil.program import Program
from tilewright.schedules.tree.affine import AffineOperator, Combined, Expr
from tilewright.schedules.tree.nodes import (
    Compute,
    Guard,
    Let,
    Loop,
    Mark,
    Node,
    Parallel,
    Pipeline,
    Private,
    Range,
    Sequence,
    Unit,
    Wavefronts,
    walk,
)
from tilewright.schedules.tree.order import Box, volume

Reach = tuple[tuple[int, int], ...]
Found = TypeVar("Found")


Answer = bool | Ambiguous
"""What holds for a class of blocks, or where to cut it so that more is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """What is known of the cells of a block, or of some of its rows, for a class of blocks.

    Attributes:
        some: Whether there are any.
        full: Whether nothing cuts them and no read leaves the grid.
    """

    some: Answer
    full: Answer

    def beside(self, other: "_Cells") -> "_Cells":
        """Both together."""
        return _Cells(some=_settled(True, self.some, other.some), full=_settled(False, self.full, other.full))


_NOTHING = _Cells(some=False, full=True)


def _settled(by: bool, first: Answer, second: Answer) -> Answer:
    """Two answers as one: one of this kind settles it, else what is not known remains."""
    if first is by or second is by:
        return by
    return first if isinstance(first, Ambiguous) else second


def _known(answer: Answer) -> bool:
    """The answer.

    Raises:
        Ambiguous: If there is none for the whole class.
    """
    if isinstance(answer, Ambiguous):
        raise answer
    return answer


@dataclass(slots=True)
class Tiles:
    """What tiles run, as sums over them."""

    tiles: int = 0
    subtiles: int = 0
    longest: int = 0
    full_subtiles: int = 0
    full_tiles: int = 0

    def add(self, other: "Tiles", times: int) -> None:
        """Add so many times what others run."""
        self.tiles += times * other.tiles
        self.subtiles += times * other.subtiles
        self.longest = max(self.longest, other.longest)
        self.full_subtiles += times * other.full_subtiles
        self.full_tiles += times * other.full_tiles


@dataclass(slots=True)
class CountedRun:
    """What a tree runs.

    Attributes:
        wavefronts: Wavefronts with any cell.
        widest: Tiles in the widest one.
        work: Its tiles.
    """

    wavefronts: int = 0
    widest: int = 0
    work: Tiles = field(default_factory=Tiles)


class Counter:
    """Counts tiles and wavefronts by classes."""

    def __init__(self, shape: tuple[int, ...], reach: tuple[Reach, ...]) -> None:
        self.shape = shape
        self.reach = reach
        self.scope = FormScope()

    def each(self, low: Form, count: int, step: int, visit: Callable[[Form], Found]) -> Iterator[tuple[Class, Found]]:
        """Yield classes of ``count`` numbers from ``low`` on, with what a visit of each says."""
        pieces = [Class(0, count - 1)] if count > 0 else []
        depth = len(self.scope.classes)
        while pieces:
            piece = pieces.pop()
            self.scope.classes.append(piece)
            try:
                found = visit(low.plus(self.scope.variable(), step))
            except Ambiguous as why:
                if why.atom.depth != depth:
                    raise
                pieces += reversed(piece.cut(why.atom, why.at))
                continue
            finally:
                self.scope.classes.pop()
            yield piece, found

    # Wavefronts.

    def run(self, node: Node, names: Names) -> CountedRun:  # noqa: PLR0911
        """Count what a node above tiles runs."""
        match node:
            case Mark(_, child):
                return self.run(child, names)
            case Let(name, of, child):
                return self.run(child, {**names, name: Later(of, names)})
            case Sequence(nodes):
                return _after([(1, found) for found in self._one_by_one(nodes, names, self.run)])
            case Loop():
                low, count = self._span(node, names)
                visits = self.each(low, count, node.step, lambda at: self.run(node.child, {**names, node.name: at}))
                return _after([(piece.size, found) for piece, found in visits])
            case Parallel(ranges, child):
                work = self._parallel(ranges, child, names)
                return CountedRun(wavefronts=int(work.tiles > 0), widest=work.tiles, work=work)
            case Wavefronts():
                return self._by_sums(node, names)
            case Compute():
                work = self._block(node, names)
                return CountedRun(wavefronts=work.tiles, widest=work.tiles, work=work)
            case _:
                raise ValueError(f"nothing is counted of a {type(node).__name__} above tiles")

    def _one_by_one(
        self, several: tuple[Node, ...], names: Names, visit: Callable[[Node, Names], Found]
    ) -> Iterator[Found]:
        """What each of some nodes does; those that differ in a number that nothing hangs on do the same."""
        known: dict[int, Found] = {}
        for node in several:
            if not isinstance(node, Let):
                yield visit(node, names)
                continue
            if id(node.child) not in known:
                start = Later(node.value, names)
                found = visit(node.child, {**names, node.name: start})
                if start.known is not None:
                    yield found
                    continue
                known[id(node.child)] = found
            yield known[id(node.child)]

    def _span(self, loop: Loop, names: Names) -> tuple[Form, int]:
        """The first number of a loop, and how many there are."""
        low, high = self.scope.value(loop.low, names), self.scope.value(loop.high, names)
        return low, -(-self.scope.constant(high.plus(low, -1)) // loop.step)

    def _parallel(self, ranges: tuple[Range, ...], child: Node, names: Names) -> Tiles:
        if not ranges:
            return self.tile(child, names)
        name, low, count = self._range(ranges[0], names)
        total = Tiles()
        visits = self.each(low, count, 1, lambda at: self._parallel(ranges[1:], child, {**names, name: at}))
        for piece, found in visits:
            total.add(found, piece.size)
        return total

    def _by_sums(self, node: Wavefronts, names: Names) -> CountedRun:
        """Tiles of equal sums run at once: their boxes of numbers are spread over the sums."""
        if node.bands is None:
            profile, work = self._band(node, names)
            bands, lag = [(1, profile)], 1
        else:
            bands, work = [], Tiles()
            numbers, behind = node.bands
            lag = self.scope.constant(self.scope.value(behind, names))
            name, low, count = self._range(numbers, names)
            visits = self.each(low, count, 1, lambda at: self._band(node, {**names, name: at}))
            for piece, (profile, tiles) in visits:
                work.add(tiles, piece.size)
                bands.append((piece.size, profile))
        wavefronts, widest = overlapping(bands, lag)
        return CountedRun(wavefronts=wavefronts, widest=widest, work=work)

    def _band(self, node: Wavefronts, names: Names) -> tuple[Profile, Tiles]:
        total, used = Tiles(), []
        for box, tiles in self._boxes(node.ranges, node.child, names):
            total.add(tiles, volume(box))
            used += [box] if tiles.tiles else []
        return profile_of(used), total

    def _boxes(self, ranges: tuple[Range, ...], child: Node, names: Names) -> list[tuple[Box, Tiles]]:
        """Boxes of numbers whose tiles are alike, with one of them."""
        if not ranges:
            return [((), self.tile(child, names))]
        name, low, count = self._range(ranges[0], names)
        found: list[tuple[Box, Tiles]] = []
        visits = self.each(low, count, 1, lambda at: self._boxes(ranges[1:], child, {**names, name: at}))
        for piece, inner in visits:
            if piece.stairs != (1, 1):
                raise ValueError("tiles whose wavefronts are sums are alike in ranges of numbers only")
            found += [(((piece.low, piece.high + 1), *box), tiles) for box, tiles in inner]
        return found

    def _range(self, numbers: Range, names: Names) -> tuple[str, Form, int]:
        """The name of a range, its first number, and how many there are."""
        low, count = self.scope.value(numbers.low, names), self.scope.value(numbers.count, names)
        return numbers.name, low, self.scope.constant(count)

    # Tiles.

    def tile(self, node: Node, names: Names) -> Tiles:
        """Count the sub-tiles of a tile."""
        if not any(isinstance(each, Loop) and each.subtile for each in walk(node)):
            return self._block(node, names)
        match node:
            case Mark(_, child):
                return self.tile(child, names)
            case Let(name, of, child):
                return self.tile(child, {**names, name: Later(of, names)})
            case Guard():
                return self.tile(node.child, names) if self._inside(node, names) else Tiles()
            case Loop():
                total = Tiles()
                low, count = self._span(node, names)
                visits = self.each(low, count, node.step, lambda at: self.tile(node.child, {**names, node.name: at}))
                for piece, found in visits:
                    total.add(found, piece.size)
                return Tiles(
                    tiles=int(total.subtiles > 0),
                    subtiles=total.subtiles,
                    longest=total.subtiles,
                    full_subtiles=total.full_subtiles,
                    full_tiles=int(total.full_tiles == count),
                )
            case _:
                raise ValueError(f"sub-tiles are counted in no {type(node).__name__}")

    def _inside(self, guard: Guard, names: Names) -> bool:
        at, low, high = (self.scope.value(each, names) for each in (guard.value, guard.low, guard.high))
        return self.scope.holds(at.plus(low, -1)) and self.scope.holds(high.plus(at, -1).plus(number(-1)))

    def _block(self, node: Node, names: Names) -> Tiles:
        """A sub-tile, or a tile without any."""
        cells = self.rows(node, names)
        some = int(_known(cells.some))
        full = int(some and _known(cells.full))
        return Tiles(tiles=some, subtiles=some, longest=some, full_subtiles=full, full_tiles=full)

    def rows(self, node: Node, names: Names) -> _Cells:  # noqa: PLR0911
        """Say what is known of the rows of a block."""
        match node:
            case Mark(_, child) | Private(child=child) | Pipeline(child=child) | Unit(cells=child):
                return self.rows(child, names)
            case Let(name, of, child):
                return self.rows(child, {**names, name: Later(of, names)})
            case Sequence(nodes):
                total = _NOTHING
                for child in nodes:
                    total = total.beside(self.rows(child, names))
                return total
            case Guard():
                return self.rows(node.child, names) if self._inside(node, names) else _NOTHING
            case Loop():
                return self._rows_of(node, names)
            case Compute():
                return self._row(node, names)
            case _:
                return _NOTHING

    def _rows_of(self, loop: Loop, names: Names) -> _Cells:
        """The rows of a loop, which the first or the last step may cut: there the limit is what decides a bound."""
        low, early = self._end(loop.low, AffineOperator.MAX, names)
        high, late = self._end(loop.high, AffineOperator.MIN, names)
        count = -(-self.scope.constant(high.plus(low, -1)) // loop.step)
        total = _Cells(some=False, full=not (early or late))
        return self._joined((low, count, loop.step), lambda at: self.rows(loop.child, {**names, loop.name: at}), total)

    def _joined(self, numbers: tuple[Form, int, int], visit: Callable[[Form], _Cells], total: _Cells) -> _Cells:
        """What is known of several rows together; only what the others leave open cuts their class."""
        depth = len(self.scope.classes)

        def one(at: Form) -> _Cells:
            found = visit(at)
            for answer, decided in ((found.some, total.some is True), (found.full, total.full is False)):
                if isinstance(answer, Ambiguous) and answer.atom.depth == depth and not decided:
                    raise answer
            return found

        for _, found in self.each(*numbers, one):
            total = total.beside(found)
        return total

    def _end(self, end: Expr, cut: AffineOperator, names: Names) -> tuple[Form, bool]:
        """A bound of a loop, and whether a limit decides it: the second operand of ``most`` or ``least``."""
        if not (isinstance(end, Combined) and end.operator is cut):
            return self.scope.value(end, names), False
        own, limit = self.scope.value(end.first, names), self.scope.value(end.second, names)
        inside = own.plus(limit, -1) if cut is AffineOperator.MAX else limit.plus(own, -1)
        return (own, False) if self.scope.holds(inside) else (limit, True)

    def _row(self, cells: Compute, names: Names) -> _Cells:
        """A box: whether the grid has any cell of it, and whether all of it and of what it reads lies inside."""
        reach = self.reach[0]
        if len(set(self.reach)) > 1:
            reach = self.reach[self.scope.constant(self.scope.value(cells.stage, names))]
        some: list[Form] = []
        full: list[list[Form]] = []
        for (low, high), extent, (before, after) in zip(cells.box, self.shape, reach, strict=True):
            lows, highs = self._ends(low, AffineOperator.MAX, names), self._ends(high, AffineOperator.MIN, names)
            some += [b.plus(a, -1).plus(number(-1)) for a in lows for b in highs]
            some += [number(extent - 1).plus(a, -1) for a in lows]
            some += [b.plus(number(-1)) for b in highs]
            full.append([a.plus(number(before)) for a in lows])
            full.append([number(extent - after).plus(b, -1) for b in highs])
        return _Cells(some=self._all([[each] for each in some]), full=self._all(full))

    def _all(self, tests: list[list[Form]]) -> Answer:
        """Whether in every group some form is never negative."""
        result: Answer = True
        for group in tests:
            signs = [self.scope.sign(each) for each in group]
            if True in signs:
                continue
            if None not in signs:
                return False
            result = self.scope.cut(group[signs.index(None)]) if result is True else result
        return result

    # Cells.

    def area(self, node: Node, names: Names) -> int:  # noqa: PLR0911
        """Count the cells that a node computes, over all logical steps; one that two tiles compute is counted twice."""
        match node:
            case Mark(_, child) | Private(child=child) | Pipeline(child=child) | Unit(cells=child):
                return self.area(child, names)
            case Let(name, of, child):
                return self.area(child, {**names, name: Later(of, names)})
            case Sequence(nodes):
                return sum(self._one_by_one(nodes, names, self.area))
            case Guard():
                return self.area(node.child, names) if self._inside(node, names) else 0
            case Loop():
                low, count = self._span(node, names)
                visits = self.each(low, count, node.step, lambda at: self.area(node.child, {**names, node.name: at}))
                return sum(piece.size * found for piece, found in visits)
            case Parallel((), child):
                return self.area(child, names)
            case Parallel((first, *others), child):
                name, low, count = self._range(first, names)
                rest = Parallel(tuple(others), child)
                visits = self.each(low, count, 1, lambda at: self.area(rest, {**names, name: at}))
                return sum(piece.size * found for piece, found in visits)
            case Compute():
                lengths = (self._length(*axis, names) for axis in zip(node.box, self.shape, strict=True))
                return math.prod(lengths)
            case _:
                return 0

    def _length(self, ends: tuple[Expr, Expr], extent: int, names: Names) -> int:
        """Cells of a range that the grid has."""
        low, high = self.scope.value(ends[0], names), self.scope.value(ends[1], names)
        low = low if self.scope.holds(low) else number(0)
        high = high if self.scope.holds(number(extent).plus(high, -1)) else number(extent)
        length = high.plus(low, -1)
        return self.scope.constant(length) if self.scope.holds(length) else 0

    def _ends(self, end: Expr, operator: AffineOperator, names: Names) -> list[Form]:
        """What a bound is the most, or the least, of."""
        if isinstance(end, Combined) and end.operator is operator:
            return [*self._ends(end.first, operator, names), *self._ends(end.second, operator, names)]
        return [self.scope.value(end, names)]


def _after(runs: list[tuple[int, CountedRun]]) -> CountedRun:
    total = CountedRun()
    for times, each in runs:
        total.wavefronts += times * each.wavefronts
        total.widest = max(total.widest, each.widest)
        total.work.add(each.work, times)
    return total


def reach_of(program: Program, statements: tuple[int, ...]) -> Reach:
    """Per axis, the least and the greatest offset of the reads of some statements, 0 among them."""
    offsets = [read.offset for number in statements for read in program.statements[number].reads]
    zero = (0,) * program.rank
    return tuple((min(axis), max(axis)) for axis in zip(zero, *offsets, strict=True))
