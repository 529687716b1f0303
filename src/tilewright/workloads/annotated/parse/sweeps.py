"""Iterated stencils in C: a time loop around sweeps over grids, read as a program of the stencil compiler.

Every sweep is a perfect nest of loops around one assignment. A sweep reads what earlier sweeps of the same step wrote
as *new* values, and in its own array what comes before the cell in the loops' order: so two arrays that are computed
from each other in turn, fields that are updated one after the other, and sweeps of Gauss and Seidel are all programs.
A sweep that only copies another one's array is left out, and that array receives the newest values at the end instead.

Arrays have one index per axis, or one index for all: ``a[i*n + j]``.

A stencil may also be written as an expression in the place of the loops, ``Stencil(steps=T, u = u[0, 0] +
k*(u[-1, 0] + u[1, 0] - 2*u[0, 0]))``, around an old body that says what it replaces.
"""

import ast
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.base.errors import TraceError, UsageError
from tilewright.programs.stencil.expression import Const, Operand, Scalar, Value, apply, as_value
from tilewright.programs.stencil.problem import MAX_TILED_RANK
from tilewright.programs.stencil.program import MAX_REACH, FieldBuilder, Program, stencil
from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.values import evaluate, literal, whole
from tilewright.workloads.annotated.parse.evaluate import formula
from tilewright.workloads.annotated.parse.spec import arguments

FUNCTIONS = {name: name for name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "abs", "floor", "pow")} | {
    "fabs": "abs",
    "min": "minimum",
    "max": "maximum",
    "fmin": "minimum",
    "fmax": "maximum",
}
"""The stencil compiler's names of C's functions."""
_MAX_DEPTH = 60
_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_PYTHON = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """A stencil found in a region."""

    program: Program
    steps: nest.Expr  # an expression of C
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

    loops: tuple[nest.Loop, ...]
    target: nest.Item
    value: nest.Expr
    box: Box

    @property
    def counters(self) -> tuple[str, ...]:
        return tuple(loop.index for loop in self.loops)

    @property
    def guards(self) -> set[str]:
        every = [bound for loop in self.loops for bound in (loop.first, loop.last)]
        items = [self.target, *(part for part in nest.walk(self.value) if isinstance(part, nest.Item))]
        every += [index for item in items for index in item.index]
        return {name for expr in every for name in nest.names(expr)} - set(self.counters)


def recognise(stmt: nest.Stmt, numbers: Mapping[str, int], types: Mapping[str, str]) -> Recognised | None:
    """Return the iterated stencil that a nest is, or None."""
    if isinstance(stmt, nest.Block):
        items = [item for item in stmt.body if not (isinstance(item, nest.Declare) and item.value is None)]
        stmt = items[0] if len(items) == 1 else stmt
    if not isinstance(stmt, nest.Loop) or stmt.step != 1:
        return None
    items = list(stmt.body.body) if isinstance(stmt.body, nest.Block) else [stmt.body]
    sweeps = [sweep for item in items if (sweep := _sweep(item, numbers)) is not None]
    arrays = {each.target.array for each in sweeps}
    clock = any(stmt.index in nest.names(each.value) | each.guards for each in sweeps)
    ranks = {len(each.loops) for each in sweeps}
    if len(ranks) != 1 or not len(items) == len(sweeps) == len(arrays) or clock:
        return None
    try:
        return _program(stmt, sweeps, numbers, types)
    except (TraceError, UsageError):
        return None


def _sweep(stmt: nest.Stmt, numbers: Mapping[str, int]) -> _Sweep | None:
    loops = nest.chain(stmt)
    stmt = nest.only(loops[-1].body) if loops else stmt
    if any(loop.step != 1 for loop in loops) or not isinstance(stmt, nest.Assign):
        return None
    if not isinstance(stmt.target, nest.Item):
        return None
    box = []
    for loop in loops:
        first, last = evaluate(loop.first, numbers), evaluate(loop.last, numbers)
        if not isinstance(first, int) or not isinstance(last, int) or last < first:
            return None
        box.append((first, last))
    value = stmt.value
    if stmt.op in {"+=", "-=", "*=", "/="}:
        value = nest.Binary(stmt.op[0], stmt.target, value)
    elif stmt.op != "=":
        return None
    return _Sweep(tuple(loops), stmt.target, value, tuple(box)) if 1 <= len(loops) <= MAX_TILED_RANK else None


