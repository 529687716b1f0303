"""The loops of every family of tilings, by dimensions: entries on CPUs, kernels on GPUs."""

from tilewright.codegen.export import HostRun, banner, header, host_program
from tilewright.codegen.gpu.emit import emit_device, launches
from tilewright.driver import emit_tilings
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import NONE, parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

from .programs import STENCILS
from .shown import ENDINGS, SHAPES, STEPS, Case, stencil

_1D, _2D, _3D = "t=2,s=4", "t=2,s=4x16,rows=1", "t=2,s=4x8x16,rows=1"


def _exported() -> str:
    """The header of a kernel that is exported, below the comment on its text."""
    problem = make_problem(STENCILS["forced"], SHAPES[2], STEPS, boundary="constant:0.5")
    tiling = catalogue.complete(problem, parse("streaming:t=2,s=8x16,rows=1"))
    source = emit_tilings([(problem, tiling)])
    return banner(problem, tiling, "12 us, bound by memory") + header(source, problem, tiling)


def _two_kernels() -> str:
    """Two kernels of one unit, as calibration compiles them."""
    problem = make_problem(program("jacobi1d"), SHAPES[1], STEPS)
    return emit_tilings([(problem, catalogue.complete(problem, parse(f"hexagonal:{_1D}"))), (problem, NONE)]).text


def _host(dialect: str) -> str:
    """The host program around exported kernels, whose tiles of one dimension take turns."""
    problem = make_problem(program("jacobi1d"), SHAPES[1], STEPS)
    schedule = gpu_schedule(problem, catalogue.complete(problem, parse("hexagonal:t=2,s=4")))
    source = emit_device(problem, schedule, dialect)
    steps = list(launches(problem, schedule, 2))
    run = HostRun(
        problem=problem,
        shape=problem.shape,
        below=(0,),
        room=problem.shape,
        slot=problem.shape[0],
        steps=STEPS,
        newest=STEPS,
        turns=STEPS // 2,
        repeated=steps,
        rest=[],
        scalars=[],
        table=None,
    )
    return host_program(source, run, f"kernels{ENDINGS[dialect]}")


CPU = (
    # one function per piece of work: cells one by one, boxes of short and long rows, and the entry
    stencil("tilings/jacobi1d_none", "jacobi1d", "none"),
    stencil("tilings/jacobi1d_hexagonal", "jacobi1d", f"hexagonal:{_1D}", "entry"),
    stencil("tilings/jacobi1d_skewed", "jacobi1d", "skewed:t=2,s=8", "entry"),
    stencil("tilings/jacobi1d_diamond", "jacobi1d", "diamond:t=4,s=8", "entry"),
    stencil("tilings/jacobi1d_streaming", "jacobi1d", "streaming:t=2,s=32", "entry", "tile", "stage_0"),
    stencil("tilings/jacobi2d_none", "jacobi2d", "none", "entry"),
    stencil("tilings/jacobi2d_none_four_rows", "jacobi2d", "none", "box_0_short"),
    stencil("tilings/jacobi2d_hybrid", "jacobi2d", f"hybrid:{_2D}"),
    stencil("tilings/jacobi2d_hybrid_two_rows", "jacobi2d", "hybrid:t=2,s=4x16,rows=2", "box_0_short"),
    stencil("tilings/jacobi2d_skewed", "jacobi2d", "skewed:t=2,s=8x8,rows=1", "entry"),
    stencil("tilings/jacobi2d_skewed_sub_tiles", "jacobi2d", "skewed:t=4,s=16x16,sub=4x8,rows=1", "entry"),
    stencil("tilings/jacobi2d_diamond", "jacobi2d", "diamond:t=4,s=8x8,rows=1", "entry"),
    stencil("tilings/jacobi2d_streaming", "jacobi2d", "streaming:t=2,s=8x16,rows=1"),
    stencil("tilings/jacobi2d_streaming_two_rows", "jacobi2d", "streaming:t=2,s=8x16,rows=2", "stage_0"),
    stencil("tilings/jacobi2d_streaming_one_level", "jacobi2d", "streaming:t=1,s=8x16,rows=1", "entry", "tile"),
    stencil("tilings/laplacian3d_none", "laplacian3d", "none", "entry", "box_0_short"),
    stencil("tilings/laplacian3d_hybrid", "laplacian3d", f"hybrid:{_3D}", "entry", "box_0_short"),
    stencil("tilings/laplacian3d_skewed", "laplacian3d", "skewed:t=2,s=8x8x8,rows=1", "entry"),
    stencil("tilings/laplacian3d_diamond", "laplacian3d", "diamond:t=4,s=8x8x16,rows=1", "entry"),
    stencil("tilings/laplacian3d_streaming", "laplacian3d", f"streaming:{_3D}", "entry", "tile", "stage_0"),
    # three statements: how far stages are apart, in sweeps and in tiles
    stencil("tilings/fdtd2d_none", "fdtd2d", "none", "entry"),
    stencil("tilings/fdtd2d_hybrid", "fdtd2d", f"hybrid:{_2D}", "entry"),
    stencil("tilings/fdtd2d_skewed", "fdtd2d", "skewed:t=2,s=8x8,rows=1", "entry"),
    stencil("tilings/fdtd2d_streaming", "fdtd2d", "streaming:t=2,s=8x16,rows=1", "tile"),
    # sources and receivers: after each box, in a streaming tile's rows, cell by cell
    stencil("tilings/jacobi1d_hexagonal_points", "jacobi1d", f"hexagonal:{_1D}", "box_0", "points_0", points=True),
    stencil("tilings/laplacian3d_hybrid_points", "laplacian3d", f"hybrid:{_3D}", "points_0", points=True),
    stencil("tilings/jacobi2d_streaming_points", "jacobi2d", "streaming:t=2,s=8x16,rows=1", "points_0", points=True),
    stencil("tilings/laplacian3d_streaming_points", "laplacian3d", f"streaming:{_3D}", "tile", "points_0", points=True),
    stencil("tilings/running_points", STENCILS["running"], "none", "entry", points=True),
    # states of a band: behind the versions that steps read
    stencil("tilings/jacobi2d_hybrid_states", "jacobi2d", f"hybrid:{_2D}", "cells_0", "state_0", "box_0", states=True),
    # sums over the steps near the sides, at the same places
    stencil("tilings/jacobi2d_hybrid_faces", "jacobi2d", f"hybrid:{_2D}", "points_0", faces=True),
    stencil("tilings/jacobi2d_streaming_faces", "jacobi2d", "streaming:t=2,s=8x16,rows=1", "points_0", faces=True),
    # a recurrence, swept cell by cell
    stencil("tilings/smith_waterman_none", "smith_waterman", "none", dtype="int32"),
    Case(file="tilings/two_kernels.c", about="two kernels in one unit", write=_two_kernels, parts=("tw_jacobi1d",)),
    Case(file="tilings/exported_header.c", about="the header of an exported kernel", write=_exported),
)

