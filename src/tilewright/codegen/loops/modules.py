"""What the original tool's other modules ask of a nest, in terms of the transforms that are checked here one by one.

PolySyn tiled and parallelised whole nests by their polyhedral dependences; CHiLL ran scripts; SpMV unrolled products of
sparse matrices. Each step of theirs is made if its dependences allow it, and left out with a note otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tilewright.base.errors import UsageError
from tilewright.codegen.loops.arguments import tuple_of, whole
from tilewright.codegen.loops.transforms import chain, innermost
from tilewright.programs.loops.nest import Loop, Stmt, outermost, used

POLYSYN = {
    "parallel",
    "parallelize",
    "tiles",
    "l1_tiles",
    "l2_tiles",
    "permut",
    "hotspot_permut",
    "unroll_factors",
    "rect_regtile",
    "scalar_replace",
    "vectorize",
    "icc_vectorize",
    "profiling_code",
    "compile_cmd",
    "compile_opts",
}
"""The arguments of PolySyn; the last three ran a program of its own, and have no effect."""


class Steps(Protocol):
    """The transforms that a module is made of; see :mod:`tilewright.codegen.loops.apply`."""

    notes: list[str]

    def tiles(self, stmt: Stmt, tiles: Sequence[tuple[Sequence[str], int, str]]) -> Stmt:
        """Cut loops into tiles: counters, iterations per tile, the counter over the tiles."""

    def jams(self, stmt: Stmt, indices: Sequence[str], factors: Sequence[int]) -> Stmt:
        """Copy the bodies of loops, and fuse the copies."""

    def order(self, stmt: Stmt, order: Sequence[str]) -> Stmt:
        """Put the loops of a perfect nest into another order."""

    def directive(self, stmt: Stmt, loops: Sequence[Loop], pragma: str) -> Stmt:
        """Put a directive before loops."""

    def scalars(self, stmt: Stmt) -> Stmt:
        """Keep elements that innermost loops use again in scalars."""


@dataclass(frozen=True, slots=True)
class Modules:
    """The modules over the steps."""

    steps: Steps

    def polysyn(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        """Tile, permute, unroll and parallelise every nest of a region.

        Tile sizes belong to the loops of each perfect nest from the outermost on, unroll factors to its innermost
        loops; a second level of tiles cuts the first one's.
        """
        first = _sizes(args.get("l1_tiles") or args.get("tiles") or (), "tiles")
        second = _sizes(args.get("l2_tiles") or (), "l2_tiles")
        order = args.get("hotspot_permut") or args.get("permut") or ()
        factors = _sizes(args.get("unroll_factors") or (), "unroll_factors")
        for loop in _nests(stmt):
            loops = [each.index for each in chain(loop)]
            places = [each for each in tuple_of(order, "permut") if isinstance(each, int) and each < len(loops)]
            if len(loops) > 1 and sorted(places) == list(range(len(loops))):
                stmt = self.steps.order(stmt, [loops[place] for place in places])
            if len(loops) > 1:
                taken = used(stmt)
                cuts = []
                for sizes, mark in ((second, "tt"), (first, "t")):
                    for index, size in zip(loops, sizes, strict=False):
                        if size > 1 and f"{index}{mark}" not in taken:
                            cuts.append(((index,), size, f"{index}{mark}"))
                stmt = self.steps.tiles(stmt, cuts[: len(loops)])
        if args.get("parallel") or args.get("parallelize"):
            stmt = self.steps.directive(stmt, outermost(stmt), "omp parallel for")
        for loop in innermost(stmt):
            factor = factors[-1] if factors else 1
            if factor > 1:
                stmt = self.steps.jams(stmt, [loop.index], [factor])
                break
        if args.get("scalar_replace"):
            stmt = self.steps.scalars(stmt)
        if args.get("vectorize") or args.get("icc_vectorize"):
            stmt = self.steps.directive(stmt, innermost(stmt), "ivdep")
        return stmt

    def chill(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        """Follow a script of ``permute([order])``, ``tile(statement, level, size)``, ``unroll(statement, level, n)``.

        Levels count the loops of the nest from 1 as they are by then; a level may be a counter's name.
        """
        for key, values in args.items():
            name = key.lstrip("0123456789")
            loops = [each.index for loop in outermost(stmt)[:1] for each in chain(loop)]
            if name == "permute":
                order = [_level(each, loops) for each in tuple_of(values[-1], "permute")]
                stmt = self.steps.order(stmt, order)
                continue
            if len(values) < 3:
                raise UsageError(f"{name} of CHiLL takes (statement, level, number), got {len(values)} arguments")
            index, count = _level(values[1], loops), whole(values[2], name)
            if name == "unroll":
                stmt = self.steps.jams(stmt, [index], [max(1, count)])
            elif count > 1:
                fresh = next(each for each in (f"{index}t", f"{index}tt", f"{index}ttt") if each not in used(stmt))
                stmt = self.steps.tiles(stmt, [((index,), count, fresh)])
        return stmt

    def spmv(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        """Unroll a product of a sparse matrix and run its rows on threads."""
        threads = whole(args.get("num_threads") or 1, "num_threads")
        if threads > 1:
            stmt = self.steps.directive(stmt, outermost(stmt), f"omp parallel for num_threads({threads})")
        if str(args.get("block_structure") or "none") not in {"none", "inode"}:
            raise UsageError(f"a block_structure is 'none' or 'inode', got {str(args['block_structure'])[:40]!r}")
        for loops, key in ((innermost(stmt), "in_unroll_factor"), (outermost(stmt), "out_unroll_factor")):
            factor = whole(args.get(key) or 1, key)
            if factor > 1 and loops:
                stmt = self.steps.jams(stmt, [loops[0].index], [factor])
        return stmt


def _nests(stmt: Stmt) -> list[Loop]:
    """Return the perfect nests of more than one loop, the outermost ones."""
    found = []
    for loop in outermost(stmt):
        found += [loop] if len(chain(loop)) > 1 else _nests(loop.body)
    return found


def _sizes(value: Any, what: str) -> list[int]:  # noqa: ANN401
    return [whole(each, what) for each in tuple_of(value, what)]


def _level(value: Any, loops: Sequence[str]) -> str:  # noqa: ANN401
    """Return the counter of a level from 1, or of a name."""
    if isinstance(value, str) and value in loops:
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= len(loops):
        raise UsageError(f"a level of CHiLL is from 1 to {len(loops)} or a counter, got {str(value)[:40]!r}")
    return loops[value - 1]
