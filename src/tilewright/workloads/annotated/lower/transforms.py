"""Transformations of loop nests: each a function from tree to tree, made only where the dependences allow it.

A transformation that a dependence forbids raises :class:`IllegalTransformError`, which names the dependence.
"""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.dependences import LoopDependence, Nest, analyse
from tilewright.workloads.annotated.nests.scalars import accumulated, reductions

MAX_TILE = 2**24
"""Largest tile size."""
_ARRAY_SUM = re.compile(r"reduction\(([^:()]+):(\w+)\[")
_ASSERTS = re.compile(r"^omp\b|\b(?:ivdep|simd|vector|assume_safety|independent)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class NestContext:
    """What is known of the place where a nest stands."""

    known: Mapping[str, int] = field(default_factory=dict)  # values of names, the same wherever it runs
    types: Mapping[str, str] = field(default_factory=dict)  # types of its scalars and elements of its arrays
    # types of arrays that may overlap others of the same type; all others are distinct
    overlap: Mapping[str, str] = field(default_factory=dict)

    def shared(self, array: str, others: Collection[str]) -> bool:
        """Whether an array may overlap one of some others."""
        own = self.overlap.get(array)
        return own is not None and any(each != array and self.overlap.get(each) == own for each in others)

    def nest(self, stmt: tree.Stmt) -> Nest:
        """Return the dependences of a nest."""
        return analyse(stmt, self.known, self.overlap)

    def reduced(self, loop: tree.Loop) -> set[str]:
        """Return what a loop reduces, which dependences do not count for: its order is free up to rounding."""
        return {each.name for each in reductions(loop, self.types)}


def loops_named(stmt: tree.Stmt, index: str) -> list[tree.Loop]:
    """Return the loops over a counter, in the order of the text."""
    return [node for node in tree.statements(stmt) if isinstance(node, tree.Loop) and node.index == index]


def chain(stmt: tree.Stmt) -> list[tree.Loop]:
    """Return the loops of the perfect nest that a statement begins with."""
    found: list[tree.Loop] = []
    while True:
        if isinstance(stmt, tree.Block) and len(stmt.body) == 1:
            stmt = stmt.body[0]
        if not isinstance(stmt, tree.Loop):
            return found
        found.append(stmt)
        stmt = stmt.body


def illegal(what: str, dependence: LoopDependence) -> IllegalTransformError:
    """Return the error that names the dependence which forbids something."""
    return IllegalTransformError(f"{what} is illegal: {reason(dependence)}")


def reason(dependence: LoopDependence) -> str:
    """Say what forbids something."""
    return str(dependence) if dependence.array != "?" else "its dependences cannot be analysed"


def asserts(pragma: str) -> bool:
    """Whether a directive lets a compiler run iterations together, which is wrong where they depend on each other.

    >>> asserts("GCC ivdep"), asserts("omp parallel for"), asserts("GCC unroll 4")
    (True, True, False)
    """
    return _ASSERTS.search(pragma) is not None


def recheck(stmt: tree.Stmt, loops: Sequence[tree.Loop], setting: NestContext) -> tuple[tree.Stmt, list[str]]:
    """Take directives away that a transformation of the loops around has made untrue, with a note for each."""
    notes: list[str] = []
    for loop in loops:
        kept: list[str] = []
        for pragma in loop.pragmas:
            bad = _untrue(pragma, loop, setting)
            if bad is None:
                kept.append(pragma)
            else:
                why = str(bad) if bad.array != "?" else "the dependences cannot be analysed"
                notes.append(f"the directive {pragma!r} before the loop over {loop.index!r} is left out: {why}")
        if len(kept) < len(loop.pragmas):
            stmt = tree.swap(stmt, loop, replace(loop, pragmas=tuple(kept)))
    return stmt, notes


def _untrue(pragma: str, loop: tree.Loop, setting: NestContext) -> LoopDependence | None:
    if not asserts(pragma):
        return None
    nest = setting.nest(loop)
    if not pragma.startswith("omp"):
        return nest.carried(loop)
    arrays = {array for op, array in _ARRAY_SUM.findall(pragma) if accumulated(loop, array, setting.types) == op}
    return nest.carried(loop, setting.reduced(loop) | arrays)


def strip(loop: tree.Loop, count: int, index: str, unit: int = 1) -> tree.Loop:
    """Cut a loop into strips; the order of the iterations stays the same.

    Before: ``for (i = 0; i <= n; i++)``. After, 4 at a time:
    ``for (ii = 0; ii <= n; ii += 4) for (i = ii; i <= min(n, ii + 3); i++)``. Where the loop is one over strips itself,
    ``unit`` is the step of the original one, whose iterations ``count`` counts.
    """
    if loop.step < 0:
        raise IllegalTransformError(f"the loop over {loop.index!r} counts down, so it is not tiled")
    width = count * unit
    if width % loop.step:
        raise IllegalTransformError(f"the tile size {count} of {index!r} is no multiple of the inner tile's")
    end = tree.Name(index) + (width - loop.step)
    inner = replace(loop, first=tree.Name(index), last=tree.Call("min", (loop.last, end)))
    return tree.Loop(index=index, first=loop.first, last=loop.last, step=width, body=inner, ctype=loop.ctype)


def permute(stmt: tree.Stmt, order: Sequence[str], setting: NestContext) -> tuple[tree.Stmt, list[str]]:
    """Put the loops of a perfect nest into an order (others keep their places), with notes on directives left out."""
    loops = chain(stmt)
    named = [loop for loop in loops if loop.index in order]
    wanted = [loop for index in order for loop in named if loop.index == index]
    if wanted == named or len(named) < 2:
        return stmt, []
    fill = iter(wanted)
    new = [next(fill) if loop in named else loop for loop in loops]
    _check_bounds(new)
    nest = setting.nest(stmt)
    places = [next(i for i, each in enumerate(loops) if each is loop) for loop in new]
    times = {}
    for site in nest.sites:
        time = nest.time(site)
        dims = [time[2 * place + 1] for place in places]
        times[site.number] = [*itertools.chain.from_iterable(("0", each) for each in dims), *time[2 * len(loops) :]]
    bad = nest.violated(even(times), setting.reduced(loops[0]))
    if bad is not None:
        raise illegal(f"the order ({', '.join(loop.index for loop in new)})", bad)
    # A dependence that a loop around it carried is the loop's own once that loop has gone inside.
    outward = {id(loop) for loop in new if not _around(loop, loops) <= _around(loop, new)}
    stmt, made = _rebuilt(stmt, loops, new)
    return recheck(stmt, [each for loop, each in zip(new, made, strict=True) if id(loop) in outward], setting)


def _around(loop: tree.Loop, loops: Sequence[tree.Loop]) -> set[int]:
    return {id(each) for each in itertools.takewhile(lambda each: each is not loop, loops)}


def _rebuilt(stmt: tree.Stmt, old: Sequence[tree.Loop], new: Sequence[tree.Loop]) -> tuple[tree.Stmt, list[tree.Loop]]:
    body = old[-1].body
    made: list[tree.Loop] = []
    for loop in reversed(new):
        body = replace(loop, body=body)
        made.insert(0, body)
    return tree.swap(stmt, old[0], body), made


def _check_bounds(loops: Sequence[tree.Loop]) -> None:
    for place, loop in enumerate(loops):
        inside = {each.index for each in loops[place:]}
        bad = (tree.names(loop.first) | tree.names(loop.last)) & inside
        if bad:
            raise IllegalTransformError(
                f"the loop over {loop.index!r} cannot stand outside that over {min(bad)!r}, on which its bounds depend"
            )


def even(times: Mapping[int, Sequence[str]]) -> dict[int, list[str]]:
    """Give all times one length."""
    columns = itertools.zip_longest(*times.values(), fillvalue="0")
    return dict(zip(times, map(list, zip(*columns, strict=True)), strict=True))


def tile(
    stmt: tree.Stmt, tiles: Sequence[tuple[Sequence[str], int, str]], setting: NestContext
) -> tuple[tree.Stmt, list[str]]:
    """Cut loops into tiles and bring the loops over tiles outside, as far as that is legal; notes say which stay."""
    notes: list[str] = []
    made: list[str] = []
    units: dict[str, int] = {}
    # the first of the counters that is there is cut; iterations per tile; the counter over the tiles
    for choices, count, index in tiles:
        if not 1 <= count <= MAX_TILE:
            raise UsageError(f"a tile size is from 1 to {MAX_TILE}, got {count}")
        cut = next((each for each in choices if loops_named(stmt, each)), None)
        if count == 1 or cut is None:
            continue
        if index in tree.used(stmt):
            raise UsageError(f"the tile counter {index!r} is in use", "name one that the code does not have")
        for loop in loops_named(stmt, cut):
            unit = units.setdefault(index, units.get(cut, loop.step))
            stmt = tree.swap(stmt, loop, strip(loop, count, index, unit))
        made.append(index)
    # The last that were made are the largest tiles: they go outermost, in the order of the specification.
    heads = [loop for loop in tree.statements(stmt) if isinstance(loop, tree.Loop)]
    done: set[int] = set()
    for head in heads:
        inside = chain(head)
        if id(head) in done or len(inside) < 2:
            continue
        done |= {id(loop) for loop in inside}
        own = [index for index in _outermost_first(tiles, made) if index in {loop.index for loop in inside}]
        rest = [loop.index for loop in inside if loop.index not in made]
        if not own or not rest:
            continue
        try:
            new, more = permute(head, [*own, *rest], setting)
            stmt = tree.swap(stmt, head, new)
            notes += more
        except IllegalTransformError as error:
            notes.append(f"loops over tiles stay inside: {error.message}")
    return stmt, notes


def _outermost_first(tiles: Sequence[tuple[Sequence[str], int, str]], made: Collection[str]) -> list[str]:
    """Loops over tiles of tiles before those over tiles."""
    level: dict[str, int] = {}
    for choices, _, index in tiles:
        if index in made:
            level[index] = 1 + max((level.get(each, 0) for each in choices), default=0)
    return sorted(level, key=lambda index: -level[index])


def add_pragma(stmt: tree.Stmt, loop: tree.Loop, pragmas: Sequence[str]) -> tree.Stmt:
    """Put directives before a loop that does not have them yet."""
    return tree.swap(stmt, loop, replace(loop, pragmas=tuple(dict.fromkeys((*loop.pragmas, *pragmas)))))


def innermost(stmt: tree.Stmt) -> list[tree.Loop]:
    """Return the loops that hold no loop."""
    return [
        node
        for node in tree.statements(stmt)
        if isinstance(node, tree.Loop) and not any(isinstance(each, tree.Loop) for each in tree.statements(node.body))
    ]
