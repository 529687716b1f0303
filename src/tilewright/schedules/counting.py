"""What a schedule tree runs and moves: counted by running its order, or one block and the bounds of the loops above it.

A block is what must be on chip at once; it is counted far from every edge of the grid.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import MAX_RANK, Program, Statement
from tilewright.schedules.tree import nodes
from tilewright.schedules.tree.affine import STEPS, AffineOperator, Combined, Expr, extent_of, names_in, value
from tilewright.schedules.tree.nodes import Node
from tilewright.schedules.tree.order import Box, Piece, clip, order, volume

_FAR = 2**40  # cells, or steps, of a grid that is so large that the tile in its middle is far from every edge
_FEW_TILES = 64  # tiles of an axis up to which the largest is looked for
_LOOKAHEAD = 4  # a value is read at most this many time steps after its own
_EXTENTS = frozenset(extent_of(axis).name for axis in range(MAX_RANK))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCounts:
    """A full block: attributes as of :class:`Counts`."""

    points: int = 0
    live_in: int = 0
    live_out: int = 0
    footprint: int = 0


def endless(tree: Node) -> bool:
    """Whether tiles have the more sub-tiles the larger the grid is, so that a block is a sub-tile."""
    return any(
        isinstance(each, nodes.Loop) and each.subtile and names_in(each.high) & _EXTENTS for each in nodes.walk(tree)
    )


def block_of(problem: Problem, tree: Node) -> BlockCounts:
    """Count the words of a full block of a problem's tree; of a tree without tiles, those of its costliest sweep."""
    if not any(isinstance(each, nodes.Parallel | nodes.Wavefronts) for each in nodes.walk(tree)):
        return _sweep(problem)
    block = _Walk(problem=problem, parts=not endless(tree), cut=_cut_in_time(tree))
    tiles = [block.work(tile, names) for tile, names in block.tiles(tree, block.sizes())]
    largest = max(tiles, key=lambda work: work.points, default=_Work())
    if not largest.points:
        return BlockCounts()
    if largest.own:
        return BlockCounts(
            points=largest.points, live_in=largest.loaded, live_out=largest.stored, footprint=largest.own
        )
    return _shared_memory(block, tree, largest)


def _cut_in_time(tree: Node) -> bool:
    """Whether the first or the last step may cut tiles."""
    ends = (each.high for each in nodes.walk(tree) if isinstance(each, nodes.Loop))
    return any(isinstance(end, Combined) and end.operator is AffineOperator.MIN for end in ends)


def _sweep(problem: Problem) -> BlockCounts:
    """A sweep reads every field and version that its stage reads, whole."""
    analysis, cells = problem.program.analysis, problem.cells
    stages = [[problem.program.statements[i] for i in stage] for stage in analysis.stages]
    return BlockCounts(
        points=cells,
        live_in=max(len({(read.field, read.level) for s in stage for read in s.reads}) for stage in stages) * cells,
        live_out=max(map(len, stages)) * cells,
        footprint=sum(analysis.copies) * cells,
    )


def _shared_memory(block: "_Walk", tree: Node, found: "_Work") -> BlockCounts:
    """A block that reads what others have written to the same grid.

    What tiles without end compute belongs to another tile only through its place along the axes that no sub-tile cuts,
    and what a sub-tile reads that earlier ones of its tile have read is there: so the counts along these axes times the
    sizes of the others are those of a sub-tile.
    """
    boxes = [found.rows[time] for time in sorted(found.rows)]
    axes = list(range(len(boxes[0])))
    if not block.parts:
        ((tile, names),) = block.tiles(tree, block.sizes())
        beside = replace(block, further=1).work(tile, names)
        other = beside.rows[min(beside.rows)]
        axes = [axis for axis, (own, next_) in enumerate(zip(boxes[0], other, strict=True)) if own == next_]
    across = math.prod(high - low for axis, (low, high) in enumerate(boxes[0]) if axis not in axes)
    rows = [tuple(box[axis] for axis in axes) for box in boxes]
    live_in, live_out = _words(block.problem.program, tuple(rows), tuple(axes))
    return BlockCounts(
        points=found.points,
        live_in=live_in * across,
        live_out=live_out * across,
        footprint=_footprint(block.problem.program, boxes),
    )


