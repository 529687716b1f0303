"""The NumPy reference: what every kernel must compute, written for clarity."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import NARROW, arithmetic, numpy_type
from tilewright.programs.stencil.boundaries import Boundary, Sides
from tilewright.programs.stencil.expression import Const, Index, Inside, Placed, Profile, Read, Scalar, Tape
from tilewright.programs.stencil.operators import OPERATORS
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program, Statement

Array = npt.NDArray[Any]
Box = tuple[tuple[int, int], ...]  # per axis the first cell and the end
State = dict[str, list[Array]]  # per field its versions, newest first
Reader = Callable[[Read | Placed], Any]  # what a leaf of a tape is worth at the cells that are computed
Evaluate = Callable[[Tape, Reader, Mapping[str, Any]], Any]
Compute = Callable[[Tape, Reader], Any]

BLOCK_CELLS = 8192  # cells that are evaluated at a time


_TRUTH = np.dtype(bool)


def map_index(index: npt.NDArray[np.int64], extent: int, kind: str) -> npt.NDArray[np.int64]:
    """Map indices of any distance outside ``[0, extent)`` to the cell they stand for, as ``scipy.ndimage`` does.

    >>> [int(i) for i in map_index(np.arange(-3, 6), 3, "reflect")]
    [2, 1, 0, 0, 1, 2, 2, 1, 0]
    >>> [int(i) for i in map_index(np.arange(-3, 6), 3, "mirror")]
    [1, 2, 1, 0, 1, 2, 1, 0, 1]
    """
    if kind == "nearest":
        return np.clip(index, 0, extent - 1)
    if kind == "wrap":
        return index % extent
    if kind == "reflect":
        folded = index % (2 * extent)
        return np.minimum(folded, 2 * extent - 1 - folded)
    period = max(1, 2 * extent - 2)
    folded = index % period
    return np.minimum(folded, period - folded)


def pad(array: Array, reach: Sequence[tuple[int, int]], sides: Sides) -> Array:
    """Extend an array by what its boundaries say lies outside.

    Axes are extended one after the other, outermost first, so the innermost constant axis decides a corner. A
    ``fixed`` side is not extended with meaning: nothing that is computed reads there. Where the reach is zero the array
    itself is returned, else a new one.
    """
    for axis, ((low, high), (below, above)) in enumerate(zip(reach, sides, strict=True)):
        if low == high == 0:
            continue
        extent = array.shape[axis]
        parts = [_outside(array, np.arange(-low, 0), axis, below), array]
        parts.append(_outside(array, np.arange(extent, extent + high), axis, above))
        array = np.concatenate(parts, axis=axis)
    return array


def _outside(array: Array, index: npt.NDArray[np.int64], axis: int, side: Boundary) -> Array:
    if side.kind in {"constant", "fixed"}:
        shape = list(array.shape)
        shape[axis] = len(index)
        return np.full(shape, side.value, dtype=array.dtype)
    return np.take(array, map_index(index, array.shape[axis], side.kind), axis=axis)


def evaluate(tape: Tape, read: Reader, scalars: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Evaluate a tape on NumPy arrays, in the program's own order of operations.

    Where the arrays hold whole numbers, every operation wraps around in their type: NumPy would compute some in a
    wider one, such as those on what ``np.where`` makes of two constants. Of fields of 16-bit floating-point numbers
    ``read`` gives float32, in which everything is computed; what is kept of a statement's result is rounded once.
    """
    values: list[Any] = []
    whole: np.dtype[Any] | None = None
    for node in tape:
        if isinstance(node, Const):
            values.append(node.value)
        elif isinstance(node, Scalar):
            values.append(scalars[node.name])
        elif isinstance(node, Inside):
            values.append(read(node))
        elif isinstance(node, Read | Index | Profile):
            values.append(read(node))
            whole = values[-1].dtype if values[-1].dtype.kind in "iu" else None
        else:
            value = OPERATORS[node.op].evaluate(*(values[arg] for arg in node.args))
            values.append(value if whole is None or value.dtype in {whole, _TRUTH} else value.astype(whole))
    return values[-1]


