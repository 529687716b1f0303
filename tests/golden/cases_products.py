"""What is no iterated stencil: tables, alignments, pipelines, chains of matrices, diagonals, solvers, calibration."""

from collections.abc import Callable

import tilewright as tw
from bratu_kernel import emit_bratu
from energy import cpu as energy_micro
from energy.kernels import energy_source
from tilewright.codegen.gpu.micro import at_rest, micro_source
from tilewright.codegen.gpu.reductions import look_source
from tilewright.codegen.products.matmul import emit_fused
from tilewright.codegen.products.matmul_gpu import emit_gpu
from tilewright.codegen.rows import copy_source, sums_source
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.calibration import micro
from tilewright.runtime.calibration.gpu import calibration_tiling
from tilewright.schedules.code import Blocking, GroupBlock, Unrolling
from tilewright.sparse.lower.cg import emit_cg
from tilewright.sparse.lower.dia import emit_dia
from tilewright.sparse.lower.gpu import emit_dia_gpu, emit_vectors_gpu
from tilewright.sparse.lower.vectors import CATALOGUE, emit_vectors, fuse, multiple
from tilewright.tuning.spaces.cpu_schedule import CG_BLOCK, unrolling
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule
from tilewright.workloads.pipelines import fusions as fusion
from tilewright.workloads.pipelines.builder import trace_pipeline
from tilewright.workloads.pipelines.image import emit_hysteresis
from tilewright.workloads.pipelines.lower.device import emit_gpu_group
from tilewright.workloads.pipelines.lower.group import emit_group
from tilewright.workloads.pipelines.problem import Pipeline, make_pipeline_problem
from tilewright.workloads.pipelines.rows import RowTile
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.lower.align import emit_align
from tilewright.workloads.tables.lower.cpu import emit_table
from tilewright.workloads.tables.lower.gpu import emit_gpu_table
from tilewright.workloads.tables.schedule import KEPT_DIAGONALS, TableShape

from .shown import ENDINGS, SHAPES, STEPS, Case


def _case(file: str, about: str, write: Callable[[], str], *parts: str) -> Case:
    return Case(file=file, about=about, write=write, parts=parts)


def _table(name: str, dtype: str, *parts: str) -> Case:
    made = recurrence_named(name)
    return _case(
        f"tables/{name}.c", f"{name}, {dtype}", lambda: emit_table(made, dtype, (), KEPT_DIAGONALS).text, *parts
    )


def _gpu_table(name: str, dtype: str, to: str, *, chip: bool) -> Case:
    shape = TableShape(threads=32, sub=4, chip=chip)
    file = f"tables/{name}{'_on_chip' * chip}{ENDINGS[to]}"
    about = f"{name}, {dtype}, 32 sub-tiles of 4 columns{', matrices on chip' * chip}"
    return _case(file, about, lambda: emit_gpu_table(recurrence_named(name), dtype, (), shape, to).text)


@tw.stencil
def mean(u):
    return (u[0, -1] + u[0, 0] + u[0, 1]) / 3


@tw.stencil
def edges(u, v):
    return abs(u[1, 0] - u[-1, 0]) + v[0, 0]


@tw.stencil
def share(u, part):
    return u[0, 0] * part


@tw.stencil
def above(u):
    return u[-1, 0, 0] + u[1, 0, 0]


_PIPES: dict[str, Pipeline] = {
    "mean": trace_pipeline(mean, "mean"),
    "mean_edges": trace_pipeline(lambda u: edges(mean(u), u), "mean_edges"),
    "converted": trace_pipeline(
        lambda u, part: share(u.astype("float32"), part).astype("uint8", rounding="floor"), "converted"
    ),
    "two_outputs": trace_pipeline(lambda u: (mean(u), edges(u, u)), "two_outputs"),
    "planes": trace_pipeline(above, "planes"),
}


