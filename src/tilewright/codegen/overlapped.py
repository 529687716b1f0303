"""Overlapped tiles in code: every thread copies a tile with its ghost zone to its own memory and advances it there.

The statements' kernels are those of every other family; they are handed pointers and strides of the thread's memory
in place of the grid's, moved so that cells keep their places on the grid.
"""

import itertools
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.intmath import round_up
from tilewright.codegen.ir import (
    Call,
    Comment,
    Expr,
    For,
    If,
    Int,
    Let,
    Load,
    Op,
    Parallel,
    Room,
    Scope,
    Stmt,
    Store,
    Var,
    add,
    largest,
    mul,
    select,
    smallest,
    sub,
    total,
)
from tilewright.codegen.sites import Site, box_bounds, constants, extent, stride
from tilewright.codegen.statements import box_call
from tilewright.programs.dependences import analyse
from tilewright.programs.problem import Problem
from tilewright.tilings.catalogue import complete
from tilewright.tilings.overlapped import NAME, Ghosts, geometry, local_box
from tilewright.tilings.tiling import Tiling

_STEPS, _BANDS, _BAND, _SIDE = Var("steps"), Var("bands"), Var("band"), Var("side")
_BEGIN, _LEVELS, _TILE, _T = Var("begin"), Var("levels"), Var("tile"), Var("t")
_SLOT = Var("slot")


def overlaps(tiling: Tiling) -> bool:
    """Whether a tiling is of this family."""
    return tiling.family == NAME


def copies(problem: Problem) -> tuple[int, ...]:
    """Versions per field on the grid: two sets that bands read and write in turn; one for fields never updated."""
    program = problem.program
    return tuple(2 * program.history(f) if f in program.updated else 1 for f in program.fields)


def scratch_bytes(problem: Problem, tiling: Tiling) -> int:
    """Memory that every thread needs."""
    return _local(problem, complete(problem, tiling)).size * problem.itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class _Local:
    """A thread's memory, in elements.

    Attributes:
        shape: The tiles.
        strides: Distance of neighbours per axis.
        slot: Distance between versions.
        starts: First element per field.
        size: All of it.
    """

    shape: Ghosts
    strides: tuple[int, ...]
    slot: int
    starts: tuple[int, ...]
    size: int


def _local(problem: Problem, tiling: Tiling) -> _Local:
    shape = geometry(problem, tiling)
    line, page = CACHE_LINE // problem.itemsize, PAGE // problem.itemsize
    lengths = [high - low for low, high in local_box(problem, shape, tiling.time)]
    strides, size = [1], lengths[-1]
    for length in reversed(lengths[:-1]):
        size = round_up(size, line)
        size += line * (size % page == 0)
        strides.append(size)
        size *= length
    slot = round_up(size, line) + line * 8
    kept = analyse(problem.program).copies
    starts = tuple(slot * number for number in itertools.accumulate(kept[:-1], initial=0))
    return _Local(
        shape=shape, strides=tuple(reversed(strides)), slot=slot, starts=starts, size=round_up(slot * sum(kept), page)
    )


