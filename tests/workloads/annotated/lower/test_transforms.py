"""Transformations of loop nests: legality by name, and results against the plain loops, run through the C compiler."""

import ctypes
import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.workloads.annotated.guessed_types import scalar_types

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.codegen.print.source import CUDA, OPENCL
from tilewright.workloads.annotated import call as runtime
from tilewright.workloads.annotated.lower.apply import MODULES, TRANSFORMS, apply_transforms
from tilewright.workloads.annotated.lower.device import lower
from tilewright.workloads.annotated.lower.harness import BoundVariable, emit_unit
from tilewright.workloads.annotated.lower.kernels import kernels_text
from tilewright.workloads.annotated.lower.lowering import code
from tilewright.workloads.annotated.lower.parallel import on_cpu
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.dependences import analyse, check_bounds
from tilewright.workloads.annotated.nests.nest import Loop, Name, Transform, map_statements, statements
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise, reductions
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.annotated.parse.evaluate import formula

MM = "for (i=0;i<=M-1;i++) for (j=0;j<=N-1;j++) for (k=0;k<=K-1;k++) C[i][j] = C[i][j] + A[i][k]*B[k][j];"
SEIDEL = (
    "for (t=0;t<=T-1;t++) for (i=1;i<=N-2;i++) for (j=1;j<=N-2;j++) A[i][j] = (A[i-1][j-1]+A[i][j+1]+A[i+1][j])/3.0;"
)
ATAX = (
    "for (i=0;i<=M-1;i++) { t[i] = 0; for (j=0;j<=N-1;j++) t[i] = t[i] + A[i][j]*x[j];"
    " for (k=0;k<=N-1;k++) y[k] = y[k] + A[i][k]*t[i]; }"
)
LU = (
    "for (k=0;k<=N-1;k++) { for (j=k+1;j<=N-1;j++) A[k][j] = A[k][j]/A[k][k];"
    " {0}for (i=k+1;i<=N-1;i++) for (j=k+1;j<=N-1;j++) A[i][j] = A[i][j] - A[i][k]*A[k][j]; }"
)
SQUARE, PLUS = "{ double s; s = A[i][j]; B[i][j] = s*s; }", "{ double s; s = B[i][j]; C[i][j] = s + 1; }"
SHAPES = {"A": (23, 23), "B": (23, 23), "C": (23, 23), "x": (23,), "y": (23,), "t": (23,)}
NUMBERS = {"M": 19, "N": 23, "K": 17, "T": 3}


def transformed(text, strict=False, known=None):
    stmt = parse_code(text, "a test")
    stmt = localise(inline_temporaries(stmt, {}), scalar_types(stmt, {}))
    setting = NestContext(known=known or {}, types=dict.fromkeys(SHAPES, "double"))
    return apply_transforms(
        stmt,
        setting,
        lambda each: formula(each).value({}),
        lambda each: parse_code(f"v = {each};", "x").value,
        strict=strict,
    )


def run(stmt, names):
    """Compile and run a nest; return its arrays."""
    bound = [BoundVariable(ctype="double", name=name, extents=SHAPES[name]) for name in names]
    text = emit_unit(stmt, bound, numbers=NUMBERS, loose={"s": "double"})
    data = runtime.build(("cc", "-O1", "-fopenmp", "-ffp-contract=off"), text)
    function = runtime._load(data)
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(0.5, 1.5, SHAPES[name]) for name in names]
    function((ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)))
    return arrays


