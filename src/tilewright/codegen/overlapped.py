"""Overlapped tiles in code: every thread copies a tile with its ghost zone to its own memory and advances it there.

The statements' kernels are those of every other family; they are handed pointers and strides of the thread's memory
in place of the grid's, moved so that cells keep their places on the grid.
"""

import itertools
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.intmath import round_up
from tilewright.codegen import ir
from tilewright.codegen.sites import Site, box_bounds, constants, extent, stride
from tilewright.codegen.statements import box_call
from tilewright.programs.dependences import analyse
from tilewright.programs.problem import Problem
from tilewright.tilings.catalogue import complete
from tilewright.tilings.overlapped import NAME, Ghosts, geometry, local_box
from tilewright.tilings.tiling import Tiling

_STEPS, _BANDS, _BAND, _SIDE = ir.Var("steps"), ir.Var("bands"), ir.Var("band"), ir.Var("side")
_BEGIN, _LEVELS, _TILE, _T = ir.Var("begin"), ir.Var("levels"), ir.Var("tile"), ir.Var("t")
_SLOT = ir.Var("slot")
_SIZES = ir.Var("own_size", ir.pointer(ir.INDEX))
"""Sizes of the thread's memory, as :func:`tilewright.codegen.sites.unpack` reads them."""


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


def overlapping_tiles(site: Site, tiling: Tiling) -> tuple[ir.Stmt, ...]:
    """Write the loops of an overlapped tiling: bands in sequence, their tiles shared by the threads."""
    tiling = complete(site.problem, tiling)
    local = _local(site.problem, tiling)
    ring = ir.Var("ring", ir.pointer(site.dtype))
    memory = ir.Load(site.params[3], ir.Int(len(constants(site.problem))), ir.const_pointer(site.dtype))
    numbers = [ir.Var(f"tiles{axis}") for axis in range(site.rank)]
    lets = [
        ir.Let(number, ir.ceildiv(extent(axis), size)) for axis, (number, size) in enumerate(_sizes(numbers, tiling))
    ]
    every: ir.Expr = numbers[0]
    for number in numbers[1:]:
        every = ir.mul(every, number)
    share = [ir.div(ir.mul(_STEPS, at), _BANDS) for at in (_BAND, ir.add(_BAND, 1))]
    tiles = ir.For(var=_TILE, low=ir.Int(0), high=every, body=_tile(site, tiling, local), share="dynamic")
    band = (ir.Let(_SIDE, ir.mod(_BAND, 2)), ir.Let(_BEGIN, share[0]), ir.Let(_LEVELS, ir.sub(share[1], _BEGIN)), tiles)
    own = ir.Let(ring, ir.add(ir.writable(memory), ir.mul(ir.THREAD, local.size)))
    return (
        ir.Comment(
            f"overlapped tiles of {'x'.join(map(str, tiling.space))} cells, bands of at most {tiling.time} steps"
        ),
        *lets,
        ir.Let(_BANDS, ir.ceildiv(_STEPS, tiling.time)),
        ir.Parallel(
            ir.Var("threads"),
            (own, *_rooms(site, local), ir.For(var=_BAND, low=ir.Int(0), high=_BANDS, body=band), *_last_places(site)),
        ),
    )


def _sizes(numbers: list[ir.Var], tiling: Tiling) -> list[tuple[ir.Var, int]]:
    return list(zip(numbers, tiling.space, strict=True))


def _fields(site: Site) -> ir.Var:
    return ir.Var("own_field", ir.pointer(ir.pointer(site.dtype)))


def _rooms(site: Site, local: _Local) -> tuple[ir.Stmt, ...]:
    """The arrays that describe the thread's memory to the statements' kernels, and what never changes in them."""
    sizes = _SIZES
    values: list[ir.Expr] = [_STEPS, ir.Int(1), *(extent(axis) for axis in range(site.rank))]
    values += [ir.Int(stride) for stride in local.strides[:-1]]
    values.append(ir.Int(local.slot))
    fields = _fields(site)
    return (
        ir.Array(fields, len(site.problem.program.fields)),
        ir.Array(sizes, len(values)),
        *(ir.Store(sizes, ir.Int(i), value, ir.INDEX) for i, value in enumerate(values)),
    )


def _low(axis: int) -> ir.Var:
    return ir.Var(f"low{axis}")


def _high(axis: int) -> ir.Var:
    return ir.Var(f"high{axis}")


