"""What a recurrence computes in a cell, for every target."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.expression import Leaves, lower_tape
from tilewright.programs.stencil.expression import Read, of_truths
from tilewright.workloads.tables.problem import Recurrence


@dataclass(frozen=True, slots=True)
class TypedRecurrence:
    """A recurrence, and the types that its tables and inputs are kept in."""

    program: Recurrence
    dtype: str
    floating: tuple[str, ...]  # inputs of the tables' type; matrices are as well, others are whole numbers of 32 bits

    @property
    def real(self) -> ir.Element:
        """Type of the tables' values: truth values are bytes that are 0 or 1."""
        return ir.element("uint8" if self.dtype == "bool" else self.dtype)

    def kind(self, name: str) -> ir.Element:
        """Type of an input's values."""
        return self.real if name in (*self.inputs("matrix"), *self.floating) else ir.element("int32")

    def inputs(self, kind: str) -> list[str]:
        """Names of the inputs of a kind."""
        return [each.name for each in self.program.inputs if each.kind == kind]

    def entry(self, kind: str, *how: object) -> str:
        """Name of the kernel that is written in some way."""
        name = re.sub(r"[^a-z0-9]+", "_", self.program.name.lower())[:40]
        return f"tw_table_{name}_{fingerprint(kind, self.program, self.dtype, self.floating, *how)[:12]}"

    def cells(
        self,
        b: ir.Builder,
        read: Callable[[Read], ir.Expr],
        lookup: Callable[[str, ir.Expr, ir.Expr], ir.Expr],
        *,
        wrapping: bool = False,  # whether the language lets no signed number overflow
    ) -> Iterator[tuple[str, ir.Expr]]:
        """Compute a cell's statements in order; yield each table and its value here, which later ones read."""
        program, truths, now = self.program, self.dtype == "bool", dict[str, ir.Expr]()

        def leaf(node: Read) -> ir.Expr:
            value = now.get(node.field) if not any(node.offset) else None
            return read(node) if value is None else value

        leaves = Leaves(dtype=self.real, read=leaf, vector=False, lookup=lookup, wrapping=wrapping)
        for number, statement in enumerate(program.statements):
            tape = of_truths(statement.tape, program.tables) if truths else statement.tape
            body, result = lower_tape(tape, leaves, f"v{number}_")
            b.emit(*body)
            if truths and not _is_truth(result):
                result = truth(result.differs(0), self.real)
            now[statement.table] = b.let(f"now_{statement.table}", result.to(self.real))
            yield statement.table, now[statement.table]


def _is_truth(value: ir.Expr) -> bool:
    return isinstance(value, ir.Op) and value.op is ir.Operator.NUMBER


def truth(condition: ir.Expr, kind: ir.Element) -> ir.Expr:
    """Return 1 where a condition holds, else 0."""
    return condition.apply(ir.Operator.NUMBER, kind)


def joined(program: Recurrence, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return two values joined by the semiring's addition; of two that are not numbers, or one, that one."""
    if program.semiring.plus == "or":
        kind = ir.type_of(b)
        if not isinstance(kind, ir.Element):
            raise TypeError(f"a table holds numbers, not values of type {kind}")
        return truth(a.differs(0) | b.differs(0), kind)
    return b.apply(ir.Operator(program.semiring.plus), ir.type_of(b), a)