CASES = [
    ("transform Tile(tsize=5, tindex='ii') " + MM, "ABC"),
    ("transform Unroll(ufactor=4) for (i=0;i<=N-1;i++) y[i] = y[i] + 2.0*x[i];", "xy"),
    ("transform Unroll(ufactor=3, parallelize=True) for (i=1;i<N;i+=2) y[i] += x[i];", "xy"),
    ("transform UnrollJam(ufactor=4) " + MM, "ABC"),
    ("transform RegTile(loops=['i','j'], ufactors=[3,4]) " + MM, "ABC"),
    ("transform RegTile(loops=['i','j','k'], ufactors=[2,2,3]) " + MM, "ABC"),
    ("transform Permut(seq=['k','i','j']) " + MM, "ABC"),
    ("transform Permut(seq=[['j'],['k'],['i']]) " + MM, "ABC"),
    ("transform ScalarReplace(dtype='double') " + MM, "ABC"),
    ("transform ScalarReplace() transform RegTile(loops=['i','j'], ufactors=[2,2]) " + MM, "ABC"),
    ("transform BoundReplace() for (i=max(2,M-9);i<=min(N-1,20);i++) y[i] = x[i];", "xy"),
    ("transform Pragma(pragma_str='ivdep') for (i=0;i<=N-1;i++) y[i] = x[i];", "xy"),
    ("transform Pragma(pragma_str=['omp parallel for', 'ivdep']) for (i=0;i<=N-1;i++) y[i] = x[i];", "xy"),
    (
        (
            "transform ArrCopy(aref='A[i][k]', dimsizes=[8,8]) transform ArrCopy(aref='C[i][j]', dimsizes=[8,8]) "
            "for (ii=0;ii<=M-1;ii+=8) for (jj=0;jj<=N-1;jj+=8) for (kk=0;kk<=K-1;kk+=8)"
            " for (i=ii;i<=min(M-1,ii+7);i++) for (j=jj;j<=min(N-1,jj+7);j++) for (k=kk;k<=min(K-1,kk+7);k++)"
            " C[i][j] += A[i][k]*B[k][j];"
        ),
        "ABC",
    ),
    (
        "transform Composite(tile=[('i',4,'ii'),('j',8,'jj'),('k',4,'kk'),(('ii','i'),8,'iii'),(('jj','j'),16,'jjj')],"
        " permut=[(['i'],['k'],['j'])], unrolljam=(['i','j'],[2,3]), regtile=(['k'],[2]),"
        " scalarreplace=(True,'double'), boundreplace=True, vector=(True,['ivdep','vector always']),"
        " openmp=(True,'omp parallel for private(i)')) " + MM,
        "ABC",
    ),
    (
        "transform Composite(tile=[('i',4,'ii'),('j',8,'jj'),('k',4,'kk')], arrcopy=[(True,'x[j]',[8],'_copy'),"
        "(False,'y[k]',[4])], unrolljam=(['k','j','i'],[2,3,1]), scalarreplace=(True,'double'),"
        " pragma=[('i',['vector always'])]) " + ATAX,
        "Axyt",
    ),
    ("transform Composite(tile=[('t',2,'tt'),('i',8,'ii'),('j',8,'jj')], unrolljam=(['t','i'],[2,2])) " + SEIDEL, "A"),
    (LU.replace("{0}", "transform Composite(tile=[('i',4,'ii'),('j',8,'jj')], unrolljam=(['i','j'],[2,2])) "), "A"),
    ("for (t=0;t<T;t++) transform UnrollJam(ufactor=2) for (i=0;i<M;i++) for (j=0;j<=i;j++) C[i][j] += A[i][j];", "AC"),
    (
        "transform UnrollJam(ufactor=3) for (i=0;i<M;i++) { s = 0; for (j=0;j<N;j++) s += A[i][j]*x[j]; y[i] = s; }",
        "Axy",
    ),
    ("transform UnrollJam(ufactor=2) for (i=0;i<M;i++) for (j=0;j<N;j++) if (i > j) C[i][j] = A[i][j];", "AC"),
    (f"transform UnrollJam(ufactor=2) for (i=0;i<M;i++) for (j=0;j<N;j++) {{ {SQUARE} {PLUS} }}", "ABC"),
    ("for (i=N-1;i>=1;i--) transform Unroll(ufactor=2) for (j=0;j<N;j++) C[i][j] = C[i-1][j];", "C"),
    ("transform CUDA(threadCount=32) for (i=0;i<N;i++) y[i] = x[i];", "xy"),
    ("transform OpenCL(workGroups=4, workItemsPerGroup=8) for (i=0;i<N;i++) y[i] = x[i];", "xy"),
]