def _tile(site: Site, tiling: Tiling, local: _Local) -> tuple[ir.Stmt, ...]:
    """Load a tile, advance it by the steps of the band, store its own cells."""
    shape, index = local.shape, _TILE
    body: list[ir.Stmt] = []
    rest: ir.Expr = index
    for axis in range(site.rank - 1, -1, -1):
        count, at = ir.Var(f"tiles{axis}"), ir.Var(f"tile{axis}")
        body.append(ir.Let(at, ir.mod(rest, count) if axis else rest))
        rest = ir.div(rest, count)
    for axis, size in enumerate(tiling.space):
        body.append(ir.Let(_low(axis), ir.mul(ir.Var(f"tile{axis}"), size)))
        body.append(ir.Let(_high(axis), ir.smallest(ir.add(_low(axis), size), extent(axis))))
    body += _places(site, local)
    body += [_load(site, local, field) for field in range(len(site.problem.program.fields))]
    steps: list[ir.Stmt] = [ir.Let(ir.Var("left"), ir.sub(ir.sub(_LEVELS, 1), _T))]
    for stage, statements in enumerate(analyse(site.problem.program).stages):
        ranges = [_grown(shape, axis, ir.Var("left"), stage) for axis in range(site.rank)]
        params = (_fields(site), _SIZES, *site.params[2:])
        steps += [box_call(site, number, ir.add(_BEGIN, _T), ranges, params) for number in statements]
    body.append(ir.For(var=_T, low=ir.Int(0), high=_LEVELS, body=tuple(steps)))
    updated = site.problem.program.updated
    body += [_store(site, local, f) for f, name in enumerate(site.problem.program.fields) if name in updated]
    return tuple(body)


def _grown(shape: Ghosts, axis: int, left: ir.Expr, stage: int) -> tuple[ir.Expr, ir.Expr]:
    below, above = shape.below[axis], shape.above[axis]
    low = ir.sub(ir.sub(_low(axis), ir.mul(left, below.period)), below.offsets[stage])
    return low, ir.add(ir.add(_high(axis), ir.mul(left, above.period)), above.offsets[stage])


def _places(site: Site, local: _Local) -> list[ir.Stmt]:
    """Where the thread's memory starts on the grid, and its pointers moved there."""
    problem, shape = site.problem, local.shape
    oldest = max(problem.program.history(field) for field in problem.program.fields)
    body: list[ir.Stmt] = []
    moved: ir.Expr = ir.Int(0)
    for axis in range(site.rank):
        lows = [_grown(shape, axis, ir.add(_LEVELS, oldest - 1), stage)[0] for stage in sorted(set(shape.stage_of))]
        low = lows[0]
        for other in lows[1:]:
            low = ir.smallest(low, other)
        origin = ir.Var(f"origin{axis}")
        body.append(ir.Let(origin, ir.largest(ir.Int(0), low)))
        moved = (
            ir.add(moved, ir.mul(origin, local.strides[axis]))
            if moved != ir.Int(0)
            else ir.mul(origin, local.strides[axis])
        )
    body.append(ir.Let(ir.Var("moved"), moved))
    for field, start in enumerate(local.starts):
        place = ir.sub(ir.add(ir.Var("ring", ir.pointer(site.dtype)), start), ir.Var("moved"))
        body.append(ir.Store(_fields(site), ir.Int(field), place, ir.pointer(site.dtype)))
    return body


def _grid_version(site: Site, field: int, side: ir.Expr, age: int) -> ir.Expr:
    """Pointer to cell zero of a version on the grid, by the set it is in."""
    program = site.problem.program
    base = ir.Load(site.params[0], ir.Int(field), ir.pointer(site.dtype))
    if program.fields[field] not in program.updated:
        return base
    history = program.history(program.fields[field])
    number = ir.select(side, ir.Int(history - age), ir.Int(-age % (2 * history)))
    return ir.add(base, ir.mul(number, _SLOT))


def _own_version(site: Site, local: _Local, field: int, version: ir.Expr) -> ir.Expr:
    kept = analyse(site.problem.program).copies[field]
    base = ir.Load(_fields(site), ir.Int(field), ir.pointer(site.dtype))
    return base if kept == 1 else ir.add(base, ir.mul(ir.mod(version, kept), local.slot))


def _copy(
    site: Site, local: _Local, ends: tuple[ir.Var, ir.Var], box: list[tuple[ir.Expr, ir.Expr]], *, load: bool
) -> ir.Stmt:
    """Copy a box between the grid and the thread's memory, row by row; ``ends`` are the grid's and the own version."""
    places = [ir.Var(f"x{axis}") for axis in range(site.rank - 1)]
    rows: list[ir.Expr] = []
    steps: tuple[list[ir.Expr], ...] = (
        [stride(a) for a in range(site.rank - 1)],
        [ir.Int(step) for step in local.strides],
    )
    for end, strides in zip(ends, steps, strict=True):
        row: ir.Expr = end
        for place, step in zip(places, strides, strict=False):
            row = ir.add(row, ir.mul(place, step))
        rows.append(ir.add(row, box[-1][0]))
    target, source = (rows[1], rows[0]) if load else (rows[0], rows[1])
    body: tuple[ir.Stmt, ...] = (ir.Intrinsic("copy", (target, source, ir.sub(box[-1][1], box[-1][0])), site.dtype),)
    for axis in range(site.rank - 2, -1, -1):
        body = (ir.For(var=places[axis], low=box[axis][0], high=box[axis][1], body=body),)
    return ir.Scope(body)


