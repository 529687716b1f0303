"""Dependences of a loop nest, exact where subscripts and bounds are affine, and what they forbid.

Assignments with the loops, conditions and places around them say which elements are touched, and in what order. isl
(through islpy) holds the instances of every statement and the pairs of instances that touch one element, one of
them writing. A transformation is a new time for every instance; it is legal if every pair keeps its order. Whatever is
not affine is taken to touch anything: the answer may be too careful, never too bold.
"""

import functools
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.base.errors import UsageError, needed
from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.affine import IslNames
from tilewright.workloads.annotated.nests.limit import check_time
from tilewright.workloads.annotated.nests.nest import (
    Assign,
    Declare,
    Expr,
    Item,
    Loop,
    Name,
    Stmt,
    changed,
    counters,
    names,
)
from tilewright.workloads.annotated.nests.scalars import inline_temporaries


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One mention of an array or shared scalar."""

    array: str  # a name, made unique for scalars of a block
    index: tuple[Expr, ...]  # the subscripts
    write: bool  # whether it is assigned
    private: int = 0  # number of outer loops within whose iteration the variable lives


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentSite:
    """An assignment with the loops around it."""

    number: int  # its place in the text, from 0
    loops: tuple[Loop, ...]  # outermost first
    # places in the text of the loops around it and of itself, ascending with the text; one more than loops
    positions: tuple[int, ...]
    tests: tuple[Expr, ...]  # conditions that hold where it runs
    accesses: tuple[Access, ...]  # what it touches, and what the conditions and bounds around it read
    statement: Assign


def shown(access: Access) -> str:
    """An access as C."""
    name = access.array.partition("@")[0]
    return name + "".join(f"[{show(each)}]" for each in access.index)


def show(expr: Expr) -> str:  # noqa: PLR0911
    """Return an expression as short C text, for messages."""
    match expr:
        case nest.Num(text):
            return text
        case Name(name):
            return name
        case Item(array, index):
            return array + "".join(f"[{show(each)}]" for each in index)
        case nest.Binary(op, left, right):
            return f"{show(left)}{op}{show(right)}" if op in "+-" else f"({show(left)}){op}({show(right)})"
        case nest.Unary(op, operand):
            return f"{op}{show(operand)}"
        case nest.Call(function, args):
            return f"{function}({', '.join(show(each) for each in args)})"
        case nest.Convert(ctype, operand):
            return f"({ctype}){show(operand)}"
    return "…"


def collect(stmt: Stmt) -> tuple[AssignmentSite, ...]:
    """Return the assignments of a nest with the loops, conditions and places around them."""
    sites: list[AssignmentSite] = []
    shared = nest.written(stmt)
    serial, positions = itertools.count(), itertools.count()

    def visit(
        node: Stmt,
        loops: tuple[Loop, ...],
        place: tuple[int, ...],
        tests: tuple[Expr, ...],
        local: dict[str, tuple[str, int]],
    ) -> None:
        match node:
            case Assign():
                # Whether an assignment runs depends on what the conditions and the bounds around it read.
                around = (*tests, *(bound for loop in loops for bound in (loop.first, loop.last)))
                accesses = _accesses(node, around, shared - nest.counters(stmt), local)
                sites.append(
                    AssignmentSite(
                        number=len(sites),
                        loops=loops,
                        positions=(*place, next(positions)),
                        tests=tests,
                        accesses=accesses,
                        statement=node,
                    )
                )
            case nest.Block(body):
                inner = dict(local)
                for item in body:
                    if isinstance(item, Declare) and not item.dims:
                        inner[item.name] = (f"{item.name}@{next(serial)}", len(loops))
                        if item.value is not None and not isinstance(item.value, tuple):
                            visit(Assign(Name(item.name), "=", item.value), loops, place, tests, inner)
                        continue
                    visit(item, loops, place, tests, inner)
            case Loop(body=body):
                visit(body, (*loops, node), (*place, next(positions)), tests, local)
            case nest.If(test, then, other):
                visit(then, loops, place, (*tests, test), local)
                if other is not None:
                    visit(other, loops, place, (*tests, nest.Unary("!", test)), local)
            case nest.Transform(body=body):
                visit(body, loops, place, tests, local)

    visit(stmt, (), (), (), {})
    return tuple(sites)


def _accesses(
    node: Assign, around: tuple[Expr, ...], shared: Collection[str], local: Mapping[str, tuple[str, int]]
) -> tuple[Access, ...]:
    accesses: list[Access] = []

    def add(part: Expr, *, write: bool) -> None:
        if isinstance(part, Item):
            accesses.append(Access(array=part.array, index=part.index, write=write))
        elif isinstance(part, Name) and part.name in local:
            name, depth = local[part.name]
            accesses.append(Access(array=name, index=(), write=write, private=depth))
        elif isinstance(part, Name) and part.name in shared:
            accesses.append(Access(array=part.name, index=(), write=write))

    for expr in (*nest.expressions(node), *around):
        for part in nest.walk(expr):
            add(part, write=False)
    add(node.target, write=True)
    return tuple(dict.fromkeys(accesses))


MAX_SITES = 96  # most assignments of a nest; a larger one is taken to forbid everything
_MAX_OPERATIONS = 400_000  # steps of isl for one pair of accesses, and for one question about it
_MOST_RELATIONS = 4096  # most of them that are remembered
_KEPT = threading.local()
"""The context of each thread: isl counts the steps of all that is done in one."""
_MOST_STEPS_OF_BOUNDS = 300_000  # steps of isl for one subscript against its extent
_MOST_HARD = 24  # most pairs of a nest that are too much for that; a nest with more is taken to forbid everything


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDependence:
    """Two instances that must keep their order."""

    kind: str  # ``flow``, ``anti`` or ``output``
    array: str
    source: str  # the earlier access, as C text
    sink: str  # the later one
    loops: tuple[str, ...]  # counters of the common loops
    distance: tuple[int, ...]  # of one such pair, per common loop

    def __str__(self) -> str:
        if not self.loops and self.array == "?":
            return "dependences that are too many to analyse"
        where = f" at the distance ({', '.join(map(str, self.distance))}) in ({', '.join(self.loops)})"
        verb = {"flow": "written as {} and read as {}", "anti": "read as {} and overwritten as {}"}.get(
            self.kind, "written as {} and again as {}"
        )
        return (
            f"{self.kind} dependence of {self.array.partition('@')[0]!r}: {verb.format(self.source, self.sink)}{where}"
        )


UNKNOWN = LoopDependence(kind="flow", array="?", source="?", sink="?", loops=(), distance=())
"""Stands for whatever a nest too large or too complicated to analyse may hold."""


@dataclass(slots=True)
class _Pair:
    """A dependence between two sites, as a relation of isl."""

    source: AssignmentSite
    sink: AssignmentSite
    first: Access
    second: Access
    common: int
    relation: Any


@dataclass(slots=True, kw_only=True)
class Nest:
    """The dependences of a nest; see :func:`analyse`."""

    sites: tuple[AssignmentSite, ...]  # its assignments
    names: IslNames  # what its names are in isl's words
    overlap: Mapping[str, str] = field(default_factory=dict)  # types of arrays that may overlap others of the same type
    complete: bool = True  # whether everything could be analysed; if not, everything is forbidden
    _isl: Any = None
    _context: Any = None
    _pairs: list[_Pair] = field(default_factory=list)
    _hard: int = 0
    _parameters: str = ""  # isl's list of them
    _domains: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    _in_rows: dict[tuple[int, Expr], bool] = field(default_factory=dict)

    def carried(
        self, loop: Loop, ignored: Collection[str] = (), among: Collection[int] | None = None
    ) -> LoopDependence | None:
        """Return a dependence between iterations of a loop, those around it being equal; None if there is none."""
        # ``loop`` is the nest's own object; own dependences of ``ignored`` variables, such as reductions, do not count
        if not self.complete:
            return UNKNOWN
        for pair, depth in self._inside(loop, ignored):
            if among is not None and not {pair.source.number, pair.sink.number} <= set(among):
                continue
            equal = "".join(f" and v{i} = w{i}" for i in range(depth))
            bad = self._restricted(pair, f"v{depth} != w{depth}{equal}")
            if bad is not None:
                return bad
        return None

    def ordered(self, loop: Loop, ignored: Collection[str] = ()) -> set[tuple[int, int]]:
        """Return the pairs of sites inside a loop of which one has to run before the other, for some instances of both.

        Those are the edges of the dependence graph that loop distribution splits into strongly connected components
        (Kennedy and Allen, Optimizing Compilers for Modern Architectures, section 2.4); loops around are at one
        iteration. The nest has to be complete.
        """
        edges: set[tuple[int, int]] = set()
        for pair, depth in self._inside(loop, ignored):
            edge = (pair.source.number, pair.sink.number)
            equal = " and ".join(f"v{i} = w{i}" for i in range(depth)) or "1 = 1"
            if edge not in edges and self._restricted(pair, equal) is not None:
                edges.add(edge)
        return edges

    def _inside(self, loop: Loop, ignored: Collection[str]) -> Iterator[tuple[_Pair, int]]:
        """Yield the dependences between sites inside a loop, and how many loops are around it."""
        for pair in self._pairs:
            # A variable that a block around the loop declares has a number behind its name.
            if pair.first.array == pair.second.array and pair.first.array.partition("@")[0] in ignored:
                continue
            depth = next((i for i, each in enumerate(pair.source.loops[: pair.common]) if each is loop), None)
            if depth is not None:
                yield pair, depth

    def violated(self, times: Mapping[int, Sequence[str]], ignored: Collection[str] = ()) -> LoopDependence | None:
        """Return a dependence that new times, per site in ``v0``, ``v1``, … and of one length, turn round, or None."""
        if not self.complete:
            return UNKNOWN
        try:
            for pair in self._pairs:
                if pair.first.array == pair.second.array and pair.first.array in ignored:
                    continue
                check_time()
                self._context.reset_operations()
                moved = pair.relation.apply_domain(self._time(pair.source, times)).apply_range(
                    self._time(pair.sink, times)
                )
                if not moved.is_subset(self._isl.Map.lex_lt(moved.get_space().domain())):
                    return self._named(pair, pair.relation)
        except self._isl.Error:
            self._context.reset_operations()
            return UNKNOWN
        return None

    def apart(self, a: str, b: str) -> bool:
        """Whether two arrays surely share no element."""
        return a != b and (a not in self.overlap or self.overlap[a] != self.overlap.get(b))

    def times(self, change: Callable[[list[str]], list[str]]) -> dict[int, list[str]]:
        """Return new times per site, all of one length, made of the original ones: positions and counters in turn."""
        new = {site.number: change(self._original_time(site)) for site in self.sites}
        columns = itertools.zip_longest(*new.values(), fillvalue="0")
        return dict(zip(new, map(list, zip(*columns, strict=True)), strict=True))

    @staticmethod
    def _original_time(site: AssignmentSite) -> list[str]:
        items: list[str] = []
        for depth, position in enumerate(site.positions):
            items.append(str(position))
            if depth < len(site.loops):
                items.append(f"v{depth}" if site.loops[depth].step > 0 else f"-v{depth}")
        return items

    def _time(self, site: AssignmentSite, times: Mapping[int, Sequence[str]]) -> Any:  # noqa: ANN401
        moved = f"[{_dims(site, 'v')}] -> [{', '.join(times[site.number])}]"
        return self._isl.Map.read_from_str(self._context, f"{self._parameters} -> {{ {moved} }}")

    def _restricted(self, pair: _Pair, text: str) -> LoopDependence | None:
        check_time()
        self._context.reset_operations()
        try:
            relation = pair.relation.intersect(self._map(pair.source, pair.sink, text))
            return None if relation.is_empty() else self._named(pair, relation)
        except self._isl.Error:
            self._context.reset_operations()
            return UNKNOWN

    def _named(self, pair: _Pair, relation: Any) -> LoopDependence:  # noqa: ANN401
        kind = "output" if pair.first.write and pair.second.write else "flow" if pair.first.write else "anti"
        loops = tuple(loop.index for loop in pair.source.loops[: pair.common])
        distance: tuple[int, ...] = ()
        point = relation.sample()
        if not point.is_empty():
            wrapped = point.wrap().sample_point()
            count = len(pair.source.loops)
            values = [
                int(wrapped.get_coordinate_val(self._isl.dim_type.set, i).to_python())
                for i in range(count + len(pair.sink.loops))
            ]
            distance = tuple(values[count + i] - values[i] for i in range(pair.common))
        return LoopDependence(
            kind=kind,
            array=pair.first.array,
            source=shown(pair.first),
            sink=shown(pair.second),
            loops=loops,
            distance=distance,
        )

    def add(self, a: AssignmentSite, b: AssignmentSite) -> None:
        """Add the dependences of one site on another."""
        common = 0
        while common < min(len(a.loops), len(b.loops)) and a.loops[common] is b.loops[common]:
            if a.positions[common] != b.positions[common]:
                break
            common += 1
        before = a.positions[common] < b.positions[common] or (a.positions == b.positions and a.number < b.number)
        orders = _orders(a, common, after=before)
        if not orders:
            return
        where = [*self._domain(a, "v"), *self._domain(b, "w")]
        for first, second in itertools.product(a.accesses, b.accesses):
            if self.apart(first.array, second.array) or not (first.write or second.write):
                continue
            equal: list[str] = []
            if first.array == second.array and len(first.index) == len(second.index):
                for x, y in zip(first.index, second.index, strict=True):
                    left, right = self._subscripts(a, x, "v"), self._subscripts(b, y, "w")
                    if left is not None and right is not None and left[1] == right[1]:
                        equal += [f"{term} = {other}" for term, other in zip(left[0], right[0], strict=True)]
            equal += [f"v{i} = w{i}" for i in range(max(first.private, second.private))]
            relation = self._relation(a, b, [*where, *equal, f"({' or '.join(orders)})"])
            if relation is not None:
                self._pairs.append(_Pair(a, b, first, second, common, relation))

    def _domain(self, site: AssignmentSite, letter: str) -> list[str]:
        if (site.number, letter) not in self._domains:
            self._domains[site.number, letter] = self.names.domain(site.loops, site.tests, letter)[0]
        return self._domains[site.number, letter]

    def _relation(self, a: AssignmentSite, b: AssignmentSite, conditions: Sequence[str]) -> Any | None:  # noqa: ANN401
        """Return the instances of two sites that conditions relate, or None if there are none.

        Where steps of more than one make that too much to work out, they are left out: more instances are related then.
        """
        steps = [each for each in conditions if each.startswith("exists")]
        for subset in [conditions, [each for each in conditions if each not in steps]] if steps else [conditions]:
            check_time()
            self._context.reset_operations()
            try:
                relation = self._map(a, b, " and ".join(subset))
                return None if relation.is_empty() else relation
            except self._isl.Error:
                self._hard += 1
                if self._hard > _MOST_HARD:
                    break
        self.complete = False
        return None

    def _subscripts(self, site: AssignmentSite, index: Expr, letter: str) -> tuple[list[str], tuple[str, ...]] | None:
        """Return a subscript as affine ones of a matrix with rows, in isl's words, and the rows' lengths, or None.

        That an element lies in its row is shown from the bounds and conditions around.
        """
        here = _counting(self.names, site, letter)
        rows = here.rows(index)
        if rows is None:
            return None
        texts = [str(here.affine(each)) for each in rows[0]]
        key = (site.number, index)
        if rows[1] and key not in self._in_rows:
            self._in_rows[key] = self._lie_in_rows(site, letter, texts[1:], rows[1])
        return None if rows[1] and not self._in_rows[key] else (texts, rows[1])

    def _lie_in_rows(self, site: AssignmentSite, letter: str, columns: Sequence[str], lengths: Sequence[str]) -> bool:
        """Whether every instance's columns are from 0 to one below the lengths of their rows."""
        out = " or ".join(f"{a} < 0 or {a} >= p_{b}" for a, b in zip(columns, lengths, strict=True))
        text = " and ".join([*self._domain(site, letter), f"({out})"])
        self._context.reset_operations()
        try:
            text = f"{self._parameters} -> {{ [{_dims(site, letter)}] : {text} }}"
            return bool(self._isl.Set.read_from_str(self._context, text).is_empty())
        except self._isl.Error:
            return False

    def _map(self, a: AssignmentSite, b: AssignmentSite, condition: str) -> Any:  # noqa: ANN401
        sites = f"[{_dims(a, 'v')}] -> [{_dims(b, 'w')}]"
        return _relation_of(self._context, f"{self._parameters} -> {{ {sites} : {condition} }}")


