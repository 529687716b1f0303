"""The printer for GPUs: IR as one text that is both OpenCL C and CUDA C++ behind a layer of macros."""

import math
from collections.abc import Iterable

from tilewright.codegen import ir
from tilewright.codegen.ir import Op, Operator
from tilewright.codegen.print.base import Language, Printer
from tilewright.codegen.print.c import c_literal
from tilewright.codegen.print.elements import GPU_ELEMENTS, SUFFIX
from tilewright.codegen.print.gpu_prelude import helper_name, prelude


def print_gpu(functions: Iterable[ir.Function], dialect: str, *, strict: bool = False) -> str:
    """Print a text of kernels and functions.

    A parameter of a kernel that points to shared memory is as much of it as the launch gives; at most one does, and it
    comes last.
    """
    printer = GpuPrinter()
    bodies = [printer.function(function) for function in tuple(functions)]
    return "\n".join([prelude(dialect, printer.dtypes, printer.helpers, strict=strict), *bodies])


def gpu_literal(value: complex, dtype: str) -> str:
    """Write a number that either language reads back exactly.

    >>> gpu_literal(float("-inf"), "float32"), gpu_literal(float("inf"), "float64")
    ('(-TW_INF_f32)', '(TW_INF_f64)')
    >>> gpu_literal(-1e300, "float32"), gpu_literal(1e300, "float32")
    ('(-TW_INF_f32)', '(TW_INF_f32)')
    """
    number = float(value.real)
    if dtype.startswith("float") and not math.isfinite(number):
        sign = "-" if number < 0 else ""
        return f"({sign}TW_{'NAN' if math.isnan(number) else 'INF'}_{SUFFIX[dtype]})"
    text = c_literal(value, dtype)
    if "__builtin_inf" in text:  # finite in double precision, not in single
        return f"({'-' if number < 0 else ''}TW_INF_{SUFFIX[dtype]})"
    return text.replace("LL", "L")


LANGUAGE = Language(
    title="GPU",
    elements=GPU_ELEMENTS,
    index="int",
    wide="tw_wide",
    literal=gpu_literal,
    built_in={Operator.GROUP: "TW_GROUP", Operator.GROUPS: "TW_GROUPS", Operator.THREAD: "TW_THREAD"},
    spaces={ir.AddressSpace.GLOBAL: "TW_GLOBAL ", ir.AddressSpace.SHARED: "TW_LOCAL ", ir.AddressSpace.PRIVATE: ""},
)
gpu_type = LANGUAGE.type_name


def _is_shared(kind: ir.Type) -> bool:
    return isinstance(kind, ir.Pointer) and kind.space is ir.AddressSpace.SHARED


class GpuPrinter(Printer):
    """Notes the functions that a text needs for operators."""

    language = LANGUAGE

    def __init__(self) -> None:
        """Start a text."""
        super().__init__()
        self.helpers: dict[tuple[str, str], None] = {}
        self._operators[Operator.ALIGNED] = self._aligned
        self._operators[Operator.OPAQUE] = self._opaque

    def head(self, function: ir.Function) -> list[str]:
        """Return the first lines of a function or kernel, and what a launch gives it memory for."""
        rooms = [param for param in function.params if function.kind == "kernel" and _is_shared(param.type)]
        parameters = ", ".join(self.declare(param) for param in function.params if param not in rooms)
        result = gpu_type(function.result_type) if function.result_type is not None else "void"
        start, body = f"TW_FUNCTION {result}", []
        if function.kind == "kernel":
            start = f"TW_KERNEL({function.threads})"
            for room in rooms:
                element = gpu_type(ir.pointee(room))
                parameters += f" TW_ROOM_PARAM({element}, {room.name})"
                body.append(f"  TW_ROOM({element}, {room.name})")
        return [f"{start} {function.name}({parameters}) {{", *body]

    def array(self, node: ir.Array, pad: str) -> None:
        """Print memory of a fixed size, on chip or a thread's own."""
        self.use(node.var.type)
        super().array(node, f"{pad}TW_SHARED " if _is_shared(node.var.type) else pad)

    def _aligned(self, node: Op) -> str:
        return f"TW_ALIGNED({gpu_type(node.type)}, {self.operands(node)})"

    def _opaque(self, node: Op) -> str:
        return f"TW_OPAQUE({self.operands(node)})"

    def barrier(self, node: ir.Barrier, pad: str) -> None:
        """Print where the threads of a group meet."""
        self.lines.append(f"{pad}TW_BARRIER{'_MEMORY' if node.memory else ''}();")

    def intrinsic(self, node: ir.Intrinsic) -> str:
        """Return the macro of a function of both languages."""
        return f"TW_{node.name.upper()}({', '.join(map(self.bare, node.args))})"

    def loop(self, node: ir.For, pad: str) -> None:
        """Print a loop, with what it asks for in unrolling."""
        if node.unroll:
            whole = node.unroll == ir.UNROLL_WHOLE
            self.lines.append(f"{pad}TW_UNROLL" if whole else f"{pad}TW_UNROLL_BY({node.unroll})")
        super().loop(node, pad)

    def named(self, node: Op) -> str:
        """Return a call of a function that the text then starts with."""
        if not isinstance(node.type, ir.Element):
            raise TypeError(f"GPU texts have no {node.op} of values of type {node.type}")
        self.helpers[(node.op, node.type.name)] = None
        return f"{helper_name(node.op, node.type.name)}({self.operands(node)})"
