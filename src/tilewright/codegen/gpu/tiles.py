"""Schedule trees -> kernels of a GPU, one per kind of wavefront.

    above a Parallel        the host's loops: one launch per wavefront, with what the tile's names stand for as numbers
    Parallel                a group of threads per tile
    Loop, Let, Guard        the same in every thread
    Private                 values of the group on chip, counted from the first cell that a tile may hold
    CopyIn, CopyOut         cells of the box, shared by the threads of the group; copies of equal boxes in one go
    Compute                 cells of the box, shared by the threads of the group, and a barrier

Without ``Private`` nothing is kept on chip by the text: what a group writes it reads again later, from its caches.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen import ir
from tilewright.codegen.gpu.points import OWN, pointed
from tilewright.codegen.gpu.site import GpuSite, Launch, global_index, on_chip, unpacked
from tilewright.codegen.gpu.sweep import guarded_cell, in_bounds, places
from tilewright.codegen.lower.cpu import Names, bound
from tilewright.codegen.lower.index import index
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import MAX_RANK, Statement
from tilewright.schedules.catalogue import tree
from tilewright.schedules.families.overlapped import kept_otherwise
from tilewright.schedules.schedule import GpuSchedule
from tilewright.schedules.tree.affine import Whole, extent_of, names_in, value
from tilewright.schedules.tree.nodes import (
    Box,
    Compute,
    CopyIn,
    CopyOut,
    Guard,
    Let,
    Loop,
    Mark,
    Node,
    Parallel,
    Private,
    Sequence,
    Wavefronts,
    children,
    free_names,
    nodes,
    unfolded,
)


def tile_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make the kernel of a tree with one kind of wavefront."""
    notes, tiles = wavefront(_tree(site.problem, schedule))
    numbers, own = told(tiles), _own(tiles)
    if own is not None:
        _check(site.problem)
    values = 0 if own is None else sum(buffer.depth * math.prod(buffer.lengths) for buffer in own.buffers)
    shared, room = on_chip(values * site.problem.itemsize)
    kernel = EntryPoint(
        entry=f"{site.prefix}_0",
        threads=math.prod(schedule.threads),
        numbers=numbers,
        shared_bytes=shared,
        room_bytes=room,
    )
    threads = tuple(ir.Var(f"i{axis}") for axis in range(site.rank))
    moved = [each for each in tiles.ranges if each.low != Whole(0)]
    digits = tuple(ir.Var(f"place_{each.name}" if each in moved else each.name) for each in tiles.ranges)
    counts = tuple(index(each.count, {}) for each in tiles.ranges)
    lets = [ir.Let(ir.Var(each.name), ir.add(index(each.low, {}), ir.Var(f"place_{each.name}"))) for each in moved]
    body = (
        *((ir.Array(site.shared, values),) if shared else ()),
        *map(ir.Comment, notes),
        *unpacked(ir.THREAD, threads, tuple(map(ir.Int, schedule.threads))),
        *unpacked(ir.GROUP, digits, counts),
        *lets,
        *_Lowering(site=site, threads=schedule.threads, own=own, stored=_stored(tiles)).node(tiles.child, {}),
    )
    function = ir.Function(
        name=kernel.entry,
        params=site.params(numbers, room=bool(room)),
        body=body,
        kind="kernel",
        threads=kernel.threads,
    )
    return ((function, kernel),)


def _check(problem: Problem) -> None:
    """Refuse programs of which a tile on chip would need more versions than the one that a band starts from."""
    field = kept_otherwise(problem)
    if field is not None:
        copies = dict(zip(problem.program.fields, problem.program.analysis.copies, strict=True))
        raise IllegalTilingError(
            f"overlapped tiles on GPUs need two versions of every updated field and no older one; "
            f"{problem.program.name!r} keeps {copies[field]} of {field}",
            "use hexagonal or hybrid",
        )


def _tree(problem: Problem, schedule: GpuSchedule) -> Node:
    """The tree of a tiling for a GPU's groups of threads."""
    return tree(problem, replace(schedule.tiling, threads=schedule.threads))


def _own(tiles: Node) -> Private | None:
    """The memory that every tile has of its own, if any."""
    return next((node for node in nodes(tiles) if isinstance(node, Private)), None)


def _stored(tiles: Node) -> Box:
    """The cells that a tile copies out of its own memory, the same of every field; none where it has no such memory."""
    return next((node.box for node in nodes(tiles) if isinstance(node, CopyOut)), ())


