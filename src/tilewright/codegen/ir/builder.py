"""Kernels written down statement by statement: values with operators, and statements collected where they are made.

Like the ``ir_builder`` of TVM's TensorIR: ::

    b = Builder("axpy", distinct=True)
    n, a = b.param("n", INDEX), b.param("a", real)
    x, y = b.param("x", const_pointer(real)), b.param("y", pointer(real))
    with b.loop("i", 0, n) as i:
        y[i] = a * x[i] + y[i]
    function = b.function()

A :class:`BuilderValue` is an expression that knows its builder: ``x[i]`` loads, ``x[i] = v`` stores, and numbers beside
it are of its type. What a loop over the host's data unrolls, such as the diagonals of a pass, is a loop in Python.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tilewright.codegen.ir import build
from tilewright.codegen.ir.nodes import (
    Array,
    Assign,
    Barrier,
    Call,
    Comment,
    ConstArray,
    Expr,
    For,
    Function,
    If,
    Int,
    Intrinsic,
    Lanes,
    Let,
    Load,
    Mutable,
    Op,
    Parallel,
    Real,
    Scope,
    Stmt,
    Store,
    Update,
    Var,
    While,
    type_of,
)
from tilewright.codegen.ir.operators import Operator
from tilewright.codegen.ir.types import BOOL, INDEX, Bool, Element, Index, Mask, Native, Pointer, Type, Vector

Number = bool | int | float


class BuilderValue:
    """An expression, with operators, and the function that it stands in."""

    __slots__ = ("builder", "node")

    def __init__(self, node: Expr, builder: "Builder") -> None:
        """Wrap an expression."""
        self.node, self.builder = node, builder

    @property
    def type(self) -> Type:
        """The expression's type."""
        return type_of(self.node)

    def _of(self, node: Expr) -> "BuilderValue":
        return BuilderValue(node, self.builder)

    def _beside(self, other: "BuilderValue | Number") -> Expr:
        return other.node if isinstance(other, BuilderValue) else number(other, self.type)

    def __add__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the sum; of a pointer, the place so many values behind it."""
        return self._of(build.add(self.node, self._beside(other)))

    def __radd__(self, other: Number) -> "BuilderValue":
        """Return the sum."""
        return self._of(build.add(self._beside(other), self.node))

    def __sub__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the difference."""
        return self._of(build.sub(self.node, self._beside(other)))

    def __rsub__(self, other: Number) -> "BuilderValue":
        """Return the difference."""
        return self._of(build.op(Operator.SUB, self._beside(other), self.node))

    def __mul__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the product."""
        return self._of(build.mul(self.node, self._beside(other)))

    def __rmul__(self, other: Number) -> "BuilderValue":
        """Return the product."""
        return self._of(build.mul(self._beside(other), self.node))

    def __truediv__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the quotient; of whole numbers rounded towards zero."""
        return self._of(build.div(self.node, self._beside(other)))

    def __mod__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the remainder of a quotient that is rounded towards zero."""
        return self._of(build.mod(self.node, self._beside(other)))

    def __lshift__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the whole number with its bits moved up."""
        return self._of(build.op(Operator.SHL, self.node, self._beside(other)))

    def __rshift__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the whole number with its bits moved down."""
        return self._of(build.op(Operator.SHR, self.node, self._beside(other)))

    def __neg__(self) -> "BuilderValue":
        """Return the negative."""
        return self._of(build.op(Operator.NEG, self.node))

    def __lt__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the condition."""
        return self._of(build.lt(self.node, self._beside(other)))

    def __le__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the condition."""
        return self._of(build.le(self.node, self._beside(other)))

    def __gt__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the condition."""
        return self._of(build.gt(self.node, self._beside(other)))

    def __ge__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return the condition."""
        return self._of(build.ge(self.node, self._beside(other)))

    def equals(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return whether two values are the same."""
        return self._of(build.eq(self.node, self._beside(other)))

    def differs(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return whether two values are not the same."""
        return self._of(build.ne(self.node, self._beside(other)))

    def __and__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return whether both conditions hold; of indices, the bits that both have."""
        return self._of(build.op(Operator.AND, self.node, self._beside(other)))

    def __or__(self, other: "BuilderValue | Number") -> "BuilderValue":
        """Return whether a condition holds; of indices, the bits that one has."""
        return self._of(build.op(Operator.OR, self.node, self._beside(other)))

    def both(self, other: "BuilderValue") -> "BuilderValue":
        """Return whether both conditions hold; C does not look at the second where the first does not (``&&``)."""
        return self._of(Op(Operator.BOTH, (self.node, other.node), Native("int")))

    def __getitem__(self, index: "BuilderValue | int") -> "BuilderValue":
        """Return the value that lies so many behind where the pointer points."""
        return self._of(Load(self.node, self._place(index), self._pointee()))

    def __setitem__(self, index: "BuilderValue | int", value: "BuilderValue | Number") -> None:
        """Store a value, or a vector of values from there on."""
        kind = self._pointee()
        if isinstance(value, BuilderValue) and isinstance(value.type, Vector):
            kind = value.type
        self.builder.emit(Store(self.node, self._place(index), operand(value, kind), kind))

    def vector(self, index: "BuilderValue | int" = 0) -> "BuilderValue":
        """Return the vector of values from there on, at any alignment."""
        kind = self._pointee()
        if not isinstance(kind, Element):
            raise TypeError(f"vectors hold numbers, not a {kind}")
        return self._of(Load(self.node, self._place(index), Vector(kind)))

    def lane(self, index: "BuilderValue | int") -> "BuilderValue":
        """Return one number of a vector."""
        kind = self.type
        if not isinstance(kind, Vector):
            raise TypeError(f"a {kind} has no lanes")
        return self._of(Op(Operator.LANE, (self.node, self._place(index)), kind.element))

    def to(self, kind: Type) -> "BuilderValue":
        """Return the same number in another type; a pointer, or a vector's bits, as that of another type."""
        if kind == self.type:
            return self
        if isinstance(kind, Element) and isinstance(self.node, Real):
            return self._of(Real(self.node.value, kind))
        same_bits = isinstance(kind, Pointer | Vector)
        return self._of(Op(Operator.REINTERPRET if same_bits else Operator.CONVERT, (self.node,), kind))

    def apply(self, operator: Operator, kind: Type, *others: "BuilderValue | Number") -> "BuilderValue":
        """Return an operation, that works in a type, on this value and others."""
        return self._of(Op(operator, (self.node, *map(self._beside, others)), kind))

    def _place(self, index: "BuilderValue | int") -> Expr:
        return index.node if isinstance(index, BuilderValue) else Int(index)

    def _pointee(self) -> Type:
        kind = self.type
        if not isinstance(kind, Pointer):
            raise TypeError(f"only pointers are indexed, not a {kind}")
        return kind.to


def number(value: Number, kind: Type) -> Expr:
    """Return a literal that stands beside, or in place of, values of a type.

    >>> number(2, Index()), number(1, Bool())
    (Int(value=2), Real(value=True, type=Bool()))
    """
    if isinstance(kind, Vector | Mask):
        kind = kind.element
    if isinstance(kind, Element):
        return Real(value, kind)
    return Real(bool(value), BOOL) if isinstance(kind, Bool) else Int(int(value))


def operand(value: BuilderValue | Number, kind: Type) -> Expr:
    """Return a value as an expression, and a number as a literal of a type."""
    return value.node if isinstance(value, BuilderValue) else number(value, kind)


def _both(a: BuilderValue | Number, b: BuilderValue | Number) -> tuple[Expr, Expr, BuilderValue]:
    known = a if isinstance(a, BuilderValue) else b
    if not isinstance(known, BuilderValue):
        raise TypeError(f"{a} and {b} are known now")
    return operand(a, known.type), operand(b, known.type), known


def _extremum(a: BuilderValue | Number, b: BuilderValue | Number, index: Operator, real: Operator) -> BuilderValue:
    first, second, known = _both(a, b)
    which = index if isinstance(known.type, Index | Native) else real
    return BuilderValue(first if first == second else build.op(which, first, second), known.builder)


def least(a: BuilderValue | Number, b: BuilderValue | Number) -> BuilderValue:
    """Return the smaller of two indices or numbers."""
    return _extremum(a, b, Operator.MIN, Operator.MINIMUM)


def most(a: BuilderValue | Number, b: BuilderValue | Number) -> BuilderValue:
    """Return the larger of two indices or numbers."""
    return _extremum(a, b, Operator.MAX, Operator.MAXIMUM)


def select(condition: BuilderValue, a: BuilderValue | Number, b: BuilderValue | Number) -> BuilderValue:
    """Return the first value where a condition holds, else the second; of vectors, for each number."""
    first, second, known = _both(a, b)
    kind = known.type
    if isinstance(condition.type, Mask):
        return BuilderValue(Op(Operator.WHERE, (condition.node, first, second), kind), known.builder)
    return BuilderValue(build.select(condition.node, first, second), known.builder)


class Builder:
    """One function in the making."""

    def __init__(
        self,
        name: str,
        *,
        kind: str = "local",
        distinct: bool = False,
        threads: int = 0,
        about: str = "",
        vectorized: bool = False,
    ) -> None:
        """Start a function; see :class:`~tilewright.codegen.ir.nodes.Function`."""
        self._function = Function(
            name=name,
            params=(),
            body=(),
            kind=kind,
            distinct=distinct,
            threads=threads,
            about=about,
            vectorized=vectorized,
        )
        self._params: list[Var] = []
        self._bodies: list[list[Stmt]] = [[]]
        self._names: list[set[str]] = [set()]

    # Names

    def value(self, node: Expr) -> BuilderValue:
        """Return an expression as a value of this function."""
        return BuilderValue(node, self)

    def param(self, name: str, kind: Type) -> BuilderValue:
        """Add a parameter."""
        self._params.append(self._new(name, kind))
        return BuilderValue(self._params[-1], self)

    def _new(self, name: str, kind: Type) -> Var:
        """A name that nothing has which is known here: a value would else stand where its name means another one."""
        if any(name in names for names in self._names):
            raise ValueError(f"in {self._function.name}: {name} is the name of something else that is known here")
        self._names[-1].add(name)
        return Var(name, kind)

    def let(self, name: str, value: BuilderValue | Number, kind: Type | None = None) -> BuilderValue:
        """Give a value a name, and a type if not its own."""
        var, node = self._named(name, value, kind)
        self.emit(Let(var, node))
        return BuilderValue(var, self)

    def mutable(self, name: str, value: BuilderValue | Number, kind: Type | None = None) -> BuilderValue:
        """Give a value a name that :meth:`set` may change."""
        var, node = self._named(name, value, kind)
        self.emit(Mutable(var, node))
        return BuilderValue(var, self)

    def _named(self, name: str, value: BuilderValue | Number, kind: Type | None) -> tuple[Var, Expr]:
        own = kind or (value.type if isinstance(value, BuilderValue) else INDEX)
        node = operand(value, own)
        if isinstance(own, Vector) and type_of(node) == own.element:
            node = build.splat(node, own)
        return self._new(name, own), node

    def set(self, var: BuilderValue, value: BuilderValue | Number) -> None:
        """Change a mutable name."""
        if not isinstance(var.node, Var):
            raise TypeError(f"{var.node} is no name")
        self.emit(Assign(var.node, operand(value, var.type)))

    def update(self, var: BuilderValue, how: Operator, value: BuilderValue | int) -> None:
        """Change a mutable name of one of C's types by an operator: ``var += value``."""
        if not isinstance(var.node, Var):
            raise TypeError(f"{var.node} is no name")
        self.emit(Update(var.node, how, operand(value, var.type)))

    def array(self, name: str, kind: Pointer, length: int) -> BuilderValue:
        """Declare memory for so many values."""
        var = self._new(name, kind)
        self.emit(Array(var, length))
        return BuilderValue(var, self)

    def numbers(self, name: str, kind: Pointer, values: Sequence[float]) -> BuilderValue:
        """Declare memory that holds known numbers."""
        var = self._new(name, kind)
        self.emit(ConstArray(var, tuple(values)))
        return BuilderValue(var, self)

    def lanes(self, of: Element) -> BuilderValue:
        """How many numbers a vector register holds (CPU)."""
        return BuilderValue(Lanes(of), self)

    def splat(self, value: BuilderValue | Number, kind: Vector) -> BuilderValue:
        """Return a vector of one number."""
        return BuilderValue(build.splat(operand(value, kind), kind), self)

    @property
    def thread(self) -> BuilderValue:
        """The thread's number in its team (CPU) or group (GPU)."""
        return BuilderValue(build.THREAD, self)

    @property
    def vector_bytes(self) -> BuilderValue:
        """Bytes of a vector register (CPU)."""
        return BuilderValue(build.VECTOR_BYTES, self)

    @property
    def threads(self) -> BuilderValue:
        """How many threads the team has (CPU)."""
        return BuilderValue(build.THREADS, self)

    @property
    def wanted(self) -> BuilderValue:
        """Whether the results of the call are still wanted (CPU)."""
        return BuilderValue(build.WANTED, self)

    @property
    def group(self) -> BuilderValue:
        """The number of the thread's group (GPU)."""
        return BuilderValue(build.GROUP, self)

    @property
    def groups(self) -> BuilderValue:
        """How many groups there are (GPU)."""
        return BuilderValue(build.GROUPS, self)

    # Statements

    def emit(self, *nodes: Stmt) -> None:
        """Add statements."""
        self._bodies[-1] += nodes

    def comment(self, text: str) -> None:
        """Add a line for the reader."""
        self.emit(Comment(text))

    def barrier(self, *, memory: bool = False) -> None:
        """Let threads meet."""
        self.emit(Barrier(memory=memory))

    def call(self, function: Function, *args: BuilderValue | Number) -> BuilderValue:
        """Call a function; where it returns nothing, as a statement."""
        nodes = tuple(operand(arg, param.type) for arg, param in zip(args, function.params, strict=True))
        call = Call(function.name, nodes, function.result_type)
        if function.result_type is None:
            self.emit(call)
        return BuilderValue(call, self)

    def intrinsic(self, name: str, of: Element, *args: BuilderValue | Number) -> None:
        """Call a function of the dialect for what it does."""
        self.emit(Intrinsic(name, tuple(operand(arg, INDEX) for arg in args), of))

    @contextmanager
    def _inside(self) -> Iterator[list[Stmt]]:
        body: list[Stmt] = []
        self._bodies.append(body)
        self._names.append(set())
        try:
            yield body
        finally:
            self._names.pop()
            self._bodies.pop()

    @contextmanager
    def loop(  # noqa: PLR0913  (what a loop is)
        self,
        name: str,
        low: BuilderValue | int,
        high: BuilderValue | int,
        step: BuilderValue | int = 1,
        *,
        kind: Index = INDEX,
        share: str = "",
        unroll: int = 0,
        independent: bool = False,
    ) -> Iterator[BuilderValue]:
        """Count from ``low`` to below ``high``; see :class:`~tilewright.codegen.ir.nodes.For`."""
        with self._inside() as body:
            var = self._new(name, kind)
            yield BuilderValue(var, self)
        bounds = [operand(each, kind) for each in (low, high, step)]
        self.emit(
            For(
                var=var,
                low=bounds[0],
                high=bounds[1],
                step=bounds[2],
                body=tuple(body),
                share=share,
                unroll=unroll,
                independent=independent,
            )
        )

    @contextmanager
    def closed_loop(
        self,
        name: str,
        low: BuilderValue | int,
        high: BuilderValue | int,
        step: BuilderValue | int,
        kind: Native,
        *,
        falling: bool = False,
    ) -> Iterator[BuilderValue]:
        """Count up, or down, to ``high`` itself in one of C's types."""
        with self._inside() as body:
            var = self._new(name, kind)
            yield BuilderValue(var, self)
        first, last, stride = (operand(each, kind) for each in (low, high, step))
        self.emit(For(var=var, low=first, high=last, step=stride, body=tuple(body), closed=True, falling=falling))

    @contextmanager
    def loop_while(self, condition: BuilderValue) -> Iterator[None]:
        """Repeat while a condition holds."""
        with self._inside() as body:
            yield
        self.emit(While(condition.node, tuple(body)))

    @contextmanager
    def when(self, condition: BuilderValue) -> Iterator[None]:
        """Do something where a condition holds."""
        with self._inside() as body:
            yield
        self.emit(If(condition.node, tuple(body)))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Do something where the condition of the :meth:`when` right before does not hold."""
        before = self._bodies[-1].pop()
        if not isinstance(before, If) or before.otherwise:
            raise TypeError("otherwise stands right behind when")
        with self._inside() as body:
            yield
        self.emit(replace(before, otherwise=tuple(body)))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Keep names to the statements inside."""
        with self._inside() as body:
            yield
        self.emit(Scope(tuple(body)))

    @contextmanager
    def parallel(self, threads: BuilderValue) -> Iterator[None]:
        """Let every thread of a team do the same (CPU)."""
        with self._inside() as body:
            yield
        self.emit(Parallel(threads.node, tuple(body)))

    def function(self, result: BuilderValue | Number | None = None, kind: Type | None = None) -> Function:
        """Return the function, with what it returns."""
        given = result.type if kind is None and isinstance(result, BuilderValue) else kind
        node = None if result is None or given is None else operand(result, given)
        return replace(
            self._function,
            params=tuple(self._params),
            body=tuple(self._bodies[0]),
            result=node,
            result_type=None if result is None else given,
        )
