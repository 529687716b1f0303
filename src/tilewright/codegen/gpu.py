"""The GPU dialects: prints IR as one text that is both OpenCL C and CUDA C++ behind a layer of macros."""

import math
from collections.abc import Iterable

from tilewright.base.errors import UsageError
from tilewright.codegen.c import INDEX_HELPERS, INFIX, LOGICAL, c_literal
from tilewright.codegen.gpu_prelude import SUFFIX, TYPES, helper_name, prelude
from tilewright.codegen.ir import (
    WHOLE,
    Barrier,
    Call,
    Comment,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
    Op,
    Real,
    Room,
    Scope,
    Shared,
    Stmt,
    Store,
    Var,
)

_BUILT_IN = {"group": "TW_GROUP", "thread": "TW_THREAD"}
_SPACES = {"pointer": "TW_GLOBAL {} *", "array": "TW_GLOBAL const {} *", "chip": "TW_LOCAL {} *"}


def print_gpu(functions: Iterable[Function], dialect: str, *, strict: bool = False) -> str:
    """Print a text of kernels and functions.

    A ``chip:T`` parameter of a kernel is memory on chip whose size the launch gives; it comes last, and at most one.

    Args:
        functions: Its functions, callees first.
        dialect: ``opencl`` or ``cuda``; only the layer of macros at the start depends on it.
        strict: Keep the rounding of every operation.

    Returns:
        The text.

    Raises:
        UsageError: If the functions use an element type that GPUs do not have here.
    """
    printer = _Printer()
    bodies = [printer.function(function) for function in functions]
    return "\n".join([prelude(dialect, printer.dtypes, printer.helpers, strict=strict), *bodies])


def gpu_type(name: str) -> str:
    """Return the type of a GPU text that an IR type becomes.

    >>> gpu_type("array:float32"), gpu_type("chip:float64"), gpu_type("wide")
    ('TW_GLOBAL const float *', 'TW_LOCAL double *', 'tw_wide')
    """
    kind, _, rest = name.partition(":")
    if kind in _SPACES:
        return _SPACES[kind].format(gpu_type(rest))
    plain = {"index": "int", "wide": "tw_wide", "bool": "int", **TYPES}
    if name not in plain:
        raise UsageError(f"GPU code cannot compute in {name}", "use float32, float64, int32 or int64")
    return plain[name]


def gpu_literal(value: float, dtype: str) -> str:
    """Write a number that either language reads back exactly.

    >>> gpu_literal(float("-inf"), "float32"), gpu_literal(float("inf"), "float64")
    ('(-TW_INF_f32)', '(TW_INF_f64)')
    >>> gpu_literal(-1e300, "float32"), gpu_literal(1e300, "float32")
    ('(-TW_INF_f32)', '(TW_INF_f32)')
    """
    if dtype.startswith("float") and not math.isfinite(value):
        sign = "-" if value < 0 else ""
        return f"({sign}TW_{'NAN' if math.isnan(value) else 'INF'}_{SUFFIX[dtype]})"
    text = c_literal(value, dtype)
    if "__builtin_inf" in text:  # finite in double precision, not in single
        return f"({'-' if value < 0 else ''}TW_INF_{SUFFIX[dtype]})"
    return text.replace("LL", "L")


