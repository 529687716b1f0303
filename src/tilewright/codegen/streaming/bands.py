"""The streaming family in code: bands of steps one after the other, the tiles of a band shared by the threads."""

from dataclasses import replace

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen import ir, points
from tilewright.codegen.sites import Site, own_memory, unpack
from tilewright.codegen.streaming.borders import border_function, brim_function, has_borders
from tilewright.codegen.streaming.copies import ahead_function, fetch_function, load_function, store_function
from tilewright.codegen.streaming.ends import ends_function
from tilewright.codegen.streaming.layout import StreamingContext, cut, make_plan, parts
from tilewright.codegen.streaming.points import stream_function
from tilewright.codegen.streaming.stages import stage_functions, variants
from tilewright.codegen.streaming.tile import tile_function
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.streaming.levels import line_cells, of_problem
from tilewright.schedules.tiling import Tiling

STEPS, THREADS = ir.Var("steps"), ir.Var("threads")


def streams(tiling: Tiling) -> bool:
    """Whether a tiling is of this family."""
    return tiling.family.streams


def copies(problem: Problem) -> tuple[int, ...]:
    """Versions per field: two sets that bands read and write in turn; one for fields that are never updated."""
    updated = problem.program.updated
    most = 2 * max(of_problem(problem).history)
    return tuple(most if field in updated else 1 for field in problem.program.fields)


def scratch_bytes(site: Site, tiling: Tiling) -> int:
    """Memory that every thread needs."""
    return make_plan(site, tiling).scratch_bytes


def place_margin(site: Site, tiling: Tiling) -> int:
    """Numbers before and after a table of what depends on the cell's place alone that tiles may read."""
    return make_plan(site, tiling).margin


def row_cells(site: Site, tiling: Tiling) -> int:
    """Cells of a tile's rows, its neighbours' cells included."""
    return make_plan(site, tiling).width


def streaming_functions(site: Site, tiling: Tiling, name: str) -> tuple[ir.Function, ...]:
    """Every function of a streaming kernel, callees first."""
    if tiling.threads:
        raise IllegalTilingError(
            f"a streaming tiling with threads is one for GPUs, got {str(tiling)!r}", "leave threads out on a CPU"
        )
    plan = make_plan(site, tiling)
    fields = range(len(plan.fields))
    result = [ends_function(plan, field) for field in fields]
    for field in fields:
        if plan.rank == 3:
            result.append(brim_function(plan, field))
        if has_borders(plan, field):
            result.append(border_function(plan, field))
    updated = [field for field in fields if plan.fields[field] in site.problem.program.updated]
    result.append(fetch_function(plan))
    if plan.rank == 2:
        result += [ahead_function(plan, field) for field in fields if plan.part(field) is None]
    result += [load_function(plan, field) for field in fields]
    result += [store_function(plan, field) for field in updated]
    result += [stream_function(plan, field) for field in updated if points.touches(site.problem, plan.fields[field])]
    stages = range(len(plan.pipeline.stages))
    result += [each for stage in stages for each in stage_functions(plan, stage)]
    result += [each for stage in stages for _, some in variants(plan, stage) for each in stage_functions(some, stage)]
    return (*_apart(plan, [*result, tile_function(plan)]), _entry(plan, name))


def _apart(plan: StreamingContext, functions: list[ir.Function]) -> tuple[ir.Function, ...]:
    """Keep functions as they are written: left to itself, gcc makes one of all and takes twice as long.

    The short one at the ends of a row stays inline where the body does not say otherwise.
    """
    apart = plan.site.body.ends_apart
    return tuple(each if each.kind == "inline" and not apart else replace(each, kind="apart") for each in functions)


