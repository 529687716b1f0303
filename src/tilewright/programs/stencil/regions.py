"""Programs as they are where no box of theirs begins or ends: without the choices that ``tw.inside`` makes.

Most cells of a grid lie far from the edges of boxes. There every condition on the cell's place is known before, so that
a kernel may compute one branch in place of all.
"""

import functools
from dataclasses import replace

from tilewright.programs.stencil.expression import Apply, Const, Inside, Node, Tape, Value, flatten
from tilewright.programs.stencil.program import Program


def holds_inside(node: Inside) -> bool:
    """Whether a condition holds in the middle of its axis, beyond all ends that are counted from its own ends.

    >>> [holds_inside(each) for each in (Inside(0, 5, -5), Inside(0, 0, 20), Inside(0, -20, None))]
    [True, False, False]
    """
    return node.low >= 0 and (node.high is None or node.high < 0)


def conditions(program: Program) -> tuple[Inside, ...]:
    """Return the conditions of a program on the cell's place."""
    return tuple(node for node in program.placed if isinstance(node, Inside))


@functools.lru_cache(maxsize=256)
def inner_programs(program: Program) -> tuple[tuple[tuple[int, ...], Program], ...]:
    """Return the programs of the middle of a grid: of all axes, and of all but the innermost where that is another.

    Returns:
        The axes along which the conditions are known, and the program; none without conditions. The leaves of every
        statement are the same, in the same order, used or not: dependences, versions and margins stay what they are.
    """
    found = {node.axis for node in conditions(program)}
    outer = found - {program.rank - 1}
    sets = [found, outer] if outer and outer != found else [found] if found else []
    return tuple((tuple(sorted(axes)), _known(program, frozenset(axes))) for axes in sets)


def _known(program: Program, axes: frozenset[int]) -> Program:
    return replace(
        program, statements=tuple(replace(each, tape=_without(each.tape, axes)) for each in program.statements)
    )


def _without(tape: Tape, axes: frozenset[int]) -> Tape:
    """Decide the conditions along some axes. Before: ``where(inside[5:-5], a, b)``. After: ``a``."""
    values: list[Value] = []
    for node in tape:
        if isinstance(node, Apply):
            values.append(_decided(node.op, [values[arg] for arg in node.args]))
        elif isinstance(node, Inside) and node.axis in axes:
            values.append(Value(Const(holds_inside(node))))
        else:
            values.append(Value(node))
    result: list[Node] = [node for node in tape if not isinstance(node, Apply | Const)]
    known, moved = {node: place for place, node in enumerate(result)}, list[int]()
    for node in flatten(values[-1]):
        if isinstance(node, Apply):
            result.append(Apply(node.op, tuple(moved[arg] for arg in node.args)))
            moved.append(len(result) - 1)
        elif node in known and not isinstance(node, Const):
            moved.append(known[node])
        else:
            result.append(node)
            moved.append(len(result) - 1)
    if moved[-1] != len(result) - 1:
        result.append(result[moved[-1]])
    return tuple(result)


def _decided(op: str, args: list[Value]) -> Value:
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
