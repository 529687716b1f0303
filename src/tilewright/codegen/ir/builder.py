"""Kernels written down statement by statement: statements are collected where they are made.

Like the ``ir_builder`` of TVM's TensorIR: ::

    b = Builder("axpy", distinct=True)
    n, a = b.param("n", INDEX), b.param("a", real)
    x, y = b.param("x", const_pointer(real)), b.param("y", pointer(real))
    with b.loop("i", 0, n) as i:
        b.set(y[i], a * x[i] + y[i])
    function = b.function()

What a loop over the host's data unrolls, such as the diagonals of a pass, is a loop in Python. Functions make the
expressions that no operator of Python writes; where one must stand in the text as written, :func:`op` folds nothing.
"""

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from tilewright.codegen.ir import expressions, nodes
from tilewright.codegen.ir.expressions import Expr, Op, Operand, Var, operand, type_of
from tilewright.codegen.ir.nodes import Function, Stmt
from tilewright.codegen.ir.operators import Operator
from tilewright.codegen.ir.types import INDEX, Element, Index, Mask, Native, Pointer, Type, Vector

THREAD = Op(Operator.THREAD, ())  # the number of the thread in its region (CPU) or group (GPU)
THREADS = Op(Operator.THREADS, ())  # how many threads run the region
WANTED = Op(Operator.WANTED, ())  # whether the results of the call are still wanted (CPU)
GROUP = Op(Operator.GROUP, ())  # the number of the thread's group (GPU)
GROUPS = Op(Operator.GROUPS, ())  # how many groups there are (GPU)

VECTOR_BYTES = Op(Operator.VECTOR_BYTES, ())  # bytes of a vector register (CPU)


def op(operator: Operator, *args: Expr | int) -> Op:
    """Return an operation as it stands: nothing is folded, and numbers are indices."""
    operands = tuple(map(expressions.as_expr, args))
    if len(operands) == 2:
        return expressions.binary(operator, *operands)
    return Op(operator, operands, expressions.common_type(*operands))


def total(terms: Sequence[Expr]) -> Expr:
    """Return the sum of at least one index."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def every(tests: Iterable[Expr]) -> Expr:
    """Return whether all conditions hold, of which there is at least one."""
    return functools.reduce(operator.and_, tests)


def floordiv(a: Expr, b: Expr | int) -> Expr:
    """Return ``a / b``, rounded down."""
    return op(Operator.FLOORDIV, a, b)


def floormod(a: Expr, b: Expr | int) -> Expr:
    """Return the remainder of :func:`floordiv`."""
    return op(Operator.FLOORMOD, a, b)


def ceildiv(a: Expr, b: Expr | int) -> Expr:
    """Return ``a / b``, rounded up."""
    return op(Operator.CEILDIV, a, b)


def smallest(a: Operand, b: Operand) -> Expr:
    """Return the smaller of two indices or numbers.

    >>> from tilewright.codegen.ir.expressions import Var
    >>> smallest(Var("n"), 4).op, smallest(Var("n"), Var("n"))
    (<Operator.MIN: 'min'>, Var(name='n', type=Index(bits=0)))
    """
    return _extremum(a, b, Operator.MIN, Operator.MINIMUM)


def largest(a: Operand, b: Operand) -> Expr:
    """Return the larger of two indices or numbers."""
    return _extremum(a, b, Operator.MAX, Operator.MAXIMUM)


def _extremum(a: Operand, b: Operand, of_indices: Operator, of_numbers: Operator) -> Expr:
    first, second = _alike(a, b)
    kind = type_of(first)
    return (
        first
        if first == second
        else expressions.binary(of_indices if isinstance(kind, Index | Native) else of_numbers, first, second)
    )


def _alike(a: Operand, b: Operand) -> tuple[Expr, Expr]:
    """Two values of which one may be a number of the other one's type."""
    beside = a if isinstance(a, Expr) else b
    if not isinstance(beside, Expr):
        raise TypeError(f"{a} and {b} are known now")
    kind = type_of(beside)
    return operand(a, kind), operand(b, kind)


def select(condition: Expr, a: Operand, b: Operand) -> Expr:
    """Return ``a`` where the condition holds, else ``b``; of vectors, for each number."""
    a, b = _alike(a, b)
    if isinstance(type_of(condition), Mask):
        return Op(Operator.WHERE, (condition, a, b), type_of(a))
    kind, other = expressions.common_type(a, b), type_of(b)
    if isinstance(kind, Pointer) and isinstance(other, Pointer) and other.const:
        kind = Pointer(kind.to, const=True, space=kind.space)
    return Op(Operator.SELECT, (condition, a, b), kind)


