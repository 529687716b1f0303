"""From ``transform NAME(arguments)`` to transformed nests, one directive after the other, the innermost first.

What a dependence forbids is left out with a note that names it, or refused where the user asks for that.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.lower.aliases import ALIASES
from tilewright.workloads.annotated.lower.arguments import (
    flagged,
    name_of,
    several,
    text_of,
    tile_of,
    tuple_of,
    whole,
)
from tilewright.workloads.annotated.lower.parallel import clauses, free
from tilewright.workloads.annotated.lower.scalars import array_copy, bound_replace, scalar_replace
from tilewright.workloads.annotated.lower.transforms import (
    NestContext,
    add_pragma,
    asserts,
    illegal,
    innermost,
    loops_named,
    permute,
    tile,
)
from tilewright.workloads.annotated.lower.unroll import unroll, unroll_jam
from tilewright.workloads.annotated.nests.dependences import LoopDependence
from tilewright.workloads.annotated.nests.nest import Expr, Item, Loop, Stmt, Transform, map_statements, outermost, swap

Evaluate = Callable[[str], Any]
"""Evaluates an argument's text with the values of the parameters."""
Arguments = Mapping[str, Any]
"""The arguments of a transform by name."""
DEVICE = frozenset({"CUDA", "OpenCL"})
_CLAUSE = re.compile(
    r"\b(schedule\s*\(\s*\w+\s*(?:,\s*\d+\s*)?\)|num_threads\s*\(\s*\d+\s*\)|collapse\s*\(\s*\d+\s*\))"
)


@dataclass(slots=True, kw_only=True)
class Applied:
    """A nest after its transforms."""

    stmt: Stmt  # the nest
    # arguments of the first CUDA or OpenCL transform, for loops without one; the others keep those of their own
    # (:attr:`tilewright.workloads.annotated.nests.nest.Loop.launch`)
    device: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what was left out, and why


