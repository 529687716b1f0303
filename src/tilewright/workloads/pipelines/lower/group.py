"""Fused groups of a pipeline on CPUs: tiles shared by threads, rows streamed through rings that stay in cache.

The loops over cells are made in :mod:`~tilewright.workloads.pipelines.lower.loops`; what walks over tiles and rows is
made here, once per group. A thread keeps a ring of rows per grid, and rows that stand for constants beyond the picture;
functions bring rows of inputs into the rings, make cells beyond the ends of rows, and say which row of a ring any row
of the picture stands for. Nothing of the shape is in the text but whether the group can be streamed at all.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.base.fingerprint import fingerprint
from tilewright.base.intmath import round_up
from tilewright.codegen import ir
from tilewright.codegen.boundary import map_functions, map_name
from tilewright.codegen.print import c
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.workloads.pipelines.fusions import Group
from tilewright.workloads.pipelines.lower.loops import PassPorts, RowSource, pass_function, ports
from tilewright.workloads.pipelines.problem import PipelineProblem
from tilewright.workloads.pipelines.rows import Pass, RowPlan, RowTile, lines, pitch, plan_rows

_BYTE, _DOUBLE = ir.element("uint8"), ir.element("float64")
_ARRAYS, _SIZES = ir.const_pointer(ir.pointer(_BYTE)), ir.const_pointer(ir.INDEX)
_VERSION = 3  # raised when texts change for the same group


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLayout:
    """What the arguments of a fused group's kernel hold, the function ``entry(array, size, work, scalar)``.

    ``array`` holds pointers to the group's inputs, then to its outputs. ``size`` holds threads, rows of a band, whether
    to write past the caches, the extents, and per array the strides of the outer axes in elements. ``work`` is
    ``scratch`` bytes per thread, aligned to a cache line; ``scalar`` the pipeline's scalars as float64.
    """

    inputs: tuple[str, ...]  # grids that it reads
    outputs: tuple[str, ...]  # grids that it writes
    scratch: int  # bytes of memory per thread
    width: int  # columns of a strip


def emit_group(
    problem: PipelineProblem, group: Group, tile: RowTile, *, strict: bool = False
) -> KernelSource[GroupLayout]:
    """Write the kernel of a group of stencils to fuse; the band is a parameter; ``strict`` changes no text."""
    rows = 1 if problem.pipeline.rank == 3 else tile.rows
    plan = plan_rows(problem, group, rows)
    stencils = problem.pipeline.members(group)
    about = (stencils, problem.dtypes, problem.borders, problem.channels, problem.steps, plan)
    key = fingerprint("rows", *about, tile.width, tile.lines, rows, _VERSION)
    rings = _Rings(problem, plan, tile, rows, f"tw_{key[:12]}")
    tiles = _Tiles(rings)
    text, kernels = c.print_unit(tiles.unit()), (EntryPoint(entry=rings.entry),)
    layout = GroupLayout(inputs=plan.group.inputs, outputs=plan.group.outputs, scratch=rings.scratch, width=tile.width)
    return KernelSource(text=text, dialect="c", kernels=kernels, layout=layout, strict=strict)


class _Rings:
    """What a thread keeps in its memory, and functions on its rows, per grid."""

    def __init__(self, problem: PipelineProblem, plan: RowPlan, tile: RowTile, rows: int, entry: str) -> None:
        self.problem, self.plan, self.tile, self.rows, self.entry = problem, plan, tile, rows, entry
        self.rank = problem.pipeline.rank
        self.start: dict[str, int] = {}
        place = 0
        for grid in plan.grids:
            self.start[grid.name] = place
            place = round_up(place + self.slab(grid.name) * grid.depth * problem.itemsize(grid.name), CACHE_LINE)
        self.beyond: dict[tuple[str, Boundary], int] = {}
        for grid in plan.grids:
            for side in (s for pair in problem.sides(grid.name)[:-1] for s in pair):
                if side.kind == "constant":
                    self.beyond[grid.name, side] = place
                    place = round_up(place + self.pitch(grid.name) * problem.itemsize(grid.name), CACHE_LINE)
        self.scratch = round_up(place + 2 * CACHE_LINE, 4096) + CACHE_LINE
        kinds = [side.kind for grid in plan.grids for axis in problem.sides(grid.name) for side in axis]
        self.maps = {each.name: each for each in map_functions(kinds)}  # of indices
        read = (*plan.group.inputs, *plan.group.inner)
        names = [grid.name for grid in plan.grids if grid.name in read]
        # ``(row, a, b, n)``: make cells of a row, which starts at column a and ends before b, beyond the picture
        self.ends = {name: self._ends(name) for name in names if sum(plan.grid(name).halo[-1])}
        # ``(own, y, n0)``, in 3D ``(own, y, n0, l, n1, l0)``: the row of a ring that any row stands for
        self.row = {name: self._row(name) for name in names}
        # ``(to, from, a, b, n)``: copy columns a to b of a row of an input, with what lies beyond the picture
        self.fetch = {name: self._fetch(name) for name in plan.group.inputs}
        # callees first
        self.functions = (*self.maps.values(), *self.ends.values(), *self.row.values(), *self.fetch.values())

    def pitch(self, grid: str) -> int:
        """Elements from one row of a ring to the next."""
        return pitch(self.problem, self.plan.grid(grid), self.tile.width)

    def slab(self, grid: str) -> int:
        """Elements from one entry of a ring to the next: a row, or a plane in 3D."""
        return self.pitch(grid) * lines(self.plan.grid(grid), self.tile)

    def depth(self, grid: str) -> int:
        return self.plan.grid(grid).depth

    def kind(self, grid: str) -> ir.Element:
        return ir.element(self.problem.dtype(grid))

    def ring(self, own: ir.Expr, grid: str) -> ir.Expr:
        return (own + self.start[grid]).to(ir.pointer(self.kind(grid)))

    def filled(self, own: ir.Expr, grid: str, side: Boundary) -> ir.Expr:
        """The row that stands for rows beyond a constant side."""
        return (own + self.beyond[grid, side]).to(ir.pointer(self.kind(grid)))

    def number(self, grid: str, value: complex) -> ir.Expr:
        return ir.Real(value, self.kind(grid))

    def inside(self, b: ir.Builder, kind: str, x: ir.Expr, n: ir.Expr) -> ir.Expr:
        """The place in a row that one beyond its ends stands for: of the same value of another cell."""
        map_, channels = self.maps[map_name(kind)], self.problem.channels
        if channels == 1:
            return b.call(map_, x, n)
        return b.call(map_, ir.floordiv(x, channels), n / channels) * channels + ir.floormod(x, channels)

    def _ends(self, grid: str) -> ir.Function:
        b = ir.Builder(f"{self.entry}_ends_{grid}")
        row = b.param("row", ir.pointer(self.kind(grid)))
        start, stop, n = (b.param(name, ir.INDEX) for name in ("a", "b", "n"))
        low, high = self.problem.sides(grid)[-1]

        def cell(side: Boundary, x: ir.Expr) -> ir.Expr:
            if side.kind == "constant":
                return self.number(grid, side.value)
            return row[self.inside(b, side.kind, x, n) - start]

        with b.loop("x", start, ir.smallest(stop, 0)) as x:
            b.set(row[x - start], cell(low, x))
        with b.loop("x", ir.largest(start, n), stop) as x:
            b.set(row[x - start], cell(high, x))
        return b.function()

    def _row(self, grid: str) -> ir.Function:
        b = ir.Builder(f"{self.entry}_row_{grid}", kind="inline")
        own = b.param("own", ir.pointer(_BYTE))
        pairs = [(b.param("y", ir.INDEX), b.param("n0", ir.INDEX))]
        first = None
        if self.rank == 3:
            pairs.append((b.param("l", ir.INDEX), b.param("n1", ir.INDEX)))
            first = b.param("l0", ir.INDEX)
        row = b.mutable("found", self.ring(own, grid))
        outside: list[list[tuple[ir.Expr, Boundary]]] = []
        inside: list[ir.Expr] = []
        for axis, (place, n) in enumerate(pairs):
            mapped, own_sides = place, []
            if not self.problem.wraps(grid, axis):
                for test, side in zip((place < 0, place >= n), self.problem.sides(grid)[axis], strict=True):
                    if side.kind == "constant":
                        own_sides.append((test, side))
                    else:
                        mapped = ir.select(test, b.call(self.maps[map_name(side.kind)], place, n), mapped)
            inside.append(mapped)
            outside.append(own_sides)
        constants = [each for sides in reversed(outside) for each in sides]  # the innermost axis decides a corner

        def in_ring() -> None:
            at = ir.floormod(inside[0], self.depth(grid)) * self.slab(grid)
            if first is not None:
                at = at + (inside[1] - first + self.plan.grid(grid).halo[1][0]) * self.pitch(grid)
            b.set(row, row + at)

        filled = [(test, functools.partial(b.set, row, self.filled(own, grid, side))) for test, side in constants]
        choose(b, filled, in_ring)
        return b.function(row)

    def _fetch(self, grid: str) -> ir.Function:
        kind = self.kind(grid)
        b = ir.Builder(f"{self.entry}_fetch_{grid}", vectorized=True)
        to, source = b.param("to", ir.pointer(kind)), b.param("from", ir.const_pointer(kind))
        start, stop, n = (b.param(name, ir.INDEX) for name in ("a", "b", "n"))
        if self.problem.wraps(grid, -1):
            with b.loop("x", start, stop) as x:
                b.set(to[x - start], source[self.inside(b, "wrap", x, n) * self.problem.step(grid)])
            return b.function()
        with b.loop("x", ir.largest(start, 0), ir.smallest(stop, n), independent=True) as x:
            b.set(to[x - start], source[x * self.problem.step(grid)])
        if grid in self.ends:
            b.call(self.ends[grid], to, start, stop, n)
        return b.function()

    def fill(self, b: ir.Builder, own: ir.Expr, grid: str, side: Boundary) -> None:
        row = self.filled(own, grid, side)
        with b.loop("i", 0, self.pitch(grid)) as i:
            b.set(row[i], self.number(grid, side.value))

    def corners(self, grid: str, side: Boundary) -> list[tuple[int, complex]]:
        """Where other constants stand before (0) or behind (1) the row that stands for rows beyond a side."""
        halo, sides = self.plan.grid(grid).halo[-1], self.problem.sides(grid)[-1]
        return [
            (number, other.value)
            for number, (other, width) in enumerate(zip(sides, halo, strict=True))
            if width and other.kind == "constant" and other != side
        ]

    def fill_corners(self, b: ir.Builder, own: ir.Expr, grid: str, side: Boundary, x0: ir.Expr, n: ir.Expr) -> None:
        """Put those into that row for a strip: the innermost axis decides."""
        left = self.plan.grid(grid).halo[-1][0]
        row = self.filled(own, grid, side)
        for number, other in self.corners(grid, side):
            with b.loop("i", 0, self.pitch(grid)) as i:
                beyond = x0 + i < left if number == 0 else x0 + i >= n + left
                with b.when(beyond):
                    b.set(row[i], self.number(grid, other))


class _Tiles:
    """Makes the functions that walk over tiles, and over the rows of one."""

    def __init__(self, rings: _Rings) -> None:
        self.rings, self.problem, self.plan, self.rank = rings, rings.problem, rings.plan, rings.rank
        self.passes = [self._pass(number) for number in range(len(self.plan.passes))]

    def _pass(self, number: int) -> ir.Function:
        name = f"{self.rings.entry}_p{number}"
        return pass_function(self.problem, self.plan, self.plan.passes[number], self.rings.rows, name)

    def unit(self) -> tuple[ir.Function, ...]:
        tile = self.tile()
        return (*self.rings.functions, *self.passes, tile, self.entry(tile))

    def extents(self, b: ir.Builder, size: ir.Expr) -> list[ir.Expr]:
        return [b.let(f"n{axis}", size[3 + axis]) for axis in range(self.rank)]

    def entry(self, tile: ir.Function) -> ir.Function:
        rings, b = self.rings, ir.Builder(self.rings.entry, kind="entry")
        array, size = b.param("array", _ARRAYS), b.param("size", _SIZES)
        work, scalar = b.param("work", ir.pointer(_BYTE)), b.param("scalar", ir.const_pointer(_DOUBLE))
        n = self.extents(b, size)
        strips = b.let("strips", self.cut(n[-1], rings.tile.width))
        bands = b.let("bands", self.cut(n[0], size[1]))
        planks = b.let("planks", self.cut(n[1], rings.tile.lines) if self.rank == 3 else 1)
        apart = [key for key in rings.beyond if rings.corners(*key)]
        with b.parallel(size[0]):
            own = b.let("own", work + ir.THREAD * rings.scratch)
            for key in rings.beyond:
                if key not in apart:
                    rings.fill(b, own, *key)
            with b.loop("t", 0, strips * bands * planks, share="dynamic") as t:
                strip, band = b.let("strip", t % strips), b.let("band", t / strips / planks)
                bounds = [b.let("y0", n[0] * band / bands), b.let("y1", n[0] * (band + 1) / bands)]
                if self.rank == 3:
                    plank = b.let("plank", t / strips % planks)
                    bounds += [b.let("l0", n[1] * plank / planks), b.let("l1", n[1] * (plank + 1) / planks)]
                x0 = b.let("x0", strip * rings.tile.width)
                bounds += [x0, b.let("x1", ir.smallest(n[-1], x0 + rings.tile.width))]
                for key in apart:
                    rings.fill(b, own, *key)
                    rings.fill_corners(b, own, *key, x0, n[-1])
                b.call(tile, array, size, own, scalar, *bounds)
            b.intrinsic("fence", _BYTE)
        return b.function()

    @staticmethod
    def cut(n: ir.Expr, size: ir.Operand) -> ir.Expr:
        return (n + size - 1) / size

    def tile(self) -> ir.Function:
        rings, b = self.rings, ir.Builder(f"{self.rings.entry}_tile")
        self.b = b
        array, size = b.param("array", _ARRAYS), b.param("size", _SIZES)
        self.own, self.scalar = b.param("own", ir.pointer(_BYTE)), b.param("scalar", ir.const_pointer(_DOUBLE))
        names = ("ya", "yb", "l0", "l1", "x0", "x1") if self.rank == 3 else ("ya", "yb", "x0", "x1")
        bounds = [b.param(name, ir.INDEX) for name in names]
        self.bounds = list(zip(bounds[::2], bounds[1::2], strict=True))
        self.n, self.stream = self.extents(b, size), b.let("stream", size[2])
        self.arrays, self.strides = {}, {}
        for k, grid in enumerate((*self.plan.group.inputs, *self.plan.group.outputs)):
            const = k < len(self.plan.group.inputs)
            tag, kind = "in" if const else "to", ir.Pointer(rings.kind(grid), const=const)
            self.arrays[tag, grid] = b.let(f"{tag}_{grid}", array[k].to(kind))
            begin = 3 + self.rank + k * (self.rank - 1)
            self.strides[tag, grid] = [
                b.let(f"{tag}_{grid}_s{axis}", size[begin + axis]) for axis in range(self.rank - 1)
            ]
        x0, x1 = self.bounds[-1]
        sides = []
        for grid in self.plan.group.inputs:
            halo, slack = self.plan.grid(grid).halo[-1], CACHE_LINE // self.problem.itemsize(grid)
            sides += [x0 < halo[0], x1 + (halo[1] + slack) > self.n[-1]]
        edge = sides[0]
        for side in sides[1:]:
            edge = edge | side
        # Rows whose values lie apart are copied everywhere.
        is_apart = any(self.problem.step(grid) != 1 for grid in self.plan.group.inputs)
        self.edge = b.let("edge", ir.Real(True, ir.BOOL) if is_apart else edge)
        outputs = [self.problem.pipeline.stencils[p.stencils[0]].output for p in self.plan.passes]
        lags = [0] * len(self.plan.group.inputs) + [p.lag for p in self.plan.passes]
        spans = [self.span(grid) for grid in (*self.plan.group.inputs, *outputs)]
        start, stop = b.mutable("first", spans[0][0] + lags[0]), b.mutable("stop", spans[0][1] + lags[0])
        for (low, high), lag in zip(spans[1:], lags[1:], strict=True):
            b.set(start, ir.smallest(start, low + lag))
            b.set(stop, ir.largest(stop, high + lag))
        with b.loop("at", start, stop, rings.rows) as at:
            for grid in self.plan.group.inputs:
                self.load(grid, at)
            for number in range(len(self.plan.passes)):
                self.step(number, at)
        return b.function()

    def span(self, grid: str, axis: int = 0) -> tuple[ir.Expr, ir.Expr]:
        """The rows of a grid that a tile needs."""
        (low, high), (below, above) = self.bounds[axis], self.plan.grid(grid).halo[axis]
        if self.problem.wraps(grid, axis):
            return low - below, high + above
        return ir.largest(low - below, 0), ir.smallest(self.n[axis], high + above)

    def inside(self, grid: str, axis: int, place: ir.Expr) -> ir.Expr:
        """A row of the picture: of a periodic one any."""
        if not self.problem.wraps(grid, axis):
            return place
        return self.b.call(self.rings.maps[map_name("wrap")], place, self.n[axis])

    def load(self, grid: str, at: ir.Expr) -> None:
        """Bring the rows of an input: ask for them ahead, or copy them at the sides of the picture."""
        b, rows, fetch = self.b, self.rings.rows, self.rings.fetch[grid]
        (low, high), (left, right) = self.span(grid), self.plan.grid(grid).halo[-1]
        start, stop = self.bounds[-1][0] - left, self.bounds[-1][1] + right
        source, strides = self.arrays["in", grid], self.strides["in", grid]
        if self.rank == 3:
            with b.loop("y", ir.largest(at, low), ir.smallest(at + rows, high)) as y:
                first, last = self.span(grid, 1)
                plane = b.let("plane", source + self.inside(grid, 0, y) * strides[0])
                with b.loop("l", first, last) as line:
                    row = b.call(self.rings.row[grid], self.own, y, self.n[0], line, self.n[1], self.bounds[1][0])
                    b.call(fetch, row, plane + self.inside(grid, 1, line) * strides[1], start, stop, self.n[-1])
            return
        with b.when(self.edge), b.loop("y", ir.largest(at, low), ir.smallest(at + rows, high)) as y:
            row = b.call(self.rings.row[grid], self.own, y, self.n[0])
            b.call(fetch, row, source + self.inside(grid, 0, y) * strides[0], start, stop, self.n[-1])
        with b.otherwise(), b.loop("y", ir.largest(at + rows, low), ir.smallest(at + 2 * rows, high)) as y:
            line = b.let("row", source + self.inside(grid, 0, y) * strides[0])
            with b.loop("x", start, stop, CACHE_LINE // self.problem.itemsize(grid)) as x:
                b.intrinsic("prefetch_near", self.rings.kind(grid), line + x)

    def step(self, number: int, at: ir.Expr) -> None:
        b, rings, step = self.b, self.rings, self.plan.passes[number]
        operands = ports(self.problem, self.plan, step, rings.rows)
        stencil = self.problem.pipeline.stencils[step.stencils[0]]
        (x0, x1), (left, right) = self.bounds[-1], step.halo[-1]
        wide = self.problem.wraps(stencil.output, self.rank - 1)
        begin = x0 - left if wide else ir.largest(x0 - left, 0)
        end = x1 + right if wide else ir.smallest(self.n[-1], x1 + right)
        low, high = self.span(stencil.output)
        with b.scope():
            y0 = b.let("y0", at - step.lag)
            with b.when((y0 + rings.rows > low) & (y0 < high)):
                xs = b.let("xs", begin)
                n = b.let("n", end - xs)
                total = sum(source.count for source in operands.sources)
                into = b.array("in", ir.pointer(ir.const_pointer(operands.into)), total)
                out = b.array("out", ir.pointer(ir.pointer(operands.out)), max(1, len(operands.stored) * rings.rows))
                run = _Run(number, step, operands, y0, xs, n, into, out)
                if self.rank == 3:
                    first, stop = self.span(stencil.output, 1)
                    with b.loop("l", first, stop) as line:
                        self.lines_of(run, line)
                else:
                    self.rows_of(run)

    def shift(self, run: "_Run", grid: str) -> ir.Expr:
        """Where a pass starts in a ring's row of a grid."""
        return run.xs - (self.bounds[-1][0] - self.plan.grid(grid).halo[-1][0])

    def ends(self, run: "_Run", grid: str, row: ir.Expr) -> None:
        """Make the cells of a new row beyond the picture."""
        (x0, x1), (left, right) = self.bounds[-1], run.step.halo[-1]
        begin = row - (run.xs - (x0 - left))
        self.b.call(self.rings.ends[grid], begin, x0 - left, x1 + right, self.n[-1])

    def at_end(self, run: "_Run") -> ir.Expr:
        (x0, x1), (left, right) = self.bounds[-1], run.step.halo[-1]
        return (x0 < left) | (x1 + right > self.n[-1])

    def put(self, run: "_Run", grid: str, to: ir.Expr, row: ir.Expr) -> None:
        x0, x1 = self.bounds[-1]
        kind = self.rings.kind(grid)
        self.b.intrinsic("put", kind, to + x0, row + (x0 - run.xs), (x1 - x0) * kind.bytes, self.stream)

    def rows_of(self, run: "_Run") -> None:
        """Two dimensions: pointers to rows, the pass, its borders, its results."""
        b, rings, rows = self.b, self.rings, self.rings.rows
        for source in run.operands.sources:
            self.pointers(run, source)
        for k, grid in enumerate(run.operands.stored):
            with b.loop("r", 0, rows) as r:
                place = ir.floormod(run.y0 + r, rings.depth(grid)) * rings.pitch(grid)
                point(b, run.out[r + k * rows], rings.ring(self.own, grid) + place + self.shift(run, grid))
        b.call(self.passes[run.number], run.into, run.out, run.n, self.scalar)
        for k, grid in enumerate(run.operands.stored):
            kind = ir.pointer(rings.kind(grid))
            if grid in rings.ends and not self.problem.wraps(grid, 1):
                with b.when(self.at_end(run)), b.loop("r", 0, rows) as r:
                    self.ends(run, grid, run.out[r + k * rows].to(kind))
            if grid in self.plan.group.outputs:
                ya, yb = self.bounds[0]
                with b.loop("y", ir.largest(run.y0, ya), ir.smallest(run.y0 + rows, yb)) as y:
                    to = self.arrays["to", grid] + y * self.strides["to", grid][0]
                    self.put(run, grid, to, run.out[y - run.y0 + k * rows].to(kind))

    def pointers(self, run: "_Run", source: RowSource) -> None:
        """Pointers to consecutive rows of a grid, in a ring or in place; mapped one by one near the ends."""
        b, grid = self.b, source.grid
        low = source.box[0][0]
        if grid not in self.plan.group.inputs:
            self.from_ring(run, source)
            return
        with b.when(self.edge):
            self.from_ring(run, source)
        # Outside, `row` returns constants, or a row of the ring: its number says which row of the picture is meant.
        with b.otherwise(), b.loop("j", 0, source.box[0][1] - low + 1) as j:
            y, n0, to = b.mutable("y", run.y0 + low + j), self.n[0], run.into[j + source.start]
            tests = () if self.problem.wraps(grid, 0) else (y < 0, y >= n0)

            def filled(side: Boundary) -> None:
                point(b, to, self.rings.filled(self.own, grid, side) + self.shift(run, grid))

            def in_memory() -> None:
                row = self.inside(grid, 0, y) * self.strides["in", grid][0]
                point(b, to, self.arrays["in", grid] + row + run.xs)

            sides = [(test, side, y, n0) for test, side in zip(tests, self.problem.sides(grid)[0], strict=False)]
            beyond(b, sides, self.rings.maps, filled, in_memory)

    def from_ring(self, run: "_Run", source: RowSource) -> None:
        b, rings, grid = self.b, self.rings, source.grid
        (low, high), depth = source.box[0], rings.depth(grid)
        count, shift = high - low + 1, self.shift(run, grid)
        shift = b.let(f"shift_{grid}", shift)

        def quick() -> None:
            k = b.mutable("k", ir.floormod(run.y0 + low, depth))
            with b.loop("j", 0, count) as j:
                point(b, run.into[j + source.start], self.rings.ring(self.own, grid) + k * rings.pitch(grid) + shift)
                b.set(k, ir.select((k + 1).equals(depth), 0, k + 1))

        if self.problem.wraps(grid, 0):
            with b.scope():
                quick()
            return
        with b.when((run.y0 + low >= 0) & (run.y0 + high < self.n[0])):
            quick()
        with b.otherwise(), b.loop("j", 0, count) as j:
            row = b.call(self.rings.row[grid], self.own, run.y0 + low + j, self.n[0])
            point(b, run.into[j + source.start], row + shift)

    def lines_of(self, run: "_Run", line: ir.Expr) -> None:
        """Three dimensions: the same, line after line of a plane."""
        b, rings = self.b, self.rings
        l0, l1 = self.bounds[1]
        for source in run.operands.sources:
            (za, _), (la, lb) = source.box
            across = lb - la + 1
            with b.loop("j", 0, source.count) as j:
                place = (run.y0 + za + j / across, self.n[0], line + la + j % across, self.n[1], l0)
                row = b.call(self.rings.row[source.grid], self.own, *place)
                point(b, run.into[j + source.start], row + self.shift(run, source.grid))
        for k, grid in enumerate(run.operands.stored):
            plane = ir.floormod(run.y0, rings.depth(grid)) * rings.slab(grid)
            row = (line - l0 + run.step.halo[1][0]) * rings.pitch(grid)
            point(b, run.out[k], rings.ring(self.own, grid) + plane + row + self.shift(run, grid))
        b.call(self.passes[run.number], run.into, run.out, run.n, self.scalar)
        for k, grid in enumerate(run.operands.stored):
            kind = ir.pointer(rings.kind(grid))
            if grid in rings.ends and not self.problem.wraps(grid, 2):
                with b.when(self.at_end(run)):
                    self.ends(run, grid, run.out[k].to(kind))
            if grid in self.plan.group.outputs:
                ya, yb = self.bounds[0]
                with b.when((run.y0 >= ya) & (run.y0 < yb) & (line >= l0) & (line < l1)):
                    strides = self.strides["to", grid]
                    to = self.arrays["to", grid] + run.y0 * strides[0] + line * strides[1]
                    self.put(run, grid, to, run.out[k].to(kind))


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a pass."""

    number: int  # of the pass
    step: Pass
    operands: PassPorts
    y0: ir.Expr  # its first row
    xs: ir.Expr  # its first column
    n: ir.Expr  # its columns
    into: ir.Expr  # pointers to what it reads
    out: ir.Expr  # pointers to what it writes


def point(b: ir.Builder, place: ir.Load, row: ir.Expr) -> None:
    """Put a pointer to a row into a table, whose rows may be of other types too."""
    kind = place.type
    is_alike = isinstance(kind, ir.Pointer) and ir.pointee(row) == kind.to
    b.set(place, row if is_alike else row.to(kind))


def choose(b: ir.Builder, cases: Sequence[tuple[ir.Expr, Callable[[], None]]], otherwise: Callable[[], None]) -> None:
    """Write the first case whose condition holds, and what is done where none does."""
    if not cases:
        otherwise()
        return
    (test, write), *rest = cases
    with b.when(test):
        write()
    with b.otherwise():
        choose(b, rest, otherwise)


def beyond(
    b: ir.Builder,
    sides: Sequence[tuple[ir.Expr, Boundary, ir.Expr, ir.Expr]],  # tests, with what is mapped into which extent
    maps: Mapping[str, ir.Function],
    constant: Callable[[Boundary], None],
    inside: Callable[[], None],
) -> None:
    """Write what stands for a cell: a constant beyond a side of one, else what lies where the other sides map it to."""

    def mapped() -> None:
        for test, side, place, extent in sides:
            if side.kind != "constant":
                b.set(place, ir.select(test, b.call(maps[map_name(side.kind)], place, extent), place))
        inside()

    constants = [(test, functools.partial(constant, side)) for test, side, *_ in sides if side.kind == "constant"]
    choose(b, constants, mapped)