@pytest.mark.parametrize(("text", "names"), CASES, ids=range(len(CASES)))
def test_transformed_loops_compute_the_same(text, names):
    plain = map_statements(parse_code(text, "x"), lambda node: node.body if isinstance(node, Transform) else node)
    applied = transformed(text, known=NUMBERS)
    assert not any(isinstance(node, Transform) for node in statements(applied.stmt))
    for got, wanted in zip(run(applied.stmt, names), run(plain, names), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_every_transform_is_covered():
    text = " ".join(case for case, _ in CASES)
    assert all(f"transform {name}(" in text for name in TRANSFORMS.keys() - MODULES)


def test_loops_over_tiles_of_tiles_go_outermost():
    text = "transform Composite(tile=[('i',4,'ii'),('j',8,'jj'),(('ii','i'),8,'iii'),(('jj','j'),16,'jjj')]) "
    stmt = transformed(text + MM, known=NUMBERS).stmt
    order = [node.index for node in statements(stmt) if isinstance(node, Loop)]
    assert order == ["iii", "jjj", "ii", "jj", "i", "j", "k"]


def test_what_a_region_takes_from_the_heap_is_given_back():
    stmt = parse_code("double *t = (double *) malloc(N * sizeof(double)); for (i=0;i<N;i++) t[i] = x[i];", "x")
    text = emit_unit(stmt, [BoundVariable(ctype="double", name="x", extents=(23,))], numbers=NUMBERS)
    assert text.count("malloc(") == 1
    assert text.index("tw_end = tw_now();") < text.index("free(t);") < text.index("return tw_end")


def test_random_composites_compute_the_same():
    """Whatever the sizes ask for, legal or not: what is illegal is left out."""
    rng = np.random.default_rng(3)
    bodies = [(MM, "ABC", "ijk"), (SEIDEL, "A", "tij"), (ATAX, "Axyt", "ijk"), (LU.replace("{0}", ""), "A", "kij")]
    for text, names, (a, b, c) in bodies:
        wanted = run(parse_code(text, "x"), names)
        for _ in range(3):
            t, u = rng.integers(1, 9, 3), rng.integers(1, 4, 3)
            composite = (
                f"transform Composite(tile=[('{a}',{t[0]},'q1'),('{b}',{t[1]},'q2'),('{c}',{t[2]},'q3')],"
                f" permut=[['{c}','{a}','{b}']], unrolljam=(['{a}','{b}','{c}'],[{u[0]},{u[1]},{u[2]}]),"
                " scalarreplace=(True,'double')) "
            )
            for got, expected in zip(run(transformed(composite + text).stmt, names), wanted, strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-12)


def loops_of(text):
    stmt = parse_code(text, "x")
    stmt = localise(inline_temporaries(stmt, {}), scalar_types(stmt, {}))
    return stmt, {node.index: node for node in statements(stmt) if isinstance(node, Loop)}


@pytest.mark.parametrize(
    ("text", "parallel", "known"),
    [
        ("for (i=0;i<n;i++) y[i] += a*x[i];", "i", {}),
        ("for (i=1;i<n;i++) y[i] = y[i-1];", "", {}),
        ("for (i=0;i<n;i++) for (j=0;j<m;j++) A[i*m+j] = 1;", "ij", {"m": 40}),
        ("for (i=0;i<n;i++) for (j=0;j<m;j++) A[i*m+j] = 1;", "ij", {}),
        ("for (i=0;i<n;i++) for (j=0;j<=m;j++) A[i*m+j] = 1;", "", {}),
        ("for (i=0;i<n;i++) { c = i + o[i]; if (c >= 0 && c < n) y[i] += x[c]; }", "i", {}),
        ("for (i=0;i<n;i++) x[o[i]] = 1;", "", {}),
        ("for (t=0;t<T;t++) { for (i=1;i<n;i++) b[i] = a[i-1]+a[i]; for (i=1;i<n;i++) a[i] = b[i]; }", "i", {}),
        (LU.replace("{0}", ""), "ij", {}),
        ("for (i=0;i<n;i+=2) y[i] = y[i+1];", "i", {}),
        ("for (i=0;i<n;i++) y[2*i] = y[2*i+1];", "i", {}),
        ("for (i=0;i<n;i++) y[i] = y[n-1-i];", "", {}),
        ("for (i=1;i<n;i++) if (y[i-1] > 0) y[i] = 1;", "", {}),
        ("for (i=1;i<n;i++) if (y[i] > 0) y[i] = 1;", "i", {}),
        ("for (i=1;i<n;i++) for (j=0;j<y[i-1];j++) y[i] = x[j];", "", {}),
        ("for (i=0;i<n;i++) for (j=0;j<r[i+1];j++) C[i][j] = 1;", "ij", {}),
    ],
)
def test_parallel_loops_are_those_without_dependences(text, parallel, known):
    stmt, loops = loops_of(text)
    nest = analyse(stmt, known)
    found = {
        index
        for index, loop in loops.items()
        if nest.carried(loop, {r.name for r in reductions(loop, {"r": "double", "q": "double", "b": "double"})}) is None
    }
    assert found == set(parallel)


def test_reductions_are_seen():
    stmt, loops = loops_of("for (i=0;i<n;i++) { r = r + x[i]*y[i]; q *= x[i]; b = max(b, x[i]); w = x[i] - w; }")
    assert {(each.name, each.op) for each in reductions(loops["i"], scalar_types(stmt, {}))} == {
        ("r", "+"),
        ("q", "*"),
        ("b", "max"),
    }


def test_a_recurrence_is_refused_and_named():
    """The original tool ran a time loop in parallel."""
    with pytest.raises(IllegalTransformError, match=r"'t'.*dependence of 'a'.*distance \(1"):
        lower(*device("for (t=1;t<T;t++) a[t] = a[t-1] + 1;"))
    stmt = parse_code("for (t=0;t<T;t++) a[0] = a[0] * 2;", "x")
    with pytest.raises(IllegalTransformError, match="cannot run in parallel"):
        on_cpu(stmt, {}, NestContext(), strict=True)
    same, notes = on_cpu(stmt, {}, NestContext())
    assert same == stmt
    assert "stays sequential" in notes[0]


def test_illegal_requests_are_refused_where_asked():
    with pytest.raises(IllegalTransformError, match=r"order .* illegal: .*dependence of 'A'"):
        transformed("transform Permut(seq=['j','t','i']) " + SEIDEL, strict=True)
    with pytest.raises(IllegalTransformError, match="in parallel is illegal"):
        transformed("transform Unroll(ufactor=2, parallelize=True) for (i=1;i<N;i++) y[i] = y[i-1];", strict=True)
    notes = transformed("transform Permut(seq=['j','t','i']) " + SEIDEL).notes
    assert "dependence of 'A'" in notes[0]


def test_arguments_that_do_not_fit_are_named():
    for text, says in [
        ("transform Blink(x=1) for (i=0;i<N;i++) y[i] = 0;", "the transforms are"),
        ("transform Unroll(factor=2) for (i=0;i<N;i++) y[i] = 0;", "Unroll takes"),
        ("transform Unroll(ufactor='2') for (i=0;i<N;i++) y[i] = 0;", "whole number"),
        ("transform Unroll(ufactor=0) for (i=0;i<N;i++) y[i] = 0;", "from 1 to"),
        ("transform Tile(tsize=4, tindex='i') for (i=0;i<N;i++) y[i] = 0;", "in use"),
        ("transform Pragma(pragma_str='omp master') for (i=0;i<N;i++) y[i] = 0;", "parallel for and simd"),
        ("transform Pragma(pragma_str='a\\nb') for (i=0;i<N;i++) y[i] = 0;", "plain words"),
        ("transform RegTile(loops=['i'], ufactors=[1,2]) for (i=0;i<N;i++) y[i] = 0;", "as many factors"),
        *(
            (f"transform RegTile({given}) for (i=0;i<N;i++) y[i] = 0;", "RegTile takes loops and as many factors")
            for given in ("loops=['i'], ufactors=2", "loops='i', ufactors=[2]", "loops=['i']", "ufactors=[2]")
        ),
        ("transform Permut(seq=3) for (i=0;i<N;i++) y[i] = 0;", "a permutation"),
    ]:
        with pytest.raises(UsageError, match=says):
            transformed(text)


def test_bounds_are_checked_against_declared_sizes():
    stmt = parse_code("for (i=0;i<=n;i++) y[i] = x[i];", "x")
    with pytest.raises(UsageError, match=r"y\[i\] leaves its array where i = 10: extent 1 of 'y' is 10"):
        check_bounds(stmt, {"x": (11,), "y": (10,)}, {"n": 10}, {})
    check_bounds(stmt, {"x": (11,), "y": (11,)}, {"n": 10}, {})
    guarded = parse_code("for (i=0;i<n;i++) { c = i - 3; if (c >= 0 && c < n) y[i] = x[c]; }", "x")
    check_bounds(guarded, {"x": (10,), "y": (10,)}, {"n": 10}, {})
    with pytest.raises(UsageError, match="2 extents but used with 1"):
        check_bounds(stmt, {"x": (11,), "y": (11, 11)}, {"n": 10}, {})


def device(text, shapes=None, **args):
    stmt = parse_code(text, "x")
    stmt = localise(inline_temporaries(stmt, {}), scalar_types(stmt, {}))
    types = scalar_types(stmt, {})
    return stmt, {"kind": "CUDA", **args}, NestContext(types=types), shapes or dict.fromkeys("aAxyb", (Name("n"),))


def test_kernels_of_both_dialects_say_the_same():
    program = lower(*device("for (i=0;i<n;i++) r += x[i]*y[i];", threadCount=96, cacheBlocks=True))
    for dialect in (CUDA, OPENCL):
        text = kernels_text(program, dialect)
        assert "tw_kernel1_finish" in text
        assert "tw_near_x[96]" in text
        assert dialect.words.shared in text
    time_loop = lower(
        *device("for (t=0;t<T;t++) { for (i=1;i<n-1;i++) b[i] = a[i-1]+a[i+1]; for (i=1;i<n-1;i++) a[i] = b[i]; }")
    )
    assert len(time_loop.kernels) == 2
    assert "'t' stays on the host" in time_loop.notes[0]


def test_streams_have_halos():
    program = lower(*device("for (i=1;i<n-1;i++) y[i] = x[i-1] + x[i+1];", streamCount=4))
    assert program.streams == {"x": (1, 1), "y": (0, 0)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("for (i=0;i<n;i++) y[i] = x[n-1-i];", "'x' is used at other places"),
        ("for (i=0;i<n;i+=2) y[i] = x[i];", "a stride or a reduction"),
        ("for (i=0;i<n;i++) s = s + x[i];", "a stride or a reduction"),
        ("{ for (i=0;i<n;i++) y[i] = x[i]; for (i=0;i<n;i++) b[i] = y[i]; }", "several kernels"),
        (
            "for (t=0;t<T;t++) { for (i=0;i<n;i++) y[i] = y[i] + x[i]; for (i=0;i<n;i++) x[i] = y[n-1-i]; }",
            "several kernels",
        ),
    ],
)
def test_what_streams_cannot_cut_runs_in_one(text, why):
    program = lower(*device(text, streamCount=2))
    assert program.streams is None
    assert any("one stream" in note and why in note for note in program.notes)


