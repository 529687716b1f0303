"""Operations of a cell by what they take: sums and products, divisions and roots, exponentials and their like."""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.machines.machine import Machine, Quantity
from tilewright.programs.stencil.expression import Apply, Tape
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.programs.stencil.powers import reduce_powers

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

    Args:
        tape: The expression.
        dtype: NumPy name of the element type.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> count_operations(program("gradient2d").statements[0].tape, "float32")
    Operations(plain=13, divisions=2, functions=0, exponentials=0)
    """
    ops = [node.op for node in reduce_powers(tape) if isinstance(node, Apply)]
    functions = [op for op in ops if op in _EXPONENTIALS]
    specials = sum(op in SPECIAL for op in ops)
    wide = dtype in {"float64", "complex128"}
    return Operations(
        plain=len(ops) - specials,
        divisions=specials - len(functions),
        functions=len(functions),
        exponentials=sum(_EXPONENTIALS[op][wide] for op in functions),
    )


def hard_cycles(
    count: Operations, machine: Machine, of: Callable[[Quantity], float] = lambda quantity: quantity.value
) -> float:
    """Return the cycles that a vector's divisions, roots and functions take.

    A GPU has one kind of unit for all of them.

    Args:
        count: How many there are.
        machine: The machine.
        of: Which number of a parameter counts: its value, or an end of its range.
    """
    if machine.kind == "gpu":
        return (count.divisions + count.functions) * of(machine.special_cycles)
    return count.divisions * of(machine.special_cycles) + count.exponentials * of(machine.function_cycles)
