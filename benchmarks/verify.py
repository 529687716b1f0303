"""Is a contender's result right? Checked at the benchmark's own size and step count, before anything is timed.

Either every cell by strict float64 C (:func:`reference`), or, where that would take long, three blocks of cells by
strict C and every cell by comparing the contenders with each other (:class:`Sampled`).
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from case import Array, Case, Data, initial, sequences
from rivals import UnavailableError
from rivals.naive_c import StrictC
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.boundaries import FIXED, Boundary
from tilewright.programs.stencil.expression import Apply, Const, Tape
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.rounding import is_linear, underflow, units
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.fill import make_data
from tilewright.workloads.tables.reference import fill

_SMALL = {1: (1003,), 2: (61, 83), 3: (17, 22, 29)}
_SAFETY = 16.0
_BLOCK = {1: 4096, 2: 96, 3: 24}
"""Cells of a sampled block along every axis."""
_RATE, _OPERATIONS = 1.2e9, 1.5e10
"""Cells, and operations, that strict C computes in a second, roughly."""
_MOST_BYTES = 2**28
"""Bytes of a field up to which the whole reference fits into memory beside the contenders."""
_PIECE = 2**22
"""Cells that are compared at a time."""
Fields = Mapping[str, Array]
Judge = Callable[[Fields], tuple[float, bool]]
"""Judges the updated fields after a run: the largest error seen, and whether all is within its bound."""


def reference(case: Case, problem: Problem | None = None, data: Data | None = None) -> tuple[Fields, Fields]:
    """Compute a case, or a part of it, in float64 by strict C and say how far a result may lie from it.

    Strict C itself is compared with the NumPy reference on a small grid first. The bound is the package's own:
    ``4 eps * operations * steps * (the program on absolute values)`` for a linear program; otherwise 16 times the
    largest deviation of a strict run in the case's dtype, plus a rounding of the value; and what underflow explains.

    Args:
        case: The case.
        problem: A part of the case's problem; all of it by default.
        data: That part's initial data.

    Raises:
        UnavailableError: If there is no compiler, or strict C disagrees with NumPy.
    """
    if case.table:
        return _table(case)
    problem = case.problem() if problem is None else problem
    _check_strict(replace(case, shape=_SMALL[len(case.shape)], steps=min(case.steps, 20), threads=1))
    wide = replace(problem, dtype="float64")
    exact = _strict(case, wide, data)
    eps = float(np.finfo(case.dtype).eps)
    if is_linear(problem.program):
        size = _strict(case, _absolute(wide), data, absolute=True)
        return exact, {field: units(problem) * eps * value + underflow(problem) for field, value in size.items()}
    plain = _strict(case, problem, data)
    worst = {field: float(np.max(np.abs(plain[field] - exact[field]))) for field in exact}
    bounds = {field: _SAFETY * (worst[field] + eps * np.abs(exact[field])) for field in exact}
    return exact, {field: bound + underflow(problem) for field, bound in bounds.items()}


def accept(result: Fields, exact: Fields, allowed: Fields) -> tuple[float, bool]:
    """Compare a result with the reference: the largest error, and whether every cell is within its bound."""
    pairs = [rounding.worst_excess(result[field], exact[field], allowed[field]) for field in exact]
    return max(error for error, _ in pairs), all(good for _, good in pairs)


def _table(case: Case) -> tuple[Fields, Fields]:
    """Fill a table by NumPy, along its anti-diagonals; whole numbers are right or wrong."""
    known = recurrence_named(case.program)
    exact = fill(known, make_data(known, sequences(case), {}, case.dtype))
    return exact, {name: np.zeros(case.shape) for name in exact}


@functools.lru_cache
def _check_strict(case: Case) -> None:
    exact, allowed = rounding.bound(case.problem(), initial(case), {})
    _, good = accept(_strict(case, case.problem()), exact, allowed)
    if not good:
        raise UnavailableError(f"the C reference of {case.program} disagrees with NumPy")


def _strict(case: Case, problem: Problem, data: Data | None = None, *, absolute: bool = False) -> dict[str, Array]:
    """Run a problem by strict C, on the case's data or those given, or on their absolute values."""
    code = StrictC(case, problem, data)
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


