"""Dependences that the order of a schedule tree breaks: an interpreter that proves that there is none.

A dependence is broken if the tree has two computations, of which one must come first, in an order that does not say
so: the first one in a later iteration of a loop or a later child of a sequence, or the two in different tiles of one
wavefront. For every such place in the tree one asks whether numbers of all
loops around the two exist (:mod:`tests.oracles.search`) for which both run, at logical times as far apart
as the dependence says, with a cell of the one where the other looks. If not, the order keeps the dependence, whatever
the number of tiles: what takes long is a tile with many different rows, not a large grid.

The numbers of the computation that must come first are those of the other and a distance, which is sought before
them, since what tiles far from every edge have in common depends on distances alone.

Source: Feautrier, "Dataflow analysis of array and scalar references" (IJPP 20(1), 1991), whose dependence polyhedra
these are, with tiles in the schedule as in PPCG.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.oracles.forms import Ambiguous, Atom, Class, Form, FormScope, Later, Names, number
from tests.oracles.search import Condition, solution

from tilewright.programs.stencil.analysis import Dependence
from tilewright.programs.stencil.dependences import distances
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tree.affine import AffineOperator, Combined, Expr, Name, Whole, extent_of
from tilewright.schedules.tree.nodes import (
    Compute,
    Guard,
    Let,
    Loop,
    Node,
    Parallel,
    Pipeline,
    Private,
    Range,
    Wavefronts,
    children,
    walk,
)

_FAR = 2**40
"""More than any number of a loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """Where computations lie that must come before another one.

    Attributes:
        time: By how many logical steps earlier they are.
        offsets: Per axis the least and the greatest distance in cells from the other one to them.
        stage: The stage of the other one.
    """

    time: int
    offsets: tuple[tuple[int, int], ...]
    stage: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSizes:
    """What a tree runs over.

    Attributes:
        shape: Cells per axis.
        steps: Time steps.
        stages: Logical steps per time step.
    """

    shape: tuple[int, ...]
    steps: int
    stages: int

    def names(self) -> dict[str, Form | Later]:
        """What the names of the sizes stand for."""
        cells = {extent_of(axis).name: number(extent) for axis, extent in enumerate(self.shape)}
        return {"steps": number(self.steps), **cells}


def breaks(tree: Node, distance: Distance, sizes: TreeSizes) -> bool:
    """Whether the order of a tree, whose tiles compute in the grid's memory, breaks a dependence.

    Args:
        tree: The tree.
        distance: The dependence.
        sizes: What the tree runs over.
    """
    ways, divisors = list(_ways(tree, ())), _divisors(tree)
    pairs = (_Pair(later, earlier, distance, sizes, divisors) for later in ways for earlier in ways)
    return any(pair.possible(order) for pair in pairs for order in pair.orders())


@dataclass(frozen=True, slots=True)
class _Way:
    """The way to a computation: the nodes above it, and with which of its children it goes on at each."""

    nodes: tuple[Node, ...]
    turns: tuple[int, ...]
    leaf: Compute

    def counted(self) -> tuple[str, ...]:
        """The names of all numbers on the way."""
        return tuple(itertools.chain.from_iterable(map(_counted, self.nodes)))


def _ways(node: Node, above: tuple[tuple[Node, int], ...]) -> Iterator[_Way]:
    """The ways to all computations."""
    if isinstance(node, Compute):
        yield _Way(tuple(each for each, _ in above), tuple(turn for _, turn in above), node)
    elif isinstance(node, Private | Pipeline):
        raise TypeError(f"a {type(node).__name__} computes in memory of its own")
    else:
        below = (node.child,) if isinstance(node, Wavefronts) else children(node)
        for turn, child in enumerate(below):
            yield from _ways(child, (*above, (node, turn)))


def _counted(node: Node) -> tuple[str, ...]:
    """The names of the numbers that a node counts, the outermost first."""
    match node:
        case Loop():
            return (node.name,)
        case Parallel():
            return tuple(each.name for each in node.ranges)
        case Wavefronts():
            return tuple(each.name for each in _ranges(node))
        case _:
            return ()


