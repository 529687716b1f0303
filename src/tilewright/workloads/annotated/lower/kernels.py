"""The kernels of annotated loops as IR, and their text in CUDA C++ and OpenCL C."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.codegen import ir
from tilewright.codegen.ir import Native, Operator
from tilewright.codegen.print.source import OPENCL, SourceDialect, print_kernels
from tilewright.workloads.annotated.lower.device import DeviceProgram, LaunchShape, LoopKernel
from tilewright.workloads.annotated.lower.lowering import lower_body
from tilewright.workloads.annotated.lower.transforms import shifted
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.scalars import Reduction, neutral

_LIMITS = """#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e308
#define FLT_MAX 3.402823466e38f
#define INT_MAX 2147483647
#define LONG_MAX 9223372036854775807L
#endif
"""


def kernels_text(program: DeviceProgram, dialect: SourceDialect) -> str:
    """Print every kernel of a program as a unit that a run-time compiler takes."""
    double = dialect.words.double if dialect.words is not None else ""
    hints = {kernel.name: _hints(kernel, program) for kernel in program.kernels} if dialect is OPENCL else {}
    head = f"{double}\n{_LIMITS}" if double else _LIMITS
    return f"{head}\n{print_kernels(kernel_functions(program), dialect, hints)}"


def kernel_functions(program: DeviceProgram) -> tuple[ir.Function, ...]:
    """Return every kernel of a program, and behind one that reduces the kernel that joins its groups' results."""
    functions: list[ir.Function] = []
    for kernel in program.kernels:
        functions.append(_kernel(kernel, program))
        if kernel.reductions:
            functions.append(_finish(kernel, program))
    return tuple(functions)


def parameters(kernel: LoopKernel, program: DeviceProgram) -> dict[str, ir.Type]:
    """Return a kernel's parameters in order, with their types.

    Bounds of the piece first, then scalars, arrays, partial results, extents of cached arrays.
    """
    whole = Native(counted(kernel))
    types: dict[str, ir.Type] = {} if kernel.loop is None else {"tw_first": whole, "tw_last": whole}
    types |= {name: Native(ctype) for name, ctype in kernel.scalars}
    for name in kernel.arrays:
        kind = Native(program.arrays[name])
        types[name] = ir.pointer(kind) if name in kernel.written else ir.const_pointer(kind)
    for each in kernel.reductions:
        types[f"tw_part_{each.name}"] = ir.pointer(Native(program.reduced[each.name]))
    return types | {f"tw_len_{name}": whole for name, _, _ in kernel.cached}


def counted(kernel: LoopKernel) -> str:
    """Return the type of a kernel's counter, its bounds and the extents that it is compared with."""
    return (kernel.loop.ctype if kernel.loop is not None else "") or "int"


def _flat(stmt: tree.Stmt, program: DeviceProgram) -> tree.Stmt:
    def change(expr: tree.Expr) -> tree.Expr:
        if not isinstance(expr, tree.Item) or len(expr.index) < 2 or expr.array not in program.shapes:
            return expr
        flat = expr.index[0]
        for extent, index in zip(program.shapes[expr.array][1:], expr.index[1:], strict=True):
            flat = flat * extent + index
        return tree.Item(expr.array, (flat,))

    return tree.map_expressions(stmt, change)


def _hints(kernel: LoopKernel, program: DeviceProgram) -> str:
    launch, out = kernel.launch, ""
    if launch.vector > 1 and kernel.arrays:
        out += f"__attribute__((vec_type_hint({program.arrays[kernel.arrays[0]]}{launch.vector}))) "
    if launch.sized:
        out += f"__attribute__((work_group_size_hint({launch.threads}, 1, 1))) "
    return out


def _kernel(kernel: LoopKernel, program: DeviceProgram) -> ir.Function:
    b = ir.Builder(kernel.name, kind="kernel", distinct=True, threads=kernel.launch.threads)
    names = parameters(kernel, program)
    params = {name: b.param(name, kind) for name, kind in names.items()}
    body = _flat(_unrolled_body(kernel.body, kernel.launch), program)
    if kernel.loop is None:
        with b.when(ir.GROUP.equals(0).both(ir.THREAD.equals(0))):
            b.emit(*lower_body(body, names))
        return b.function()
    thread = b.let("tw_t", ir.THREAD)
    sums = _Sums(b, kernel, program, thread)
    names |= {name: ir.type_of(own) for name, own in sums.own.items()}
    iterations = _Iterations(b, kernel, kernel.loop, params, names, thread)
    (iterations.cached if kernel.cached else iterations.plain)(body)
    for each in kernel.reductions:
        total = sums.joined(each)
        with b.when(thread.equals(0)):
            b.set(params[f"tw_part_{each.name}"][ir.GROUP], total)
    return b.function()


def _unrolled_body(body: tree.Stmt, launch: LaunchShape) -> tree.Stmt:
    """Ask for innermost loops to be unrolled; other directives are for CPUs."""
    unrolling = (f"unroll {launch.unroll}",) if launch.unroll > 1 else ()

    def change(node: tree.Stmt) -> tree.Stmt:
        if not isinstance(node, tree.Loop):
            return node
        pragmas = (*node.pragmas, *(() if tree.loops(node.body) else unrolling))
        return replace(node, pragmas=tuple(dict.fromkeys(each for each in pragmas if each.startswith("unroll"))))

    return tree.map_statements(body, change)


