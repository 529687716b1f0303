"""What tuned code takes for granted, as conditions in C: sizes that its legality was told by, arrays that lie apart.

Which assumptions a region rests on is found by leaving them out: the transforms are carried out again without the
values of names, and with arrays that may overlap; where the same code comes out, nothing was assumed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tilewright.base.errors import TilewrightError
from tilewright.workloads.annotated.lower.extents import extents_of
from tilewright.workloads.annotated.lower.lowering import text
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.values import ELEMENTS
from tilewright.workloads.annotated.parse.evaluate import Formula
from tilewright.workloads.annotated.parse.file import LoopRegion
from tilewright.workloads.annotated.verbs.case import Case

_WORD = re.compile(r"\b[A-Za-z_]\w*")
_SUM = re.compile(r"(?:\b(?:\d+|[A-Za-z_]\w*)\b|[\s*+()-])+")
_ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionGuard:
    """What a region's new code assumes."""

    conditions: tuple[str, ...] = ()  # in C; all have to hold
    notes: tuple[str, ...] = ()  # what is assumed and cannot be looked at when the code is called


def cpu_guards(case: Case, values: Mapping[str, object]) -> tuple[RegionGuard, ...]:
    """Return what the regions of a site assume at one point of the space, on a CPU."""

    def of(loop: LoopRegion) -> RegionGuard:
        return guard_of(loop, case, lambda code, setting: case.threaded(loop, code, values, setting)[0])

    return tuple(RegionGuard() if loop.stencil else of(loop) for loop in case.site.loops)


def guard_of(
    loop: LoopRegion,
    case: Case,
    build: Callable[[tree.Stmt, NestContext], object],  # makes the new code of the region's, in a setting
    *,
    plain: bool = False,  # whether it is made of the original body
    fixed: Mapping[str, int | float] = MappingProxyType({}),  # names that the new code holds as numbers
    apart: bool = False,  # whether all arrays must be disjoint, whatever the dependences say
) -> RegionGuard:
    """Return what one region assumes."""
    code = case.code(loop, plain=plain)
    free = sorted((tree.scalars(code) - tree.written(code) - tree.counters(code)) & set(case.known))
    # What a region and its surroundings declare themselves lies apart.
    overlap = _classes(tree.elements(code) - tree.declared(code) - tree.declared(case.site.around), case.types)
    full = case.setting
    result = build(code, full)

    def same(names: Sequence[str], shared: Mapping[str, str]) -> bool:
        values = case.known if len(names) == len(free) else {name: case.known[name] for name in names}
        try:
            return build(code, replace(full, known=values, overlap=shared)) == result
        except TilewrightError:
            return False

    sizes: list[str] = []
    if not same((), {}):
        sizes = list(free)
        for name in free:
            fewer = [each for each in sizes if each != name]
            sizes = fewer if same(fewer, {}) else sizes
    tests = [f"{name} == {case.known[name]}" for name in sizes]
    tests += [f"{name} == {value}" for name, value in fixed.items()]
    if apart:
        overlap = dict.fromkeys(overlap, _ANY)
    elif same(sizes, overlap):
        overlap = {}
    distinct, notes = _distinct(loop, case, code, overlap)
    behind = [name for name in sorted(tree.written(code)) if (param := case.site.parameters.get(name)) and param.heap]
    notes += [f"the rows of {name!r} must not overlap each other, which nothing looks at" for name in behind]
    return RegionGuard(conditions=tuple(dict.fromkeys([*tests, *distinct])), notes=tuple(notes))


def sized_arrays(case: Case, extents: Mapping[str, tree.Expr]) -> dict[str, int | float]:
    """Return what C has to find of the tuning's size, since arrays' extents are numbers: names and their values."""
    spec = case.site.spec
    if spec is None:
        return {}
    sizes = visible_sizes(case)
    names: set[str] = set()
    for each in spec.variables:
        inside = {word for dim in each.dims for word in _WORD.findall(dim.text)}
        if inside and each.name in extents and not inside & tree.names(extents[each.name]):
            names |= inside & sizes.keys() or sizes.keys()
    return {name: sizes[name] for name in sorted(names)}