@dataclass(slots=True, kw_only=True)
class _Applier:
    """The transforms of one nest at one point of the space."""

    setting: NestContext
    evaluate: Evaluate
    parse: Callable[[str], Expr]
    strict: bool
    openmp: bool
    notes: list[str] = field(default_factory=list)
    device: dict[str, Any] = field(default_factory=dict)

    def visit(self, stmt: Stmt) -> Stmt:
        return map_statements(stmt, self._one)

    def _one(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Transform):
            return stmt
        alias = ALIASES.get(stmt.name)
        allowed = alias.arguments if alias else _TRANSFORMS[stmt.name].arguments if stmt.name in _TRANSFORMS else None
        if allowed is None:
            raise UsageError(f"the transforms are {', '.join(NAMES)}, got {stmt.name[:40]!r}")
        unknown = [name for name, _ in stmt.arguments if name not in allowed]
        if unknown:
            raise UsageError(
                f"{stmt.name} takes {', '.join(sorted(allowed))}, got the argument {unknown[0] or '(without a name)'!r}"
            )
        args = {name: self.evaluate(text) for name, text in stmt.arguments}
        return alias.meaning(stmt.body, args, self.made) if alias else self.made(stmt.body, stmt.name, **args)

    def made(self, stmt: Stmt, transform: str, **args: Any) -> Stmt:  # noqa: ANN401
        return _TRANSFORMS[transform].change(self, stmt, args)

    def attempt(self, stmt: Stmt, change: Callable[..., tuple[Stmt, list[str]]], *args: Any) -> Stmt:  # noqa: ANN401
        """Make a change with notes on what it leaves out, unless it is illegal."""
        try:
            new, notes = change(stmt, *args, self.setting)
        except IllegalTransformError as error:
            if self.strict:
                raise
            new, notes = stmt, [error.message]
        if notes and self.strict:
            raise IllegalTransformError(notes[0])
        self.notes += notes
        return new

    def holds(self, what: str, dependence: LoopDependence | None) -> bool:
        """Whether no dependence forbids something; otherwise that is noted, or refused."""
        if dependence is None:
            return True
        error = illegal(what, dependence)
        if self.strict:
            raise error
        self.notes.append(error.message)
        return False

    def launched(self, stmt: Stmt, args: Arguments, kind: str) -> Stmt:
        """Ask for the outermost loops as kernels, launched as a transform says."""
        given = {key: value for key, value in {**args, "kind": kind}.items() if value is not None}
        self.device = self.device or given
        for loop in outermost(stmt):
            stmt = swap(stmt, loop, replace(loop, launch=tuple({**dict(loop.launch), **given}.items())))
        return stmt

    def tile(self, stmt: Stmt, args: Arguments) -> Stmt:
        loops = outermost(stmt)
        if not loops:
            raise UsageError("Tile stands before a loop")
        size, index = whole(args.get("tsize"), "tsize"), name_of(args.get("tindex"), "tindex")
        return self.attempt(stmt, tile, [((loops[0].index,), size, index)])

    def unroll(self, stmt: Stmt, args: Arguments, *, jam: bool = False) -> Stmt:
        loops = outermost(stmt)
        if not loops:
            raise UsageError("Unroll stands before a loop")
        factor = whole(args.get("ufactor"), "ufactor")
        if args.get("parallelize"):
            stmt = self.directive(stmt, loops, "omp parallel for")
        return self.attempt(stmt, unroll_jam if jam else unroll, loops[0].index, factor)

    def unroll_jam(self, stmt: Stmt, args: Arguments) -> Stmt:
        return self.unroll(stmt, args, jam=True)

    def register_tile(self, stmt: Stmt, args: Arguments) -> Stmt:
        return self.copied(stmt, (args.get("loops"), args.get("ufactors")), "RegTile")

    def copied(self, stmt: Stmt, pair: Any, what: str) -> Stmt:  # noqa: ANN401
        """Copy the bodies of loops, and fuse the copies: a pair of counters and factors."""
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(each, tuple) for each in pair):
            raise UsageError(f"{what} takes loops and as many factors, got {str(pair)[:60]!r}")
        loops, factors = pair
        if len(loops) != len(factors):
            raise UsageError(f"{what} takes as many factors as loops, got {len(factors)} for {len(loops)}")
        indices, counts = [name_of(each, what) for each in loops], [whole(each, what) for each in factors]
        for index, factor in zip(indices, counts, strict=True):
            stmt = self.attempt(stmt, unroll_jam, index, factor)
        return stmt

    def permute(self, stmt: Stmt, args: Arguments) -> Stmt:
        parts = tuple_of(args.get("seq"), "a permutation")
        order = [each for part in parts for each in (part if isinstance(part, tuple) else (part,))]
        if not outermost(stmt) or not all(isinstance(each, str) for each in order):
            raise UsageError("a permutation is a list of loop counters before a nest")
        return self.attempt(stmt, permute, order)

    def scalar_replace(self, stmt: Stmt, args: Arguments) -> Stmt:
        ctype = _ctype(args, "a scalar")
        return scalar_replace(stmt, self.setting, name_of(args.get("prefix") or "itv_", "prefix"), ctype)

    def bound_replace(self, stmt: Stmt, args: Arguments) -> Stmt:
        lower, upper = args.get("lprefix") or "newlb_", args.get("uprefix") or "newub_"
        return bound_replace(stmt, name_of(lower, "lprefix"), name_of(upper, "uprefix"))

    def array_copy(self, stmt: Stmt, args: Arguments) -> Stmt:
        item = self.parse(str(args.get("aref") or ""))
        if not isinstance(item, Item):
            raise UsageError(f"an array reference is like 'a[i][k]', got {str(args.get('aref'))[:40]!r}")
        sizes = [whole(each, "dimsizes") for each in tuple_of(args.get("dimsizes"), "dimsizes")]
        suffix = name_of(args.get("suffix") or "_copy", "suffix")
        return self.attempt(stmt, array_copy, item, sizes, suffix, _ctype(args, "a copy"))

    def pragma(self, stmt: Stmt, args: Arguments) -> Stmt:
        for pragma in several(args.get("pragma_str", args.get("pragma"))):
            if pragma:
                stmt = self.directive(stmt, outermost(stmt), text_of(pragma))
        return stmt

    def directive(self, stmt: Stmt, loops: Sequence[Loop], pragma: str) -> Stmt:
        """Put a directive before loops, if it is true of them."""
        for loop in loops:
            if pragma.startswith(("omp parallel for", "omp for")):
                stmt = self.parallel(stmt, loop, pragma)
                continue
            directive = pragma
            if pragma.startswith("omp simd") or (asserts(pragma) and not pragma.startswith("omp")):
                what = f"running iterations of the loop over {loop.index!r} together"
                directive = "GCC ivdep" if self.holds(what, self.setting.nest(loop).carried(loop)) else ""
            elif pragma.startswith("omp"):
                raise UsageError(f"the directives of OpenMP here are parallel for and simd, got {pragma[:40]!r}")
            if directive:
                stmt = add_pragma(stmt, loop, [directive])
        return stmt

    def parallel(self, stmt: Stmt, loop: Loop, pragma: str) -> Stmt:
        """Run a loop in parallel, or where that is illegal those right inside it that may (with a note)."""
        nest = self.setting.nest(stmt)
        bad, found = free(loop, nest, self.setting, arrays=True)
        chosen = [(loop, found)]
        if not self.holds(f"running the loop over {loop.index!r} in parallel", bad):
            inner = [(each, free(each, nest, self.setting, arrays=True)) for each in outermost(loop.body)]
            chosen = [(each, more) for each, (reason, more) in inner if reason is None]
            if chosen:
                counters = ", ".join(dict.fromkeys(repr(each.index) for each, _ in chosen))
                self.notes.append(f"the loop over {counters} inside that over {loop.index!r} runs in parallel instead")
        asked = "".join(f" {clause}" for clause in _CLAUSE.findall(pragma) if not clause.startswith("collapse"))
        for each, more in chosen:
            if self.openmp:
                stmt = add_pragma(stmt, each, [f"omp parallel for{asked}{clauses(more)}"])
        return stmt

    def composite(self, stmt: Stmt, args: Arguments) -> Stmt:
        if args.get("cuda") is not None:
            keys = ("threadCount", "cacheBlocks", "pinHostMem", "streamCount")
            stmt = self.launched(stmt, dict(zip(keys, tuple_of(args["cuda"], "cuda"), strict=False)), "CUDA")
        stmt = self.attempt(stmt, tile, [tile_of(each) for each in tuple_of(args.get("tile", ()), "tile")])
        for seq in tuple_of(args.get("permut", ()), "permut"):
            stmt = self.permute(stmt, {"seq": seq})
        stmt = self._copies(stmt, args)
        for pragma in _wanted(args.get("openmp"), "openmp")[:1]:
            stmt = self.directive(stmt, outermost(stmt), "omp parallel for" + pragma.removeprefix("omp parallel for"))
        for key in ("regtile", "unrolljam"):
            if args.get(key) is not None:
                stmt = self.copied(stmt, args[key], key)
        flag, *rest = flagged(args.get("scalarreplace", False))
        if flag:
            stmt = self.scalar_replace(stmt, dict(zip(("dtype", "prefix"), rest, strict=False)))
        flag, *rest = flagged(args.get("boundreplace", False))
        if flag:
            stmt = self.bound_replace(stmt, dict(zip(("lprefix", "uprefix"), rest, strict=False)))
        stmt = self._pragmas(stmt, args)
        if _wanted(args.get("vector"), "vector"):
            stmt = self.directive(stmt, innermost(stmt), "ivdep")
        return stmt

    def _copies(self, stmt: Stmt, args: Arguments) -> Stmt:
        for each in tuple_of(args.get("arrcopy", ()), "arrcopy"):
            if not isinstance(each, tuple) or not 3 <= len(each) <= 5:
                raise UsageError("an array copy is (flag, reference, sizes[, suffix[, type]])")
            if each[0]:
                keys = ("aref", "dimsizes", "suffix", "dtype")
                stmt = self.array_copy(stmt, dict(zip(keys, each[1:], strict=False)))
        return stmt

    def _pragmas(self, stmt: Stmt, args: Arguments) -> Stmt:
        for each in tuple_of(args.get("pragma", ()), "pragma"):
            if not isinstance(each, tuple) or len(each) != 2:
                raise UsageError("a pragma of Composite is (counter, text)")
            index = next((name for name in map(str, several(each[0])) if loops_named(stmt, name)), "")
            for pragma in several(each[1]):
                if index and pragma:
                    stmt = self.directive(stmt, loops_named(stmt, index), text_of(pragma))
        return stmt


