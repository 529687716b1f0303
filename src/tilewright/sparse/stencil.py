"""From a stencil to the matrix of one step, or to its Jacobian.

Unknowns are numbered cell by cell in C order, a cell's components one after the other: component c of cell k is row
k * dof + c. A coupling at distance d between cells and from component c to component e lies on diagonal
d * dof + e - c.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.arguments import checked
from tilewright.base.dtypes import real_numbers
from tilewright.base.errors import ArrayError, UsageError
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.expression import Placed, Read
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import STEP, Program, Statement, with_coefficients
from tilewright.programs.stencil.reference import map_index, over_box, pad
from tilewright.sparse.derivative import Number, differentiate
from tilewright.sparse.dia import Dia, length, room

Array = npt.NDArray[Any]
Planes = dict[int, Array]
"""By diagonal, one value per row, shaped as the grid with the components last."""


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
                return _shifted(setting, node, box)
            return over_box(node, box, setting.problem, np.dtype(np.float64), setting.scalars)

        with np.errstate(all="ignore"):
            dual = differentiate(statement.tape, read, setting.scalars, unknown, linear=setting.linear)
        for node, slope in dual.slopes.items():
            _spread(planes, setting, (row, node), box, slope)
    return _assemble(planes, setting, dtype)


def _program(program: Any) -> Program:  # noqa: ANN401
    found = getattr(program, "program", program)
    if isinstance(found, str):
        return catalogue.program(found)
    if isinstance(found, Program):
        return found
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
    known = [name for name in program.fields if name not in program.updated]
    wanted = (*program.scalars, *known)
    if set(values) != set(wanted):
        name = min(set(values) ^ set(wanted))
        raise UsageError(
            f"{program.name!r} needs {name!r}" if name in wanted else f"{program.name!r} has no {name!r}",
            f"give {', '.join(f'{each}=…' for each in wanted)}" if wanted else "it needs no values",
        )
    if at and len(at) != len(program.updated):
        raise ArrayError(f"at holds one array per updated field {list(program.updated)}, got {len(at)}")
    # The slopes of a linear program do not depend on its fields.
    given = dict(zip(program.updated, at or [0.0] * len(program.updated), strict=True))
    arrays = {name: _field(given.get(name, values.get(name)), name, shape) for name in program.fields}
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


def _shifted(setting: _Setting, node: Read, box: tuple[tuple[int, int], ...]) -> Array:
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
    kept = np.ones(shape)
    kept[tuple(slice(*span) for span in box)] = 0
    plane = _plane(planes, setting, 0)
    for copy in range(setting.copies):
        plane[..., copy * len(setting.unknowns) + row] += kept


def _spread(
    planes: Planes, setting: _Setting, what: tuple[int, Read], box: tuple[tuple[int, int], ...], slope: Number
) -> None:
    row, node = what
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
    there = cells + offset
    meant = there.copy()
    for outside, kind in ((there < 0, below), (there >= extent, above)):
        dropped = kind in {"constant", "fixed"}
        meant[outside] = -1 if dropped else map_index(there[outside], extent, kind)
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
