"""Annotated loops: nests after each transform, units around them, and programs of GPUs in CUDA C++ and OpenCL C."""

from collections.abc import Mapping
from typing import Any

from tilewright.codegen.print.source import CUDA, OPENCL
from tilewright.codegen.products.matmul import product_text
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.code import Blocking
from tilewright.schedules.tiling import parse
from tilewright.workloads.annotated.lower.apply import apply_transforms
from tilewright.workloads.annotated.lower.device import DeviceProgram, lower
from tilewright.workloads.annotated.lower.edges import split_edges
from tilewright.workloads.annotated.lower.extents import extents_of
from tilewright.workloads.annotated.lower.harness import BoundVariable, emit_unit, region_text
from tilewright.workloads.annotated.lower.host import host_body, host_prelude
from tilewright.workloads.annotated.lower.kernels import kernels_text
from tilewright.workloads.annotated.lower.lowering import text as expression_text
from tilewright.workloads.annotated.lower.parallel import on_cpu
from tilewright.workloads.annotated.lower.products import block_products
from tilewright.workloads.annotated.lower.stencil import Handover, call_head, call_text
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import Name, Num, Stmt
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.annotated.parse.evaluate import formula

from .shown import SHAPES, STEPS, Case

PRODUCT = "for (i=0;i<=M-1;i++) for (j=0;j<=N-1;j++) for (k=0;k<=K-1;k++) C[i][j] = C[i][j] + A[i][k]*B[k][j];"
SCALED = "for (i=0;i<=N-1;i++) y[i] = y[i] + 2.0*x[i];"
TRIANGLE = "for (i=0;i<=N-1;i++) for (j=0;j<=i;j++) A[i][j] = A[i][j] + x[i]*x[j];"
DOT = "for (i=0;i<n;i++) r += x[i]*y[i];"
NEAR = "for (i=1;i<n-1;i++) y[i] = x[i-1] + x[i+1];"
NEST = "for (i=0;i<n;i++) for (j=0;j<=4;j++) y[i] += a[j]*x[i];"
STEPPED = f"for (t=0;t<T;t++) {{ {NEAR} for (i=1;i<n-1;i++) x[i] = y[i]; }}"
MATVEC = "for (i=0;i<=N-1;i++) for (k=0;k<=N-1;k++) y[i] = y[i] + A[i][k]*x[k];"
TWO = "for (i=0;i<=N-1;i++) { y[i] = 0; for (k=0;k<=N-1;k++) y[i] = y[i] + A[i][k]*x[k]; }"
TEMPORARY = "for (i=0;i<=N-1;i++) { double s; s = x[i]; y[i] = s*s; }"
SPREAD = "for (i=0;i<=N-1;i++) for (j=0;j<M;j++) y[i+j+2] = x[2*i] + x[j];"
BICG = "for (i=0;i<N;i++) { y[i] = 0; for (j=0;j<N;j++) { a[j] += x[i]*A[i][j]; y[i] += A[i][j]*b[j]; } }"
BORDERS = (
    "for (j=0;j<N;j++) for (i=0;i<N;i++) if (i == 0 || j == 0 || i == N-1 || j == N-1) A[j][i] = B[j][i];"
    " else A[j][i] = B[j][i-1] + B[j][i+1] + B[j-1][i] + B[j+1][i];"
)
SEIDEL = "for (i=1;i<N-1;i++) for (j=1;j<N-1;j++) A[i][j] = A[i-1][j-1] + A[i-1][j+1] + A[i][j-1];"
SYRK = "for (i=0;i<N;i++) for (j=0;j<=i;j++) for (k=0;k<M;k++) C[i][j] += 2.0*A[i][k]*A[j][k];"
_BLOCKING = Blocking(rows=2, vectors=2, depth=64)
_EXTENTS = {
    **dict.fromkeys("ABC", (Name("N"), Name("N"))),
    **dict.fromkeys("xy", (Name("n"),)),
    "a": (Num("5"),),
    "b": (Name("N"),),
}
_HYBRID = "hybrid:t=2,s=4x16,rows=1"
_TYPES = dict.fromkeys((*_EXTENTS, "r"), "double")
_NUMBERS = {"M": 16, "N": 16, "K": 16, "n": 64, "T": 4}


def _transformed(text: str) -> Stmt:
    stmt = parse_code(text, "a golden file")
    stmt = localise(inline_temporaries(stmt, {}), {})
    setting = NestContext(known={}, types=_TYPES)
    return apply_transforms(
        stmt,
        setting,
        lambda each: formula(each).value({}),
        lambda each: parse_code(f"v = {each};", "a golden file").value,  # type: ignore[union-attr]
        strict=False,
    ).stmt