def tile_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield one launch per wavefront with any tile, for some steps that start at version 0."""
    yield from wavefront_launches(_tree(problem, schedule), problem, {"steps": steps})


def wavefront_launches(node: Node, problem: Problem, sizes: Mapping[str, int]) -> Iterator[Launch]:
    """Yield one launch per wavefront of a tree with any tile; ``sizes``: its free names but the extents."""
    yield from _launches(node, {**sizes, **{f"n{axis}": cells for axis, cells in enumerate(problem.shape)}})


def _launches(node: Node, names: dict[str, int]) -> Iterator[Launch]:
    match node:
        case Mark():
            yield from _launches(node.child, names)
        case Let(name, of, child):
            yield from _launches(child, {**names, name: value(of, names)})
        case Wavefronts():
            yield from _launches(unfolded(node), names)
        case Loop():
            for number in range(value(node.low, names), value(node.high, names), node.step):
                yield from _launches(node.child, {**names, node.name: number})
        case Parallel(ranges):
            groups = math.prod(value(each.count, names) for each in ranges)
            if groups > 0 and not _idle(node.child, names):
                yield Launch(0, groups, tuple(names[name] for name in told(node)))
        case _:
            raise ValueError(f"no launch is made of a {type(node).__name__} above tiles")


def _idle(node: Node, names: Mapping[str, int]) -> bool:
    """Whether a loop that all tiles have alike has no iteration."""
    match node:
        case Loop():
            known = names_in(node.low) | names_in(node.high) <= names.keys()
            return (known and value(node.low, names) >= value(node.high, names)) or _idle(node.child, names)
        case Let() | Guard() | Private():
            return _idle(node.child, names)
        case _:
            return False


def wavefront(node: Node) -> tuple[list[str], Parallel]:
    """The notes above the tiles of a tree, and the tiles."""
    notes: list[str] = []
    while not isinstance(node, Parallel):
        (below,) = children(node)
        notes += [node.text] if isinstance(node, Mark) else []
        node = below
    return notes, node


def told(tiles: Parallel) -> tuple[str, ...]:
    """What a group is told, in alphabetical order: all but the grid's extents, and how often the first range counts."""
    first, *others = tiles.ranges
    used = free_names(tiles.child) - {each.name for each in tiles.ranges}
    own = _own(tiles)
    if own is not None:  # versions on the grid are found by their numbers
        used -= names_in(own.side) | names_in(own.bands)
    used = used.union(names_in(first.low), *(names_in(end) for each in others for end in (each.low, each.count)))
    return tuple(sorted(used - {extent_of(axis).name for axis in range(MAX_RANK)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lowering:
    """What a thread does inside a tile."""

    site: GpuSite
    threads: tuple[int, ...]  # threads of a group per axis
    own: Private | None  # the memory that a tile has of its own, if any
    stored: Box  # the cells that a tile writes from there, which are no other tile's

    def node(self, node: Node, names: Names) -> tuple[ir.Stmt, ...]:  # noqa: PLR0911
        match node:
            case Let():
                lets, names = bound(node, names)
                return (*lets, *self.node(node.child, names))
            case Loop():
                if node.high == node.low + 1:
                    return self.node(Let(node.name, node.low, node.child), names)
                low, high = index(node.low, names), index(node.high, names)
                body = self.node(node.child, {**names, node.name: ir.Var(node.name)})
                step = ir.Int(node.step)
                return (ir.For(var=ir.Var(node.name), low=low, high=high, step=step, body=body, unroll=1),)
            case Guard():
                at = index(node.value, names)
                holds = ir.and_(ir.ge(at, index(node.low, names)), ir.lt(at, index(node.high, names)))
                return (ir.If(holds, self.node(node.child, names)),)
            case Sequence(several):
                return tuple(stmt for _, part in groupby(several, _alike) for stmt in self._run(list(part), names))
            case Private():
                origin = zip(_origin(self.site), node.origin, strict=True)
                return (*(ir.Let(at, index(low, names)) for at, low in origin), *self.node(node.child, names))
            case Compute():
                return (*self._cells(node, names), ir.Barrier(memory=self.own is None))
            case _:
                raise ValueError(f"no thread code is made of a {type(node).__name__} in memory")

    def _cells(self, cells: Compute, names: Names) -> tuple[ir.Stmt, ...]:
        """The cells of a box, cut to the grid, each by one thread."""
        here, step, stage = places(self.site), index(cells.step, names), index(cells.stage, names)
        work: list[ir.Stmt] = []
        for number, statements in enumerate(self.site.stages):
            every = (self.site.problem.program.statements[statement] for statement in statements)
            if self.own is None:
                body = tuple(guarded_cell(self.site, each, here, step) for each in every)
            else:
                body = tuple(self._cell_on_chip(each, here, step, self._owned(here, names)) for each in every)
            nest = self._over(cells.box, body, names)
            if isinstance(cells.stage, Whole):
                work += nest if cells.stage.value == number else ()
            else:
                work.append(ir.If(ir.eq(stage, number), nest))
        return tuple(work)

    def _over(self, box: Box, body: tuple[ir.Stmt, ...], names: Names) -> tuple[ir.Stmt, ...]:
        """The cells of a box that the grid has, shared by the threads of the group."""
        for axis in range(self.site.rank - 1, -1, -1):
            low, high = (index(end, names) for end in box[axis])
            first = ir.add(ir.largest(low, ir.Int(0)), ir.Var(f"i{axis}"))
            last, step = ir.smallest(high, extent(axis)), ir.Int(self.threads[axis])
            body = (ir.For(var=places(self.site)[axis], low=first, high=last, step=step, body=body),)
        return body

    # Values on chip.

    def _run(self, several: list[Node], names: Names) -> tuple[ir.Stmt, ...]:
        """Nodes one after the other; if they are copies, of one box."""
        first = several[0]
        if isinstance(first, CopyIn):
            body = tuple(self._load(each, names) for each in several if isinstance(each, CopyIn))
            return (*self._over(first.box, body, names), ir.Barrier(memory=False))
        if isinstance(first, CopyOut):
            body = tuple(self._store(each, names) for each in several if isinstance(each, CopyOut))
            return self._over(first.box, body, names)
        return tuple(stmt for each in several for stmt in self.node(each, names))

    def _load(self, copy: CopyIn, names: Names) -> ir.Stmt:
        """A cell of a version; those that are not updated are needed in all versions to come."""
        site, here = self.site, places(self.site)
        field = site.problem.program.fields[copy.field]
        value = ir.Var("value", site.dtype)
        version = site.version(field, ir.mod(index(copy.newest, names), site.copies(field)))
        slots = (self._on_chip(field, ir.Int(slot), here) for slot in range(site.copies(field)))
        stores = (ir.Store(*at, value, site.dtype) for at in slots)
        return ir.Scope((ir.Let(value, ir.Load(version, global_index(here), site.dtype)), *stores))

    def _store(self, copy: CopyOut, names: Names) -> ir.Stmt:
        site, here, newest = self.site, places(self.site), index(copy.newest, names)
        field = site.problem.program.fields[copy.field]
        value = ir.Load(*self._on_chip(field, newest, here), site.dtype)
        version = site.version(field, ir.mod(newest, site.copies(field)))
        return ir.Store(version, global_index(here), value, site.dtype)

    def _owned(self, here: tuple[ir.Expr, ...], names: Names) -> ir.Expr:
        """Whether a cell is the tile's own."""
        result: ir.Expr = OWN
        for place, (low, high) in zip(here, self.stored, strict=True):
            result = ir.and_(result, ir.and_(ir.ge(place, index(low, names)), ir.lt(place, index(high, names))))
        return result

    def _cell_on_chip(self, statement: Statement, here: tuple[ir.Expr, ...], step: ir.Expr, own: ir.Expr) -> ir.Stmt:
        """One cell of a statement where it is updated, reads outside the grid included."""
        site = self.site

        def read(node: Read) -> ir.Expr:
            version = ir.add(step, node.level % site.copies(node.field))
            return site.guarded(
                node, here, lambda inner: ir.Load(*self._on_chip(node.field, version, inner), site.dtype)
            )

        body, value = site.lower(statement, read, at=here, step=step)
        value = pointed(site, statement.field, value, here, step, own)
        store = ir.Store(*self._on_chip(statement.field, ir.add(step, 1), here), value, site.dtype)
        return ir.If(in_bounds(site, statement, here), (ir.Scope((*body, store)),))

    def _on_chip(self, field: str, version: ir.Expr, cells: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ir.Expr]:
        """Pointer and index on chip of a cell of a version."""
        if self.own is None:
            raise ValueError("a tile copies to memory of its own and has none")
        start = 0
        for buffer in self.own.buffers:
            plane = math.prod(buffer.lengths)
            if buffer.field == self.site.number(field):
                break
            start += buffer.depth * plane
        at: ir.Expr = ir.Int(0)
        for axis, (cell, origin, length) in enumerate(zip(cells, _origin(self.site), buffer.lengths, strict=True)):
            place = ir.sub(cell, origin)
            at = place if axis == 0 else ir.add(ir.mul(at, length), place)
        if buffer.depth > 1:
            at = ir.add(at, ir.mul(ir.mod(version, buffer.depth), plane))
        return ir.add(self.site.shared, start), at


def _origin(site: GpuSite) -> tuple[ir.Var, ...]:
    return tuple(ir.Var(f"origin{axis}") for axis in range(site.rank))


def _alike(node: Node) -> tuple[str, Box]:
    """What consecutive nodes have in common that are made one nest of loops: copies of equal boxes in one direction."""
    return (type(node).__name__, node.box) if isinstance(node, CopyIn | CopyOut) else ("", ())