@dataclass(frozen=True, slots=True)
class _Iterations:
    """A kernel's iterations, which threads share."""

    b: ir.Builder
    kernel: LoopKernel
    loop: tree.Loop
    given: Mapping[str, ir.Expr]  # its parameters
    names: Mapping[str, ir.Type]  # types of what the iterations read
    thread: ir.Expr  # the thread's number in its group

    def plain(self, body: tree.Stmt) -> None:
        """Every thread runs iterations as far apart as there are threads."""
        b, first, step = self.b, self.given["tw_first"], self.loop.step
        kind, threads = Native(counted(self.kernel)), self.kernel.launch.threads
        own = ir.GROUP * threads
        start = first + own + self.thread if step == 1 else first + (own + self.thread) * step
        stride, last = ir.GROUPS * threads * step, self.given["tw_last"]
        with b.closed_loop(self.loop.index, start, last, stride, kind, falling=step < 0):
            b.emit(*lower_body(body, {**self.names, self.loop.index: kind}))

    def cached(self, body: tree.Stmt) -> None:
        """Groups run blocks of iterations; what these read is brought into shared memory first, by all threads."""
        b, given, thread = self.b, self.given, self.thread
        kind, threads = Native(counted(self.kernel)), self.kernel.launch.threads
        first, last = given["tw_first"], given["tw_last"]
        if self.loop.step < 0:  # its iterations run in rising order: they are independent
            first, last = last, first
        near = {name: self.near(name, threads + high - low) for name, low, high in self.kernel.cached}
        with b.closed_loop("tw_base", first + ir.GROUP * threads, last, ir.GROUPS * threads, kind) as base:
            for name, low, high in self.kernel.cached:
                with b.loop("tw_c", thread, threads + high - low, threads) as c:
                    e = b.let("tw_e", base + low + c, kind)
                    inside = (e >= 0).both(e < given[f"tw_len_{name}"])
                    with b.when(inside.both(e <= last + high)):
                        b.set(near[name][c], given[name][e])
            b.barrier()
            i = b.let(self.loop.index, base + thread, kind)
            types = {**self.names, self.loop.index: kind, "tw_t": ir.type_of(thread)}
            types |= {f"tw_near_{name}": ir.type_of(room) for name, room in near.items()}
            with b.when(i <= last):
                b.emit(*lower_body(self.from_near(body), types))
            b.barrier()

    def near(self, name: str, length: int) -> ir.Expr:
        return self.b.array(f"tw_near_{name}", ir.shared_pointer(ir.pointee(ir.Var(name, self.names[name]))), length)

    def from_near(self, body: tree.Stmt) -> tree.Stmt:
        """A body that reads what lies in shared memory from there."""
        lows = {name: low for name, low, _ in self.kernel.cached}

        def change(expr: tree.Expr) -> tree.Expr:
            if not isinstance(expr, tree.Item) or expr.array not in lows:
                return expr
            place = shifted(expr.index[0])[1] - lows[expr.array]
            index = tree.Name("tw_t") + place if place else tree.Name("tw_t")
            return tree.Item(f"tw_near_{expr.array}", (index,))

        return tree.map_expressions(body, change)


class _Sums:
    """What a kernel reduces: a variable per thread, and memory where the threads of a group join theirs."""

    def __init__(self, b: ir.Builder, kernel: LoopKernel, program: DeviceProgram, thread: ir.Expr) -> None:
        self.b, self.threads, self.thread = b, kernel.launch.threads, thread
        self.own: dict[str, ir.Expr] = {}
        self.all: dict[str, ir.Expr] = {}
        for each in kernel.reductions:
            ctype = program.reduced[each.name]
            self.all[each.name] = b.array(f"tw_all_{each.name}", ir.shared_pointer(Native(ctype)), self.threads)
            start = ir.Literal(neutral(each.op, ctype), Native(ctype))
            self.own[each.name] = b.mutable(each.name, start)

    def joined(self, each: Reduction) -> ir.Expr:
        """Join the threads' values in a tree, and return the place of the result."""
        b, thread, own = self.b, self.thread, self.all[each.name]
        b.set(own[thread], self.own[each.name])
        b.barrier()
        width = 1
        while width < self.threads:
            width *= 2
        if width > 1:
            half = b.mutable(f"tw_half_{each.name}", width // 2, Native("int"))
            with b.loop_while(half > 0):
                near = thread < half
                with b.when(near if width == self.threads else near.both(thread + half < self.threads)):
                    b.set(own[thread], combined(each.op, own[thread], own[thread + half]))
                b.barrier()
                b.update(half, Operator.SHR, 1)
        return own[0]


def combined(op: str, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Join two values of a reduction."""
    if op in {"min", "max"}:
        return ir.smallest(a, b) if op == "min" else ir.largest(a, b)
    return a + b if op == "+" else a * b


def _finish(kernel: LoopKernel, program: DeviceProgram) -> ir.Function:
    """The second kernel of a reduction: one group joins the groups' results with the value before."""
    b = ir.Builder(f"{kernel.name}_finish", kind="kernel", threads=kernel.launch.threads)
    blocks = b.param("tw_blocks", ir.INDEX)
    params: dict[str, tuple[ir.Expr, ir.Expr]] = {}
    for each in kernel.reductions:
        kind = Native(program.reduced[each.name])
        part = b.param(f"tw_part_{each.name}", ir.pointer(kind))
        params[each.name] = part, b.param(f"tw_before_{each.name}", kind)
    thread = b.let("tw_t", ir.THREAD)
    sums = _Sums(b, kernel, program, thread)
    for each in kernel.reductions:
        own, part = sums.own[each.name], params[each.name][0]
        with b.loop("tw_b", thread, blocks, kernel.launch.threads) as block:
            b.set(own, combined(each.op, own, part[block]))
    for each in kernel.reductions:
        total = sums.joined(each)
        part, before = params[each.name]
        with b.when(thread.equals(0)):
            b.set(part[0], combined(each.op, before, total))
    return b.function()
