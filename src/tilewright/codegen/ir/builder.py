"""Kernels written down statement by statement: statements are collected where they are made.

Like the ``ir_builder`` of TVM's TensorIR: ::

    b = Builder("axpy", distinct=True)
    n, a = b.param("n", INDEX), b.param("a", real)
    x, y = b.param("x", const_pointer(real)), b.param("y", pointer(real))
    with b.loop("i", 0, n) as i:
        b.set(y[i], a * x[i] + y[i])
    function = b.function()

What a loop over the host's data unrolls, such as the diagonals of a pass, is a loop in Python.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from tilewright.codegen.ir import build
from tilewright.codegen.ir.expressions import Call, Expr, Intrinsic, Load, Operand, Var, as_expr, operand, type_of
from tilewright.codegen.ir.nodes import (
    Array,
    Assign,
    Barrier,
    Comment,
    ConstArray,
    For,
    Function,
    If,
    Let,
    Mutable,
    Parallel,
    Scope,
    Stmt,
    Store,
    Update,
    While,
)
from tilewright.codegen.ir.operators import Operator
from tilewright.codegen.ir.types import INDEX, Element, Index, Native, Pointer, Type, Vector


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
        self.emit(Let(var, node))
        return var

    def mutable(self, name: str, value: Operand, kind: Type | None = None) -> Expr:
        """Give a value a name that :meth:`set` may change."""
        var, node = self._named(name, value, kind)
        self.emit(Mutable(var, node))
        return var

    def _named(self, name: str, value: Operand, kind: Type | None) -> tuple[Var, Expr]:
        own = kind or (type_of(value) if isinstance(value, Expr) else INDEX)
        return self._new(name, own), _filled(value, own)

    def set(self, place: Expr, value: Operand) -> None:
        """Change a mutable name, or what lies at a place in memory: ``set(x[i], value)``."""
        if isinstance(place, Load):
            kind = type_of(value) if isinstance(value, Expr) and isinstance(type_of(value), Vector) else place.type
            self.emit(Store(place.base, place.index, _filled(value, kind), kind))
        elif isinstance(place, Var):
            self.emit(Assign(place, operand(value, place.type)))
        else:
            raise TypeError(f"{place} is no name and no place in memory")

    def update(self, var: Expr, how: Operator, value: Operand) -> None:
        """Change a mutable name of one of C's types by an operator: ``var += value``."""
        if not isinstance(var, Var):
            raise TypeError(f"{var} is no name")
        self.emit(Update(var, how, operand(value, var.type)))

    def array(self, name: str, kind: Pointer, length: int) -> Expr:
        """Declare memory for so many values."""
        var = self._new(name, kind)
        self.emit(Array(var, length))
        return var

    def numbers(self, name: str, kind: Pointer, values: Sequence[float]) -> Expr:
        """Declare memory that holds known numbers."""
        var = self._new(name, kind)
        self.emit(ConstArray(var, tuple(values)))
        return var

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

    def call(self, function: Function | str, *args: Operand) -> Expr:
        """Call a function, by its name only where it returns nothing; such a call is a statement."""
        if isinstance(function, str):
            call = Call(function, tuple(map(as_expr, args)))
        else:
            nodes = tuple(operand(arg, param.type) for arg, param in zip(args, function.params, strict=True))
            call = Call(function.name, nodes, function.result_type)
        if call.type is None:
            self.emit(call)
        return call

    def intrinsic(self, name: str, of: Element, *args: Operand) -> None:
        """Call a function of the dialect for what it does."""
        self.emit(Intrinsic(name, tuple(map(as_expr, args)), of))

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
            For(
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
        self.emit(For(var=var, low=first, high=last, step=stride, body=tuple(body), closed=True, falling=falling))

    @contextmanager
    def loop_while(self, condition: Expr) -> Iterator[None]:
        """Repeat while a condition holds."""
        with self._inside() as body:
            yield
        self.emit(While(condition, tuple(body)))

    @contextmanager
    def when(self, condition: Expr) -> Iterator[None]:
        """Do something where a condition holds; nothing to do is no statement."""
        with self._inside() as body:
            yield
        if body:
            self.emit(If(condition, tuple(body)))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Do something where the condition of the :meth:`when` right before does not hold."""
        before = self._bodies[-1].pop() if self._bodies[-1] else None
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
    def parallel(self, threads: Expr) -> Iterator[None]:
        """Let every thread of a team do the same (CPU)."""
        with self._inside() as body:
            yield
        self.emit(Parallel(threads, tuple(body)))

    def statements(self) -> tuple[Stmt, ...]:
        """Return the statements so far, which are no whole function."""
        return tuple(self._bodies[-1])

    def function(self, result: Operand | None = None, kind: Type | None = None) -> Function:
        """Return the function, with what it returns."""
        given = type_of(result) if kind is None and isinstance(result, Expr) else kind
        node = None if result is None or given is None else operand(result, given)
        return replace(
            self._function,
            params=tuple(self._params),
            body=tuple(self._bodies[0]),
            result=node,
            result_type=None if result is None else given,
        )


def _filled(value: Operand, kind: Type) -> Expr:
    """A value of a type: a number alone fills a vector."""
    node = operand(value, kind)
    return build.splat(node, kind) if isinstance(kind, Vector) and type_of(node) == kind.element else node