def test_clauses_of_a_directive_are_kept_but_for_collapse():
    pragma = "omp parallel for collapse(2) schedule(static, 4) num_threads(2) private(i)"
    stmt = transformed(f"transform Pragma(pragma_str='{pragma}') for (i=0;i<=N-1;i++) y[i] = x[i];").stmt
    assert "#pragma omp parallel for schedule(static, 4) num_threads(2)\n" in code(stmt)


@pytest.mark.parametrize("args", [{"threadCount": 2048}, {"threadCount": 33}, {"preferL1Size": 20}, {"streamCount": 0}])
def test_launches_beyond_a_device_are_refused(args):
    with pytest.raises(UsageError):
        lower(*device("for (i=0;i<n;i++) y[i] = x[i];", **args))


def test_printed_code_parses_to_the_same_tree():
    for text, _ in itertools.islice(CASES, 6):
        read = map_statements(parse_code(text, "x"), lambda node: node.body if isinstance(node, Transform) else node)
        # What is printed declares its counters.
        plain = map_statements(read, lambda node: replace(node, ctype="int") if isinstance(node, Loop) else node)
        assert parse_code(code(plain), "x") == plain


def test_a_compiler_that_fails_is_an_outcome():
    from tilewright.base.errors import ToolchainError

    with pytest.raises(ToolchainError, match="failed"):
        runtime.build(("cc",), "int main( {")


