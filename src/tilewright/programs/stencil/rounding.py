"""How far a result may lie from the float64 reference: the documented rounding bounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.dtypes import is_rounded, limits
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.expression import Apply, Const, Index, Inside, Placed, Profile, Read, Scalar, Tape
from tilewright.programs.stencil.operators import OPERATORS
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.reference import Array

FACTOR = 4.0  # the bound is this many units of rounding per operation and step
_PERTURBATIONS = 3
_POSITIVE = frozenset({"add", "mul", "div"})  # operators whose result is not negative if their operands are not
_SAFETY = 16.0
Adding = Callable[[int], reference.Added]  # what sources add, by the number of steps done


def nothing(_: int) -> reference.Added:
    """Add nothing, in any step."""
    return {}


def is_linear(program: Program) -> bool:
    """Whether every new value is an affine function of the updated fields.

    Fields that are never updated and scalars count as constants.
    """
    return all(_degree(statement.tape, frozenset(program.updated)) <= 1 for statement in program.statements)


def _degree(tape: Tape, updated: frozenset[str]) -> int:
    """0: constant; 1: affine in the updated fields; 2: anything else."""
    degrees: list[int] = []
    for node in tape:
        if isinstance(node, Read):
            degrees.append(int(node.field in updated))
        elif isinstance(node, Const | Scalar | Placed):
            degrees.append(0)
        else:
            args = [degrees[arg] for arg in node.args]
            rule = OPERATORS[node.op].linear
            allowed = {"both": True, "either": sum(args) <= 1, "left": not any(args[1:]), "": False}[rule]
            degrees.append(max(args) if allowed or not any(args) else 2)
    return degrees[-1]


def _absolute(tape: Tape, read: reference.Reader, scalars: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Evaluate a tape on absolute values: every subtraction adds, every number counts by its size.

    What is read of fields is not negative already.
    """
    values: list[Any] = []
    for node in tape:
        if isinstance(node, Const):
            values.append(abs(node.value))
        elif isinstance(node, Scalar):
            values.append(np.abs(scalars[node.name]))
        elif isinstance(node, Read | Inside):
            values.append(read(node))
        elif isinstance(node, Index | Profile):
            values.append(np.abs(read(node)))
        else:
            args = [values[arg] for arg in node.args]
            op = {"sub": "add", **dict.fromkeys(("neg", "conj", "real", "imag"), "abs")}.get(node.op, node.op)
            value = OPERATORS[op].evaluate(*args)
            values.append(value if op in _POSITIVE else np.abs(value))
    return values[-1]


def runs(problem: Problem, arrays: Mapping[str, Sequence[Array]], scalars: Mapping[str, Any]) -> int:
    """Return how many times :func:`bound` runs a problem."""
    if not problem.rounds:
        return 1
    if is_linear(problem.program):
        return 1 if _is_positive(problem, arrays, scalars) else 2
    return 2 + _PERTURBATIONS


