"""Iterated stencils in C: a time loop around sweeps over grids, read as a program of the stencil compiler.

Every sweep is a perfect nest of loops around one assignment. A sweep reads what earlier sweeps of the same step wrote
as *new* values, and in its own array what comes before the cell in the loops' order: so two arrays that are computed
from each other in turn, fields that are updated one after the other, and sweeps of Gauss and Seidel are all programs.
A sweep that only copies another one's array is left out, and that array receives the newest values at the end instead.

Arrays have one index per axis, or one index for all: ``a[i*n + j]``.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.base.errors import TraceError, UsageError
from tilewright.programs.stencil.expression import Const, Operand, Scalar, Value, apply
from tilewright.programs.stencil.problem import MAX_TILED_RANK
from tilewright.programs.stencil.program import MAX_REACH, FieldBuilder, Program, stencil
from tilewright.workloads.annotated.nests.nest import (
    Assign,
    Binary,
    Block,
    Call,
    Convert,
    Declare,
    Expr,
    Item,
    Loop,
    Name,
    Num,
    Stmt,
    Unary,
    arrays,
    names,
    walk,
)
from tilewright.workloads.annotated.nests.types import INTEGER_TYPES
from tilewright.workloads.annotated.nests.values import evaluate, literal

FUNCTIONS = {
    "sqrt": "sqrt",
    "exp": "exp",
    "log": "log",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "fabs": "abs",
    "abs": "abs",
    "floor": "floor",
    "min": "minimum",
    "max": "maximum",
    "fmin": "minimum",
    "fmax": "maximum",
    "pow": "pow",
}
"""The stencil compiler's names of C's functions."""
MAX_DEPTH = 60
_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """A stencil found in a region."""

    program: Program
    steps: Expr  # an expression of C
    # per updated field the cells that a step updates, per axis first and last; empty where not known
    boxes: Mapping[str, Box] = field(default_factory=dict)
    # arrays that hold the newest values of a field's box as well, with the field
    mirrors: tuple[tuple[str, str], ...] = ()
    # extents of all axes but the first, where arrays have one index for all axes; else empty
    rows: tuple[int, ...] = ()
    guards: frozenset[str] = frozenset()  # names that decide the grid's shape


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A perfect nest around one assignment."""

    loops: tuple[Loop, ...]
    target: Item
    value: Expr
    box: Box

    @property
    def counters(self) -> tuple[str, ...]:
        return tuple(loop.index for loop in self.loops)

    @property
    def reads(self) -> set[str]:
        return arrays(self.value)

    @property
    def guards(self) -> set[str]:
        every = [bound for loop in self.loops for bound in (loop.first, loop.last)]
        items = [self.target, *(part for part in walk(self.value) if isinstance(part, Item))]
        every += [index for item in items for index in item.index]
        return {name for expr in every for name in names(expr)} - set(self.counters)


def recognise(stmt: Stmt, known: Mapping[str, int], types: Mapping[str, str]) -> Recognised | None:
    """Return the iterated stencil that a nest is, or None."""
    if isinstance(stmt, Block):
        items = [item for item in stmt.body if not (isinstance(item, Declare) and item.value is None)]
        stmt = items[0] if len(items) == 1 else stmt
    if not isinstance(stmt, Loop) or stmt.step != 1:
        return None
    items = list(stmt.body.body) if isinstance(stmt.body, Block) else [stmt.body]
    sweeps = [_sweep(item, known) for item in items]
    if not sweeps or len({len(each.loops) for each in sweeps if each is not None}) != 1:
        return None
    found = [each for each in sweeps if each is not None]
    targets = [each.target.array for each in found]
    clock = any(stmt.index in names(each.value) | each.guards for each in found)
    if len(found) != len(sweeps) or len(set(targets)) != len(targets) or clock:
        return None
    try:
        return _program(stmt, found, known, types)
    except (TraceError, UsageError):
        return None


