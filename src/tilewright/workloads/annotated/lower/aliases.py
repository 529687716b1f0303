"""The original tool's other modules, as names for transforms that are here: PolySyn, CHiLL and SpMV.

PolySyn tiled and parallelised whole nests by their polyhedral dependences; CHiLL ran scripts; SpMV unrolled products of
sparse matrices. Each step of theirs is made if its dependences allow it, and left out with a note otherwise.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.lower.arguments import tuple_of, whole
from tilewright.workloads.annotated.lower.transforms import chain, innermost
from tilewright.workloads.annotated.nests.nest import Loop, Stmt, outermost, used

Do = Callable[..., Stmt]
"""Carries out a transform: of a statement, by name, with arguments as an annotation gives them."""


class Alias(NamedTuple):
    """A name for transforms in a row."""

    arguments: frozenset[str]  # what it takes
    meaning: Callable[[Stmt, Mapping[str, Any], Do], Stmt]


def _polysyn(stmt: Stmt, args: Mapping[str, Any], do: Do) -> Stmt:
    # Sizes belong to the loops of each nest from the outermost on; a second level of tiles cuts the first one's.
    levels = [(_sizes(args, "l2_tiles"), "tt"), (_sizes(args, "l1_tiles", "tiles"), "t")]
    order = tuple_of(args.get("hotspot_permut") or args.get("permut") or (), "permut")
    factors = _sizes(args, "unroll_factors")
    for nest in _nests(stmt):
        loops = [loop.index for loop in chain(nest)]
        places = [each for each in order if isinstance(each, int) and each < len(loops)]
        if sorted(places) == list(range(len(loops))):
            stmt = do(stmt, "Permut", seq=tuple(loops[place] for place in places))
        cuts = [(name, size, name + mark) for sizes, mark in levels for name, size in zip(loops, sizes, strict=False)]
        free = [cut for cut in cuts if cut[1] > 1 and cut[2] not in used(stmt)]
        stmt = do(stmt, "Composite", tile=tuple(free[: len(loops)]))
    return do(
        stmt,
        "Composite",
        openmp=(args.get("parallel") or args.get("parallelize"), "omp parallel for"),
        unrolljam=_copies(innermost(stmt), factors[-1] if factors else 1),
        scalarreplace=bool(args.get("scalar_replace")),
        vector=(args.get("vectorize") or args.get("icc_vectorize"), "ivdep"),
    )


def _chill(stmt: Stmt, args: Mapping[str, Any], do: Do) -> Stmt:
    # ``permute([order])``, ``tile(statement, level, size)``, ``unroll(statement, level, factor)``: levels count the
    # loops of the nest from 1 as they are by then, or are counters.
    for name, *values in tuple_of(args.get("script") or (), "script"):
        loops = [each.index for loop in outermost(stmt)[:1] for each in chain(loop)]
        if len(values) < (1 if name == "permute" else 3):
            wanted = "([order])" if name == "permute" else "(statement, level, number)"
            raise UsageError(f"{name} of CHiLL takes {wanted}, got {len(values)} arguments")
        if name == "permute":
            stmt = do(stmt, "Permut", seq=tuple(_level(each, loops) for each in tuple_of(values[-1], "permute")))
            continue
        index, count = _level(values[1], loops), whole(values[2], name)
        if name == "unroll":
            stmt = do(stmt, "RegTile", loops=(index,), ufactors=(max(1, count),))
        elif count > 1:
            fresh = next(each for n in itertools.count(1) if (each := index + n * "t") not in used(stmt))
            stmt = do(stmt, "Composite", tile=((index, count, fresh),))
    return stmt


def _spmv(stmt: Stmt, args: Mapping[str, Any], do: Do) -> Stmt:
    threads, inner, outer = (
        whole(args.get(key) or 1, key) for key in ("num_threads", "in_unroll_factor", "out_unroll_factor")
    )
    if str(args.get("block_structure") or "none") not in {"none", "inode"}:
        raise UsageError(f"a block_structure is 'none' or 'inode', got {str(args['block_structure'])[:40]!r}")
    return do(
        stmt,
        "Composite",
        openmp=(threads > 1, f"omp parallel for num_threads({threads})"),
        regtile=_copies(innermost(stmt), inner),
        unrolljam=_copies(outermost(stmt), outer),
    )


_SIZES = frozenset({"tiles", "l1_tiles", "l2_tiles", "permut", "hotspot_permut", "unroll_factors", "rect_regtile"})
_FLAGS = frozenset({"parallel", "parallelize", "scalar_replace", "vectorize", "icc_vectorize"})
_WITHOUT_EFFECT = frozenset({"profiling_code", "compile_cmd", "compile_opts"})
ALIASES: Mapping[str, Alias] = {
    "PolySyn": Alias(_SIZES | _FLAGS | _WITHOUT_EFFECT, _polysyn),
    "CHiLL": Alias(frozenset({"script"}), _chill),
    "SpMV": Alias(frozenset({"out_unroll_factor", "in_unroll_factor", "num_threads", "block_structure"}), _spmv),
}


def _nests(stmt: Stmt) -> list[Loop]:
    found = []
    for loop in outermost(stmt):
        found += [loop] if len(chain(loop)) > 1 else _nests(loop.body)
    return found


def _sizes(args: Mapping[str, Any], *names: str) -> list[int]:
    given = next((args[name] for name in names if args.get(name)), ())
    return [whole(each, names[-1]) for each in tuple_of(given, names[-1])]


def _copies(loops: Sequence[Loop], factor: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The first of some loops, and its factor, where that copies anything."""
    return ((loops[0].index,), (factor,)) if factor > 1 and loops else ((), ())


def _level(value: Any, loops: Sequence[str]) -> str:  # noqa: ANN401
    if isinstance(value, str) and value in loops:
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= len(loops):
        raise UsageError(f"a level of CHiLL is from 1 to {len(loops)} or a counter, got {str(value)[:40]!r}")
    return loops[value - 1]
