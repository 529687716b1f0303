"""Is a contender's result right? Checked at the benchmark's own size and step count, before anything is timed."""

from dataclasses import replace

import numpy as np

from case import Array, Case, initial, sequences
from rivals import UnavailableError
from rivals.naive_c import StrictC
from tilewright.api.table_data import make_data
from tilewright.programs import rounding
from tilewright.programs.expression import Apply, Const, Tape
from tilewright.programs.problem import Problem
from tilewright.programs.recurrences import recurrence_named
from tilewright.programs.rounding import FACTOR, is_linear
from tilewright.programs.table_reference import fill

_SMALL = {1: (1003,), 2: (61, 83), 3: (17, 22, 29)}
_SAFETY = 16.0
Fields = dict[str, Array]


def reference(case: Case) -> tuple[Fields, Fields]:
    """Compute a case in float64 by strict C and say how far a result may lie from it.

    Strict C itself is compared with the NumPy reference on a small grid first. The bound is the package's own:
    ``4 eps * operations * steps * (the program on absolute values)`` for a linear program; otherwise 16 times the
    largest deviation of a strict run in the case's dtype, plus a rounding of the value.

    Raises:
        UnavailableError: If there is no compiler, or strict C disagrees with NumPy.
    """
    if case.table:
        return _table(case)
    problem = case.problem()
    _check_strict(replace(case, shape=_SMALL[len(case.shape)], steps=min(case.steps, 20)))
    wide = replace(case, dtype="float64")
    exact = _strict(wide, wide.problem())
    eps = float(np.finfo(case.dtype).eps)
    if is_linear(problem.program):
        size = _strict(wide, _absolute(wide.problem()), absolute=True)
        scale = FACTOR * eps * (problem.program.flops + problem.program.loads) * max(1, case.steps)
        return exact, {field: scale * value for field, value in size.items()}
    plain = _strict(case, problem)
    worst = {field: float(np.max(np.abs(plain[field] - exact[field]))) for field in exact}
    return exact, {field: _SAFETY * (worst[field] + eps * np.abs(exact[field])) for field in exact}


def accept(result: Fields, exact: Fields, allowed: Fields) -> tuple[float, bool]:
    """Compare a result with the reference: the largest error, and whether every cell is within its bound."""
    pairs = [rounding.worst_excess(result[field], exact[field], allowed[field]) for field in exact]
    return max(error for error, _ in pairs), all(good for _, good in pairs)


def _table(case: Case) -> tuple[Fields, Fields]:
    """Fill a table by NumPy, along its anti-diagonals; whole numbers are right or wrong."""
    known = recurrence_named(case.program)
    exact = fill(known, make_data(known, sequences(case), {}, case.dtype))
    return exact, {name: np.zeros(case.shape) for name in exact}


def _check_strict(case: Case) -> None:
    exact, allowed = rounding.bound(case.problem(), initial(case), {})
    _, good = accept(_strict(case, case.problem()), exact, allowed)
    if not good:
        raise UnavailableError(f"the C reference of {case.program} disagrees with NumPy")


def _strict(case: Case, problem: Problem, absolute: bool = False) -> Fields:
    """Run a problem by strict C, on the case's data or on its absolute values."""
    code = StrictC(case)
    code.problem = problem
    if absolute:
        for group in code.buffers.start.values():
            for array in group:
                np.abs(array, out=array)
        code.buffers.fill()
    code.prepare()
    code.run()
    return {field: array.copy() for field, array in code.result().items()}


def _absolute(problem: Problem) -> Problem:
    """The same program on absolute values: every subtraction adds, every constant counts by its size."""

    def positive(tape: Tape) -> Tape:
        swap = {"sub": "add", "neg": "abs"}
        return tuple(
            Const(abs(node.value))
            if isinstance(node, Const)
            else replace(node, op=swap.get(node.op, node.op))
            if isinstance(node, Apply)
            else node
            for node in tape
        )

    statements = tuple(replace(s, tape=positive(s.tape)) for s in problem.program.statements)
    return replace(problem, program=replace(problem.program, statements=statements))
