"""Tilings -> the loops around the statements' kernels: in which order, and by which thread, boxes are computed."""

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen.faces import face_grown, face_note
from tilewright.codegen.ir import (
    Call,
    Comment,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
    Op,
    Parallel,
    Stmt,
    Var,
    add,
    largest,
    mul,
    select,
    smallest,
    sub,
)
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

STEPS, THREADS = Var("steps"), Var("threads")


def entry_function(site: Site, tiling: Tiling, name: str) -> Function:
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
        Let(STEPS, Load(Var("size"), Int(0), "index")),
        Let(THREADS, Load(Var("size"), Int(1), "index")),
    )
    return Function(name=name, params=site.params, body=(*sizes, *unpack(site), *body), kind="entry")


def _recurrence(site: Site) -> tuple[Stmt, ...]:
    """One thread, cell after cell in lexicographic order."""
    step = Var("t")
    body: list[Stmt] = []
    for stage in analyse(site.problem.program).stages:
        for number in stage:
            statement = site.problem.program.statements[number]
            bounds = box_bounds(site, statement)
            places = tuple(Var(f"x{axis}") for axis in range(site.rank - 1))
            nest: tuple[Stmt, ...] = (Call(cells_name(site, number), (*site.params, step, *places, *bounds[-1])),)
            for axis in range(site.rank - 2, -1, -1):
                nest = (For(var=places[axis], low=bounds[axis][0], high=bounds[axis][1], body=nest),)
            body += nest
    return (For(var=step, low=Int(0), high=STEPS, body=tuple(body)),)


def _hexagons(site: Site, tiling: Tiling) -> tuple[Stmt, ...]:
    """Wavefronts of hexagons or diamonds on (time, axis 0), classic tiles on the other axes in sequence inside each.

    Two colours of them alternate; the tiles of a wavefront are independent, so threads share them and meet in
    one barrier. Inside a classic tile the rows of the hexagon follow each other in time.
    """
    cut = geometry(site.problem, complete(site.problem, tiling))
    hexagon = cut.hexagon
    wave, phase, colour, origin = Var("wave"), Var("phase"), Var("colour"), Var("origin")
    total, tile = Var("total"), Var("tile")
    phases = Op("ceildiv", (add(total, hexagon.half), Int(hexagon.height)))
    left = [hexagon.space_origin(c, 0) for c in (0, 1)]
    overhang = hexagon.overhang
    lets = (
        Let(phase, Op("div", (wave, Int(2)))),
        Let(colour, Op("mod", (wave, Int(2)))),
        Let(origin, select(colour, Int(left[1]), Int(left[0]))),
        Let(Var("start"), sub(mul(phase, hexagon.height), select(colour, Int(0), Int(hexagon.half)))),
        Let(
            Var("past"), Op("floordiv", (sub(add(extent(0), hexagon.pitch - 1 + overhang), origin), Int(hexagon.pitch)))
        ),
    )
    tiles = For(
        var=tile,
        low=Int(0),
        high=Var("past"),
        body=_tile(site, cut),
        share="dynamic",
    )
    waves = For(var=wave, low=Int(0), high=mul(phases, 2), body=(*lets, tiles))
    return (
        Comment(face_note(hexagon)),
        Let(total, mul(STEPS, cut.stages)),
        Parallel(THREADS, (waves,)),
    )


def _tile(site: Site, cut: Prism) -> tuple[Stmt, ...]:
    hexagon = cut.hexagon
    tau, row, grow, left = Var("tau"), Var("row"), Var("grow"), Var("left")
    start = Var("start")
    ranges: list[tuple[Expr, Expr]] = [(sub(left, grow), add(add(left, hexagon.base), grow))]
    lets: list[Stmt] = [
        Let(row, sub(tau, start)),
        Let(grow, face_grown(hexagon, row)),
    ]
    for axis, skew in enumerate(cut.skews, 1):
        low = Var(f"from{axis}")
        lets.append(Let(low, sub(mul(Var(f"classic{axis}"), skew.size), mul(row, skew.slope))))
        ranges.append((low, add(low, skew.size)))
    nest: tuple[Stmt, ...] = (
        For(
            var=tau,
            low=largest(start, Int(0)),
            high=smallest(add(start, hexagon.height), Var("total")),
            body=(*lets, *_stages(site, tau, ranges)),
        ),
    )
    for axis in range(len(cut.skews), 0, -1):
        skew = cut.skews[axis - 1]
        tiles = Op("ceildiv", (add(extent(axis), skew.slope * (hexagon.height - 1)), Int(skew.size)))
        nest = (For(var=Var(f"classic{axis}"), low=Int(0), high=tiles, body=nest),)
    return (Let(left, add(mul(Var("tile"), hexagon.pitch), Var("origin"))), *nest)


def _stages(site: Site, tau: Expr, ranges: list[tuple[Expr, Expr]]) -> tuple[Stmt, ...]:
    """The statements of a logical step over a box."""
    stages = analyse(site.problem.program).stages
    step = Var("t")
    lets: list[Stmt] = [Let(step, Op("div", (tau, Int(len(stages)))) if len(stages) > 1 else tau)]
    if len(stages) == 1:
        return (*lets, *(box_call(site, number, step, ranges) for number in stages[0]))
    stage = Var("stage")
    lets.append(Let(stage, Op("mod", (tau, Int(len(stages))))))
    for index, numbers in enumerate(stages):
        calls = tuple(box_call(site, number, step, ranges) for number in numbers)
        lets.append(If(Op("eq", (stage, Int(index))), calls))
    return tuple(lets)