def bound(
    problem: Problem,
    arrays: Mapping[str, Sequence[Array]],
    scalars: Mapping[str, Any],
    stepped: Callable[[], None] = reference.silent,  # called after every step of every run
    added: Adding = nothing,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Run the float64 reference and say how far a result in the problem's dtype may lie from it.

    For linear programs ``|out - ref| <= 4 * operations per cell * steps * (eps * A + eta)`` where ``A`` is the program
    evaluated on absolute values, to which sources add theirs, and ``eta`` the dtype's smallest normal number, of 16
    bits the smallest positive one, by which an operation is off that underflows. For others the largest deviation of a
    run in the problem's own dtype and of float64 runs whose values are perturbed by a unit of rounding in every step,
    times a safety factor, and the same for underflow. Both are per updated field, in float64.
    """
    if not problem.rounds:
        exact = reference.run(problem, arrays, scalars, stepped=stepped, added=added)
        return exact, {field: np.zeros(problem.shape) for field in exact}
    wide = np.complex128 if problem.dtype.startswith("complex") else np.float64
    exact = reference.run(problem, arrays, scalars, wide, stepped=stepped, added=added)
    eps, least = float(limits(problem.dtype).eps), underflow(problem)
    if is_linear(problem.program):
        positive = _is_positive(problem, arrays, scalars)
        size = exact if positive else _run_absolute(problem, arrays, scalars, stepped, added)
        return exact, {field: units(problem) * eps * value + least for field, value in size.items()}
    worst = _perturbed(problem, arrays, scalars, exact, eps, stepped, added)
    return exact, {field: value + least for field, value in worst.items()}


def units(problem: Problem) -> float:
    """Units of rounding by which a run may be off: four per operation and step."""
    program, adds = problem.program, len(problem.points.sources)
    return FACTOR * (program.flops + program.loads + adds) * max(1, problem.steps)


def underflow(problem: Problem) -> float:
    """By how much a run may be off since values fall below the smallest number that kernels compute with."""
    precision = limits(problem.dtype)
    return units(problem) * float(precision.smallest_normal if problem.flushes else precision.smallest_subnormal)


def _run_absolute(
    problem: Problem,
    arrays: Mapping[str, Sequence[Array]],
    scalars: Mapping[str, Any],
    stepped: Callable[[], None],
    added: Adding,
) -> dict[str, Array]:
    """Run the program evaluated on absolute values: of the data, the constants, the sources, the boundaries' values."""
    positive = {field: [_size(array) for array in versions] for field, versions in arrays.items()}
    sides = tuple(
        tuple((replace(low, value=abs(low.value)), replace(high, value=abs(high.value))) for low, high in axes)
        for axes in problem.boundaries
    )
    problem = replace(problem, boundaries=sides)
    state = reference.start(problem, positive, np.float64)
    with np.errstate(all="ignore"):
        for number in range(problem.steps):
            sizes = {field: (cells, np.abs(each)) for field, (cells, each) in added(number).items()}
            state = reference.step(problem, state, scalars, _absolute, sizes, number)
            stepped()
    return {field: state[field][0] for field in problem.program.updated}


def _size(array: Array) -> Array:
    size: Array = np.abs(array if array.dtype.kind == "c" else np.asarray(array, dtype=np.float64))
    return size


def _is_positive(problem: Problem, arrays: Mapping[str, Sequence[Array]], scalars: Mapping[str, Any]) -> bool:
    """Whether nothing in a run is ever negative, so that the run on absolute values is the run itself."""
    if problem.points.sources:
        return False
    nodes = [node for statement in problem.program.statements for node in statement.tape]
    constants = [node.value for node in nodes if isinstance(node, Const)]
    inputs = [array for versions in arrays.values() for array in versions]
    outside = [side.value for axes in problem.boundaries for pair in axes for side in pair]
    return (
        all(not isinstance(node, Apply) or node.op in _POSITIVE for node in nodes)
        and all(
            not np.iscomplexobj(value) and bool(np.all(value >= 0))
            for value in [*constants, *scalars.values(), *outside]
        )
        and all(array.dtype.kind != "c" and bool((array >= 0).all()) for array in inputs)
    )


def _perturbed(  # noqa: PLR0913, PLR0917  (what a bound has at hand)
    problem: Problem,
    arrays: Mapping[str, Sequence[Array]],
    scalars: Mapping[str, Any],
    exact: Mapping[str, Array],
    eps: float,
    stepped: Callable[[], None],
    added: Adding,
) -> dict[str, Array]:
    outcomes = [reference.run(problem, arrays, scalars, stepped=stepped, added=added)]
    for seed in range(_PERTURBATIONS):
        generator = np.random.default_rng(seed)
        state = reference.start(problem, arrays, next(iter(exact.values())).dtype)
        with np.errstate(all="ignore"):
            for number in range(problem.steps):
                for field in problem.program.updated:
                    noise = generator.uniform(-eps, eps, problem.shape)
                    state[field][0] = state[field][0] * (1.0 + noise)
                state = reference.step(problem, state, scalars, added=added(number), number=number)
                stepped()
        outcomes.append({field: state[field][0] for field in problem.program.updated})
    result = {}
    for field, value in exact.items():
        with np.errstate(all="ignore"):
            worst = max(float(np.nanmax(np.abs(run[field] - value), initial=0.0)) for run in outcomes)
            result[field] = _SAFETY * (worst + eps * np.abs(value))
    return result


def worst_excess(out: Array, exact: Array, allowed: Array) -> tuple[float, bool]:
    """Return the largest error where the reference is finite, and whether every cell is within its bound.

    Where the reference or its bound is not finite, or it exceeds the dtype's range, any non-finite result agrees.
    """
    with np.errstate(all="ignore"):
        error = np.abs(out.astype(exact.dtype) - exact)
        limit = float(limits(out.dtype.name).max) if is_rounded(out.dtype) else np.inf
        wild = ~np.isfinite(exact) | ~np.isfinite(allowed) | (np.abs(exact) > 0.5 * limit)
        agrees = np.where(wild, True, error <= allowed)
    finite = error[~wild]
    return float(finite.max(initial=0.0)), bool(agrees.all())