def overlapping_tiles(site: Site, tiling: Tiling) -> tuple[Stmt, ...]:
    """Write the loops of an overlapped tiling: bands in sequence, their tiles shared by the threads."""
    tiling = complete(site.problem, tiling)
    local = _local(site.problem, tiling)
    ring = Var("ring", f"pointer:{site.dtype}")
    memory = Load(site.params[3], Int(len(constants(site.problem))), f"array:{site.dtype}")
    numbers = [Var(f"tiles{axis}") for axis in range(site.rank)]
    lets = [
        Let(number, Op("ceildiv", (extent(axis), Int(size))))
        for axis, (number, size) in enumerate(_sizes(numbers, tiling))
    ]
    every: Expr = numbers[0]
    for number in numbers[1:]:
        every = Op("mul", (every, number))
    share = [Op("div", (Op("mul", (_STEPS, at)), _BANDS)) for at in (_BAND, add(_BAND, 1))]
    tiles = For(var=_TILE, low=Int(0), high=every, body=_tile(site, tiling, local), share="dynamic")
    band = (Let(_SIDE, Op("mod", (_BAND, Int(2)))), Let(_BEGIN, share[0]), Let(_LEVELS, sub(share[1], _BEGIN)), tiles)
    own = Let(ring, add(Op("writable", (memory,), site.dtype), mul(Op("thread", ()), local.size)))
    return (
        Comment(f"overlapped tiles of {'x'.join(map(str, tiling.space))} cells, bands of at most {tiling.time} steps"),
        *lets,
        Let(_BANDS, Op("ceildiv", (_STEPS, Int(tiling.time)))),
        Parallel(
            Var("threads"),
            (own, *_rooms(site, local), For(var=_BAND, low=Int(0), high=_BANDS, body=band), *_last_places(site)),
        ),
    )


def _sizes(numbers: list[Var], tiling: Tiling) -> list[tuple[Var, int]]:
    return list(zip(numbers, tiling.space, strict=True))


def _fields() -> Var:
    return Var("own_field")


def _rooms(site: Site, local: _Local) -> tuple[Stmt, ...]:
    """The arrays that describe the thread's memory to the statements' kernels, and what never changes in them."""
    sizes = Var("own_size", "pointer:index")
    values: list[Expr] = [_STEPS, Int(1), *(extent(axis) for axis in range(site.rank))]
    values += [Int(stride) for stride in local.strides[:-1]]
    values.append(Int(local.slot))
    fields = Var("own_field", f"pointer:pointer:{site.dtype}")
    return (
        Room(fields, len(site.problem.program.fields)),
        Room(sizes, len(values)),
        *(Store(sizes, Int(i), value, "index") for i, value in enumerate(values)),
    )


def _low(axis: int) -> Var:
    return Var(f"low{axis}")


def _high(axis: int) -> Var:
    return Var(f"high{axis}")


def _tile(site: Site, tiling: Tiling, local: _Local) -> tuple[Stmt, ...]:
    """Load a tile, advance it by the steps of the band, store its own cells."""
    shape, index = local.shape, _TILE
    body: list[Stmt] = []
    rest: Expr = index
    for axis in range(site.rank - 1, -1, -1):
        count, at = Var(f"tiles{axis}"), Var(f"tile{axis}")
        body.append(Let(at, Op("mod", (rest, count)) if axis else rest))
        rest = Op("div", (rest, count))
    for axis, size in enumerate(tiling.space):
        body.append(Let(_low(axis), mul(Var(f"tile{axis}"), size)))
        body.append(Let(_high(axis), smallest(add(_low(axis), size), extent(axis))))
    body += _places(site, local)
    body += [_load(site, local, field) for field in range(len(site.problem.program.fields))]
    steps: list[Stmt] = [Let(Var("left"), sub(sub(_LEVELS, 1), _T))]
    for stage, statements in enumerate(analyse(site.problem.program).stages):
        ranges = [_grown(shape, axis, Var("left"), stage) for axis in range(site.rank)]
        params = (_fields(), Var("own_size"), *site.params[2:])
        steps += [box_call(site, number, add(_BEGIN, _T), ranges, params) for number in statements]
    body.append(For(var=_T, low=Int(0), high=_LEVELS, body=tuple(steps)))
    updated = site.problem.program.updated
    body += [_store(site, local, f) for f, name in enumerate(site.problem.program.fields) if name in updated]
    return tuple(body)


def _grown(shape: Ghosts, axis: int, left: Expr, stage: int) -> tuple[Expr, Expr]:
    below, above = shape.below[axis], shape.above[axis]
    low = sub(sub(_low(axis), mul(left, below.period)), below.offsets[stage])
    return low, add(add(_high(axis), mul(left, above.period)), above.offsets[stage])


