"""Expression tapes -> straight-line IR, for scalars or for vectors.

Before: a tape ``u[-1] ; u[0] ; add ; 0.5 ; mul``. After: ``t2 = u(-1) + u(0); t4 = t2 * 0.5``, one name per operation
in the program's own order, which is what makes a strict kernel bit-equal however it is tiled. Operations on constants
alone are done here, in double precision.

Reads may give whole numbers of another type than is computed in, such as codes of letters: these meet each other as
they are, and others in the wider type; what comes of an operation is of the element type again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tilewright.base.dtypes import check_fits
from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.programs.stencil.expression import LOOKUP, Apply, Const, Inside, Node, Placed, Read, Scalar, Tape
from tilewright.programs.stencil.operators import BITWISE, OF_TRUTHS, OPERATORS, ORDERED, ROUNDINGS

_COMPARE = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_LOGICAL = frozenset({"and", "or", "not"})
_WRAPPING = frozenset({"add", "sub", "mul"})
_PARTS = frozenset({"conj", "real", "imag"})  # what is nothing to do for real numbers, or to be had without them
_BROADCAST = frozenset({"add", "sub", "mul", "div", *_COMPARE})
"""Operators of vectors of which one operand may be a number for all, also of complex ones."""
_MIXED = _BROADCAST | {*BITWISE, "where"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """Where the leaves of a tape come from."""

    dtype: ir.Element  # element type
    read: Callable[[Read], ir.Expr]  # the value of a read: an element, or a vector of them
    vector: bool  # whether reads yield vectors
    # what depends on the cell's place alone: a number or a vector, of which a truth value is whether it is 0, or a
    # condition; None where there is none
    placed: Callable[[Placed], ir.Expr] | None = None
    # an entry of a matrix, of its name, row and column; None where there are none
    lookup: Callable[[str, ir.Expr, ir.Expr], ir.Expr] | None = None
    # whether sums, differences and products of signed whole numbers are written so that they wrap around also in
    # languages where those must not overflow
    wrapping: bool = False


def lower_tape(tape: Tape, leaves: Leaves, prefix: str = "t") -> tuple[tuple[ir.Stmt, ...], ir.Expr]:
    """Lower a tape to statements and its result, a scalar or vector; new names start with ``prefix``."""
    lowering = (_ComplexLowering if leaves.dtype.is_complex else _Lowering)(leaves, prefix)
    needed = _needed(tape)
    for position, node in enumerate(tape):
        lowering.step(position, node, needed=position in needed)
    result = lowering.result(lowering.values[-1])
    return tuple(lowering.body), result


class _Lowering:
    """Values of a tape's positions, each named as it is computed."""

    def __init__(self, leaves: Leaves, prefix: str) -> None:
        self.leaves, self.prefix = leaves, prefix
        self.body: list[ir.Stmt] = []
        self.values: list[ir.Expr] = []
        self.scalar_type, self.vector_type = leaves.dtype, ir.vector(leaves.dtype)
        self.mask_type = ir.mask(leaves.dtype)
        self.truths = (ir.BOOL, self.mask_type)
        self.usual = (self.scalar_type, self.vector_type, *self.truths)
        self.position, self.count = 0, 0  # of the node that is lowered, and names that it has so far

    def step(self, position: int, node: Node, *, needed: bool) -> None:
        self.position, self.count = position, 0
        if isinstance(node, Const):
            self.values.append(self.literal(node.value))
        elif isinstance(node, Scalar):
            self.values.append(ir.Var(scalar_name(node.name), self.scalar_type))
        elif not needed:
            self.values.append(ir.Real(0, self.scalar_type))
        elif isinstance(node, Read):
            self.values.append(self.let(self.leaves.read(node)))
        elif isinstance(node, Placed):
            self.values.append(self.place(node))
        elif self.leaves.lookup is not None and node.op.startswith(LOOKUP):
            row, column = (self.values[arg].to(ir.INDEX) for arg in node.args)
            self.values.append(self.let(self.leaves.lookup(node.op[len(LOOKUP) :], row, column)))
        else:
            self.values.append(self.apply(node.op, [self.values[arg] for arg in node.args]))

    def let(self, value: ir.Expr) -> ir.Var:
        self.count += 1
        var = self.named(f"_{self.count}" if self.count > 1 else "", ir.type_of(value))
        self.body.append(ir.Let(var, value))
        return var

    def named(self, suffix: str, kind: ir.Type) -> ir.Var:
        return ir.Var(f"{self.prefix}{self.position}{suffix}", kind)

    def place(self, node: Placed) -> ir.Expr:
        if self.leaves.placed is None:
            raise UsageError("tw.index and tw.inside have no place here", "pass the numbers as an array")
        var = self.let(self.leaves.placed(node))
        if not isinstance(node, Inside) or self.is_truth(var):
            return var
        condition = self.truth(var)
        truth = self.named("_in", ir.type_of(condition))
        self.body.append(ir.Let(truth, condition))
        return truth

    def result(self, value: ir.Expr) -> ir.Expr:
        """What is stored."""
        return self.splat(self.number(value)) if self.leaves.vector else self.number(value)

    def literal(self, value: complex) -> ir.Real:
        if isinstance(value, bool):
            return ir.Real(value, ir.BOOL)
        check_fits(value, str(self.scalar_type), "the constant {}")
        return ir.Real(int(value.real) if self.scalar_type.is_integer else float(value.real), self.scalar_type)

    def apply(self, op: str, args: list[ir.Expr]) -> ir.Expr:
        if all(isinstance(arg, ir.Real) for arg in args):
            return self.fold(op, args)
        if op in _LOGICAL or (op in OF_TRUTHS and all(self.is_truth(arg) for arg in args)):
            truths, name = [self.truth(arg) for arg in args], OF_TRUTHS.get(op, op)
            return self.logic(name, *truths) if name else truths[0]
        if op == "where":
            return self.choose(self.truth(args[0]), *(self.number(arg) for arg in args[1:]))
        return self.arithmetic(op, [self.number(arg) for arg in args])

    def logic(self, op: str, *truths: ir.Expr) -> ir.Expr:
        every = self.alike(truths)
        wide = ir.type_of(every[0]) == self.mask_type
        return self.let(ir.Op(ir.Operator(op), every, self.vector_type if wide else self.scalar_type))

    def choose(self, condition: ir.Expr, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        if self.leaves.vector and ir.type_of(condition) == ir.BOOL:
            condition = self.splat_truth(condition)
        if ir.type_of(condition) == self.mask_type:
            a, b = self.splat(a), self.splat(b)
        return self.operate("where", [condition, a, b])

    def arithmetic(self, op: str, numbers: list[ir.Expr]) -> ir.Expr:
        if op in _PARTS:
            return ir.Real(0, self.scalar_type) if op == "imag" else numbers[0]
        if op in ROUNDINGS and not self.scalar_type.rounds:
            return numbers[0]
        if op == "shr" and isinstance(numbers[1], ir.Real):
            # past all bits NumPy leaves the sign, which is 0 of what has none
            last, bits = self.scalar_type.bits - 1, int(numbers[1].value.real)
            if bits > last and self.scalar_type.kind is ir.Kind.UINT:
                return ir.Real(0, self.scalar_type)
            numbers = [numbers[0], ir.Real(min(bits, last), self.scalar_type)]
        return self.operate(op, numbers)

    def operate(self, op: str, args: list[ir.Expr]) -> ir.Expr:
        """An operation that the target has, on vectors where an operand is one."""
        kinds = [ir.type_of(arg) for arg in args]
        if any(kind not in self.usual for kind in kinds):
            return self.operate_in(_wider([kind for kind in kinds if kind not in self.truths]), op, args)
        if self.leaves.wrapping and op in _WRAPPING and self.scalar_type.kind is ir.Kind.INT:
            return self.operate_in(ir.element(f"u{self.scalar_type}"), op, args)
        vector = self.vector_type in kinds or self.mask_type in kinds
        if vector and op not in _MIXED:
            args = [arg if ir.type_of(arg) == self.mask_type else self.splat(arg) for arg in args]
        return self.let(ir.Op(ir.Operator(op), tuple(args), self.vector_type if vector else self.scalar_type))

    def operate_in(self, kind: ir.Element, op: str, args: list[ir.Expr]) -> ir.Expr:
        """The same in another type of numbers than the element type."""
        numbers = tuple(arg if ir.type_of(arg) == ir.BOOL else arg.to(kind) for arg in args)
        value = ir.Op(ir.Operator(op), numbers, kind)
        return self.let(value if op in _COMPARE else value.to(self.scalar_type))

    def fold(self, op: str, args: list[ir.Expr]) -> ir.Real:
        value = OPERATORS[op].evaluate(*(arg.value for arg in args if isinstance(arg, ir.Real))).item()
        return ir.Real(value, ir.BOOL) if isinstance(value, bool) else self.literal(value)

    def is_truth(self, value: ir.Expr) -> bool:
        return ir.type_of(value) in self.truths

    def truth(self, value: ir.Expr) -> ir.Expr:
        if self.is_truth(value):
            return value
        return ir.op(ir.Operator.NONZERO, value, ir.Real(0, ir.element_of(ir.type_of(value)) or self.scalar_type))

    def number(self, value: ir.Expr) -> ir.Expr:
        """Turn a truth value into one or zero."""
        if isinstance(value, ir.Real) and value.type == ir.BOOL:
            return ir.Real(int(value.value.real), self.scalar_type)
        if not self.is_truth(value):
            return value
        wide = ir.type_of(value) == self.mask_type
        return ir.Op(ir.Operator.NUMBER, (value,), self.vector_type if wide else self.scalar_type)

    def alike(self, truths: Sequence[ir.Expr]) -> tuple[ir.Expr, ...]:
        if all(ir.type_of(truth) == ir.BOOL for truth in truths):
            return tuple(truths)
        return tuple(self.splat_truth(truth) if ir.type_of(truth) == ir.BOOL else truth for truth in truths)

    def splat_truth(self, truth: ir.Expr) -> ir.Expr:
        number = ir.splat(self.number(truth), self.vector_type)
        return ir.op(ir.Operator.NONZERO, number, ir.Real(0, self.scalar_type))

    def splat(self, value: ir.Expr) -> ir.Expr:
        return value if ir.type_of(value) == self.vector_type else ir.splat(value, self.vector_type)


def _wider(kinds: Iterable[ir.Type]) -> ir.Element:
    """The type in which numbers of several types meet: a rounded one, or the widest."""
    elements = [kind for kind in kinds if isinstance(kind, ir.Element)]
    return max(elements, key=lambda kind: (kind.is_float, kind.bits))


class _ComplexLowering(_Lowering):
    """The same of complex numbers, among which values that are real in NumPy stay real ones.

    A product with a real number takes two multiplications in place of four, and a real number has an order.
    """

    def __init__(self, leaves: Leaves, prefix: str) -> None:
        super().__init__(leaves, prefix)
        self.real_type = ir.real_of(leaves.dtype)

    def result(self, value: ir.Expr) -> ir.Expr:
        return self.as_complex(self.number(value))

    def literal(self, value: complex) -> ir.Real:
        if isinstance(value, bool):
            return ir.Real(value, ir.BOOL)
        if isinstance(value, complex) and value.imag != 0:
            return ir.Real(value, self.scalar_type)
        return ir.Real(float(value.real), self.real_type)

    def arithmetic(self, op: str, numbers: list[ir.Expr]) -> ir.Expr:
        if any(map(self.is_complex, numbers)):
            return self.of_complex(op, numbers)
        if op in _PARTS:
            return ir.Real(0.0, self.real_type) if op == "imag" else numbers[0]
        return self.operate(op, numbers)

    def of_complex(self, op: str, numbers: list[ir.Expr]) -> ir.Expr:
        if op in ORDERED:
            raise UsageError(f"{op} is not for complex numbers", "apply it to u.real and u.imag")
        if op in {"real", "imag", "abs"}:
            return self.operate("modulus" if op == "abs" else op, numbers)
        if op in _COMPARE:
            return self.compare(op, *numbers)
        if op in {"minimum", "maximum"}:
            return self.extreme(op, *numbers)
        if op == "mul":
            return self.product(*numbers)
        if op == "div" and not self.is_complex(numbers[1]):
            return self.operate(op, numbers)
        return self.operate(op, [self.as_complex(number) for number in numbers])

    def extreme(self, op: str, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        wins = self.compare("le" if op == "minimum" else "ge", a, b)
        return self.choose(self.logic("or", wins, self.compare("ne", a, a)), a, b)

    def product(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        if isinstance(b, ir.Real) or not self.is_complex(b):
            a, b = b, a
        if isinstance(a, ir.Real) and isinstance(a.value, complex):
            if a.value.real == 0 and self.is_complex(b):
                return self.operate("times_i", [ir.Real(a.value.imag, self.real_type), b])
            a = self.as_complex(a)
        return self.operate("mul", [a, b])

    def compare(self, op: str, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        """A comparison; complex numbers are ordered by their real parts, then by their imaginary ones, as in NumPy."""
        if not (self.is_complex(a) or self.is_complex(b)):
            return self.operate(op, [a, b])
        (p, q), (r, s) = self.parts(a), self.parts(b)
        if op in {"eq", "ne"}:
            return self.logic("and" if op == "eq" else "or", self.compare(op, p, r), self.compare(op, q, s))
        before = self.compare(op[0] + "t", p, r)
        return self.logic("or", before, self.logic("and", self.compare("eq", p, r), self.compare(op, q, s)))

    def parts(self, value: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        if isinstance(value, ir.Real):
            number = complex(value.value)
            return ir.Real(number.real, self.real_type), ir.Real(number.imag, self.real_type)
        if not self.is_complex(value):
            return value, ir.Real(0.0, self.real_type)
        return self.operate("real", [value]), self.operate("imag", [value])

    def choose(self, condition: ir.Expr, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        if self.is_complex(a) or self.is_complex(b):
            a, b = self.as_complex(a), self.as_complex(b)
        if self.leaves.vector:
            a, b = self.splat(a), self.splat(b)
            condition = self.splat_truth(condition) if ir.type_of(condition) == ir.BOOL else condition
        return self.let(ir.Op(ir.Operator.WHERE, (condition, a, b), ir.type_of(a)))

    def operate(self, op: str, args: list[ir.Expr]) -> ir.Expr:
        wide = any(isinstance(ir.type_of(arg), ir.Vector) for arg in args)
        if wide and op != "times_i":
            args = [arg if op in _BROADCAST and not self.is_complex(arg) else self.splat(arg) for arg in args]
        element = self.scalar_type if any(map(self.is_complex, args)) else self.real_type
        return self.let(ir.Op(ir.Operator(op), tuple(args), ir.vector(element) if wide else element))

    def is_complex(self, value: ir.Expr) -> bool:
        element = ir.element_of(ir.type_of(value))
        return element is not None and element.is_complex

    def as_complex(self, value: ir.Expr) -> ir.Expr:
        if isinstance(value, ir.Real):
            # Both parts are written: C leaves out of sums and quotients what a real number has not, vectors do not.
            value = ir.Real(complex(value.value), self.scalar_type)
        elif not self.is_complex(value):
            kind = self.vector_type if isinstance(ir.type_of(value), ir.Vector) else self.scalar_type
            value = self.let(ir.Op(ir.Operator.COMPLEX, (value,), kind))
        return self.splat(value) if self.leaves.vector else value

    def truth(self, value: ir.Expr) -> ir.Expr:
        return value if self.is_truth(value) else self.compare("ne", value, ir.Real(0.0, self.real_type))

    def number(self, value: ir.Expr) -> ir.Expr:
        if isinstance(value, ir.Real) and value.type == ir.BOOL:
            return ir.Real(float(value.value.real), self.real_type)
        if not self.is_truth(value):
            return value
        wide = ir.type_of(value) == self.mask_type
        return self.let(ir.Op(ir.Operator.NUMBER, (value,), ir.vector(self.real_type) if wide else self.real_type))

    def splat_truth(self, truth: ir.Expr) -> ir.Expr:
        number = ir.splat(self.number(truth), ir.vector(self.real_type))
        return ir.op(ir.Operator.NONZERO, number, ir.Real(0.0, self.real_type))

    def splat(self, value: ir.Expr) -> ir.Expr:
        kind = ir.type_of(value)
        return ir.splat(value, ir.vector(kind)) if isinstance(kind, ir.Element) else value


def scalar_name(name: str) -> str:
    """Return the kernel's name of a program's scalar."""
    return f"c_{name}"


def _needed(tape: Tape) -> frozenset[int]:
    """Positions whose values something uses (:func:`tilewright.codegen.tapes.fuse_roots` leaves unused ones behind)."""
    needed = {len(tape) - 1}
    for position in range(len(tape) - 1, -1, -1):
        node = tape[position]
        if position in needed and isinstance(node, Apply):
            needed.update(node.args)
    return frozenset(needed)
