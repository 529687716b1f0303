"""From ``transform NAME(arguments)`` to transformed nests, one directive after the other, the innermost first.

What a dependence forbids is left out with a note that names it, or refused where the user asks for that. The original
tool's other modules are names for transforms in a row: PolySyn tiled and parallelised whole nests by their polyhedral
dependences; CHiLL ran scripts; SpMV unrolled products of sparse matrices.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.lower import transforms
from tilewright.workloads.annotated.lower.parallel import clauses, free
from tilewright.workloads.annotated.lower.transforms import (
    NestContext,
    array_copy,
    bound_replace,
    innermost,
    loops_named,
    scalar_replace,
)
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.dependences import LoopDependence
from tilewright.workloads.annotated.nests.nest import Loop, Stmt, outermost, used

Evaluate = Callable[[str], Any]  # evaluates an argument's text with the values of the parameters
Arguments = Mapping[str, Any]  # the arguments of a transform by name
DEVICE = frozenset({"CUDA", "OpenCL"})
MODULES = frozenset({"PolySyn", "CHiLL", "Chill", "SpMV"})
"""The original tool's other modules, by the names that annotations have for them."""
_CLAUSE = re.compile(
    r"\b(schedule\s*\(\s*\w+\s*(?:,\s*\d+\s*)?\)|num_threads\s*\(\s*\d+\s*\)|collapse\s*\(\s*\d+\s*\))"
)
_PRAGMA = re.compile(r"[A-Za-z_][\w ,():.+*=-]{0,300}")


@dataclass(slots=True, kw_only=True)
class Applied:
    """A nest after its transforms."""

    stmt: Stmt  # the nest
    # arguments of the first CUDA or OpenCL transform, for loops without one; the others keep those of their own
    # (:attr:`tilewright.workloads.annotated.nests.nest.Loop.launch`)
    device: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what was left out, and why


def apply_transforms(
    stmt: Stmt,
    setting: NestContext,
    evaluate: Evaluate,  # of the text of an argument
    parse: Callable[[str], tree.Expr],  # of an array reference
    *,
    strict: bool = False,  # refuse what a dependence forbids instead of leaving it out
    openmp: bool = True,  # whether directives of OpenMP may be written
) -> Applied:
    """Carry out the transforms that a nest names."""
    applier = _Applier(setting=setting, evaluate=evaluate, parse=parse, strict=strict, openmp=openmp)
    new = tree.map_statements(stmt, applier.one)
    return Applied(stmt=new, device=applier.device, notes=list(dict.fromkeys(applier.notes)))