def _context() -> Any:  # noqa: ANN401
    """What a thread makes the relations of all its nests in, so that those of one text are one."""
    if not hasattr(_KEPT, "context"):
        import islpy

        _KEPT.context = islpy.Context()
        _KEPT.context.set_max_operations(_MAX_OPERATIONS)
    return _KEPT.context


@functools.lru_cache(maxsize=_MOST_RELATIONS)
def _relation_of(context: Any, text: str) -> Any:  # noqa: ANN401
    """Read a relation; loops ask for the same one per access, per pair of sites and per rewrite of a nest."""
    import islpy

    return islpy.Map.read_from_str(context, text)


def _dims(site: AssignmentSite, letter: str) -> str:
    return ", ".join(f"{letter}{i}" for i in range(len(site.loops)))


def _counting(words: IslNames, site: AssignmentSite, letter: str) -> IslNames:
    return words.counting({loop.index: f"{letter}{i}" for i, loop in enumerate(site.loops)})


def _free(site: AssignmentSite) -> set[str]:
    bounds = (bound for loop in site.loops for bound in (loop.first, loop.last))
    subscripts = (each for access in site.accesses for each in access.index)
    return names(*bounds, *site.tests, *subscripts) - {loop.index for loop in site.loops}


def analyse(stmt: Stmt, known: Mapping[str, int] | None = None, overlap: Mapping[str, str] | None = None) -> Nest:
    """Analyse the dependences of a nest.

    Distinct names are distinct arrays, as in the annotations that this reads, but for those of one type in
    ``overlap``; ``known`` are values of names that are the same wherever the nest runs.
    """
    with needed("islpy", "the analysis of annotated loops", extra="annotate"):
        import islpy
    sites = collect(stmt)
    varying = changed(stmt)
    values = {name: value for name, value in (known or {}).items() if name not in varying}
    parameters = sorted({f"p_{name}" for site in sites for name in _free(site) if name not in values})
    nest = Nest(
        sites=sites,
        names=IslNames(varying, values),
        overlap=overlap or {},
        _isl=islpy,
        _context=_context(),
        _parameters=f"[{', '.join(parameters)}]",
    )
    if len(sites) > MAX_SITES:
        nest.complete = False
        return nest
    try:
        for a, b in itertools.product(sites, sites):
            nest.add(a, b)
            if not nest.complete:
                break
    except islpy.Error:
        nest.complete = False
    return nest


