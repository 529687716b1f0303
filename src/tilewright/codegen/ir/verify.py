"""What a unit of IR must keep to, and where one does not.

- Names: read where they are known, as the type that they were given; given once per scope; assigned to only if
  :class:`~tilewright.codegen.ir.nodes.Mutable`.
- Types: operands are what the operator works on; loads, stores and calls agree with the pointers and functions that
  they use; nothing is stored through ``const``; no index is cut to fewer bits; numbers change their type only where
  they are named or converted.
- Targets: nodes that one kind of target has stand in its units only; loops are shared, and threads meet, inside a
  parallel region on CPUs; shared memory is declared at the top of a kernel, and barriers stand where all threads come
  (:mod:`tilewright.codegen.ir.divergence`).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from tilewright.codegen.ir.divergence import divergent_barrier
from tilewright.codegen.ir.nodes import (
    INTRINSICS,
    Array,
    Assign,
    Barrier,
    Call,
    Comment,
    ConstArray,
    Counters,
    Expr,
    For,
    Function,
    If,
    Int,
    Intrinsic,
    Lanes,
    Let,
    Load,
    Meet,
    Mutable,
    Op,
    Operator,
    Parallel,
    Real,
    Scope,
    Shift,
    Stmt,
    Store,
    Var,
    While,
    type_of,
)
from tilewright.codegen.ir.types import (
    BOOL,
    ELEMENTS,
    INDEX,
    WIDE,
    Bool,
    Element,
    Index,
    Mask,
    Pointer,
    Space,
    Type,
    Vector,
)

_SHARES = {"", "static", "dynamic"}
_KINDS = {False: {"entry", "inline", "local", "apart"}, True: {"kernel", "inline", "local"}}
_CPU_NODES = (Lanes, Shift, ConstArray, Parallel, Counters, Meet)
_CPU_OPERATORS = {
    *(Operator.SPLAT, Operator.KEEP, Operator.HOLD, Operator.FRESH, Operator.OPAQUE, Operator.WRITABLE),
    *(Operator.VECTOR_BYTES, Operator.THREADS, Operator.LANE, Operator.ADDS, Operator.SUBS, Operator.ANY_GT),
}
_GPU_OPERATORS = {Operator.GROUP, Operator.GROUPS, Operator.ALIGNED}


class InvalidIRError(ValueError):
    """A unit that no printer can print, or whose text would not mean what was meant: a fault of who made it."""


def verify(functions: Iterable[Function], *, gpu: bool) -> None:
    """Check a unit.

    Args:
        functions: Its functions, callees first.
        gpu: Whether it is for GPUs.

    Raises:
        InvalidIRError: At the first rule that it breaks; one sentence names the function and the statement.
    """
    known: dict[str, Function] = {}
    for function in functions:
        if function.name in known and function.registers in {0, known[function.name].registers}:
            raise InvalidIRError(f"in {function.name}: another function has this name")
        _Checker(function, known, gpu=gpu).check()
        known[function.name] = function
    found = divergent_barrier(tuple(known.values()))
    if found is not None:
        raise InvalidIRError(f"in {found.function}, at {said(found.at)}: not every thread comes to the barrier")


def said(node: Stmt | None) -> str:
    """Name a statement in a message.

    >>> said(Let(Var("x"), Int(1))), said(Barrier()), said(None)
    ('Let x', 'Barrier', 'the result')
    """
    match node:
        case None:
            return "the result"
        case Let() | Mutable() | Assign() | Array() | ConstArray() | Counters() | For():
            return f"{type(node).__name__} {node.var.name}"
        case Call() | Intrinsic():
            return f"{type(node).__name__} {node.name}"
        case Store(base=Var(name)):
            return f"Store {name}"
    return type(node).__name__


class _Checker:
    """Checks one function; ``known`` are those before it."""

    def __init__(self, function: Function, known: dict[str, Function], *, gpu: bool) -> None:
        self.function, self.known, self.gpu = function, known, gpu
        self.at: Stmt | None = None
        self.names: dict[str, tuple[Type, bool]] = {}
        """Types of names, and whether they are assigned to."""
        self.parallel = False

    def fail(self, what: str) -> InvalidIRError:
        return InvalidIRError(f"in {self.function.name}, at {said(self.at)}: {what}")

    def check(self) -> None:
        function = self.function
        if function.kind not in _KINDS[self.gpu]:
            raise InvalidIRError(f"in {function.name}: {'GPU' if self.gpu else 'CPU'} units have no {function.kind}")
        scope: set[str] = set()
        for param in function.params:
            self.bind(param, scope)
        self.statements(function.body, scope, depth=0)
        self.at = None
        if function.result is not None:
            if function.result_type is None:
                raise self.fail("it has no type")
            self.expect(function.result, function.result_type, "is returned")

    def bind(self, var: Var, scope: set[str], *, mutable: bool = False) -> None:
        if var.name in scope:
            raise self.fail(f"{var.name} is the name of something else in this scope")
        self.only_here(var.type)
        scope.add(var.name)
        self.names[var.name] = var.type, mutable

    def only_here(self, kind: Type) -> None:
        if self.gpu and isinstance(kind, Vector | Mask):
            raise self.fail(f"GPU units have no {kind}")

    # statements

    def body(self, body: tuple[Stmt, ...], *new: Var, depth: int) -> None:
        """Check statements in a scope of their own."""
        outer = self.names
        self.names = dict(outer)
        scope: set[str] = set()
        for var in new:
            self.bind(var, scope)
        self.statements(body, scope, depth=depth)
        self.names = outer

    def statements(self, body: tuple[Stmt, ...], scope: set[str], *, depth: int) -> None:
        for node in body:
            self.at = node
            self.statement(node, scope, depth)

    def statement(self, node: Stmt, scope: set[str], depth: int) -> None:
        if self.gpu and isinstance(node, _CPU_NODES):
            raise self.fail("GPU units have no such statement")
        _STATEMENTS[type(node)](self, node, scope, depth)

    def let(self, node: Let | Mutable, scope: set[str], _depth: int) -> None:
        kind = self.expr(node.value)
        if not (isinstance(kind, Element) and isinstance(node.var.type, Element)):
            self.fits(kind, node.var.type, f"is named {node.var.name}, of type {node.var.type},")
        self.bind(node.var, scope, mutable=isinstance(node, Mutable))

    def assign(self, node: Assign, _scope: set[str], _depth: int) -> None:
        kind, mutable = self.names.get(node.var.name, (None, False))
        if kind is None:
            raise self.fail(f"{node.var.name} is not known here")
        if not mutable:
            raise self.fail(f"{node.var.name} is not Mutable")
        self.expect(node.value, kind, f"is assigned to {node.var.name}, of type {kind},")

    def array(self, node: Array, scope: set[str], depth: int) -> None:
        kind = node.var.type
        if not isinstance(kind, Pointer):
            raise self.fail(f"memory is named by a pointer, not by a {kind}")
        if node.length < 1:
            raise self.fail(f"it holds {node.length} values")
        if self.gpu and kind.space is Space.GLOBAL:
            raise self.fail("a kernel declares shared memory or a thread's own")
        if not self.gpu and kind.space is Space.SHARED:
            raise self.fail("CPU units have no shared memory")
        if kind.space is Space.SHARED and (depth or self.function.kind != "kernel"):
            raise self.fail("shared memory is declared at the top of a kernel")
        self.bind(node.var, scope)

    def const_array(self, node: ConstArray, scope: set[str], _depth: int) -> None:
        kind = node.var.type
        if not (isinstance(kind, Pointer) and kind.const and isinstance(kind.to, Element)):
            raise self.fail(f"known numbers are named by a const pointer to an element type, not by a {kind}")
        self.bind(node.var, scope)

    def store(self, node: Store, _scope: set[str], _depth: int) -> None:
        kind = self.access(node.base, node.index, node.type)
        if kind.const:
            raise self.fail(f"a {node.type} is stored through a {kind}")
        self.expect(node.value, node.type, f"is stored as a {node.type}")

    def loop(self, node: For, _scope: set[str], depth: int) -> None:
        for bound in (node.low, node.high, node.step):
            self.expect(bound, node.var.type, "is a bound or a step")
        if not isinstance(node.var.type, Index):
            raise self.fail(f"loops count with an index, not with a {node.var.type}")
        if node.share not in _SHARES:
            raise self.fail(f"no loop is shared in a way called {node.share!r}")
        if node.share and not self.parallel:
            raise self.fail("a loop is shared outside a parallel region")
        if node.independent and self.gpu:
            raise self.fail("iterations are independent on CPUs only: on GPUs a thread makes no vectors of them")
        self.body(node.body, node.var, depth=depth + 1)

    def repeat(self, node: While, _scope: set[str], depth: int) -> None:
        self.condition(node.condition)
        self.body(node.body, depth=depth + 1)

    def branch(self, node: If, _scope: set[str], depth: int) -> None:
        self.condition(node.condition)
        self.body(node.then, depth=depth + 1)
        self.at = node
        self.body(node.otherwise, depth=depth + 1)

    def scope(self, node: Scope, _scope: set[str], depth: int) -> None:
        self.body(node.body, depth=depth + 1)

    def region(self, node: Parallel, _scope: set[str], depth: int) -> None:
        if self.parallel:
            raise self.fail("a parallel region stands in another")
        self.expect(node.threads, INDEX, "is a number of threads")
        self.parallel = True
        self.body(node.body, depth=depth + 1)
        self.parallel = False

    def barrier(self, node: Barrier, _scope: set[str], _depth: int) -> None:
        if not self.gpu and (not self.parallel or node.memory):
            raise self.fail("the threads of a region meet inside it, whatever they wrote")

    def counters(self, node: Counters, scope: set[str], _depth: int) -> None:
        if node.var.type != Pointer(INDEX):
            raise self.fail(f"counters are named by a pointer to an index, not by a {node.var.type}")
        if self.parallel:
            raise self.fail("threads of a region share no counters that it makes itself")
        self.expect(node.count, INDEX, "is a number of threads")
        self.bind(node.var, scope)

    def meet(self, node: Meet, _scope: set[str], _depth: int) -> None:
        if not self.parallel:
            raise self.fail("threads meet outside a parallel region")
        self.expect(node.counters, Pointer(INDEX), "counts how often threads meet")
        for each in (node.first, node.count, node.own):
            self.expect(each, INDEX, "says which threads meet")

    def comment(self, node: Comment, _scope: set[str], _depth: int) -> None:
        if "*/" in node.text or "\n" in node.text:
            raise self.fail("the text ends its own comment")

    def call_statement(self, node: Call | Intrinsic, _scope: set[str], _depth: int) -> None:
        self.call(node)

    # expressions

    def expect(self, node: Expr, wanted: Type, what: str) -> None:
        """Check an expression that must give, or turn into, a type."""
        self.fits(self.expr(node), wanted, what)

    def fits(self, kind: Type | None, wanted: Type, what: str) -> None:
        if kind == wanted:
            return
        if isinstance(wanted, Index) and (kind == BOOL or (isinstance(kind, Index) and kind != WIDE)):
            return
        if isinstance(kind, Pointer) and isinstance(wanted, Pointer) and self.points(kind, wanted):
            return
        raise self.fail(f"{'nothing' if kind is None else f'a value of type {kind}'} {what}")

    def points(self, kind: Pointer, wanted: Pointer) -> bool:
        """Whether a pointer may stand for another: ``const`` may be added, and CPUs have one memory."""
        here = not self.gpu or kind.space is wanted.space
        return here and kind.to == wanted.to and (wanted.const or not kind.const)

    def condition(self, node: Expr) -> None:
        kind = self.expr(node)
        if not isinstance(kind, Bool | Index):
            raise self.fail(f"a value of type {kind} is a condition")

    def expr(self, node: Expr) -> Type | None:
        """Check an expression, and return its type: None if it is a call of what returns nothing."""
        if self.gpu and isinstance(node, _CPU_NODES):
            raise self.fail(f"GPU units have no {type(node).__name__}")
        kind: Type | None = _EXPRESSIONS[type(node)](self, node)
        return kind

    def var(self, node: Var) -> Type:
        found = self.names.get(node.name)
        if found is None:
            raise self.fail(f"{node.name} is not known here")
        if found[0] != node.type:
            raise self.fail(f"{node.name} is read as a {node.type} and is a {found[0]}")
        return node.type

    def count(self, _node: Int | Lanes) -> Type:
        return INDEX

    def load(self, node: Load) -> Type:
        self.access(node.base, node.index, node.type)
        self.only_here(node.type)
        return node.type

    def literal(self, node: Real) -> Type:
        if not isinstance(node.type, Element | Bool):
            raise self.fail(f"a literal has the type {node.type}")
        return node.type

    def shift(self, node: Shift) -> Type:
        if node.distance < 1:
            raise self.fail(f"a vector lies {node.distance} cells beside another")
        for each in (node.own, node.other):
            self.expect(each, node.type, f"is shifted as a {node.type}")
        return node.type

    def access(self, base: Expr, index: Expr, kind: Type) -> Pointer:
        """Check a place in memory where a type lies, and return the type of its pointer."""
        found = self.expr(base)
        if not isinstance(found, Pointer):
            raise self.fail(f"a value of type {found} is indexed")
        if found.to != kind and not (isinstance(kind, Vector) and found.to == kind.element):
            raise self.fail(f"a {kind} is taken from, or put to, where a {found} points")
        if not isinstance(place := self.expr(index), Index):
            raise self.fail(f"a value of type {place} is an index")
        return found

    def call(self, node: Call | Intrinsic) -> Type | None:
        kinds = [self.expr(arg) for arg in node.args]
        if isinstance(node, Intrinsic):
            return self.intrinsic(node, kinds)
        called = self.known.get(node.name)
        if called is None:
            raise self.fail(f"no function {node.name} stands before this one")
        if len(kinds) != len(called.params):
            raise self.fail(f"{node.name} takes {len(called.params)} arguments, not {len(kinds)}")
        for kind, param in zip(kinds, called.params, strict=True):
            self.fits(kind, param.type, f"is passed to {node.name} for {param.name}, of type {param.type},")
        if node.type != called.result_type:
            raise self.fail(f"{node.name} returns {called.result_type or 'nothing'}, not {node.type or 'nothing'}")
        return node.type

    def intrinsic(self, node: Intrinsic, kinds: list[Type | None]) -> Type | None:
        signature = INTRINSICS.get(node.name)
        if signature is None:
            raise self.fail(f"no dialect has a function {node.name}")
        if signature.gpu != self.gpu:
            raise self.fail(f"{'GPU' if self.gpu else 'CPU'} units have no function {node.name}")
        if len(kinds) != len(signature.operands):
            raise self.fail(f"{node.name} takes {len(signature.operands)} arguments, not {len(kinds)}")
        wanted: dict[str, Type] = {
            "w": Pointer(node.element),
            "r": Pointer(node.element, const=True),
            "i": INDEX,
            "e": node.element,
            "v": Vector(node.element),
            "b": Pointer(ELEMENTS["uint8"], const=True),
        }
        for kind, letter in zip(kinds, signature.operands, strict=True):
            self.fits(kind, wanted[letter], f"is passed to {node.name} for a {wanted[letter]}")
        return type_of(node) if signature.returns else None

    def operation(self, node: Op) -> Type:
        op, kind = node.op, node.type
        if op in (_CPU_OPERATORS if self.gpu else _GPU_OPERATORS):
            raise self.fail(f"{'GPU' if self.gpu else 'CPU'} units have no operator {op}")
        kinds = [self.expr(arg) for arg in node.args]
        arity, fits = _OPERATORS[op]
        if len(kinds) != arity:
            raise self.fail(f"{op} takes {arity} operands, not {len(kinds)}")
        if not fits(kind, kinds):
            got = ", ".join(str(each or "nothing") for each in kinds) or "nothing"
            raise self.fail(f"{op} of type {kind} is applied to {got}")
        return type_of(node)


_STATEMENTS: dict[type, Callable[..., None]] = {
    Let: _Checker.let,
    Mutable: _Checker.let,
    Assign: _Checker.assign,
    Array: _Checker.array,
    ConstArray: _Checker.const_array,
    Store: _Checker.store,
    For: _Checker.loop,
    While: _Checker.repeat,
    If: _Checker.branch,
    Scope: _Checker.scope,
    Parallel: _Checker.region,
    Counters: _Checker.counters,
    Meet: _Checker.meet,
    Barrier: _Checker.barrier,
    Comment: _Checker.comment,
    Call: _Checker.call_statement,
    Intrinsic: _Checker.call_statement,
}
_EXPRESSIONS: dict[type, Callable[..., Type | None]] = {
    Var: _Checker.var,
    Int: _Checker.count,
    Lanes: _Checker.count,
    Real: _Checker.literal,
    Op: _Checker.operation,
    Load: _Checker.load,
    Shift: _Checker.shift,
    Call: _Checker.call,
    Intrinsic: _Checker.call,
}

Kinds = list[Type | None]
"""Types of the operands of an operator."""


def _numbers(kind: Type, kinds: Kinds) -> bool:
    """Numbers of one type, of which some may be broadcast to vectors; or indices."""
    if isinstance(kind, Vector):
        return kind in kinds and all(each in {kind, kind.element} for each in kinds)
    return _alike(kind, kinds)


def _alike(kind: Type, kinds: Kinds) -> bool:
    """Values of one type: numbers, vectors, or indices with conditions, which are 0 or 1."""
    if isinstance(kind, Index):
        return all(each == BOOL or (isinstance(each, Index) and (each != WIDE or kind == WIDE)) for each in kinds)
    return isinstance(kind, Element | Vector) and all(each == kind for each in kinds)


def _addends(kind: Type, kinds: Kinds) -> bool:
    """Numbers, a pointer and an index, or two pointers."""
    first, second = kinds
    if isinstance(kind, Pointer):
        return first == kind and isinstance(second, Index)
    if kind == INDEX and isinstance(first, Pointer) and isinstance(second, Pointer):
        return first.to == second.to
    return _numbers(kind, kinds)


def _comparable(kind: Type, kinds: Kinds) -> bool:
    """Numbers, or conditions with indices: these are 0 or 1."""
    return _truths(kind, kinds) if kind == BOOL else _numbers(kind, kinds)


def _indices(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Index) and _alike(kind, kinds)


def _whole(kind: Type, kinds: Kinds) -> bool:
    """Indices, or whole numbers."""
    number = kind.element if isinstance(kind, Vector) else kind
    return (isinstance(number, Index) or (isinstance(number, Element) and number.is_integer)) and _numbers(kind, kinds)


def _truths(kind: Type, kinds: Kinds) -> bool:
    """Conditions on values of a type; where it is no type of numbers an index stands for one, or for its bits."""
    if isinstance(kind, Vector | Mask):
        return all(each == Mask(kind.element) for each in kinds)
    if isinstance(kind, Element):
        return all(each == BOOL for each in kinds)
    return all(isinstance(each, Index) or (each == BOOL and kind == BOOL) for each in kinds)


def _choice(kind: Type, kinds: Kinds) -> bool:
    """A condition on numbers and two of them."""
    condition = Mask(kind.element) if isinstance(kind, Vector) else BOOL
    return isinstance(kind, Element | Vector) and kinds[0] == condition and kinds[1:] == [kind, kind]


def _branches(kind: Type, kinds: Kinds) -> bool:
    """A condition and two values that are a type, or indices or pointers that become one."""
    if not isinstance(kinds[0], Bool | Index):
        return False
    if isinstance(kind, Pointer):
        return all(
            isinstance(each, Pointer) and replace(each, const=kind.const or each.const) == kind for each in kinds[1:]
        )
    return all(each == kind or (kind == WIDE and each == INDEX) for each in kinds[1:])


def _condition(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Element | Vector) and kinds[0] == (Mask(kind.element) if isinstance(kind, Vector) else BOOL)


def _one_index(kind: Type, kinds: Kinds) -> bool:
    return kind == INDEX and isinstance(kinds[0], Index)


def _nothing(kind: Type, _kinds: Kinds) -> bool:
    return kind == INDEX


def _number_for_all(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Vector) and kinds[0] == kind.element


def _vectors(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Vector) and _alike(kind, kinds)


def _whole_vectors(kind: Type, kinds: Kinds) -> bool:
    return _vectors(kind, kinds) and _whole(kind, kinds)


def _kept(kind: Type, kinds: Kinds) -> bool:
    return _vectors(kind, kinds[:2]) and kinds[2] == INDEX


def _converted(kind: Type, kinds: Kinds) -> bool:
    """A number, an index or a condition that becomes a number or an index; a pointer, its address in bytes."""
    if isinstance(kinds[0], Pointer):
        return isinstance(kind, Index)
    return isinstance(kind, Element | Index) and isinstance(kinds[0], Element | Index | Bool)


def _same_bits(kind: Type, kinds: Kinds) -> bool:
    """A pointer into the same memory, or a vector of numbers as wide; ``const`` may be added."""
    found = kinds[0]
    if isinstance(kind, Vector) and isinstance(found, Vector):
        return kind.element.bits == found.element.bits
    if not (isinstance(kind, Pointer) and isinstance(found, Pointer)):
        return False
    return kind.space is found.space and (kind.const or not found.const)


def _lane(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Element) and kinds[0] == Vector(kind) and isinstance(kinds[1], Index)


def _without_const(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Pointer) and kinds[0] == Pointer(kind.to, const=True, space=kind.space)


def _pointer_and_size(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Pointer) and kinds[0] == kind and isinstance(kinds[1], Index)


_OPERATORS: dict[Operator, tuple[int, Callable[[Type, Kinds], bool]]] = {
    **dict.fromkeys((Operator.ADD, Operator.SUB), (2, _addends)),
    **dict.fromkeys((Operator.MUL, Operator.DIV), (2, _numbers)),
    **dict.fromkeys((Operator.MOD, Operator.SHR, Operator.SHL), (2, _whole)),
    **dict.fromkeys((Operator.MINIMUM, Operator.MAXIMUM, Operator.POW, Operator.OVER_SQRT), (2, _alike)),
    **dict.fromkeys((Operator.NEG, Operator.ABS, Operator.SQRT, Operator.EXP, Operator.LOG), (1, _alike)),
    **dict.fromkeys((Operator.SIN, Operator.COS, Operator.TANH), (1, _alike)),
    **dict.fromkeys((Operator.FLOOR, Operator.RINT, Operator.TRUNC), (1, _alike)),
    **dict.fromkeys((Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.EQ, Operator.NE), (2, _comparable)),
    Operator.NONZERO: (2, _numbers),
    **dict.fromkeys((Operator.ADDS, Operator.SUBS, Operator.ANY_GT), (2, _whole_vectors)),
    **dict.fromkeys((Operator.AND, Operator.OR), (2, _truths)),
    Operator.NOT: (1, _truths),
    Operator.WHERE: (3, _choice),
    Operator.NUMBER: (1, _condition),
    Operator.SELECT: (3, _branches),
    **dict.fromkeys((Operator.MIN, Operator.MAX), (2, _indices)),
    **dict.fromkeys((Operator.FLOORDIV, Operator.FLOORMOD, Operator.CEILDIV), (2, _indices)),
    Operator.WIDEN: (1, _one_index),
    Operator.CONVERT: (1, _converted),
    Operator.REINTERPRET: (1, _same_bits),
    **dict.fromkeys((Operator.THREAD, Operator.THREADS, Operator.GROUP, Operator.GROUPS), (0, _nothing)),
    Operator.VECTOR_BYTES: (0, _nothing),
    Operator.SPLAT: (1, _number_for_all),
    Operator.LANE: (2, _lane),
    Operator.KEEP: (3, _kept),
    **dict.fromkeys((Operator.HOLD, Operator.FRESH), (1, _vectors)),
    Operator.OPAQUE: (1, _one_index),
    Operator.WRITABLE: (1, _without_const),
    Operator.ALIGNED: (2, _pointer_and_size),
}
"""How many operands an operator takes, and whether their types fit the one that it works in."""
