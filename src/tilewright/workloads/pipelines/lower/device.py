"""Fused groups of a pipeline for GPUs.

A block of T_y x T_x threads owns a tile of (T_y N_y) x (T_x N_x) cells. It loads the tiles of its inputs with their
halos into shared memory, computes stencil after stencil there, and stores what the group hands on (Ben Cheikh et al.
2015, 4.2). Tiles are padded to whole blocks of threads, and a dead grid's memory is used again, as the cost model
counts it. Cells outside the picture are made after every stencil from those inside.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.intmath import ceil_div, round_up
from tilewright.codegen import ir
from tilewright.codegen.boundary import map_functions
from tilewright.codegen.conversion import converted
from tilewright.codegen.expression import Leaves, lower_tape, scalar_name
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.expression import Read, Scalar
from tilewright.workloads.pipelines.fusions import Group, plan_group, slots
from tilewright.workloads.pipelines.lower.group import beyond
from tilewright.workloads.pipelines.problem import PipelineProblem, PipelineStencil
from tilewright.workloads.pipelines.rows import halos_of, streamable

_BLOCK = ("T_y", "T_x", "N_y", "N_x")
_WORD = ir.element("int64")  # what shared memory is declared as: tiles of any type start at one of these
_VERSION = 2  # raised when texts change for the same group


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLayout:
    """What the arguments of a fused group's kernel are, and how it is started.

    Arguments: pointers to the inputs, then to the outputs (contiguous), the two extents as ints, then the pipeline's
    scalars, of type ``scalar_type``.
    """

    inputs: tuple[str, ...]  # grids that it reads
    outputs: tuple[str, ...]  # grids that it writes
    block: tuple[int, int, int, int]  # (T_y, T_x, N_y, N_x)
    scalar_type: str  # ``float32`` or ``float64``

    def groups(self, shape: tuple[int, ...]) -> int:
        """Return how many blocks to start, in one dimension."""
        ty, tx, ny, nx = self.block
        return ceil_div(shape[0], ty * ny) * ceil_div(shape[1], tx * nx)


def emit_gpu_group(
    problem: PipelineProblem, group: Group, dialect: str, block: tuple[int, int, int, int]
) -> KernelSource[BlockLayout]:
    """Write the kernel of a group of stencils to fuse; the block is (T_y, T_x, N_y, N_x)."""
    if dialect not in DIALECTS:
        raise UsageError(f"the dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    if problem.pipeline.rank != 2 or problem.channels != 1 or len(block) != len(_BLOCK) or min(block) < 1:
        raise UsageError(f"a GPU kernel is for two dimensions and a block ({', '.join(_BLOCK)}), got {block}")
    if reason := streamable(problem, group):
        raise IllegalTilingError(reason, "run its stencils one by one")
    return _Kernel(problem, group, dialect, block).source()


class _Kernel:
    """Makes one kernel."""

    def __init__(self, problem: PipelineProblem, group: Group, dialect: str, block: tuple[int, int, int, int]) -> None:
        self.problem, self.group, self.dialect, self.block = problem, group, dialect, block
        self.pipeline = problem.pipeline
        self.plan = plan_group(self.pipeline, group)
        self.halos = halos_of(problem, self.plan)
        self.wide = any(
            problem.dtype(grid) == "float64" for grid in (*self.plan.inputs, *self.plan.outputs, *self.plan.inner)
        )
        pieces = dict(zip(self.plan.shared, slots(self.pipeline, self.plan), strict=True))
        sizes = [0] * len(set(pieces.values()))
        for grid, piece in pieces.items():
            sizes[piece] = max(sizes[piece], round_up(self.bytes(grid), _WORD.bytes))
        *starts, self.shared_bytes = itertools.accumulate(sizes, initial=0)
        self.place = {grid: starts[piece] for grid, piece in pieces.items()}
        sides = (side for grid in self.halos for axis in self.problem.sides(grid) for side in axis)
        self.maps = {each.name: each for each in map_functions(side.kind for side in sides)}

    def kind(self, grid: str) -> ir.Element:
        return ir.element(self.problem.dtype(grid))

    def padded(self, grid: str, axis: int) -> int:
        """Cells of a tile along an axis, in whole blocks of threads (27)."""
        threads, each = self.block[axis], self.block[2 + axis]
        return (each + ceil_div(sum(self.halos[grid][axis]), threads)) * threads

    def bytes(self, grid: str) -> int:
        return self.padded(grid, 0) * self.padded(grid, 1) * self.problem.itemsize(grid)

    def source(self) -> KernelSource[BlockLayout]:
        stencils = self.pipeline.members(self.group)
        about = (self.problem.dtypes, self.problem.borders, self.block, self.dialect, self.halos, _VERSION)
        entry = f"tw_pipe_{fingerprint('gpu', stencils, *about)[:12]}"
        layout = BlockLayout(
            inputs=self.plan.inputs,
            outputs=self.plan.outputs,
            block=self.block,
            scalar_type="float64" if self.wide else "float32",
        )
        functions = (*self.maps.values(), self.function(entry, ir.element(layout.scalar_type)))
        threads = self.block[0] * self.block[1]
        return KernelSource(
            text=print_gpu(functions, self.dialect, strict=True),
            dialect=self.dialect,
            kernels=(EntryPoint(entry=entry, threads=threads, shared_bytes=self.shared_bytes),),
            layout=layout,
            double=self.wide,
        )

    def function(self, entry: str, real: ir.Element) -> ir.Function:
        ty, tx, ny, nx = self.block
        b = self.b = ir.Builder(entry, kind="kernel", threads=ty * tx)
        self.inputs = {g: b.param(f"in_{g}", ir.const_pointer(self.kind(g))) for g in self.plan.inputs}
        self.outputs = {g: b.param(f"to_{g}", ir.pointer(self.kind(g))) for g in self.plan.outputs}
        self.extents = (b.param("n0", ir.INDEX), b.param("n1", ir.INDEX))
        self.given = {name: b.param(f"given_{name}", real) for name in self.pipeline.scalars}
        words = max(1, self.shared_bytes // _WORD.bytes)
        memory = b.array("memory", ir.shared_pointer(_WORD), words)
        self.tiles = {
            g: b.let(f"tile_{g}", (memory + self.place[g] // _WORD.bytes).to(ir.shared_pointer(self.kind(g))))
            for g in self.plan.shared
        }
        across = b.let("across", (self.extents[1] + (tx * nx - 1)) / (tx * nx))
        self.origin = (b.let("y0", ir.GROUP / across * (ty * ny)), b.let("x0", ir.GROUP % across * (tx * nx)))
        self.thread = (b.let("ty", ir.THREAD / tx), b.let("tx", ir.THREAD % tx))
        for grid in self.plan.inputs:
            self.load(grid)
        b.barrier()
        for stencil in self.pipeline.members(self.group):
            self.stencil(stencil)
        return b.function()

    def cell(self, grid: str, y: ir.Expr, x: ir.Expr) -> ir.Expr:
        """Where a cell of the picture lies in a grid's tile."""
        (up, _), (left, _) = self.halos[grid]
        row = y + up - self.origin[0]
        return row * self.padded(grid, 1) + (x + left - self.origin[1])

    @contextmanager
    def loops(self, grid: str, *, core: bool = False) -> Iterator[tuple[ir.Expr, ir.Expr]]:
        """Every thread's cells of a grid's tile, or without its halo."""
        halo = ((0, 0), (0, 0)) if core else self.halos[grid]
        bounds = []
        for axis, (low, high) in enumerate(halo):
            end = ir.smallest(self.origin[axis] + self.block[axis] * self.block[2 + axis], self.extents[axis])
            bounds.append((self.origin[axis] - low + self.thread[axis], end + high, self.block[axis]))
        with self.b.loop("y", *bounds[0]) as y, self.b.loop("x", *bounds[1]) as x:
            yield y, x

    def anywhere(
        self,
        grid: str,
        at: tuple[ir.Expr, ir.Expr],
        cell: Callable[[ir.Expr, ir.Expr], ir.Expr],  # the value of a cell inside
        *,
        wrapped: bool = False,  # whether cells beyond a periodic side are found as well
    ) -> ir.Expr:
        b, kind = self.b, self.kind(grid)
        value = b.mutable("value", 0, kind)
        inside = [b.mutable(name, place) for name, place in zip("vu", at, strict=True)]
        sides = [
            (test, side, place, extent)
            for place, extent, pair in reversed(list(zip(inside, self.extents, self.problem.sides(grid), strict=True)))
            for test, side in zip((place < 0, place >= extent), pair, strict=True)
            if not (wrapped and side.kind == "wrap")
        ]

        def constant(side: Boundary) -> None:
            b.set(value, ir.Real(side.value, kind))

        beyond(b, sides, self.maps, constant, lambda: b.set(value, cell(inside[0], inside[1])))
        return value

    def pixel(self, y: ir.Expr, x: ir.Expr) -> ir.Expr:
        """Where a cell of the picture lies in memory."""
        return ir.wide(y) * self.extents[1] + x

    def load(self, grid: str) -> None:
        with self.loops(grid) as at:
            value = self.anywhere(grid, at, lambda v, u: self.inputs[grid][self.pixel(v, u)])
            self.b.set(self.tiles[grid][self.cell(grid, *at)], value)

    def stencil(self, stencil: PipelineStencil) -> None:
        """Compute a stencil where the picture is, then what lies outside of it."""
        b, grid = self.b, stencil.output
        inner = grid in self.plan.inner
        b.comment(f"{stencil.name} {stencil.title}".replace("*/", ""))
        with self.loops(grid, core=not inner) as at:
            inside = self.picture(grid, at) if inner else None
            with b.scope() if inside is None else b.when(inside):
                result = b.let("result", self.value(stencil, *at))
                if inner:
                    b.set(self.tiles[grid][self.cell(grid, *at)], result)
                if grid in self.plan.outputs:
                    with b.when(self.core(at)):
                        b.set(self.outputs[grid][self.pixel(*at)], result)
        if inner:
            b.barrier()
            if not (self.problem.wraps(grid, 0) and self.problem.wraps(grid, 1)) and any(
                a + c for a, c in self.halos[grid]
            ):
                self.repair(grid)
                b.barrier()

    def picture(self, grid: str, at: tuple[ir.Expr, ir.Expr]) -> ir.Expr | None:
        """Whether a cell lies in the picture, along the axes on which it does not go on."""
        condition: ir.Expr | None = None
        for axis, place in enumerate(at):
            if not self.problem.wraps(grid, axis):
                test = (place >= 0) & (place < self.extents[axis])
                condition = test if condition is None else condition & test
        return condition

    def core(self, at: tuple[ir.Expr, ir.Expr]) -> ir.Expr:
        """Whether a cell is one of the tile's own."""
        tests = [
            (place >= start)
            & (place < ir.smallest(start + self.block[axis] * self.block[2 + axis], self.extents[axis]))
            for axis, (place, start) in enumerate(zip(at, self.origin, strict=True))
        ]
        return tests[0] & tests[1]

    def repair(self, grid: str) -> None:
        """Make cells of an inner grid outside the picture."""
        with self.loops(grid) as at:
            inside = self.picture(grid, at)
            if inside is None:
                return
            with self.b.when(inside.equals(0)):
                tile = self.tiles[grid]
                value = self.anywhere(grid, at, lambda v, u: tile[self.cell(grid, v, u)], wrapped=True)
                self.b.set(tile[self.cell(grid, *at)], value)

    def value(self, stencil: PipelineStencil, y: ir.Expr, x: ir.Expr) -> ir.Expr:
        b, dtype = self.b, self.kind(stencil.inputs[0])

        def read(node: Read) -> ir.Expr:
            return self.tiles[node.field][self.cell(node.field, y + node.offset[0], x + node.offset[1])]

        for name in dict.fromkeys(node.name for node in stencil.tape if isinstance(node, Scalar)):
            b.let(scalar_name(name), self.given[name].to(dtype))
        statements, value = lower_tape(stencil.tape, Leaves(dtype=dtype, read=read, vector=False))
        b.emit(*statements)
        if not stencil.convert:
            return value
        return converted(b, b.let("found", value), ir.element(stencil.convert), stencil.rounding)