def _load(site: Site, local: _Local, field: int) -> ir.Stmt:
    """Copy every version that the band starts from, and what never changes to the versions to come."""
    program, shape = site.problem.program, local.shape
    name, stage = program.fields[field], shape.stage_of[field]
    kept, pointer = analyse(program).copies[field], ir.pointer(site.dtype)
    grid, own = ir.Var("grid", ir.const_pointer(site.dtype)), ir.Var("own", pointer)
    body: list[ir.Stmt] = []
    for age in range(program.history(name)):
        box: list[tuple[ir.Expr, ir.Expr]] = []
        lets: list[ir.Stmt] = []
        for axis in range(site.rank):
            low, high = _grown(shape, axis, ir.add(_LEVELS, age), stage)
            a, b = ir.Var(f"a{axis}"), ir.Var(f"b{axis}")
            lets += [ir.Let(a, ir.largest(ir.Int(0), low)), ir.Let(b, ir.smallest(extent(axis), high))]
            box.append((a, b))
        lets += [
            ir.Let(grid, _grid_version(site, field, _SIDE, age)),
            ir.Let(own, _own_version(site, local, field, ir.add(_BEGIN, -age % kept))),
        ]
        copy = [_copy(site, local, (grid, own), box, load=True)]
        if age == 0 and name in program.updated and _keeps_any(site, name):
            edge = _any(
                [end for a, (low, high) in enumerate(box) for end in (_eq(low, ir.Int(0)), _eq(high, extent(a)))]
            )
            further = []
            for other in range(program.history(name), kept):
                later = ir.Let(own, _own_version(site, local, field, ir.add(_BEGIN, -other % kept)))
                further.append(ir.Scope((later, _copy(site, local, (grid, own), box, load=True))))
            copy += [ir.If(edge, tuple(further))] if further else []
        body.append(ir.Scope((*lets, *copy)))
    return ir.Scope(tuple(body))


def _keeps_any(site: Site, name: str) -> bool:
    """Whether some cells of a field are never updated."""
    statement = next(s for s in site.problem.program.statements if s.field == name)
    return any(low != ir.Int(0) or high != extent(axis) for axis, (low, high) in enumerate(box_bounds(site, statement)))


def _eq(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.eq(a, b)


def _any(tests: list[ir.Expr]) -> ir.Expr:
    found = tests[0]
    for test in tests[1:]:
        found = ir.or_(found, test)
    return found


def _store(site: Site, local: _Local, field: int) -> ir.Stmt:
    """Copy a tile's own cells to the other set of versions."""
    program = site.problem.program
    kept = analyse(program).copies[field]
    grid, own = ir.Var("grid", ir.pointer(site.dtype)), ir.Var("own", ir.const_pointer(site.dtype))
    box: list[tuple[ir.Expr, ir.Expr]] = [(_low(axis), _high(axis)) for axis in range(site.rank)]
    body = []
    for age in range(program.history(program.fields[field])):
        lets = (
            ir.Let(grid, _grid_version(site, field, ir.sub(ir.Int(1), _SIDE), age)),
            ir.Let(own, _own_version(site, local, field, ir.add(ir.add(_BEGIN, _LEVELS), -age % kept))),
        )
        body.append(ir.Scope((*lets, _copy(site, local, (grid, own), box, load=False))))
    return ir.Scope(tuple(body))


def _last_places(site: Site) -> list[ir.Stmt]:
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
        cell = ir.total([ir.mul(x, 1) if a == site.rank - 1 else ir.mul(x, stride(a)) for a, x in enumerate(places)])
        values = [ir.Var(f"value{age}", site.dtype) for age in range(history)]
        at = [
            ir.add(here, ir.mul(ir.select(side, ir.Int(history - a), ir.Int(-a % (2 * history))), _SLOT))
            for a in range(history)
        ]
        to = [ir.add(here, ir.op(ir.Operator.MUL, _version_slot(history, a), _SLOT)) for a in range(history)]
        nest: tuple[ir.Stmt, ...] = (
            ir.Let(here, cell),
            *(ir.Let(value, ir.Load(base, place, site.dtype)) for value, place in zip(values, at, strict=True)),
            *(ir.Store(base, place, value, site.dtype) for value, place in zip(values, to, strict=True)),
        )
        for axis in range(site.rank - 1, -1, -1):
            share = "static" if axis == 0 else ""
            nest = (ir.For(var=places[axis], low=ir.Int(0), high=extent(axis), body=nest, share=share),)
        wrong = ir.ne(ir.mod(_STEPS, 2 * history), ir.mul(side, history))
        lets = (
            ir.Let(side, ir.mod(_BANDS, 2)),
            ir.Let(base, ir.Load(site.params[0], ir.Int(field), ir.pointer(site.dtype))),
        )
        body.append(ir.Scope((*lets, ir.If(wrong, nest))))
    return body


def _version_slot(history: int, age: int) -> ir.Expr:
    return ir.mod(ir.add(_STEPS, 2 * history - age), 2 * history)
