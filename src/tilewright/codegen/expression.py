"""Expression tapes -> straight-line IR, for scalars or for vectors.

Before: a tape ``u[-1] ; u[0] ; add ; 0.5 ; mul``. After: ``t2 = u(-1) + u(0); t4 = t2 * 0.5``, one name per operation
in the program's own order, which is what makes a strict kernel bit-equal however it is tiled. Operations on constants
alone are done here, in double precision.

Reads may give whole numbers of another type than is computed in, such as codes of letters: these meet each other as
they are, and others in the wider type; what comes of an operation is of the element type again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.programs.expression import Apply, Const, Node, Read, Scalar, Tape
from tilewright.programs.operators import BOOLEAN, OPERATORS
from tilewright.programs.table import LOOKUP

_COMPARE = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_LOGICAL = frozenset({"and", "or", "not"})
_WRAPPING = frozenset({"add", "sub", "mul"})
_BOOLEAN_ARITHMETIC = {"add": "or", "maximum": "or", "mul": "and", "minimum": "and", "abs": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """Where the leaves of a tape come from.

    Attributes:
        dtype: Element type.
        read: The value of a read: an element, or a vector of them.
        vector: Whether reads yield vectors.
        lookup: An entry of a matrix, of its name, row and column; None where there are none.
        wrapping: Whether sums, differences and products of signed whole numbers are written so that they wrap around
            also in languages where those must not overflow.
    """

    dtype: ir.Element
    read: Callable[[Read], ir.Expr]
    vector: bool
    lookup: Callable[[str, ir.Expr, ir.Expr], ir.Expr] | None = None
    wrapping: bool = False


def lower_tape(tape: Tape, leaves: Leaves, prefix: str = "t") -> tuple[tuple[ir.Stmt, ...], ir.Expr]:
    """Lower a tape.

    Args:
        tape: The expression.
        leaves: Where its leaves come from.
        prefix: Start of the new names.

    Returns:
        The statements, and the result as a scalar or vector of the element type.

    Raises:
        UsageError: If a constant does not fit the element type.
    """
    lowering = _Lowering(tape, leaves, prefix)
    for position, node in enumerate(tape):
        lowering.step(position, node)
    result = lowering.values[-1]
    numeric = lowering.number(result)
    wide = lowering.splat(numeric) if leaves.vector else numeric
    return tuple(lowering.body), wide


class _Lowering:
    def __init__(self, tape: Tape, leaves: Leaves, prefix: str) -> None:
        self.leaves = leaves
        self.prefix = prefix
        self.body: list[ir.Stmt] = []
        self.values: list[ir.Expr] = []
        self.scalar_type = leaves.dtype
        self.vector_type = ir.vector(leaves.dtype)
        self.mask_type = ir.mask(leaves.dtype)
        self.needed = _needed(tape)

    def step(self, position: int, node: Node) -> None:
        if isinstance(node, Const):
            self.values.append(self.literal(node.real))
        elif isinstance(node, Scalar):
            self.values.append(ir.Var(scalar_name(node.name), self.scalar_type))
        elif isinstance(node, Read):
            self.values.append(self.name(position, self.leaves.read(node)))
        elif position not in self.needed:
            self.values.append(ir.Real(0, self.scalar_type))
        elif self.leaves.lookup is not None and node.op.startswith(LOOKUP):
            row, column = (ir.Op(ir.Operator.CONVERT, (self.values[arg],), ir.INDEX) for arg in node.args)
            self.values.append(self.name(position, self.leaves.lookup(node.op[len(LOOKUP) :], row, column)))
        else:
            self.values.append(self.apply(position, node.op, [self.values[arg] for arg in node.args]))

    def literal(self, value: float) -> ir.Real:
        if isinstance(value, bool):
            return ir.Real(value, ir.BOOL)
        if self.scalar_type.is_integer:
            low, high = self.scalar_type.range
            if value != int(value) or not low <= value <= high:
                raise UsageError(f"the constant {value!r} does not fit {self.scalar_type}")
            return ir.Real(int(value), self.scalar_type)
        return ir.Real(float(value), self.scalar_type)

    def name(self, position: int, value: ir.Expr) -> ir.Var:
        kind: ir.Type = self.vector_type if self.leaves.vector else ir.type_of(value)
        var = ir.Var(f"{self.prefix}{position}", kind)
        self.body.append(ir.Let(var, value))
        return var

    def apply(self, position: int, op: str, args: list[ir.Expr]) -> ir.Expr:
        if all(isinstance(arg, ir.Real) for arg in args):
            return self.fold(op, args)
        logical = op in _LOGICAL or (op in _BOOLEAN_ARITHMETIC and all(self.is_truth(arg) for arg in args))
        if logical:
            truths = [self.truth(arg) for arg in args]
            name = _BOOLEAN_ARITHMETIC.get(op, op)
            if not name:
                return truths[0]
            return self.emit(position, name, self.alike(truths), truth=True)
        if op == "where":
            condition = self.truth(args[0])
            branches = [self.number(arg) for arg in args[1:]]
            if ir.type_of(condition) == ir.BOOL and self.leaves.vector:
                condition = self.splat_truth(condition)
            if ir.type_of(condition) == self.mask_type:
                branches = [self.splat(branch) for branch in branches]
            return self.emit(position, "where", [condition, *branches], truth=False)
        numbers = [self.number(arg) for arg in args]
        if op == "shr" and isinstance(numbers[1], ir.Real):
            return self.shift_right(position, numbers[0], numbers[1])
        return self.emit(position, op, numbers, truth=op in _COMPARE)

    def shift_right(self, position: int, number: ir.Expr, by: ir.Real) -> ir.Expr:
        """A shift by a constant; past all bits NumPy leaves the sign, which is 0 of what has none."""
        last = self.scalar_type.bits - 1
        if by.value > last and self.scalar_type.kind is ir.Kind.UINT:
            return ir.Real(0, self.scalar_type)
        return self.emit(position, "shr", [number, ir.Real(min(by.value, last), self.scalar_type)], truth=False)

    def emit(self, position: int, op: str, args: list[ir.Expr], *, truth: bool) -> ir.Var:
        computed = {ir.type_of(arg) for arg in args} - {ir.BOOL, self.mask_type}
        if computed - {self.scalar_type, self.vector_type}:
            return self.emit_in(position, op, args, _wider(computed), truth=truth)
        if self.leaves.wrapping and op in _WRAPPING and self.scalar_type.kind is ir.Kind.INT:
            unsigned = ir.element(f"u{self.scalar_type}")
            return self.emit_in(position, op, args, unsigned, truth=False)
        vector = any(ir.type_of(arg) in {self.vector_type, self.mask_type} for arg in args)
        if vector and op not in {"add", "sub", "mul", "div", "shr", *_COMPARE} and op != "where":
            args = [arg if ir.type_of(arg) == self.mask_type else self.splat(arg) for arg in args]
        operand: ir.Type = self.vector_type if vector else self.scalar_type
        result = ir.truth_of(operand) if truth else operand
        var = ir.Var(f"{self.prefix}{position}", result)
        self.body.append(ir.Let(var, ir.Op(ir.Operator(op), tuple(args), operand)))
        return var

    def emit_in(self, position: int, op: str, args: list[ir.Expr], kind: ir.Element, *, truth: bool) -> ir.Var:
        """Compute in another type of numbers than the element type."""
        numbers = tuple(arg if ir.type_of(arg) == ir.BOOL else _converted(arg, kind) for arg in args)
        value = ir.Op(ir.Operator(op), numbers, kind)
        var = ir.Var(f"{self.prefix}{position}", ir.BOOL if truth else self.scalar_type)
        self.body.append(ir.Let(var, value if truth else _converted(value, self.scalar_type)))
        return var

    def fold(self, op: str, args: list[ir.Expr]) -> ir.Real:
        value = OPERATORS[op].evaluate(*(arg.value for arg in args if isinstance(arg, ir.Real))).item()
        if op in BOOLEAN or isinstance(value, bool):
            return ir.Real(bool(value), ir.BOOL)
        return self.literal(value)

    def is_truth(self, value: ir.Expr) -> bool:
        return ir.type_of(value) in {ir.BOOL, self.mask_type}

    def truth(self, value: ir.Expr) -> ir.Expr:
        if self.is_truth(value):
            return value
        kind = ir.element_of(ir.type_of(value)) or self.scalar_type
        return ir.op(ir.Operator.NONZERO, value, ir.Real(0, kind))

    def number(self, value: ir.Expr) -> ir.Expr:
        """Turn a truth value into one or zero."""
        if isinstance(value, ir.Real) and value.type == ir.BOOL:
            return ir.Real(int(value.value), self.scalar_type)
        if ir.type_of(value) == ir.BOOL:
            return ir.Op(ir.Operator.NUMBER, (value,), self.scalar_type)
        if ir.type_of(value) == self.mask_type:
            return ir.Op(ir.Operator.NUMBER, (value,), self.vector_type)
        return value

    def alike(self, truths: list[ir.Expr]) -> list[ir.Expr]:
        if all(ir.type_of(truth) == ir.BOOL for truth in truths):
            return truths
        return [self.splat_truth(truth) if ir.type_of(truth) == ir.BOOL else truth for truth in truths]

    def splat_truth(self, truth: ir.Expr) -> ir.Expr:
        number = ir.splat(self.number(truth), self.vector_type)
        return ir.op(ir.Operator.NONZERO, number, ir.Real(0, self.scalar_type))

    def splat(self, value: ir.Expr) -> ir.Expr:
        return value if ir.type_of(value) == self.vector_type else ir.splat(value, self.vector_type)


def _wider(kinds: set[ir.Type]) -> ir.Element:
    """The type in which numbers of several types meet: a rounded one, or the widest."""
    found = [kind for kind in kinds if isinstance(kind, ir.Element)]
    return max(found, key=lambda kind: (kind.is_float, kind.bits))


def _converted(value: ir.Expr, kind: ir.Element) -> ir.Expr:
    if ir.type_of(value) == kind:
        return value
    if isinstance(value, ir.Real):
        return ir.Real(value.value, kind)
    return ir.Op(ir.Operator.CONVERT, (value,), kind)


def scalar_name(name: str) -> str:
    """Return the kernel's name of a program's scalar."""
    return f"c_{name}"


def _needed(tape: Tape) -> frozenset[int]:
    """Positions whose values something uses (:func:`fuse_roots` leaves unused ones behind)."""
    wanted = {len(tape) - 1}
    for position in range(len(tape) - 1, -1, -1):
        node = tape[position]
        if position in wanted and isinstance(node, Apply):
            wanted.update(node.args)
    return frozenset(wanted)


def fuse_roots(tape: Tape) -> Tape:
    """Name divisions by a square root, which processors do much faster together.

    Before: ``a / sqrt(b)``, two operations. After: ``over_sqrt(a, b)``, one, written as the product with a reciprocal
    square root that one Newton step refines.
    """
    result: list[Node] = list(tape)
    for position, node in enumerate(tape):
        if isinstance(node, Apply) and node.op == "div":
            left, right = node.args
            root = tape[right]
            if isinstance(root, Apply) and root.op == "sqrt" and not isinstance(tape[root.args[0]], Const):
                result[position] = Apply("over_sqrt", (left, root.args[0]))
    return tuple(result)
