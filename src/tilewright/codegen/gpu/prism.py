"""GPU kernels of hexagonal prisms: a group of threads computes one hexagon, its classic tiles one after the other.

The wavefront loop runs on the host, one launch per wavefront. In a group, for every classic tile: load what no earlier
tile of the group has brought on chip, compute the rows of the hexagon one after the other with a barrier after each,
all on chip; a value goes back to memory from the register it was computed in, by the last row of the tile that writes
its place. What consecutive classic tiles share stays on chip, where it is (``reuse=place``: the innermost axis is a
ring) or moved to the front (``reuse=move``).

Two bodies: whole tiles know no boundary; tiles that the grid, the first or the last step cuts test every cell.

Source: Prajapati et al. 2017, sections 3 and 4; Grosser et al. 2014.
"""

import math
from collections.abc import Iterator

from tilewright.codegen import ir
from tilewright.codegen.gpu.chip import fixed_chip, parametric_chip, parametric_values
from tilewright.codegen.gpu.prism_rows import PrismRows
from tilewright.codegen.gpu.site import GpuSite, Launch, on_chip, unpacked
from tilewright.codegen.gpu.sweep import conjunction
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.stencil.dependences import analyse
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.gpu_schedule import GpuSchedule
from tilewright.schedules.prism import geometry

_NUMBERS = ("start", "total", "origin")
_SIZES = ("height", "base", "size1", "size2")


