"""Von Neumann's stability limit, where it can be derived: linear programs with constant coefficients.

A wave exp(i k x) stays a wave under such a program; one step multiplies the vector of its amplitudes (one per updated
field and time level) by the amplification matrix G(k). What a step reads of its own new values stands on the left:
(I - A(k)) new = B(k) old, whatever the order of the statements. The scheme is stable only if no eigenvalue of any G(k)
is larger than 1 in size (J. G. Charney, R. Fjörtoft, J. von Neumann, Tellus 2, 1950; R. D. Richtmyer, K. W. Morton,
Difference Methods for Initial-Value Problems, 1967, chapter 4). The waves looked at are a sample, so that what is found
is certain, and what is not found may still exist.

Where A(k) has an eigenvalue of size 1 or more, a sweep grows along the grid, no wave stays one, and the edges decide:
such a step is taken on a small grid with zeros around, many times.
"""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.programs.stencil import reference
from tilewright.programs.stencil.expression import Apply, Const, Placed, Read, Scalar, Tape
from tilewright.programs.stencil.operators import OPERATORS
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.reference import Array

FEWEST_STEPS = 10  # fewer steps are a filter, which may sharpen on purpose
LEAST_GROWTH = 2.0  # a run in which no wave grows by so much is left alone
_WAVES = {1: 256, 2: 32, 3: 16, 4: 8}  # angles per axis by rank, 0 and pi among them
_LARGEST_STATE = 12
_TOLERANCE = 1e-6
_TOLERANCE_OF_EIGENVALUES = 1e-4
"""Double and triple eigenvalues of size 1, as of wave equations, come out with the square or cube root of rounding."""
_LEAST_SIZE = 1e-100
_MOST_VALUES = 64  # most values of coefficients that vary in time that are looked at
_SMALL = {1: 64, 2: 24, 3: 9, 4: 5}
"""Cells per axis, by rank, of the grid on which sweeps are looked at that grow along it."""
_QUARTER = 100  # a quarter of the steps there
_LEAST_FACTOR = 1.01  # what does not grow there shakes by less
_LASTING = 0.85
"""Share of the growth in the third quarter of the steps that is there in the last one; of powers of time it is 0.71."""
Complex = npt.NDArray[np.complex128]
Terms = Mapping[Read, complex]


@dataclass(frozen=True, slots=True)
class _Constant:
    """A value that no updated field enters: a number, or None where it is not known here."""

    value: complex | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingWave:
    """A wave that grows."""

    factor: float  # by how much per step, above 1
    cells: tuple[float, ...]  # its length per axis, infinite where it does not vary; empty for any form
    average: bool = False  # whether it grows by that on average, since coefficients vary in time

    def over(self, steps: int) -> float:
        """Return by how much it grows in a run; infinite beyond what numbers hold."""
        exponent = steps * math.log(self.factor)
        return math.exp(exponent) if exponent < 700 else math.inf

    def __str__(self) -> str:
        lengths = " x ".join("-" if math.isinf(cells) else f"{cells:.3g}" for cells in self.cells)
        mode = f"a wave of {lengths} cells" if lengths else "a disturbance"
        return f"{mode} grows {self.factor:.4g} times in {'a step on average' if self.average else 'every step'}"


Numbers = tuple[tuple[str, Any], ...]  # names and values


@functools.lru_cache(maxsize=256)
def growth(program: Program, scalars: Numbers = (), coefficients: Numbers = ()) -> GrowingWave | None:
    """Return the wave that grows fastest, if any does.

    A program under which the mean grows fastest is left alone: that is a source or a reaction, not an instability.
    None also where nothing can be derived: it is not linear, or a scalar or coefficient has no one value.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> growth(program("heat2d")) is None
    True
    """
    symbols = _symbols(program, dict(scalars), dict(coefficients))
    if symbols is None:
        return None
    angles = _angles(program.rank, half=_are_real(symbols))
    matrices = _amplification(program, symbols, angles)
    if matrices is None:
        factor = _bounded_growth(program, symbols)
        return GrowingWave(factor=factor, cells=()) if factor > _LEAST_FACTOR else None
    radius = _radius(matrices)
    worst = int(np.argmax(radius))
    if not _grows(program, radius, worst):
        return None
    return GrowingWave(factor=float(radius[worst]), cells=_lengths(angles[worst]))


