"""Products of matrices that were blocked compute what the loops say, whatever the order of the loops and the shape."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

from tilewright.codegen.products.matmul import product_text
from tilewright.schedules.code import Blocking
from tilewright.workloads.annotated.lower.harness import BoundVariable, emit_unit
from tilewright.workloads.annotated.lower.products import block_products
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import Verbatim, statements
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code

HOW = Blocking(rows=4, vectors=2, depth=16)
EXTENT = 70
SIZES = ((37, 29, 41), (64, 64, 64), (1, 1, 1), (5, 70, 3), (70, 2, 33), (0, 4, 4), (4, 0, 4), (4, 4, 0))
LI, LJ, LK = "for (i=0;i<N;i++)", "for (j=0;j<M;j++)", "for (k=0;k<P;k++)"
TEXTS = {
    "plain": f"{LI}{LJ}{LK} C[i][j] += A[i][k]*B[k][j];",
    "other order": f"{LK}{LJ}{LI} C[i][j] -= alpha*A[i][k]*B[k][j];",
    "target by columns": f"{LI}{LJ}{LK} C[j][i] += A[k][i]*B[j][k];",
    "scaled before": f"{LI}{LJ}{{ C[i][j] *= alpha; {LK} C[i][j] += A[i][k]*B[k][j]; }}",
    "sum in a scalar": f"{LI}{LJ}{{ s = 0; {LK} s += A[i][k]*B[k][j]; C[i][j] = alpha*s + C[i][j]; }}",
    "one array": f"{LI}{LJ}{{ c[i*M+j] = 0; {LK} c[i*M+j] += a[i*P+k]*B[k][j]; }}",
    "two terms, lower": f"{LI}for (j=0;j<=i;j++){LK} C[i][j] += A[j][k]*alpha*B[i][k] + B[j][k]*A[i][k];",
    "upper": f"{LI}{LK}for (j=i;j<M;j++) C[i][j] += A[k][i]*B[k][j];",
    "against the diagonal": f"{LI}for (j=N-i;j<M;j++){LK} C[i][j] += A[i][k]*B[k][j];",
    "columns first, lower": f"{LJ}for (i=j;i<N;i++){LK} C[i][j] += A[i][k]*B[k][j];",
    "columns first, upper": f"{LJ}for (i=0;i<j;i++){LK} C[i][j] += A[i][k]*B[k][j];",
    "offsets": "for (i=2;i<N;i++) for (j=1;j<M;j++) for (k=3;k<P;k++) C[i-1][j+1] += A[i][k-1]*B[k][j-1];",
    "a chain": f"{LI}{LJ}{{ D[i][j] = 0; {LK} D[i][j] += A[i][k]*B[k][j]; }} "
    "for (i=0;i<N;i++) for (j=0;j<M;j++) for (k=0;k<M;k++) C[i][j] += D[i][k]*B[k][j];",
    "in a loop": f"for (t=0;t<3;t++) {{ {LI}{LJ}{LK} C[i][j] += A[i][k]*B[k][j]; {LI} {LJ} A[i][j] = 0.1*C[i][j]; }}",
}
EXTENTS = {"A": (EXTENT, EXTENT), "B": (EXTENT, EXTENT), "C": (EXTENT + 1, EXTENT + 1), "D": (EXTENT, EXTENT),
           "a": (EXTENT**2,), "c": (EXTENT**2,)}  # fmt: skip


def types_of(real: str) -> dict[str, str]:
    return {**dict.fromkeys([*EXTENTS, "s", "alpha"], real), **dict.fromkeys("ijktNMP", "int")}


def plain_of(text: str, real: str):
    types = types_of(real)
    return localise(inline_temporaries(parse_code(text, "a test"), types, frozenset()), types, frozenset())


def results(kind: str, body, real: str, prelude: str, folder) -> list[list[np.ndarray]]:
    bound = [BoundVariable(ctype=real, name=name, extents=size) for name, size in EXTENTS.items()]
    bound.append(BoundVariable(ctype=real, name="alpha", extents=()))
    bound += [BoundVariable(ctype="int", name=name, extents=()) for name in "NMP"]
    source, library = folder / f"{kind}.c", folder / f"{kind}.so"
    text = emit_unit(body, bound, numbers={}, prelude=prelude)
    source.write_text(re.sub(r"\btw_run\b", kind, text), encoding="utf-8")
    flags = ["-O2", "-fPIC", "-shared", "-w", "-std=gnu17", "-fopenmp", "-march=native"]
    done = subprocess.run(["cc", *flags, "-o", str(library), str(source), "-lm"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    function = getattr(ctypes.CDLL(str(library)), kind)
    function.restype = ctypes.c_double
    found = []
    for sizes in SIZES:
        rng = np.random.default_rng(3)
        arrays = [
            rng.uniform(0.5, 1.5, size).astype({"double": "f8", "float": "f4"}[real]) for size in EXTENTS.values()
        ]
        scalars = [np.array(0.75, arrays[0].dtype), *(np.array(size, "i4") for size in sizes)]
        function((ctypes.c_void_p * (len(arrays) + 4))(*(each.ctypes.data for each in (*arrays, *scalars))))
        found.append(arrays)
    return found


@pytest.mark.parametrize(("name", "real"), [*((name, "double") for name in TEXTS), ("two terms, lower", "float")])
def test_blocked_products_compute_what_the_loops_say(name, real, tmp_path):
    setting = NestContext(types=types_of(real))
    stmt = plain_of(TEXTS[name], real)
    new, dtypes = block_products(stmt, setting, HOW)
    assert dtypes == ({"double": "float64", "float": "float32"}[real],)
    assert sum(isinstance(node, Verbatim) for node in statements(new)) == (2 if name == "a chain" else 1)
    prelude = product_text(dtypes[0], HOW)
    tolerance = 1e-12 if real == "double" else 1e-4
    plain, blocked = (
        results("plain", stmt, real, "", tmp_path),
        results("blocked", new, real, prelude, tmp_path),
    )
    for one, other in zip(plain, blocked, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_allclose(right, left, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "text",
    [
        f"{LI}{LJ}for (k=i+1;k<P;k++) B[i][j] += A[k][i]*B[k][j];",  # in place
        f"{LI}{LJ}{LK} c[i+j] += A[i][k]*B[k][j];",  # several of one element
        f"{LI}{LJ}{LK} {{ C[i][j] += A[i][k]*B[k][j]; A[i][k] = C[i][j]; }}",
        f"{LI}{LJ}{LK} C[0][j] += A[i][k]*B[k][j];",
    ],
)
def test_what_depends_on_the_order_stays(text):
    stmt = plain_of(text, "double")
    assert block_products(stmt, NestContext(types=types_of("double")), HOW) == (stmt, ())


def test_arrays_that_may_overlap_are_not_blocked():
    stmt = plain_of(TEXTS["plain"], "double")
    overlap = dict.fromkeys("ABC", "float64")
    assert block_products(stmt, NestContext(types=types_of("double"), overlap=overlap), HOW) == (stmt, ())