def _pipe(
    name: str, border: BoundarySpec, *parts: str, to: str = "c", dtype: str = "float32", rows: int = 1, says: str = ""
) -> Case:
    """The first group of a pipeline's full fusion, in strips of 32 columns or blocks of 4 x 8 threads."""
    graph = _PIPES[name]

    def write() -> str:
        problem = make_pipeline_problem(graph, SHAPES[graph.rank], dtype, border)
        group = fusion.full(graph)[0]
        if to == "c":
            return emit_group(problem, group, RowTile(width=32, band=0, rows=rows, lines=1)).text
        return emit_gpu_group(problem, group, to, (4, 8, 1, rows)).text

    about = f"pipeline {name}, {dtype}, border {border}, {rows} row{'s' * (rows > 1)} at a time"
    return _case(f"pipelines/{name}{'_' * bool(says)}{says}{ENDINGS[to]}", about, write, *parts)


def _vectors(name: str, *parts: str) -> Case:
    what = CATALOGUE[name]
    return _case(f"sparse/{name}.c", f"{name}, float64", lambda: emit_vectors(what, "float64", 1).text, *parts)


def _vectors_gpu(name: str, to: str) -> Case:
    return _case(
        f"sparse/{name}{ENDINGS[to]}",
        f"{name}, float32",
        lambda: emit_vectors_gpu(CATALOGUE[name], "float32", to, 256).text,
    )


_PRODUCTS = {"left": "(A1 A2) A3 with A1 A2", "right": "A1 (A2 A3) with A2 A3"}


def _fused(side: str, dtype: str) -> Case:
    blocking = Blocking(rows=2, vectors=1, depth=16)
    write = lambda: emit_fused(side, dtype, blocking).text  # noqa: E731
    return _case(f"chains/{side}_{dtype}.c", f"{_PRODUCTS[side]} in tiles, {dtype}", write)


def _fused_gpu(side: str, dtype: str, to: str) -> Case:
    block = GroupBlock(tile=(16, 16), cells=(2, 2), depth=8)
    write = lambda: emit_gpu(side, dtype, to, block).text  # noqa: E731
    file = f"chains/{side}_{dtype}{ENDINGS[to]}"
    return _case(file, f"{_PRODUCTS[side]} in shared memory, {dtype}", write)


def _aligned() -> str:
    """The kernels of alignments, written anew: they are kept once they are written."""
    return emit_align.__wrapped__().text


def _at_rest() -> str:
    problem = make_problem(program("jacobi1d"), SHAPES[1], STEPS)
    return at_rest(problem, gpu_schedule(problem, calibration_tiling(problem)), "cuda").text


