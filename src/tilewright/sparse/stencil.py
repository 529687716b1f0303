"""From a stencil to the matrix of one step, or to its Jacobian.

Unknowns are numbered cell by cell in C order, a cell's components one after the other: component c of cell k is row
k * dof + c. A coupling at distance d between cells and from component c to component e lies on diagonal
d * dof + e - c. Its values are derivatives of the stencil's expression, cell by cell, in forward mode.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.arguments import checked
from tilewright.base.dtypes import real_numbers
from tilewright.base.errors import ArrayError, UsageError
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.expression import Apply, Const, Index, Inside, Placed, Profile, Read, Scalar, Tape
from tilewright.programs.stencil.operators import BOOLEAN, FLAT, OPERATORS
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import STEP, Program, Statement, with_coefficients
from tilewright.programs.stencil.reference import map_index, over_box, pad
from tilewright.runtime.memory import Array
from tilewright.sparse.dia import Dia, length, room

Planes = dict[int, Array]  # by diagonal, one value per row, shaped as the grid with the components last
Number = Any  # an array over cells, or one number for all
Slopes = dict[Read, Number]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """A problem with the values that its expressions are evaluated with."""

    problem: Problem  # its unknowns are the updated fields
    padded: Mapping[str, Array]  # every field, extended by the reach
    scalars: Mapping[str, float]  # by name
    linear: bool  # whether the program must be linear
    copies: int  # independent components that the program stands for, each alike

    @property
    def unknowns(self) -> tuple[str, ...]:
        return self.problem.program.updated

    @property
    def dof(self) -> int:
        return self.copies * len(self.unknowns)


@checked
def from_stencil(
    program: Any,  # noqa: ANN401
    shape: tuple[int, ...],
    *,
    boundary: BoundarySpec = "constant",
    dtype: str = "float64",
    at: Sequence[Any] = (),
    components: int = 1,
    **values: Any,  # noqa: ANN401
) -> Dia:
    """Return the matrix that one step of a stencil multiplies its fields by.

    Several updated fields are the components of a cell, coupled as the stencil couples them. A program that is not
    linear needs ``at``: the matrix is then its Jacobian there.

    Args:
        program: A stencil, a program, or a built-in one's name.
        shape: Extents of the grid.
        boundary: As in ``tw.run``. ``constant`` drops what leaves the grid (stored zeros inside a diagonal), ``wrap``
            and the mirrors couple with the cell that stands there (``wrap`` on further diagonals), and a cell that
            ``fixed`` never updates is a row of the identity.
        dtype: ``float32`` or ``float64``.
        at: One array per updated field, in order.
        components: Repeat the program for this many components that are not coupled, as the paper's table of savings
            assumes.
        values: Scalars, and the fields that are only read, by name; numbers or arrays.

    Returns:
        The matrix.

    Raises:
        UsageError: If the program is not linear and ``at`` is missing, or reads other time levels than the current.
        ArrayError: If an array does not fit.

    Examples:
        >>> from_stencil("laplacian2d", (3, 3)).offsets
        (-3, -1, 0, 1, 3)
        >>> from_stencil("jacobi1d", (5,), boundary="wrap").offsets
        (-4, -1, 0, 1, 4)
    """
    setting = _setting(_program(program), (tuple(shape), boundary, dtype), at, components, values)
    unknown = frozenset(setting.unknowns)
    planes: Planes = {}
    for statement in setting.problem.program.statements:
        _check(statement)
        box = setting.problem.update_box(statement)
        row = setting.unknowns.index(statement.field)
        _keep(planes, setting, box, row)
        if not all(low < high for low, high in box):
            continue

        def read(node: Read | Placed, box: tuple[tuple[int, int], ...] = box) -> Array:
            if isinstance(node, Read):
                return _shifted_values(setting, node, box)
            return over_box(node, box, setting.problem, np.dtype(np.float64), setting.scalars)

        with np.errstate(all="ignore"):
            dual = differentiate(statement.tape, read, setting.scalars, unknown, linear=setting.linear)
        for node, slope in dual.slopes.items():
            _spread(planes, setting, (row, node), box, slope)
    return _assemble(planes, setting, dtype)


def _program(program: Any) -> Program:  # noqa: ANN401
    definition = getattr(program, "program", program)
    if isinstance(definition, str):
        return catalogue.program(definition)
    if isinstance(definition, Program):
        return definition
    raise UsageError(
        f"a matrix is made from a stencil, a program or a built-in one's name, got a {type(program).__name__}",
        "decorate the function with @tw.stencil",
    )


def _setting(
    program: Program,
    grid: tuple[tuple[int, ...], BoundarySpec, str],
    at: Sequence[Any],
    components: int,
    values: Mapping[str, Any],
) -> _Setting:
    shape, boundary, dtype = grid
    if isinstance(components, bool) or int(components) != components or components < 1:
        raise UsageError(f"components is a whole number of at least 1, got {components!r}")
    if isinstance(at, np.ndarray):
        raise ArrayError(f"at holds one array per updated field {list(program.updated)}, got one array", "at=(array,)")
    values = {name: real_numbers(value, name) for name, value in {**dict(program.defaults), **values}.items()}
    program = with_coefficients(
        program, tuple(name for name in program.scalars if name in values and values[name].ndim)
    )
    if STEP in program.scalars:
        raise UsageError(f"{program.name!r} computes with tw.t, the number of a step, so it has no one matrix")
    problem = make_problem(program, shape, 1, dtype, boundary)
    inputs = [name for name in program.fields if name not in program.updated]
    names = (*program.scalars, *inputs)
    if set(values) != set(names):
        name = min(set(values) ^ set(names))
        raise UsageError(
            f"{program.name!r} needs {name!r}" if name in names else f"{program.name!r} has no {name!r}",
            f"give {', '.join(f'{each}=…' for each in names)}" if names else "it needs no values",
        )
    if at and len(at) != len(program.updated):
        raise ArrayError(f"at holds one array per updated field {list(program.updated)}, got {len(at)}")
    # The slopes of a linear program do not depend on its fields.
    state = dict(zip(program.updated, at or [0.0] * len(program.updated), strict=True))
    arrays = {name: _field(state.get(name, values.get(name)), name, shape) for name in program.fields}
    reach = program.reach
    return _Setting(
        problem=problem,
        padded={name: pad(array, reach, problem.sides(name)) for name, array in arrays.items()},
        scalars={name: float(values[name]) for name in program.scalars},
        linear=not at,
        copies=int(components),
    )


def _field(value: Any, name: str, shape: tuple[int, ...]) -> Array:  # noqa: ANN401
    array = real_numbers(value, name).astype(np.float64)
    if array.ndim and array.shape != shape:
        raise ArrayError(f"field {name!r} must have the grid's shape {shape}, got {array.shape}")
    return np.broadcast_to(array, shape)


def _check(statement: Statement) -> None:
    for read in statement.reads:
        if read.level != 0:
            raise UsageError(
                f"a matrix maps one time level to the next, but {statement.field!r} reads another level of "
                f"{read.field!r}",
                "make the older level a field of its own",
            )


def _shifted_values(setting: _Setting, node: Read, box: tuple[tuple[int, int], ...]) -> Array:
    reach = setting.problem.program.reach
    cells = (
        slice(low + offset + below, high + offset + below)
        for (low, high), offset, (below, _) in zip(box, node.offset, reach, strict=True)
    )
    return setting.padded[node.field][tuple(cells)]


def _keep(planes: Planes, setting: _Setting, box: tuple[tuple[int, int], ...], row: int) -> None:
    """Cells that are never updated keep their value: rows of the identity."""
    shape = setting.problem.shape
    if box == tuple((0, extent) for extent in shape):
        return
    mask = np.ones(shape)
    mask[tuple(slice(*span) for span in box)] = 0
    plane = _plane(planes, setting, 0)
    for copy in range(setting.copies):
        plane[..., copy * len(setting.unknowns) + row] += mask


def _spread(
    planes: Planes, setting: _Setting, entry: tuple[int, Read], box: tuple[tuple[int, int], ...], slope: Number
) -> None:
    row, node = entry
    shape = setting.problem.shape
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    sides = setting.problem.sides(node.field)
    along = [
        _targets(span, offset, (extent, pair[0].kind, pair[1].kind))
        for span, offset, extent, pair in zip(box, node.offset, shape, sides, strict=True)
    ]
    full = np.broadcast_to(slope, tuple(high - low for low, high in box))
    column = setting.unknowns.index(node.field)
    for groups in itertools.product(*along):
        distance = sum(delta * stride for (delta, _), stride in zip(groups, strides, strict=True))
        plane = _plane(planes, setting, distance * setting.dof + column - row)
        lows = [low for low, _ in box]
        cells = _region([index for _, index in groups])
        inside = _region([index - low for (_, index), low in zip(groups, lows, strict=True)])
        for copy in range(setting.copies):
            plane[(*cells, copy * len(setting.unknowns) + row)] += full[inside]


def _region(indices: Sequence[npt.NDArray[np.int64]]) -> tuple[Any, ...]:
    """Return the product of indices per axis: slices where they are consecutive, which is fast."""
    if all(index.size == index[-1] - index[0] + 1 for index in indices):
        return tuple(slice(int(index[0]), int(index[-1]) + 1) for index in indices)
    return np.ix_(*indices)


def _targets(span: tuple[int, int], offset: int, axis: tuple[int, str, str]) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Group the cells of an axis by the distance to the cell that a read at an offset means; others read no cell."""
    extent, below, above = axis
    cells = np.arange(*span)
    reached = cells + offset
    meant = reached.copy()
    for outside, kind in ((reached < 0, below), (reached >= extent, above)):
        dropped = kind in {"constant", "fixed"}
        meant[outside] = -1 if dropped else map_index(reached[outside], extent, kind)
    distance = meant - cells
    return [(int(delta), cells[(distance == delta) & (meant >= 0)]) for delta in np.unique(distance[meant >= 0])]