def wide(a: Expr) -> Expr:
    """Return an index in 64 bits."""
    return Op(Operator.WIDEN, (a,))


def splat(value: Operand, kind: Vector) -> Expr:
    """Return a vector of one number."""
    return Op(Operator.SPLAT, (operand(value, kind),), kind)


def hold(vector: Expr) -> Expr:
    """Return the same vector, in a register from here on."""
    return op(Operator.HOLD, vector)


def aligned(address: Expr, size: int) -> Expr:
    """Return the same pointer, whose address is a multiple of ``size`` bytes: a promise to the compiler."""
    return Op(Operator.ALIGNED, (address, expressions.Int(size)), type_of(address))


def writable(address: Expr) -> Expr:
    """Return the same pointer without ``const``."""
    kind = type_of(address)
    if not isinstance(kind, Pointer):
        raise TypeError(f"only pointers become writable, not a {kind}")
    return Op(Operator.WRITABLE, (address,), Pointer(kind.to, space=kind.space))


class Builder:
    """One function in the making."""

    def __init__(
        self,
        name: str = "",  # none where statements are made that are no whole function
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

    def param(self, name: str, kind: Type = INDEX) -> Expr:
        """Add a parameter."""
        self._params.append(self._new(name, kind))
        return self._params[-1]

    def params(self, *names: Var) -> None:
        """Add parameters whose names and types stand elsewhere."""
        for each in names:
            self.param(each.name, each.type)

    def _new(self, name: str, kind: Type) -> Var:
        """A name that nothing has which is known here: a value would else stand where its name means another one."""
        if any(name in names for names in self._names):
            where = self._function.name or "statements"
            raise ValueError(f"in {where}: {name} is the name of something else that is known here")
        self._names[-1].add(name)
        return Var(name, kind)

    def let(self, name: str, value: Operand, kind: Type | None = None) -> Expr:
        """Give a value a name, and a type if not its own."""
        var, node = self._named(name, value, kind)
        self.emit(nodes.Let(var, node))
        return var

    def mutable(self, name: str, value: Operand, kind: Type | None = None) -> Expr:
        """Give a value a name that :meth:`set` may change."""
        var, node = self._named(name, value, kind)
        self.emit(nodes.Mutable(var, node))
        return var

    def _named(self, name: str, value: Operand, kind: Type | None) -> tuple[Var, Expr]:
        own = kind or (type_of(value) if isinstance(value, Expr) else INDEX)
        return self._new(name, own), _filled(value, own)

    def set(self, place: Expr, value: Operand) -> None:
        """Change a mutable name, or what lies at a place in memory: ``set(x[i], value)``."""
        if isinstance(place, expressions.Load):
            kind = type_of(value) if isinstance(value, Expr) and isinstance(type_of(value), Vector) else place.type
            self.emit(nodes.Store(place.base, place.index, _filled(value, kind), kind))
        elif isinstance(place, Var):
            self.emit(nodes.Assign(place, operand(value, place.type)))
        else:
            raise TypeError(f"{place} is no name and no place in memory")

    def update(self, var: Expr, how: Operator, value: Operand) -> None:
        """Change a mutable name of one of C's types by an operator: ``var += value``."""
        if not isinstance(var, Var):
            raise TypeError(f"{var} is no name")
        self.emit(nodes.Update(var, how, operand(value, var.type)))

    def array(self, name: str, kind: Pointer, length: int) -> Expr:
        """Declare memory for so many values."""
        var = self._new(name, kind)
        self.emit(nodes.Array(var, length))
        return var

    def numbers(self, name: str, kind: Pointer, values: Sequence[float]) -> Expr:
        """Declare memory that holds known numbers."""
        var = self._new(name, kind)
        self.emit(nodes.ConstArray(var, tuple(values)))
        return var

    # Statements

    def emit(self, *statements: Stmt) -> None:
        """Add statements."""
        self._bodies[-1] += statements

    def comment(self, text: str) -> None:
        """Add a line for the reader."""
        self.emit(nodes.Comment(text))

    def barrier(self, *, memory: bool = False) -> None:
        """Let threads meet."""
        self.emit(nodes.Barrier(memory=memory))

    def call(self, function: Function | str, *args: Operand) -> Expr:
        """Call a function, by its name only where it returns nothing; such a call is a statement."""
        if isinstance(function, str):
            call = expressions.Call(function, tuple(map(expressions.as_expr, args)))
        else:
            values = tuple(operand(arg, param.type) for arg, param in zip(args, function.params, strict=True))
            call = expressions.Call(function.name, values, function.result_type)
        if call.type is None:
            self.emit(call)
        return call

    def intrinsic(self, name: str, of: Element, *args: Operand) -> None:
        """Call a function of the dialect for what it does."""
        self.emit(expressions.Intrinsic(name, tuple(map(expressions.as_expr, args)), of))

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
        low: Operand,
        high: Operand,
        step: Operand = 1,
        *,
        kind: Index = INDEX,
        share: str = "",
        brief: bool = False,
        unroll: int = 0,
        independent: bool = False,
    ) -> Iterator[Expr]:
        """Count from ``low`` to below ``high``; see :class:`~tilewright.codegen.ir.nodes.For`."""
        with self._inside() as body:
            var = self._new(name, kind)
            yield var
        bounds = [operand(each, kind) for each in (low, high, step)]
        self.emit(
            nodes.For(
                var=var,
                low=bounds[0],
                high=bounds[1],
                step=bounds[2],
                body=tuple(body),
                share=share,
                brief=brief,
                unroll=unroll,
                independent=independent,
            )
        )

    @contextmanager
    def nest(self, names: Iterable[str], spans: Iterable[tuple[Operand, Operand]]) -> Iterator[tuple[Expr, ...]]:
        """Count through a box: a loop for every name, the outermost first."""
        with ExitStack() as loops:
            yield tuple(loops.enter_context(self.loop(name, *span)) for name, span in zip(names, spans, strict=True))

    @contextmanager
    def closed_loop(
        self,
        name: str,
        low: Operand,
        high: Operand,
        step: Operand,
        kind: Native,
        *,
        falling: bool = False,
    ) -> Iterator[Expr]:
        """Count up, or down, to ``high`` itself in one of C's types."""
        with self._inside() as body:
            var = self._new(name, kind)
            yield var
        first, last, stride = (operand(each, kind) for each in (low, high, step))
        self.emit(nodes.For(var=var, low=first, high=last, step=stride, body=tuple(body), closed=True, falling=falling))

    @contextmanager
    def loop_while(self, condition: Expr) -> Iterator[None]:
        """Repeat while a condition holds."""
        with self._inside() as body:
            yield
        self.emit(nodes.While(condition, tuple(body)))

    @contextmanager
    def when(self, condition: Expr) -> Iterator[None]:
        """Do something where a condition holds; nothing to do is no statement."""
        with self._inside() as body:
            yield
        if body:
            self.emit(nodes.If(condition, tuple(body)))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Do something where the condition of the :meth:`when` right before does not hold."""
        before = self._bodies[-1].pop() if self._bodies[-1] else None
        if not isinstance(before, nodes.If) or before.otherwise:
            raise TypeError("otherwise stands right behind when")
        with self._inside() as body:
            yield
        self.emit(replace(before, otherwise=tuple(body)))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Keep names to the statements inside."""
        with self._inside() as body:
            yield
        self.emit(nodes.Scope(tuple(body)))

    @contextmanager
    def parallel(self, threads: Expr) -> Iterator[None]:
        """Let every thread of a team do the same (CPU)."""
        with self._inside() as body:
            yield
        self.emit(nodes.Parallel(threads, tuple(body)))

    def statements(self) -> tuple[Stmt, ...]:
        """Return the statements so far, which are no whole function."""
        return tuple(self._bodies[-1])

    def function(self, result: Operand | None = None, kind: Type | None = None) -> Function:
        """Return the function, with what it returns."""
        result_type = type_of(result) if kind is None and isinstance(result, Expr) else kind
        node = None if result is None or result_type is None else operand(result, result_type)
        return replace(
            self._function,
            params=tuple(self._params),
            body=tuple(self._bodies[0]),
            result=node,
            result_type=None if result is None else result_type,
        )


def _filled(value: Operand, kind: Type) -> Expr:
    """A value of a type: a number alone fills a vector."""
    node = operand(value, kind)
    return splat(node, kind) if isinstance(kind, Vector) and type_of(node) == kind.element else node
