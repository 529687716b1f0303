"""The C dialect: prints IR as C11 with OpenMP, vectors as GCC's vector extension (gcc and clang).

Vectors are written out instead of left to the compiler's vectoriser: the loops have no remainder and no prologue, every
supported compiler makes the same code, and it compiles in a fraction of the time. The register width is the
compiler's own macro, so one text serves every processor.
"""

import math
from collections.abc import Iterable

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.codegen.c_helpers import CTYPES, SUFFIX, helper, prelude
from tilewright.codegen.c_lift import lift_helpers
from tilewright.codegen.ir import (
    Assign,
    Call,
    Comment,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
    Mutable,
    Op,
    Parallel,
    Real,
    Room,
    Scope,
    Stmt,
    Store,
    Table,
    Var,
)

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "mod": "%",
    "shr": ">>",
}
LOGICAL = {"and": "&", "or": "|"}
_APART = "static __attribute__((noinline)) "
_TABLE_LINE = 8
"""Numbers of a table per line."""
_WIDTH = 120
"""Characters of the first lines of a function."""
INDEX_HELPERS = frozenset({"min", "max", "floordiv", "ceildiv", "floormod"})


def print_unit(functions: Iterable[Function]) -> str:
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


def c_type(name: str) -> str:
    """Return the C type of an IR type.

    >>> c_type("array:pointer:float32"), c_type("vector:float64")
    ('float *const *', 'tw_v_f64')
    """
    kind, _, rest = name.partition(":")
    if kind == "pointer":
        return f"{c_type(rest)} *".replace("* *", "**")
    if kind == "array":
        inner = c_type(rest)
        return f"{inner}const *" if inner.endswith("*") else f"const {inner} *"
    if kind in {"vector", "mask"}:
        return f"tw_{kind[0]}_{SUFFIX[rest]}"
    return {"index": "int64_t", "bool": "int"}.get(name) or CTYPES[name]


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

    def function(self, function: Function) -> str:
        parameters = ", ".join(self.declare(param) for param in function.params)
        if function.distinct:
            parameters = parameters.replace(" *", " *restrict ")
        result = c_type(function.result_type) if function.result is not None else "void"
        start = {"entry": "", "inline": "static inline ", "local": "static ", "apart": _APART}[function.kind]
        gap = "" if result.endswith("*") else " "
        lines = [f"/* {function.about} */"] if function.about else []
        lines += _wrapped(f"{start}{result}{gap}{function.name}({parameters}) {{")
        lines += self.block(function.body, 1)
        if function.result is not None:
            lines.append(f"  return {self.expr(function.result)};")
        guard = ([f"#if TW_REGISTERS == {function.registers}"], ["#endif"]) if function.registers else ([], [])
        return "\n".join([*guard[0], *lines, "}", *guard[1], ""])

    def declare(self, var: Var) -> str:
        text = c_type(var.type)
        element = var.type.rpartition(":")[2]
        if element in CTYPES:
            self.dtypes[element] = None
        elif element not in {"index", "bool"}:
            raise UsageError(f"C code cannot compute in {element}", "use float32, float64, int32 or int64")
        return f"{text}{'' if text.endswith('*') else ' '}{var.name}"

    def block(self, body: tuple[Stmt, ...], depth: int) -> list[str]:
        return [line for statement in body for line in self.statement(statement, depth)]

    def statement(self, node: Stmt, depth: int) -> list[str]:  # noqa: PLR0911  (one case per kind of node)
        pad = "  " * depth
        match node:
            case Let(var, value):
                text = self.declare(var)
                constant = (
                    f"{text.removesuffix(var.name)}const {var.name}"
                    if text.endswith(f"*{var.name}")
                    else f"const {text}"
                )
                return [f"{pad}{constant} = {self.bare(value)};"]
            case Mutable(var, value) | Assign(var, value):
                return [f"{pad}{self.declare(var) if isinstance(node, Mutable) else var.name} = {self.bare(value)};"]
            case Table(var, values):
                return self.table(var, values, pad)
            case Room(var, length):
                return [f"{pad}{c_type(var.type.partition(':')[2])} {var.name}[{length}];"]
            case Store(base, index, value, kind):
                return [f"{pad}{self.place(base, index, kind, store=True)} = {self.bare(value)};"]
            case If(condition, then, otherwise):
                rest = [f"{pad}}} else {{", *self.block(otherwise, depth + 1)] if otherwise else []
                return [f"{pad}if ({self.bare(condition)}) {{", *self.block(then, depth + 1), *rest, f"{pad}}}"]
            case Comment(text):
                return [f"{pad}/* {text} */"]
            case Scope(body):
                return [f"{pad}{{", *self.block(body, depth + 1), f"{pad}}}"]
            case Parallel(threads, body):
                head = [f"{pad}#pragma omp parallel num_threads({self.expr(threads)})", f"{pad}{{"]
                return [*head, *self.block(body, depth + 1), f"{pad}}}"]
            case Call():
                return [f"{pad}{self.expr(node)};"]
            case For():
                return self.loop(node, depth)
        raise TypeError(type(node).__name__)

    def table(self, var: Var, values: tuple[float, ...], pad: str) -> list[str]:
        """A constant array, some numbers a line."""
        kind = var.type.rpartition(":")[2]
        numbers = [c_literal(value, kind) for value in values]
        lines = [", ".join(numbers[i : i + _TABLE_LINE]) for i in range(0, len(numbers), _TABLE_LINE)]
        head = f"{pad}static const {c_type(kind)} {var.name}[{len(values)}] = {{"
        return [head, *(f"{pad}  {line}," for line in lines), f"{pad}}};"]

    def loop(self, node: For, depth: int) -> list[str]:
        pad, name = "  " * depth, node.var.name
        advance = (
            f"++{name}" if node.step == Var("1") or self.expr(node.step) == "1" else f"{name} += {self.expr(node.step)}"
        )
        schedule = {"static": "static", "dynamic": "dynamic, 1", "": ""}[node.share]
        lines = [f"{pad}#pragma omp for schedule({schedule})"] if schedule else []
        lines.append(
            f"{pad}for (int64_t {name} = {self.bare(node.low)}; {name} < {self.expr(node.high)}; {advance}) {{"
        )
        return [*lines, *self.block(node.body, depth + 1), f"{pad}}}"]

    def place(self, base: Expr, index: Expr, kind: str, *, store: bool = False) -> str:
        shape, _, element = kind.partition(":")
        if shape == "vector":
            const = "" if store else "const "
            return f"*({const}tw_u_{SUFFIX[element]} *)({self.expr(base)} + {self.expr(index)})"
        return f"{self.expr(base)}[{self.bare(index)}]"

    def bare(self, node: Expr) -> str:
        """An expression where no parentheses are needed around it."""
        text = self.expr(node)
        return text[1:-1] if isinstance(node, Op) and node.name in INFIX.keys() | LOGICAL.keys() else text

    def expr(self, node: Expr) -> str:  # noqa: PLR0911  (one case per kind of node)
        match node:
            case Int(value):
                return str(value) if value >= 0 else f"({value})"
            case Real(value, kind):
                return c_literal(value, kind)
            case Var(name):
                if name.startswith("LANES:"):
                    return f"TW_LANES_{SUFFIX[name.partition(':')[2]].upper()}"
                return name
            case Load(base, index, kind):
                return self.place(base, index, kind)
            case Call(name, args):
                return f"{self.called(name)}({', '.join(self.bare(arg) for arg in args)})"
            case Op():
                return self.op(node)
        raise TypeError(type(node).__name__)

    def called(self, name: str) -> str:
        """The C name of a function; the dialect's own ones carry the element type they are for."""
        own, _, element = name.partition(":")
        if not element:
            return name
        self.lifted[element] = None
        return f"tw_{own}_{SUFFIX[element]}"

    def op(self, node: Op) -> str:  # noqa: PLR0911  (one case per kind of node)
        args = [self.expr(arg) for arg in node.args]
        shape, _, element = node.type.rpartition(":")
        if node.name == "select":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if node.name in INFIX:
            return f"({args[0]} {INFIX[node.name]} {args[1]})"
        if node.name == "neg":
            return f"(-{args[0]})"
        if node.name == "writable":
            return f"(({c_type(f'pointer:{element}')}){args[0]})"
        if node.name == "thread":
            return "tw_thread()"
        if node.name == "opaque":
            self.helpers[("opaque", "index", False)] = None
            return f"tw_opaque({args[0]})"
        if node.name == "nonzero":
            return f"({args[0]} != {args[1]})"
        if node.name in INDEX_HELPERS:
            return f"tw_{node.name}({', '.join(args)})"
        if node.name in LOGICAL:
            return f"({args[0]} {LOGICAL[node.name]} {args[1]})"
        self.helpers[(node.name, element, shape == "vector")] = None
        return f"{helper(node.name, element, vector=shape == 'vector')}({', '.join(args)})"
