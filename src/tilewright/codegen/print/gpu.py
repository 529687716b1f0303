"""The printer for GPUs: IR as one text that is both OpenCL C and CUDA C++ behind a thin layer of macros.

Every GPU text of this package starts with these and uses nothing of either language but these names:

- ``TW_KERNEL(threads)`` starts a kernel of groups of so many threads, ``TW_FUNCTION`` any other function,
- ``TW_GLOBAL`` and ``TW_LOCAL`` qualify pointers to memory and to the chip, ``TW_SHARED`` declares an array on chip,
- ``TW_ROOM_PARAM`` and ``TW_ROOM`` declare one whose size is given at the launch,
- ``TW_GROUP`` and ``TW_THREAD`` number groups and threads, ``TW_GROUPS`` counts groups,
- ``TW_BARRIER()`` lets the threads of a group meet, ``TW_COUNT`` adds one for all threads that come,
- ``TW_ALIGNED`` says of a pointer that its address is a multiple of some bytes,
- ``TW_READ`` and ``TW_WRITE`` load and store a vector by one instruction: NVIDIA's compiler takes vectors apart, and
  does not always put them together again,
- ``TW_OPAQUE`` is an index whose value the compiler cannot see through,
- ``TW_UNROLL`` and ``TW_UNROLL_BY(n)`` ask for unrolling where the compiler is one that gains by it.
"""

import math
from collections.abc import Iterable

from tilewright.base.errors import one_of
from tilewright.codegen import ir
from tilewright.codegen.ir import Op, Operator
from tilewright.codegen.print.base import Language, Printer, blocks
from tilewright.codegen.print.c import c_literal
from tilewright.codegen.print.dialects import DIALECTS, Macros
from tilewright.codegen.print.elements import GPU_ELEMENTS, LIBRARY, PAIRS, SUFFIX, is_written


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


VECTORS = tuple(f"{name}{lanes}" for name in ("fetch", "store", "stage", "pass") for lanes in (2, 4))
"""Moves of two or four numbers by one instruction: from memory to a thread's own, from there to memory or to the chip,
and from the chip to memory."""


def _is_shared(kind: ir.Type) -> bool:
    return isinstance(kind, ir.Pointer) and kind.space is ir.AddressSpace.SHARED


class GpuPrinter(Printer):
    """Notes the functions that a text needs for operators."""

    language = LANGUAGE

    def __init__(self) -> None:
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
        """Return a macro of both languages, or a function for vectors, which the text then starts with."""
        arguments = ", ".join(map(self.bare, node.args))
        if node.name not in VECTORS:
            return f"TW_{node.name.upper()}({arguments})"
        self.helpers[(node.name, node.element.name)] = None
        return f"{helper_name(node.name, node.element.name)}({arguments})"

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


def prelude(
    dialect: str,
    dtypes: Iterable[str] = (),
    helpers: Iterable[tuple[str, str]] = (),  # operators that are written as calls, with element types
    *,
    strict: bool = False,  # in CUDA an option of the compiler does it
    index: bool = True,  # with the functions of indices, ``tw_min`` and the like
) -> str:
    """Return the start of a text."""
    one_of("the dialect of a GPU", dialect, DIALECTS)
    macros, parts = DIALECTS[dialect], blocks("prelude_gpu.h")
    words = {name: getattr(macros, name) for name in ("kernel", "shared", "barrier", "thread", "group", "groups")}
    lines = [macros.double if "float64" in set(dtypes) else "", macros.strict if strict else ""]
    lines += [parts[dialect].filled(words).rstrip(), parts["index"].text.rstrip() if index else ""]
    lines += [_helper(name, dtype, macros) for name, dtype in sorted(set(helpers))]
    return "\n".join(filter(None, lines)) + "\n"


def helper_name(name: str, dtype: str) -> str:
    """Return the name of the function that an operator is written as.

    >>> helper_name("sqrt", "float32")
    'tw_sqrt_f32'
    """
    return f"tw_{name}_{SUFFIX[dtype]}"


def _helper(name: str, dtype: str, macros: Macros) -> str:
    own, kind, f = GPU_ELEMENTS[dtype], ir.element(dtype), macros.single if dtype == "float32" else ""
    words = {"T": own, "U": GPU_ELEMENTS.get(f"u{dtype}", ""), "s": SUFFIX[dtype], "f": f, "function": "TW_FUNCTION"}
    if name in VECTORS:
        words["V"] = macros.elements[dtype].replace(" ", "") + name[-1]  # a vector's type
    words |= {"name": name, "called": "fabs" if name == "abs" else name, "magnitude": macros.magnitude.format(t=own)}
    words |= {each: each + f for each in ("fmod", "copysign", "floor")}
    if is_written(name, dtype):
        group = "float" if kind.is_float else "unsigned" if dtype.startswith("u") else "signed"
        block = blocks("prelude.h")[f"{name} {group} scalar"]
    elif name in LIBRARY or (name == "abs" and kind.is_float):
        block = blocks("prelude_gpu.h")["library pair" if name in PAIRS else "library"]
    else:
        block = blocks("prelude_gpu.h")[name]
    return block.filled(words).rstrip("\n")
