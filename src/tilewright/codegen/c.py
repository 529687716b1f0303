"""The C dialect: prints IR as C11 with OpenMP, vectors as GCC's vector extension (gcc and clang).

Vectors are written out instead of left to the compiler's vectoriser: the loops have no remainder and no prologue, every
supported compiler makes the same code, and it compiles in a fraction of the time. The register width is the
compiler's own macro, so one text serves every processor.
"""

import math
from collections.abc import Iterable

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.c_helpers import CTYPES, SUFFIX, helper, prelude
from tilewright.codegen.c_lift import lift_helpers
from tilewright.codegen.ir import Operator

BINARY = {
    Operator.ADD: "+",
    Operator.SUB: "-",
    Operator.MUL: "*",
    Operator.DIV: "/",
    Operator.LT: "<",
    Operator.LE: "<=",
    Operator.GT: ">",
    Operator.GE: ">=",
    Operator.EQ: "==",
    Operator.NE: "!=",
    Operator.MOD: "%",
    Operator.SHR: ">>",
    Operator.AND: "&",
    Operator.OR: "|",
    Operator.NONZERO: "!=",
}
_BUILT_IN = {Operator.THREAD: "tw_thread()", Operator.VECTOR_BYTES: "TW_BYTES"}
_APART = "static __attribute__((noinline)) "
_TABLE_LINE = 8
"""Numbers of a table per line."""
_WIDTH = 120
"""Characters of the first lines of a function."""
INDEX_HELPERS = frozenset({Operator.MIN, Operator.MAX, Operator.FLOORDIV, Operator.CEILDIV, Operator.FLOORMOD})


def print_unit(functions: Iterable[ir.Function]) -> str:
    """Print a translation unit.

    Args:
        functions: Its functions, callees first.

    Returns:
        C text.

    Raises:
        UsageError: If the functions use an element type that C does not have.
    """
    printer = _Printer()
    bodies = [printer.function(function) for function in functions]
    lifted = [lift_helpers(dtype, CTYPES[dtype], SUFFIX[dtype]) for dtype in printer.lifted]
    return "\n".join([prelude(printer.dtypes, printer.helpers), *lifted, *bodies])


def c_type(kind: ir.Type) -> str:
    """Return the C type of an IR type.

    Raises:
        UsageError: If C kernels have none.

    >>> number = ir.element("float32")
    >>> c_type(ir.const_pointer(ir.pointer(number))), c_type(ir.vector(number))
    ('float *const *', 'tw_v_f32')
    """
    match kind:
        case ir.Vector(element):
            return f"tw_v_{SUFFIX[element.name]}"
        case ir.Pointer(to, const):
            inner = c_type(to)
            if const:
                return f"{inner}const *" if inner.endswith("*") else f"const {inner} *"
            return f"{inner} *".replace("* *", "**")
        case ir.Mask(element):
            return f"tw_m_{SUFFIX[element.name]}"
        case ir.Element(name):
            if name not in CTYPES:
                raise UsageError(f"C code cannot compute in {name}", "use float32, float64, int32 or int64")
            return CTYPES[name]
    return "int" if kind == ir.BOOL else "int64_t"


def c_literal(value: float, dtype: str) -> str:
    """Write a literal that the compiler reads back exactly.

    >>> c_literal(0.1, "float32"), c_literal(2, "float64"), c_literal(-1, "int32")
    ('0.1f', '2.0', '(-1)')
    """
    if dtype == "bool":
        return str(int(value))
    if "int" in dtype:
        return _integer(int(value), dtype)
    tail = "f" if dtype == "float32" else ""
    number = _round32(float(value)) if dtype == "float32" else float(value)
    if math.isnan(number):
        return f'__builtin_nan{tail}("")'
    if math.isinf(number):
        return f"({'-' if number < 0 else ''}__builtin_inf{tail}())"
    text = _shortest32(number) if dtype == "float32" else repr(number)
    return f"({text}{tail})" if text.startswith("-") else f"{text}{tail}"


def _integer(value: int, dtype: str) -> str:
    lowest = -(2 ** (int(dtype.rpartition("int")[2]) - 1))
    tail = "LL" if dtype == "int64" else ""
    if value == lowest:
        return f"({value + 1}{tail} - 1)"
    return f"({value}{tail})" if value < 0 else f"{value}{tail}"


