"""Prisms: hexagons or diamonds on (time, axis 0), classic skewed cuts on every other axis.

The hexagonal family is the prism in 1D, the hybrid family the prism in 2D and 3D, the diamond family the one of
diamonds. A *tile* is a hexagon with all of
the other axes; its *sub-tiles*, one per combination of classic cuts, run in lexicographic order inside it.

Source: Grosser et al., "Hybrid hexagonal/classical tiling for GPUs" (CGO 2014), and Prajapati et al. 2017, section 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Generic

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_shape
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import MAX_TILED_RANK, Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.family import BEGIN, END, Family, Legal, Parts, Tiling, Verdict, Violation, untileable
from tilewright.schedules.geometry import Diamond, Face, Hexagon, Skew
from tilewright.schedules.tree.affine import STEPS, Expr, Integer, Name, Whole, extent_of, least, most
from tilewright.schedules.tree.nodes import Let, Loop, Mark, Node, Parallel, Range, logical_step, nest

MAX_HEIGHT = 4096  # largest height of a tile in time steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Prism(Generic[Integer]):
    """The geometry of a prism in logical steps, in numbers or in expressions."""

    hexagon: Hexagon[Integer] | Diamond[Integer]  # the hexagon, or the diamond, on (time, axis 0)
    skews: tuple[Skew[Integer], ...]  # the classic cuts of axes 1, 2, …
    stages: int  # logical steps per time step; row ``i`` of a hexagon always runs stage ``i % stages``

    def symbolic(self) -> "Prism[Expr]":
        """The same with expressions in place of numbers."""
        skews = tuple(skew.symbolic() for skew in self.skews)
        return Prism(hexagon=self.hexagon.symbolic(), skews=skews, stages=self.stages)


def geometry(problem: Problem, tiling: Tiling) -> Prism[int]:
    """Return the prism of a completed tiling, with the slopes that the problem's dependences ask for."""
    stages = len(problem.program.stages)
    first, *rest = slopes(problem)
    base, *sizes = tiling.space
    height = tiling.time * stages
    face: Face = Hexagon(height=height, base=base, slope=first.widest)
    if tiling.family.diamonds:
        face = Diamond(height=height, pitch=base)
    return Prism(
        hexagon=face,
        skews=tuple(Skew(size=size, slope=slope.right) for size, slope in zip(sizes, rest, strict=True)),
        stages=stages,
    )


