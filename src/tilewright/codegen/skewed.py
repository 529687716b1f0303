"""Time skewing in code: wavefronts over bands and tiles, shared by threads; sub-tiles in sequence inside a tile."""

from collections.abc import Callable

from tilewright.codegen.ir import (
    Comment,
    Expr,
    For,
    If,
    Int,
    Let,
    Op,
    Parallel,
    Stmt,
    Var,
    add,
    largest,
    mul,
    smallest,
    sub,
    total,
)
from tilewright.codegen.sites import Site, extent
from tilewright.tilings.catalogue import complete
from tilewright.tilings.skewed import Leaning, geometry
from tilewright.tilings.tiling import Tiling

LogicalStep = Callable[[Site, Expr, list[tuple[Expr, Expr]]], tuple[Stmt, ...]]
"""What writes the statements of a logical step over a box."""

_TOTAL, _BANDS, _LAG, _WAVE, _BAND = Var("total"), Var("bands"), Var("lag"), Var("wave"), Var("band")
_FIRST, _START = Var("first_band"), Var("start")


def leaning_tiles(site: Site, tiling: Tiling, logical_step: LogicalStep) -> tuple[Stmt, ...]:
    """Write the loops of a skewed tiling.

    Tiles of a wavefront have equal ``lag * band + sum of the tile's numbers``. The bands that have tiles on it and the
    numbers of all axes but the first are counted off, and the number on axis 0 follows; where it is out of range there
    is no tile.
    """
    shape = geometry(site.problem, complete(site.problem, tiling))
    place, rest = Var("place"), Var("rest")
    others: Expr = Int(1)
    for axis in range(1, site.rank):
        others = mul(others, _count(axis)) if others != Int(1) else _count(axis)
    last_sum = total([sub(_count(axis), 1) for axis in range(site.rank)])
    left: Expr = sub(_WAVE, Op("mul", (_BAND, _LAG)))
    if site.rank == 1:
        body: list[Stmt] = [Let(_BAND, add(_FIRST, place))]
    else:
        body = [Let(_BAND, add(_FIRST, Op("div", (place, others)))), Let(rest, Op("mod", (place, others)))]
    if site.rank == 2:
        body.append(Let(_number(1), rest))
    elif site.rank == 3:
        body.append(Let(_number(1), Op("div", (rest, _count(2)))))
        body.append(Let(_number(2), Op("mod", (rest, _count(2)))))
    for axis in range(1, site.rank):
        left = sub(left, _number(axis))
    body.append(Let(_number(0), left))
    exists = Op("and", (Op("ge", (_number(0), Int(0))), Op("lt", (_number(0), _count(0)))))
    body.append(If(exists, (Let(_START, mul(_BAND, shape.height)), *_tile(site, shape, logical_step))))
    stop = smallest(_BANDS, add(Op("div", (_WAVE, _LAG)), 1))
    past = Op("max", (sub(stop, _FIRST), Int(0)))
    front = (
        Let(_FIRST, largest(Int(0), Op("ceildiv", (sub(_WAVE, last_sum), _LAG)))),
        For(var=place, low=Int(0), high=mul(past, others), body=tuple(body), share="dynamic"),
    )
    waves = For(var=_WAVE, low=Int(0), high=Var("waves"), body=front)
    every = add(Op("mul", (sub(_BANDS, 1), _LAG)), add(last_sum, 1))
    return (
        Comment(f"parallelograms of {shape.height} rows, {'x'.join(str(skew.size) for skew in shape.skews)} cells"),
        Let(_TOTAL, mul(Var("steps"), shape.stages)),
        Let(_BANDS, Op("ceildiv", (_TOTAL, Int(shape.height)))),
        *_counts(shape),
        Let(Var("waves"), Op("select", (Op("gt", (_BANDS, Int(0))), every, Int(0)))),
        Parallel(Var("threads"), (waves,)),
    )


def _count(axis: int) -> Var:
    return Var(f"tiles{axis}")


def _number(axis: int) -> Var:
    return Var(f"tile{axis}")


def _counts(shape: Leaning) -> list[Stmt]:
    """Tiles per axis, and the wavefronts by which a band starts after the one before."""
    lets: list[Stmt] = []
    lag: Expr = Int(1)
    for axis, skew in enumerate(shape.skews):
        cells = add(extent(axis), skew.slope * (shape.height - 1))
        lets.append(Let(_count(axis), Op("ceildiv", (cells, Int(skew.size)))))
        delay = -(-skew.slope * shape.height // skew.size)
        if delay:
            lag = add(smallest(Int(delay), sub(_count(axis), 1)), lag)
    return [*lets, Let(_LAG, lag)]


def _tile(site: Site, shape: Leaning, logical_step: LogicalStep) -> tuple[Stmt, ...]:
    """The sub-tiles of one tile in sequence, each over all rows of the band."""
    tau, row = Var("tau"), Var("row")
    ranges: list[tuple[Expr, Expr]] = []
    lets: list[Stmt] = [Let(row, sub(tau, _START))]
    for axis, skew in enumerate(shape.sub_skews()):
        edge = Var(f"from{axis}")
        at = Var(f"sub{axis}") if shape.parts[axis] > 1 else _number(axis)
        lets.append(Let(edge, sub(mul(at, skew.size), mul(row, skew.slope))))
        ranges.append((edge, add(edge, skew.size)))
    nest: tuple[Stmt, ...] = (
        For(
            var=tau,
            low=_START,
            high=smallest(add(_START, shape.height), _TOTAL),
            body=(*lets, *logical_step(site, tau, ranges)),
        ),
    )
    for axis in range(site.rank - 1, -1, -1):
        parts = shape.parts[axis]
        if parts > 1:
            low = mul(_number(axis), parts)
            nest = (For(var=Var(f"sub{axis}"), low=low, high=add(low, parts), body=nest),)
    return nest