def test_a_copy_of_two_indices_stands_before_the_outer_loop():
    text = (
        "transform ArrCopy(aref='A[i][k]', dimsizes=[8,8]) for (ii=0;ii<=M-1;ii+=8) for (kk=0;kk<=K-1;kk+=8)"
        " for (i=ii;i<=min(M-1,ii+7);i++) for (k=kk;k<=min(K-1,kk+7);k++) y[i] += A[i][k]*x[k];"
    )
    applied = code(transformed(text, strict=True, known=NUMBERS).stmt)
    assert "A_copy[i - ii][k - kk] = A[i][k]" in applied
    assert "A_copy[i - ii][k - kk] * x[k]" in applied


def test_composite_copies_the_arrays_that_it_is_told_to_copy():
    text = "for (i=0;i<=7;i++) for (k=0;k<=7;k++) y[i] += A[i][k]*x[k];"
    copies = {"A": "'A[i][k]',[8,8]", "x": "'x[k]',[8]"}
    for flags in itertools.product((True, False), repeat=2):
        asked = [f"({flag},{copy})" for flag, copy in zip(flags, copies.values(), strict=True)]
        made = code(transformed(f"transform Composite(arrcopy=[{', '.join(asked)}]) {text}", known=NUMBERS).stmt)
        assert tuple(f"{name}_copy" in made for name in copies) == flags