def growth_in_time(program: Program, scalars: Numbers, varying: Mapping[str, Array]) -> GrowingWave | None:
    """Return the wave that grows most in a run whose coefficients vary in time, if any does, as :func:`growth` does.

    Every wave is multiplied with one matrix after the other. The one looked at is that whose eigenvalues grow most; it
    grows by the product of its matrices, or of their eigenvalues where that is less. ``varying`` has arrays (steps,).
    """
    constants = {**dict(scalars), **{name: values[0] for name, values in varying.items()}}
    names = [name for name in varying if _symbols(program, {n: v for n, v in constants.items() if n != name}) is None]
    if not names or _symbols(program, constants) is None or any(np.iscomplexobj(varying[name]) for name in names):
        return None
    table = np.stack([np.asarray(varying[name], np.float64) for name in names], axis=1)
    rows, which = np.unique(table, axis=0, return_inverse=True)
    sample = np.unique(np.linspace(0, len(rows) - 1, _MOST_VALUES).round().astype(int))
    which = np.searchsorted(sample[:-1], which.reshape(-1))
    angles = _angles(program.rank, half=False)
    matrices: list[Complex] = []
    for row in rows[sample]:
        symbols = _symbols(program, {**constants, **dict(zip(names, row.tolist(), strict=True))})
        matrix = None if symbols is None else _amplification(program, symbols, angles)
        if matrix is None:
            return None
        matrices.append(matrix)
    share = np.bincount(which, minlength=len(matrices)) / len(which)
    with np.errstate(divide="ignore"):
        radius = np.exp(share @ np.log([_radius(each) for each in matrices]))
    worst = int(np.argmax(radius))
    if not _grows(program, radius, worst):
        return None
    state, grown = np.eye(matrices[0].shape[-1], dtype=np.complex128), 0.0
    for place in which:
        state = matrices[place][worst] @ state
        size = float(np.linalg.norm(state))
        if not size:
            return None
        state, grown = state / size, grown + math.log(size)
    factor = min(float(radius[worst]), math.exp(grown / len(which)))
    return GrowingWave(factor=factor, cells=_lengths(angles[worst]), average=True) if factor > 1.0 else None


def _symbols(
    program: Program, scalars: Mapping[str, Any], coefficients: Mapping[str, Any] = MappingProxyType({})
) -> list[Terms] | None:
    """Return the weights of every statement, or None where they are not known or the matrices would be large."""
    if sum(program.history(field) for field in program.updated) > _LARGEST_STATE:
        return None
    weights = [_terms(statement.tape, program.updated, scalars, coefficients) for statement in program.statements]
    complete = [each for each in weights if each is not None]
    return complete if len(complete) == len(weights) else None


def _are_real(symbols: Sequence[Terms]) -> bool:
    return not any(np.imag(weight) for terms in symbols for weight in terms.values())


def _grows(program: Program, radius: npt.NDArray[np.float64], worst: int) -> bool:
    """Whether the largest of some factors is above 1 and that of the mean, the first one, by more than rounding."""
    size = sum(program.history(field) for field in program.updated)
    tolerance = _TOLERANCE if size == 1 else _TOLERANCE_OF_EIGENVALUES
    return bool(np.isfinite(radius).all()) and radius[worst] > (1.0 + tolerance) * max(1.0, float(radius[0]))


