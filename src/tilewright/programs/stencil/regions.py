"""Programs as they are where no box of theirs begins or ends: without the choices that ``tw.inside`` makes.

Most cells of a grid lie far from the edges of boxes. There every condition on the cell's place is known before, so that
a kernel may compute one branch in place of all.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tilewright.base.facts import fact
from tilewright.programs.stencil.expression import Apply, Const, Inside, Node, Read, Tape, Value, apply, flatten
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.storage import Subdomains


def holds_inside(node: Inside) -> bool:
    """Whether a condition holds in the middle of its axis, beyond all ends that are counted from its own ends.

    >>> [holds_inside(each) for each in (Inside(0, 5, -5), Inside(0, 0, 20), Inside(0, -20, None))]
    [True, False, False]
    """
    return node.low >= 0 and (node.high is None or node.high < 0)


def conditions(program: Program) -> tuple[Inside, ...]:
    """Return the conditions of a program on the cell's place."""
    return tuple(node for node in program.placed if isinstance(node, Inside))


@fact
def inner_programs(
    program: Program, subdomains: Subdomains = (), *, nested: bool = False
) -> tuple[tuple[tuple[int, ...], Program], ...]:
    """Return the programs of the middle of a grid: of all axes, and of all but the innermost where that is another.

    Each comes with the axes along which its conditions are known; without conditions there is none. The leaves of every
    statement stay, used or not, and with them dependences, versions and margins. ``nested``: one per number of axes.
    """
    every_axis = nested_axes(program)
    outer = tuple(axis for axis in every_axis if axis != program.rank - 1)
    sets = [every_axis, outer] if outer and outer != every_axis else [every_axis] if every_axis else []
    if nested:
        sets += [some for count in range(1, len(every_axis)) if (some := every_axis[:count]) not in sets]
    return tuple((tuple(sorted(axes)), _inner_program(program, frozenset(axes), subdomains)) for axes in sets)


def nested_axes(program: Program) -> tuple[int, ...]:
    """Return the axes along which there are conditions, in the order in which boxes are cut: the innermost first.

    There rows are cut, so that a piece of one lies at one end of a subdomain.
    """
    axes = sorted({node.axis for node in conditions(program)})
    last = program.rank - 1
    return (*([last] if last in axes else []), *(axis for axis in axes if axis != last))


def _inner_program(program: Program, axes: frozenset[int], subdomains: Subdomains) -> Program:
    zero = frozenset(field for field, part in subdomains if part.axis in axes)
    return replace(
        program, statements=tuple(replace(each, tape=_decide(each.tape, axes, zero)) for each in program.statements)
    )


def _decide(tape: Tape, axes: frozenset[int], zero: frozenset[str]) -> Tape:
    """Decide the conditions along some axes. Before: ``where(inside[5:-5], a, b)``. After: ``a``.

    Reads of fields that are 0 there, and sums of those, are 0.
    """
    values: list[Value] = []
    for node in tape:
        if isinstance(node, Apply):
            values.append(_decided(node.op, [values[arg] for arg in node.args], sums=bool(zero)))
        elif isinstance(node, Read) and node.field in zero:
            values.append(Value(Const(0)))
        elif isinstance(node, Inside) and node.axis in axes:
            values.append(Value(Const(holds_inside(node))))
        else:
            values.append(Value(node))
    result: list[Node] = [node for node in tape if not isinstance(node, Apply | Const)]
    positions, moved = {node: place for place, node in enumerate(result)}, list[int]()
    for node in flatten(values[-1]):
        if isinstance(node, Apply):
            result.append(Apply(node.op, tuple(moved[arg] for arg in node.args)))
            moved.append(len(result) - 1)
        elif node in positions and not isinstance(node, Const):
            moved.append(positions[node])
        else:
            result.append(node)
            moved.append(len(result) - 1)
    if moved[-1] != len(result) - 1:
        result.append(result[moved[-1]])
    return tuple(result)