def _program(
    time: nest.Loop, sweeps: Sequence[_Sweep], numbers: Mapping[str, int], types: Mapping[str, str]
) -> Recognised:
    rows = _rows(sweeps[0].target, sweeps[0].counters, numbers)
    pairs = _copies(sweeps, rows, numbers)
    values: dict[str, Operand] = {}
    boxes: dict[str, Box] = {}
    written: set[str] = set()
    for sweep in sweeps:
        array = sweep.target.array
        reader = _Reader(sweep.counters, rows, numbers, types, array, frozenset(written))
        if reader.shifts(sweep.target.index) != (0,) * len(sweep.loops):
            raise TraceError("a sweep writes its own cell")
        copied = array in pairs.values()
        if not copied:
            boxes[array] = sweep.box
        # A copy's place in the order is where the values become the field's: what it computes was read before.
        keeps = array in pairs and not copied
        values[array] = values.pop(pairs[array]) if keeps else reader.value(sweep.value, 0)
        written.add(array)
    program = stencil(f"line_{next(iter(values))}", len(sweeps[0].loops), values)
    return Recognised(
        program=program,
        steps=nest.Binary("+", nest.Binary("-", time.last, time.first), nest.ONE),
        boxes=boxes,
        mirrors=tuple((source, target) for target, source in pairs.items()),
        rows=rows or (),
        guards=frozenset().union(*(sweep.guards for sweep in sweeps)),
    )


def _copies(sweeps: Sequence[_Sweep], rows: tuple[int, ...] | None, numbers: Mapping[str, int]) -> dict[str, str]:
    """Return arrays that are copied from others, which nothing else reads: ``a = b`` behind ``b = f(a)``."""
    sources: dict[str, str] = {}
    for number, copy in enumerate(sweeps):
        source = copy.value
        if not isinstance(source, nest.Item):
            continue
        readers = [place for place, each in enumerate(sweeps) if source.array in nest.arrays(each.value)]
        writers = [place for place, each in enumerate(sweeps[:number]) if each.target.array == source.array]
        if readers != [number] or len(writers) != 1 or sweeps[writers[0]].box != copy.box:
            continue
        reader = _Reader(copy.counters, rows, numbers, {}, copy.target.array, frozenset())
        if reader.shifts(source.index) == (0,) * len(copy.loops):
            sources[copy.target.array] = source.array
    return sources


