"""What a stencil computes, from its Python function by NumPy alone: no code of the package takes part.

The function is called with arrays in place of symbols: ``u[-1, 0]`` is the whole grid, shifted and padded by
:func:`numpy.pad`. A second call with :class:`Known` in place of arrays says which cells ``fixed`` sides hold.
"""

import itertools
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MODES = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}
"""What NumPy calls the boundaries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What lies outside on one side."""

    kind: str
    values: Any = 0.0  # a number, one per step, or values along the side, with as many axes as the grid
    factor: float = 0.0  # of robin's condition

    def outside(self, inner: np.ndarray, depth: int, value: np.ndarray) -> np.ndarray:
        """What lies so many cells outside, from the definition, where so many cells inside is another value."""
        if self.kind == "constant":
            return np.zeros_like(inner) + value
        distance = 2 * depth - 1  # (outer - inner) / distance is the derivative, their mean the value on the face
        if self.kind == "dirichlet":
            return 2 * value - inner
        factor = self.factor if self.kind == "robin" else 0.0
        return (value - inner * (factor / 2 - 1 / distance)) / (1 / distance + factor / 2)


def padded(array: np.ndarray, reach: Sequence[tuple[int, int]], sides: Sequence[tuple[Side, Side]], step: int):
    """Extend an array by what lies outside, one axis after the other; a number is one of the array's type.

    Values per step are of the type that arithmetic is done in, as all scalars are; values along a side, which are
    those of a field, are repeated beyond the sides before.
    """
    wide = widened(array.dtype)
    found = array.astype(wide)
    for axis, (widths, pair) in enumerate(zip(reach, sides, strict=True)):
        parts = []
        for end, (width, side) in enumerate(zip(widths, pair, strict=True)):
            around = [(0, 0)] * array.ndim
            around[axis] = (0, width) if end else (width, 0)
            if side.kind in (*MODES, "fixed"):
                more = np.pad(found, around, MODES.get(side.kind, "constant"))
                parts.append(more.take(range(found.shape[axis], more.shape[axis]) if end else range(width), axis))
                continue
            value = np.asarray(side.values)
            if value.ndim == array.ndim > 1:
                grown = [pair if before < axis else (0, 0) for before, pair in enumerate(reach)]
                value = np.pad(value.astype(array.dtype).astype(wide), grown, "edge")
            else:
                value = value[step].astype(wide) if value.ndim else value.astype(array.dtype).astype(wide)
            depths = range(1, width + 1) if end else range(width, 0, -1)
            cells = [[found.shape[axis] - depth if end else depth - 1] for depth in depths]
            outside = [
                side.outside(found.take(cell, axis, mode="clip"), depth, value).astype(wide)
                for cell, depth in zip(cells, depths, strict=True)
            ]
            parts.append(np.concatenate([found.take(range(0), axis), *outside], axis))
        found = np.concatenate([parts[0], found, parts[1]], axis)
    return found


def widened(dtype: np.dtype) -> np.dtype:
    """The type that arithmetic on fields of a type is done in: numbers of 16 bits are widened."""
    return np.dtype(np.float32) if dtype.name in {"float16", "bfloat16"} else dtype


class Known:
    """In place of an array: at which cells a value is known, as no read of it lies beyond a ``fixed`` side."""

    def __init__(self, cells: np.ndarray) -> None:
        self.cells = cells

    def _with(self, *others: object) -> "Known":
        return Known(np.logical_and.reduce([self.cells, *(each.cells for each in others if isinstance(each, Known))]))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _with
    __lt__ = __gt__ = __le__ = __ge__ = __and__ = __rand__ = __or__ = __ror__ = __rshift__ = __floordiv__ = _with
    __neg__ = __invert__ = __abs__ = _with


def known_by(*values: object) -> Known:
    """What NumPy's functions, and ``tw.where``, make of such."""
    first = next(each for each in values if isinstance(each, Known))
    return first._with(*values)


