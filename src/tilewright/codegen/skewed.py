"""Time skewing in code: wavefronts over bands and tiles, shared by threads; sub-tiles in sequence inside a tile."""

from collections.abc import Callable

from tilewright.codegen import ir
from tilewright.codegen.sites import Site, extent
from tilewright.tilings.catalogue import complete
from tilewright.tilings.skewed import Leaning, geometry
from tilewright.tilings.tiling import Tiling

LogicalStep = Callable[[Site, ir.Expr, list[tuple[ir.Expr, ir.Expr]]], tuple[ir.Stmt, ...]]
"""What writes the statements of a logical step over a box."""

_TOTAL, _BANDS, _LAG, _WAVE, _BAND = ir.Var("total"), ir.Var("bands"), ir.Var("lag"), ir.Var("wave"), ir.Var("band")
_FIRST, _START = ir.Var("first_band"), ir.Var("start")


def leaning_tiles(site: Site, tiling: Tiling, logical_step: LogicalStep) -> tuple[ir.Stmt, ...]:
    """Write the loops of a skewed tiling.

    Tiles of a wavefront have equal ``lag * band + sum of the tile's numbers``. The bands that have tiles on it and the
    numbers of all axes but the first are counted off, and the number on axis 0 follows; where it is out of range there
    is no tile.
    """
    shape = geometry(site.problem, complete(site.problem, tiling))
    place, rest = ir.Var("place"), ir.Var("rest")
    others: ir.Expr = ir.Int(1)
    for axis in range(1, site.rank):
        others = ir.mul(others, _count(axis)) if others != ir.Int(1) else _count(axis)
    last_sum = ir.total([ir.sub(_count(axis), 1) for axis in range(site.rank)])
    left: ir.Expr = ir.sub(_WAVE, ir.mul(_BAND, _LAG))
    if site.rank == 1:
        body: list[ir.Stmt] = [ir.Let(_BAND, ir.add(_FIRST, place))]
    else:
        body = [ir.Let(_BAND, ir.add(_FIRST, ir.div(place, others))), ir.Let(rest, ir.mod(place, others))]
    if site.rank == 2:
        body.append(ir.Let(_number(1), rest))
    elif site.rank == 3:
        body.append(ir.Let(_number(1), ir.div(rest, _count(2))))
        body.append(ir.Let(_number(2), ir.mod(rest, _count(2))))
    for axis in range(1, site.rank):
        left = ir.sub(left, _number(axis))
    body.append(ir.Let(_number(0), left))
    exists = ir.and_(ir.ge(_number(0), 0), ir.lt(_number(0), _count(0)))
    body.append(ir.If(exists, (ir.Let(_START, ir.mul(_BAND, shape.height)), *_tile(site, shape, logical_step))))
    stop = ir.smallest(_BANDS, ir.add(ir.div(_WAVE, _LAG), 1))
    past = ir.largest(ir.sub(stop, _FIRST), 0)
    front = (
        ir.Let(_FIRST, ir.largest(ir.Int(0), ir.ceildiv(ir.sub(_WAVE, last_sum), _LAG))),
        ir.For(var=place, low=ir.Int(0), high=ir.mul(past, others), body=tuple(body), share="dynamic"),
    )
    waves = ir.For(var=_WAVE, low=ir.Int(0), high=ir.Var("waves"), body=front)
    every = ir.add(ir.mul(ir.sub(_BANDS, 1), _LAG), ir.add(last_sum, 1))
    return (
        ir.Comment(f"parallelograms of {shape.height} rows, {'x'.join(str(skew.size) for skew in shape.skews)} cells"),
        ir.Let(_TOTAL, ir.mul(ir.Var("steps"), shape.stages)),
        ir.Let(_BANDS, ir.ceildiv(_TOTAL, shape.height)),
        *_counts(shape),
        ir.Let(ir.Var("waves"), ir.select(ir.gt(_BANDS, 0), every, ir.Int(0))),
        ir.Parallel(ir.Var("threads"), (waves,)),
    )


def _count(axis: int) -> ir.Var:
    return ir.Var(f"tiles{axis}")


def _number(axis: int) -> ir.Var:
    return ir.Var(f"tile{axis}")


def _counts(shape: Leaning) -> list[ir.Stmt]:
    """Tiles per axis, and the wavefronts by which a band starts after the one before."""
    lets: list[ir.Stmt] = []
    lag: ir.Expr = ir.Int(1)
    for axis, skew in enumerate(shape.skews):
        cells = ir.add(extent(axis), skew.slope * (shape.height - 1))
        lets.append(ir.Let(_count(axis), ir.ceildiv(cells, skew.size)))
        delay = -(-skew.slope * shape.height // skew.size)
        if delay:
            lag = ir.add(ir.smallest(ir.Int(delay), ir.sub(_count(axis), 1)), lag)
    return [*lets, ir.Let(_LAG, lag)]


def _tile(site: Site, shape: Leaning, logical_step: LogicalStep) -> tuple[ir.Stmt, ...]:
    """The sub-tiles of one tile in sequence, each over all rows of the band."""
    tau, row = ir.Var("tau"), ir.Var("row")
    ranges: list[tuple[ir.Expr, ir.Expr]] = []
    lets: list[ir.Stmt] = [ir.Let(row, ir.sub(tau, _START))]
    for axis, skew in enumerate(shape.sub_skews()):
        edge = ir.Var(f"from{axis}")
        at = ir.Var(f"sub{axis}") if shape.parts[axis] > 1 else _number(axis)
        lets.append(ir.Let(edge, ir.sub(ir.mul(at, skew.size), ir.mul(row, skew.slope))))
        ranges.append((edge, ir.add(edge, skew.size)))
    nest: tuple[ir.Stmt, ...] = (
        ir.For(
            var=tau,
            low=_START,
            high=ir.smallest(ir.add(_START, shape.height), _TOTAL),
            body=(*lets, *logical_step(site, tau, ranges)),
        ),
    )
    for axis in range(site.rank - 1, -1, -1):
        parts = shape.parts[axis]
        if parts > 1:
            low = ir.mul(_number(axis), parts)
            nest = (ir.For(var=ir.Var(f"sub{axis}"), low=low, high=ir.add(low, parts), body=nest),)
    return nest
