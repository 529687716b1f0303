"""Tilings -> the loops around the statements' kernels: in which order, and by which thread, boxes are computed."""

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen import ir
from tilewright.codegen.faces import face_grown, face_note
from tilewright.codegen.overlapped import overlapping_tiles
from tilewright.codegen.sites import Site, box_bounds, extent, unpack
from tilewright.codegen.skewed import leaning_tiles
from tilewright.codegen.statements import box_call, cells_name
from tilewright.codegen.untiled import sweeps
from tilewright.programs.dependences import analyse
from tilewright.tilings import overlapped, skewed
from tilewright.tilings.catalogue import complete
from tilewright.tilings.prism import DIAMOND, Prism, geometry
from tilewright.tilings.tiling import Tiling

STEPS, THREADS = ir.Var("steps"), ir.Var("threads")


def entry_function(site: Site, tiling: Tiling, name: str) -> ir.Function:
    """The exported function that advances the fields by ``size[0]`` steps with ``size[1]`` threads.

    Raises:
        IllegalTilingError: If the family has no schedule for processors.
    """
    if analyse(site.problem.program).sweep:
        body = _recurrence(site)
    elif tiling.family == "none":
        body = sweeps(site)
    elif tiling.family in {"hexagonal", "hybrid", DIAMOND}:
        body = _hexagons(site, tiling)
    elif tiling.family == skewed.NAME:
        body = leaning_tiles(site, tiling, _stages)
    elif tiling.family == overlapped.NAME:
        body = overlapping_tiles(site, tiling)
    else:
        raise IllegalTilingError(
            f"no processor code is made for the tiling family {tiling.family!r}", "use none, hexagonal or hybrid"
        )
    sizes = (
        ir.Let(STEPS, ir.Load(site.params[1], ir.Int(0), ir.INDEX)),
        ir.Let(THREADS, ir.Load(site.params[1], ir.Int(1), ir.INDEX)),
    )
    return ir.Function(name=name, params=site.params, body=(*sizes, *unpack(site), *body), kind="entry")


def _recurrence(site: Site) -> tuple[ir.Stmt, ...]:
    """One thread, cell after cell in lexicographic order."""
    step = ir.Var("t")
    body: list[ir.Stmt] = []
    for stage in analyse(site.problem.program).stages:
        for number in stage:
            statement = site.problem.program.statements[number]
            bounds = box_bounds(site, statement)
            places = tuple(ir.Var(f"x{axis}") for axis in range(site.rank - 1))
            nest: tuple[ir.Stmt, ...] = (ir.Call(cells_name(site, number), (*site.params, step, *places, *bounds[-1])),)
            for axis in range(site.rank - 2, -1, -1):
                nest = (ir.For(var=places[axis], low=bounds[axis][0], high=bounds[axis][1], body=nest),)
            body += nest
    return (ir.For(var=step, low=ir.Int(0), high=STEPS, body=tuple(body)),)


def _hexagons(site: Site, tiling: Tiling) -> tuple[ir.Stmt, ...]:
    """Wavefronts of hexagons or diamonds on (time, axis 0), classic tiles on the other axes in sequence inside each.

    Two colours of them alternate; the tiles of a wavefront are independent, so threads share them and meet in
    one barrier. Inside a classic tile the rows of the hexagon follow each other in time.
    """
    cut = geometry(site.problem, complete(site.problem, tiling))
    hexagon = cut.hexagon
    wave, phase, colour, origin = ir.Var("wave"), ir.Var("phase"), ir.Var("colour"), ir.Var("origin")
    total, tile = ir.Var("total"), ir.Var("tile")
    phases = ir.ceildiv(ir.add(total, hexagon.half), hexagon.height)
    left = [hexagon.space_origin(c, 0) for c in (0, 1)]
    overhang = hexagon.overhang
    lets = (
        ir.Let(phase, ir.div(wave, 2)),
        ir.Let(colour, ir.mod(wave, 2)),
        ir.Let(origin, ir.select(colour, ir.Int(left[1]), ir.Int(left[0]))),
        ir.Let(
            ir.Var("start"), ir.sub(ir.mul(phase, hexagon.height), ir.select(colour, ir.Int(0), ir.Int(hexagon.half)))
        ),
        ir.Let(
            ir.Var("past"), ir.floordiv(ir.sub(ir.add(extent(0), hexagon.pitch - 1 + overhang), origin), hexagon.pitch)
        ),
    )
    tiles = ir.For(
        var=tile,
        low=ir.Int(0),
        high=ir.Var("past"),
        body=_tile(site, cut),
        share="dynamic",
    )
    waves = ir.For(var=wave, low=ir.Int(0), high=ir.mul(phases, 2), body=(*lets, tiles))
    return (
        ir.Comment(face_note(hexagon)),
        ir.Let(total, ir.mul(STEPS, cut.stages)),
        ir.Parallel(THREADS, (waves,)),
    )


def _tile(site: Site, cut: Prism) -> tuple[ir.Stmt, ...]:
    hexagon = cut.hexagon
    tau, row, grow, left = ir.Var("tau"), ir.Var("row"), ir.Var("grow"), ir.Var("left")
    start = ir.Var("start")
    ranges: list[tuple[ir.Expr, ir.Expr]] = [(ir.sub(left, grow), ir.add(ir.add(left, hexagon.base), grow))]
    lets: list[ir.Stmt] = [
        ir.Let(row, ir.sub(tau, start)),
        ir.Let(grow, face_grown(hexagon, row)),
    ]
    for axis, skew in enumerate(cut.skews, 1):
        low = ir.Var(f"from{axis}")
        lets.append(ir.Let(low, ir.sub(ir.mul(ir.Var(f"classic{axis}"), skew.size), ir.mul(row, skew.slope))))
        ranges.append((low, ir.add(low, skew.size)))
    nest: tuple[ir.Stmt, ...] = (
        ir.For(
            var=tau,
            low=ir.largest(start, ir.Int(0)),
            high=ir.smallest(ir.add(start, hexagon.height), ir.Var("total")),
            body=(*lets, *_stages(site, tau, ranges)),
        ),
    )
    for axis in range(len(cut.skews), 0, -1):
        skew = cut.skews[axis - 1]
        tiles = ir.ceildiv(ir.add(extent(axis), skew.slope * (hexagon.height - 1)), skew.size)
        nest = (ir.For(var=ir.Var(f"classic{axis}"), low=ir.Int(0), high=tiles, body=nest),)
    return (ir.Let(left, ir.add(ir.mul(ir.Var("tile"), hexagon.pitch), ir.Var("origin"))), *nest)


def _stages(site: Site, tau: ir.Expr, ranges: list[tuple[ir.Expr, ir.Expr]]) -> tuple[ir.Stmt, ...]:
    """The statements of a logical step over a box."""
    stages = analyse(site.problem.program).stages
    step = ir.Var("t")
    lets: list[ir.Stmt] = [ir.Let(step, ir.div(tau, len(stages)) if len(stages) > 1 else tau)]
    if len(stages) == 1:
        return (*lets, *(box_call(site, number, step, ranges) for number in stages[0]))
    stage = ir.Var("stage")
    lets.append(ir.Let(stage, ir.mod(tau, len(stages))))
    for index, numbers in enumerate(stages):
        calls = tuple(box_call(site, number, step, ranges) for number in numbers)
        lets.append(ir.If(ir.eq(stage, index), calls))
    return tuple(lets)
