"""What a unit of IR must keep to, and where one does not.

- Names: read where they are known, as the type that they were given; given once per scope; assigned to only if
  :class:`~tilewright.codegen.ir.nodes.Mutable`.
- Types: operands are what the operator works on; loads, stores and calls agree with the pointers and functions that
  they use; nothing is stored through ``const``; no index is cut to fewer bits; numbers change their type only where
  they are named or converted, C's own wherever they meet.
- Targets: nodes that one kind of target has stand in its units only; loops are shared, and threads meet, inside a
  parallel region on CPUs; shared memory is declared at the top of a kernel, and barriers stand where all threads come
  (:mod:`tests.oracles.divergence`).
"""

from collections.abc import Callable, Iterable

from tests.oracles.divergence import divergent_barrier
from tests.oracles.names import free_names
from tests.oracles.operands import INTRINSICS, OPERATORS, fits

from tilewright.codegen.ir.expressions import (
    Call,
    Expr,
    Int,
    Intrinsic,
    Lanes,
    Literal,
    Load,
    Op,
    Real,
    Shift,
    Size,
    Var,
    type_of,
)
from tilewright.codegen.ir.nodes import (
    Array,
    Assign,
    Barrier,
    Comment,
    ConstArray,
    Declare,
    Directive,
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
    Verbatim,
    While,
)
from tilewright.codegen.ir.operators import Operator
from tilewright.codegen.ir.rewrite import walk
from tilewright.codegen.ir.types import (
    BOOL,
    ELEMENTS,
    INDEX,
    WIDE,
    AddressSpace,
    Bool,
    Element,
    Index,
    Mask,
    Native,
    Pointer,
    Type,
    Vector,
    private_pointer,
    shared_pointer,
)
from tilewright.codegen.print.elements import MATH_FUNCTIONS