def _sweep(stmt: Stmt, known: Mapping[str, int]) -> _Sweep | None:
    loops: list[Loop] = []
    while isinstance(stmt, Loop):
        if stmt.step != 1:
            return None
        loops.append(stmt)
        stmt = stmt.body
        if isinstance(stmt, Block) and len(stmt.body) == 1:
            stmt = stmt.body[0]
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, Item) or not 1 <= len(loops) <= MAX_TILED_RANK:
        return None
    box = []
    for loop in loops:
        first, last = evaluate(loop.first, known), evaluate(loop.last, known)
        if not isinstance(first, int) or not isinstance(last, int) or last < first:
            return None
        box.append((first, last))
    value = stmt.value
    if stmt.op in {"+=", "-=", "*=", "/="}:
        value = Binary(stmt.op[0], stmt.target, value)
    elif stmt.op != "=":
        return None
    return _Sweep(tuple(loops), stmt.target, value, tuple(box))


def _program(time: Loop, sweeps: Sequence[_Sweep], known: Mapping[str, int], types: Mapping[str, str]) -> Recognised:
    """Make a program of sweeps."""
    rows = _rows(sweeps[0].target, sweeps[0].counters, known)
    pairs = _copies(sweeps, rows, known)
    values: dict[str, Operand] = {}
    boxes: dict[str, Box] = {}
    written: set[str] = set()
    for sweep in sweeps:
        reader = _Reader(sweep.counters, rows, known, types, sweep.target.array, frozenset(written))
        if reader.shifts(sweep.target.index) != (0,) * len(sweep.loops):
            raise TraceError("a sweep writes its own cell")
        if sweep.target.array not in pairs.values():
            # A copy's place in the order is where the values become the field's: what it computes was read before.
            source = pairs.get(sweep.target.array)
            values[sweep.target.array] = reader.value(sweep.value, 0) if source is None else values.pop(source)
            boxes[sweep.target.array] = sweep.box
        else:
            values[sweep.target.array] = reader.value(sweep.value, 0)
        written.add(sweep.target.array)
    program = stencil(f"line_{next(iter(values))}", len(sweeps[0].loops), values)
    return Recognised(
        program=program,
        steps=Binary("+", Binary("-", time.last, time.first), Num("1")),
        boxes=boxes,
        mirrors=tuple((source, target) for target, source in pairs.items()),
        rows=rows or (),
        guards=frozenset().union(*(sweep.guards for sweep in sweeps)),
    )


def _copies(sweeps: Sequence[_Sweep], rows: tuple[int, ...] | None, known: Mapping[str, int]) -> dict[str, str]:
    """Return arrays that are copied from others, which nothing else reads: ``a = b`` behind ``b = f(a)``."""
    found: dict[str, str] = {}
    for number, copy in enumerate(sweeps):
        source = copy.value
        if not isinstance(source, Item):
            continue
        readers = [place for place, each in enumerate(sweeps) if source.array in each.reads]
        writers = [place for place, each in enumerate(sweeps[:number]) if each.target.array == source.array]
        if readers != [number] or len(writers) != 1 or sweeps[writers[0]].box != copy.box:
            continue
        reader = _Reader(copy.counters, rows, known, {}, copy.target.array, frozenset())
        if reader.shifts(source.index) == (0,) * len(copy.loops):
            found[copy.target.array] = source.array
    return found


