"""Time skewing: parallelograms in time and every axis, in wavefronts over the tiles, with sub-tiles in sequence.

Logical time is cut into *bands* of ``height`` steps. Inside a band, row ``i``, the cell x of an axis belongs to the
tile ``(x + slope * i) // size``: tiles lean to the left by the reach to the right, so that dependences only lead to
tiles with smaller or equal numbers on every axis. Towards the band before they lead at most
``ceil(slope * height / size)`` tiles to the right, so tiles of equal

    wavefront = lag * band + sum of the tile's numbers        lag = 1 + sum of those distances

are independent. A tile can be cut further into *sub-tiles* of the same height, which run in lexicographic order.

Source: Wonnacott, "Using time skewing to eliminate idle time due to memory bandwidth and network limitations" (IPDPS
2000); Prajapati, thesis, section B.4.2, where sub-tiles feed registers.
"""

from dataclasses import dataclass, replace

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.intmath import round_up
from tilewright.base.units import format_shape
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.geometry import Skew
from tilewright.schedules.legality import Legal, Verdict, untileable
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.traits import Traits
from tilewright.schedules.tree.affine import STEPS, Expr, Name, Whole, ceiling, extent_of, least
from tilewright.schedules.tree.nodes import Let, Loop, Mark, Node, Range, Wavefronts, logical_step, nest

NAME = "skewed"
RANKS: tuple[int, ...] = (1, 2, 3)
SUMMARY = "time skewing: parallelograms in time and every axis, wavefronts over the tiles, sub-tiles in sequence"
TRAITS = Traits()
MAX_HEIGHT = 4096
_DEFAULTS = {1: (64, (4096,)), 2: (16, (32, 4096)), 3: (8, (16, 32, 4096))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelograms:
    """The tiles of a completed skewed tiling of a problem."""

    height: int  # logical steps of a band
    stages: int  # logical steps per time step; row ``i`` of a band runs stage ``i % stages``
    skews: tuple[Skew[int], ...]  # per axis
    parts: tuple[int, ...]  # sub-tiles of a tile, per axis
    tiles: tuple[int, ...]  # number of tiles per axis
    lag: int  # wavefronts by which a band starts after the one before

    def sub_skews(self) -> tuple[Skew[int], ...]:
        """The cuts into sub-tiles per axis."""
        cuts = zip(self.skews, self.parts, strict=True)
        return tuple(Skew(size=skew.size // part, slope=skew.slope) for skew, part in cuts)


def geometry(problem: Problem, tiling: Tiling) -> Parallelograms:
    """Return the tiles of a completed tiling, with the slopes that the problem's dependences ask for."""
    stages = len(problem.program.stages)
    height = tiling.time * stages
    skews = tuple(Skew(size=size, slope=slope.right) for size, slope in zip(tiling.space, slopes(problem), strict=True))
    tiles = tuple(skew.tiles(extent, height) for skew, extent in zip(skews, problem.shape, strict=True))
    sub = tiling.sub or tiling.space
    return Parallelograms(
        height=height,
        stages=stages,
        skews=skews,
        parts=tuple(size // part for size, part in zip(tiling.space, sub, strict=True)),
        tiles=tiles,
        lag=1 + sum(skew.delay(height, count) for skew, count in zip(skews, tiles, strict=True)),
    )


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the height and the sizes."""
    rank = problem.program.rank
    if rank not in RANKS:
        raise IllegalTilingError(f"{NAME} tiles cut 1D to 3D programs, {problem.program.name!r} is {rank}D")
    time, space = _DEFAULTS[rank]
    example = f"write it like {NAME}:t={time},s={format_shape(space)}"
    time = time if tiling.time == 1 and not tiling.space else tiling.time
    space = tiling.space or space
    if len(space) != rank:
        raise UsageError(f"a {NAME} tile of a {rank}D program has {rank} sizes, got s={format_shape(space)}", example)
    if not 1 <= time <= MAX_HEIGHT:
        raise UsageError(f"the height t of a {NAME} tile is from 1 to {MAX_HEIGHT}, got t={time}", example)
    if tiling.sub and len(tiling.sub) != rank:
        raise UsageError(f"sub-tiles have {rank} sizes here, got sub={format_shape(tiling.sub)}", example)
    if any(size % part for size, part in zip(space, tiling.sub, strict=False)):
        better = format_shape(tuple(round_up(size, part) for size, part in zip(space, tiling.sub, strict=True)))
        raise UsageError(
            f"the sizes of a {NAME} tile are multiples of its sub-tiles', got s={format_shape(space)} and "
            f"sub={format_shape(tiling.sub)}",
            f"take s={better}",
        )
    if tiling.threads and len(tiling.threads) != rank:
        raise UsageError(f"threads are given per axis, {rank} for {problem.program.name!r}, got {tiling}", example)
    return replace(tiling, time=time, space=space)


def check(problem: Problem, tiling: Tiling) -> Verdict:  # noqa: ARG001  (legal in any size)
    """Say whether a completed tiling keeps every dependence: its tiles lean, and wait, as far as the reach asks for."""
    return untileable(problem) or Legal()


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the order of a completed tiling: wavefronts over the tiles of all bands, sub-tiles inside each tile."""
    shape = geometry(problem, tiling)
    rank, total, band = len(shape.skews), Name("total"), Name("band")
    skews, height = [skew.symbolic() for skew in shape.skews], Whole(shape.height)
    counts = [Name(f"tiles{axis}") for axis in range(rank)]
    places = [Name(f"tile{axis}") for axis in range(rank)]
    start, tau, row = Name("start"), Name("tau"), Name("row")
    names: list[tuple[str, Expr]] = [("row", tau - start)]
    box: list[tuple[Expr, Expr]] = []
    for axis, skew in enumerate(each.symbolic() for each in shape.sub_skews()):
        names.append((f"from{axis}", skew.row(Name(f"sub{axis}"), row)[0]))
        box.append((Name(f"from{axis}"), Name(f"from{axis}") + skew.size))
    inside: Node = Loop(
        name="tau",
        low=start,
        high=least(start + shape.height, total),
        child=nest(logical_step(tau, shape.stages, tuple(box)), *names),
    )
    for axis in range(rank - 1, -1, -1):
        low = places[axis] * shape.parts[axis]
        inside = Loop(name=f"sub{axis}", low=low, high=low + shape.parts[axis], child=inside, subtile=True)
    wavefronts = Wavefronts(
        ranges=tuple(Range(place.name, Whole(0), count) for place, count in zip(places, counts, strict=True)),
        child=Let("start", band * shape.height, inside),
        bands=(Range("band", Whole(0), Name("bands")), Name("lag")),
    )
    sizes = "x".join(str(skew.size) for skew in shape.skews)
    return Mark(
        f"parallelograms of {shape.height} rows, {sizes} cells",
        nest(
            wavefronts,
            ("total", STEPS * shape.stages),
            ("bands", ceiling(total, shape.height)),
            *((f"tiles{axis}", skew.tiles(extent_of(axis), height)) for axis, skew in enumerate(skews)),
            ("lag", sum((skew.delay(height, n) for skew, n in zip(skews, counts, strict=True)), Whole(1))),
        ),
    )