class _Printer:
    def __init__(self) -> None:
        self.helpers: dict[tuple[str, str], None] = {}
        self.dtypes: dict[str, None] = {}

    def function(self, function: Function) -> str:
        rooms = [param for param in function.params if function.kind == "kernel" and param.type.startswith("chip:")]
        parameters = ", ".join(self.declare(param) for param in function.params if param not in rooms)
        result = gpu_type(function.result_type) if function.result is not None else "void"
        start = f"TW_FUNCTION {result}"
        body = []
        if function.kind == "kernel":
            start = f"TW_KERNEL({function.threads})"
            for room in rooms:
                element = gpu_type(room.type.partition(":")[2])
                parameters += f" TW_ROOM_PARAM({element}, {room.name})"
                body.append(f"  TW_ROOM({element}, {room.name})")
        lines = [f"{start} {function.name}({parameters}) {{", *body, *self.block(function.body, 1)]
        if function.result is not None:
            lines.append(f"  return {self.expr(function.result)};")
        return "\n".join([*lines, "}", ""])

    def declare(self, var: Var) -> str:
        text = gpu_type(var.type)
        element = var.type.rpartition(":")[2]
        if element in TYPES:
            self.dtypes[element] = None
        return f"{text}{'' if text.endswith('*') else ' '}{var.name}"

    def block(self, body: tuple[Stmt, ...], depth: int) -> list[str]:
        return [line for statement in body for line in self.statement(statement, depth)]

    def statement(self, node: Stmt, depth: int) -> list[str]:  # noqa: PLR0911  (one case per kind of node)
        pad = "  " * depth
        match node:
            case Let(var, value):
                text = self.declare(var)
                named = f"{text.removesuffix(var.name)}const {var.name}" if "*" in text else f"const {text}"
                return [f"{pad}{named} = {self.expr(value)};"]
            case Store(base, index, value, _):
                return [f"{pad}{self.expr(base)}[{self.expr(index)}] = {self.expr(value)};"]
            case If(condition, then, otherwise):
                rest = [f"{pad}}} else {{", *self.block(otherwise, depth + 1)] if otherwise else []
                return [f"{pad}if ({self.expr(condition)}) {{", *self.block(then, depth + 1), *rest, f"{pad}}}"]
            case Comment(text):
                return [f"{pad}/* {text} */"]
            case Scope(body):
                return [f"{pad}{{", *self.block(body, depth + 1), f"{pad}}}"]
            case Shared(var, count):
                element = var.type.partition(":")[2]
                self.dtypes[element] = None
                return [f"{pad}TW_SHARED {gpu_type(element)} {var.name}[{count}];"]
            case Room(var, length):
                element = var.type.partition(":")[2]
                self.dtypes[element] = None
                return [f"{pad}{gpu_type(element)} {var.name}[{length}];"]
            case Barrier(memory):
                return [f"{pad}TW_BARRIER{'_MEMORY' if memory else ''}();"]
            case Call():
                return [f"{pad}{self.expr(node)};"]
            case For():
                return self.loop(node, depth)
        raise TypeError(type(node).__name__)

    def loop(self, node: For, depth: int) -> list[str]:
        pad, name = "  " * depth, node.var.name
        step = self.expr(node.step)
        advance = f"++{name}" if step == "1" else f"{name} += {step}"
        lines = []
        if node.unroll:
            lines.append(f"{pad}TW_UNROLL" if node.unroll == WHOLE else f"{pad}TW_UNROLL_BY({node.unroll})")
        lines.append(f"{pad}for (int {name} = {self.expr(node.low)}; {name} < {self.expr(node.high)}; {advance}) {{")
        return [*lines, *self.block(node.body, depth + 1), f"{pad}}}"]

    def expr(self, node: Expr) -> str:
        match node:
            case Int(value):
                return str(value) if value >= 0 else f"({value})"
            case Real(value, kind):
                return gpu_literal(value, kind)
            case Var(name):
                return name
            case Load(base, index, _):
                return f"{self.expr(base)}[{self.expr(index)}]"
            case Call(name, args):
                return f"{name}({', '.join(self.expr(arg) for arg in args)})"
            case Op():
                return self.op(node)
        raise TypeError(type(node).__name__)

    def op(self, node: Op) -> str:  # noqa: PLR0911  (one case per kind of operator)
        args = [self.expr(arg) for arg in node.args]
        if node.name in _BUILT_IN:
            return _BUILT_IN[node.name]
        if node.name == "select":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if node.name in INFIX or node.name == "nonzero":
            return f"({args[0]} {INFIX.get(node.name, '!=')} {args[1]})"
        if node.name == "neg":
            return f"(-{args[0]})"
        if node.name == "wide":
            return f"((tw_wide){args[0]})"
        if node.name in INDEX_HELPERS:
            return f"tw_{node.name}({', '.join(args)})"
        if node.name in LOGICAL:
            return f"({args[0]} {LOGICAL[node.name]} {args[1]})"
        self.helpers[(node.name, node.type)] = None
        return f"{helper_name(node.name, node.type)}({', '.join(args)})"