def _rows(item: nest.Item, counters: Sequence[str], numbers: Mapping[str, int]) -> tuple[int, ...] | None:
    """Return the extents of the inner axes that an index for all axes tells, or None where every axis has its own."""
    if len(item.index) == len(counters):
        return None
    form = _affine(item.index[0], counters, numbers) if len(item.index) == 1 else None
    if form is None:
        raise TraceError("an array has one index per axis or one for all")
    *strides, _ = form
    inner: list[int] = []
    for above, below in itertools.pairwise(strides):
        if below <= 0 or above % below:
            raise TraceError("the strides of an array are multiples of each other")
        inner.append(above // below)
    if strides[-1] != 1 or any(extent <= 2 * MAX_REACH for extent in inner):
        raise TraceError("an array's rows are too short to tell its axes")
    return tuple(inner)


def _affine(expr: nest.Expr, counters: Sequence[str], numbers: Mapping[str, int]) -> list[int] | None:
    """Return the factors of the counters and the constant of an affine expression, or None."""
    if not nest.names(expr) & set(counters):
        value = evaluate(expr, numbers)
        return [*(0 for _ in counters), value] if isinstance(value, int) else None
    match expr:
        case nest.Name(name):
            return [*(int(each == name) for each in counters), 0]
        case nest.Binary("+" | "-" | "*" as op, left, right):
            a, b = _affine(left, counters, numbers), _affine(right, counters, numbers)
            if a is None or b is None:
                return None
            if op != "*":
                return [x + y if op == "+" else x - y for x, y in zip(a, b, strict=True)]
            if any(a[:-1]):
                a, b = b, a
            return None if any(a[:-1]) else [a[-1] * y for y in b]
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

    def shifts(self, index: Sequence[nest.Expr]) -> tuple[int, ...]:
        """Return how far from the cell an element is."""
        rank = len(self.counters)
        forms = [form for each in index if (form := _affine(each, self.counters, self.known)) is not None]
        if len(forms) != len(index) or len(index) != (rank if self.rows is None else 1):
            raise TraceError("an index of a stencil is its counter and a whole number")
        if self.rows is None:
            if any(form[:-1] != [int(a == axis) for a in range(rank)] for axis, form in enumerate(forms)):
                raise TraceError("the indices of a stencil are the counters in order")
            return tuple(form[-1] for form in forms)
        strides = [1]
        for extent in reversed(self.rows):
            strides.insert(0, strides[0] * extent)
        ((*factors, rest),) = forms
        if factors != strides:
            raise TraceError("all arrays of a stencil have the same rows")
        offsets = []
        for stride in strides:
            offsets.append((rest + stride // 2) // stride)
            rest -= offsets[-1] * stride
        return tuple(offsets)

    def value(self, expr: nest.Expr, depth: int) -> Value:  # noqa: PLR0911
        """Return an expression of C as a stencil's value."""
        if depth > _MAX_DEPTH:
            raise TraceError("the expression is too deep for a stencil")
        match expr:
            case nest.Num(text) if (number := literal(text)) is not None:
                # An integer literal beside floating-point values is one of them; divisions of two are refused below.
                return Value(Const(float(number)))
            case nest.Name(name) if name not in self.counters:
                return Value(Scalar(name))
            case nest.Item(array, index):
                shifts = self.shifts(index)
                new = array in self.written or (array == self.own and shifts < (0,) * len(shifts))
                return FieldBuilder(array, int(new))[shifts]
            case nest.Unary("-", operand):
                return apply("neg", self.value(operand, depth + 1))
            case nest.Unary("+", operand) | nest.Convert("double", operand):
                return self.value(operand, depth + 1)
            case nest.Binary(op, left, right) if op in _OPERATORS:
                types = {**dict.fromkeys(self.known, "int"), **self.types}
                if op == "/" and whole(left, types) and whole(right, types):
                    raise TraceError("a division of whole numbers is no stencil's")
                return apply(_OPERATORS[op], self.value(left, depth + 1), self.value(right, depth + 1))
            case nest.Call(function, args) if function in FUNCTIONS:
                return apply(FUNCTIONS[function], *(self.value(each, depth + 1) for each in args))
        raise TraceError("the expression is no stencil's")


def read_stencil(text: str, lets: Mapping[str, int | float], line: int) -> Recognised:
    """Read a stencil that is written as an expression."""
    where = f"the stencil of line {line}"
    settings = dict(arguments(text, where))
    steps = settings.pop("steps", None)
    if steps is None or len(settings) != 1:
        raise UsageError(f"{where} has steps=… and one field=expression, got {', '.join(settings) or 'nothing'}")
    ((name, body),) = settings.items()
    count = formula(steps, where).value(dict(lets))
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 2**31:
        raise UsageError(f"steps is a whole number, got {str(count)[:40]!r} in {where}")
    tree = formula(body, where).tree
    value = _value(tree, where, 0)
    index = next((node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)), None)
    if index is None:
        raise UsageError(f"{where} reads no field")
    rank = len(index.elts) if isinstance(index, ast.Tuple) else 1
    return Recognised(program=stencil(f"line_{name}", rank, {name: value}), steps=nest.Num(str(count)))


def _value(node: ast.expr, where: str, depth: int) -> Value:
    """Return a parsed expression as a stencil's value; nothing is evaluated."""
    if depth > _MAX_DEPTH:
        raise UsageError(f"{where} is too deep")
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return as_value(number)
        case ast.Name(id=name):
            return Value(Scalar(name))
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            offsets = [formula(ast.unparse(item), where).value({}) for item in items]
            if not all(isinstance(each, int) for each in offsets):
                raise UsageError(f"offsets are whole numbers in {where}")
            return FieldBuilder(name)[tuple(each for each in offsets if isinstance(each, int))]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return apply("neg", _value(operand, where, depth + 1))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _PYTHON:
            return apply(_PYTHON[type(op)], _value(left, where, depth + 1), _value(right, where, depth + 1))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return apply(FUNCTIONS[name], *(_value(arg, where, depth + 1) for arg in args))
    raise UsageError(
        f"a stencil is made of fields, scalars, numbers and operators, got {type(node).__name__} in {where}"
    )
