"""GPU kernels of overlapped tiles: a group loads a tile with its ghost zone on chip and advances it there by a band.

One launch per band. Bands have an odd number of steps, so that the version a band writes is never in the slot that it
reads; for programs that keep two versions of every updated field and read no older one.
"""

import math
from collections.abc import Callable, Iterator

from tilewright.base.errors import IllegalTilingError
from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.gpu_site import GpuSite, Launch, global_index, on_chip, unpacked
from tilewright.codegen.gpu_sweep import STEP, in_bounds, places
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.dependences import analyse
from tilewright.programs.expression import Read
from tilewright.programs.problem import Problem
from tilewright.tilings.gpu_schedule import GpuSchedule
from tilewright.tilings.overlapped import geometry, kept_otherwise, local_box
from tilewright.tilings.pieces import Box

_NUMBERS = ("begin", "levels", "tiles1", "tiles2")
Span = tuple[ir.Expr, ir.Expr]


def bands(steps: int, most: int) -> Iterator[int]:
    """Yield the lengths of the bands, all odd.

    >>> list(bands(10, 4)), list(bands(8, 3)), list(bands(4, 1))
    ([3, 3, 3, 1], [3, 3, 1, 1], [1, 1, 1, 1])
    """
    length = most - 1 + most % 2
    while steps:
        now = min(length, steps - 1 + steps % 2)
        yield now
        steps -= now


def overlapped_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make the kernel of an overlapped tiling.

    Raises:
        IllegalTilingError: If the program does not keep exactly two versions of what it updates.
    """
    _check(site.problem)
    maker = _Maker(site, schedule)
    numbers = _NUMBERS[: 1 + site.rank]
    shared, room = on_chip(maker.values * site.problem.itemsize)
    kernel = EntryPoint(
        entry=f"{site.prefix}_0",
        threads=math.prod(maker.threads),
        numbers=numbers,
        shared_bytes=shared,
        room_bytes=room,
    )
    body = maker.body()
    if shared:
        body = (ir.Array(site.shared, maker.values), *body)
    function = ir.Function(
        name=kernel.entry,
        params=site.params(numbers, room=bool(room)),
        body=body,
        kind="kernel",
        threads=kernel.threads,
    )
    return ((function, kernel),)


def overlapped_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield one launch per band, for some steps that start at version 0."""
    tiling = schedule.tiling
    tiles = [ceil_div(n, size) for n, size in zip(problem.shape, tiling.space, strict=True)]
    begin = 0
    for levels in bands(steps, tiling.time):
        yield Launch(0, math.prod(tiles), (begin, levels, *tiles[1:]))
        begin += levels


def _check(problem: Problem) -> None:
    field = kept_otherwise(problem)
    if field is not None:
        copies = dict(zip(problem.program.fields, analyse(problem.program).copies, strict=True))
        raise IllegalTilingError(
            f"overlapped tiles on GPUs need two versions of every updated field and no older one; "
            f"{problem.program.name!r} keeps {copies[field]} of {field}",
            "use hexagonal or hybrid",
        )


