"""Fused groups of a pipeline for GPUs: one text for OpenCL and CUDA, behind the macros of every GPU text.

A block of T_y x T_x threads owns a tile of (T_y N_y) x (T_x N_x) cells. It loads the tiles of its inputs with their
halos into shared memory, computes stencil after stencil there, and stores what the group hands on (Ben Cheikh et al.
2015, 4.2). Tiles are padded to whole blocks of threads, and a dead grid's memory is used again, as the cost model
counts it. Cells outside the picture are made after every stencil from those inside.
"""

from dataclasses import dataclass

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.boundary import map_functions, map_name
from tilewright.codegen.expression import Leaves, lower_tape, scalar_name
from tilewright.codegen.print.elements import GPU_ELEMENTS
from tilewright.codegen.print.gpu import GpuPrinter, gpu_literal
from tilewright.codegen.print.gpu_prelude import DIALECTS, prelude
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.expression import Read, Scalar
from tilewright.programs.pipeline import Stencil
from tilewright.programs.pipeline_problem import PipelineProblem
from tilewright.programs.problem import Boundary
from tilewright.tilings.fusion import Group, plan_group, slots
from tilewright.tilings.rows import halos_of, streamable

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
        self.printer = GpuPrinter()
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
        return GPU_ELEMENTS[self.problem.dtype(grid)]

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
        pointers = [f"TW_GLOBAL const {self.kind(g)} *in_{g}" for g in self.plan.inputs]
        pointers += [f"TW_GLOBAL {self.kind(g)} *to_{g}" for g in self.plan.outputs]
        scalars = [f"{real} given_{name}" for name in self.pipeline.scalars]
        parameters = ", ".join([*pointers, "int n0", "int n1", *scalars])
        ty, tx, ny, nx = self.block
        body = [self.load(grid) for grid in self.plan.inputs]
        body.append("  TW_BARRIER();")
        body += [self.stencil(self.pipeline.stencils[i]) for i in self.group]
        maps = map_functions(side.kind for grid in self.halos for axis in self.problem.sides(grid) for side in axis)
        dtypes = {*self.printer.dtypes, *(["float64"] if self.wide else [])}
        parts = [
            prelude(self.dialect, dtypes, self.printer.helpers, strict=True),
            *map(self.printer.function, maps),
            f"TW_KERNEL({ty * tx}) {entry}({parameters}) {{",
            f"  TW_SHARED tw_wide memory[{max(1, self.shared_bytes // 8)}];",
            *(f"  {self.tile(grid)}" for grid in self.plan.shared),
            f"  const int across = (n1 + {tx * nx - 1}) / {tx * nx};",
            f"  const int y0 = TW_GROUP / across * {ty * ny}, x0 = TW_GROUP % across * {tx * nx};",
            f"  const int ty = TW_THREAD / {tx}, tx = TW_THREAD % {tx};",
            *body,
            "}\n",
        ]
        text = "\n".join(parts)
        layout = BlockLayout(
            inputs=self.plan.inputs,
            outputs=self.plan.outputs,
            block=self.block,
            scalar_type="float64" if self.wide else "float32",
        )
        kernel = EntryPoint(entry=entry, threads=ty * tx, shared_bytes=self.shared_bytes)
        return KernelSource(text=text, dialect=self.dialect, kernels=(kernel,), layout=layout, double=self.wide)

    def tile(self, grid: str) -> str:
        """Name the tile of a grid in shared memory."""
        kind = self.kind(grid)
        return f"TW_LOCAL {kind} *const tile_{grid} = (TW_LOCAL {kind} *)(memory + {self.place[grid] // 8});"

    def cell(self, grid: str, y: str, x: str) -> str:
        """A cell of a tile, by its place in the picture."""
        (up, _), (left, _) = self.halos[grid]
        return f"tile_{grid}[({y} - y0 + {up}) * {self.padded(grid, 1)} + {x} - x0 + {left}]"

    def loops(self, grid: str, body: str, *, core: bool = False) -> str:
        """Every thread's cells of a grid's tile, named y and x."""
        zero = ((0, 0), (0, 0))
        (up, down), (left, right) = zero if core else self.halos[grid]
        ty, tx, ny, nx = self.block
        return f"""  for (int y = y0 - {up} + ty; y < tw_min(y0 + {ty * ny}, n0) + {down}; y += {ty})
    for (int x = x0 - {left} + tx; x < tw_min(x0 + {tx * nx}, n1) + {right}; x += {tx}) {{
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
            f"{name} = {test} ? {map_name(side.kind)}({name}, {extent}) : {name}; "
            for test, side, name, extent in conditions
            if side.kind != "constant"
        )
        return f"{text}{{ {maps}value = {found}; }}"

    def constant(self, grid: str, side: Boundary) -> str:
        return gpu_literal(side.value, self.problem.dtype(grid))

    def load(self, grid: str) -> str:
        read = f"in_{grid}[(tw_wide)v * n1 + u]"
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
            core = f"y >= y0 && y < tw_min(y0 + {ty * ny}, n0) && x >= x0 && x < tw_min(x0 + {tx * nx}, n1)"
            stores.append(f"        if ({core}) to_{grid}[(tw_wide)y * n1 + x] = result;")
        body = "\n".join([guard, self.value(stencil), *stores, "      }"])
        text = [f"  /* {stencil.name} {stencil.title} */", self.loops(grid, body, core=not inner)]
        if inner:
            text.append("  TW_BARRIER();")
            if not (self.wraps(grid, 0) and self.wraps(grid, 1)) and any(a + b for a, b in self.halos[grid]):
                text += [self.repair(grid), "  TW_BARRIER();"]
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
            .replace("tw_map_wrap(u, n1)", "u")
            .replace("tw_map_wrap(v, n0)", "v")
        )
        return self.loops(
            grid, f"      if ({' || '.join(tests)}) {{\n{filled}\n      {self.cell(grid, 'y', 'x')} = value;\n      }}"
        )

    def value(self, stencil: Stencil) -> str:
        """Statements that compute ``result`` at the cell (y, x)."""
        kind = self.problem.dtype(stencil.inputs[0])
        dtype = ir.element(kind)
        leaves = Leaves(dtype=dtype, read=lambda read: self.read(read, dtype), vector=False)
        statements, value = lower_tape(stencil.tape, leaves)
        given = dict.fromkeys(node.name for node in stencil.tape if isinstance(node, Scalar))
        scalars = [ir.Let(ir.Var(scalar_name(name), dtype), ir.Var(f"given_{name}", dtype)) for name in given]
        lines = self.printer.statements((*scalars, *statements), " " * 8)
        last = self.printer.expr(value)
        if stencil.convert:
            last = self.converted(last, kind, stencil)
        return "\n".join([*lines, f"        const {self.kind(stencil.output)} result = {last};"])

    def read(self, node: Read, dtype: ir.Element) -> ir.Expr:
        """A cell of a tile beside the cell (y, x)."""
        (up, _), (left, _) = self.halos[node.field]
        row = ir.sub(ir.add(ir.Var("y"), node.offset[0] + up), ir.Var("y0"))
        column = ir.sub(ir.add(ir.Var("x"), node.offset[1] + left), ir.Var("x0"))
        tile = ir.Var(f"tile_{node.field}", ir.shared_pointer(dtype))
        return ir.Load(tile, ir.add(ir.mul(row, self.padded(node.field, 1)), column), dtype)

    def converted(self, value: str, kind: str, stencil: Stencil) -> str:
        target = stencil.convert
        name = GPU_ELEMENTS[target]
        if target.startswith("float"):
            return f"({name}){value}"
        low, high = ir.element(target).range
        least = f"({low + 1} - 1)"
        if not kind.startswith("float"):
            return f"({name})(({value} < {least}) ? {least} : ({value} > {high}) ? {high} : {value})"
        source = GPU_ELEMENTS[kind]
        whole = f"{_ROUND[stencil.rounding]}({value})"
        top = f"({source}){high + 1 if target == 'int32' else high}.0"
        beyond = f"{whole} >= {top}"
        return (
            f"({value} != {value}) ? ({name})0 : ({beyond}) ? ({name}){high} : "
            f"({whole} <= ({source}){low}.0) ? ({name}){least} : ({name}){whole}"
        )