@dataclass(slots=True, kw_only=True)
class _Applier:
    """The transforms of one nest at one point of the space."""

    setting: NestContext
    evaluate: Evaluate
    parse: Callable[[str], tree.Expr]
    strict: bool
    openmp: bool
    notes: list[str] = field(default_factory=list)
    device: dict[str, Any] = field(default_factory=dict)

    def one(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, tree.Transform):
            return stmt
        if stmt.name not in TRANSFORMS:
            names = ", ".join(name for name in TRANSFORMS if name not in MODULES)
            raise UsageError(f"the transforms are {names}, got {stmt.name[:40]!r}")
        allowed, change = TRANSFORMS[stmt.name]
        unknown = [name for name, _ in stmt.arguments if name not in allowed]
        if unknown:
            raise UsageError(
                f"{stmt.name} takes {', '.join(sorted(allowed))}, got the argument {unknown[0] or '(without a name)'!r}"
            )
        return change(self, stmt.body, {name: self.evaluate(text) for name, text in stmt.arguments})

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

    def holds(self, action: str, dependence: LoopDependence | None) -> bool:
        """Whether no dependence forbids something; otherwise that is noted, or refused."""
        if dependence is None:
            return True
        error = transforms.illegal(action, dependence)
        if self.strict:
            raise error
        self.notes.append(error.message)
        return False

    def launched(self, stmt: Stmt, args: Arguments, kind: str) -> Stmt:
        """Ask for the outermost loops as kernels, launched as a transform says."""
        settings = {key: value for key, value in {**args, "kind": kind}.items() if value is not None}
        self.device = self.device or settings
        for loop in outermost(stmt):
            stmt = tree.swap(stmt, loop, replace(loop, launch=tuple({**dict(loop.launch), **settings}.items())))
        return stmt

    def tile(self, stmt: Stmt, args: Arguments) -> Stmt:
        loops = _outer(stmt, "Tile")
        size, index = _whole(args.get("tsize"), "tsize"), _name_of(args.get("tindex"), "tindex")
        return self.attempt(stmt, transforms.tile, [((loops[0].index,), size, index)])

    def unrolled(self, stmt: Stmt, args: Arguments, change: Callable[..., tuple[Stmt, list[str]]]) -> Stmt:
        loops = _outer(stmt, "Unroll")
        factor = _whole(args.get("ufactor"), "ufactor")
        if args.get("parallelize"):
            stmt = self.directive(stmt, loops, "omp parallel for")
        return self.attempt(stmt, change, loops[0].index, factor)

    def copied(self, stmt: Stmt, pair: Any, option: str) -> Stmt:  # noqa: ANN401
        """Copy the bodies of loops, and fuse the copies: a pair of counters and factors."""
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(each, tuple) for each in pair):
            raise UsageError(f"{option} takes loops and as many factors, got {str(pair)[:60]!r}")
        loops, factors = pair
        if len(loops) != len(factors):
            raise UsageError(f"{option} takes as many factors as loops, got {len(factors)} for {len(loops)}")
        indices, counts = [_name_of(each, option) for each in loops], [_whole(each, option) for each in factors]
        for index, factor in zip(indices, counts, strict=True):
            stmt = self.attempt(stmt, transforms.unroll_jam, index, factor)
        return stmt

    def permute(self, stmt: Stmt, args: Arguments) -> Stmt:
        parts = _tuple_of(args.get("seq"), "a permutation")
        order = [each for part in parts for each in _several(part)]
        if not outermost(stmt) or not all(isinstance(each, str) for each in order):
            raise UsageError("a permutation is a list of loop counters before a nest")
        return self.attempt(stmt, transforms.permute, order)

    def scalar_replace(self, stmt: Stmt, args: Arguments) -> Stmt:
        ctype = _ctype(args, "a scalar")
        return scalar_replace(stmt, self.setting, _name_of(args.get("prefix") or "itv_", "prefix"), ctype)

    def bound_replace(self, stmt: Stmt, args: Arguments) -> Stmt:
        lower, upper = args.get("lprefix") or "newlb_", args.get("uprefix") or "newub_"
        return bound_replace(stmt, _name_of(lower, "lprefix"), _name_of(upper, "uprefix"))

    def array_copy(self, stmt: Stmt, args: Arguments) -> Stmt:
        item = self.parse(str(args.get("aref") or ""))
        if not isinstance(item, tree.Item):
            raise UsageError(f"an array reference is like 'a[i][k]', got {str(args.get('aref'))[:40]!r}")
        sizes = [_whole(each, "dimsizes") for each in _tuple_of(args.get("dimsizes"), "dimsizes")]
        suffix = _name_of(args.get("suffix") or "_copy", "suffix")
        return self.attempt(stmt, array_copy, item, sizes, suffix, _ctype(args, "a copy"))

    def pragma(self, stmt: Stmt, args: Arguments) -> Stmt:
        for pragma in _several(args.get("pragma_str", args.get("pragma"))):
            if pragma:
                stmt = self.directive(stmt, outermost(stmt), _text_of(pragma))
        return stmt

    def directive(self, stmt: Stmt, loops: Sequence[Loop], pragma: str) -> Stmt:
        """Put a directive before loops, if it is true of them."""
        for loop in loops:
            if pragma.startswith(("omp parallel for", "omp for")):
                stmt = self.parallel(stmt, loop, pragma)
                continue
            directive = pragma
            if pragma.startswith("omp simd") or (transforms.asserts(pragma) and not pragma.startswith("omp")):
                action = f"running iterations of the loop over {loop.index!r} together"
                directive = "GCC ivdep" if self.holds(action, self.setting.nest(loop).carried(loop)) else ""
            elif pragma.startswith("omp"):
                raise UsageError(f"the directives of OpenMP here are parallel for and simd, got {pragma[:40]!r}")
            if directive:
                stmt = transforms.add_pragma(stmt, loop, [directive])
        return stmt

    def parallel(self, stmt: Stmt, loop: Loop, pragma: str) -> Stmt:
        """Run a loop in parallel, or where that is illegal those right inside it that may (with a note)."""
        nest = self.setting.nest(stmt)
        bad, reductions = free(loop, nest, self.setting, arrays=True)
        chosen = [(loop, reductions)]
        if not self.holds(f"running the loop over {loop.index!r} in parallel", bad):
            inner = [(each, free(each, nest, self.setting, arrays=True)) for each in outermost(loop.body)]
            chosen = [(each, more) for each, (reason, more) in inner if reason is None]
            if chosen:
                counters = ", ".join(dict.fromkeys(repr(each.index) for each, _ in chosen))
                self.notes.append(f"the loop over {counters} inside that over {loop.index!r} runs in parallel instead")
        suffix = "".join(f" {clause}" for clause in _CLAUSE.findall(pragma) if not clause.startswith("collapse"))
        for each, more in chosen:
            if self.openmp:
                stmt = transforms.add_pragma(stmt, each, [f"omp parallel for{suffix}{clauses(more)}"])
        return stmt

    def composite(self, stmt: Stmt, args: Arguments) -> Stmt:
        if args.get("cuda") is not None:
            keys = ("threadCount", "cacheBlocks", "pinHostMem", "streamCount")
            stmt = self.launched(stmt, dict(zip(keys, _tuple_of(args["cuda"], "cuda"), strict=False)), "CUDA")
        stmt = self.attempt(stmt, transforms.tile, [_tile_of(each) for each in _tuple_of(args.get("tile", ()), "tile")])
        for seq in _tuple_of(args.get("permut", ()), "permut"):
            stmt = self.permute(stmt, {"seq": seq})
        stmt = self._copies(stmt, args)
        for pragma in _directives(args.get("openmp"), "openmp")[:1]:
            stmt = self.directive(stmt, outermost(stmt), "omp parallel for" + pragma.removeprefix("omp parallel for"))
        for key in ("regtile", "unrolljam"):
            if args.get(key) is not None:
                stmt = self.copied(stmt, args[key], key)
        stmt = self.flagged(stmt, args.get("scalarreplace", False), "dtype prefix", self.scalar_replace)
        stmt = self.flagged(stmt, args.get("boundreplace", False), "lprefix uprefix", self.bound_replace)
        stmt = self._pragmas(stmt, args)
        if _directives(args.get("vector"), "vector"):
            stmt = self.directive(stmt, innermost(stmt), "ivdep")
        return stmt

    def _copies(self, stmt: Stmt, args: Arguments) -> Stmt:
        for each in _tuple_of(args.get("arrcopy", ()), "arrcopy"):
            if not isinstance(each, tuple) or not 3 <= len(each) <= 5:
                raise UsageError("an array copy is (flag, reference, sizes[, suffix[, type]])")
            stmt = self.flagged(stmt, each, "aref dimsizes suffix dtype", self.array_copy)
        return stmt

    def flagged(self, stmt: Stmt, value: object, names: str, change: Callable[[Stmt, Arguments], Stmt]) -> Stmt:
        """Make a change that a flag asks for, which arguments may stand behind."""
        flag, *values = value if isinstance(value, tuple) and value else (value,)
        return change(stmt, dict(zip(names.split(), values, strict=False))) if flag else stmt

    def _pragmas(self, stmt: Stmt, args: Arguments) -> Stmt:
        for each in _tuple_of(args.get("pragma", ()), "pragma"):
            if not isinstance(each, tuple) or len(each) != 2:
                raise UsageError("a pragma of Composite is (counter, text)")
            index = next((name for name in map(str, _several(each[0])) if loops_named(stmt, name)), "")
            for pragma in _several(each[1]):
                if index and pragma:
                    stmt = self.directive(stmt, loops_named(stmt, index), _text_of(pragma))
        return stmt

    def polysyn(self, stmt: Stmt, args: Arguments) -> Stmt:
        # Sizes belong to the loops of each nest from the outermost on; a second level of tiles cuts the first one's.
        levels = [(_sizes(args, "l2_tiles"), "tt"), (_sizes(args, "l1_tiles", "tiles"), "t")]
        order = _tuple_of(args.get("hotspot_permut") or args.get("permut") or (), "permut")
        factors = _sizes(args, "unroll_factors")
        for nest in _nests(stmt):
            loops = [loop.index for loop in tree.chain(nest)]
            positions = [each for each in order if isinstance(each, int) and each < len(loops)]
            if sorted(positions) == list(range(len(loops))):
                stmt = self.permute(stmt, {"seq": tuple(loops[position] for position in positions)})
            cuts = [(*cut, cut[0] + mark) for sizes, mark in levels for cut in zip(loops, sizes, strict=False)]
            unused = [cut for cut in cuts if cut[1] > 1 and cut[2] not in used(stmt)]
            stmt = self.composite(stmt, {"tile": tuple(unused[: len(loops)])})
        changes = {
            "openmp": (args.get("parallel") or args.get("parallelize"), "omp parallel for"),
            "unrolljam": _factor_of(innermost(stmt), factors[-1] if factors else 1),
            "scalarreplace": bool(args.get("scalar_replace")),
            "vector": (args.get("vectorize") or args.get("icc_vectorize"), "ivdep"),
        }
        return self.composite(stmt, changes)

    def chill(self, stmt: Stmt, args: Arguments) -> Stmt:
        # ``permute([order])``, ``tile(statement, level, size)``, ``unroll(statement, level, factor)``: levels count the
        # loops of the nest from 1 as they are by then, or are counters.
        for name, *values in _tuple_of(args.get("script") or (), "script"):
            loops = [each.index for loop in outermost(stmt)[:1] for each in tree.chain(loop)]
            if len(values) < (1 if name == "permute" else 3):
                form = "([order])" if name == "permute" else "(statement, level, number)"
                raise UsageError(f"{name} of CHiLL takes {form}, got {len(values)} arguments")
            if name == "permute":
                order = tuple(_level(each, loops) for each in _tuple_of(values[-1], "permute"))
                stmt = self.permute(stmt, {"seq": order})
                continue
            index, count = _level(values[1], loops), _whole(values[2], name)
            if name == "unroll":
                stmt = self.copied(stmt, ((index,), (max(1, count),)), "RegTile")
            elif count > 1:
                fresh = next(each for n in itertools.count(1) if (each := index + n * "t") not in used(stmt))
                stmt = self.composite(stmt, {"tile": ((index, count, fresh),)})
        return stmt

    def spmv(self, stmt: Stmt, args: Arguments) -> Stmt:
        threads, inner, outer = (
            _whole(args.get(key) or 1, key) for key in ("num_threads", "in_unroll_factor", "out_unroll_factor")
        )
        if str(args.get("block_structure") or "none") not in {"none", "inode"}:
            raise UsageError(f"a block_structure is 'none' or 'inode', got {str(args['block_structure'])[:40]!r}")
        changes = {
            "openmp": (threads > 1, f"omp parallel for num_threads({threads})"),
            "regtile": _factor_of(innermost(stmt), inner),
            "unrolljam": _factor_of(outermost(stmt), outer),
        }
        return self.composite(stmt, changes)