def _ranges(node: Parallel | Wavefronts) -> tuple[Range, ...]:
    bands = (node.bands[0],) if isinstance(node, Wavefronts) and node.bands is not None else ()
    return (*bands, *node.ranges)


def _divisors(tree: Node) -> Mapping[str, int]:
    """By what names are divided: their numbers are taken as a quotient and a remainder."""
    values = (node.value for node in walk(tree) if isinstance(node, Let))
    found = (part for value in values for part in _parts(value))
    return {
        part.first.name: part.second.value
        for part in found
        if part.operator in {AffineOperator.DIV, AffineOperator.MOD}
        and isinstance(part.first, Name)
        and isinstance(part.second, Whole)
    }


def _parts(expression: Expr) -> Iterator[Combined]:
    if isinstance(expression, Combined):
        yield expression
        yield from _parts(expression.first)
        yield from _parts(expression.second)


@dataclass(frozen=True, slots=True)
class _Order:
    """A way in which the order is wrong: what is counted further out is the same, and so are some numbers of a node.

    Attributes:
        node: Which of the nodes that both are below of; their number where the two are different children of a
            sequence.
        place: Which of the node's numbers differs; None for a later iteration, or wavefront.
        sign: Whether it is greater (1) or less (-1) for the one that must come first.
    """

    node: int
    place: int | None = None
    sign: int = 1


class _Variables:
    """The numbers of two computations as variables: distances first, those of the later one then, cells last."""

    def __init__(self, pair: "_Pair", alike: frozenset[str]) -> None:
        self.ranges: list[Class] = []
        self.divisors, self.alike = pair.divisors, alike
        later, earlier = pair.later.counted(), pair.earlier.counted()
        self.apart = {name: self._add(-_FAR, _FAR) for name in earlier if name not in alike}
        self.rests = {name: self._rest(name) for name in self.apart}
        self.own = {name: (self._add(0, _FAR), self._rest(name)) for name in later}
        alone = (name for name in earlier if name not in later)
        self.alone = {name: (self._add(0, _FAR), self._rest(name)) for name in alone}
        self.cells = [self._add(-_FAR, _FAR) for _ in pair.distance.offsets]
        self.moves = [self._add(0, most - least) for least, most in pair.distance.offsets]

    def _add(self, low: int, high: int) -> int:
        self.ranges.append(Class(low, high))
        return len(self.ranges) - 1

    def _rest(self, name: str) -> int | None:
        return self._add(0, self.divisors[name] - 1) if name in self.divisors else None

    def later(self, scope: FormScope, name: str) -> Form:
        """How often the later one's loop of a name has gone round before."""
        whole, rest = self.own[name]
        return self._joined(scope, name, self.form(scope, whole), rest)

    def earlier(self, scope: FormScope, name: str) -> Form:
        """The same of the earlier one."""
        if name in self.alike:
            return self.later(scope, name)
        if name in self.alone:
            whole, rest = self.alone[name]
            return self._joined(scope, name, self.form(scope, whole), rest)
        moved = self.form(scope, self.own[name][0]).plus(self.form(scope, self.apart[name]))
        return self._joined(scope, name, moved, self.rests[name])

    def _joined(self, scope: FormScope, name: str, whole: Form, rest: int | None) -> Form:
        return whole if rest is None else whole.times(self.divisors[name]).plus(self.form(scope, rest))

    @staticmethod
    def form(scope: FormScope, depth: int) -> Form:
        """A variable."""
        only = scope.classes[depth]
        return number(only.low) if only.low == only.high else Form(0, {Atom(depth): 1})


@dataclass(slots=True)
class _Side:
    """One of two computations.

    Attributes:
        names: What names stand for where it runs.
        conditions: That it runs at all.
        numbers: Per node that counts, how often it has gone round.
    """

    names: dict[str, Form | Later]
    conditions: list[Condition] = field(default_factory=list)
    numbers: list[tuple[Form, ...]] = field(default_factory=list)