class Namespace:
    """What a body finds under the names ``np`` and ``tw``, while it is known which cells are held."""

    t = 0

    def __getattr__(self, name: str) -> Callable[..., Known]:
        return known_by

    def index(self, axis: int) -> int:
        return axis

    @property
    def inside(self) -> "Namespace":
        return self

    def __getitem__(self, box: object) -> bool:
        return True


class Places:
    """What a body finds under the name ``tw``."""

    where = staticmethod(np.where)

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, wide: np.dtype, step: int) -> None:
        self._shape, self._dtype, self._wide = shape, dtype, wide
        self.t = np.asarray(step).astype(wide)[()]

    def index(self, axis: int) -> np.ndarray:
        return np.indices(self._shape)[axis].astype(self._dtype).astype(self._wide)

    @property
    def inside(self) -> "Places":
        return self

    def __getitem__(self, box: object) -> np.ndarray:
        found = np.zeros(self._shape, bool)
        found[box] = True
        return found


class Reads:
    """A field as a body reads it: ``u[-1, 0]``, ``u.prev[0, 0]``, ``u.new[0, 0]``."""

    def __init__(self, levels: Sequence[np.ndarray], new: np.ndarray | None, read: Callable[..., Any]) -> None:
        self._levels, self._new, self._read = levels, new, read
        self.asked_new = False

    def __getitem__(self, offset: int | tuple[int, ...]) -> Any:
        return self._read(self._levels[0], offset)

    @property
    def prev(self) -> "Reads":
        return Reads(self._levels[1:2], None, self._read)

    @property
    def prev2(self) -> "Reads":
        return Reads(self._levels[2:3], None, self._read)

    @property
    def new(self) -> "Reads":
        self.asked_new = True
        return Reads([self._levels[0] if self._new is None else self._new], None, self._read)