def test_pragmas_for_loops_that_are_not_there_and_empty_ones_are_left_out():
    text = "transform Composite(pragma=[('q',['unroll 7']),('i',['','unroll 3'])]) for (i=0;i<n;i++) y[i] = x[i];"
    made = code(transformed(text, strict=True).stmt)
    assert [line.strip() for line in made.splitlines() if "#" in line] == ["#pragma unroll 3"]


def test_scalars_come_back_from_a_unit():
    """What a variant leaves in a scalar is compared with what the original leaves, so it has to arrive."""
    stmt = parse_code("for (i=0;i<N;i++) { s += x[i]; m = i; }", "a test")
    bound = [
        BoundVariable(ctype="double", name="s"),
        BoundVariable(ctype="double", name="x", extents=(23,)),
        BoundVariable(ctype="int", name="m"),
    ]
    data = runtime.build(("cc",), emit_unit(stmt, bound, numbers=NUMBERS))
    s, m, x = ctypes.c_double(0.5), ctypes.c_int(-1), np.arange(23.0)
    pointers = (ctypes.addressof(s), x.ctypes.data, ctypes.addressof(m))
    runtime._load(data)((ctypes.c_void_p * 3)(*pointers))
    assert (s.value, m.value) == (0.5 + x.sum(), 22)


def test_a_copy_too_small_for_its_loops_is_refused_with_what_it_needs():
    text = (
        "transform ArrCopy(aref='A[i][k]', dimsizes=[8,4]) for (ii=0;ii<=M-1;ii+=8) for (kk=0;kk<=K-1;kk+=8)"
        " for (i=ii;i<=min(M-1,ii+7);i++) for (k=kk;k<=min(K-1,kk+7);k++) y[i] += A[i][k]*x[k];"
    )
    with pytest.raises(IllegalTransformError, match="needs 8 elements along 'k', got 4"):
        transformed(text, strict=True, known=NUMBERS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("'x[i]', dimsizes=[8]) for (i=7;i>=0;i--) y[i] = x[i];", "bounds of 'i' change inside"),
        ("'A[i][j]', dimsizes=[8,4]) for (i=0;i<=7;i++) for (j=i;j<=i+3;j++) y[j] += A[i][j];", "bounds of 'j' change"),
        ("'A[i][k]', dimsizes=[8,8]) { for (i=0;i<=7;i++) y[i] = A[i][k]; for (k=0;k<=7;k++) y[k] = A[i][k]; }",
         "not inside each other"),
        ("'x[i]', dimsizes=[8]) for (i=0;i<=7;i++) y[i] = x[i] + x[i+1];", "used at another place"),
        ("'x[i]', dimsizes=[8]) for (i=0;i<=7;i++) y[x[i]+1] = x[i];", "chooses elements"),
        ("'x[i]', dimsizes=[8]) for (i=0;i<=n;i++) y[i] = x[i];", "an unknown number of elements"),
    ],
)  # fmt: skip
def test_what_cannot_be_copied_is_refused_by_its_reason(text, reason):
    with pytest.raises(IllegalTransformError, match=reason):
        transformed(f"transform ArrCopy(aref={text}", strict=True)
