"""Loop nests as IR: C's own types, operators and statements, in the order in which the nest has them.

What a name holds is said by what declares it, or by whoever asks; a name that neither knows is a variable that the
user's file declares, of a type without a name (:class:`~tilewright.codegen.ir.types.Native`).
"""

from collections.abc import Mapping

from tilewright.codegen import ir
from tilewright.codegen.ir import Native, Operator
from tilewright.codegen.print.base import SIGNS
from tilewright.codegen.print.source import expression_text, statement_lines
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.values import common, promoted, type_of

Names = Mapping[str, ir.Type]  # types of names; of arrays those of pointers, to rows where they have several dimensions

# Conditions are whole numbers here: of two operators with one sign, that table has theirs first.
_BINARY = {sign: op for op, sign in reversed(SIGNS.items())}
_UNARY = {"-": Operator.NEG, "+": Operator.PLUS, "!": Operator.NOT, "~": Operator.INVERT}
_EXTREMA = {"min": Operator.MIN, "max": Operator.MAX}


def array_of(kind: ir.Type, rank: int) -> ir.Type:
    """Return the type of arrays of values: a pointer to the first one, or to the first row."""
    for _ in range(rank):
        kind = ir.pointer(kind)
    return kind


def lower_expression(expr: tree.Expr, names: Names | None = None) -> ir.Expr:
    """Return an expression of a nest as IR; ``names`` holds types as far as they are known."""
    return _Lowering(dict(names or {})).expr(expr)


def lower_body(stmt: tree.Stmt, names: Names) -> tuple[ir.Stmt, ...]:
    """Return what stands inside of braces as IR: a block in none of its own; transforms are left out."""
    return _Lowering(dict(names)).body(stmt)


def text(expr: tree.Expr, level: int = 0) -> str:
    """Return an expression of a nest in C.

    >>> text((tree.Name("a") + tree.Name("b")) * tree.Num("2"))
    '(a + b) * 2'
    """
    return expression_text(lower_expression(expr), level)


def lines(stmt: tree.Stmt, depth: int = 0) -> list[str]:
    """Return a statement as lines of C."""
    return statement_lines(_Lowering({}).stmt(stmt), depth)


def code(stmt: tree.Stmt, depth: int = 0) -> str:
    """Return a statement as text of C that ends with a line end."""
    return "".join(f"{line}\n" for line in lines(stmt, depth))


