"""Forms in which a problem is computed where that is not the one in which it is written; results are the same.

*Periodic copies*. ``wrap`` is a dependence across the whole grid, which no time tile keeps. On a grid that is extended
by the reach per step times a number of steps, filled with copies, the same steps run with ``fixed`` edges instead: what
is wrong at the edges creeps inwards by the reach per step and stops short of the grid proper. Then the copies are
refreshed.

*Fields of a program's own*, so that each cell's value is computed once. A difference of differences evaluates the inner
one at every point of the outer one: once per step is enough. What is made of coefficients alone is the same in every
step: once per run is enough.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tilewright.base.facts import fact
from tilewright.base.intmath import ceil_div
from tilewright.programs.stencil.boundaries import FACES, FIXED, Sides
from tilewright.programs.stencil.dependences import distances, overwritten_fields
from tilewright.programs.stencil.expression import (
    Apply,
    Const,
    Leaf,
    Node,
    Read,
    Scalar,
    Tape,
    Value,
    flatten,
    reads,
    truths,
)
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import INNER, Program, Statement

_MOST_FIELDS = 4
_TRIED = 8  # expressions of which it is counted what they save
_FEWEST_SAVED = 8
"""Operations per cell from which on it is asked what a field of an inner expression costs: it is written and read."""
_HARD = 8  # operations that a division, a root or a function counts as

Offset = tuple[int, ...]
Places = Mapping[tuple[int, int], Offset]
"""Where expressions are that differ in where they read alone: statement, node of its tape, and the first read there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """What is computed for a problem that is not computed as it is: fields behind its own, copies around its grid."""

    problem: Problem  # on the larger grid; with copies around it its steps are those of one block
    around: tuple[tuple[int, int], ...]  # cells below and above the grid proper, per axis; of a grid alone none

    @property
    def block(self) -> int:
        """Steps until the copies, or what was made of the first state, are stale."""
        program = self.problem.program
        stale = any(read.field in program.updated for _, tape in program.once for read in reads(tape))
        return self.problem.steps if self.wider or stale else sys.maxsize

    @property
    def wider(self) -> bool:
        """Whether there are copies around the grid."""
        return any(map(any, self.around))

    def fitted(self, shape: tuple[int, ...]) -> "Extended":
        """Return the same copies around a grid of another shape."""
        whole = tuple(low + extent + high for extent, (low, high) in zip(shape, self.around, strict=True))
        return self if whole == self.problem.shape else replace(self, problem=replace(self.problem, shape=whole))


@fact
def wrapped_axes(problem: Problem) -> tuple[int, ...]:
    """Return the axes on which a read wraps around the grid.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> from tilewright.programs.stencil.problem import make_problem
    >>> wrapped_axes(make_problem(program("heat2d"), (8, 8), 1, boundary=("wrap", "nearest")))
    (0,)
    """
    axes = set()
    for statement in problem.program.statements:
        for read in statement.reads:
            sides = problem.sides(read.field)
            axes |= {a for a, offset in enumerate(read.offset) if offset and sides[a][0].kind == "wrap"}
    return tuple(sorted(axes))


def extend(problem: Problem, steps: int) -> Extended | None:
    """Extend a problem so that a block of steps needs no wrapping.

    Before: ``u`` wraps on an axis of S cells. After: the axis has S + (left + right) * steps cells and is ``fixed``;
    after the block the S cells in the middle hold exactly what they would hold on the periodic grid. None where nothing
    wraps, a field is read across another boundary of the same axis, or the program is a recurrence.
    """
    axes = wrapped_axes(problem)
    if not axes or problem.program.analysis.sweep or not all(all_wrap(problem, axis) for axis in axes):
        return None
    logical = steps * len(problem.program.stages)
    around = tuple(_around(problem, axis, logical) if axis in axes else (0, 0) for axis in range(problem.program.rank))
    shape = tuple(low + extent + high for extent, (low, high) in zip(problem.shape, around, strict=True))
    boundaries = tuple(
        tuple((FIXED, FIXED) if axis in axes else pair for axis, pair in enumerate(sides))
        for sides in problem.boundaries
    )
    return Extended(problem=replace(problem, shape=shape, steps=steps, boundaries=boundaries), around=around)


def all_wrap(problem: Problem, axis: int) -> bool:
    """Whether every field that is read across an axis wraps there."""
    return all(
        problem.sides(read.field)[axis][0].kind == "wrap"
        for statement in problem.program.statements
        for read in statement.reads
        if read.offset[axis]
    )


def _around(problem: Problem, axis: int, logical: int) -> tuple[int, int]:
    """Cells needed on both sides of an axis for a number of logical steps.

    Wrong values advance by the flow dependences' slope per logical step; the first step starts as far inside as the
    furthest read, whatever its time level.
    """
    slope = [0, 0]
    for dependence in problem.program.analysis.dependences:
        if dependence.kind == "flow":
            for distance in distances(problem, dependence, axis):
                side = int(distance > 0)
                slope[side] = max(slope[side], ceil_div(abs(distance), dependence.time))
    needed = []
    for side, reach in enumerate(problem.program.reach[axis]):
        needed.append(slope[side] * logical + max(0, reach - slope[side]))
    return needed[0], needed[1]


