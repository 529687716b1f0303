"""What a recurrence computes in a cell, for every target."""

from collections.abc import Callable, Iterator

from tilewright.codegen import ir
from tilewright.codegen.expression import Leaves, lower_tape
from tilewright.programs.stencil.expression import Read, of_truths
from tilewright.programs.tables.table import Recurrence


def element_of(dtype: str) -> ir.Element:
    """Return the type that a table's values are kept in: truth values are bytes that are 0 or 1."""
    return ir.element("uint8" if dtype == "bool" else dtype)


def input_type(program: Recurrence, name: str, dtype: str, floating: tuple[str, ...]) -> ir.Element:
    """Return the type of an input's values: matrices and ``floating`` ones are of the tables' type, others int32."""
    kind = next(each.kind for each in program.inputs if each.name == name)
    return element_of(dtype) if kind == "matrix" or name in floating else ir.element("int32")


def lower_cells(
    b: ir.Builder,
    program: Recurrence,
    dtype: str,
    read: Callable[[Read], ir.Expr],
    lookup: Callable[[str, ir.Expr, ir.Expr], ir.Expr],
    *,
    wrapping: bool = False,  # whether the language lets no signed number overflow
) -> Iterator[tuple[str, ir.Expr]]:
    """Compute a cell's statements in order; yield each table and its value here, which later ones read."""
    real = element_of(dtype)
    now: dict[str, ir.Expr] = {}

    def leaf(node: Read) -> ir.Expr:
        known = now.get(node.field) if not any(node.offset) else None
        return known or read(node)

    def entry(name: str, row: ir.Expr, column: ir.Expr) -> ir.Expr:
        return lookup(name, row, column)

    leaves = Leaves(dtype=real, read=leaf, vector=False, lookup=entry, wrapping=wrapping)
    for number, statement in enumerate(program.statements):
        tape = of_truths(statement.tape, program.tables) if dtype == "bool" else statement.tape
        body, value = lower_tape(tape, leaves, f"v{number}_")
        b.emit(*body)
        result = value
        if dtype == "bool" and not _is_truth(value):
            result = truth(result.differs(0), real)
        if ir.type_of(result) != real:
            result = result.to(real)
        now[statement.table] = b.let(f"now_{statement.table}", result)
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