def _entry(plan: StreamingContext, name: str) -> ir.Function:
    """The exported function: bands one after the other, tiles of a band shared by the threads."""
    site = plan.site
    band, bands = ir.Var("band"), ir.Var("bands")
    ring = ir.Var("ring", ir.pointer(site.dtype))
    memory = ir.Load(site.params[3], ir.Int(own_memory(site)), ir.const_pointer(site.dtype))
    own = ir.THREAD * (plan.scratch_bytes // site.problem.itemsize)
    body = (
        ir.Let(STEPS, ir.Load(site.params[1], ir.Int(0), ir.INDEX)),
        ir.Let(THREADS, ir.Load(site.params[1], ir.Int(1), ir.INDEX)),
        *unpack(site),
        *_bands(plan, bands),
        *_counts(plan),
        ir.Parallel(
            THREADS,
            (
                ir.Let(ring, ir.writable(memory) + own),
                ir.For(var=band, low=ir.Int(0), high=bands, body=(_tiles(plan, band, bands),)),
            ),
        ),
    )
    about = f"Bands of at most {plan.levels} steps, one after the other; the threads share the tiles of a band."
    return ir.Function(name=name, params=site.params, body=body, kind="entry", about=about)


def _bands(plan: StreamingContext, bands: ir.Var) -> tuple[ir.Stmt, ...]:
    """Count the bands; their number is odd or even as :func:`tilewright.schedules.families.streaming.bands` says."""
    fewest = ir.Var("fewest")
    slot = STEPS % (2 * plan.sides)
    odd = (slot >= 1) & (slot <= plan.sides)
    more = (fewest + odd) % 2
    return (ir.Let(fewest, ir.ceildiv(STEPS, plan.levels)), ir.Let(bands, fewest + more))


def _grid(plan: StreamingContext) -> tuple[tuple[ir.Expr, ir.Var, int], ...]:
    """Per axis its extent, its number of tiles, and the cells by which tiles can differ."""
    rank = plan.site.rank
    extents: list[ir.Expr] = [ir.Var(f"n{axis}") for axis in range(rank)] if rank > 1 else [ir.Int(1), ir.Var("n0")]
    units = [1] * (plan.rank - 1) + [line_cells(plan.site.problem)]
    return tuple(
        (extent, ir.Var(f"tiles{axis}"), unit) for axis, (extent, unit) in enumerate(zip(extents, units, strict=True))
    )


def _counts(plan: StreamingContext) -> tuple[ir.Stmt, ...]:
    lets = [
        ir.Let(number, parts(extent, size, unit))
        for (extent, number, unit), size in zip(_grid(plan), plan.space, strict=True)
    ]
    total: ir.Expr = lets[0].var
    for let in lets[1:]:
        total = ir.op(ir.Operator.MUL, total, let.var)
    return (*lets, ir.Let(ir.Var("count"), total))


def _tiles(plan: StreamingContext, band: ir.Var, bands: ir.Var) -> ir.Stmt:
    """The tiles of a band: the innermost axis changes fastest."""
    index: ir.Expr = ir.Var("tile")
    lets: list[ir.Stmt] = []
    bounds: list[ir.Expr] = []
    for axis, (extent, number, unit) in reversed(list(enumerate(_grid(plan)))):
        at = ir.Var(f"tile{axis}")
        lets.append(ir.Let(at, (index % number) if axis else index))
        index = index / number
        bounds = [cut(extent, number, at, unit), cut(extent, number, at + 1, unit), *bounds]
    if plan.rank == 2:
        bounds = [*bounds[:2], ir.Int(0), ir.Int(1), *bounds[2:]]
    begin, end = _share(band, bands), _share(band + 1, bands)
    args = (
        *plan.site.params,
        ir.Var("ring", ir.pointer(plan.site.dtype)),
        band % 2,
        begin,
        end - begin,
        *bounds,
    )
    call = ir.Call(plan.name("tile"), args)
    return ir.For(var=ir.Var("tile"), low=ir.Int(0), high=ir.Var("count"), body=(*lets, call), share="dynamic")


def _share(index: ir.Expr, count: ir.Expr) -> ir.Expr:
    """The steps done when a band starts."""
    return ir.op(ir.Operator.MUL, STEPS, index) / count
