"""Operations of a cell by what they take: sums and products, divisions and roots, exponentials and their like."""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.base.dtypes import is_rounded
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import VectorUnits
from tilewright.programs.stencil.dependences import chained_reads, plane_weights
from tilewright.programs.stencil.expression import Apply, Node, Read, Tape
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.programs.stencil.powers import reduce_operators
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.sums import SumWork

_EXPONENTIALS = {
    "exp": (1.0, 1.4),
    "log": (1.3, 1.6),
    "sin": (1.5, 2.3),
    "cos": (1.5, 2.3),
    "tan": (1.7, 3.3),
    "tanh": (1.3, 1.7),
    "pow": (5.3, 6.3),
    "atan2": (2.3, 3.3),
}
"""How many exponentials of a vector of float32 a function takes, of float32 and of float64 in a vector as wide: the
polynomials of generated C, measured on a Zen 4."""

_WIDE, _SUMS = frozenset({"float64", "complex128"}), frozenset({"add", "sub"})
_DIVISION = 3  # operations that follow each other for as long as a division or a root takes: 10 to 15 cycles
_CHAINS = 8  # rows of a recurrence that are computed in turn: a chain takes 5 to 12 cycles a cell, its instructions 2
_ISSUED, _AROUND = 6.0, 3
"""Instructions per cycle of processors since 2020, and those of a cell besides reads and operations: its store, and
those of the loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """How many operations a cell takes in a step."""

    plain: int = 0
    divisions: int = 0  # and roots
    functions: int = 0  # exponentials and their like
    exponentials: float = 0  # of float32 vectors, as long as these functions take

    @property
    def all(self) -> int:
        """Every operation."""
        return self.plain + self.divisions + self.functions

    def __add__(self, other: "Operations") -> "Operations":
        return Operations(
            plain=self.plain + other.plain,
            divisions=self.divisions + other.divisions,
            functions=self.functions + other.functions,
            exponentials=self.exponentials + other.exponentials,
        )


def count_operations(tape: Tape, dtype: str) -> Operations:
    """Count the operations of an expression as kernels that need not be strict compute it.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> count_operations(program("gradient2d").statements[0].tape, "float32")
    Operations(plain=13, divisions=2, functions=0, exponentials=0)
    """
    ops = [node.op for node in reduce_operators(tape, rounds=is_rounded(dtype)) if isinstance(node, Apply)]
    functions = [op for op in ops if op in _EXPONENTIALS]
    specials = sum(op in SPECIAL for op in ops)
    wide = dtype in _WIDE
    return Operations(
        plain=len(ops) - specials,
        divisions=specials - len(functions),
        functions=len(functions),
        exponentials=sum(_EXPONENTIALS[op][wide] for op in functions),
    )


def hard_cycles(count: Operations, machine: Machine, end: str = "value") -> float:
    """Return the cycles that a vector's divisions, roots and functions take."""
    # A GPU has one kind of unit for all of them.
    if machine.kind == "gpu":
        return (count.divisions + count.functions) * machine.special_cycles.end(end)
    return count.divisions * machine.special_cycles.end(end) + count.exponentials * machine.function_cycles.end(end)


def chains_in_turn(problem: Problem, statement: Statement) -> tuple[int, int]:
    """Of how many rows of a recurrence a cell each is computed in turn, and by how many cells each follows the last.

    One where no cell waits for another one of its row, or the next cells read what sources add.
    """
    program = problem.program
    if program.rank == 1 or problem.points or not chained_reads(statement):
        return 1, 0
    return _CHAINS, plane_weights(program)[-2]


def serial_cycles(problem: Problem, machine: Machine, *, alone: bool = False) -> float:
    """Return the cycles per cell and step of a recurrence on a CPU; ``alone``: of a row without others in turn."""
    # A cell takes its instructions, or waits for one before it in its row: for the operations from the value that it
    # reads to its own, one after the other. The value just before is in a register still; others are stored and loaded.
    # Of rows that are computed in turn so many chains overlap.
    program, dtype = problem.program, problem.dtype

    def cycles(op: str) -> float:
        function = _EXPONENTIALS[op][dtype in _WIDE] * machine.function_cycles.value if op in _EXPONENTIALS else 0.0
        return max(function, machine.chain_cycles.value * (_DIVISION if op in SPECIAL else 1))

    total = 0.0
    for statement in program.statements:
        together = 1 if alone else chains_in_turn(problem, statement)[0]
        chains = [
            (machine.chain_store_cycles.value * (read.offset[-1] < -1) + _way(statement.tape, read, cycles))
            / (-read.offset[-1] * together)
            for read in chained_reads(statement)
        ]
        count = count_operations(statement.tape, dtype)
        instructions = count.plain + len(statement.reads) + _AROUND
        total += max([instructions / _ISSUED + hard_cycles(count, machine), *chains])
    return total


def _way(tape: Tape, start: Read, cycles: Callable[[str], float]) -> float:
    """Cycles from a read to the result; a product that is added to what is none is part of the addition."""
    tape = reduce_operators(tape)
    sums = [node.args for node in tape if isinstance(node, Apply) and node.op in _SUMS]
    products = [[place for place in args if _product(tape[place])] for args in sums]
    added = {places[0] for places in products if len(places) == 1}
    ways: list[float | None] = []
    for place, node in enumerate(tape):
        if not isinstance(node, Apply):
            ways.append(0.0 if node == start else None)
            continue
        before = [way for way in (ways[each] for each in node.args) if way is not None]
        own = 0.0 if place in added else cycles(node.op)
        ways.append(max(before) + own if before else None)
    return ways[-1] or 0.0


def _product(node: Node) -> bool:
    return isinstance(node, Apply) and node.op == "mul"


_SPARE = 4  # registers for inputs and products


def sum_cycles(work: SumWork, units: VectorUnits, results: int, weights: int) -> float:
    """Return the cycles that a sum takes for one vector of each of its results, where everything overlaps."""
    # Products, all arithmetic and loads each bound it: ``max(P / p, A / a, L / l)`` (Treibig and Hager, "Introducing a
    # performance model for bandwidth-limited loop kernels", PPAM 2009, T_OL and T_nOL in L1). Weights that fit into
    # registers beside the results are loaded once, before the loop.
    held = weights + results + _SPARE <= units.registers
    loads = work.loads + (0 if held else work.weights)
    return max(work.products / units.products, work.arithmetic / units.arithmetic, loads / units.loads)
