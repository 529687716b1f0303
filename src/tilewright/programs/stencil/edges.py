"""Constant boundaries with a value per step, as programs: a read outside the grid is a scalar that varies."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.expression import Const, Leaf, Read, Scalar, Value, apply, flatten
from tilewright.programs.stencil.problem import Boundary, BoundarySpec, Sides, resolve
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.slopes import values_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """A program whose boundaries vary, made one whose scalars do.

    Attributes:
        program: Where a field is read outside such a side, a scalar stands for it.
        boundary: The boundaries, one number per constant side.
        values: The scalars' values, by name; shape (steps,).
    """

    program: Program
    boundary: BoundarySpec
    values: Mapping[str, Any]


def edges_per_step(program: Program, spec: BoundarySpec) -> Edges:
    """Give the sides of a grid whose constant is an array a scalar each.

    Before: ``u[-1]`` with ``constant`` of values v. After: ``where(inside[:1], v, u[-1])``, where v varies. Whatever
    the time level that is read, the value is that of the step that reads.

    Raises:
        UsageError: If another kind than ``constant`` has values, or they have more than one axis.
    """
    if not _varies(spec):
        return Edges(program=program, boundary=spec, values={})
    sides = dict(zip(program.fields, resolve(program, spec), strict=True))
    names: dict[tuple[str, int, int], str] = {}
    values: dict[str, Any] = {}
    for field, axes in sides.items():
        for axis, pair in enumerate(axes):
            for number, side in enumerate(pair):
                if np.ndim(side.value) == 0:
                    continue
                if side.kind != "constant" or np.ndim(side.value) != 1:
                    raise UsageError(
                        f"values per step are those of a constant boundary and have one axis, got {side.kind!r} with "
                        f"the shape {np.shape(side.value)}"
                    )
                name = f"{field}_{'high' if number else 'low'}{axis}"
                while name in program.fields or name in program.scalars or name in values:
                    name += "_"
                names[field, axis, number], values[name] = name, side.value

    def leaf(node: Leaf) -> Value:
        return _outside(node, sides[node.field], names) if isinstance(node, Read) else Value(node)

    statements = tuple(
        replace(each, tape=flatten(values_of(each.tape, leaf)[-1]))
        if any(r.field in sides for r in each.reads)
        else each
        for each in program.statements
    )
    used = {node.name for each in statements for node in each.tape if isinstance(node, Scalar)}
    scalars = (*program.scalars, *(name for name in values if name in used))
    return Edges(
        program=replace(program, statements=statements, scalars=scalars),
        boundary={field: tuple(tuple(map(_plain, pair)) for pair in axes) for field, axes in sides.items()},
        values={name: value for name, value in values.items() if name in used},
    )


def _outside(read: Read, sides: Sides, names: Mapping[tuple[str, int, int], str]) -> Value:
    """A read, with the values of the sides that it may be outside of; the innermost constant axis decides."""
    value, varies = Value(read), False
    for axis, offset in enumerate(read.offset):
        beyond = read.beyond(axis)
        if beyond is None:
            continue
        number = int(offset > 0)
        side, name = sides[axis][number], names.get((read.field, axis, number))
        varies = varies or name is not None
        if side.kind != "constant" or not varies:
            continue
        constant = Value(Const(side.value) if name is None else Scalar(name))
        value = apply("where", Value(beyond), constant, value)
    return value


def _plain(side: Boundary) -> Boundary:
    return side if np.ndim(side.value) == 0 else replace(side, value=0.0)


def _varies(spec: object) -> bool:
    if isinstance(spec, Boundary):
        return np.ndim(spec.value) > 0
    if isinstance(spec, Mapping):
        return any(map(_varies, spec.values()))
    return isinstance(spec, tuple | list) and any(map(_varies, spec))