@dataclass(slots=True)
class _Work:
    """What a block does."""

    points: int = 0  # cells that it computes
    rows: dict[int, Box] = dataclasses.field(default_factory=dict)  # per logical step, the box of its cells
    loaded: int = 0  # values that it copies in
    stored: int = 0  # values that it copies out
    own: int = 0  # values that memory of its own holds; 0 where it has none


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """A walk to a block in the middle of a large grid, and through it."""

    problem: Problem
    parts: bool  # whether the sub-tiles of a tile are parts of one block
    cut: bool  # whether tiles are cut by the first or the last step, so that a full one needs a long run
    further: int = 0  # which sub-tile is a block, counted from the one in the middle

    def sizes(self) -> dict[str, int]:
        """What the problem's sizes stand for."""
        extents = {extent_of(axis).name: cells + _FAR for axis, cells in enumerate(self.problem.shape)}
        return {"steps": self.problem.steps + _FAR * self.cut, **extents}

    def tiles(self, node: Node, names: Mapping[str, int]) -> Iterator[tuple[Node, Mapping[str, int]]]:
        """Yield tiles that nothing cuts: in the middle; where the run does not cut tiles, in the last, longest band."""
        match node:
            case nodes.Mark(_, child):
                yield from self.tiles(child, names)
            case nodes.Let(name, of, child):
                yield from self.tiles(child, {**names, name: value(of, names)})
            case nodes.Sequence(several):
                for each in {
                    id(each.child) if isinstance(each, nodes.Let) else id(each): each for each in several
                }.values():
                    yield from self.tiles(each, names)
            case nodes.Loop():
                low, high = value(node.low, names), value(node.high, names)
                if low < high:
                    last = low + (high - 1 - low) // node.step * node.step
                    yield from self.tiles(node.child, {**names, node.name: (low + high) // 2 if self.cut else last})
            case nodes.Parallel(ranges, child):
                yield child, self._largest(child, ranges, names)
            case nodes.Wavefronts(ranges=ranges, child=child, bands=bands):
                yield child, self._largest(child, ranges if bands is None else (bands[0], *ranges), names)
            case _:
                raise _not_above(node)

    def _largest(self, tile: Node, ranges: tuple[nodes.Range, ...], names: Mapping[str, int]) -> Mapping[str, int]:
        """The tile in the middle; along axes with few tiles, whose ends are those of a problem, the largest."""
        spans = {each.name: range(low := value(each.low, names), low + value(each.count, names)) for each in ranges}
        tile_names = {**names, **{name: span[len(span) // 2] for name, span in spans.items()}}
        for name, span in spans.items():
            if len(span) <= _FEW_TILES:
                sizes = {at: self.work(tile, {**tile_names, name: at}).points for at in span}
                tile_names[name] = max(sizes, key=lambda at: sizes[at])
        return tile_names

    def work(self, tile: Node, names: Mapping[str, int]) -> _Work:
        totals = _Work()
        self._inside(tile, names, totals)
        return totals

    def _inside(self, node: Node, names: Mapping[str, int], work: _Work) -> None:
        match node:
            case nodes.Mark(_, child) | nodes.Pipeline(child=child) | nodes.Unit(cells=child):
                self._inside(child, names, work)
            case nodes.Let(name, of, child):
                self._inside(child, {**names, name: value(of, names)}, work)
            case nodes.Sequence(several):
                for child in several:
                    self._inside(child, names, work)
            case nodes.Loop():
                for number in self._numbers(node, names):
                    self._inside(node.child, {**names, node.name: number}, work)
            case nodes.Guard():
                if value(node.low, names) <= value(node.value, names) < value(node.high, names):
                    self._inside(node.child, names, work)
            case nodes.Private(buffers=buffers, child=child):
                work.own = sum(buffer.depth * math.prod(buffer.lengths) for buffer in buffers)
                self._inside(child, names, work)
            case nodes.Compute():
                self._cells(node, names, work)
            case nodes.CopyIn() | nodes.CopyOut():
                values = volume(_box(node.box, names))
                work.loaded += values * isinstance(node, nodes.CopyIn)
                work.stored += values * isinstance(node, nodes.CopyOut)
            case _:
                raise ValueError(f"a block has no {type(node).__name__}")

    def _numbers(self, loop: nodes.Loop, names: Mapping[str, int]) -> range:
        low, high = value(loop.low, names), value(loop.high, names)
        if loop.subtile and not self.parts:
            low = (low + high) // 2 + self.further
            high = low + 1
        if high - low > _FAR // 2:
            raise _unbounded(f"a loop over {loop.name!r}")
        return range(low, high, loop.step)

    def _cells(self, cells: nodes.Compute, names: Mapping[str, int], work: _Work) -> None:
        box = _box(cells.box, names)
        if any(high - low > _FAR // 2 for low, high in box):
            raise _unbounded("what it computes at a time")
        stages = len(self.problem.program.stages)
        time = value(cells.step, names) * stages + value(cells.stage, names)
        work.points += volume(box)
        work.rows[time] = _hull([box, work.rows.get(time, box)])


def _unbounded(what: str) -> UsageError:
    """A tile is counted on a grid without end, so that one that spans an axis would never end."""
    return UsageError(
        f"the work of a tile is counted where nothing cuts it, but {what} spans a whole axis of the grid",
        "cut that axis in tiles or sub-tiles",
    )


def _not_above(node: Node) -> UsageError:
    return UsageError(
        f"above the tiles of a schedule tree are loops, sequences and names alone, got a {type(node).__name__}",
        "put it inside the tiles",
    )


def _box(box: tuple[tuple[Expr, Expr], ...], names: Mapping[str, int]) -> Box:
    return tuple((value(low, names), value(high, names)) for low, high in box)


def _hull(boxes: list[Box]) -> Box:
    return tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in zip(*boxes, strict=True))


@functools.lru_cache(maxsize=1024)
def _words(program: Program, rows: tuple[Box, ...], axes: tuple[int, ...]) -> tuple[int, int]:
    """Count live-in and live-out of a tile, given its cells per logical step (from stage 0 on) along ``axes``."""
    analysis = program.analysis
    stages = analysis.stages
    stage_of = {program.statements[i].field: number for number, stage in enumerate(stages) for i in stage}
    needed: dict[tuple[str, int], dict[Box, None]] = {}
    common: dict[tuple[str, int], Box | None] = {}
    for row in range(len(rows) + _LOOKAHEAD * len(stages)):
        box = rows[row] if row < len(rows) else None
        for i in stages[row % len(stages)]:
            _note_reads(program.statements[i], (row, box, axes), (stage_of, len(stages)), (needed, common))
    live_in = live_out = 0
    for (field, source), boxes in needed.items():
        own = rows[source] if field in stage_of and 0 <= source < len(rows) else None
        live_in += _cells_outside(*_moved(tuple(sorted(boxes)), own))
        if own is not None:
            inner = common[field, source]
            live_out += volume(own) - (0 if inner is None else volume(_meet(own, inner)))
    return live_in, live_out


def _note_reads(
    statement: Statement,
    where: tuple[int, Box | None, tuple[int, ...]],
    order: tuple[dict[str, int], int],
    found: tuple[dict[tuple[str, int], dict[Box, None]], dict[tuple[str, int], Box | None]],
) -> None:
    """Note what one statement of one row reads; ``box`` is None for a row behind the tile's last one."""
    (row, box, axes), (stage_of, stages), (needed, kept) = where, order, found
    # reads that differ along other axes alone are one
    reads = dict.fromkeys(
        (each.field, each.level, tuple(each.offset[axis] for axis in axes)) for each in statement.reads
    )
    for field, level, offsets in reads:
        source = -1
        if field in stage_of:
            source = (row // stages + level - 1) * stages + stage_of[field]
        key = (field, source)
        boxes = needed.setdefault(key, {})
        if box is None:
            kept[key] = None
            continue
        moved = _shifted(box, offsets)
        if volume(moved):
            boxes[moved] = None
        before = kept.get(key, moved)
        kept[key] = None if before is None else _meet(before, moved)


def _shifted(box: Box, by: tuple[int, ...]) -> Box:
    return tuple((low + o, high + o) for (low, high), o in zip(box, by, strict=True))


def _meet(a: Box, b: Box) -> Box:
    return tuple((max(p, r), min(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))


def _moved(boxes: tuple[Box, ...], own: Box | None) -> tuple[tuple[Box, ...], Box | None]:
    """Move boxes so that equal pictures at different places are counted once."""
    if not boxes:
        return boxes, own
    back = tuple(-low for low, _ in boxes[0])
    return tuple(_shifted(box, back) for box in boxes), None if own is None else _shifted(own, back)


@functools.lru_cache(maxsize=4096)
def _cells_outside(boxes: tuple[Box, ...], own: Box | None) -> int:
    """Cells of the union of boxes, less those of ``own``: counted on the grid of all their ends."""
    if not boxes:
        return 0
    every = boxes if own is None else (*boxes, own)
    ends = [sorted({end for box in every for end in box[axis]}) for axis in range(len(boxes[0]))]
    inside = np.zeros([len(axis) - 1 for axis in ends], dtype=bool)

    def place(box: Box) -> tuple[slice, ...]:
        return tuple(
            slice(axis.index(low), axis.index(high)) if low < high else slice(0, 0)
            for axis, (low, high) in zip(ends, box, strict=True)
        )

    for box in boxes:
        inside[place(box)] = True
    if own is not None:
        inside[place(own)] = False
    total = inside.astype(object)
    for axis in reversed(ends):
        total = total @ np.array([b - a for a, b in itertools.pairwise(axis)], dtype=object)
    return int(total)


def _footprint(program: Program, rows: list[Box]) -> int:
    """Count the values of the boxes, one per field and kept version, that hold all that a tile reads and writes."""
    # ``rows`` has the cells per logical step, from one of stage 0 on.
    analysis = program.analysis
    hulls: dict[str, Box] = {}
    for number, stage in enumerate(analysis.stages):
        own = [row for row in rows[number :: len(analysis.stages)] if volume(row)]
        if not own:
            continue
        box = _hull(own)
        for i in stage:
            statement = program.statements[i]
            touched = [(statement.field, (0,) * program.rank), *((r.field, r.offset) for r in statement.reads)]
            for field, offset in touched:
                moved = _shifted(box, offset)
                hulls[field] = _hull([hulls.get(field, moved), moved])
    copies = dict(zip(program.fields, analysis.copies, strict=True))
    return sum(copies[field] * volume(hull) for field, hull in hulls.items())


_FEW_ITERATIONS = 8  # iterations above tiles that are looked at one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a tiling runs and moves.

    A *tile* runs at once with the others of its wavefront (a thread block's or a thread's work); its *sub-tiles* run
    in sequence. What must be on chip at once is a *block*: a sub-tile where a tile has the more of them the larger the
    grid is (hexagonal, hybrid, diamond), a whole tile elsewhere. A block is *full* if no row of it is cut by the grid
    or by the first or last step and no read of it leaves the grid. ``points`` to ``footprint`` describe one full block
    far from every edge; words are values of the problem's dtype.
    """

    wavefronts: int  # wavefronts with any cell
    tiles_per_wavefront: int  # tiles in the widest wavefront
    tiles: int  # tiles in all wavefronts
    subtiles_per_tile: int  # sub-tiles in the longest tile
    subtiles: int  # sub-tiles with any cell, in all tiles
    full: int  # full blocks
    total_points: int  # cells times logical steps of the whole problem
    points: int = 0  # cells that a block computes, summed over its logical steps
    # words that a block reads, that its own tile does not compute and that no earlier sub-tile of its tile has read:
    # what must be loaded if a tile keeps on chip whatever its later sub-tiles need
    live_in: int = 0
    live_out: int = 0  # words that it computes and that another tile reads
    # words of the boxes, one per field and kept version, that hold all that it reads and writes, or of a block's own
    # memory
    footprint: int = 0
    blocks: int | None = None  # number of blocks where they are not the sub-tiles, else None
    # cells times logical steps that all tiles together compute where they overlap; None where every cell is computed
    # once
    computed: int | None = None

    @property
    def partial(self) -> int:
        """Blocks that are not full."""
        return (self.subtiles if self.blocks is None else self.blocks) - self.full


def counts_of(problem: Problem, tree: Node) -> Counts:
    """Count what the schedule tree of a legal tiling runs and moves; the longer the more tiles there are."""
    every = list(nodes.walk(tree))
    block, split = block_of(problem, tree), endless(tree)
    parts = any(isinstance(each, nodes.Loop) and each.subtile for each in every)
    private = any(isinstance(each, nodes.Private) for each in every)
    tiled = any(isinstance(each, nodes.Parallel | nodes.Wavefronts) for each in every)
    reach = [_reach(problem, stage) for stage in problem.program.stages]
    wave, widths, subtiles, longest, full, computed = None, [0], 0, 0, 0, 0
    for (number, _), pieces in itertools.groupby(
        order(problem, tree, cut=False), lambda piece: (piece.wavefront, piece.tile)
    ):
        tile = list(pieces)
        inside = [box for piece in tile if (box := clip(piece.box, problem.shape))]
        subs = [list(each) for _, each in itertools.groupby(tile, lambda piece: piece.sub)]
        busy = sum(any(clip(piece.box, problem.shape) for piece in sub) for sub in subs)
        for each in subs if split else [tile]:
            whole = not tiled or private or sum(volume(piece.box) for piece in each) == block.points
            full += whole and _uncut(problem, each, reach)
        if not inside:
            continue
        if number != wave:
            wave = number
            widths.append(0)
        widths[-1] += 1
        subtiles, longest, computed = subtiles + busy, max(longest, busy), computed + sum(map(volume, inside))
    return Counts(
        wavefronts=len(widths) - 1,
        tiles_per_wavefront=max(widths),
        tiles=sum(widths),
        subtiles_per_tile=longest,
        subtiles=subtiles,
        full=full,
        total_points=problem.steps * len(reach) * math.prod(problem.shape),
        points=block.points,
        live_in=block.live_in,
        live_out=block.live_out,
        footprint=block.footprint,
        blocks=sum(widths) if parts and not split else None,
        computed=computed if private else None,
    )


def _reach(problem: Problem, stage: tuple[int, ...]) -> list[tuple[int, int]]:
    """Per axis, the least and the greatest offset of the reads of a stage, 0 among them."""
    offsets = [read.offset for number in stage for read in problem.program.statements[number].reads]
    return [(min(axis), max(axis)) for axis in zip((0,) * problem.program.rank, *offsets, strict=True)]


def _uncut(problem: Problem, block: list[Piece], reach: list[list[tuple[int, int]]]) -> bool:
    """Whether a block has cells, none of which the grid cuts, and no read of it leaves the grid."""
    filled = [piece for piece in block if volume(piece.box)]
    return bool(filled) and all(
        low + least >= 0 and high + most <= extent
        for piece in filled
        for (low, high), (least, most), extent in zip(
            piece.box, reach[piece.time % len(reach)], problem.shape, strict=True
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TileWork:
    """What the tiles of a tiling are."""

    block: BlockCounts  # what a block does that nothing cuts: all of a tile, or a sub-tile
    spans: "Spans"  # how many wavefronts, tiles and sub-tiles there are


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Lengths of loops, a few of whose iterations may have no cell."""

    wavefronts: int
    tiles: float  # of all wavefronts, those between the first and the last counted as two in the middle
    subtiles: int  # of a tile in the middle


def work_of(problem: Problem, tree: Node) -> TileWork:
    """Return what the tiles of a problem's schedule tree are: those of one that nothing cuts stand for all."""
    return TileWork(block=block_of(problem, tree), spans=spans_of(problem, tree))


def spans_of(problem: Problem, tree: Node) -> Spans:
    """Return the lengths of the loops of a problem's tree, down one path through the middle of each."""
    names = {STEPS.name: problem.steps}
    names |= {extent_of(axis).name: cells for axis, cells in enumerate(problem.shape)}
    return _above(tree, names)


def _above(node: Node, names: Mapping[str, int]) -> Spans:  # noqa: PLR0911  (kinds of nodes)
    match node:
        case nodes.Mark(_, child):
            return _above(child, names)
        case nodes.Let(name, of, child):
            return _above(child, {**names, name: value(of, names)})
        case nodes.Sequence(children):
            return _after([(1.0, _above(child, names)) for child in children])
        case nodes.Compute():  # a sweep that threads share
            return Spans(wavefronts=1, tiles=1, subtiles=1)
        case nodes.Wavefronts():
            every = node.ranges if node.bands is None else (node.bands[0], *node.ranges)
            spans = _above(nodes.unfolded(node), names)
            return replace(spans, tiles=math.prod(value(each.count, names) for each in every))
        case nodes.Loop():
            numbers = range(value(node.low, names), value(node.high, names), node.step)
            if len(numbers) <= _FEW_ITERATIONS:
                return _after([(1.0, _above(node.child, {**names, node.name: number})) for number in numbers])
            ends, middle = (numbers[0], numbers[-1]), numbers[len(numbers) // 2 :][:2]
            parts = [(1.0, number) for number in ends]
            parts += [((len(numbers) - 2) / 2, number) for number in middle]
            return _after([(times, _above(node.child, {**names, node.name: number})) for times, number in parts])
        case nodes.Parallel():
            counts = [max(0, value(each.count, names)) for each in node.ranges]
            tile = {each.name: value(each.low, names) for each in node.ranges}
            for each, count in zip(node.ranges, counts, strict=True):
                tile[each.name] += count // 2
            subtiles = _subtiles(node.child, {**names, **tile})
            return Spans(wavefronts=int(subtiles > 0), tiles=math.prod(counts) * (subtiles > 0), subtiles=subtiles)
        case _:
            raise _not_above(node)


def _subtiles(node: Node, names: Mapping[str, int]) -> int:
    match node:
        case nodes.Let(name, of, child):
            return _subtiles(child, {**names, name: value(of, names)})
        case nodes.Loop(subtile=True):
            numbers = range(value(node.low, names), value(node.high, names), node.step)
            middle = {**names, node.name: numbers[len(numbers) // 2]} if numbers else names
            return len(numbers) * _subtiles(node.child, middle) if numbers else 0
        case nodes.Loop():
            return int(value(node.low, names) < value(node.high, names))
        case _:
            return 1


def _after(parts: list[tuple[float, Spans]]) -> Spans:
    return Spans(
        wavefronts=round(sum(times * each.wavefronts for times, each in parts)),
        tiles=sum(times * each.tiles for times, each in parts),
        subtiles=max((each.subtiles for _, each in parts), default=0),
    )