def prism_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make the kernel of a prism tiling."""
    tiling, rank = schedule.tiling, site.rank
    cut = geometry(site.problem, tiling)
    itemsize = site.problem.itemsize
    if tiling.variant == "param":
        names = tuple(ir.Var(name) for name in _SIZES[: rank + 1])
        chip = parametric_chip(site.problem, cut, names)
        shared, room = 0, parametric_values(site.problem, cut) * itemsize
    else:
        names = ()
        chip = fixed_chip(site.problem, cut, schedule.pieces)
        total = chip.values.value * itemsize if isinstance(chip.values, ir.Int) else 0
        shared, room = on_chip(total)
    numbers = (*_NUMBERS, *(var.name for var in names))
    maker = _Maker(site=site, schedule=schedule, cut=cut, chip=chip)
    kernel = EntryPoint(
        entry=f"{site.prefix}_0",
        threads=math.prod(schedule.threads),
        numbers=numbers,
        shared_bytes=shared,
        room_bytes=room,
    )
    body = maker.body()
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
    """Yield one launch per wavefront, for some steps that start at version 0."""
    tiling = schedule.tiling
    cut = geometry(problem, tiling)
    hexagon, total = cut.hexagon, steps * cut.stages
    sizes: tuple[int, ...] = ()
    if tiling.variant == "param":
        sizes = (hexagon.height, hexagon.base, *(skew.size for skew in cut.skews))
    for phase in range(hexagon.phases(0, total)):
        for colour in (0, 1):
            start = hexagon.time_origin(colour, phase)
            tiles = hexagon.tiles(colour, problem.shape[0])
            if start < total and start + hexagon.height > 0 and tiles:
                yield Launch(0, tiles, (start, total, hexagon.space_origin(colour, 0), *sizes))


class _Maker(PrismRows):
    """Writes the kernel."""

    __slots__ = ()

    # The kernel.

    def body(self) -> tuple[ir.Stmt, ...]:
        site, rank = self.site, self.rank
        threads = tuple(ir.Var(f"i{axis}") for axis in range(rank))
        left, start = ir.Var("left"), ir.Var("start")
        lets: list[ir.Stmt] = []
        if self.parametric:
            lets.append(ir.Let(ir.Var("waist"), ir.div(self.height, 2)))
            pitch: ir.Expr = ir.add(ir.mul(self.base, 2), ir.mul(ir.sub(ir.Var("waist"), 1), 2 * self.slope))
        else:
            hexagon = self.cut.hexagon
            lets.append(ir.Comment(f"{hexagon.note}, {self.tiling}"))
            pitch = ir.Int(hexagon.pitch)
        lets += unpacked(ir.THREAD, threads, tuple(ir.Int(n) for n in self.shape))
        lets += [
            ir.Let(left, ir.add(ir.mul(ir.GROUP, pitch), ir.Var("origin"))),
            ir.Let(ir.Var("row0"), ir.largest(ir.Int(0), ir.sub(ir.Int(0), start))),
            ir.Let(ir.Var("row1"), ir.smallest(self.height, ir.sub(ir.Var("total"), start))),
        ]
        step = ir.floordiv(start, self.cut.stages) if self.cut.stages > 1 else start
        for copies in sorted({c for c in analyse(site.problem.program).copies if c > 1}):
            lets.append(ir.Let(ir.Var(f"turn{copies}"), ir.floormod(step, copies)))
        low, high = self._span0()
        whole = [
            ir.eq(ir.Var("row0"), 0),
            ir.eq(ir.Var("row1"), self.height),
            ir.ge(ir.add(left, low), 0),
            ir.le(ir.add(left, high), extent(0)),
        ]
        lets.append(ir.Let(ir.Var("whole", ir.BOOL), conjunction(whole)))
        return (*lets, *self._classic_loops())

    def _span0(self) -> tuple[ir.Expr, ir.Expr]:
        """What a tile touches along axis 0, reads as written."""
        low, high = self.chip.pure[0]
        if self.parametric:
            over = ir.mul(ir.sub(ir.Var("waist"), 1), self.slope)
            return ir.sub(ir.Int(low), over), ir.add(ir.add(self.base, high), over)
        over_cells = (self.cut.hexagon.width - self.cut.hexagon.base) // 2
        return ir.Int(low - over_cells), ir.Int(self.cut.hexagon.base + over_cells + high)

    def _classic_loops(self) -> tuple[ir.Stmt, ...]:
        if self.rank == 1:
            return self._tile()
        last = self.rank - 1
        nest = self._tile()
        for axis in range(last, 0, -1):
            tile, size = ir.Var(f"j{axis}"), self.size(axis)
            tiles = ir.ceildiv(ir.add(extent(axis), ir.mul(ir.sub(self.height, 1), self.lean(axis))), size)
            body: tuple[ir.Stmt, ...] = (ir.Let(ir.Var(f"z{axis}"), ir.mul(tile, size)), *nest)
            if axis < last:
                body = (*body, ir.Barrier(memory=True))
            nest = (ir.For(var=tile, low=ir.Int(0), high=tiles, body=body, unroll=1),)
        return nest

    def _tile(self) -> tuple[ir.Stmt, ...]:
        tests: list[ir.Expr] = [ir.Var("whole", ir.BOOL)]
        for axis in range(1, self.rank):
            low, high = self.chip.pure[axis]
            place = ir.Var(f"z{axis}")
            least = ir.sub(ir.Int(low), ir.mul(ir.sub(self.height, 1), self.lean(axis)))
            tests.append(ir.ge(ir.add(place, least), 0))
            # Columns that keep their first values are loaded whole, which whole tiles do not do.
            high += max(self.site.problem.margins(s)[axis][1] for s in self.site.problem.program.statements)
            tests.append(ir.le(ir.add(ir.add(place, self.size(axis)), high), extent(axis)))
        lets: list[ir.Stmt] = []
        fresh: ir.Expr = ir.Int(0)
        if self.rank > 1:
            last = self.rank - 1
            tests.append(ir.gt(ir.Var(f"j{last}"), 0))
            kept = ir.sub(self.chip.extent(last), self.size(last))
            fresh = kept
            lets.append(ir.Let(ir.Var("fresh"), ir.select(ir.gt(ir.Var(f"j{last}"), 0), kept, ir.Int(0))))
            if self.ring:
                lets.append(ir.Let(ir.Var("ring"), ir.mod(ir.Var(f"z{last}"), self.chip.extent(last))))
        else:
            lets.append(ir.Let(ir.Var("fresh"), ir.Int(0)))
        full = (*self._load_whole(fresh), ir.Barrier(memory=True), *self._rows_whole())
        cut = (*self._load_cut(), ir.Barrier(memory=True), *self._rows_cut())
        parts: tuple[ir.Stmt, ...] = (*lets, ir.If(conjunction(tests), full, cut))
        if self.rank > 1 and not self.ring:
            parts = (*parts, *self._move())
        return parts
