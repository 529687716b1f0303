"""The GPU dialects: prints IR as one text that is both OpenCL C and CUDA C++ behind a layer of macros."""

import math
from collections.abc import Iterable

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.c import BINARY, INDEX_HELPERS, c_literal
from tilewright.codegen.gpu_prelude import SUFFIX, TYPES, helper_name, prelude
from tilewright.codegen.ir import Operator

_BUILT_IN = {Operator.GROUP: "TW_GROUP", Operator.THREAD: "TW_THREAD"}
_SPACES = {ir.Space.GLOBAL: "TW_GLOBAL ", ir.Space.SHARED: "TW_LOCAL ", ir.Space.PRIVATE: ""}


def print_gpu(functions: Iterable[ir.Function], dialect: str, *, strict: bool = False) -> str:
    """Print a text of kernels and functions.

    A parameter of a kernel that points to shared memory is as much of it as the launch gives; at most one does, and it
    comes last.

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


def gpu_type(kind: ir.Type) -> str:
    """Return the type of a GPU text that an IR type becomes.

    Raises:
        UsageError: If GPU texts have none.

    >>> number = ir.element("float64")
    >>> gpu_type(ir.const_pointer(number)), gpu_type(ir.shared_pointer(number)), gpu_type(ir.WIDE)
    ('TW_GLOBAL const double *', 'TW_LOCAL double *', 'tw_wide')
    """
    match kind:
        case ir.Pointer(to, const, space):
            return f"{_SPACES[space]}{'const ' if const else ''}{gpu_type(to)} *"
        case ir.Element(name) if name in TYPES:
            return TYPES[name]
        case ir.Index() | ir.Bool():
            return "tw_wide" if kind == ir.WIDE else "int"
    raise UsageError(f"GPU code cannot compute in {kind}", "use float32, float64, int32 or int64")


def _is_shared(kind: ir.Type) -> bool:
    return isinstance(kind, ir.Pointer) and kind.space is ir.Space.SHARED


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

    def function(self, function: ir.Function) -> str:
        rooms = [param for param in function.params if function.kind == "kernel" and _is_shared(param.type)]
        parameters = ", ".join(self.declare(param) for param in function.params if param not in rooms)
        result = gpu_type(function.result_type) if function.result_type is not None else "void"
        start = f"TW_FUNCTION {result}"
        body = []
        if function.kind == "kernel":
            start = f"TW_KERNEL({function.threads})"
            for room in rooms:
                element = gpu_type(ir.pointee(room))
                parameters += f" TW_ROOM_PARAM({element}, {room.name})"
                body.append(f"  TW_ROOM({element}, {room.name})")
        lines = [f"{start} {function.name}({parameters}) {{", *body, *self.block(function.body, 1)]
        if function.result is not None:
            lines.append(f"  return {self.expr(function.result)};")
        return "\n".join([*lines, "}", ""])

    def declare(self, var: ir.Var) -> str:
        text = gpu_type(var.type)
        self.use(var.type)
        return f"{text}{'' if text.endswith('*') else ' '}{var.name}"

    def use(self, kind: ir.Type) -> None:
        element = ir.element_of(kind)
        if element is not None:
            self.dtypes[element.name] = None

    def block(self, body: tuple[ir.Stmt, ...], depth: int) -> list[str]:
        return [line for statement in body for line in self.statement(statement, depth)]

    def statement(self, node: ir.Stmt, depth: int) -> list[str]:  # noqa: PLR0911  (one case per kind of node)
        pad = "  " * depth
        match node:
            case ir.Let(var, value):
                text = self.declare(var)
                named = f"{text.removesuffix(var.name)}const {var.name}" if "*" in text else f"const {text}"
                return [f"{pad}{named} = {self.expr(value)};"]
            case ir.Store(base, index, value, _):
                return [f"{pad}{self.expr(base)}[{self.expr(index)}] = {self.expr(value)};"]
            case ir.If(condition, then, otherwise):
                rest = [f"{pad}}} else {{", *self.block(otherwise, depth + 1)] if otherwise else []
                return [f"{pad}if ({self.expr(condition)}) {{", *self.block(then, depth + 1), *rest, f"{pad}}}"]
            case ir.Comment(text):
                return [f"{pad}/* {text} */"]
            case ir.Scope(body):
                return [f"{pad}{{", *self.block(body, depth + 1), f"{pad}}}"]
            case ir.Array(var, length):
                self.use(var.type)
                shared = "TW_SHARED " if _is_shared(var.type) else ""
                return [f"{pad}{shared}{gpu_type(ir.pointee(var))} {var.name}[{length}];"]
            case ir.Barrier(memory):
                return [f"{pad}TW_BARRIER{'_MEMORY' if memory else ''}();"]
            case ir.Call():
                return [f"{pad}{self.expr(node)};"]
            case ir.For():
                return self.loop(node, depth)
        raise TypeError(type(node).__name__)

    def loop(self, node: ir.For, depth: int) -> list[str]:
        pad, name = "  " * depth, node.var.name
        step = self.expr(node.step)
        advance = f"++{name}" if step == "1" else f"{name} += {step}"
        lines = []
        if node.unroll:
            lines.append(f"{pad}TW_UNROLL" if node.unroll == ir.UNROLL_WHOLE else f"{pad}TW_UNROLL_BY({node.unroll})")
        lines.append(f"{pad}for (int {name} = {self.expr(node.low)}; {name} < {self.expr(node.high)}; {advance}) {{")
        return [*lines, *self.block(node.body, depth + 1), f"{pad}}}"]

    def expr(self, node: ir.Expr) -> str:
        match node:  # the most frequent ones first
            case ir.Var(name):
                return name
            case ir.Op():
                return self.op(node)
            case ir.Int(value):
                return str(value) if value >= 0 else f"({value})"
            case ir.Real(value, kind):
                return gpu_literal(value, str(kind))
            case ir.Load(base, index, _):
                return f"{self.expr(base)}[{self.expr(index)}]"
            case ir.Call(name, args):
                return f"{name}({', '.join(self.expr(arg) for arg in args)})"
        raise TypeError(type(node).__name__)

    def op(self, node: ir.Op) -> str:  # noqa: PLR0911  (one case per kind of operator)
        args = [self.expr(arg) for arg in node.args]
        op, kind = node.op, node.type
        if op in BINARY:
            return f"({args[0]} {BINARY[op]} {args[1]})"
        if op in _BUILT_IN:
            return _BUILT_IN[op]
        if op is Operator.SELECT:
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if op is Operator.NEG:
            return f"(-{args[0]})"
        if op is Operator.ALIGNED:
            return f"TW_ALIGNED({gpu_type(kind)}, {args[0]}, {args[1]})"
        if op is Operator.WIDEN:
            return f"((tw_wide){args[0]})"
        if op in INDEX_HELPERS:
            return f"tw_{op}({', '.join(args)})"
        if not isinstance(kind, ir.Element):
            raise TypeError(f"GPU texts have no {op} of values of type {kind}")
        self.helpers[(op, kind.name)] = None
        return f"{helper_name(op, kind.name)}({', '.join(args)})"
