"""Boundaries that kernels do not have, as programs: values per step, values along a side, and conditions on faces.

What kernels have outside a grid is one number, or cells of the grid. Everything else is written into the program: a
read that lies beyond a side becomes a choice between what stands for it there and the read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.boundaries import FACES, Boundary, Sides
from tilewright.programs.stencil.expression import Const, Inside, Leaf, Read, Scalar, Value, apply, flatten
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.slopes import values_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """A program whose boundaries are what kernels have."""

    program: Program  # computes what stands for reads outside any other side
    sides: dict[str, Sides]  # boundaries per field, those of :attr:`arrays` among them
    # by name, values of scalars that stand for a side with a value per step; shape (steps,)
    varying: dict[str, Any] = field(default_factory=dict)
    # by name, coefficient fields that stand for a side with a value per cell; of extent 1 along the side's axis
    arrays: dict[str, Any] = field(default_factory=dict)


def plain_edges(program: Program, sides: Mapping[str, Sides]) -> Edges:
    """Write the sides of a grid that kernels do not have into its program.

    Before: ``u[-1]`` with ``constant`` of values v. After: ``where(inside[:1], v, u[-1])``, where v is a scalar that
    varies, or a field read along the side. Whatever the time level that is read, the value is that of the step that
    reads.

    A condition on a face takes the cell as far inside as the one read is outside, at a distance of delta cells
    (1, 3, 5, …): with the value on the face (a + b) / 2 and the derivative along the outward normal (a - b) / delta,
    of the cell a outside and b inside, robin's ``derivative + factor * u = value`` is
    ``a = (delta value + (1 - factor delta / 2) b) / (1 + factor delta / 2)``. dirichlet's is ``a = 2 value - b``.
    Before: ``u[-1]`` with ``neumann`` of g. After: ``where(inside[:1], g + u[-1], u[-1])`` with ``reflect``.

    Where a read lies outside along several axes, what stands for it along the outermost one is computed first.
    """
    sides = {name: tuple((_insulated(low), _insulated(high)) for low, high in axes) for name, axes in sides.items()}
    if not any(_needs_program(side) for axes in sides.values() for pair in axes for side in pair):
        return Edges(program=program, sides=sides)
    maker = _Maker(program, sides)
    statements = tuple(
        replace(each, tape=flatten(values_of(each.tape, maker.leaf)[-1]))
        if any(r.field in sides for r in each.reads)
        else each
        for each in program.statements
    )
    used = {node.name for each in statements for node in each.tape if isinstance(node, Scalar)}
    used |= {read.field for each in statements for read in each.reads}
    varying = {name: value for name, value in maker.varying.items() if name in used}
    arrays = {name: value for name, value in maker.arrays.items() if name in used}
    plain = {name: tuple((_plain(low), _plain(high)) for low, high in axes) for name, axes in sides.items()}
    plain |= {name: _along(sides[maker.owners[name]]) for name in arrays}
    return Edges(
        program=replace(program, statements=statements, scalars=(*program.scalars, *varying, *arrays)),
        sides=plain,
        varying=varying,
        arrays=arrays,
    )


class _Maker:
    """What stands for reads outside a grid."""

    def __init__(self, program: Program, sides: Mapping[str, Sides]) -> None:
        self.program, self.sides = program, sides
        self.varying: dict[str, Any] = {}
        self.arrays: dict[str, Any] = {}
        self.owners: dict[str, str] = {}
        self._values: dict[tuple[str, int, int], Callable[[Read], Value]] = {}
        for name, axes in sides.items():
            for axis, pair in enumerate(axes):
                for number, side in enumerate(pair):
                    self._values[name, axis, number] = self._value(name, axis, number, side)

    def _value(self, owner: str, axis: int, number: int, side: Boundary) -> Callable[[Read], Value]:
        """The value of a side, at the cell that reads."""
        if np.ndim(side.value) == 0:
            constant = Value(Const(side.value))
            return lambda _: constant
        program, shape = self.program, np.shape(side.value)
        if side.kind != "constant" and side.kind not in FACES:
            raise UsageError(f"a {side.kind!r} boundary has no values, got some of the shape {shape}")
        name = f"{owner}_{'high' if number else 'low'}{axis}"
        while name in program.fields or name in program.scalars or name in {**self.varying, **self.arrays}:
            name += "_"
        if len(shape) == 1:
            self.varying[name] = side.value
            scalar = Value(Scalar(name))
            return lambda _: scalar
        if len(shape) != program.rank or shape[axis] != 1:
            raise UsageError(
                f"the values along a side of axis {axis} are an array of {program.rank} axes with the extent 1 along "
                f"that axis, got the shape {shape}",
                "an array of one axis holds a value per step",
            )
        self.arrays[name], self.owners[name] = side.value, owner
        return lambda read: Value(Read(name, 0, tuple(0 if at == axis else o for at, o in enumerate(read.offset))))

    def leaf(self, node: Leaf) -> Value:
        """A leaf of the program; of a read, what it reads wherever it lies."""
        if not isinstance(node, Read) or node.field not in self.sides:
            return Value(node)
        value, axes = Value(node), self.sides[node.field]
        met = [axes[axis][int(offset > 0)] for axis, offset in enumerate(node.offset) if offset]
        if not any(map(_needs_program, met)):
            return value
        for axis, offset in enumerate(node.offset):
            side = axes[axis][int(offset > 0)]
            beyond = node.beyond(axis)
            if beyond is None:
                continue
            side_value = self._values[node.field, axis, int(offset > 0)](node)
            if side.kind == "constant":
                value = apply("where", Value(beyond), side_value, value)
            elif _needs_program(side):
                for depth in range(1, abs(offset) + 1):
                    outside_value = _extended(side, side_value, 2 * depth - 1, value)
                    value = apply("where", Value(_at_depth(axis, offset, depth)), outside_value, value)
        return value


def _at_depth(axis: int, offset: int, depth: int) -> Inside:
    """The cells whose read by an offset lies so many cells outside."""
    cell = -offset - depth if offset < 0 else depth - 1 - offset
    return Inside(axis, cell, cell + 1 if cell != -1 else None)


def _extended(side: Boundary, given: Value, distance: int, inside: Value) -> Value:
    """What lies outside a face, from the cell as far inside."""
    if side.kind == "dirichlet":
        return 2 * given - inside
    half = 0.5 * distance * side.factor
    if half == -1:
        raise UsageError(
            f"a robin boundary of the factor {side.factor:g} says nothing of cells {distance / 2:g} outside the face",
            "a positive factor lets the value flow out",
        )
    if half == 0:
        return distance * given + inside
    return (distance / (1 + half)) * given + ((1 - half) / (1 + half)) * inside


def _needs_program(side: Boundary) -> bool:
    """Whether a side is one that kernels do not have."""
    return side.kind in FACES or np.ndim(side.value) > 0


def _insulated(side: Boundary) -> Boundary:
    """A side through which nothing flows is one that reflects."""
    still = side.kind in {"neumann", "robin"} and np.ndim(side.value) == 0 and side.value == 0 == side.factor
    return replace(side, kind="reflect") if still else side


def _along(sides: Sides) -> Sides:
    """The boundaries of an array that holds the values along a side: it wraps where the field does."""

    def one(side: Boundary) -> Boundary:
        return side if side.kind == "wrap" else replace(side, kind="nearest", value=0.0, factor=0.0)

    return tuple((one(low), one(high)) for low, high in sides)


def _plain(side: Boundary) -> Boundary:
    if not _needs_program(side):
        return side
    return replace(side, kind="reflect" if side.kind in FACES else side.kind, value=0.0, factor=0.0)
