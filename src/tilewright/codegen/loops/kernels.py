"""The text of kernels in CUDA C++ and OpenCL C, by the words of the printers (:mod:`tilewright.codegen.print`)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.codegen.loops.c import inside, text
from tilewright.codegen.loops.device import DeviceProgram, LaunchShape, LoopKernel
from tilewright.codegen.loops.transforms import add_pragma, innermost
from tilewright.codegen.print import cuda as print_cuda
from tilewright.codegen.print import opencl as print_opencl
from tilewright.codegen.print.base import Macros
from tilewright.programs.loops.math import MATH_FUNCTIONS
from tilewright.programs.loops.nest import (
    Binary,
    Call,
    Expr,
    Item,
    Loop,
    Name,
    Num,
    Stmt,
    map_expressions,
    map_statements,
)
from tilewright.programs.loops.scalars import Reduction, neutral


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A language of kernels.

    Attributes:
        name: ``cuda`` or ``opencl``.
        words: What it calls things.
        restrict: Before the name of a pointer through which alone its array is reached.
        types: Names of types that differ from C's.
        functions: Names of functions that differ from C's.
    """

    name: str
    words: Macros
    restrict: str
    types: Mapping[str, str]
    functions: Mapping[str, str]

    @property
    def head(self) -> str:
        """What the kernels begin with."""
        return "".join(f"{line}\n" for line in filter(None, [self.words.double])) + _LIMITS


_LIMITS = """#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e308
#define FLT_MAX 3.402823466e38f
#define INT_MAX 2147483647
#define LONG_MAX 9223372036854775807L
#endif
"""
CUDA = Dialect(
    name="cuda",
    words=print_cuda.CUDA,
    restrict="__restrict__ ",
    # The host passes pointers to its own types: on Linux int64_t is long, which C++ does not take for long long.
    types={"int64_t": "long", "int32_t": "int", "size_t": "unsigned long"},
    functions={},
)
OPENCL = Dialect(
    name="opencl",
    words=print_opencl.OPENCL,
    restrict="restrict ",
    types={"int64_t": "long", "int32_t": "int", "size_t": "ulong"},
    functions={f"{name}f": name for name in MATH_FUNCTIONS},
)


def kernels_text(program: DeviceProgram, dialect: Dialect) -> str:
    """Print every kernel of a program.

    Args:
        program: The program.
        dialect: The language.

    Returns:
        A translation unit that a run-time compiler takes.
    """
    types = dict(program.arrays)
    parts = [dialect.head]
    for kernel in program.kernels:
        parts.append(_kernel(kernel, program, dialect, types))
        if kernel.reductions:
            parts.append(_finish(kernel, program, dialect))
    return "\n".join(parts)


def parameters(kernel: LoopKernel) -> list[str]:
    """Return the names of a kernel's parameters in order.

    Bounds of the piece first, then scalars, arrays, partial results, extents of cached arrays.
    """
    bounds = [] if kernel.loop is None else ["tw_first", "tw_last"]
    partial = [f"tw_part_{each.name}" for each in kernel.reductions]
    return [
        *bounds,
        *(name for name, _ in kernel.scalars),
        *kernel.arrays,
        *partial,
        *(f"tw_len_{a}" for a, _, _ in kernel.cached),
    ]


def _type(dialect: Dialect, ctype: str) -> str:
    return dialect.types.get(ctype, ctype)


def _declared(kernel: LoopKernel, program: DeviceProgram, dialect: Dialect, types: Mapping[str, str]) -> str:
    found: list[str] = []
    scalars = dict(kernel.scalars)
    for name in parameters(kernel):
        if name in scalars:
            found.append(f"const {_type(dialect, scalars[name])} {name}")
        elif name in kernel.arrays:
            const = "" if name in kernel.written else "const "
            found.append(f"{dialect.words.space}{const}{_type(dialect, types[name])} *{dialect.restrict}{name}")
        elif name.startswith("tw_part_"):
            found.append(
                f"{dialect.words.space}{_type(dialect, reduced_type(program, name[8:]))} *{dialect.restrict}{name}"
            )
        else:
            found.append(f"const {counted(kernel)} {name}")
    return ", ".join(found)


def counted(kernel: LoopKernel) -> str:
    """Return the type of a kernel's counter, its bounds and the extents that it is compared with."""
    return (kernel.loop.ctype if kernel.loop is not None else "") or "int"