def start(problem: Problem, arrays: Mapping[str, Sequence[Array]], dtype: npt.DTypeLike | None = None) -> State:
    """Make the first state of copies of the caller's versions, newest first; the oldest stands for missing ones."""
    chosen = numpy_type(problem.dtype) if dtype is None else np.dtype(dtype)
    written = {statement.field: statement for statement in problem.program.statements}
    state: State = {}
    for field in problem.program.fields:
        levels = list(arrays[field])
        levels += [levels[-1]] * (problem.program.history(field) - len(levels))
        versions = [np.array(array, dtype=chosen) for array in levels]
        if field in written:
            box = tuple(slice(*span) for span in problem.update_box(written[field]))
            # cells that a ``fixed`` side never updates hold the newest values in every version
            for i, version in enumerate(versions[1:], 1):
                keep = versions[0].copy()
                keep[box] = version[box]
                versions[i] = keep
        state[field] = versions
    return state


Added = Mapping[str, tuple[tuple[Array, ...], Array]]
"""What sources add in a step: by field the indices of distinct cells, per axis, and a number for each."""


def step(
    problem: Problem,
    state: State,
    scalars: Mapping[str, Any],
    evaluator: Evaluate = evaluate,
    added: Added | None = None,  # adds to new values before anything reads them
    number: int = 0,  # of the step, for the values of scalars that vary
) -> State:
    """Advance a state by one time step."""
    program = problem.program
    new: dict[str, Array] = {}
    now = {
        name: value[number] if name in problem.varying and np.ndim(value) else value for name, value in scalars.items()
    }

    def compute(tape: Tape, read: Reader) -> Any:  # noqa: ANN401
        return evaluator(tape, read, now)

    for stage in program.stages:
        for i in stage:
            statement = program.statements[i]
            recurrent = any(read.field == statement.field and read.level == 1 for read in statement.reads)
            sources = (added or {}).get(statement.field)
            if recurrent:
                new[statement.field] = _sweep(problem, statement, state, new, compute, now, sources)
                continue
            new[statement.field] = _apply(problem, statement, state, new, compute, now)
            if sources is not None:
                new[statement.field][sources[0]] += sources[1]
    return {
        field: [new[field], *versions[: program.history(field) - 1]] if field in new else versions
        for field, versions in state.items()
    }


def silent() -> None:
    """Say nothing of a step."""


def run(
    problem: Problem,
    arrays: Mapping[str, Sequence[Array]],  # per field its versions, newest first
    scalars: Mapping[str, Any],
    dtype: npt.DTypeLike | None = None,  # to compute in; the problem's by default
    stepped: Callable[[], None] = silent,  # called after every step
    added: Callable[[int], Added] = lambda _: {},  # what sources add, by the number of steps done
) -> dict[str, Array]:
    """Run a problem; returns the newest version of every updated field."""
    state = start(problem, arrays, dtype)
    typed = typed_scalars(problem.dtype if dtype is None else np.dtype(dtype).name, scalars)
    with np.errstate(all="ignore"):
        for number in range(problem.steps):
            state = step(problem, state, typed, added=added(number), number=number)
            stepped()
    return {field: state[field][0] for field in problem.program.updated}


