"""The streaming family in code: bands of steps one after the other, the tiles of a band shared by the threads.

In a tile the levels of a band run in a pipeline along axis 0.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen import ir
from tilewright.codegen.layouts import stride
from tilewright.codegen.sites import SIZE, Site, extent
from tilewright.codegen.streaming import names as v
from tilewright.codegen.streaming.borders import Borders
from tilewright.codegen.streaming.copies import Copies, fetch_function
from tilewright.codegen.streaming.layout import StreamField, StreamLayout, level_tag
from tilewright.codegen.streaming.points import StreamPoints
from tilewright.codegen.streaming.stages import StageFunctions, next_rows
from tilewright.schedules.tiling import Tiling


class Tile:
    """The function that advances one tile through one band, made of the functions of its fields and stages."""

    def __init__(
        self,
        layout: StreamLayout,
        borders: Sequence[Borders],
        copies: Sequence[Copies],
        points: Sequence[StreamPoints],
        stages: Sequence[StageFunctions],
    ) -> None:
        self.layout, self.site, self.pipeline = layout, layout.site, layout.pipeline
        self.borders, self.copies, self.points, self.stages = borders, copies, points, stages  # per field, per stage
        self.ring = ir.Var("ring", ir.pointer(layout.dtype))
        self.memory = [ir.Var(f"m_{field.name}", self.ring.type) for field in layout.fields]
        self.left = v.LEVELS - 1 - v.T  # steps of the band behind this one

    def function(self) -> ir.Function:
        """Write it."""
        layout, history, lag, below = self.layout, self.layout.sides, self.pipeline.lag, self.pipeline.below[0]
        about = f"One tile: its rows advance {layout.rows} at a time, every level a few rows behind what it reads."
        b = ir.Builder(layout.name("tile"), about=about)
        b.params(*self.site.params, self.ring, v.SIDE, v.VERSION, v.LEVELS, *v.BOUNDS)
        self._extents(b)
        self._ends_of_run(b)
        self._place(b)
        self._slabs(b)
        reach = v.LEVELS * below.period + (max(below.offsets) + below.period * (history - 1))
        first = b.let("first", v.YA - reach - history * lag.period)
        end = v.YB + (v.LEVELS - 1) * lag.period + max(lag.offsets)
        with b.loop("start", first, end, layout.rows):
            b.let("turn", (v.START - first) / layout.rows & 1)
            with b.loop("t", -history, v.LEVELS):
                for stage in self.stages:
                    with b.scope():
                        self._unit(b, stage)
        b.intrinsic("fence", layout.dtype)
        return b.function()

    def _extents(self, b: ir.Builder) -> None:
        """Name extents and strides; a program in 1D runs as one in 2D with a single row."""
        if self.site.rank > 1:
            self.site.name_sizes(b)
            b.let("n", extent(self.site.rank - 1))
            return
        for name, value in (("n0", 1), ("n1", 1), ("n", SIZE[2]), ("slot", SIZE[3])):
            b.let(name, value)

    def _ends_of_run(self, b: ir.Builder) -> None:
        """Name whether this band reads or writes the caller's arrays, and the strides on both sides."""
        axes = self.site.rank - 1
        place = 3 + self.site.rank + axes
        b.let("from_caller", v.VERSION.equals(0) & (SIZE[place] > 0), ir.INDEX)
        b.let("to_caller", (v.VERSION + v.LEVELS).equals(SIZE[0]) & SIZE[place + 1], ir.INDEX)
        for field in self.layout.fields:
            b.emit(*(field.part.lets if field.part else ()))
        wide = (SIZE[place] > 1) & (v.X1 - v.X0).equals(v.N)
        b.let("lifted_in", wide & v.FROM_CALLER.equals(0) if axes else 0, ir.INDEX)
        b.let("lifted_out", wide & v.TO_CALLER.equals(0) if axes else 0, ir.INDEX)
        for axis in range(axes):
            packed = b.let(f"p{axis}", SIZE[place + 2 + axis])
            row = ir.Int(self.layout.width) if axis == axes - 1 else v.N1 * self.layout.width
            b.let(f"i{axis}", ir.select(v.FROM_CALLER, packed, ir.select(v.LIFTED_IN, row, stride(axis))))
            b.let(f"o{axis}", ir.select(v.TO_CALLER, packed, ir.select(v.LIFTED_OUT, row, stride(axis))))

    def _place(self, b: ir.Builder) -> None:
        """Name where the rows of the tile start, and whether they reach an end of the grid."""
        layout, axis = self.layout, self.layout.rank - 1
        low, high = (max(field.frame(axis)[side] for field in layout.fields) for side in (0, 1))
        layout.name_sizes(b)
        b.let("gx", v.X0 - layout.halo[-1][0])
        b.let("gy", v.ZA - layout.halo[1][0] if layout.rank == 3 else 0)
        b.let("edge", (v.GX < max(1, low)) | (v.GX + layout.width > v.N - high), ir.INDEX)

    def _slabs(self, b: ir.Builder) -> None:
        """Name where the slabs of every field start, the spare rows behind them, and numbers of places."""
        layout, pointer = self.layout, self.ring.type
        at = self.ring + layout.before
        for field, memory in zip(layout.fields, self.memory, strict=True):
            at = b.let(memory.name, at, pointer) + v.SLAB * field.slabs
        at = b.let(layout.spare.name, at, pointer) + 2 * layout.width
        for node in self.site.problem.program.placed:
            name, table = self.site.place_name(node), self.site.place_table(node)
            if node in layout.lifted:
                row = b.let(f"{name.name}_row", at, pointer)
                b.intrinsic("lift", layout.dtype, row, table + v.GX, v.VECTORS)
                at, table = row + layout.width, row
            b.let(name.name, table, name.type)

    def _version(self, field: StreamField, version: ir.Expr) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
        """Passing, fresh and older slabs of a version (counted from the start of the band)."""
        base, keep, count = self.memory[field.number], v.SLAB * field.keep, field.versions
        passing = base + ir.op(ir.Operator.MUL, (version + count * 4) % count, v.SLAB * field.passing)
        store, at = base + v.SLAB * (count * field.passing), (version + (field.history - 1)) * 2
        fresh, older = (store + ir.op(ir.Operator.MUL, each, keep) for each in (at + v.TURN, at + 1 - v.TURN))
        return passing, fresh, older

    def _names(self, b: ir.Builder, field: StreamField, tag: str, version: ir.Expr) -> None:
        for var, value in zip(field.version(tag).params, self._version(field, version), strict=True):
            b.let(var.name, value, var.type)

    def _unit(self, b: ir.Builder, functions: StageFunctions) -> None:
        """One stage of one step: load or compute the rows of one advance, finish them, write them."""
        stage, number, pipeline = functions.stage, functions.stage.number, self.pipeline
        b.let("y0", v.START - (v.T * pipeline.lag.period + pipeline.lag.offsets[number]))
        low, high = self._span(0, number, (v.YA, v.YB))
        reach = max(ghosts[0][1] for ghosts in pipeline.ghosts)
        first, end = ir.largest(low, 0), ir.smallest(high, v.N0 + reach)
        with b.when((v.Y0 + self.layout.rows > first) & (v.Y0 < end)):
            for field in stage.outputs:
                self._names(b, field, "out", v.T + 1)
            with b.when(v.T < 0):
                for field in stage.outputs:
                    with b.when(v.T >= -field.history):
                        self.copies[field.number].load(b, self._source(field, -1 - v.T))
            with b.when(v.T >= 0):
                self._compute(b, functions)
                if self.layout.rank == 2:
                    for field, age in stage.loaded:
                        self.copies[field.number].ahead(b, *self._next(field, age))
            for field in stage.outputs:
                if field.history == self.layout.sides:
                    self._finish(b, field)
                else:
                    with b.when(v.T >= -field.history):
                        self._finish(b, field)

    def _span(self, axis: int, stage: int, own: tuple[ir.Expr, ir.Expr]) -> tuple[ir.Expr, ir.Expr]:
        """The cells along an axis that a stage computes in this step, from the tile's own."""
        below, above = self.pipeline.below[axis], self.pipeline.above[axis]
        low = own[0] - (self.left * below.period + below.offsets[stage])
        return low, own[1] + (self.left * above.period + above.offsets[stage])

    def _slot(self, field: StreamField, side: ir.Expr, version: ir.Expr) -> ir.Expr:
        """Cell zero of the slot that holds a version on one side; versions count from the start of the run."""
        rest = ir.floormod(version, self.layout.sides)
        return field.stored.at(rest + ir.select(rest.equals(0).equals(side), ir.Int(self.layout.sides), 0))

    def _source(self, field: StreamField, age: ir.Operand) -> ir.Expr:
        """Where a band reads a version of a field, by age."""
        if not field.updated:
            return field.stored.base
        place = len(self.layout.fields) + sum(self.pipeline.history[: field.number])
        slot = self._slot(field, v.SIDE, v.VERSION - age)
        return ir.select(v.FROM_CALLER, self.site.field[age + place], slot)

    def _results(self, field: StreamField) -> ir.Expr:
        """Where a band writes the version that it computes."""
        before = sum(each.updated for each in self.layout.fields[: field.number])
        place = len(self.layout.fields) + sum(self.pipeline.history) + before
        return ir.select(v.TO_CALLER, self.site.field[place], self._slot(field, 1 - v.SIDE, v.VERSION + v.T + 1))

    def _next(self, field: StreamField, age: int) -> tuple[ir.Expr, ir.Expr]:
        """The version and the first row that the next advance loads."""
        lag = self.pipeline.lag
        back = -(age + 1) * lag.period + lag.offsets[field.stage]
        return self._source(field, age), v.START + (self.layout.rows - back)

    def _asked(self, functions: StageFunctions) -> dict[str, ir.Expr]:
        """In 3D a stage asks for its share itself, row by row: a piece of every row of the next planes."""
        arguments: dict[str, ir.Expr] = {}
        whole: ir.Expr = ir.Int(1)
        for field, age in functions.stage.loaded:
            base, plane = self._next(field, age)
            copies, names = self.copies[field.number], next_rows(field, age)
            strides = ir.Var(f"{copies.letter}0"), ir.Var(f"{copies.letter}1")
            row = base + ir.op(ir.Operator.MUL, plane, strides[0]) + ir.op(ir.Operator.MUL, v.GY, strides[1])
            start = row + copies.first_cell + v.T * self.layout.width / v.LEVELS
            arguments |= {var.name: value for var, value in zip(names, (start, *strides), strict=True)}
            whole = whole & ((plane >= 0) & (plane + self.layout.rows <= v.N0))
        chunk = ir.select(whole, ir.ceildiv(ir.Int(self.layout.width), v.LEVELS), 0)
        return {**arguments, "chunk": chunk}

    def _compute(self, b: ir.Builder, functions: StageFunctions) -> None:
        stage, arguments, lines = functions.stage, {"scalar": self.site.scalars_of(v.VERSION + v.T)}, None
        with b.scope():
            for number, level in stage.sources:
                self._names(b, self.layout.fields[number], level_tag(level), v.T + level)
            if self.layout.rank == 3:
                low, high = self._span(1, stage.number, (v.ZA, v.ZB))
                lines = ir.largest(low, 0) - v.GY, ir.smallest(high, v.N1) - v.GY
                arguments |= self._asked(functions)
            functions.compute(b, lines, arguments)

    def _finish(self, b: ir.Builder, field: StreamField) -> None:
        """Finish the new rows of a field at the ends of the grid, and write those of the last versions."""
        borders, points = self.borders[field.number], self.points[field.number]
        if points.present:
            with b.when((v.T >= 0) & points.near()):
                v.call(b, points.function, t=v.VERSION + v.T)
        if borders.outer:
            with b.when(borders.near_slabs()):
                self._names(b, field, "now", ir.largest(v.T, 1 - field.history))
                v.call(b, borders.slabs, fresh=v.T < 0)
        if field.updated:
            unit, cells = self.layout.line_cells, v.X1 - v.X0
            # Between bands rows are padded to whole lines; the caller's are not.
            count = ir.select(v.TO_CALLER, cells, ir.op(ir.Operator.MUL, ir.ceildiv(cells, unit), unit))
            versions = ir.select(v.TO_CALLER, ir.Int(1), field.history) if field.history > 1 else 1
            with b.when(v.T >= v.LEVELS - versions):
                self.copies[field.number].store(b, self._results(field), count)


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis along which the grid is cut; as :func:`tilewright.schedules.families.streaming.geometry` cuts it."""

    extent: ir.Expr
    unit: int  # cells by which tiles can differ
    tiles: ir.Var

    @property
    def units(self) -> ir.Expr:
        return self.extent if self.unit == 1 else ir.ceildiv(self.extent, self.unit)

    def start(self, index: ir.Expr) -> ir.Expr:
        start = ir.op(ir.Operator.MUL, self.units, index) / self.tiles * self.unit
        return start if self.unit == 1 else ir.smallest(start, self.extent)


class StreamKernel:
    """A problem under a streaming tiling: what is laid out for it, and its functions."""

    def __init__(self, site: Site, tiling: Tiling) -> None:
        if tiling.threads:
            raise IllegalTilingError(
                f"a streaming tiling with threads is one for GPUs, got {str(tiling)!r}", "leave threads out on a CPU"
            )
        self.site, self.layout = site, StreamLayout(site, tiling)

    @property
    def copies(self) -> tuple[int, ...]:
        """Versions per field: two sets that bands read and write in turn; one for fields that are never updated."""
        return tuple(2 * self.layout.sides if field.updated else 1 for field in self.layout.fields)

    @functools.cached_property
    def borders(self) -> tuple[Borders, ...]:
        """What finishes the rows of every field at the ends of the grid."""
        return tuple(Borders(field) for field in self.layout.fields)

    @functools.cached_property
    def stages(self) -> tuple[StageFunctions, ...]:
        """What computes every stage."""
        ends = [each.ends for each in self.borders]
        return tuple(StageFunctions(stage, ends) for stage in self.layout.stages)

    def functions(self, name: str) -> tuple[ir.Function, ...]:
        """Every function, callees first."""
        layout, borders, stages = self.layout, self.borders, self.stages
        fetch = fetch_function(layout)
        copies = [Copies(each.field, fetch, each.ends) for each in borders]
        points = [StreamPoints(each.field, each.ends) for each in borders]
        result = [each.ends for each in borders]
        for each in borders:
            result += [each.brim] if layout.rank == 3 else []
            result += [each.slabs] if each.outer else []
        result.append(fetch)
        result += [each.ahead_function for each in copies if layout.rank == 2 and each.part is None]
        result += [each.load_function for each in copies]
        result += [each.store_function for each in copies if each.field.updated]
        result += [each.function for each in points if each.field.updated and each.present]
        result += [function for each in stages for function in each.functions]
        result += [function for each in stages for _, inner in each.middles for function in inner.functions]
        tile = Tile(layout, borders, copies, points, stages).function()
        return (*map(self._apart, [*result, tile]), self._entry(tile, name))

    def _apart(self, function: ir.Function) -> ir.Function:
        """Keep a function as it is written: left to itself, gcc makes one of all and takes twice as long.

        The short one at the ends of a row stays inline where the body does not say otherwise.
        """
        stays = function.kind == "inline" and not self.site.body.ends_apart
        return function if stays else replace(function, kind="apart")

    def _entry(self, tile: ir.Function, name: str) -> ir.Function:
        """The exported function: bands one after the other, tiles of a band shared by the threads."""
        site, layout = self.site, self.layout
        about = f"Bands of at most {layout.levels} steps, one after the other; the threads share the tiles of a band."
        b = ir.Builder(name, kind="entry", about=about)
        b.params(*site.params)
        steps, threads = b.let("steps", SIZE[0]), b.let("threads", SIZE[1])
        site.name_sizes(b)
        # The number of bands is odd or even as tilewright.schedules.families.streaming.bands says.
        fewest, slot = b.let("fewest", ir.ceildiv(steps, layout.levels)), steps % (2 * layout.sides)
        bands = b.let("bands", fewest + (fewest + ((slot >= 1) & (slot <= layout.sides))) % 2)
        axes = self._axes()
        for axis, cells in zip(axes, layout.space, strict=True):
            b.let(axis.tiles.name, ir.ceildiv(axis.units, max(1, cells // axis.unit)))
        total: ir.Expr = axes[0].tiles
        for axis in axes[1:]:
            total = ir.op(ir.Operator.MUL, total, axis.tiles)
        count = b.let("count", total)

        def done(band: ir.Expr) -> ir.Expr:
            return ir.op(ir.Operator.MUL, steps, band) / bands

        with b.parallel(threads):
            own = ir.THREAD * (layout.scratch_bytes // site.problem.itemsize)
            b.let("ring", ir.writable(site.constant[site.own_memory]) + own, ir.pointer(site.dtype))
            with b.loop("band", 0, bands) as band, b.loop("tile", 0, count, share="dynamic") as index:
                bounds = self._bounds(b, axes, index)
                begin, end = done(band), done(band + 1)
                v.call(b, tile, side=band % 2, version=begin, levels=end - begin, **bounds)
        return b.function()

    def _axes(self) -> list[_Axis]:
        rank = self.site.rank
        extents = [extent(axis) for axis in range(rank)] if rank > 1 else [ir.Int(1), extent(0)]
        units = [1] * (len(extents) - 1) + [self.layout.line_cells]
        tiles = [ir.Var(f"tiles{axis}") for axis in range(len(extents))]
        return [_Axis(*each) for each in zip(extents, units, tiles, strict=True)]

    def _bounds(self, b: ir.Builder, axes: list[_Axis], index: ir.Expr) -> dict[str, ir.Operand]:
        """The bounds of a tile, by the names of ``BOUNDS``: the innermost axis changes fastest."""
        bounds: list[ir.Operand] = []
        for number, axis in reversed(list(enumerate(axes))):
            at = b.let(f"tile{number}", index % axis.tiles if number else index)
            index = index / axis.tiles
            bounds = [axis.start(at), axis.start(at + 1), *bounds]
        if len(axes) == 2:
            bounds[2:2] = [0, 1]
        return {var.name: bound for var, bound in zip(v.BOUNDS, bounds, strict=True)}