def _rows(item: Item, counters: Sequence[str], known: Mapping[str, int]) -> tuple[int, ...] | None:
    """Return the extents of the inner axes that an index for all axes tells, or None where every axis has its own."""
    if len(item.index) == len(counters):
        return None
    form = _affine(item.index[0], counters, known) if len(item.index) == 1 else None
    if form is None:
        raise TraceError("an array has one index per axis or one for all")
    strides, _ = form
    inner: list[int] = []
    for above, below in itertools.pairwise(strides):
        if below <= 0 or above % below:
            raise TraceError("the strides of an array are multiples of each other")
        inner.append(above // below)
    if strides[-1] != 1 or any(extent <= 2 * MAX_REACH for extent in inner):
        raise TraceError("an array's rows are too short to tell its axes")
    return tuple(inner)


def _affine(expr: Expr, counters: Sequence[str], known: Mapping[str, int]) -> tuple[list[int], int] | None:  # noqa: PLR0911
    """Return the factors of the counters and the constant of an affine expression, or None."""
    value = evaluate(expr, known) if not names(expr) & set(counters) else None
    if isinstance(value, int):
        return [0] * len(counters), value
    match expr:
        case Name(name) if name in counters:
            return [int(each == name) for each in counters], 0
        case Binary("+" | "-" as op, left, right):
            a, b = _affine(left, counters, known), _affine(right, counters, known)
            if a is None or b is None:
                return None
            sign = 1 if op == "+" else -1
            return [x + sign * y for x, y in zip(a[0], b[0], strict=True)], a[1] + sign * b[1]
        case Binary("*", left, right):
            a, b = _affine(left, counters, known), _affine(right, counters, known)
            if a is None or b is None:
                return None
            if any(a[0]):
                a, b = b, a
            return None if any(a[0]) else ([a[1] * y for y in b[0]], a[1] * b[1])
    return None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the expressions of one sweep."""

    counters: tuple[str, ...]  # its counters, outermost first
    rows: tuple[int, ...] | None  # see :attr:`Recognised.rows`; None where every axis has its own index
    known: Mapping[str, int]  # values of names
    types: Mapping[str, str]  # types of scalars
    own: str  # the array that it writes
    written: Collection[str]  # arrays that earlier sweeps of the step wrote

    def shifts(self, index: Sequence[Expr]) -> tuple[int, ...]:
        """Return how far from the cell an element is."""
        rank = len(self.counters)
        forms = [_affine(each, self.counters, self.known) for each in index]
        given = [form for form in forms if form is not None]
        if len(given) != len(index) or len(index) != (rank if self.rows is None else 1):
            raise TraceError("an index of a stencil is its counter and a whole number")
        if self.rows is None:
            if any(form[0] != [int(a == axis) for a in range(rank)] for axis, form in enumerate(given)):
                raise TraceError("the indices of a stencil are the counters in order")
            return tuple(form[1] for form in given)
        strides = [1]
        for extent in reversed(self.rows):
            strides.insert(0, strides[0] * extent)
        ((factors, rest),) = given
        if factors != strides:
            raise TraceError("all arrays of a stencil have the same rows")
        found = []
        for stride in strides:
            found.append((rest + stride // 2) // stride)
            rest -= found[-1] * stride
        return tuple(found)

    def item(self, item: Item) -> Value:
        """Return an element as a read of a field at a time level."""
        shifts = self.shifts(item.index)
        new = item.array in self.written or (item.array == self.own and shifts < (0,) * len(shifts))
        return FieldBuilder(item.array, int(new))[shifts]

    def value(self, expr: Expr, depth: int) -> Value:  # noqa: PLR0911
        """Return an expression of C as a stencil's value."""
        if depth > MAX_DEPTH:
            raise TraceError("the expression is too deep for a stencil")
        match expr:
            case Num(text) if (number := literal(text)) is not None:
                # An integer literal beside floating-point values is one of them; divisions of two are refused below.
                return Value(Const(float(number)))
            case Name(name) if name not in self.counters:
                return Value(Scalar(name))
            case Item():
                return self.item(expr)
            case Unary("-", operand):
                return apply("neg", self.value(operand, depth + 1))
            case Unary("+", operand) | Convert("double", operand):
                return self.value(operand, depth + 1)
            case Binary(op, left, right) if op in _OPERATORS:
                if op == "/" and self.whole(left) and self.whole(right):
                    raise TraceError("a division of whole numbers is no stencil's")
                return apply(_OPERATORS[op], self.value(left, depth + 1), self.value(right, depth + 1))
            case Call(function, args) if function in FUNCTIONS:
                return apply(FUNCTIONS[function], *(self.value(each, depth + 1) for each in args))
        raise TraceError("the expression is no stencil's")

    def whole(self, expr: Expr) -> bool:
        """Whether C computes an expression in whole numbers."""
        match expr:
            case Num(text):
                return isinstance(literal(text), int)
            case Name(name):
                return self.types.get(name, "int" if name in self.known else "double") in INTEGER_TYPES
            case Binary(_, left, right):
                return self.whole(left) and self.whole(right)
            case Unary(_, operand):
                return self.whole(operand)
        return False