class _Pair:
    """Two computations, one of which must come before the other."""

    def __init__(
        self, later: _Way, earlier: _Way, distance: Distance, sizes: TreeSizes, divisors: Mapping[str, int]
    ) -> None:
        self.later, self.earlier, self.distance, self.sizes = later, earlier, distance, sizes
        self.divisors = divisors
        turns = list(zip(later.turns, earlier.turns, strict=False))
        self.parted = next((place for place, (a, b) in enumerate(turns) if a != b), None)
        shared = later.nodes if self.parted is None else later.nodes[: self.parted + 1]
        self.shared = [node for node in shared if _counted(node)]

    def orders(self) -> Iterator[_Order]:
        """The ways in which the order may be wrong."""
        for place, node in enumerate(self.shared):
            if isinstance(node, Loop | Wavefronts):
                yield _Order(place)
            if isinstance(node, Parallel | Wavefronts):
                for own, sign in itertools.product(range(len(_counted(node))), (1, -1)):
                    yield _Order(place, own, sign)
        if self.parted is not None and self.earlier.turns[self.parted] > self.later.turns[self.parted]:
            yield _Order(len(self.shared))

    def possible(self, order: _Order) -> bool:
        """Whether two computations are in an order that is wrong in this way."""
        alike = set(itertools.chain.from_iterable(map(_counted, self.shared[: order.node])))
        if order.node < len(self.shared):
            alike.update(_counted(self.shared[order.node])[: order.place or 0])
        variables = _Variables(self, frozenset(alike))
        origins: list[Form] = []  # what cells are counted from, the same in every box

        def conditions(scope: FormScope) -> Iterator[Condition]:
            later = self._side(scope, self.later, lambda name: variables.later(scope, name))
            earlier = self._side(scope, self.earlier, lambda name: variables.earlier(scope, name))
            yield from self._wrong(scope, order, later, earlier)
            yield from self._times(scope, later, earlier)
            yield from later.conditions
            yield from earlier.conditions
            if not origins:
                origins.extend(near(scope, low, later.names) for low, _ in self.later.leaf.box)
            cells = [variables.form(scope, cell) for cell in variables.cells]
            moves = [variables.form(scope, move) for move in variables.moves]
            here = [cell.plus(origin) for cell, origin in zip(cells, origins, strict=True)]
            ranges = zip(here, moves, self.distance.offsets, strict=True)
            there = [cell.plus(move).plus(number(least)) for cell, move, (least, _) in ranges]
            yield from self._inside(scope, self.later.leaf, here, later.names)
            yield from self._inside(scope, self.earlier.leaf, there, earlier.names)

        return solution(variables.ranges, conditions) is not None

    def _side(self, scope: FormScope, way: _Way, count: Callable[[str], Form]) -> _Side:
        """Follow the way to a computation."""
        side = _Side(self.sizes.names())
        for node in way.nodes:
            names = dict(side.names)
            match node:
                case Let(name, value):
                    side.names[name] = Later(value, names)
                case Loop():
                    times, first = count(node.name), node.low
                    while isinstance(first, Combined) and first.operator is AffineOperator.MAX:
                        first = first.first
                    at = times.times(node.step).plus(scope.value(first, names))
                    side.names[node.name] = at
                    side.numbers.append((times,))
                    side.conditions += [_known(times), *_between(scope, (node.low, node.high), at, names)]
                case Parallel() | Wavefronts():
                    for each in _ranges(node):
                        side.names[each.name] = count(each.name).plus(scope.value(each.low, names))
                        side.conditions += _between(scope, (Whole(0), each.count), count(each.name), names)
                    side.numbers.append(tuple(count(each.name) for each in _ranges(node)))
                case Guard():
                    at = scope.value(node.value, names)
                    side.conditions += _between(scope, (node.low, node.high), at, names)
        return side

    def _wrong(self, scope: FormScope, order: _Order, later: _Side, earlier: _Side) -> Iterator[Condition]:
        """That the two are in the wrong order."""
        if order.node == len(self.shared):
            return
        node = self.shared[order.node]
        numbers = zip(later.numbers[order.node], earlier.numbers[order.node], strict=True)
        apart = [after.plus(before, -1) for before, after in numbers]
        ahead = apart[0]
        if isinstance(node, Wavefronts):
            lag = number(1) if node.bands is None else scope.value(node.bands[1], later.names)
            ahead = apart[0].times(scope.constant(lag))
            for each in apart[1:]:
                ahead = ahead.plus(each)
        if order.place is None:
            yield _known(ahead.plus(number(-1)))
            return
        yield _known(apart[order.place].times(order.sign).plus(number(-1)))
        if isinstance(node, Wavefronts):
            yield _known(ahead, ahead.times(-1))

    def _times(self, scope: FormScope, later: _Side, earlier: _Side) -> Iterator[Condition]:
        """That their logical times are so far apart, and the later one's stage."""
        stages = self.sizes.stages

        def apart() -> list[Form]:
            own, other = (
                scope.value(leaf.step, side.names).times(stages).plus(scope.value(leaf.stage, side.names))
                for leaf, side in ((self.later.leaf, later), (self.earlier.leaf, earlier))
            )
            found = own.plus(other, -1).plus(number(-self.distance.time))
            return [found, found.times(-1)]

        def stage() -> list[Form]:
            found = scope.value(self.later.leaf.stage, later.names).plus(number(-self.distance.stage))
            return [found, found.times(-1)]

        yield apart
        yield stage

    def _inside(self, scope: FormScope, leaf: Compute, cells: Sequence[Form], names: Names) -> Iterator[Condition]:
        """That a cell is one of a box, and of the grid."""
        for extent, ends, cell in zip(self.sizes.shape, leaf.box, cells, strict=True):
            yield _known(cell, number(extent - 1).plus(cell, -1))
            yield from _between(scope, ends, cell, names)