_SHARES = {"", "static", "dynamic"}
_KINDS = {False: {"entry", "inline", "local", "apart"}, True: {"kernel", "inline", "local"}}
_CPU_NODES = (Lanes, Shift, ConstArray, Parallel)
_CPU_OPERATORS = {
    *(Operator.COMPLEX, Operator.REAL, Operator.IMAG, Operator.MODULUS, Operator.CONJ, Operator.TIMES_I),
    *(Operator.SPLAT, Operator.KEEP, Operator.HOLD, Operator.FRESH, Operator.WRITABLE),
    *(
        Operator.VECTOR_BYTES,
        Operator.WANTED,
        Operator.THREADS,
        Operator.LANE,
        Operator.ADDS,
        Operator.SUBS,
        Operator.ANY_GT,
    ),
}
_LIBRARY = {"abs", "malloc", *MATH_FUNCTIONS, *(f"{name}f" for name in MATH_FUNCTIONS)}
"""Functions of C's library."""
_UPDATES = {
    *(Operator.ADD, Operator.SUB, Operator.MUL, Operator.DIV, Operator.MOD),
    *(Operator.SHL, Operator.SHR, Operator.AND, Operator.OR, Operator.XOR),
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


def verify_region(body: Iterable[Stmt]) -> None:
    """Check statements that stand among others of a user's, which declare what they do not.

    Args:
        body: The statements.

    Raises:
        InvalidIRError: At the first rule that they break.
    """
    region = tuple(body)
    free = free_names(region)
    mentioned: dict[str, Var] = {}
    for node in walk(region):
        named = node if isinstance(node, Var) else node.var if isinstance(node, Assign) else None
        if named is not None and named.name in free:
            mentioned.setdefault(named.name, named)
    around = tuple(Declare(var=var) for var in mentioned.values())
    verify([Function(name="a region", params=(), body=(*around, Scope(region)))], gpu=False)


def said(node: Stmt | None) -> str:
    """Name a statement in a message.

    >>> said(Let(Var("x"), Int(1))), said(Barrier()), said(None)
    ('Let x', 'Barrier', 'the result')
    """
    match node:
        case None:
            return "the result"
        case Let() | Mutable() | Assign() | Array() | ConstArray() | For() | Declare():
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
        if self.gpu and kind.space is AddressSpace.GLOBAL:
            raise self.fail("a kernel declares shared memory or a thread's own")
        if not self.gpu and kind.space is AddressSpace.SHARED:
            raise self.fail("CPU units have no shared memory")
        if kind.space is AddressSpace.SHARED and (depth or self.function.kind != "kernel"):
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
        if not isinstance(node.var.type, Index | Native):
            raise self.fail(f"loops count with an index, not with a {node.var.type}")
        if node.closed and not isinstance(node.var.type, Native):
            raise self.fail("a loop that counts with an index ends below its bound")
        step = node.step.value if isinstance(node.step, Int) else None
        if (node.falling and not node.closed) or (step is not None and (step == 0 or (step < 0) != node.falling)):
            raise self.fail(f"it {'falls' if node.falling else 'rises'} by steps of {step}")
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

    def declare(self, node: Declare, scope: set[str], _depth: int) -> None:
        kind: Type = node.var.type
        for extent in node.extents:
            if not isinstance(kind, Pointer):
                raise self.fail(f"{len(node.extents)} extents make no {node.var.type}")
            self.expect(extent, Native(), "is an extent")
            kind = kind.to
        for value in node.values:
            self.expect(value, kind, f"is a first value of type {kind}")
        if len(node.values) > 1 and not node.extents:
            raise self.fail(f"one variable has {len(node.values)} first values")
        self.bind(node.var, scope, mutable=True)

    def update(self, node: Update, _scope: set[str], _depth: int) -> None:
        if node.op not in _UPDATES:
            raise self.fail(f"no place is updated by {node.op}")
        if isinstance(node.place, Load):
            place = self.access(node.place.base, node.place.index, node.place.type)
            if place.const:
                raise self.fail(f"a {node.place.type} is stored through a {place}")
        else:
            self.var(node.place)
            if not self.names[node.place.name][1]:
                raise self.fail(f"{node.place.name} is not Mutable")
        if not isinstance(node.place.type, Native):
            raise self.fail(f"a {node.place.type} is updated by C's conversions")
        self.expect(node.value, node.place.type, "is the second operand of an update")

    def text(self, node: Directive | Verbatim, _scope: set[str], _depth: int) -> None:
        if isinstance(node, Directive) and "\n" in node.text:
            raise self.fail("a directive is one line")

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
        if isinstance(wanted, Native) and isinstance(kind, Native | Index | Bool):
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
        if not isinstance(kind, Bool | Index | Native):
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

    def spelled(self, node: Literal) -> Type:
        return node.type

    def size(self, node: Size) -> Type:
        return type_of(node)

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
        if found.to != kind and not (isinstance(kind, Vector) and self.converts(found.to, kind.element)):
            raise self.fail(f"a {kind} is taken from, or put to, where a {found} points")
        if not isinstance(place := self.expr(index), Index | Native):
            raise self.fail(f"a value of type {place} is an index")
        return found

    def converts(self, memory: Type, held: Element) -> bool:
        """Whether numbers that lie in memory are a vector's, or become them by a conversion."""
        real = isinstance(memory, Element) and not (memory.is_complex or memory.is_narrow or held.is_complex)
        return memory == held or (not self.gpu and real and memory.parts == held.parts and not held.is_narrow)

    def call(self, node: Call | Intrinsic) -> Type | None:
        kinds = [self.expr(arg) for arg in node.args]
        if isinstance(node, Intrinsic):
            return self.intrinsic(node, kinds)
        called = self.known.get(node.name)
        if called is None and node.name in _LIBRARY:
            return node.type
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
            "p": private_pointer(node.element),
            "s": shared_pointer(node.element),
        }
        for kind, letter in zip(kinds, signature.operands, strict=True):
            self.fits(kind, wanted[letter], f"is passed to {node.name} for a {wanted[letter]}")
        return type_of(node) if signature.returns else None

    def operation(self, node: Op) -> Type:
        op, kind = node.op, node.type
        if op in (_CPU_OPERATORS if self.gpu else _GPU_OPERATORS):
            raise self.fail(f"{'GPU' if self.gpu else 'CPU'} units have no operator {op}")
        kinds = [self.expr(arg) for arg in node.args]
        arity = OPERATORS[op][0]
        if len(kinds) != arity:
            raise self.fail(f"{op} takes {arity} operands, not {len(kinds)}")
        if not fits(op, kind, kinds):
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
    Barrier: _Checker.barrier,
    Declare: _Checker.declare,
    Update: _Checker.update,
    Directive: _Checker.text,
    Verbatim: _Checker.text,
    Comment: _Checker.comment,
    Call: _Checker.call_statement,
    Intrinsic: _Checker.call_statement,
}
_EXPRESSIONS: dict[type, Callable[..., Type | None]] = {
    Var: _Checker.var,
    Int: _Checker.count,
    Lanes: _Checker.count,
    Real: _Checker.literal,
    Literal: _Checker.spelled,
    Size: _Checker.size,
    Op: _Checker.operation,
    Load: _Checker.load,
    Shift: _Checker.shift,
    Call: _Checker.call,
    Intrinsic: _Checker.call,
}