def with_inner_fields(problem: Problem) -> Problem | None:
    """Return a problem that computes the same with its inner expressions in fields of their own; None without such.

    Before: ``u = f(g(u[-1]), g(u[1]))``. After: ``inner = g(u[0])`` in a stage before, and ``u = f(inner.new[-1],
    inner.new[1])`` in the same cells (:meth:`Problem.margins`). Every operation and its rounding are what they were.
    Before: ``u = f(u[1]) / (1 + k[0] * k[0])``. After: ``u = f(u[1]) / inner[0]``, and ``inner`` is computed before the
    first step (:attr:`Program.once`).
    """
    if problem.program.inner or not problem.flushes or problem.program.analysis.sweep:
        return None  # a field of 16 bits or of whole numbers would round what values in between are not rounded to
    found = _with_fields(problem.program, problem.boundaries, problem.varying)
    return None if found is None else replace(problem, program=found[0], boundaries=found[1])


def of_one_step(problem: Problem) -> Problem | None:
    """Return a problem of one step that overwrites nothing it reads; None where it does not anyway, or cannot.

    Before: ``u = u[0] - u.new[-1]``, in place. After: ``u = inner[0] - u.new[-1]``, and ``inner`` is what ``u`` was: a
    caller's array is that, and nothing is copied.
    """
    program, fields = problem.program, sorted(overwritten_fields(problem.program))
    several = any(program.history(field) > 1 for field in program.updated)
    if problem.steps != 1 or problem.points or program.inner or several or not fields:
        return None
    names = {field: f"{INNER}{number}" for number, field in enumerate(fields)}
    changed = tuple(
        replace(
            each,
            tape=tuple(
                replace(node, field=names[node.field])
                if isinstance(node, Read) and node.level == 0 and node.field in names
                else node
                for node in each.tape
            ),
        )
        for each in program.statements
    )
    centre = (0,) * program.rank
    once = tuple((name, (Read(field, 0, centre),)) for field, name in names.items())
    form = replace(program, fields=(*program.fields, *names.values()), statements=changed, once=once)
    return replace(problem, program=form, boundaries=(*problem.boundaries, *map(problem.sides, fields)))


@fact
def _with_fields(
    program: Program, boundaries: tuple[Sides, ...], varying: tuple[str, ...]
) -> tuple[Program, tuple[Sides, ...]] | None:
    found = (program, boundaries)
    for number in range(_MOST_FIELDS):
        further = _with_a_field(*found, varying, f"{INNER}{number}")
        if further is None:
            break
        found = further
    return found if found[0] is not program else None


def _with_a_field(
    program: Program, boundaries: tuple[Sides, ...], varying: tuple[str, ...], name: str
) -> tuple[Program, tuple[Sides, ...]] | None:
    """Put that expression in a field which saves most; None where none saves enough."""
    found, least = None, _weight(program.statements) - _FEWEST_SAVED
    by_field = dict(zip(program.fields, boundaries, strict=True))
    changing = frozenset((*program.updated, *varying))
    for tape, places, once in sorted(_shared(program, changing), key=_most_saved, reverse=True)[:_TRIED]:
        sides = _sides_once(by_field, tape, places) if once else _sides(by_field, tape, places)
        if sides is None:
            continue
        candidate = _replaced(program, (tape, places, once), name)
        weight = _weight(candidate.statements)
        if weight <= least:
            least, found = weight - 1, (candidate, (*boundaries, sides))
    return found


def _weight(statements: Iterable[Statement]) -> int:
    """Count operations, hard ones as several."""
    return sum(_weight_of(statement.tape) for statement in statements)


def _weight_of(tape: Tape) -> int:
    return sum(_HARD if node.op in SPECIAL else 1 for node in tape if isinstance(node, Apply))


def once_operations(program: Program) -> int:
    """Count the operations per cell of what is computed before the first step, hard ones as several."""
    return sum(_weight_of(tape) for _, tape in program.once)


_Shared = tuple[Tape, Places, bool]  # an expression as it is at its first place, its places, whether once is enough


def _most_saved(shared: _Shared) -> int:
    tape, places, once = shared
    return (len(set(places.values())) - (not once)) * _weight_of(tape)