def names_of_sum(extent: Formula) -> set[str] | None:
    """Return the names in an extent that C reads alike, or None: not ``1e5``, ``1_000`` or ``N**2``."""
    plain = _SUM.fullmatch(extent.text) and "**" not in extent.text
    return set(_WORD.findall(extent.text)) if plain else None


def visible_sizes(case: Case) -> dict[str, int | float]:
    """Return what C knows of a size of the input, names and values.

    The parameters that the file has where the regions stand, and where it lacks one the whole numbers that the
    specification gives to other names of the file: ``decl int n = N``.
    """
    here = _visible(case) | set(case.site.values)
    sizes = {name: value for name, value in case.numbers.items() if name in here}
    if len(sizes) < len(case.numbers):
        own = {each.name for each in case.inputs if not each.extents} - set(case.site.values)
        sizes |= {name: case.known[name] for name in sorted(own & here & case.known.keys())}
    return sizes


def _visible(case: Case) -> set[str]:
    """Names that C has where the regions stand."""
    names = set(case.site.parameters) | tree.used(case.site.around)
    for loop in case.site.loops:
        names |= tree.used(loop.old)
    return names


def _classes(arrays: Iterable[str], types: Mapping[str, str]) -> dict[str, str]:
    """Return what stands for the types of arrays: one for all, where one of them is of char or of an unknown type.

    C allows one array to be read and written through types that differ in their names and signs alone.
    """
    own = {name: types.get(name, "char") for name in arrays}
    return {
        name: _ANY if "char" in own.values() else ELEMENTS.get(ctype, ctype).removeprefix("u")
        for name, ctype in own.items()
    }


def _distinct(loop: LoopRegion, case: Case, code: tree.Stmt, overlap: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return conditions under which no array that is written shares memory with another one, and notes."""
    new = tree.written(code)
    pairs = [
        (a, b)
        for a in sorted(overlap)
        for b in sorted(overlap)
        if a != b and a in new and (b not in new or a < b) and overlap[a] == overlap[b]
    ]
    reach, tests = _reaches(loop, case, code) if pairs else ({}, {})
    conditions: list[str] = []
    notes: list[str] = []
    for a, b in pairs:
        for each in (a, b):
            conditions += tests.get(each, ())
        if a in reach and b in reach:
            ends = {name: f"(const char *)({name} + ({reach[name]}))" for name in (a, b)}
            conditions.append(f"({ends[a]} <= (const char *){b} || {ends[b]} <= (const char *){a})")
        else:
            conditions.append(f"(const char *){a} != (const char *){b}")
            unknown = a if a not in reach else b
            notes.append(
                f"how much of {unknown!r} is used is not known, so it must not overlap {(b if unknown == a else a)!r}"
            )
    return list(dict.fromkeys(conditions)), notes


def _reaches(loop: LoopRegion, case: Case, code: tree.Stmt) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return how many rows or elements of arrays are used, as C text, and what that assumes."""
    reach: dict[str, str] = {}
    assumes: dict[str, list[str]] = {}
    spec, here, inside = case.site.spec, _visible(case), tree.written(code) | tree.counters(code)
    for name, declared in case.site.parameters.items():
        if declared.dims and declared.dims[0] != tree.integer(0) and not tree.names(declared.dims[0]) & inside:
            reach[name] = text(declared.dims[0])
    for each in spec.variables if spec is not None else ():
        words = names_of_sum(each.dims[0]) if each.dims else None
        if words is not None and words <= here - inside:
            reach[each.name] = each.dims[0].text
    # What the region declares, a condition before it does not have.
    own = tree.declared(loop.old) | tree.declared(code)
    for name, extent in extents_of(code).items():
        if not (tree.names(extent.count) | {word for each in extent.assumes for word in tree.names(each)}) & own:
            reach[name] = text(extent.count)
            assumes[name] = [text(each, 12) for each in extent.assumes]
    return reach, assumes