def _places(site: Site, local: _Local) -> list[Stmt]:
    """Where the thread's memory starts on the grid, and its pointers moved there."""
    problem, shape = site.problem, local.shape
    oldest = max(problem.program.history(field) for field in problem.program.fields)
    body: list[Stmt] = []
    moved: Expr = Int(0)
    for axis in range(site.rank):
        lows = [_grown(shape, axis, add(_LEVELS, oldest - 1), stage)[0] for stage in sorted(set(shape.stage_of))]
        low = lows[0]
        for other in lows[1:]:
            low = smallest(low, other)
        origin = Var(f"origin{axis}")
        body.append(Let(origin, largest(Int(0), low)))
        moved = add(moved, mul(origin, local.strides[axis])) if moved != Int(0) else mul(origin, local.strides[axis])
    body.append(Let(Var("moved"), moved))
    for field, start in enumerate(local.starts):
        place = sub(add(Var("ring"), start), Var("moved"))
        body.append(Store(_fields(), Int(field), place, f"pointer:{site.dtype}"))
    return body


def _grid_version(site: Site, field: int, side: Expr, age: int) -> Expr:
    """Pointer to cell zero of a version on the grid, by the set it is in."""
    program = site.problem.program
    base = Load(site.params[0], Int(field), f"pointer:{site.dtype}")
    if program.fields[field] not in program.updated:
        return base
    history = program.history(program.fields[field])
    number = select(side, Int(history - age), Int(-age % (2 * history)))
    return add(base, Op("mul", (number, _SLOT)))


def _own_version(site: Site, local: _Local, field: int, version: Expr) -> Expr:
    kept = analyse(site.problem.program).copies[field]
    base = Load(_fields(), Int(field), f"pointer:{site.dtype}")
    return base if kept == 1 else add(base, mul(Op("mod", (version, Int(kept))), local.slot))


def _copy(site: Site, local: _Local, ends: tuple[Var, Var], box: list[tuple[Expr, Expr]], *, load: bool) -> Stmt:
    """Copy a box between the grid and the thread's memory, row by row; ``ends`` are the grid's and the own version."""
    places = [Var(f"x{axis}") for axis in range(site.rank - 1)]
    rows: list[Expr] = []
    steps: tuple[list[Expr], ...] = ([stride(a) for a in range(site.rank - 1)], [Int(step) for step in local.strides])
    for end, strides in zip(ends, steps, strict=True):
        row: Expr = end
        for place, step in zip(places, strides, strict=False):
            row = add(row, Op("mul", (place, step)))
        rows.append(add(row, box[-1][0]))
    target, source = (rows[1], rows[0]) if load else (rows[0], rows[1])
    body: tuple[Stmt, ...] = (Call(f"copy:{site.dtype}", (target, source, sub(box[-1][1], box[-1][0]))),)
    for axis in range(site.rank - 2, -1, -1):
        body = (For(var=places[axis], low=box[axis][0], high=box[axis][1], body=body),)
    return Scope(body)


def _load(site: Site, local: _Local, field: int) -> Stmt:
    """Copy every version that the band starts from, and what never changes to the versions to come."""
    program, shape = site.problem.program, local.shape
    name, stage = program.fields[field], shape.stage_of[field]
    kept, pointer = analyse(program).copies[field], f"pointer:{site.dtype}"
    grid, own = Var("grid", f"array:{site.dtype}"), Var("own", pointer)
    body: list[Stmt] = []
    for age in range(program.history(name)):
        box: list[tuple[Expr, Expr]] = []
        lets: list[Stmt] = []
        for axis in range(site.rank):
            low, high = _grown(shape, axis, add(_LEVELS, age), stage)
            a, b = Var(f"a{axis}"), Var(f"b{axis}")
            lets += [Let(a, largest(Int(0), low)), Let(b, smallest(extent(axis), high))]
            box.append((a, b))
        lets += [
            Let(grid, _grid_version(site, field, _SIDE, age)),
            Let(own, _own_version(site, local, field, add(_BEGIN, -age % kept))),
        ]
        copy = [_copy(site, local, (grid, own), box, load=True)]
        if age == 0 and name in program.updated and _keeps_any(site, name):
            edge = _any([end for a, (low, high) in enumerate(box) for end in (_eq(low, Int(0)), _eq(high, extent(a)))])
            further = []
            for other in range(program.history(name), kept):
                later = Let(own, _own_version(site, local, field, add(_BEGIN, -other % kept)))
                further.append(Scope((later, _copy(site, local, (grid, own), box, load=True))))
            copy += [If(edge, tuple(further))] if further else []
        body.append(Scope((*lets, *copy)))
    return Scope(tuple(body))