class _Maker:
    """Writes the kernel; cells on chip are counted from ``origin0``, …, which may lie outside the grid."""

    def __init__(self, site: GpuSite, schedule: GpuSchedule) -> None:
        self.site, self.tiling, self.threads = site, schedule.tiling, schedule.threads
        self.shape = geometry(site.problem, self.tiling)
        self.box: Box = local_box(site.problem, self.shape, self.tiling.time)
        self.plane = math.prod(high - low for low, high in self.box)
        copies = analyse(site.problem.program).copies
        self.starts = [self.plane * sum(copies[:field]) for field in range(len(copies))]
        self.values = self.plane * sum(copies)

    def body(self) -> tuple[ir.Stmt, ...]:
        rank = self.site.rank
        names = tuple(ir.Var(f"tile{axis}") for axis in range(rank))
        counts: tuple[ir.Expr, ...] = (ir.Int(0), *(ir.Var(f"tiles{axis}") for axis in range(1, rank)))
        lets: list[ir.Stmt] = [
            ir.Comment(
                f"overlapped tiles of {'x'.join(map(str, self.tiling.space))}, at most {self.tiling.time} steps"
            ),
            *unpacked(ir.THREAD, tuple(ir.Var(f"i{axis}") for axis in range(rank)), tuple(map(ir.Int, self.threads))),
            *unpacked(ir.GROUP, names, counts),
        ]
        for axis, size in enumerate(self.tiling.space):
            lets.append(ir.Let(ir.Var(f"low{axis}"), ir.mul(names[axis], size)))
            lets.append(ir.Let(ir.Var(f"high{axis}"), ir.smallest(ir.add(ir.Var(f"low{axis}"), size), extent(axis))))
            lets.append(ir.Let(ir.Var(f"origin{axis}"), ir.add(ir.Var(f"low{axis}"), self.box[axis][0])))
        t, left = ir.Var("level"), ir.Var("left")
        rows = self._rows(left)
        step = (ir.Let(left, ir.sub(ir.sub(ir.Var("levels"), 1), t)), ir.Let(STEP, ir.add(ir.Var("begin"), t)), *rows)
        return (
            *lets,
            *self._load(),
            ir.Barrier(memory=False),
            ir.For(var=t, low=ir.Int(0), high=ir.Var("levels"), body=step, unroll=1),
            *self._store(),
        )

    def _chip(self, field: str, version: ir.Expr, cells: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ir.Expr]:
        """Pointer and index on chip of a cell of a version."""
        number, copies = self.site.number(field), self.site.copies(field)
        index: ir.Expr = ir.Int(0)
        for axis, (cell, (low, high)) in enumerate(zip(cells, self.box, strict=True)):
            place = ir.sub(cell, ir.Var(f"origin{axis}"))
            index = place if axis == 0 else ir.add(ir.mul(index, high - low), place)
        if copies > 1:
            index = ir.add(index, ir.mul(ir.mod(version, copies), self.plane))
        return ir.add(self.site.shared, self.starts[number]), index

    def _over(self, spans: list[Span], body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """The cells of a box, shared by the threads of the group."""
        for axis in range(self.site.rank - 1, -1, -1):
            low, high = ir.largest(spans[axis][0], ir.Int(0)), ir.smallest(spans[axis][1], extent(axis))
            low = ir.add(low, ir.Var(f"i{axis}"))
            body = (
                ir.For(var=places(self.site)[axis], low=low, high=high, step=ir.Int(self.threads[axis]), body=body),
            )
        return body

    def _load(self) -> tuple[ir.Stmt, ...]:
        """Bring the whole box in; cells that are not updated are needed in both versions."""
        site, here = self.site, places(self.site)
        spans: list[Span] = [
            (ir.Var(f"origin{axis}"), ir.add(ir.Var(f"origin{axis}"), high - low))
            for axis, (low, high) in enumerate(self.box)
        ]
        body: list[ir.Stmt] = []
        value = ir.Var("value", site.dtype)
        for field in site.problem.program.fields:
            copies = site.copies(field)
            base = site.version(field, ir.mod(ir.Var("begin"), copies))
            stores = []
            for slot in range(copies):
                chip, index = self._chip(field, ir.Int(slot), here)
                stores.append(ir.Store(chip, index, value, site.dtype))
            body.append(ir.Scope((ir.Let(value, ir.Load(base, global_index(here), site.dtype)), *stores)))
        return self._over(spans, tuple(body))

    def _rows(self, left: ir.Expr) -> tuple[ir.Stmt, ...]:
        site, here = self.site, places(self.site)
        result: list[ir.Stmt] = []
        for stage, numbers in enumerate(site.stages):
            spans: list[Span] = []
            for axis in range(site.rank):
                below, above = self.shape.below[axis], self.shape.above[axis]
                low = ir.sub(ir.sub(ir.Var(f"low{axis}"), ir.mul(left, below.period)), below.offsets[stage])
                spans.append(
                    (low, ir.add(ir.add(ir.Var(f"high{axis}"), ir.mul(left, above.period)), above.offsets[stage]))
                )
            cells: list[ir.Stmt] = []
            for number in numbers:
                statement = site.problem.program.statements[number]
                body, value = site.lower(statement, self._reader(here))
                chip, index = self._chip(statement.field, ir.add(STEP, 1), here)
                store = ir.Store(chip, index, value, site.dtype)
                cells.append(ir.If(in_bounds(site, statement, here), (ir.Scope((*body, store)),)))
            result += [*self._over(spans, tuple(cells)), ir.Barrier(memory=False)]
        return tuple(result)

    def _reader(self, here: tuple[ir.Expr, ...]) -> Callable[[Read], ir.Expr]:
        site = self.site

        def read(node: Read) -> ir.Expr:
            version = ir.add(STEP, node.level % site.copies(node.field))

            def load(inner: tuple[ir.Expr, ...]) -> ir.Expr:
                return ir.Load(*self._chip(node.field, version, inner), site.dtype)

            return site.guarded(node, here, load)

        return read

    def _store(self) -> tuple[ir.Stmt, ...]:
        site, here = self.site, places(self.site)
        spans: list[Span] = [(ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in range(site.rank)]
        body: list[ir.Stmt] = []
        last = ir.add(ir.Var("begin"), ir.Var("levels"))
        for field in site.problem.program.updated:
            base = site.version(field, ir.mod(last, site.copies(field)))
            value = ir.Load(*self._chip(field, last, here), site.dtype)
            body.append(ir.Store(base, global_index(here), value, site.dtype))
        return self._over(spans, tuple(body))