def judge(case: Case, seconds: float = float("inf")) -> tuple[Judge, str]:
    """Choose how a case is checked.

    Args:
        case: The case.
        seconds: What the whole reference may take, by a rough estimate; beyond, blocks are sampled.

    Returns:
        The judge, and in words what it compares.
    """
    problem = case.problem()
    operations = problem.program.flops + problem.program.loads
    cost = max(1.0 / _RATE, operations / _OPERATIONS)
    if 2.5 * case.updates * cost > seconds or problem.cells * problem.itemsize > _MOST_BYTES:
        blocks = [block_of(problem, place) for place in (0.0, 0.5, 1.0)]
        if sum(block.problem.cells for block in blocks) < problem.cells // 2:
            words = "blocks by float64 C, every cell by comparing the contenders with each other"
            return Sampled(case, blocks), f"{len(blocks)} {words}"
    exact, allowed = reference(case)
    return functools.partial(accept, exact=exact, allowed=allowed), "every cell by float64 C"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some cells of a grid, and around them those that they depend on.

    Attributes:
        inside: The cells, in the grid.
        taken: Which cells of the grid are computed, per axis.
        centre: The cells, among those computed.
        problem: The problem on the cells that are computed; where it is cut off, its edges are fixed.
    """

    inside: tuple[slice, ...]
    taken: tuple[Array, ...]
    centre: tuple[slice, ...]
    problem: Problem


def block_of(problem: Problem, place: float) -> Block:
    """Cut a block out of a problem: at its low corner (0), its high corner (1) or in between."""
    stages = len(problem.program.stages)
    inside, taken, centre = [], [], []
    sides: list[list[tuple[Boundary, Boundary]]] = [[] for _ in problem.boundaries]
    for axis, extent in enumerate(problem.shape):
        size = min(_BLOCK[problem.program.rank], extent)
        first = round(place * (extent - size))
        # Wrong values advance from a cut by the reach in every stage of every step.
        margin = [reach * stages * (problem.steps + 1) for reach in problem.program.reach[axis]]
        wraps = [field[axis][0].kind == "wrap" for field in problem.boundaries]
        low, high = first - margin[0], first + size + margin[1]
        if high - low >= extent or any(wraps) != all(wraps):
            low, high = 0, extent
        elif not any(wraps):
            low, high = max(0, low), min(extent, high)
        inside.append(slice(first, first + size))
        taken.append(np.arange(low, high) % extent)
        centre.append(slice(first - low, first - low + size))
        whole = high - low == extent
        for field, kinds in zip(sides, problem.boundaries, strict=True):
            below, above = kinds[axis]
            field.append((
                below if whole or (low == 0 and not any(wraps)) else FIXED,
                above if whole or (high == extent and not any(wraps)) else FIXED,
            ))  # fmt: skip
    shape = tuple(len(index) for index in taken)
    part = replace(problem, shape=shape, boundaries=tuple(tuple(field) for field in sides))
    return Block(inside=tuple(inside), taken=tuple(taken), centre=tuple(centre), problem=part)


class Sampled:
    """Judges the first result by blocks of cells, and every further one also by the first, cell by cell.

    The bound of a cell's difference between two results is four times the largest bound in the blocks: each of the two
    may be off by its own, and the blocks may miss the largest.
    """

    def __init__(self, case: Case, blocks: Sequence[Block]) -> None:
        """Compute the blocks."""
        self.blocks = blocks
        self.first: Fields = {}
        self._known: list[tuple[Fields, Fields]] = []
        data = initial(case)
        for block in blocks:
            cells = np.ix_(*block.taken)
            part = {field: [version[cells] for version in versions] for field, versions in data.items()}
            self._known.append(reference(case, block.problem, part))

    def __call__(self, result: Fields) -> tuple[float, bool]:
        """Judge a result; the first good one must stay readable."""
        verdicts = []
        for block, (exact, allowed) in zip(self.blocks, self._known, strict=True):
            found, expected, most = (
                {field: array[cut] for field, array in fields.items()}
                for fields, cut in ((result, block.inside), (exact, block.centre), (allowed, block.centre))
            )
            verdicts.append(accept(found, expected, most))
        if self.first:
            verdicts += [self._alike(field, result[field]) for field in self.first]
        elif all(good for _, good in verdicts):
            self.first = result
        return max(error for error, _ in verdicts), all(good for _, good in verdicts)

    def _alike(self, field: str, found: Array) -> tuple[float, bool]:
        most = 4.0 * max(
            float(allowed[field][block.centre].max())
            for block, (_, allowed) in zip(self.blocks, self._known, strict=True)
        )
        worst = 0.0
        rows = max(1, _PIECE // max(1, found[0].size))
        for low in range(0, len(found), rows):
            apart = np.abs(found[low : low + rows] - self.first[field][low : low + rows])
            worst = max(worst, float(np.nan_to_num(apart.max(), nan=np.inf)))
        return worst, worst <= most
