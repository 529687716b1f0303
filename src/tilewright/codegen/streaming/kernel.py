"""The streaming family in code: bands of steps one after the other, the tiles of a band shared by the threads."""

import functools
from dataclasses import dataclass, replace

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen import ir
from tilewright.codegen.sites import SIZE, Site, extent
from tilewright.codegen.streaming import names as v
from tilewright.codegen.streaming.borders import Borders
from tilewright.codegen.streaming.copies import Copies, fetch_function
from tilewright.codegen.streaming.layout import StreamLayout
from tilewright.codegen.streaming.points import StreamPoints
from tilewright.codegen.streaming.stages import StageFunctions
from tilewright.codegen.streaming.tile import Tile
from tilewright.schedules.tiling import Tiling


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
        """Where a tile starts."""
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