def _outer(stmt: Stmt, transform: str) -> list[Loop]:
    loops = outermost(stmt)
    if not loops:
        raise UsageError(f"{transform} stands before a loop")
    return loops


def _nests(stmt: Stmt) -> list[Loop]:
    nests = []
    for loop in outermost(stmt):
        nests += [loop] if len(tree.chain(loop)) > 1 else _nests(loop.body)
    return nests


def _ctype(args: Arguments, transform: str) -> str:
    ctype = str(args.get("dtype") or "")
    if ctype and ctype not in {"int", "float", "double", "long"}:
        raise UsageError(f"{transform}'s type is int, long, float or double, got {ctype[:40]!r}")
    return ctype


def _directives(value: object, option: str) -> tuple[str, ...]:
    """Return the directives of a pair (flag, text or texts) if the flag is set."""
    if value is None:
        return ()
    if not isinstance(value, tuple) or len(value) != 2:
        raise UsageError(f"{option} is (flag, directive), got {str(value)[:60]!r}")
    texts = tuple(_text_of(each) for each in _several(value[1]))
    return texts if value[0] else ()


def _several(value: object) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _tile_of(each: object) -> tuple[tuple[str, ...], int, str]:
    """The choices of counter, the size and the tile counter of one tile."""
    if not isinstance(each, tuple) or len(each) != 3:
        raise UsageError(f"a tile is (counter, size, tile counter), got {str(each)[:60]!r}")
    choices = tuple(_name_of(choice, "tile") for choice in _several(each[0]))
    return choices, _whole(each[1], "tile"), _name_of(each[2], "tile")