def reduced_type(program: DeviceProgram, name: str) -> str:
    """Return the type of a scalar that is reduced."""
    return dict(program.reduced).get(name, "double")


def _flat(stmt: Stmt, program: DeviceProgram) -> Stmt:
    """Give arrays of several dimensions one index."""

    def change(expr: Expr) -> Expr:
        if not isinstance(expr, Item) or len(expr.index) < 2 or expr.array not in program.shapes:
            return expr
        flat = expr.index[0]
        for extent, index in zip(program.shapes[expr.array][1:], expr.index[1:], strict=True):
            flat = Binary("+", Binary("*", flat, Num(f"({extent})")), index)
        return Item(expr.array, (flat,))

    return map_expressions(stmt, change)


def _hints(kernel: LoopKernel, launch: LaunchShape, types: Mapping[str, str]) -> str:
    out = ""
    if launch.vector > 1 and kernel.arrays:
        out += f"__attribute__((vec_type_hint({types[kernel.arrays[0]]}{launch.vector}))) "
    if launch.sized:
        out += f"__attribute__((work_group_size_hint({launch.threads}, 1, 1))) "
    return out


def _kernel(kernel: LoopKernel, program: DeviceProgram, dialect: Dialect, types: Mapping[str, str]) -> str:
    launch = kernel.launch
    hints = _hints(kernel, launch, types) if dialect.name == "opencl" else ""
    takes = _declared(kernel, program, dialect, types)
    head = f"{dialect.words.kernel.replace('void', hints + 'void')} {kernel.name}({takes}) {{"
    body = _flat(_unrolled(kernel.body, launch), program)
    if kernel.loop is None:
        one = [
            f"  if ({dialect.words.group} == 0 && {dialect.words.thread} == 0) {{",
            *inside(body, 2, dialect.functions),
            "  }",
        ]
        return "\n".join([head, *one, "}", ""])
    lines = [f"  const int tw_t = {dialect.words.thread};"]
    for name, low, high in kernel.cached:
        lines.append(
            f"  {dialect.words.shared} {_type(dialect, types[name])} tw_near_{name}[{launch.threads + high - low}];"
        )
    for each in kernel.reductions:
        ctype = _type(dialect, reduced_type(program, each.name))
        lines.append(f"  {dialect.words.shared} {ctype} tw_all_{each.name}[{launch.threads}];")
        lines.append(f"  {ctype} {each.name} = {neutral(each.op, reduced_type(program, each.name))};")
    lines += _cached_loop(kernel, body, dialect) if kernel.cached else _plain_loop(kernel.loop, body, launch, dialect)
    for each in kernel.reductions:
        lines += _tree(each, launch, dialect)
        lines.append(f"  if (tw_t == 0) tw_part_{each.name}[{dialect.words.group}] = tw_all_{each.name}[0];")
    return "\n".join([head, *lines, "}", ""])


def _unrolled(body: Stmt, launch: LaunchShape) -> Stmt:
    if launch.unroll > 1:
        for loop in innermost(body):
            body = add_pragma(body, loop, [f"unroll {launch.unroll}"])
    return _plain_pragmas(body)


def _plain_pragmas(body: Stmt) -> Stmt:
    """Drop directives that are the host's."""

    def change(node: Stmt) -> Stmt:
        if isinstance(node, Loop) and node.pragmas:
            return replace(node, pragmas=tuple(each for each in node.pragmas if each.startswith("unroll")))
        return node

    return map_statements(body, change)


def _plain_loop(loop: Loop, body: Stmt, launch: LaunchShape, dialect: Dialect) -> list[str]:
    i, step = loop.index, loop.step
    compare, ctype = "<=" if step > 0 else ">=", loop.ctype or "int"
    start = f"tw_first + ({dialect.words.group} * {launch.threads} + tw_t) * {step}"
    stride = f"{dialect.words.groups} * {launch.threads} * {step}"
    return [
        f"  for ({ctype} {i} = {start}; {i} {compare} tw_last; {i} += {stride}) {{",
        *inside(body, 2, dialect.functions),
        "  }",
    ]