GPU = (
    # one text for both languages, behind what all texts of a language start with
    stencil("gpu/jacobi1d_none", "jacobi1d", "none", to="cuda"),
    stencil("gpu/jacobi1d_none", "jacobi1d", "none", to="opencl"),
    stencil("gpu/jacobi1d_hexagonal", "jacobi1d", "hexagonal:t=2,s=4", to="cuda"),
    Case(file="gpu/host.cu", about="the host program of exported kernels, CUDA", write=lambda: _host("cuda")),
    Case(file="gpu/host.c", about="the host program of exported kernels, OpenCL", write=lambda: _host("opencl")),
    stencil("gpu/jacobi1d_skewed", "jacobi1d", "skewed:t=2,s=8", to="cuda"),
    stencil("gpu/jacobi1d_diamond", "jacobi1d", "diamond:t=4,s=8", to="cuda"),
    stencil("gpu/jacobi2d_none", "jacobi2d", "none", to="cuda"),
    stencil("gpu/jacobi2d_none_float64_strict", "jacobi2d", "none", to="opencl", dtype="float64", strict=True),
    stencil("gpu/jacobi2d_hybrid", "jacobi2d", "hybrid:t=2,s=4x8", to="cuda"),
    stencil("gpu/jacobi2d_skewed", "jacobi2d", "skewed:t=2,s=8x8", to="opencl"),
    stencil("gpu/jacobi2d_streaming_one_level", "jacobi2d", "streaming:t=1,s=8x16", to="cuda"),
    stencil(
        "gpu/laplacian3d_streaming_one_level",
        "laplacian3d",
        "streaming:t=1,s=4x8x16,threads=1x10x18",
        "laplacian3d_0",
        to="cuda",
    ),
    stencil("gpu/laplacian3d_none", "laplacian3d", "none", to="cuda"),
    stencil("gpu/laplacian3d_skewed", "laplacian3d", "skewed:t=2,s=8x8x8", to="cuda"),
    stencil("gpu/fdtd2d_none", "fdtd2d", "none", to="cuda"),
    stencil("gpu/wave2d_none", "wave2d", "none", to="opencl"),
    stencil("gpu/gradient2d_none", "gradient2d", "none", to="cuda"),
    stencil("gpu/limited1d_none_int64", STENCILS["limited"], "none", to="opencl", dtype="int64"),
    stencil("gpu/smith_waterman_none", "smith_waterman", "none", to="cuda", dtype="int32"),
    *(
        stencil(f"gpu/jacobi1d_none_{kind.partition(':')[0]}", "jacobi1d", "none", to="cuda", boundary=kind)
        for kind in ("constant:0.5", "nearest", "reflect", "mirror", "wrap")
    ),
    stencil("gpu/jacobi1d_hexagonal_reflect", "jacobi1d", "hexagonal:t=2,s=4", to="cuda", boundary="reflect"),
    stencil("gpu/jacobi1d_wrap_copies", "jacobi1d", "none", to="cuda", boundary="wrap", periodic=True),
)

CASES = (*CPU, *GPU)