def _offsets(offset: int | tuple[int, ...]) -> tuple[int, ...]:
    return offset if isinstance(offset, tuple) else (offset,)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsAt:
    """Sources or receivers of the first field."""

    places: np.ndarray  # coordinates; shape (points, axes)
    values: np.ndarray | None = None  # of sources, shape (steps, points)

    def weighted(self) -> list[list[tuple[tuple[int, ...], float]]]:
        """Per point the cells around it, with linear weights."""
        found = []
        for place in self.places:
            base = np.floor(place).astype(int)
            entries = []
            for corner in itertools.product((0, 1), repeat=len(place)):
                near = [rest if up else 1 - rest for up, rest in zip(corner, place - base, strict=True)]
                if np.prod(near):
                    entries.append((tuple(base + corner), float(np.prod(near))))
            found.append(entries)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a function on arrays."""

    body: Callable[..., Any]
    fields: Mapping[str, Sequence[np.ndarray]]  # per field its levels, newest first, in the order of the arguments
    scalars: Mapping[str, Any]  # numbers, values per step, or arrays that broadcast to the grid
    varying: Sequence[str]  # the scalars with a value per step
    sides: Sequence[tuple[Side, Side]]  # per axis
    steps: int
    dtype: np.dtype
    sources: PointsAt | None = None
    receivers: PointsAt | None = None
    mask: np.ndarray | None = None  # false where cells keep their values

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the grid."""
        return next(iter(self.fields.values()))[0].shape

    @property
    def wide(self) -> np.dtype:
        """The type that arithmetic is done in."""
        return widened(self.dtype)

    def computed(self) -> tuple[list[dict[str, list[np.ndarray]]], list[np.ndarray]]:
        """Return the state at the start and after every step, and what receivers record after every step."""
        held = self._held()
        state = {name: [np.array(each, self.dtype) for each in levels] for name, levels in self.fields.items()}
        for name, cells in held.items():
            for older in state[name][1:]:
                older[~cells] = state[name][0][~cells]
        states, records = [state], []
        with np.errstate(all="ignore"):
            for step in range(self.steps):
                new = self._step(states[-1], held, step)
                old = states[-1]
                states.append({f: [new[f], *old[f][:-1]] if f in new else old[f] for f in old})
                records.append(self._recorded(states[-1]))
        return states, records

    def _call(self, reads: Sequence[Reads], scalars: Sequence[Any], names: dict[str, object]) -> tuple[Any, ...]:
        body = types.FunctionType(self.body.__code__, names, self.body.__name__)
        found = body(*reads, *scalars)
        return found if isinstance(found, tuple) else (found,)

    def _held(self) -> dict[str, np.ndarray]:
        """Per updated field which cells every step computes; the others are held by ``fixed`` sides."""

        def read(_: np.ndarray, offset: int | tuple[int, ...]) -> Known:
            cells = np.ones(self.shape, bool)
            for axis, (extent, move, pair) in enumerate(zip(self.shape, _offsets(offset), self.sides, strict=True)):
                places = np.arange(extent) + move
                good = np.ones(extent, bool)
                for side, beyond in zip(pair, (places < 0, places >= extent), strict=True):
                    good &= ~beyond if side.kind == "fixed" else True
                cells &= good.reshape([-1 if each == axis else 1 for each in range(len(self.shape))])
            return Known(cells)

        reads = [Reads(levels, None, read) for levels in self.fields.values()]
        found = self._call(reads, [1] * len(self.scalars), {"np": Namespace(), "tw": Namespace()})
        return {name: each.cells for name, each in zip(self.fields, found, strict=False)}

    def _step(self, state: dict[str, list[np.ndarray]], held: dict[str, np.ndarray], step: int):
        """Compute the new values; again and again where they read each other, until nothing changes."""
        now = [self._now(name, step) for name in self.scalars]
        names = {"np": np, "tw": Places(self.shape, self.dtype, self.wide, step)}
        added = self._added(step)

        def read(array: np.ndarray, offset: int | tuple[int, ...]) -> np.ndarray:
            reach = [(max(0, -each), max(0, each)) for each in _offsets(offset)]
            whole = padded(array, reach, self.sides, step)
            starts = [low + move for (low, _), move in zip(reach, _offsets(offset), strict=True)]
            return whole[tuple(slice(a, a + n) for a, n in zip(starts, self.shape, strict=True))]

        new: dict[str, np.ndarray] = {}
        while True:
            before = {name: each.tobytes() for name, each in new.items()}
            reads = [Reads(levels, new.get(name), read) for name, levels in state.items()]
            found = dict(zip(state, self._call(reads, now, names), strict=False))
            new = {name: np.where(held[name], each, state[name][0]).astype(self.dtype) for name, each in found.items()}
            if added is not None:
                first = next(iter(new))
                new[first] = np.where(held[first], new[first] + added, new[first]).astype(self.dtype)
            if self.mask is not None:
                new = {name: np.where(self.mask, each, state[name][0]) for name, each in new.items()}
            unread = not any(each.asked_new for each in reads)
            if unread or before == {name: each.tobytes() for name, each in new.items()}:
                return new

    def _now(self, name: str, step: int) -> Any:
        value = np.asarray(self.scalars[name])
        if name in self.varying:
            return value[step].astype(self.wide)
        return value.astype(self.dtype).astype(self.wide) if value.ndim else value.astype(self.wide)[()]

    def _added(self, step: int) -> np.ndarray | None:
        """What sources add in a step, cell by cell."""
        if self.sources is None or self.sources.values is None:
            return None
        rounded = self.dtype.kind not in "iu"
        total = np.zeros(self.shape, np.result_type(self.wide, np.float64) if rounded else self.dtype)
        for entries, value in zip(self.sources.weighted(), self.sources.values[step], strict=True):
            for cell, weight in entries:
                total[cell] += total.dtype.type(weight) * total.dtype.type(value)
        return total.astype(self.dtype)

    def _recorded(self, state: dict[str, list[np.ndarray]]) -> np.ndarray:
        if self.receivers is None:
            return np.zeros(0)
        newest = next(iter(state.values()))[0]
        sums = [
            sum(weight * newest[cell].astype(np.result_type(self.wide, 1.0)) for cell, weight in entries)
            for entries in self.receivers.weighted()
        ]
        return np.array(sums)