CASES = (
    _table("lcs", "int32"),
    _table("edit_distance", "int16", "cells"),
    _table("monotone_paths", "bool", "cells"),
    _table("smith_waterman", "int32", "cells"),
    _table("needleman_wunsch", "float32", "cells"),
    _gpu_table("lcs", "int32", "cuda", chip=False),
    _gpu_table("smith_waterman", "int32", "opencl", chip=True),
    _gpu_table("smith_waterman", "int32", "cuda", chip=False),
    _gpu_table("monotone_paths", "bool", "cuda", chip=False),
    # the other widths differ in their types' names
    _case("alignment/profile_8_bits.c", "8-bit scores", _aligned, "profile8", "pack8", "unpack8"),
    _case("alignment/try_32_bits.c", "a tile on 32 bits", _aligned, "tw_try32"),
    _case("alignment/tile_16_bits.c", "a tile of 16-bit scores", _aligned, "fall16", "carry16", "tile16"),
    _case("alignment/score.c", "scores of two sequences", _aligned, "plain", "score"),
    _case("alignment/trace.c", "the path through a tile", _aligned, "trace"),
    _pipe("mean", "reflect"),
    *(
        _pipe("mean", border, "ends_.*", "row_.*", "fetch_.*", says=border.partition(":")[0])
        for border in ("nearest", "mirror", "wrap", "constant:0.5")
    ),
    _pipe("mean_edges", "nearest", "p0", "p1", "tile"),
    _pipe("mean_edges", "nearest", "p0", "p1", rows=2, says="two_rows"),
    _pipe("converted", "reflect", "p.", "tile", "fetch_.*", dtype="int16"),
    _pipe("two_outputs", "reflect", "p.", "tile"),
    _pipe("planes", "reflect", "tile"),
    _pipe("mean", "reflect", to="cuda"),
    _pipe("mean", "wrap", to="opencl", says="wrap"),
    _pipe("mean_edges", "constant:0.5", to="cuda", says="constant"),
    _pipe("mean_edges", "nearest", to="opencl", rows=2, says="two_columns"),
    _pipe("converted", "mirror", to="cuda", dtype="int16"),
    _case("pipelines/hysteresis.c", "hysteresis of Canny", lambda: emit_hysteresis().text),
    _fused("left", "float64"),
    _fused("right", "float32"),
    _fused_gpu("left", "float64", "cuda"),
    _fused_gpu("right", "float32", "opencl"),
    _case(
        "sparse/dia_two_diagonals.c",
        "y = A x of diagonals, two per pass, float64",
        lambda: emit_dia("float64", Unrolling(vectors=1, depth=2, block=1024)).text,
    ),
    _case(
        "sparse/dia_float32_two_vectors.c",
        "a pass over one diagonal, two vectors per iteration, float32",
        lambda: emit_dia("float32", Unrolling(vectors=2, depth=1, block=1024)).text,
        "dia_pass1", "dia_rows",
    ),
    _case(
        "sparse/cg_iteration.c",
        "an iteration of CG",
        lambda: emit_cg("float64", unrolling(), CG_BLOCK).text,
        "direct", "tw_cg",
    ),
    _case(
        "sparse/bratu.c",
        "Bratu problem",
        lambda: emit_bratu("float64", 2).text,
        "exponential", "row_past", "tw_bratu",
    ),
    _vectors("axpy"),
    _vectors("waxpy", "block", "tw_vectors"),
    _vectors("dot_norm2", "block", "tw_vectors"),
    _vectors("cg_update", "block"),
    _case("sparse/maxpy3.c", "three products", lambda: emit_vectors(multiple(3), "float32", 1).text, "block"),
    _case(
        "sparse/axpy_then_norm2.c",
        "two kernels in one",
        lambda: emit_vectors(fuse(CATALOGUE["axpy"], CATALOGUE["norm2"], {"x": "y"}), "float64", 2).text,
        "block",
    ),
    _vectors_gpu("axpy", "cuda"),
    _vectors_gpu("dot_norm2", "opencl"),
    _case("sparse/copy.c", "copies of rows by the kernels' threads", lambda: copy_source().text),
    _case("sparse/point_sums.c", "what receivers record, float32", lambda: sums_source("float32").text),
    _case("sparse/dia.cu", "y = A x of diagonals, float64", lambda: emit_dia_gpu("float64", "cuda", 256, 1).text),
    _case("sparse/dia_unrolled.cl", "four diagonals at a time", lambda: emit_dia_gpu("float32", "opencl", 64, 4).text),
    _case("looks/looks.cu", "what looks at a field on a GPU", lambda: look_source("float32", "cuda", 256).text),
    _case("looks/looks_int.cl", "the same, of whole numbers", lambda: look_source("int32", "opencl", 256).text),
    _case("calibrate/micro.cu", "micro-benchmarks of a GPU", lambda: micro_source("cuda").text),
    _case(
        "calibrate/energy.cu",
        "single operations of a GPU",
        lambda: energy_source("cuda").text,
        "divide", "shared_load", "energy_store", "barrier",
    ),
    _case("calibrate/jacobi1d_at_rest.cu", "jacobi1d, its memory replaced by registers", _at_rest),
    _case("calibrate/micro.c", "micro-benchmarks of a CPU", lambda: micro._TEXT),
    _case("calibrate/energy.c", "single operations of a CPU", energy_micro.text),
)  # fmt: skip
