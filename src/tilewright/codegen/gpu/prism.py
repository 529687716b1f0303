"""GPU kernels of prisms: a group of threads computes one hexagon or diamond, its classic tiles one after the other.

Launches, the loops over classic tiles and the cells of every row are those of the schedule tree
(:func:`tilewright.schedules.prism.wavefronts`), in numbers.

In a group, for every classic tile: load what no earlier tile of the group has brought on chip, compute the rows of the
hexagon one after the other with a barrier after each, all on chip; a value goes back to memory from the register it was
computed in, by the last row of the tile that writes its place. What consecutive classic tiles share stays on chip where
it is: the innermost axis is a ring.

Two bodies: whole tiles know no boundary; tiles that the grid, the first or the last step cuts test every cell.

Source: Prajapati et al. 2017, sections 3 and 4; Grosser et al. 2014.
"""

import math
from collections.abc import Iterator

from tilewright.codegen import ir
from tilewright.codegen.gpu.chip import chip_of
from tilewright.codegen.gpu.prism_rows import PrismRows
from tilewright.codegen.gpu.site import GpuSite, Launch, on_chip, unpacked
from tilewright.codegen.gpu.sweep import conjunction
from tilewright.codegen.gpu.tiles import told, wavefront, wavefront_launches
from tilewright.codegen.lower.cpu import Names, bound
from tilewright.codegen.lower.index import index
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.prism import geometry, wavefronts
from tilewright.schedules.schedule import GpuSchedule
from tilewright.schedules.tree.nodes import Let, Loop, Node, Parallel, nodes


def prism_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make the kernel of a prism tiling."""
    cut = geometry(site.problem, schedule.tiling)
    sizes = cut.symbolic()
    tiles = wavefront(wavefronts(sizes))[1]
    itemsize, numbers = site.problem.itemsize, told(tiles)
    chip = chip_of(site.problem, cut, schedule.pieces)
    shared, room = on_chip(chip.values * itemsize)
    rows = next(node for node in nodes(tiles) if isinstance(node, Loop) and not node.subtile)
    maker = _Maker(site=site, schedule=schedule, cut=cut, sizes=sizes, rows=rows, chip=chip)
    kernel = EntryPoint(
        entry=f"{site.prefix}_0",
        threads=math.prod(schedule.threads),
        numbers=numbers,
        shared_bytes=shared,
        room_bytes=room,
    )
    body = maker.body(tiles)
    if shared:
        body = (ir.Array(site.shared, shared // itemsize), *body)
    function = ir.Function(
        name=kernel.entry,
        params=site.params(numbers, room=bool(room)),
        body=body,
        kind="kernel",
        threads=kernel.threads,
    )
    return ((function, kernel),)


def prism_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield one launch per wavefront with any tile, for some steps that start at version 0."""
    cut = geometry(problem, schedule.tiling)
    yield from wavefront_launches(wavefronts(cut.symbolic()), problem, {"steps": steps})


class _Maker(PrismRows):
    """Writes the kernel."""

    __slots__ = ()

    # The kernel.

    def body(self, tiles: Parallel) -> tuple[ir.Stmt, ...]:
        site, rank = self.site, self.rank
        threads = tuple(ir.Var(f"i{axis}") for axis in range(rank))
        left, start = ir.Var("left"), ir.Var("start")
        lets: list[ir.Stmt] = [ir.Comment(f"{self.cut.hexagon.note}, {self.tiling}")]
        lets += unpacked(ir.THREAD, threads, tuple(ir.Int(n) for n in self.shape))
        below, names = _named(tiles.child, {tiles.ranges[0].name: ir.GROUP})
        lets += [
            *names,
            ir.Let(ir.Var("row0"), index(self.rows.low, {}) - start),
            ir.Let(ir.Var("row1"), index(self.rows.high, {}) - start),
        ]
        step = ir.floordiv(start, self.cut.stages) if self.cut.stages > 1 else start
        for copies in sorted({c for c in site.problem.program.analysis.copies if c > 1}):
            lets.append(ir.Let(ir.Var(f"turn{copies}"), ir.floormod(step, copies)))
        low, high = self._span0()
        whole = [
            ir.Var("row0").equals(0),
            ir.Var("row1").equals(self.height),
            left + low >= 0,
            left + high <= extent(0),
        ]
        lets.append(ir.Let(ir.Var("whole", ir.BOOL), conjunction(whole)))
        return (*lets, *self._classic_cuts(below))

    def _span0(self) -> tuple[ir.Expr, ir.Expr]:
        """What a tile touches along axis 0, reads as written."""
        low, high = self.chip.pure[0]
        over = index(self.sizes.hexagon.overhang, {})
        return ir.Int(low) - over, over + self.base + high

    def _classic_cuts(self, node: Node, axis: int = 1) -> tuple[ir.Stmt, ...]:
        """The loops over classic tiles, one in the other, and what is done for one of them."""
        if not isinstance(node, Loop) or not node.subtile:
            return self._tile()
        place = ir.Let(ir.Var(f"z{axis}"), self.row_start(axis, ir.Int(0), ir.Var(node.name)))
        body = (place, *self._classic_cuts(node.child, axis + 1))
        if isinstance(node.child, Loop) and node.child.subtile:
            body = (*body, ir.Barrier(memory=True))
        low, high = index(node.low, {}), index(node.high, {})
        return (ir.For(var=ir.Var(node.name), low=low, high=high, body=body, unroll=1),)

    def _tile(self) -> tuple[ir.Stmt, ...]:
        tests: list[ir.Expr] = [ir.Var("whole", ir.BOOL)]
        for axis in range(1, self.rank):
            low, high = self.chip.pure[axis]
            place = ir.Var(f"z{axis}")
            last_row = self.row_start(axis, self.height - 1)
            tests.append(place + last_row + low >= 0)
            # Columns that keep their first values are loaded whole, which whole tiles do not do.
            high += max(self.site.problem.margins(s)[axis][1] for s in self.site.problem.program.statements)
            tests.append(place + self.size(axis) + high <= extent(axis))
        lets: list[ir.Stmt] = []
        fresh: ir.Expr = ir.Int(0)
        if self.rank > 1:
            last = self.rank - 1
            following = ir.Var(f"classic{last}") > 0
            tests.append(following)
            fresh = self.chip.extent(last) - self.size(last)
            lets.append(ir.Let(ir.Var("fresh"), ir.select(following, fresh, ir.Int(0))))
            lets.append(ir.Let(ir.Var("ring"), ir.Var(f"z{last}") % self.chip.extent(last)))
        else:
            lets.append(ir.Let(ir.Var("fresh"), ir.Int(0)))
        full = (*self._load_whole(fresh), ir.Barrier(memory=True), *self._rows_whole())
        cut = (*self._load_cut(), ir.Barrier(memory=True), *self._rows_cut())
        return (*lets, ir.If(conjunction(tests), full, cut))


def _named(node: Node, names: Names) -> tuple[Node, tuple[ir.Stmt, ...]]:
    """The names right below a node, and what is below them."""
    lets: tuple[ir.Stmt, ...] = ()
    while isinstance(node, Let):
        more, names = bound(node, names)
        lets, node = (*lets, *more), node.child
    return node, lets