def _decided(op: str, args: list[Value], *, sums: bool) -> Value:
    if sums and (total := _summed(op, args)) is not None:
        return total
    numbers = [value.op.value if isinstance(value.op, Const) else None for value in args]
    truths = [number if isinstance(number, bool) else None for number in numbers]
    match op, truths:
        case "where", [bool() as holds, *_]:
            return args[1] if holds else args[2]
        case "not", [bool() as holds]:
            return Value(Const(not holds))
        case (("and" | "or"), [bool() as holds, _]):
            return args[1] if holds == (op == "and") else args[0]
        case (("and" | "or"), [_, bool() as holds]):
            return args[0] if holds == (op == "and") else args[1]
    return Value(op, tuple(args))


def _summed(op: str, args: list[Value]) -> Value | None:
    """Leave 0 out of a sum; None where there is none."""
    if op == "mul" and any(_is_zero(value) for value in args) and all(isinstance(value.op, Const) for value in args):
        return Value(Const(0))
    if op in {"neg", "div"} and _is_zero(args[0]):
        return args[0]
    if op not in {"add", "sub"} or not any(map(_is_zero, args)):
        return None
    if _is_zero(args[1]):
        return args[0]
    return args[1] if op == "add" else apply("neg", args[1])


def _is_zero(value: Value) -> bool:
    return isinstance(value.op, Const) and type(value.op.value) is int and value.op.value == 0


def middle(
    problem: Problem, subdomains: Subdomains, truths: Iterable[tuple[Inside, npt.NDArray[np.bool_]]]
) -> tuple[tuple[int, int], ...]:
    """Return per axis the longest range of cells along which every condition is what it is in the middle."""
    # ``truths``: the program's conditions, and what each is along its axis; shape (cells of the axis,)
    states, longest = list(truths), []
    for axis, extent in enumerate(problem.shape):
        same = np.ones(extent, dtype=bool)
        for field, part in subdomains:
            if part.axis == axis:  # nothing of it is computed or read in the middle
                below, above = reads_across(problem, field, axis)
                same[: part.low + below] = same[max(0, extent - part.high - above) :] = False
        for node, truth in states:
            if node.axis == axis:
                same &= truth == holds_inside(node)
        changes = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
        ranges = [(int(low), int(high)) for low, high in zip(changes[::2], changes[1::2], strict=True)]
        longest.append(max(ranges, key=lambda each: each[1] - each[0], default=(0, 0)))
    return tuple(longest)


def reads_across(problem: Problem, field: str, axis: int) -> tuple[int, int]:
    """Return how many cells beyond its subdomain's ends, above the first and below the other, read a field."""
    offsets = [read.offset[axis] for each in problem.program.statements for read in each.reads if read.field == field]
    return max([0, *(-offset for offset in offsets)]), max([0, *offsets])


def is_packable(problem: Problem) -> bool:
    """Whether kernels can keep the fields in subdomains of a program there alone.

    None is computed cell by cell, read at earlier steps, or has another value than 0 beyond the grid; no axis with a
    subdomain wraps; what lives at the ends of an outer axis reads nothing that lives at those of the innermost one,
    whose rows are cut; and there are no other regions, whose ends would cut rows elsewhere.
    """
    program = problem.program
    parts = dict(program.subdomains)
    ends = {(part.axis, *end) for part in parts.values() for end in ((0, part.low), (-part.high, None))}
    if any((node.axis, node.low, node.high) not in ends for node in conditions(program)):
        return False
    last = program.rank - 1
    crossed = any(
        parts[each.field].axis != last
        and any(parts[read.field].axis == last for read in each.reads if read.field in parts)
        for each in program.statements
        if each.field in parts
    )
    own = [sides for field, sides in zip(program.fields, problem.boundaries, strict=True) if field in parts]
    valued = any(side.kind == "constant" and side.value != 0 for sides in own for pair in sides for side in pair)
    wraps = any(sides[part.axis][0].kind == "wrap" for part in parts.values() for sides in problem.boundaries)
    older = any(program.history(field) > 1 for field in parts)
    return not crossed and not wraps and not valued and not older and not program.analysis.sweep