def _whole(value: object, option: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{option} is a whole number, got {str(value)[:40]!r}")
    return value


def _name_of(value: object, option: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_]\w{0,40}", value):
        raise UsageError(f"{option} is a name, got {str(value)[:40]!r}")
    return value


def _text_of(value: object) -> str:
    """A directive of plain words, without its leading ``pragma``."""
    if not isinstance(value, str) or not _PRAGMA.fullmatch(value.strip()):
        raise UsageError(f"a directive is plain words, got {str(value)[:40]!r}")
    return value.strip().removeprefix("pragma ").strip()


def _tuple_of(value: object, option: str) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        raise UsageError(f"{option} is a list, got {str(value)[:40]!r}")
    return value


def _sizes(args: Mapping[str, Any], *names: str) -> list[int]:
    sizes = next((args[name] for name in names if args.get(name)), ())
    return [_whole(each, names[-1]) for each in _tuple_of(sizes, names[-1])]


def _factor_of(loops: Sequence[Loop], factor: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The first of some loops, and its factor, where that copies anything."""
    return ((loops[0].index,), (factor,)) if factor > 1 and loops else ((), ())


def _level(value: object, loops: Sequence[str]) -> str:
    if isinstance(value, str) and value in loops:
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= len(loops):
        raise UsageError(f"a level of CHiLL is from 1 to {len(loops)} or a counter, got {str(value)[:40]!r}")
    return loops[value - 1]


class LoopTransform(NamedTuple):
    """A transform of a nest."""

    arguments: frozenset[str]  # what it takes
    change: Callable[[_Applier, Stmt, Arguments], Stmt]


def _takes(arguments: str, change: Callable[[_Applier, Stmt, Arguments], Stmt]) -> LoopTransform:
    return LoopTransform(frozenset(arguments.split()), change)


TRANSFORMS: Mapping[str, LoopTransform] = {
    "Tile": _takes("tsize tindex", _Applier.tile),
    "Unroll": _takes(
        "ufactor parallelize init_cleanup_loop",
        lambda applier, stmt, args: applier.unrolled(stmt, args, transforms.unroll),
    ),
    "UnrollJam": _takes(
        "ufactor parallelize", lambda applier, stmt, args: applier.unrolled(stmt, args, transforms.unroll_jam)
    ),
    "RegTile": _takes(
        "loops ufactors",
        lambda applier, stmt, args: applier.copied(stmt, (args.get("loops"), args.get("ufactors")), "RegTile"),
    ),
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
    "PolySyn": _takes(
        "tiles l1_tiles l2_tiles permut hotspot_permut unroll_factors rect_regtile parallel parallelize scalar_replace "
        "vectorize icc_vectorize profiling_code compile_cmd compile_opts",
        _Applier.polysyn,
    ),
    "CHiLL": _takes("script", _Applier.chill),
    "SpMV": _takes("out_unroll_factor in_unroll_factor num_threads block_structure", _Applier.spmv),
}
"""The transforms that there are."""