def _nest(name: str, transforms: str, loops: str) -> Case:
    text = f"{transforms} {loops}"
    return Case(
        file=f"loops/{name}.c", about=transforms or "no transform", write=lambda: region_text(_transformed(text))
    )


def _unit() -> str:
    extents = {"x": (64,), "y": (64,), "A": (16, 16), "r": ()}
    bound = [BoundVariable(ctype="double", name=name, extents=each) for name, each in extents.items()]
    stmt = _transformed(f"{{ {SCALED} for (i=0;i<=N-1;i++) r += A[i][i]; }}")
    return emit_unit(stmt, bound, numbers={"N": 16})


def _extents() -> str:
    """What is allocated where nobody says how much."""
    found = extents_of(parse_code(SPREAD, "a golden file"))
    lines = [f"{name}[{expression_text(each.count)}];" for name, each in found.items()]
    lines += [f"assumed of {name}: {expression_text(one)}" for name, each in found.items() for one in each.assumes]
    return "".join(f"{line}\n" for line in lines)


def _openmp(device: str, loops: str, known: Mapping[str, int] | None = None) -> str:
    stmt = parse_code(loops, "a golden file")
    stmt = localise(inline_temporaries(stmt, {}), {})
    made, _ = on_cpu(stmt, {"kind": device, "unrollInner": 2}, NestContext(types=_TYPES, known=known or {}))
    return region_text(made)


def _device(loops: str, kind: str, arguments: Mapping[str, Any]) -> DeviceProgram:
    stmt = parse_code(loops, "a golden file")
    stmt = localise(inline_temporaries(stmt, {}), {})
    known = {"kind": kind, "threadCount": 32, "blockCount": 14} if kind == "CUDA" else {"kind": kind}
    setting = NestContext(known=_NUMBERS, types=_TYPES)
    return lower(stmt, {**known, **arguments}, setting, _EXTENTS)


def _on_device(name: str, loops: str, kind: str = "CUDA", **arguments: Any) -> Case:
    """Kernels and the host's part."""

    def write() -> str:
        made = _device(loops, kind, arguments)
        dialect = CUDA if kind == "CUDA" else OPENCL
        return "\n".join([host_prelude(made, dialect), host_body(made, dialect)])

    said = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return Case(file=f"loops/{name}.{'cu' if kind == 'CUDA' else 'c'}", about=f"{kind} {said}".strip(), write=write)


def _kernels(name: str, loops: str, kind: str, **arguments: Any) -> Case:
    dialect, ending = (CUDA, "cu") if kind == "CUDA" else (OPENCL, "cl")
    said = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return Case(
        file=f"loops/{name}.{ending}",
        about=f"the kernels of {kind} {said}".strip(),
        write=lambda: kernels_text(_device(loops, kind, arguments), dialect),
    )


def _call(tiles: str) -> str:
    """The stencil compiler's kernel in the place of loops over u and B."""
    problem = make_problem(program("jacobi2d"), SHAPES[2], STEPS, "float64")
    tiling = catalogue.complete(problem, parse(tiles))
    source = emit_tiling(problem, tiling)
    return call_text(
        Handover(
            problem=problem, entry=source.entry, layout=source.layout[0], tiling=tiling, steps=Name("T"),
            strides=(64,), slot=24 * 64, lifted=False,
            boxes={"u": ((1, 22), (1, 62))}, mirrors=(("B", "u"),), sizes=(("N", 24),),
            old=parse_code("for (t=0;t<T;t++) u[t] = u[t];", "a golden file"),
        )
    )  # fmt: skip


def _blocked(text: str) -> Stmt:
    return block_products(_transformed(text), NestContext(types=_TYPES), _BLOCKING)[0]