class _Lowering:
    """Lowers what stands in one scope."""

    def __init__(self, names: dict[str, ir.Type]) -> None:
        self.names = names

    def name(self, name: str, rank: int = 0) -> ir.Var:
        kind = self.names.get(name)
        return ir.Var(name, array_of(Native(), rank) if kind is None else kind)

    # Expressions

    def expr(self, expr: tree.Expr) -> ir.Expr:  # noqa: PLR0911  (one return a kind of expression)
        match expr:
            case tree.Num(number):
                return ir.Literal(number, Native(type_of(expr, {}) or ""))
            case tree.Name(name):
                return self.name(name)
            case tree.Item():
                return self.place(expr)
            case tree.Unary(op, operand):
                inner = self.expr(operand)
                return ir.Op(_UNARY[op], (inner,), Native(promoted(_ctype(inner)) or ""))
            case tree.Convert(ctype, operand):
                return ir.Op(Operator.CONVERT, (self.expr(operand),), Native(ctype))
            case tree.Binary(op, left, right):
                return self.joined(_BINARY[op], left, right)
            case tree.Call("min" | "max" as function, (left, right)):
                return self.joined(_EXTREMA[function], left, right)
            case tree.Call(function, args):
                return ir.Call(function, tuple(map(self.expr, args)), Native(type_of(expr, {}) or ""))
            case tree.Choose(test, then, other):
                a, b = self.expr(then), self.expr(other)
                return ir.Op(Operator.SELECT, (self.expr(test), a, b), _common(a, b))
        raise TypeError(f"{expr} is no expression")

    def joined(self, op: Operator, left: tree.Expr, right: tree.Expr) -> ir.Op:
        a, b = self.expr(left), self.expr(right)
        alone = op in {Operator.SHL, Operator.SHR}
        return ir.Op(op, (a, b), Native(promoted(_ctype(a)) or "") if alone else _common(a, b))

    def place(self, item: tree.Item) -> ir.Load:
        element: ir.Expr = self.name(item.array, len(item.index))
        for index in item.index:
            kind = ir.type_of(element)
            element = ir.Load(element, self.expr(index), kind.to if isinstance(kind, ir.Pointer) else Native())
        if not isinstance(element, ir.Load):
            raise TypeError(f"{item.array} has no index")
        return element

    # Statements

    def stmt(self, stmt: tree.Stmt) -> list[ir.Stmt]:  # noqa: PLR0911  (one return a kind of statement)
        match stmt:
            case tree.Assign(target, "=", value):
                return [self.assignment(target, self.expr(value))]
            case tree.Assign(target, op, value):
                place = self.place(target) if isinstance(target, tree.Item) else self.name(target.name)
                return [ir.Update(place, _BINARY[op[:-1]], self.expr(value))]
            case tree.Loop():
                return self.loop(stmt)
            case tree.If(test, then, other):
                return [ir.If(self.expr(test), self.body(then), () if other is None else self.body(other))]
            case tree.Block(body):
                if stmt.scoped:
                    return [ir.Scope(self.body(stmt))]
                return [new for each in body for new in self.stmt(each)]
            case tree.Declare():
                return [self.declaration(stmt)]
            case tree.Directive() | tree.Verbatim():
                return [stmt]
            case tree.Transform(body=body):
                return self.stmt(body)
        raise TypeError(f"{stmt} is no statement")

    def body(self, stmt: tree.Stmt, *new: ir.Var) -> tuple[ir.Stmt, ...]:
        inner = _Lowering(self.names | {var.name: var.type for var in new})
        return tuple(part for each in tree.sequence(stmt) for part in inner.stmt(each))

    def assignment(self, target: tree.Name | tree.Item, value: ir.Expr) -> ir.Stmt:
        if isinstance(target, tree.Name):
            return ir.Assign(self.name(target.name), value)
        place = self.place(target)
        return ir.Store(place.base, place.index, value, place.type)

    def loop(self, loop: tree.Loop) -> list[ir.Stmt]:
        # A directive of OpenMP stands right before its loop: nothing comes between them.
        parallel = [pragma for pragma in loop.pragmas if pragma.startswith("omp")][:1]
        var = ir.Var(loop.index, Native(loop.ctype or "int"))
        statement = ir.For(
            var=var,
            low=self.expr(loop.first),
            high=self.expr(loop.last),
            step=ir.Int(loop.step),
            body=self.body(loop.body, var),
            closed=True,
            falling=loop.step < 0,
        )
        return [*(ir.Directive(pragma) for pragma in parallel or loop.pragmas), statement]

    def declaration(self, stmt: tree.Declare) -> ir.Stmt:
        """A declaration; an array from the heap is allocated."""
        kind = array_of(Native(stmt.ctype), len(stmt.dims))
        if stmt.allocated:
            kind = ir.pointer(Native(stmt.ctype))
        var = self.names[stmt.name] = kind
        if not stmt.heap:
            inner = tuple(map(self.expr, tree.expressions(stmt)))
            extents, values = inner[: len(stmt.dims)], inner[len(stmt.dims) :]
            return ir.Declare(var=ir.Var(stmt.name, var), extents=extents, values=values)
        if not stmt.allocated:
            return ir.Declare(var=ir.Var(stmt.name, var))
        count = ir.Op(Operator.CONVERT, (self.expr(stmt.dims[0]),), Native("size_t"))
        room = ir.Op(Operator.MUL, (ir.Size(Native(stmt.ctype)), count), Native("size_t"))
        memory = ir.Call("malloc", (room,), ir.pointer(Native("void")))
        return ir.Declare(var=ir.Var(stmt.name, var), values=(ir.Op(Operator.REINTERPRET, (memory,), kind),))


def _ctype(node: ir.Expr) -> str | None:
    """C's name of the type of an expression, if it is known; conditions are whole numbers."""
    kind = ir.type_of(node)
    return (kind.name or None) if isinstance(kind, Native) else "int"


def _common(a: ir.Expr, b: ir.Expr) -> Native:
    return Native(common(_ctype(a), _ctype(b)) or "")