def _keeps_any(site: Site, name: str) -> bool:
    """Whether some cells of a field are never updated."""
    statement = next(s for s in site.problem.program.statements if s.field == name)
    return any(low != Int(0) or high != extent(axis) for axis, (low, high) in enumerate(box_bounds(site, statement)))


def _eq(a: Expr, b: Expr) -> Expr:
    return Op("eq", (a, b))


def _any(tests: list[Expr]) -> Expr:
    found = tests[0]
    for test in tests[1:]:
        found = Op("or", (found, test))
    return found


def _store(site: Site, local: _Local, field: int) -> Stmt:
    """Copy a tile's own cells to the other set of versions."""
    program = site.problem.program
    kept = analyse(program).copies[field]
    grid, own = Var("grid", f"pointer:{site.dtype}"), Var("own", f"array:{site.dtype}")
    box: list[tuple[Expr, Expr]] = [(_low(axis), _high(axis)) for axis in range(site.rank)]
    body = []
    for age in range(program.history(program.fields[field])):
        lets = (
            Let(grid, _grid_version(site, field, sub(Int(1), _SIDE), age)),
            Let(own, _own_version(site, local, field, add(add(_BEGIN, _LEVELS), -age % kept))),
        )
        body.append(Scope((*lets, _copy(site, local, (grid, own), box, load=False))))
    return Scope(tuple(body))


def _last_places(site: Site) -> list[Stmt]:
    """Move the last versions to the slots of their numbers, where the last band's set is not these slots already."""
    program = site.problem.program
    body: list[Stmt] = []
    for field, name in enumerate(program.fields):
        if name not in program.updated:
            continue
        history = program.history(name)
        base = Var("base", f"pointer:{site.dtype}")
        side, here = Var("side"), Var("here")
        places = [Var(f"x{axis}") for axis in range(site.rank)]
        cell = total([mul(x, 1) if a == site.rank - 1 else Op("mul", (x, stride(a))) for a, x in enumerate(places)])
        values = [Var(f"value{age}", site.dtype) for age in range(history)]
        at = [
            add(here, Op("mul", (select(side, Int(history - a), Int(-a % (2 * history))), _SLOT)))
            for a in range(history)
        ]
        to = [add(here, Op("mul", (_version_slot(history, a), _SLOT))) for a in range(history)]
        nest: tuple[Stmt, ...] = (
            Let(here, cell),
            *(Let(value, Load(base, place, site.dtype)) for value, place in zip(values, at, strict=True)),
            *(Store(base, place, value, site.dtype) for value, place in zip(values, to, strict=True)),
        )
        for axis in range(site.rank - 1, -1, -1):
            share = "static" if axis == 0 else ""
            nest = (For(var=places[axis], low=Int(0), high=extent(axis), body=nest, share=share),)
        wrong = Op("ne", (Op("mod", (_STEPS, Int(2 * history))), mul(side, history)))
        lets = (
            Let(side, Op("mod", (_BANDS, Int(2)))),
            Let(base, Load(site.params[0], Int(field), f"pointer:{site.dtype}")),
        )
        body.append(Scope((*lets, If(wrong, nest))))
    return body


def _version_slot(history: int, age: int) -> Expr:
    return Op("mod", (add(_STEPS, 2 * history - age), Int(2 * history)))