def once(program: Program, read: Callable[[str], Any], scalars: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that are computed before the first step, of what is read of others, the earlier ones too."""
    for name, tape in program.once:
        with np.errstate(all="ignore"):
            yield name, evaluate(tape, lambda node: read(node.field), scalars)  # type: ignore[union-attr]


def typed_scalars(dtype: str, scalars: Mapping[str, Any]) -> dict[str, Any]:
    """Return scalars in the type that fields of a type are computed in."""
    kind = arithmetic(dtype)
    return {name: np.asarray(value).astype(kind)[()] for name, value in scalars.items()}


def _widened(array: Array) -> Array:
    """What arithmetic makes of values in memory."""
    return array.astype(np.float32) if array.dtype.name in NARROW else array


def along(
    node: Placed, places: npt.NDArray[np.int64], extent: int, kind: np.dtype[Any], profiles: Mapping[str, Any]
) -> Array:
    """Return what a leaf that depends on the cell's place alone is worth at some places along its axis."""
    places = places + node.shift
    places = places % extent if node.wraps else places
    if isinstance(node, Index):
        return _widened(places.astype(kind))
    if isinstance(node, Profile):
        return _widened(np.asarray(profiles[node.name])[np.clip(places, 0, extent - 1)].astype(kind))
    low, high = node.span(extent)
    return (places >= low) & (places < high)


def over_box(node: Placed, box: Box, problem: Problem, kind: np.dtype[Any], profiles: Mapping[str, Any]) -> Array:
    """Return the same over a box of a grid: an array of the box's rank, of extent 1 along the other axes."""
    line = along(node, *problem.places(node.axis, *box[node.axis]), kind, profiles)
    return line.reshape([-1 if axis == node.axis else 1 for axis in range(len(box))])


def _padded_reader(
    problem: Problem, state: State, new: Mapping[str, Array], profiles: Mapping[str, Any]
) -> Callable[..., Array]:
    reach = problem.program.reach
    cache: dict[tuple[str, int], Array] = {}
    kind = next(iter(state.values()))[0].dtype

    def read(node: Read | Placed, box: Box) -> Array:
        if not isinstance(node, Read):
            return over_box(node, box, problem, kind, profiles)
        key = (node.field, node.level)
        if key not in cache:
            source = new[node.field] if node.level == 1 else state[node.field][-node.level]
            sides = problem.sides(node.field)
            needs = any(side.kind != "fixed" for pair in sides for side in pair)
            cache[key] = pad(source, reach, sides) if needs else source
        padded = cache[key].shape != problem.shape
        shifted = (
            slice(span[0] + offset + low * padded, span[1] + offset + low * padded)
            for span, offset, (low, _) in zip(box, node.offset, reach, strict=True)
        )
        return _widened(cache[key][tuple(shifted)])

    return read


def _apply(
    problem: Problem,
    statement: Statement,
    state: State,
    new: dict[str, Array],
    compute: Compute,
    profiles: Mapping[str, Any],
) -> Array:
    box = problem.update_box(statement)
    read = _padded_reader(problem, state, new, profiles)
    result = state[statement.field][0].copy()
    if all(low < high for low, high in box):
        for part in _blocks(box):
            cells = tuple(slice(*span) for span in part)
            result[cells] = compute(statement.tape, functools.partial(read, box=part))
    return result


def _blocks(box: Box) -> Iterator[Box]:
    """Cut a box along its outermost axis into parts whose intermediate values stay in a core's cache."""
    (low, high), *inner = box
    rows = max(1, BLOCK_CELLS // math.prod(end - begin for begin, end in inner))
    for first in range(low, high, rows):
        yield ((first, min(high, first + rows)), *inner)


def _sweep(  # noqa: PLR0913, PLR0917  (what a step has at hand)
    problem: Problem,
    statement: Statement,
    state: State,
    new: dict[str, Array],
    compute: Compute,
    profiles: Mapping[str, Any],
    sources: tuple[tuple[Array, ...], Array] | None,
) -> Array:
    """A recurrence, cell by cell in lexicographic order; boundaries of the swept field must be fixed or constant."""
    result = state[statement.field][0].copy()
    box = problem.update_box(statement)
    others = _padded_reader(problem, state, new, profiles)
    places = [] if sources is None else list(zip(*(axis.tolist() for axis in sources[0]), strict=True))
    added = {} if sources is None else dict(zip(places, sources[1], strict=True))
    sides = problem.sides(statement.field)
    for cell in np.ndindex(*(high - low for low, high in box)):
        at = tuple(low + i for (low, _), i in zip(box, cell, strict=True))

        def read(node: Read | Placed, at: tuple[int, ...] = at) -> Any:  # noqa: ANN401
            if isinstance(node, Read) and node.field == statement.field and node.level == 1:
                where = tuple(i + offset for i, offset in zip(at, node.offset, strict=True))
                outside = [axis for axis, i in enumerate(where) if not 0 <= i < problem.shape[axis]]
                return _widened(result.dtype.type(sides[outside[-1]][0].value) if outside else result[where])
            return others(node, tuple((i, i + 1) for i in at))[(0,) * len(at)]

        result[at] = compute(statement.tape, read)
        if at in added:
            result[at] += added[at]
    return result
