"""Wavefront-diamond tiles of 3D programs: diamonds on (time, axis 1), along whose axis 0 wavefronts of steps stream.

A *tile* is a diamond with all of axes 0 and 2. Its steps follow each other along axis 0, each behind the one before by
the reach, so that between the first and the last step only a few planes are under way, which caches hold. Several
threads may share a tile (``team``): each computes its part of every step's rows along axis 1, always the same but for
a row, so that a core's cache holds its part of the diamond alone. Axis 2 is cut where a size for it is given.

Source: Malas, Hager, Ltaief, Stengel, Wellein and Keyes, "Multicore-optimized wavefront diamond blocking for optimizing
stencil updates" (SIAM J. Sci. Comput. 37(4), 2015): diamonds along y, wavefronts along z, threads that share a tile
along y.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.intmath import ceil_div, round_up
from tilewright.base.units import format_shape
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.geometry import Diamond, Skew
from tilewright.schedules.legality import Verdict, untileable, wide_enough
from tilewright.schedules.parts import BEGIN, END, Parts, reach
from tilewright.schedules.prism import MAX_HEIGHT, Prism
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.traits import Traits
from tilewright.schedules.tree.affine import STEPS, Expr, Name, Whole, extent_of, least, most
from tilewright.schedules.tree.nodes import Let, Loop, Mark, Node, Parallel, Range, logical_step, nest

NAME = "wavefront-diamond"
RANKS: tuple[int, ...] = (3,)
SUMMARY = "diamonds on (time, axis 1) whose steps stream along axis 0; several threads may share a tile (3D)"
MAX_TEAM = 256
"""Most threads that share a tile."""
_SIZES = (4, 4096)
"""Planes that a step advances by, and cells of a row, where a tiling does not say."""
_TIME = 8
_EXAMPLE = f"write it like {NAME}:t=8,s=4x16x4096,team=2"
_HEIGHTS = (4, 8, 12, 16, 24, 32)
_PITCHES = (2, 3)
"""Pitches worth a look, as multiples of half the smallest one."""
_PLANES = (2, 8)
_ROWS = (256, 512)
_PART, _TILE, _ROW, _LEFT, _GROW = Name("part"), Name("tile"), Name("row"), Name("left"), Name("grow")


def candidates(problem: Problem, threads: int) -> Iterator[Tiling]:  # noqa: ARG001
    """Yield the tilings worth a look on a CPU, whose threads have tiles of their own.

    Two threads that shared tiles, each with a cache of its own, were no faster even where they never waited
    (``benchmarks/wavefront_diamond.py``), so a team is there for those who ask for one.
    """
    planes, rows, cells = problem.shape
    cut = [length for length in _ROWS if 3 * length <= 2 * cells]
    for time in (height for height in _HEIGHTS if height == _HEIGHTS[0] or height < 2 * problem.steps):
        half = least_pitch(problem, time) // 2
        pitches = dict.fromkeys(round_up(half * share, 2) for share in _PITCHES)
        advances = [count for count in _PLANES if count == _PLANES[0] or count <= planes]
        sizes = itertools.product(advances, pitches, [*cut, _whole(problem, time)])
        for space in sizes:
            if space[1] == 2 * half or space[1] <= 2 * rows:
                yield Tiling(family=NAME, time=time, space=space, team=1)


@functools.lru_cache(maxsize=64)
def _slope(problem: Problem, axis: int) -> int:
    return slopes(problem)[axis].right


def _whole(problem: Problem, time: int) -> int:
    """Cells of a row from which on no row of a tile is cut."""
    return problem.shape[2] + _slope(problem, 2) * time * len(problem.program.stages)


def least_pitch(problem: Problem, time: int) -> int:
    """Return the smallest second size: the reach per logical step times the height, even and at least 2."""
    return round_up(max(2, slopes(problem)[1].widest * time * len(problem.program.stages)), 2)


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the height, the sizes and the team.

    Without sizes, steps advance by a few planes, diamonds are as narrow as the reach allows, and rows are whole.
    """
    rank = problem.program.rank
    if rank not in RANKS:
        raise IllegalTilingError(
            f"{NAME} tiles cut 3D programs, {problem.program.name!r} is {rank}D",
            "use none" if rank > max(RANKS) else "use diamond, or hybrid in 2D",
        )
    time = _TIME if tiling.time == 1 and not tiling.space else tiling.time
    if time % 2 or not 2 <= time <= MAX_HEIGHT:
        raise UsageError(
            f"the height t of a {NAME} tile is an even number from 2 to {MAX_HEIGHT}, got t={time}", _EXAMPLE
        )
    space = tiling.space or (_SIZES[0], least_pitch(problem, time), _SIZES[1])
    if len(space) != rank or space[1] % 2:
        raise UsageError(
            f"a {NAME} tile has {rank} sizes: planes of a step, the distance of neighbouring diamonds, an even number, "
            f"and cells of a row, got s={format_shape(space)}",
            _EXAMPLE,
        )
    for key, value in {"sub": tiling.sub, "k": tiling.k, "threads": tiling.threads}.items():
        if value:
            raise UsageError(f"a {NAME} tiling has no {key}, got {str(tiling)!r}", _EXAMPLE)
    team = tiling.team or 1
    if team > MAX_TEAM:
        raise UsageError(f"at most {MAX_TEAM} threads share a {NAME} tile, got team={team}", _EXAMPLE)
    return replace(tiling, time=time, space=space, team=team)


