"""The streaming family in code: bands of steps one after the other, the tiles of a band shared by the threads."""

from dataclasses import replace

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen.borders import border_function, brim_function, has_borders
from tilewright.codegen.ir import (
    Call,
    Expr,
    For,
    Function,
    Int,
    Let,
    Load,
    Op,
    Parallel,
    Stmt,
    Var,
    add,
    sub,
)
from tilewright.codegen.pipeline import Plan, cut, make_plan, parts
from tilewright.codegen.row_ends import ends_function
from tilewright.codegen.row_kernel import stage_functions
from tilewright.codegen.sites import Site, constants, unpack
from tilewright.codegen.stream_io import ahead_function, fetch_function, load_function, store_function
from tilewright.codegen.stream_tile import tile_function
from tilewright.programs.problem import Problem
from tilewright.tilings.pipeline import line_cells, of_problem
from tilewright.tilings.tiling import Tiling

STEPS, THREADS = Var("steps"), Var("threads")


def streams(tiling: Tiling) -> bool:
    """Whether a tiling is of this family."""
    return tiling.family == "streaming"


def copies(problem: Problem) -> tuple[int, ...]:
    """Versions per field: two sets that bands read and write in turn; one for fields that are never updated."""
    updated = problem.program.updated
    most = 2 * max(of_problem(problem).history)
    return tuple(most if field in updated else 1 for field in problem.program.fields)


def scratch_bytes(site: Site, tiling: Tiling) -> int:
    """Memory that every thread needs."""
    return make_plan(site, tiling).scratch_bytes


def row_cells(site: Site, tiling: Tiling) -> int:
    """Cells of a tile's rows, its neighbours' cells included."""
    return make_plan(site, tiling).widest


def streaming_functions(site: Site, tiling: Tiling, name: str) -> tuple[Function, ...]:
    """Every function of a streaming kernel, callees first.

    Raises:
        IllegalTilingError: If the tiling is one of a GPU's thread blocks.
    """
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
        result += [ahead_function(plan, field) for field in fields]
    result += [load_function(plan, field) for field in fields]
    result += [store_function(plan, field) for field in updated]
    result += [each for stage in range(len(plan.pipeline.stages)) for each in stage_functions(plan, stage)]
    return (*_apart(plan, [*result, tile_function(plan)]), _entry(plan, name))


def _apart(plan: Plan, functions: list[Function]) -> tuple[Function, ...]:
    """Keep functions as they are written: left to itself, gcc makes one of all and takes twice as long.

    The short one at the ends of a row stays inline where the body does not say otherwise.
    """
    apart = plan.site.body.ends_apart
    return tuple(each if each.kind == "inline" and not apart else replace(each, kind="apart") for each in functions)


def _entry(plan: Plan, name: str) -> Function:
    """The exported function: bands one after the other, tiles of a band shared by the threads."""
    site = plan.site
    band, bands = Var("band"), Var("bands")
    ring = Var("ring", f"pointer:{site.dtype}")
    memory = Load(site.params[3], Int(len(constants(site.problem))), f"array:{site.dtype}")
    own = Op("mul", (Op("thread", ()), Int(plan.scratch_bytes // site.problem.itemsize)))
    body = (
        Let(STEPS, Load(Var("size"), Int(0), "index")),
        Let(THREADS, Load(Var("size"), Int(1), "index")),
        *unpack(site),
        *_bands(plan, bands),
        *_counts(plan),
        Parallel(
            THREADS,
            (
                Let(ring, add(Op("writable", (memory,), site.dtype), own)),
                For(var=band, low=Int(0), high=bands, body=(_tiles(plan, band, bands),)),
            ),
        ),
    )
    about = f"Bands of at most {plan.levels} steps, one after the other; the threads share the tiles of a band."
    return Function(name=name, params=site.params, body=body, kind="entry", about=about)


def _bands(plan: Plan, bands: Var) -> tuple[Stmt, ...]:
    """Count the bands; their number is odd or even as ``tilings.streaming.bands`` says."""
    fewest = Var("fewest")
    slot = Op("mod", (STEPS, Int(2 * plan.sides)))
    odd = Op("and", (Op("ge", (slot, Int(1))), Op("le", (slot, Int(plan.sides)))))
    more = Op("mod", (add(fewest, odd), Int(2)))
    return (Let(fewest, Op("ceildiv", (STEPS, Int(plan.levels)))), Let(bands, add(fewest, more)))


def _grid(plan: Plan) -> tuple[tuple[Expr, Var, int], ...]:
    """Per axis its extent, its number of tiles, and the cells by which tiles can differ."""
    rank = plan.site.rank
    extents: list[Expr] = [Var(f"n{axis}") for axis in range(rank)] if rank > 1 else [Int(1), Var("n0")]
    units = [1] * (plan.rank - 1) + [line_cells(plan.site.problem)]
    return tuple(
        (extent, Var(f"tiles{axis}"), unit) for axis, (extent, unit) in enumerate(zip(extents, units, strict=True))
    )


def _counts(plan: Plan) -> tuple[Stmt, ...]:
    lets = [
        Let(number, parts(extent, size, unit))
        for (extent, number, unit), size in zip(_grid(plan), plan.space, strict=True)
    ]
    total: Expr = lets[0].var
    for let in lets[1:]:
        total = Op("mul", (total, let.var))
    return (*lets, Let(Var("count"), total))


def _tiles(plan: Plan, band: Var, bands: Var) -> Stmt:
    """The tiles of a band: the innermost axis changes fastest."""
    index: Expr = Var("tile")
    lets: list[Stmt] = []
    bounds: list[Expr] = []
    for axis, (extent, number, unit) in reversed(list(enumerate(_grid(plan)))):
        at = Var(f"tile{axis}")
        lets.append(Let(at, Op("mod", (index, number)) if axis else index))
        index = Op("div", (index, number))
        bounds = [cut(extent, number, at, unit), cut(extent, number, add(at, 1), unit), *bounds]
    if plan.rank == 2:
        bounds = [*bounds[:2], Int(0), Int(1), *bounds[2:]]
    begin, end = _share(band, bands), _share(add(band, 1), bands)
    args = (*plan.site.params, Var("ring"), Op("mod", (band, Int(2))), begin, sub(end, begin), *bounds)
    call = Call(plan.name("tile"), args)
    return For(var=Var("tile"), low=Int(0), high=Var("count"), body=(*lets, call), share="dynamic")


def _share(index: Expr, count: Expr) -> Expr:
    """The steps done when a band starts."""
    return Op("div", (Op("mul", (STEPS, index)), count))