def _known(*forms: Form) -> Condition:
    return lambda: forms


def _between(scope: FormScope, ends: tuple[Expr, Expr], at: Form, names: Names) -> list[Condition]:
    """That a number is not less than a low end, and less than a high one."""
    low, high = ends
    return [
        lambda: [each.below(at) for each in limits(scope, low, AffineOperator.MAX, names)],
        lambda: [each.above(at) for each in limits(scope, high, AffineOperator.MIN, names)],
    ]


@dataclass(frozen=True, slots=True)
class Limit:
    """A number: a form over a divisor, rounded down."""

    form: Form
    divisor: int = 1

    def plus(self, other: "Limit") -> "Limit | None":
        """The sum, if it is one."""
        if 1 not in (self.divisor, other.divisor):
            return None
        form = self.form.times(other.divisor).plus(other.form, self.divisor)
        return Limit(form, self.divisor * other.divisor)

    def negative(self) -> "Limit":
        """Minus it: ``-(a // c) = (c - 1 - a) // c``."""
        return Limit(number(self.divisor - 1).plus(self.form, -1), self.divisor)

    def below(self, at: Form) -> Form:
        """Not negative where a number is at least this one."""
        return at.times(self.divisor).plus(self.form, -1).plus(number(self.divisor - 1))

    def above(self, at: Form) -> Form:
        """Not negative where a number is less than this one."""
        return self.form.plus(at, -self.divisor).plus(number(-self.divisor))


def near(scope: FormScope, place: Expr, names: Names) -> Form:
    """Return what of an expression is a form whatever its variables are; the rest is left out."""
    try:
        return scope.value(place, names)
    except Ambiguous:
        pass
    match place:
        case Name(name) if isinstance(found := names[name], Later):
            return near(scope, found.expression, found.names)
        case Combined(AffineOperator.ADD | AffineOperator.SUB as operator, first, second):
            return near(scope, first, names).plus(
                near(scope, second, names), 1 if operator is AffineOperator.ADD else -1
            )
    return number(0)