def _geometry(problem: Problem, tiling: Tiling) -> Prism[int]:
    """The tiles, with axis 1 in the place of axis 0: prisms over diamonds."""
    stages = len(problem.program.stages)
    planes, pitch, cells = tiling.space
    skews = (Skew(size=planes, slope=_slope(problem, 0)), Skew(size=cells, slope=_slope(problem, 2)))
    return Prism(hexagon=Diamond(height=tiling.time * stages, pitch=pitch), skews=skews, stages=stages)


def check(problem: Problem, tiling: Tiling) -> Verdict:
    """Say whether a completed tiling keeps every dependence: diamonds no steeper than the reach do.

    Parts of a step need none of the same step, so that a team need not be looked at.
    """
    return untileable(problem) or wide_enough(problem, tiling, axis=1, least=least_pitch(problem, tiling.time))


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the order of a completed tiling: the wavefronts of diamonds, inside a tile those of its steps."""
    shape = _geometry(problem, tiling)
    fronts = Whole(0), shape.symbolic().skews[0].tiles(extent_of(0), shape.symbolic().hexagon.height)
    return Mark(f"{shape.hexagon.note}, streamed", _wavefronts(shape, tiling.team or 1, fronts))


def sweep(problem: Problem, tiling: Tiling) -> Parts | None:
    """Return how a completed tiling sweeps over a grid; None if its diamonds depend on others than neighbours.

    A part has of every tile those planes that a step advances by. A wavefront of diamonds is as far behind the one
    before it as steps lean meanwhile: a cell that lies beyond planes at some step, by no more than dependences reach,
    belongs to such planes of an earlier wavefront as are no further than that.
    """
    if tiling.space[1] < least_pitch(problem, tiling.time):
        return None
    shape, (extent, *_) = _geometry(problem, tiling), problem.shape
    face, along = shape.hexagon, shape.skews[0]
    lag, total = ceil_div(along.slope * face.half, along.size), problem.steps * shape.stages
    waves, wave = ceil_div(total, face.half) + 1, Name("wave")
    end = along.symbolic().tiles(extent_of(0), Whole(face.height))
    fronts = most(BEGIN - wave * lag, 0), least(END - wave * lag, end)
    rows = total - (waves - 2) * face.half
    return Parts(
        tree=Mark(f"swept: {face.note}, streamed", _wavefronts(shape, tiling.team or 1, fronts)),
        count=along.tiles(extent, face.height) + (waves - 1) * lag,
        pitch=along.size,
        behind=(waves - 1) * lag * along.size + along.slope * (rows - 1) + reach(problem),
        ahead=reach(problem) - along.slope * face.half,
        tiles=min(face.tiles(colour, problem.shape[1]) for colour in (0, 1)),
        resumed=along.slope * total,
    )


def _wavefronts(shape: Prism[int], team: int, fronts: tuple[Expr, Expr]) -> Node:
    """Return the wavefronts of diamonds, of whose tiles those planes run that begin and end there."""
    cut, total = shape.symbolic(), Name("total")
    face, (along, across) = cut.hexagon, cut.skews
    wave, colour, start, tau = Name("wave"), Name("colour"), Name("start"), Name("tau")
    low, width = _LEFT - _GROW, _GROW * 2 + face.base
    rows = (low, low + width)
    if team > 1:  # the rows left over go to another part from step to step
        first, last = (low + (part * width + _ROW % team) // team for part in (_PART, _PART + 1))
        rows = (first, last)
    planes, cells = Name("from0"), Name("from2")
    step = logical_step(tau, cut.stages, ((planes, planes + along.size), rows, (cells, cells + across.size)))
    if team > 1:
        step = Parallel((Range("part", Whole(0), Whole(team)),), step)
    names: tuple[tuple[str, Expr], ...] = (
        ("row", tau - start),
        ("grow", face.grown(_ROW)),
        ("from0", along.row(Name("front"), _ROW)[0]),
        ("from2", across.row(Name("strip"), _ROW)[0]),
    )
    steps = Loop(name="tau", low=most(start, 0), high=least(start + face.height, total), child=nest(step, *names))
    inside: Node = steps
    strips = Whole(0), across.tiles(extent_of(2), face.height)
    for name, (first, end) in (("front", fronts), ("strip", strips)):
        inside = Loop(name=name, low=first, high=end, child=inside, subtile=True)
    tiles = Parallel(
        (Range("tile", Whole(0), face.tiles(colour, extent_of(1))),),
        Let("left", face.space_origin(colour, _TILE), inside),
        team,
    )
    wavefronts = Loop(
        name="wave",
        low=Whole(0),
        high=face.phases(0, total) * 2,
        child=nest(tiles, ("colour", wave % 2), ("start", face.time_origin(colour, wave // 2))),
    )
    return Let("total", STEPS * cut.stages, wavefronts)


TRAITS = Traits(teams=True, candidates=candidates, sweep=sweep)