def _shared(program: Program, changing: frozenset[str]) -> list[_Shared]:
    """Return the expressions of old values that are there several times, moved, and those that are always the same."""
    numbers: dict[object, int] = {}
    every: dict[int, dict[tuple[int, int], Offset]] = {}
    for number, statement in enumerate(program.statements):
        forms: list[_Form] = []
        are_truths = truths(statement.tape)
        for place, node in enumerate(statement.tape):
            forms.append(_form(node, forms, numbers))
            form = forms[-1]
            if isinstance(node, Apply) and form.movable and form.anchor is not None and not are_truths[place]:
                every.setdefault(form.number, {})[number, place] = form.anchor
    values = [_values(statement.tape) for statement in program.statements]
    result: list[_Shared] = []
    for places in every.values():
        number, place = next(iter(places))
        tape = flatten(values[number][place])
        offsets, hard = {read.offset for read in reads(tape)}, _weight_of(tape) >= _HARD
        used = {read.field for read in reads(tape)} | {node.name for node in tape if isinstance(node, Scalar)}
        once = hard and len(offsets) == 1 and not used & changing
        if once or (len(set(places.values())) > 1 and (hard or len(offsets) > 1)):
            result.append((tape, places, once))
    return result


@dataclass(frozen=True, slots=True)
class _Form:
    """What an expression is wherever it is, and where it is."""

    number: int  # the same of all that are equal but for where they read
    anchor: Offset | None  # where its first read is; None of one without reads
    movable: bool = True


def _form(node: Node, forms: list[_Form], numbers: dict[object, int]) -> _Form:
    """Return the form of a node of a tape, by those of the nodes before it and the numbers that forms have."""
    if isinstance(node, Read):
        key: object = (node.field, node.level)
        return _Form(numbers.setdefault(key, len(numbers)), node.offset, movable=node.level < 1)
    if not isinstance(node, Apply):
        return _Form(numbers.setdefault(node, len(numbers)), None, movable=isinstance(node, Const | Scalar))
    parts = [forms[arg] for arg in node.args]
    anchor = next((part.anchor for part in parts if part.anchor is not None), None)
    apart = tuple(
        (part.number, None if part.anchor is None or anchor is None else _difference(part.anchor, anchor))
        for part in parts
    )
    number = numbers.setdefault((node.op, apart), len(numbers))
    return _Form(number, anchor, movable=all(part.movable for part in parts))


def _sides(boundaries: Mapping[str, Sides], tape: Tape, places: Places) -> Sides | None:
    """Return the sides of an expression's field; None where it is read beyond one that neither is fixed nor wraps.

    Elsewhere what lies beyond a side is not the expression of what lies beyond it in the fields.
    """
    pairs = []
    for axis, wheres in enumerate(zip(*places.values(), strict=True)):
        inner = {boundaries[read.field][axis] for read in reads(tape)}
        kinds = {side.kind for pair in inner for side in pair}
        if len(set(wheres)) > 1 and kinds not in ({"fixed"}, {"wrap"}):
            return None
        pairs.append(inner.pop() if kinds == {"wrap"} else (FIXED, FIXED))
    return tuple(pairs)


def _sides_once(boundaries: Mapping[str, Sides], tape: Tape, places: Places) -> Sides | None:
    """Return the sides of a field that is computed once; None where what lies beyond them is no cell's value."""
    pairs = []
    for axis, wheres in enumerate(zip(*places.values(), strict=True)):
        inner = {boundaries[read.field][axis] for read in reads(tape)}
        kinds = {side.kind for pair in inner for side in pair}
        if any(wheres) and (len(inner) > 1 or kinds & {"constant", *FACES}):
            return None
        pairs.append(inner.pop() if any(wheres) else (FIXED, FIXED))
    return tuple(pairs)


def _replaced(program: Program, shared: _Shared, name: str) -> Program:
    """Return a program with an expression in a field of this name."""
    tape, places, once = shared
    anchors = list(places.values())
    wheres, offsets = zip(*anchors, strict=True), zip(*(read.offset for read in reads(tape)), strict=True)
    # Along an axis of equal places every cell has its own value, whatever the sides make of what the value reads.
    centre = tuple(
        (min(inner) + max(inner)) // 2 if once or len(set(where)) > 1 else 0
        for where, inner in zip(wheres, offsets, strict=True)
    )
    changed = []
    for number, statement in enumerate(program.statements):
        at = {
            place: Read(name, 0 if once else 1, _difference(anchor, _difference(anchors[0], centre)))
            for (where, place), anchor in places.items()
            if where == number
        }
        changed.append(replace(statement, tape=flatten(_values(statement.tape, at)[-1])) if at else statement)
    inner = tuple(
        replace(node, offset=_difference(node.offset, centre)) if isinstance(node, Read) else node for node in tape
    )
    program = replace(program, fields=(*program.fields, name), statements=tuple(changed))
    if once:
        return replace(program, once=(*program.once, (name, inner)))
    return replace(program, statements=(*changed, Statement(field=name, tape=inner)))


def _values(tape: Tape, instead: Mapping[int, Leaf] = {}) -> list[Value]:
    """Return the value of every node of a tape, some being read instead."""
    values: list[Value] = []
    for place, node in enumerate(tape):
        if isinstance(node, Apply) and place not in instead:
            values.append(Value(node.op, tuple(values[arg] for arg in node.args)))
        else:
            values.append(Value(instead[place] if isinstance(node, Apply) else node))
    return values


def _difference(a: Offset, b: Offset) -> Offset:
    return tuple(x - y for x, y in zip(a, b, strict=True))