def limits(scope: FormScope, end: Expr, operator: AffineOperator, names: Names) -> list[Limit]:  # noqa: PLR0911
    """Return what an expression is the most, or the least, of; sums of these are taken apart, so that none is decided.

    Args:
        scope: The variables.
        end: The expression.
        operator: ``MAX`` or ``MIN``.
        names: What its names stand for.

    Raises:
        Ambiguous: If a part of it is no form.
    """
    dual = AffineOperator.MIN if operator is AffineOperator.MAX else AffineOperator.MAX
    match end:
        case Name(name) if isinstance(found := names[name], Later):
            return limits(scope, found.expression, operator, found.names)
        case Combined(own, first, second) if own is operator:
            return [*limits(scope, first, operator, names), *limits(scope, second, operator, names)]
        case Combined(AffineOperator.ADD, first, second):
            sums = [
                a.plus(b) for a in limits(scope, first, operator, names) for b in limits(scope, second, operator, names)
            ]
        case Combined(AffineOperator.SUB, first, second):
            sums = [
                a.plus(b.negative())
                for a in limits(scope, first, operator, names)
                for b in limits(scope, second, dual, names)
            ]
        case Combined(AffineOperator.MUL, first, second):
            if isinstance(second, Whole):
                first, second = second, first
            factor = scope.constant(scope.value(first, names))
            parts = limits(scope, second, operator if factor >= 0 else dual, names)
            sums = [Limit(part.form.times(factor)) if part.divisor == 1 else None for part in parts]
        case Combined(AffineOperator.DIV | AffineOperator.FLOOR_DIV, first, Whole(divisor)):
            return [Limit(each.form, each.divisor * divisor) for each in limits(scope, first, operator, names)]
        case Combined(AffineOperator.CEIL_DIV, first, Whole(divisor)):
            more = limits(scope, first, operator, names)
            if any(each.divisor > 1 for each in more):
                return [Limit(scope.value(end, names))]
            return [Limit(each.form.plus(number(divisor - 1)), divisor) for each in more]
        case _:
            return [Limit(scope.value(end, names))]
    known = [each for each in sums if each is not None]
    return known if len(known) == len(sums) else [Limit(scope.value(end, names))]


def broken(problem: Problem, tree: Node) -> Dependence | None:
    """Return a dependence that a tree breaks whose tiles compute in the grid's memory, or None; recurrences aside.

    The order has to keep it in a grid without end, so that a tiling is legal for any number of steps and any size, and
    in this grid where the order itself hangs on the size. ``mirror`` and ``reflect`` bend reads to the other side,
    ``nearest`` makes them shorter, which is taken to happen anywhere; ``wrap`` is not looked at, see
    :func:`tilewright.schedules.family.untileable`.

    Args:
        problem: The problem.
        tree: The tree of a tiling of it.
    """
    analysis = problem.program.analysis
    shapes = [(_ENDLESS,) * problem.program.rank]
    if any(isinstance(node, Wavefronts) for node in walk(tree)):
        shapes.append(problem.shape)
    groups: dict[tuple[int, int], list[Dependence]] = {}
    for dependence in analysis.dependences:
        groups.setdefault((dependence.time, dependence.stage), []).append(dependence)
    for shape in shapes:
        sizes = TreeSizes(shape=shape, steps=_ENDLESS, stages=len(analysis.stages))
        for group in groups.values():
            found = _first(problem, tree, sizes, group)
            if found is not None:
                return found
    return None


def _first(problem: Problem, tree: Node, sizes: TreeSizes, several: list[Dependence]) -> Dependence | None:
    """The first broken one of some dependences, of one time and stage, looked for where any of them may be."""
    if not breaks(tree, _hull(problem, several), sizes):
        return None
    half = len(several) // 2
    if not half:
        return several[0]
    return _first(problem, tree, sizes, several[:half]) or _first(problem, tree, sizes, several[half:])


_ENDLESS = 2**32
"""Cells, and steps, of a grid without end."""


def _offsets(problem: Problem, dependence: Dependence) -> Iterator[tuple[int, int]]:
    """Per axis the least and the greatest distance: as it is written, and all that boundaries may make of it."""
    for axis, offset in enumerate(dependence.offset):
        kinds = {side.kind for sides in problem.boundaries for side in sides[axis]}
        found = distances(problem, dependence, axis) if kinds & {"nearest", "mirror", "reflect"} else (offset,)
        yield min(found), max(found)


def _hull(problem: Problem, several: Sequence[Dependence]) -> Distance:
    """A distance that is broken if any of several dependences is, all of one time and stage."""
    axes = zip(*(_offsets(problem, each) for each in several), strict=True)
    offsets = tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in map(tuple, axes))
    return Distance(time=several[0].time, offsets=offsets, stage=several[0].stage)