CASES = (
    _nest("plain", "", PRODUCT),
    _nest("polysyn", "transform PolySyn(tiles=[8,8,1], unroll_factors=[1,2], parallel=True, vectorize=True)", MATVEC),
    Case(
        file="loops/openmp_array_sum.c",
        about="accumulations in two directions: each thread sums into a copy",
        write=lambda: _openmp("CUDA", BICG, {"N": 100}),
    ),
    Case(
        file="loops/edges.c",
        about="the ends of loops apart from their interiors",
        write=lambda: region_text(split_edges(_transformed(BORDERS))),
    ),
    Case(file="loops/openmp_wavefront.c", about="tiles along diagonals", write=lambda: _openmp("CUDA", SEIDEL)),
    _kernels("distributed", BICG, "CUDA"),
    _nest("tile", "transform Tile(tsize=4, tindex='ii')", SCALED),
    _nest("unroll", "transform Unroll(ufactor=4)", SCALED),
    _nest("unroll_parallel", "transform Unroll(ufactor=2, parallelize=True)", SCALED),
    _nest("unroll_jam", "transform UnrollJam(ufactor=2)", PRODUCT),
    _nest("unroll_jam_triangle", "transform UnrollJam(ufactor=2)", TRIANGLE),
    _nest("register_tile", "transform RegTile(loops=['i','j'], ufactors=[2,2])", PRODUCT),
    _nest("permute", "transform Permut(seq=['k','i','j'])", PRODUCT),
    _nest("scalar_replace", "transform ScalarReplace(dtype='double')", PRODUCT),
    _nest("scalar_replace_register_tile",
          "transform ScalarReplace() transform RegTile(loops=['i','j'], ufactors=[2,2])", PRODUCT),
    _nest("bound_replace", "transform BoundReplace()", "for (i=max(2,M-9);i<=min(N-1,20);i++) y[i] = x[i];"),
    _nest("pragma", "transform Pragma(pragma_str=['omp parallel for', 'ivdep'])", SCALED),
    _nest("array_copy", "transform ArrCopy(aref='A[i][k]', dimsizes=[8,8])",
          "for (ii=0;ii<=M-1;ii+=8) for (kk=0;kk<=K-1;kk+=8) for (i=ii;i<=min(M-1,ii+7);i++) for (j=0;j<=N-1;j++)"
          " for (k=kk;k<=min(K-1,kk+7);k++) C[i][j] += A[i][k]*B[k][j];"),
    _nest("composite",
          "transform Composite(tile=[('i',4,'ii'),('j',8,'jj')], permut=[(['i'],['k'],['j'])],"
          " unrolljam=(['i'],[2]), scalarreplace=(True,'double'), vector=(True,['ivdep']),"
          " openmp=(True,'omp parallel for private(i)'))", PRODUCT),
    _nest("composite_copies", "transform Composite(tile=[('k',4,'kk')], arrcopy=[(True,'x[k]',[4],'_copy')])", MATVEC),
    _nest("unroll_jam_two_statements", "transform UnrollJam(ufactor=2)", TWO),
    _nest("temporaries", "", TEMPORARY),
    Case(file="loops/unit.c", about="a unit that binds x, y, A and r, and takes the time", write=_unit),
    Case(file="loops/extents.c", about=f"lengths of x and y in {SPREAD}", write=_extents),
    Case(file="loops/openmp_product.c", about="a CUDA transform on a CPU", write=lambda: _openmp("CUDA", PRODUCT)),
    Case(file="loops/openmp_sum.c", about="a CUDA transform on a CPU", write=lambda: _openmp("CUDA", DOT)),
    Case(file="loops/stencil_call.c", about="a stencil's kernel in the place of loops", write=lambda: _call(_HYBRID)),
    Case(
        file="loops/openmp_vector_sums.c",
        about="loops on threads that nobody asked to unroll: sums of inner ones in the lanes of vectors",
        write=lambda: region_text(on_cpu(_transformed(BICG), {}, NestContext(types=_TYPES, known={"N": 100}))[0]),
    ),
    Case(
        file="loops/products.c",
        about="products of matrices, columns up to the row, by a blocked kernel",
        write=lambda: product_text("float64", _BLOCKING) + region_text(_blocked(SYRK)),
    ),
    Case(
        file="loops/stencil_call_streaming.c",
        about="a stencil's kernel that reads and writes the loops' own arrays",
        write=lambda: call_head() + _call("streaming:t=2,s=8x16"),
    ),
    _on_device("cuda_nest", NEST),
    _on_device("cuda_sum", DOT),
    _on_device("cuda_streams", NEAR, streamCount=3),
    _on_device("cuda_pinned", SCALED.replace("N-1", "n-1"), pinHostMem=True),
    _on_device("cuda_resident_steps", STEPPED, dataOnDevice=True),
    _kernels("near_cached", NEAR, "CUDA", cacheBlocks=True),
    _kernels("product", PRODUCT, "CUDA"),
    _kernels("product_unrolled", PRODUCT, "OpenCL", unrollInner=4),
    _kernels("sum", DOT, "OpenCL"),
    _on_device("opencl_nest", NEST, "OpenCL", workGroups=3, workItemsPerGroup=32, vecHint=4),
)  # fmt: skip
