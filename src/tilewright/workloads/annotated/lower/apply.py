"""From ``transform NAME(arguments)`` to transformed nests, one directive after the other, the innermost first.

What a dependence forbids is left out with a note that names it, or refused where the user asks for that.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.lower.aliases import ALIASES
from tilewright.workloads.annotated.lower.arguments import flagged, name_of, text_of, tile_of, tuple_of, whole
from tilewright.workloads.annotated.lower.parallel import clauses, free
from tilewright.workloads.annotated.lower.scalars import array_copy, bound_replace, scalar_replace
from tilewright.workloads.annotated.lower.transforms import (
    NestContext,
    add_pragma,
    asserts,
    innermost,
    loops_named,
    permute,
    refuse,
    tile,
)
from tilewright.workloads.annotated.lower.unroll import unroll_jam
from tilewright.workloads.annotated.nests.dependences import LoopDependence, analyse
from tilewright.workloads.annotated.nests.nest import Expr, Item, Loop, Stmt, Transform, map_statements, outermost, swap

Evaluate = Callable[[str], Any]
"""Evaluates an argument's text with the values of the parameters."""
DEVICE = frozenset({"CUDA", "OpenCL"})
_CLAUSE = re.compile(
    r"\b(schedule\s*\(\s*\w+\s*(?:,\s*\d+\s*)?\)|num_threads\s*\(\s*\d+\s*\)|collapse\s*\(\s*\d+\s*\))"
)
_COMPOSITE = (
    "tile",
    "permut",
    "arrcopy",
    "regtile",
    "unrolljam",
    "scalarreplace",
    "boundreplace",
    "pragma",
    "openmp",
    "vector",
    "cuda",
)
_ARGUMENTS = {
    "Tile": {"tsize", "tindex"},
    "Unroll": {"ufactor", "parallelize", "init_cleanup_loop"},
    "UnrollJam": {"ufactor", "parallelize"},
    "RegTile": {"loops", "ufactors"},
    "Permut": {"seq"},
    "ScalarReplace": {"prefix", "dtype", "overwrite_arr"},
    "BoundReplace": {"lprefix", "uprefix", "dtype"},
    "Pragma": {"pragma_str", "pragma"},
    "ArrCopy": {"aref", "dimsizes", "suffix", "dtype"},
    "Composite": set(_COMPOSITE),
    "CUDA": {
        "threadCount",
        "blockCount",
        "maxBlocks",
        "cacheBlocks",
        "pinHostMem",
        "streamCount",
        "domain",
        "dataOnDevice",
        "unrollInner",
        "preferL1Size",
    },
    "OpenCL": {
        "workGroups",
        "workItemsPerGroup",
        "threadCount",
        "blockCount",
        "cacheBlocks",
        "streamCount",
        "unrollInner",
        "clFlags",
        "vecHint",
        "sizeHint",
        "device",
        "platform",
    },
}
NAMES = tuple(_ARGUMENTS)
"""The transforms that there are."""


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
        allowed = alias.arguments if alias else _ARGUMENTS.get(stmt.name)
        if allowed is None:
            raise UsageError(f"the transforms are {', '.join(NAMES)}, got {stmt.name[:40]!r}")
        unknown = [name for name, _ in stmt.arguments if name not in allowed]
        if unknown:
            raise UsageError(
                f"{stmt.name} takes {', '.join(sorted(allowed))}, got the argument {unknown[0] or '(without a name)'!r}"
            )
        args = {name: self.evaluate(text) for name, text in stmt.arguments}
        return alias.meaning(stmt.body, args, self._made) if alias else self._made(stmt.body, stmt.name, **args)

    def _made(self, stmt: Stmt, transform: str, **args: Any) -> Stmt:  # noqa: ANN401
        if transform in DEVICE:
            return self._launched(stmt, {**args, "kind": transform})
        return getattr(self, f"_{transform.lower()}")(stmt, args)  # type: ignore[no-any-return]

    def _launched(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        """Ask for the outermost loops as kernels, launched as a transform says."""
        given = {key: value for key, value in args.items() if value is not None}
        self.device = self.device or given
        for loop in outermost(stmt):
            stmt = swap(stmt, loop, replace(loop, launch=tuple({**dict(loop.launch), **given}.items())))
        return stmt

    def attempt(self, stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
        """Make a change unless it is illegal."""
        try:
            return change(stmt)
        except IllegalTransformError as error:
            if self.strict:
                raise
            self.notes.append(error.message)
            return stmt

    def _tile(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        loops = outermost(stmt)
        if not loops:
            raise UsageError("Tile stands before a loop")
        size, index = whole(args.get("tsize"), "tsize"), name_of(args.get("tindex"), "tindex")
        return self.tiles(stmt, [((loops[0].index,), size, index)])

    def tiles(self, stmt: Stmt, tiles: Sequence[tuple[Sequence[str], int, str]]) -> Stmt:
        """Cut loops into tiles."""

        def change(each: Stmt) -> Stmt:
            new, notes = tile(each, tiles, self.setting)
            if notes and self.strict:
                raise IllegalTransformError(notes[0])
            self.notes += notes
            return new

        return self.attempt(stmt, change)

    def jams(self, stmt: Stmt, indices: Sequence[str], factors: Sequence[int], *, jam: bool = True) -> Stmt:
        """Copy the bodies of loops, and fuse the copies."""
        for index, factor in zip(indices, factors, strict=True):

            def change(each: Stmt, index: str = index, factor: int = factor) -> Stmt:
                new, notes = unroll_jam(each, index, factor, self.setting, jam=jam)
                if notes and self.strict:
                    raise IllegalTransformError(notes[0])
                self.notes += notes
                return new

            stmt = self.attempt(stmt, change)
        return stmt

    def _unroll(self, stmt: Stmt, args: Mapping[str, Any], *, jam: bool = False) -> Stmt:
        loops = outermost(stmt)
        if not loops:
            raise UsageError("Unroll stands before a loop")
        factor = whole(args.get("ufactor"), "ufactor")
        if args.get("parallelize"):
            stmt = self.directive(stmt, loops, "omp parallel for")
        return self.jams(stmt, [loops[0].index], [factor], jam=jam)

    def _unrolljam(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        return self._unroll(stmt, args, jam=True)

    def _regtile(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        return self._factors(stmt, (args.get("loops"), args.get("ufactors")), "RegTile")

    def _factors(self, stmt: Stmt, pair: Any, what: str) -> Stmt:  # noqa: ANN401
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(each, tuple) for each in pair):
            raise UsageError(f"{what} takes loops and as many factors, got {str(pair)[:60]!r}")
        loops, factors = pair
        if len(loops) != len(factors):
            raise UsageError(f"{what} takes as many factors as loops, got {len(factors)} for {len(loops)}")
        return self.jams(stmt, [name_of(each, what) for each in loops], [whole(each, what) for each in factors])

    def _permut(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        return self._ordered(stmt, args.get("seq"))

    def _ordered(self, stmt: Stmt, seq: Any) -> Stmt:  # noqa: ANN401
        order = [
            each for part in tuple_of(seq, "a permutation") for each in (part if isinstance(part, tuple) else (part,))
        ]
        loops = outermost(stmt)
        if not loops or not all(isinstance(each, str) for each in order):
            raise UsageError("a permutation is a list of loop counters before a nest")
        return self.order(stmt, order)

    def order(self, stmt: Stmt, order: Sequence[str]) -> Stmt:
        """Put the loops of a perfect nest into another order."""

        def change(each: Stmt) -> Stmt:
            new, notes = permute(each, order, self.setting)
            if notes and self.strict:
                raise IllegalTransformError(notes[0])
            self.notes += notes
            return new

        return self.attempt(stmt, change)

    def _scalarreplace(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        ctype = str(args.get("dtype") or "")
        if ctype and ctype not in {"int", "float", "double", "long"}:
            raise UsageError(f"a scalar's type is int, long, float or double, got {ctype[:40]!r}")
        prefix = name_of(args.get("prefix") or "itv_", "prefix")
        return scalar_replace(stmt, self.setting, prefix, ctype)

    def _boundreplace(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        lower, upper = args.get("lprefix") or "newlb_", args.get("uprefix") or "newub_"
        return bound_replace(stmt, name_of(lower, "lprefix"), name_of(upper, "uprefix"))

    def _arrcopy(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        item = self.parse(str(args.get("aref") or ""))
        if not isinstance(item, Item):
            raise UsageError(f"an array reference is like 'a[i][k]', got {str(args.get('aref'))[:40]!r}")
        sizes = [whole(each, "dimsizes") for each in tuple_of(args.get("dimsizes"), "dimsizes")]
        suffix, ctype = name_of(args.get("suffix") or "_copy", "suffix"), str(args.get("dtype") or "")
        if ctype and ctype not in {"int", "float", "double", "long"}:
            raise UsageError(f"a copy's type is int, long, float or double, got {ctype[:40]!r}")
        return self.attempt(stmt, lambda each: array_copy(each, item, sizes, suffix, self.setting, ctype))

    def _pragma(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        given = args.get("pragma_str", args.get("pragma"))
        for pragma in given if isinstance(given, tuple) else (given,):
            if pragma:
                stmt = self.directive(stmt, outermost(stmt), text_of(pragma))
        return stmt

    def directive(self, stmt: Stmt, loops: Sequence[Loop], pragma: str) -> Stmt:
        """Put a directive before loops, if it is true of them."""
        for loop in loops:
            if pragma.startswith(("omp parallel for", "omp for")):
                stmt = self._parallel(stmt, loop, pragma)
                continue
            if pragma.startswith("omp simd") or (asserts(pragma) and not pragma.startswith("omp")):
                directive = self.vector_directive(loop)
            elif pragma.startswith("omp"):
                raise UsageError(f"the directives of OpenMP here are parallel for and simd, got {pragma[:40]!r}")
            else:
                directive = pragma
            if directive is not None:
                stmt = add_pragma(stmt, loop, [directive])
        return stmt

    def _parallel(self, stmt: Stmt, loop: Loop, pragma: str) -> Stmt:
        """Run a loop in parallel, or where that is illegal those right inside it that may (with a note)."""
        nest = analyse(stmt, self.setting.known, self.setting.overlap)
        bad, found = free(loop, nest, self.setting, arrays=True)
        chosen = [(loop, found)]
        if not self._true(f"running the loop over {loop.index!r} in parallel", bad):
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

    def vector_directive(self, loop: Loop) -> str | None:
        """Return the directive that lets iterations run together, or None where a dependence forbids it."""
        bad = analyse(loop, self.setting.known, self.setting.overlap).carried(loop)
        return "GCC ivdep" if self._true(f"running iterations of the loop over {loop.index!r} together", bad) else None

    def _true(self, what: str, dependence: LoopDependence | None) -> bool:
        """Whether no dependence forbids something; otherwise that is noted, or refused."""
        try:
            refuse(what, dependence)
        except IllegalTransformError as error:
            if self.strict:
                raise
            self.notes.append(error.message)
            return False
        return True

    def _composite(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        if args.get("cuda") is not None:
            keys = ("threadCount", "cacheBlocks", "pinHostMem", "streamCount")
            given = dict(zip(keys, tuple_of(args["cuda"], "cuda"), strict=False))
            stmt = self._launched(stmt, {**given, "kind": "CUDA"})
        stmt = self.tiles(stmt, [tile_of(each) for each in tuple_of(args.get("tile", ()), "tile")])
        for seq in tuple_of(args.get("permut", ()), "permut"):
            stmt = self._ordered(stmt, seq)
        for each in tuple_of(args.get("arrcopy", ()), "arrcopy"):
            stmt = self._copy_of(stmt, each)
        for pragma in self._wanted(args.get("openmp"), "openmp")[:1]:
            stmt = self.directive(stmt, outermost(stmt), "omp parallel for" + pragma.removeprefix("omp parallel for"))
        for key in ("regtile", "unrolljam"):
            if args.get(key) is not None:
                stmt = self._factors(stmt, args[key], key)
        flag, *rest = flagged(args.get("scalarreplace", False))
        if flag:
            stmt = self._scalarreplace(stmt, dict(zip(("dtype", "prefix"), rest, strict=False)))
        flag, *rest = flagged(args.get("boundreplace", False))
        if flag:
            stmt = self._boundreplace(stmt, dict(zip(("lprefix", "uprefix"), rest, strict=False)))
        stmt = self._pragmas(stmt, args)
        if self._wanted(args.get("vector"), "vector"):
            stmt = self.directive(stmt, innermost(stmt), "ivdep")
        return stmt

    def _pragmas(self, stmt: Stmt, args: Mapping[str, Any]) -> Stmt:
        for each in tuple_of(args.get("pragma", ()), "pragma"):
            if not isinstance(each, tuple) or len(each) != 2:
                raise UsageError("a pragma of Composite is (counter, text)")
            choices = each[0] if isinstance(each[0], tuple) else (each[0],)
            index = next((choice for choice in choices if loops_named(stmt, str(choice))), None)
            for pragma in each[1] if isinstance(each[1], tuple) else (each[1],):
                if index is not None and pragma:
                    stmt = self.directive(stmt, loops_named(stmt, str(index)), text_of(pragma))
        return stmt

    def _copy_of(self, stmt: Stmt, each: Any) -> Stmt:  # noqa: ANN401
        if not isinstance(each, tuple) or not 3 <= len(each) <= 5:
            raise UsageError("an array copy is (flag, reference, sizes[, suffix[, type]])")
        if not each[0]:
            return stmt
        return self._arrcopy(stmt, dict(zip(("aref", "dimsizes", "suffix", "dtype"), each[1:], strict=False)))

    @staticmethod
    def _wanted(value: Any, what: str) -> tuple[str, ...]:  # noqa: ANN401
        """Return the directives of a pair (flag, text or texts) if the flag is set."""
        if value is None:
            return ()
        if not isinstance(value, tuple) or len(value) != 2:
            raise UsageError(f"{what} is (flag, directive), got {str(value)[:60]!r}")
        texts = value[1] if isinstance(value[1], tuple) else (value[1],)
        return tuple(text_of(each) for each in texts) if value[0] else ()


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