def _ctype(args: Arguments, what: str) -> str:
    ctype = str(args.get("dtype") or "")
    if ctype and ctype not in {"int", "float", "double", "long"}:
        raise UsageError(f"{what}'s type is int, long, float or double, got {ctype[:40]!r}")
    return ctype


def _wanted(value: Any, what: str) -> tuple[str, ...]:  # noqa: ANN401
    """Return the directives of a pair (flag, text or texts) if the flag is set."""
    if value is None:
        return ()
    if not isinstance(value, tuple) or len(value) != 2:
        raise UsageError(f"{what} is (flag, directive), got {str(value)[:60]!r}")
    texts = tuple(text_of(each) for each in several(value[1]))
    return texts if value[0] else ()


class _Transform(NamedTuple):
    """A transform of a nest."""

    arguments: frozenset[str]  # what it takes
    change: Callable[[_Applier, Stmt, Arguments], Stmt]


def _takes(arguments: str, change: Callable[[_Applier, Stmt, Arguments], Stmt]) -> _Transform:
    return _Transform(frozenset(arguments.split()), change)


_TRANSFORMS: Mapping[str, _Transform] = {
    "Tile": _takes("tsize tindex", _Applier.tile),
    "Unroll": _takes("ufactor parallelize init_cleanup_loop", _Applier.unroll),
    "UnrollJam": _takes("ufactor parallelize", _Applier.unroll_jam),
    "RegTile": _takes("loops ufactors", _Applier.register_tile),
    "Permut": _takes("seq", _Applier.permute),
    "ScalarReplace": _takes("prefix dtype overwrite_arr", _Applier.scalar_replace),
    "BoundReplace": _takes("lprefix uprefix dtype", _Applier.bound_replace),
    "Pragma": _takes("pragma_str pragma", _Applier.pragma),
    "ArrCopy": _takes("aref dimsizes suffix dtype", _Applier.array_copy),
    "Composite": _takes(
        "tile permut arrcopy regtile unrolljam scalarreplace boundreplace pragma openmp vector cuda", _Applier.composite
    ),
    "CUDA": _takes(
        "threadCount blockCount maxBlocks cacheBlocks pinHostMem streamCount domain dataOnDevice unrollInner "
        "preferL1Size",
        lambda applier, stmt, args: applier.launched(stmt, args, "CUDA"),
    ),
    "OpenCL": _takes(
        "workGroups workItemsPerGroup threadCount blockCount cacheBlocks streamCount unrollInner clFlags vecHint "
        "sizeHint device platform",
        lambda applier, stmt, args: applier.launched(stmt, args, "OpenCL"),
    ),
}
NAMES = tuple(_TRANSFORMS)
"""The transforms that there are."""


def apply_transforms(
    stmt: Stmt,
    setting: NestContext,
    evaluate: Evaluate,  # of the text of an argument
    parse: Callable[[str], Expr],  # of an array reference
    *,
    strict: bool = False,  # refuse what a dependence forbids instead of leaving it out
    openmp: bool = True,  # whether directives of OpenMP may be written
) -> Applied:
    """Carry out the transforms that a nest names."""
    applier = _Applier(setting=setting, evaluate=evaluate, parse=parse, strict=strict, openmp=openmp)
    new = applier.visit(stmt)
    return Applied(stmt=new, device=applier.device, notes=list(dict.fromkeys(applier.notes)))