def _round32(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _shortest32(value: float) -> str:
    text = str(np.float32(value))
    return text if any(c in text for c in ".e") else f"{text}.0"


def _wrapped(head: str) -> list[str]:
    """Break the first lines of a function after commas.

    >>> _wrapped("static void f(int64_t a, int64_t b) {")
    ['static void f(int64_t a, int64_t b) {']
    """
    lines: list[str] = []
    for part in head.split(", "):
        if lines and len(lines[-1]) + len(part) + 3 <= _WIDTH:
            lines[-1] += f", {part}"
        else:
            lines = [*lines[:-1], f"{lines[-1]},", f"    {part}"] if lines else [part]
    return lines


class _Printer:
    def __init__(self) -> None:
        self.helpers: dict[tuple[str, str, bool], None] = {}
        self.dtypes: dict[str, None] = {}
        self.lifted: dict[str, None] = {}

    def function(self, function: ir.Function) -> str:
        parameters = ", ".join(self.declare(param) for param in function.params)
        if function.distinct:
            parameters = parameters.replace(" *", " *restrict ")
        result = c_type(function.result_type) if function.result_type is not None else "void"
        start = {"entry": "", "inline": "static inline ", "local": "static ", "apart": _APART}[function.kind]
        gap = "" if result.endswith("*") else " "
        lines = [f"/* {function.about} */"] if function.about else []
        lines += _wrapped(f"{start}{result}{gap}{function.name}({parameters}) {{")
        lines += self.block(function.body, 1)
        if function.result is not None:
            lines.append(f"  return {self.expr(function.result)};")
        guard = ([f"#if TW_REGISTERS == {function.registers}"], ["#endif"]) if function.registers else ([], [])
        return "\n".join([*guard[0], *lines, "}", *guard[1], ""])

    def declare(self, var: ir.Var) -> str:
        text = c_type(var.type)
        element = ir.element_of(var.type)
        if element is not None:
            self.dtypes[element.name] = None
        return f"{text}{'' if text.endswith('*') else ' '}{var.name}"

    def block(self, body: tuple[ir.Stmt, ...], depth: int) -> list[str]:
        return [line for statement in body for line in self.statement(statement, depth)]

    def statement(self, node: ir.Stmt, depth: int) -> list[str]:  # noqa: PLR0911  (one case per kind of node)
        pad = "  " * depth
        match node:
            case ir.Let(var, value):
                text = self.declare(var)
                constant = (
                    f"{text.removesuffix(var.name)}const {var.name}"
                    if text.endswith(f"*{var.name}")
                    else f"const {text}"
                )
                return [f"{pad}{constant} = {self.bare(value)};"]
            case ir.Mutable(var, value) | ir.Assign(var, value):
                return [f"{pad}{self.declare(var) if isinstance(node, ir.Mutable) else var.name} = {self.bare(value)};"]
            case ir.ConstArray(var, values):
                return self.table(var, values, pad)
            case ir.Array(ir.Var(name, ir.Pointer(to)), length):
                return [f"{pad}{c_type(to)} {name}[{length}];"]
            case ir.Store(base, index, value, kind):
                return [f"{pad}{self.place(base, index, kind, store=True)} = {self.bare(value)};"]
            case ir.If(condition, then, otherwise):
                rest = [f"{pad}}} else {{", *self.block(otherwise, depth + 1)] if otherwise else []
                return [f"{pad}if ({self.bare(condition)}) {{", *self.block(then, depth + 1), *rest, f"{pad}}}"]
            case ir.Comment(text):
                return [f"{pad}/* {text} */"]
            case ir.Scope(body):
                return [f"{pad}{{", *self.block(body, depth + 1), f"{pad}}}"]
            case ir.Parallel(threads, body):
                head = [f"{pad}#pragma omp parallel num_threads({self.expr(threads)})", f"{pad}{{"]
                return [*head, *self.block(body, depth + 1), f"{pad}}}"]
            case ir.Call() | ir.Intrinsic():
                return [f"{pad}{self.expr(node)};"]
            case ir.For():
                return self.loop(node, depth)
        raise TypeError(type(node).__name__)

    def table(self, var: ir.Var, values: tuple[float, ...], pad: str) -> list[str]:
        """A constant array, some numbers a line."""
        kind = ir.element_of(var.type)
        if kind is None:
            raise TypeError(f"{var.name} holds no numbers")
        numbers = [c_literal(value, kind.name) for value in values]
        lines = [", ".join(numbers[i : i + _TABLE_LINE]) for i in range(0, len(numbers), _TABLE_LINE)]
        head = f"{pad}static const {c_type(kind)} {var.name}[{len(values)}] = {{"
        return [head, *(f"{pad}  {line}," for line in lines), f"{pad}}};"]

    def loop(self, node: ir.For, depth: int) -> list[str]:
        pad, name = "  " * depth, node.var.name
        advance = f"++{name}" if self.expr(node.step) == "1" else f"{name} += {self.expr(node.step)}"
        schedule = {"static": "static", "dynamic": "dynamic, 1", "": ""}[node.share]
        lines = [f"{pad}#pragma omp for schedule({schedule})"] if schedule else []
        lines.append(
            f"{pad}for (int64_t {name} = {self.bare(node.low)}; {name} < {self.expr(node.high)}; {advance}) {{"
        )
        return [*lines, *self.block(node.body, depth + 1), f"{pad}}}"]

    def place(self, base: ir.Expr, index: ir.Expr, kind: ir.Type, *, store: bool = False) -> str:
        if isinstance(kind, ir.Vector):
            const = "" if store else "const "
            return f"*({const}tw_u_{SUFFIX[kind.element.name]} *)({self.expr(base)} + {self.expr(index)})"
        return f"{self.expr(base)}[{self.bare(index)}]"

    def bare(self, node: ir.Expr) -> str:
        """An expression where no parentheses are needed around it."""
        text = self.expr(node)
        return text[1:-1] if isinstance(node, ir.Op) and node.op in BINARY else text

    def expr(self, node: ir.Expr) -> str:  # noqa: PLR0911  (one case per kind of node)
        match node:  # the most frequent ones first
            case ir.Var(name):
                return name
            case ir.Op():
                return self.op(node)
            case ir.Int(value):
                return str(value) if value >= 0 else f"({value})"
            case ir.Real(value, kind):
                return c_literal(value, str(kind))
            case ir.Lanes(element):
                return f"TW_LANES_{SUFFIX[element.name].upper()}"
            case ir.Load(base, index, kind):
                return self.place(base, index, kind)
            case ir.Call(name, args):
                return f"{name}({', '.join(self.bare(arg) for arg in args)})"
            case ir.Intrinsic(name, args, element):
                self.lifted[element.name] = None
                return f"tw_{name}_{SUFFIX[element.name]}({', '.join(self.bare(arg) for arg in args)})"
            case ir.Shift():
                return self.shift(node)
        raise TypeError(type(node).__name__)

    def shift(self, node: ir.Shift) -> str:
        """A vector beside another, by a helper for this distance."""
        kind = f"outside_{{}}_{node.boundary}" if node.boundary else "beside_{}"
        name, element = f"{kind.format('low' if node.low else 'high')}_{node.distance}", node.type.element.name
        self.helpers[(name, element, True)] = None
        return f"{helper(name, element, vector=True)}({self.expr(node.own)}, {self.expr(node.other)})"

    def op(self, node: ir.Op) -> str:  # noqa: PLR0911  (one case per kind of node)
        args = [self.expr(arg) for arg in node.args]
        op, kind = node.op, node.type
        if op in BINARY:
            return f"({args[0]} {BINARY[op]} {args[1]})"
        if op is Operator.SELECT:
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if op is Operator.NEG:
            return f"(-{args[0]})"
        if op is Operator.WRITABLE:
            return f"(({c_type(kind)}){args[0]})"
        if op in _BUILT_IN:
            return _BUILT_IN[op]
        if op is Operator.OPAQUE:
            self.helpers[("opaque", "index", False)] = None
            return f"tw_opaque({args[0]})"
        if op in INDEX_HELPERS:
            return f"tw_{op}({', '.join(args)})"
        element = ir.element_of(kind)
        if element is None:
            raise TypeError(f"C has no {op} of values of type {kind}")
        vector = isinstance(kind, ir.Vector)
        self.helpers[(op, element.name, vector)] = None
        return f"{helper(op, element.name, vector=vector)}({', '.join(args)})"