def _plane(planes: Planes, setting: _Setting, diagonal: int) -> Array:
    return planes.setdefault(diagonal, np.zeros((*setting.problem.shape, setting.dof)))


def _assemble(planes: Planes, setting: _Setting, dtype: str) -> Dia:
    size = setting.problem.cells * setting.dof
    offsets = tuple(sorted(planes))
    diagonals = room((size, size), offsets, dtype)
    for offset, target in zip(offsets, diagonals, strict=True):
        first = max(0, -offset)
        target[:] = planes[offset].reshape(-1)[first : first + length((size, size), offset)]
    return Dia(shape=(size, size), offsets=offsets, diagonals=diagonals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dual:
    """A value and its slopes."""

    value: Number  # over the cells
    slopes: Slopes  # derivative by each read of an unknown that it depends on


def differentiate(
    tape: Tape,
    read: Callable[[Read | Placed], Number],  # values over the cells
    scalars: Mapping[str, Number],
    unknown: frozenset[str],  # fields by whose reads to differentiate
    *,
    linear: bool,  # refuse what is not linear in these
) -> Dual:
    """Evaluate a tape and its derivatives."""
    duals: list[Dual] = []
    for node in tape:
        if isinstance(node, Const):
            duals.append(Dual(value=node.value, slopes={}))
        elif isinstance(node, Scalar):
            duals.append(Dual(value=scalars[node.name], slopes={}))
        elif isinstance(node, Read):
            duals.append(Dual(value=read(node), slopes={node: 1.0} if node.field in unknown else {}))
        elif isinstance(node, Index | Inside | Profile):
            duals.append(Dual(value=read(node), slopes={}))
        else:
            duals.append(_apply(node, [duals[arg] for arg in node.args], linear=linear))
    return duals[-1]


def _apply(node: Apply, args: list[Dual], *, linear: bool) -> Dual:
    value = OPERATORS[node.op].evaluate(*(arg.value for arg in args))
    moving = [i for i, arg in enumerate(args) if arg.slopes]
    if not moving or node.op in BOOLEAN | FLAT:
        if moving and linear:
            raise _nonlinear(node.op)
        return Dual(value=value, slopes={})
    if linear and not _is_linear(node.op, moving):
        raise _nonlinear(node.op)
    if node.op not in _PARTIAL:
        raise UsageError(f"{node.op!r} works on whole numbers and has no derivative, so there is no matrix of it")
    partial = _PARTIAL[node.op](value, *(arg.value for arg in args))
    slopes: Slopes = {}
    for i in moving:
        for key, slope in args[i].slopes.items():
            term = partial[i] * slope
            slopes[key] = slopes[key] + term if key in slopes else term
    return Dual(value=value, slopes=slopes)


def _is_linear(op: str, moving: list[int]) -> bool:
    kind = OPERATORS[op].linear
    if op == "where":
        return 0 not in moving
    return kind == "both" or (kind == "either" and len(moving) == 1) or (kind == "left" and moving == [0])


def _nonlinear(op: str) -> UsageError:
    return UsageError(
        f"the stencil is not linear in its fields: {op!r} is applied to them, so no one matrix stands for it",
        "give at=(…), the fields to linearise at, for its Jacobian there",
    )


def _power(value: Number, base: Number, exponent: Number) -> tuple[Number, Number]:
    with np.errstate(all="ignore"):
        return exponent * np.power(base, exponent - 1.0), value * np.log(base)


_PARTIAL: dict[str, Callable[..., tuple[Number, ...]]] = {
    "add": lambda _v, _a, _b: (1.0, 1.0),
    "sub": lambda _v, _a, _b: (1.0, -1.0),
    "neg": lambda _v, _a: (-1.0,),
    "mul": lambda _v, a, b: (b, a),
    "div": lambda v, _a, b: (1.0 / b, -v / b),
    "pow": _power,
    "sqrt": lambda v, _a: (0.5 / v,),
    "exp": lambda v, _a: (v,),
    "log": lambda _v, a: (1.0 / a,),
    "sin": lambda _v, a: (np.cos(a),),
    "cos": lambda _v, a: (-np.sin(a),),
    "tanh": lambda v, _a: (1.0 - v * v,),
    "tan": lambda v, _a: (1.0 + v * v,),
    "atan2": lambda _v, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "remainder": lambda _v, a, b: (1.0, -np.floor_divide(a, b)),
    "abs": lambda _v, a: (np.sign(a),),
    "conj": lambda _v, _a: (1.0,),
    "real": lambda _v, _a: (1.0,),
    "imag": lambda _v, _a: (0.0,),
    "minimum": lambda _v, a, b: (np.where(a <= b, 1.0, 0.0), np.where(a <= b, 0.0, 1.0)),
    "maximum": lambda _v, a, b: (np.where(a >= b, 1.0, 0.0), np.where(a >= b, 0.0, 1.0)),
    "where": lambda _v, c, _a, _b: (0.0, np.where(c, 1.0, 0.0), np.where(c, 0.0, 1.0)),
}
"""Partial derivatives by operand, from the result and the operands."""