def _orders(a: AssignmentSite, common: int, *, after: bool) -> list[str]:
    """Ways in which one instance can run before another, as isl texts."""
    orders = []
    for depth in range(common):
        sign = "<" if a.loops[depth].step > 0 else ">"
        orders.append(" and ".join([*(f"v{i} = w{i}" for i in range(depth)), f"v{depth} {sign} w{depth}"]))
    if after:
        orders.append(" and ".join(f"v{i} = w{i}" for i in range(common)) or "1 = 1")
    return [f"({order})" for order in orders]


def check_bounds(
    stmt: Stmt, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, int], types: Mapping[str, str]
) -> None:
    """Refuse an access that surely leaves its array; those with affine loops, conditions and subscripts are checked."""
    import islpy

    stmt = inline_temporaries(stmt, types)
    fixed = {name: value for name, value in values.items() if name not in counters(stmt)}
    words = IslNames(changed(stmt), fixed)
    for site in collect(stmt):
        check_time()
        where, exact = words.domain(site.loops, site.tests, "v")
        here = _counting(words, site, "v")
        for access in site.accesses if exact else ():
            extents = shapes.get(access.array)
            if extents is None or not access.index:
                continue
            if len(access.index) != len(extents):
                raise UsageError(
                    f"{access.array!r} is declared with {len(extents)} extents but used with {len(access.index)} "
                    "indices"
                )
            for axis, (index, extent) in enumerate(zip(access.index, extents, strict=True), 1):
                text = here.affine(index)
                outside = [*where, f"({text} < 0 or {text} >= {extent})"]
                point = None if text is None or "p_" in "".join(outside) else _point(islpy, site, outside)
                if point is not None:
                    at = ", ".join(f"{name} = {value}" for name, value in point.items())
                    raise UsageError(
                        f"{shown(access)} leaves its array where {at}: extent {axis} of {access.array!r} is {extent}",
                        "declare it larger in input_vars, or correct the loop's bounds",
                    )


def _point(isl: Any, site: AssignmentSite, conditions: Sequence[str]) -> dict[str, int] | None:  # noqa: ANN401
    """Return counters of an instance that fulfils conditions; None where there is none, or that is too hard to say."""
    context = isl.Context()
    context.set_max_operations(_MOST_STEPS_OF_BOUNDS)
    try:
        points = isl.Set.read_from_str(context, f"{{ [{_dims(site, 'v')}] : {' and '.join(conditions)} }}")
        if points.is_empty():
            return None
        point = points.sample_point()
        values = [point.get_coordinate_val(isl.dim_type.set, i).to_python() for i in range(len(site.loops))]
    except isl.Error:
        return None
    return {loop.index: int(value) for loop, value in zip(site.loops, values, strict=True)}
