"""Fused groups of a pipeline for GPUs: one text for OpenCL and CUDA, with a thin layer of macros.

A block of T_y x T_x threads owns a tile of (T_y N_y) x (T_x N_x) cells. It loads the tiles of its inputs with their
halos into shared memory, computes stencil after stencil there, and stores what the group hands on (Ben Cheikh et al.
2015, 4.2). Tiles are padded to whole blocks of threads, and a dead grid's memory is used again, as the cost model
counts it. Cells outside the picture are made after every stencil from those inside.
"""

from dataclasses import dataclass

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.intmath import ceil_div
from tilewright.codegen.print.c import c_literal
from tilewright.codegen.print.gpu_prelude import DIALECTS
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.expression import Apply, Const, Node, Read, Scalar
from tilewright.programs.operators import BOOLEAN, FUNCTIONS
from tilewright.programs.pipeline import Stencil
from tilewright.programs.pipeline_problem import PipelineProblem
from tilewright.programs.problem import Boundary
from tilewright.tilings.fusion import Group, plan_group, slots
from tilewright.tilings.rows import halos_of, streamable

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "&&", "or": "||", "shr": ">>",
}  # fmt: skip
_LIMITS = {"uint8": (0, 255), "int16": (-32768, 32767), "int32": (-2147483648, 2147483647)}
_BLOCK = ("T_y", "T_x", "N_y", "N_x")
_ROUND = {"nearest": "rint", "floor": "floor", "truncate": "trunc"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLayout:
    """What the arguments of a fused group's kernel are, and how it is started.

    Arguments: pointers to the inputs, then to the outputs (contiguous), the two extents as ints, then the pipeline's
    scalars, of type ``scalar_type``.

    Attributes:
        inputs: Grids that it reads.
        outputs: Grids that it writes.
        block: (T_y, T_x, N_y, N_x).
        scalar_type: ``float32`` or ``float64``.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    block: tuple[int, int, int, int]
    scalar_type: str

    def groups(self, shape: tuple[int, ...]) -> int:
        """Return how many blocks to start, in one dimension."""
        ty, tx, ny, nx = self.block
        return ceil_div(shape[0], ty * ny) * ceil_div(shape[1], tx * nx)


def emit_gpu_group(
    problem: PipelineProblem, group: Group, dialect: str, block: tuple[int, int, int, int]
) -> KernelSource[BlockLayout]:
    """Write the kernel of a group.

    Args:
        problem: A 2D pipeline with its types and borders.
        group: Stencils to fuse.
        dialect: ``opencl`` or ``cuda``.
        block: (T_y, T_x, N_y, N_x).

    Raises:
        UsageError: If there is no such dialect, block or dimension.
        IllegalTilingError: If the group cannot be fused on these grids.
    """
    if dialect not in DIALECTS:
        raise UsageError(f"the dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    if problem.pipeline.rank != 2 or len(block) != len(_BLOCK) or min(block) < 1:
        raise UsageError(f"a GPU kernel is for two dimensions and a block ({', '.join(_BLOCK)}), got {block}")
    if reason := streamable(problem, group):
        raise IllegalTilingError(reason, "run its stencils one by one")
    return _Writer(problem, group, dialect, block).source()


class _Writer:
    """Writes one kernel; every method returns text."""

    def __init__(self, problem: PipelineProblem, group: Group, dialect: str, block: tuple[int, int, int, int]) -> None:
        self.problem, self.group, self.dialect, self.block = problem, group, dialect, block
        self.pipeline = problem.pipeline
        self.plan = plan_group(self.pipeline, group)
        self.halos = halos_of(problem, self.plan)
        self.names = DIALECTS[dialect].elements
        wide = any(
            problem.dtype(grid) == "float64" for grid in (*self.plan.inputs, *self.plan.outputs, *self.plan.inner)
        )
        self.wide = wide
        self.place: dict[str, int] = {}
        pieces = slots(self.pipeline, self.plan)
        sizes: dict[int, int] = {}
        for grid, piece in zip(self.plan.shared, pieces, strict=True):
            sizes[piece] = max(sizes.get(piece, 0), -(-self.bytes(grid) // 8) * 8)
        starts, total = {}, 0
        for piece in sorted(sizes):
            starts[piece] = total
            total += sizes[piece]
        for grid, piece in zip(self.plan.shared, pieces, strict=True):
            self.place[grid] = starts[piece]
        self.shared_bytes = total

    def kind(self, grid: str) -> str:
        return self.names[self.problem.dtype(grid)]

    def padded(self, grid: str, axis: int) -> int:
        """Cells of a tile along an axis, in whole blocks of threads (27)."""
        threads, each = self.block[axis], self.block[2 + axis]
        return (each + ceil_div(sum(self.halos[grid][axis]), threads)) * threads

    def bytes(self, grid: str) -> int:
        return self.padded(grid, 0) * self.padded(grid, 1) * self.problem.itemsize(grid)

    def source(self) -> KernelSource[BlockLayout]:
        stencils = tuple(self.pipeline.stencils[i] for i in self.group)
        key = fingerprint(
            "gpu", stencils, self.problem.dtypes, self.problem.borders, self.block, self.dialect, self.halos
        )
        entry = f"tw_pipe_{key[:12]}"
        real = "double" if self.wide else "float"
        pointers = [f"GLOBAL const {self.kind(g)} *in_{g}" for g in self.plan.inputs]
        pointers += [f"GLOBAL {self.kind(g)} *to_{g}" for g in self.plan.outputs]
        scalars = [f"{real} c_{name}" for name in self.pipeline.scalars]
        parameters = ", ".join([*pointers, "int n0", "int n1", *scalars])
        ty, tx, ny, nx = self.block
        body = [self.load(grid) for grid in self.plan.inputs]
        body.append("  BARRIER;")
        body += [self.stencil(self.pipeline.stencils[i]) for i in self.group]
        text = f"""{_DIALECT[self.dialect]}
{"#pragma OPENCL EXTENSION cl_khr_fp64 : enable" if self.wide and self.dialect == "opencl" else ""}
{_MAPS}
KERNEL {entry}({parameters}) {{
  SHARED double memory[{max(1, self.shared_bytes // 8)}];
  const int across = (n1 + {tx * nx - 1}) / {tx * nx};
  const int y0 = GROUP / across * {ty * ny}, x0 = GROUP % across * {tx * nx};
  const int ty = THREAD / {tx}, tx = THREAD % {tx};
{chr(10).join(body)}
}}
"""
        if not self.wide:  # nothing of type double may be named where the device has none
            text = text.replace("SHARED double memory[", "SHARED int2 memory[")
        layout = BlockLayout(
            inputs=self.plan.inputs,
            outputs=self.plan.outputs,
            block=self.block,
            scalar_type="float64" if self.wide else "float32",
        )
        kernel = EntryPoint(entry=entry, threads=ty * tx, shared_bytes=self.shared_bytes)
        return KernelSource(text=text, dialect=self.dialect, kernels=(kernel,), layout=layout, double=self.wide)

    def tile(self, grid: str) -> str:
        """The tile of a grid in shared memory."""
        start = self.place[grid] // 8
        return f"((SHARED_POINTER {self.kind(grid)} *)(memory + {start}))"

    def cell(self, grid: str, y: str, x: str) -> str:
        """A cell of a tile, by its place in the picture."""
        (up, _), (left, _) = self.halos[grid]
        return f"{self.tile(grid)}[({y} - y0 + {up}) * {self.padded(grid, 1)} + {x} - x0 + {left}]"

    def loops(self, grid: str, body: str, *, core: bool = False) -> str:
        """Every thread's cells of a grid's tile, named y and x."""
        zero = ((0, 0), (0, 0))
        (up, down), (left, right) = zero if core else self.halos[grid]
        ty, tx, ny, nx = self.block
        return f"""  for (int y = y0 - {up} + ty; y < SMALLER(y0 + {ty * ny}, n0) + {down}; y += {ty})
    for (int x = x0 - {left} + tx; x < SMALLER(x0 + {tx * nx}, n1) + {right}; x += {tx}) {{
{body}
    }}"""

    def wraps(self, grid: str, axis: int) -> bool:
        return self.problem.sides(grid)[axis][0].kind == "wrap"

    def outside(self, grid: str, found: str) -> str:
        """Statements that set ``value`` for a cell of any place; ``found`` reads the cell (v, u) inside."""
        lines = [f"      {self.kind(grid)} value;", "      int v = y, u = x;"]
        conditions = []
        for axis, name, extent in ((1, "u", "n1"), (0, "v", "n0")):
            low, high = self.problem.sides(grid)[axis]
            for test, side in ((f"{name} < 0", low), (f"{name} >= {extent}", high)):
                conditions.append((test, side, name, extent))
        text = "\n".join(lines) + "\n      "
        for test, side, _, _ in (c for c in conditions if c[1].kind == "constant"):
            text += f"if ({test}) value = {self.constant(grid, side)};\n      else "
        maps = "".join(
            f"{name} = {test} ? MAP_{side.kind.upper()}({name}, {extent}) : {name}; "
            for test, side, name, extent in conditions
            if side.kind != "constant"
        )
        return f"{text}{{ {maps}value = {found}; }}"

    def constant(self, grid: str, side: Boundary) -> str:
        return c_literal(side.value, self.problem.dtype(grid))

    def load(self, grid: str) -> str:
        read = f"in_{grid}[(size_t)v * n1 + u]"
        return self.loops(grid, f"{self.outside(grid, read)}\n      {self.cell(grid, 'y', 'x')} = value;")

    def stencil(self, stencil: Stencil) -> str:
        """Compute a stencil where the picture is, then what lies outside of it."""
        grid = stencil.output
        inner = grid in self.plan.inner
        tests = []
        for axis, name, extent in ((0, "y", "n0"), (1, "x", "n1")):
            if inner and not self.wraps(grid, axis):
                tests.append(f"{name} >= 0 && {name} < {extent}")
        guard = f"      if ({' && '.join(tests)}) {{" if tests else "      {"
        stores = []
        if inner:
            stores.append(f"        {self.cell(grid, 'y', 'x')} = result;")
        if grid in self.plan.outputs:
            ty, tx, ny, nx = self.block
            core = f"y >= y0 && y < SMALLER(y0 + {ty * ny}, n0) && x >= x0 && x < SMALLER(x0 + {tx * nx}, n1)"
            stores.append(f"        if ({core}) to_{grid}[(size_t)y * n1 + x] = result;")
        body = "\n".join([guard, self.value(stencil), *stores, "      }"])
        text = [f"  /* {stencil.name} {stencil.title} */", self.loops(grid, body, core=not inner)]
        if inner:
            text.append("  BARRIER;")
            if not (self.wraps(grid, 0) and self.wraps(grid, 1)) and any(a + b for a, b in self.halos[grid]):
                text += [self.repair(grid), "  BARRIER;"]
        return "\n".join(text)

    def repair(self, grid: str) -> str:
        """Cells of an inner grid outside the picture."""
        tests = [
            f"{name} < 0 || {name} >= {extent}"
            for axis, name, extent in ((0, "y", "n0"), (1, "x", "n1"))
            if not self.wraps(grid, axis)
        ]
        filled = (
            self.outside(grid, self.cell(grid, "v", "u"))
            .replace("MAP_WRAP(u, n1)", "u")
            .replace("MAP_WRAP(v, n0)", "v")
        )
        return self.loops(
            grid, f"      if ({' || '.join(tests)}) {{\n{filled}\n      {self.cell(grid, 'y', 'x')} = value;\n      }}"
        )

    def value(self, stencil: Stencil) -> str:
        """Statements that compute ``result`` at the cell (y, x)."""
        kind = self.problem.dtype(stencil.inputs[0])
        name = self.names[kind]
        lines: list[str] = []
        values: list[str] = []
        for position, node in enumerate(stencil.tape):
            text, truth = self.node(node, values, kind)
            lines.append(f"        const {'int' if truth else name} t{position} = {text};")
            values.append(f"t{position}")
        last = values[-1]
        target = self.kind(stencil.output)
        if stencil.convert:
            last = self.converted(last, kind, stencil)
        return "\n".join([*lines, f"        const {target} result = {last};"])

    def node(self, node: Node, values: list[str], kind: str) -> tuple[str, bool]:
        """The text of one operation, and whether it is a truth value."""
        if isinstance(node, Const):
            value = node.real
            return (str(int(value)), True) if isinstance(value, bool) else (c_literal(value, kind), False)
        if isinstance(node, Scalar):
            return f"({self.names[kind]})c_{node.name}", False
        if isinstance(node, Read):
            return self.cell(node.field, f"(y + {node.offset[0]})", f"(x + {node.offset[1]})"), False
        return self.applied(node, [values[arg] for arg in node.args], kind), node.op in BOOLEAN

    def applied(self, node: Apply, args: list[str], kind: str) -> str:
        if node.op in _INFIX:
            return f"{args[0]} {_INFIX[node.op]} {args[1]}"
        if node.op in FUNCTIONS:
            return f"{node.op}({', '.join(args)})"
        if node.op in {"minimum", "maximum"}:
            sign = "<" if node.op == "minimum" else ">"
            return f"({args[0]} {sign} {args[1]} || {args[0]} != {args[0]}) ? {args[0]} : {args[1]}"
        if node.op == "abs":
            return f"fabs({args[0]})" if kind.startswith("float") else f"{args[0]} < 0 ? -{args[0]} : {args[0]}"
        if node.op == "where":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        return {"neg": f"-{args[0]}", "not": f"!{args[0]}"}[node.op]

    def converted(self, value: str, kind: str, stencil: Stencil) -> str:
        target = stencil.convert
        name = self.names[target]
        if target.startswith("float"):
            return f"({name}){value}"
        low, high = _LIMITS[target]
        least = f"({low + 1} - 1)"
        if not kind.startswith("float"):
            return f"({name})(({value} < {least}) ? {least} : ({value} > {high}) ? {high} : {value})"
        source = self.names[kind]
        whole = f"{_ROUND[stencil.rounding]}({value})"
        top = f"({source}){high + 1 if target == 'int32' else high}.0"
        beyond = f"{whole} >= {top}"
        return (
            f"({value} != {value}) ? ({name})0 : ({beyond}) ? ({name}){high} : "
            f"({whole} <= ({source}){low}.0) ? ({name}){least} : ({name}){whole}"
        )


_DIALECT = {
    "opencl": """#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel void
#define GLOBAL __global
#define SHARED __local
#define SHARED_POINTER __local
#define GROUP ((int)get_group_id(0))
#define THREAD ((int)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)""",
    "cuda": """#define KERNEL extern "C" __global__ void
#define GLOBAL
#define SHARED __shared__
#define SHARED_POINTER
#define GROUP ((int)blockIdx.x)
#define THREAD ((int)threadIdx.x)
#define BARRIER __syncthreads()""",
}

_MAPS = """#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define MODULO(a, n) (((a) % (n) + (n)) % (n))
#define FOLD(a, n, p, last) (MODULO(a, p) < (n) ? MODULO(a, p) : (last) - MODULO(a, p))
#define MAP_NEAREST(a, n) ((a) < 0 ? 0 : (n) - 1)
#define MAP_WRAP(a, n) MODULO(a, n)
#define MAP_REFLECT(a, n) FOLD(a, n, 2 * (n), 2 * (n) - 1)
#define MAP_MIRROR(a, n) ((n) == 1 ? 0 : FOLD(a, n, 2 * (n) - 2, 2 * (n) - 2))"""
