"""Tiles with memory of their own: every thread copies what a tile reads there, advances it there, copies results back.

The statements' kernels are those of every other tiling; they are handed pointers and strides of the thread's memory
in place of the grid's, moved so that cells keep their places on the grid.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.intmath import round_up
from tilewright.codegen import ir
from tilewright.codegen.lower.index import index
from tilewright.codegen.points import own_place
from tilewright.codegen.sites import Site, extent, own_memory, region_cells, stride
from tilewright.codegen.subdomains import PackedField, packed_field, packed_version
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tree.nodes import Box, CopyIn, CopyOut, Private, children

_SLOT = ir.Var("slot")
_SIZES = ir.Var("own_size", ir.pointer(ir.INDEX))
"""Sizes of the thread's memory, as :func:`tilewright.codegen.sites.unpack` reads them."""


def copies(problem: Problem) -> tuple[int, ...]:
    """Versions per field on the grid: two sets that bands read and write in turn; one for fields never updated."""
    program = problem.program
    return tuple(2 * program.history(f) if f in program.updated else 1 for f in program.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateLayout:
    """A thread's memory, in elements."""

    strides: tuple[int, ...]  # distance of neighbours per axis
    slot: int  # distance between versions
    depths: tuple[int, ...]  # versions per field
    starts: tuple[int, ...]  # first element per field
    size: int


def memory(problem: Problem, own: Private) -> PrivateLayout:
    """Return how buffers, all of the same lengths, lie in a thread's memory."""
    line, page = CACHE_LINE // problem.itemsize, PAGE // problem.itemsize
    lengths = own.buffers[0].lengths
    strides, size = [1], lengths[-1]
    for length in reversed(lengths[:-1]):
        size = round_up(size, line)
        size += line * (size % page == 0)
        strides.append(size)
        size *= length
    slot = round_up(size, line) + line * 8
    depths = tuple(buffer.depth for buffer in own.buffers)
    return PrivateLayout(
        strides=tuple(reversed(strides)),
        slot=slot,
        depths=depths,
        starts=tuple(slot * number for number in itertools.accumulate(depths[:-1], initial=0)),
        size=round_up(slot * sum(depths), page),
    )


def parameters(site: Site) -> tuple[ir.Expr, ...]:
    """What the statements' kernels are handed in place of the kernel's own parameters."""
    return (_fields(site), _SIZES, *site.params[2:])


def _fields(site: Site) -> ir.Var:
    return ir.Var("own_field", ir.pointer(ir.pointer(site.dtype)))


def rooms(site: Site, own: PrivateLayout) -> tuple[ir.Stmt, ...]:
    """The thread's memory, the arrays that describe it to the statements' kernels, and what never changes in them."""
    bytes_of_all = ir.Load(site.params[3], ir.Int(own_memory(site)), ir.const_pointer(site.dtype))
    values: list[ir.Expr] = [ir.Var("steps"), ir.Int(1), *(extent(axis) for axis in range(site.rank))]
    values += [ir.Int(stride) for stride in own.strides[:-1]]
    values.append(ir.Int(own.slot))
    bounds = 2 * site.rank if site.problem.points else 0
    return (
        ir.Let(_ring(site), ir.add(ir.writable(bytes_of_all), ir.mul(ir.THREAD, own.size))),
        ir.Array(_fields(site), len(site.problem.program.fields)),
        ir.Array(_SIZES, len(values) + bounds),
        *(ir.Store(_SIZES, ir.Int(i), value, ir.INDEX) for i, value in enumerate(values)),
    )


def _ring(site: Site) -> ir.Var:
    return ir.Var("ring", ir.pointer(site.dtype))


def places(site: Site, own: PrivateLayout, tile: Private, names: Mapping[str, ir.Expr]) -> tuple[ir.Stmt, ...]:
    """Where the thread's memory starts on the grid, and its pointers moved there."""
    origins = [ir.Var(f"origin{axis}") for axis in range(site.rank)]
    lets = [ir.Let(origin, index(low, names)) for origin, low in zip(origins, tile.origin, strict=True)]
    moved = ir.total([ir.mul(origin, step) for origin, step in zip(origins, own.strides, strict=True)])
    body: list[ir.Stmt] = [*lets, ir.Let(ir.Var("moved"), moved)]
    for field, start in enumerate(own.starts):
        place = ir.sub(ir.add(_ring(site), start), ir.Var("moved"))
        body.append(ir.Store(_fields(site), ir.Int(field), place, ir.pointer(site.dtype)))
    if site.problem.points:
        bounds = [index(end, names) for pair in _own_cells(tile) for end in pair]
        first = own_place(site)
        body += [ir.Store(_SIZES, ir.Int(first + i), bound, ir.INDEX) for i, bound in enumerate(bounds)]
    return tuple(body)


def _own_cells(tile: Private) -> Box:
    """The cells that a tile copies back."""
    below = [tile.child]
    while below:
        node = below.pop()
        if isinstance(node, CopyOut):
            return node.box
        below += children(node)
    raise ValueError("a tile with memory of its own copies nothing back")


def _grid_version(site: Site, field: int, side: ir.Expr, age: int) -> ir.Expr:
    """Pointer to cell zero of a version on the grid, by the set it is in."""
    program = site.problem.program
    base = ir.Load(site.params[0], ir.Int(field), ir.pointer(site.dtype))
    if program.fields[field] not in program.updated:
        return base
    history = program.history(program.fields[field])
    part = _part(site, field)
    if part is not None:
        held = ir.select(side, ir.Int(history - age), ir.Int(-age % (2 * history)))
        return ir.add(base, packed_version(part, held))
    number = ir.select(side, ir.Int(history - age), ir.Int(-age % (2 * history)))
    return ir.add(base, ir.mul(number, _SLOT))


def _own_version(site: Site, own: PrivateLayout, field: int, version: ir.Expr) -> ir.Expr:
    kept = own.depths[field]
    base = ir.Load(_fields(site), ir.Int(field), ir.pointer(site.dtype))
    return base if kept == 1 else ir.add(base, ir.mul(ir.mod(version, kept), own.slot))


def load(site: Site, own: PrivateLayout, copy: CopyIn, side: ir.Expr, names: Mapping[str, ir.Expr]) -> ir.Stmt:
    """Copy a version that a band starts from (``side``: the set on the grid), and what never changes to later ones."""
    program, field, kept = site.problem.program, copy.field, own.depths[copy.field]
    here, there = ir.Var("grid", ir.const_pointer(site.dtype)), ir.Var("own", ir.pointer(site.dtype))
    newest = index(copy.newest, names)
    lets: list[ir.Stmt] = []
    box: list[tuple[ir.Expr, ir.Expr]] = []
    for axis, (low, high) in enumerate(copy.box):
        a, b = ir.Var(f"a{axis}"), ir.Var(f"b{axis}")
        lets.append(ir.Let(a, ir.largest(ir.Int(0), index(low, names))))
        lets.append(ir.Let(b, ir.smallest(extent(axis), index(high, names))))
        box.append((a, b))
    lets.append(ir.Let(here, _grid_version(site, field, side, copy.age)))
    lets.append(ir.Let(there, _own_version(site, own, field, ir.add(newest, -copy.age % kept))))
    part = _part(site, field)
    body = [*(part.lets if part else ()), *lets, _copy(site, own, (here, there), box, part, load=True)]
    name = program.fields[field]
    if copy.age == 0 and name in program.updated and _keeps_any(site, name):
        further = []
        for other in range(program.history(name), kept):
            later = ir.Let(there, _own_version(site, own, field, ir.add(newest, -other % kept)))
            further.append(ir.Scope((later, _copy(site, own, (here, there), box, part, load=True))))
        edge = _any([end for a, (low, high) in enumerate(box) for end in (ir.eq(low, 0), ir.eq(high, extent(a)))])
        body += [ir.If(edge, tuple(further))] if further else []
    return ir.Scope(tuple(body))


def store(site: Site, own: PrivateLayout, copy: CopyOut, side: ir.Expr, names: Mapping[str, ir.Expr]) -> ir.Stmt:
    """Copy a version that a band ends with to the other set of versions; arguments as of :func:`load`."""
    kept = own.depths[copy.field]
    there, here = ir.Var("grid", ir.pointer(site.dtype)), ir.Var("own", ir.const_pointer(site.dtype))
    version = ir.add(index(copy.newest, names), -copy.age % kept)
    lets = (
        ir.Let(there, _grid_version(site, copy.field, ir.sub(ir.Int(1), side), copy.age)),
        ir.Let(here, _own_version(site, own, copy.field, version)),
    )
    box = [(index(low, names), index(high, names)) for low, high in copy.box]
    part = _part(site, copy.field)
    return ir.Scope((*(part.lets if part else ()), *lets, _copy(site, own, (there, here), box, part, load=False)))


def _part(site: Site, field: int) -> PackedField | None:
    """What is found of a field on the grid that lives in a subdomain; in a tile's memory it is whole."""
    return packed_field(site.problem, site.storage, site.problem.program.fields[field], region_cells(site))


def _copy(
    site: Site,
    own: PrivateLayout,
    ends: tuple[ir.Var, ir.Var],
    box: list[tuple[ir.Expr, ir.Expr]],
    part: PackedField | None,
    *,
    load: bool,
) -> ir.Stmt:
    """Copy a box between the grid and the thread's memory, row by row; ``ends`` are the grid's and the own version."""
    places = [ir.Var(f"x{axis}") for axis in range(site.rank - 1)]
    if part is not None:
        return ir.Scope(_over_rows(places, box, _packed_row(site, own, ends, box, part, load=load)))
    rows: list[ir.Expr] = []
    steps: tuple[list[ir.Expr], ...] = (
        [stride(a) for a in range(site.rank - 1)],
        [ir.Int(step) for step in own.strides],
    )
    for end, strides in zip(ends, steps, strict=True):
        row: ir.Expr = end
        for place, step in zip(places, strides, strict=False):
            row = ir.add(row, ir.mul(place, step))
        rows.append(ir.add(row, box[-1][0]))
    target, source = (rows[1], rows[0]) if load else (rows[0], rows[1])
    body: tuple[ir.Stmt, ...] = (ir.Intrinsic("copy", (target, source, ir.sub(box[-1][1], box[-1][0])), site.dtype),)
    return ir.Scope(_over_rows(places, box, body))


def _over_rows(
    places: list[ir.Var], box: list[tuple[ir.Expr, ir.Expr]], body: tuple[ir.Stmt, ...]
) -> tuple[ir.Stmt, ...]:
    for axis in range(len(places) - 1, -1, -1):
        body = (ir.For(var=places[axis], low=box[axis][0], high=box[axis][1], body=body),)
    return body


def _packed_row(
    site: Site,
    own: PrivateLayout,
    ends: tuple[ir.Var, ir.Var],
    box: list[tuple[ir.Expr, ir.Expr]],
    part: PackedField,
    *,
    load: bool,
) -> tuple[ir.Stmt, ...]:
    """Copy a row of a field that lives in a subdomain: what the grid has of it; the tile has 0 elsewhere."""
    places = [ir.Var(f"x{axis}") for axis in range(site.rank - 1)]
    grid, row = part.row(ends[0], places), ends[1]
    mine: ir.Expr = row
    for place, step in zip(places, own.strides, strict=False):
        mine = ir.add(mine, ir.mul(place, ir.Int(step)))
    low, high = box[-1]

    def piece(a: ir.Expr, b: ir.Expr, moved: ir.Expr) -> tuple[ir.Stmt, ...]:
        there, here = ir.add(grid, ir.sub(a, moved)), ir.add(mine, a)
        target, source = (here, there) if load else (there, here)
        return (ir.Intrinsic("copy", (target, source, ir.sub(b, a)), site.dtype),)

    zero = ir.Intrinsic("fill", (ir.add(mine, low), ir.Real(0.0, site.dtype), ir.sub(high, low)), site.dtype)
    clear: tuple[ir.Stmt, ...] = (zero,) if load else ()
    if part.axis == site.rank - 1:
        return (*clear, *part.pieces(low, high, piece))
    return (ir.If(part.outside(places[part.axis]), clear, piece(low, high, ir.Int(0))),)


def _keeps_any(site: Site, name: str) -> bool:
    """Whether some cells of a field are never updated."""
    statement = next(s for s in site.problem.program.statements if s.field == name)
    return any(map(any, site.problem.margins(statement)))


def _any(tests: list[ir.Expr]) -> ir.Expr:
    found = tests[0]
    for test in tests[1:]:
        found = ir.or_(found, test)
    return found


def last_versions(site: Site, bands: ir.Expr) -> list[ir.Stmt]:
    """Move the last versions to the slots of their numbers, where the last band's set is not these slots already."""
    program = site.problem.program
    body: list[ir.Stmt] = []
    for field, name in enumerate(program.fields):
        if name not in program.updated:
            continue
        history = program.history(name)
        base = ir.Var("base", ir.pointer(site.dtype))
        side, here = ir.Var("side"), ir.Var("here")
        places = [ir.Var(f"x{axis}") for axis in range(site.rank)]
        part = _part(site, field)
        steps = [stride(a) for a in range(site.rank - 1)] if part is None else part.strides
        cell = ir.total([*(ir.mul(x, step) for x, step in zip(places, steps, strict=False)), places[-1]])
        values = [ir.Var(f"value{age}", site.dtype) for age in range(history)]
        at = [
            ir.add(here, _distance(part, ir.select(side, ir.Int(history - a), ir.Int(-a % (2 * history)))))
            for a in range(history)
        ]
        to = [ir.add(here, _distance(part, _version_slot(history, a))) for a in range(history)]
        nest: tuple[ir.Stmt, ...] = (
            ir.Let(here, cell),
            *(ir.Let(value, ir.Load(base, place, site.dtype)) for value, place in zip(values, at, strict=True)),
            *(ir.Store(base, place, value, site.dtype) for value, place in zip(values, to, strict=True)),
        )
        for axis in range(site.rank - 1, -1, -1):
            share = "static" if axis == 0 else ""
            high = ir.sub(extent(axis), part.left) if part is not None and axis == part.axis else extent(axis)
            nest = (ir.For(var=places[axis], low=ir.Int(0), high=high, body=nest, share=share),)
        wrong = ir.ne(ir.mod(ir.Var("steps"), 2 * history), ir.mul(side, history))
        lets = (
            *(part.lets if part else ()),
            ir.Let(side, ir.mod(bands, 2)),
            ir.Let(base, ir.Load(site.params[0], ir.Int(field), ir.pointer(site.dtype))),
        )
        body.append(ir.Scope((*lets, ir.If(wrong, nest))))
    return body


def _distance(part: PackedField | None, number: ir.Expr) -> ir.Expr:
    """Where a version lies, counted from that of number 0."""
    return ir.op(ir.Operator.MUL, number, _SLOT) if part is None else packed_version(part, number)


def _version_slot(history: int, age: int) -> ir.Expr:
    return ir.mod(ir.add(ir.Var("steps"), 2 * history - age), 2 * history)