class Prisms(Family):
    """Families whose tiles are prisms."""

    gpu = sweeps = True
    defaults: ClassVar[Mapping[int, tuple[int, tuple[int, ...]]]]  # per rank height and sizes, raised to the slope

    def complete(self, problem: Problem, tiling: Tiling) -> Tiling:
        """Fill in the height and the sizes and refuse what does not apply."""
        rank = problem.program.rank
        if rank not in self.ranks:
            dimensions = " or ".join(f"{r}D" for r in self.ranks)
            raise IllegalTilingError(
                f"{self} tiles cut {dimensions} programs, {problem.program.name!r} is {rank}D",
                "use none" if rank > MAX_TILED_RANK else "use hexagonal in 1D, hybrid in 2D and 3D",
            )
        usual, sizes = self.defaults[rank]
        space = tiling.space or (max(sizes[0], slopes(problem)[0].widest), *sizes[1:])
        time = usual if tiling.time == 1 and not tiling.space else tiling.time
        example = f"write it like {self}:t={usual},s={format_shape(sizes)}"
        if len(space) != rank:
            raise UsageError(
                f"a {self} tile of a {rank}D program has {rank} sizes, got s={format_shape(space)}", example
            )
        if time % 2 or not 2 <= time <= MAX_HEIGHT:
            raise UsageError(
                f"the height t of a {self} tile is an even number from 2 to {MAX_HEIGHT}, got t={time}", example
            )
        if tiling.sub:
            raise UsageError(f"a {self} tile has no sub-tiles of its own, got sub={format_shape(tiling.sub)}", example)
        if tiling.threads and len(tiling.threads) != rank:
            raise UsageError(f"threads are given per axis, {rank} for {problem.program.name!r}, got {tiling}", example)
        return replace(tiling, time=time, space=space)

    def check(self, problem: Problem, tiling: Tiling, storage: Storage = PLAIN) -> Verdict:  # noqa: ARG002
        """Say whether every dependence is kept, flow and memory.

        Hexagons whose base holds the reach per logical step do, and diamonds whose sides are no steeper.
        """
        least, size = _least(problem, geometry(problem, tiling)), tiling.space[0]
        violation = untileable(problem)
        if violation or size >= least:
            return violation or Legal()
        return Violation(
            reason=f"the tiles of {tiling} are narrower than what {problem.program.name!r} reaches: their first size "
            f"is {size}, and below {least} dependences lead beyond the neighbouring tile",
            hint=f"make the first tile size at least {least}",
        )

    def tree(self, problem: Problem, tiling: Tiling) -> Node:
        """Return the order: wavefronts of the two colours in turn, which threads share.

        Inside a tile the classic cuts run in sequence, inside a cut the rows of the face follow each other in time.
        """
        cut = geometry(problem, tiling)
        return Mark(cut.hexagon.note, wavefronts(cut.symbolic()))

    def sweep(self, problem: Problem, tiling: Tiling) -> Parts | None:
        """Return how a tiling sweeps over a grid; None if its tiles depend on others than neighbours.

        Part ``p`` has of every wavefront the tile ``p`` less half the number of the wavefront, rounded up: one that
        leans to the left, as tiles of the wavefront before it do that it depends on, so that every tile comes after all
        that it depends on. Of each wavefront the tiles of the parts :data:`BEGIN` to :data:`END` run at once.
        """
        cut = geometry(problem, tiling)
        if tiling.space[0] < _least(problem, cut):
            return None
        face, extent = cut.hexagon, problem.shape[0]
        waves = ceil_div(problem.steps * cut.stages, face.half) + 1
        rows = max(abs(read.offset[0]) for each in problem.program.statements for read in each.reads)
        margin = face.overhang + rows
        return Parts(
            tree=Mark(f"swept: {face.note}", wavefronts(cut.symbolic(), part=(BEGIN, END))),
            count=max(face.tiles(0, extent), face.tiles(1, extent)) + waves // 2,
            pitch=face.pitch,
            behind=(waves - 1) * face.pitch // 2 + margin,
            ahead=face.base - face.pitch + margin,
        )


def _least(problem: Problem, cut: Prism[int]) -> int:
    """The first size from which on no dependence leads beyond the neighbouring tiles."""
    reach = slopes(problem)[0].widest
    return reach * cut.hexagon.height if isinstance(cut.hexagon, Diamond) else reach


def wavefronts(cut: Prism[Expr], part: tuple[Expr, Expr] | None = None) -> Node:
    """Return the wavefronts of prisms: of all, or of the parts of a :func:`sweep` from one up to the end given."""
    face, skews = cut.hexagon, cut.skews
    total, wave, colour = Name("total"), Name("wave"), Name("colour")
    start, left = Name("start"), Name("left")
    tau, row, grow = Name("tau"), Name("row"), Name("grow")
    names: list[tuple[str, Expr]] = [("row", tau - start), ("grow", face.grown(row))]
    box: list[tuple[Expr, Expr]] = [(left - grow, left + face.base + grow)]
    for axis, skew in enumerate(skews, 1):
        low = skew.row(Name(f"classic{axis}"), row)[0]
        names.append((f"from{axis}", low))
        box.append((Name(f"from{axis}"), Name(f"from{axis}") + skew.size))
    inside: Node = Loop(
        name="tau",
        low=most(start, 0),
        high=least(start + face.height, total),
        child=nest(logical_step(tau, cut.stages, tuple(box)), *names),
    )
    for axis in range(len(skews), 0, -1):
        cuts = skews[axis - 1].tiles(extent_of(axis), face.height)
        inside = Loop(name=f"classic{axis}", low=Whole(0), high=cuts, child=inside, subtile=True)
    first: Expr = Whole(0)
    count = face.tiles(colour, extent_of(0))
    if part is not None:
        begin, end = (each - (wave + 1) // 2 for each in part)
        first, count = most(begin, 0), least(end, count) - most(begin, 0)
    tiles = Parallel(
        (Range("tile", first, count),),
        Let("left", face.space_origin(colour, Name("tile")), inside),
    )
    waves = Loop(
        name="wave",
        low=Whole(0),
        high=face.phases(0, total) * 2,
        child=nest(tiles, ("colour", wave % 2), ("start", face.time_origin(colour, wave // 2))),
    )
    return Let("total", STEPS * cut.stages, waves)