def _lengths(angles: npt.NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(2.0 * math.pi / abs(angle) if angle else math.inf for angle in angles)


def advice(program: Program, found: GrowingWave | None, steps: int, where: str = "") -> str:
    """Return what to say about a run past the stability limit, or an empty text."""
    if found is None or steps < FEWEST_STEPS or found.over(steps) < LEAST_GROWTH:
        return ""
    return (
        f"{program.name!r} is past its stability limit{where}: {found} (hint: an explicit scheme needs a smaller time "
        "step, that is smaller coefficients)"
    )


def measured_growth(problem: Problem, arrays: Mapping[str, Array], scalars: Mapping[str, Any]) -> float:
    """Return by which factor per step, a mean over the second half, a disturbance grows in a small grid."""
    updated = problem.program.updated
    noise = np.random.default_rng(0).standard_normal(problem.shape)
    fixed = {field: [array] for field, array in arrays.items()}
    still, moved = (
        reference.start(problem, {**fixed, **{field: [size * noise] for field in updated}}) for size in (0.0, 1.0)
    )
    sizes = [float(len(updated) * np.linalg.norm(noise))]
    with np.errstate(all="ignore"):
        while len(sizes) <= problem.steps and _LEAST_SIZE < sizes[-1] < 1 / _LEAST_SIZE:
            still, moved = (reference.step(problem, each, scalars) for each in (still, moved))
            sizes.append(float(sum(np.linalg.norm(moved[field][0] - still[field][0]) for field in updated)))
    first = min(len(sizes) // 2, len(sizes) - 2)  # a single step may be beyond all sizes
    return (sizes[-1] / sizes[first]) ** (1 / (len(sizes) - 1 - first)) if math.isfinite(sizes[-1]) else 0.0


def _terms(
    tape: Tape, updated: Sequence[str], scalars: Mapping[str, Any], coefficients: Mapping[str, Any]
) -> Terms | None:
    """Return the weights of a statement's reads of updated fields, constants left out, or None."""
    values: list[Terms | _Constant | None] = []
    for node in tape:
        if isinstance(node, Const):
            values.append(_Constant(complex(node.value)))
        elif isinstance(node, Scalar):
            values.append(_Constant(complex(scalars[node.name]) if node.name in scalars else None))
        elif isinstance(node, Placed):
            values.append(_Constant(None))
        elif isinstance(node, Read):
            coefficient = complex(coefficients[node.field]) if node.field in coefficients else None
            values.append({node: 1.0} if node.field in updated else _Constant(coefficient))
        else:
            values.append(_applied(node, [values[arg] for arg in node.args]))
    last = values[-1]
    return {} if isinstance(last, _Constant) else last


def _applied(node: Apply, args: Sequence[Terms | _Constant | None]) -> Terms | _Constant | None:
    if any(arg is None for arg in args):
        return None
    if all(isinstance(arg, _Constant) for arg in args):
        return _Constant(_evaluated(node.op, [arg.value for arg in args if isinstance(arg, _Constant)]))
    if node.op in {"add", "sub"}:
        left, right = (arg if isinstance(arg, Mapping) else {} for arg in args)
        sign = 1.0 if node.op == "add" else -1.0
        total = dict(left)
        for read, weight in right.items():
            total[read] = total.get(read, 0.0) + sign * weight
        return total
    return _scaled(node.op, args)


def _scaled(op: str, args: Sequence[Terms | _Constant | None]) -> Terms | None:
    """Multiply weights by a known number; anything else is not derived."""
    match op, args:
        case "neg", [Mapping() as terms]:
            return {read: -weight for read, weight in terms.items()}
        case ("mul", [Mapping() as terms, _Constant(value=factor)]) | (
            "mul",
            [_Constant(value=factor), Mapping() as terms],
        ):
            return None if factor is None else {read: weight * factor for read, weight in terms.items()}
        case "div", [Mapping() as terms, _Constant(value=factor)]:
            return {read: weight / factor for read, weight in terms.items()} if factor else None
    return None


def _evaluated(op: str, values: Sequence[complex | None]) -> complex | None:
    """Apply an operator to constants; None where one is not known or the result is no number."""
    numbers = [value.real if not value.imag else value for value in values if value is not None]
    if len(numbers) < len(values):
        return None
    try:
        with np.errstate(all="ignore"):
            result = complex(OPERATORS[op].evaluate(*(np.asarray(value)[()] for value in numbers)))
    except (TypeError, ValueError, ArithmeticError):
        return None
    return result if math.isfinite(result.real) and math.isfinite(result.imag) else None


def _angles(rank: int, *, half: bool) -> npt.NDArray[np.float64]:
    """Return the waves: angles per cell, the mean first; shape (p, rank).

    Half of them are enough where weights are real: the factors of the others are conjugate.
    """
    count = _WAVES[rank]
    line = 2.0 * np.pi * np.arange(count) / count
    line = np.where(line > np.pi, line - 2.0 * np.pi, line)
    first = line[: count // 2 + 1] if half else line
    return np.array(list(itertools.product(first, *[line] * (rank - 1))))


def _places(program: Program) -> dict[tuple[str, int], int]:
    levels = [(field, age) for field in program.updated for age in range(program.history(field))]
    return {level: place for place, level in enumerate(levels)}


def _amplification(program: Program, symbols: Sequence[Terms], angles: npt.NDArray[np.float64]) -> Complex | None:
    """Return G for every wave; shape (p, n, n), a row and a column per updated field and time level.

    None where sweeps grow along the grid, so that no wave stays one.
    """
    places = _places(program)
    matrix = np.zeros((len(angles), len(places), len(places)), dtype=np.complex128)
    turn = [
        {step: np.exp(1j * step * angles[:, axis]) for step in range(-below, above + 1)}
        for axis, (below, above) in enumerate(program.reach)
    ]
    new = np.zeros_like(matrix)
    for statement, terms in zip(program.statements, symbols, strict=True):
        row = places[statement.field, 0]
        for read, weight in terms.items():
            phase = weight * functools.reduce(np.multiply, (turn[n][step] for n, step in enumerate(read.offset)))
            if read.level == 1:
                new[:, row, places[read.field, 0]] += phase
            else:
                matrix[:, row, places[read.field, -read.level]] += phase
    if new.any():
        if _radius(new).max() >= 1.0:
            return None
        matrix[...] = np.linalg.solve(np.eye(len(places)) - new, matrix)
    for (field, age), place in places.items():
        if age:
            matrix[:, place, places[field, age - 1]] = 1.0
    return matrix


def _bounded_growth(program: Program, symbols: Sequence[Terms]) -> float:
    """Return by which factor per step a disturbance grows in a small grid with zeros around; 0 where it does not."""
    places, extent = _places(program), _SMALL[program.rank]
    cells = np.indices((extent,) * program.rank).reshape(program.rank, -1)
    count = cells.shape[1]
    new: Array = np.zeros((len(places) * count,) * 2, np.complex128)
    old = np.zeros_like(new)
    for statement, terms in zip(program.statements, symbols, strict=True):
        row = places[statement.field, 0] * count
        for read, weight in terms.items():
            neighbours = cells + np.array(read.offset)[:, None]
            inside = np.flatnonzero(((neighbours >= 0) & (neighbours < extent)).all(axis=0))
            column = places[read.field, max(0, -read.level)] * count
            source = np.ravel_multi_index(tuple(neighbours[:, inside]), (extent,) * program.rank)
            (new if read.level == 1 else old)[row + inside, column + source] += weight
    for (field, age), place in places.items():
        if age:
            here = np.arange(count)
            old[place * count + here, places[field, age - 1] * count + here] = 1.0
    # The inverse of I - A: a sum of powers that ends, whose zeros stay zeros; rounding there would grow, too.
    new = new.real if _are_real(symbols) else new
    inverse, power = np.eye(len(new)) + new, new @ new
    while power.any() and np.isfinite(power).all():
        inverse, power = inverse + power @ inverse, power @ power
    step = inverse @ (old.real if _are_real(symbols) else old)
    state: Array = np.random.default_rng(0).standard_normal(len(new))
    logs: list[float] = []
    for _ in range(4 * _QUARTER):
        moved = step @ state
        size = float(np.linalg.norm(moved))
        if not 0.0 < size < math.inf:
            return 0.0
        state = moved / size
        logs.append(math.log(size))
    third, last = sum(logs[2 * _QUARTER : 3 * _QUARTER]), sum(logs[3 * _QUARTER :])
    return math.exp(last / _QUARTER) if last > _LASTING * third else 0.0


def _radius(matrix: Complex) -> npt.NDArray[np.float64]:
    """Return the spectral radius of every matrix; shape (p,)."""
    if matrix.shape[-1] == 1:
        return np.abs(matrix[:, 0, 0])
    if not np.isfinite(matrix).all():
        return np.full(len(matrix), np.nan)
    return np.asarray(np.abs(np.linalg.eigvals(matrix)).max(axis=1))