def _cached_loop(kernel: LoopKernel, body: Stmt, dialect: Dialect) -> list[str]:
    """Loop over blocks of iterations: what they read is brought into shared memory first, all threads taking part."""
    loop, threads = kernel.loop, kernel.launch.threads
    if loop is None:
        return []
    i, ctype = loop.index, counted(kernel)
    near = {name: (low, high) for name, low, high in kernel.cached}

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Item) and expr.array in near:
            low = near[expr.array][0]
            return Item(
                f"tw_near_{expr.array}", (Binary("-", expr.index[0], Binary("+", Name("tw_base"), Num(str(low)))),)
            )
        return expr

    # A falling loop runs its iterations in rising order: they are independent.
    first, last = ("tw_first", "tw_last") if loop.step > 0 else ("tw_last", "tw_first")
    start, stride = f"{first} + {dialect.words.group} * {threads}", f"{dialect.words.groups} * {threads}"
    lines = [f"  for ({ctype} tw_base = {start}; tw_base <= {last}; tw_base += {stride}) {{"]
    for name, low, high in kernel.cached:
        lines += [
            f"    for (int tw_c = tw_t; tw_c < {threads + high - low}; tw_c += {threads}) {{",
            f"      const {ctype} tw_e = tw_base + ({low}) + tw_c;",
            f"      if (tw_e >= 0 && tw_e < tw_len_{name} && tw_e <= {last} + ({high}))",
            f"        tw_near_{name}[tw_c] = {name}[tw_e];",
            "    }",
        ]
    new = map_expressions(body, change)
    lines += [f"    {dialect.words.barrier};", f"    const {ctype} {i} = tw_base + tw_t;", f"    if ({i} <= {last}) {{"]
    return [*lines, *inside(new, 3, dialect.functions), "    }", f"    {dialect.words.barrier};", "  }"]


def _tree(each: Reduction, launch: LaunchShape, dialect: Dialect) -> list[str]:
    width = 1
    while width < launch.threads:
        width *= 2
    a, b = f"tw_all_{each.name}[tw_t]", f"tw_all_{each.name}[tw_t + tw_w]"
    lines = [f"  {a} = {each.name};", f"  {dialect.words.barrier};"]
    if width > 1:
        lines += [
            f"  for (int tw_w = {width // 2}; tw_w > 0; tw_w >>= 1) {{",
            f"    if (tw_t < tw_w && tw_t + tw_w < {launch.threads}) {a} = {_combined(each.op, a, b)};",
            f"    {dialect.words.barrier};",
            "  }",
        ]
    return lines


def _combined(op: str, a: str, b: str) -> str:
    """Join two values of a reduction."""
    pair = (Name(a), Name(b))
    return text(Binary(op, *pair) if op in {"+", "*"} else Call(op, pair))


def _finish(kernel: LoopKernel, program: DeviceProgram, dialect: Dialect) -> str:
    """The second kernel of a reduction: one block joins the blocks' results with the value before."""
    launch = kernel.launch
    pointers, lines = [], [f"  const int tw_t = {dialect.words.thread};"]
    for each in kernel.reductions:
        ctype = _type(dialect, reduced_type(program, each.name))
        pointers.append(f"{dialect.words.space}{ctype} *tw_part_{each.name}, const {ctype} tw_before_{each.name}")
        lines.append(f"  {dialect.words.shared} {ctype} tw_all_{each.name}[{launch.threads}];")
        lines.append(f"  {ctype} {each.name} = {neutral(each.op, reduced_type(program, each.name))};")
        a, b = each.name, f"tw_part_{each.name}[tw_b]"
        lines.append(
            f"  for (int tw_b = tw_t; tw_b < tw_blocks; tw_b += {launch.threads}) {a} = {_combined(each.op, a, b)};"
        )
    for each in kernel.reductions:
        lines += _tree(each, launch, dialect)
        a, b = f"tw_before_{each.name}", f"tw_all_{each.name}[0]"
        lines.append(f"  if (tw_t == 0) tw_part_{each.name}[0] = {_combined(each.op, a, b)};")
    head = f"{dialect.words.kernel} {kernel.name}_finish(const int tw_blocks, {', '.join(pointers)}) {{"
    return "\n".join([head, *lines, "}", ""])


def bounds_text(loop: Loop) -> tuple[str, str]:
    """Return a loop's bounds as C text."""
    return text(loop.first), text(loop.last)
