"""Regions are handed to threads, their products to the blocked kernel, and the new file computes what it should."""

import ctypes
import math
from pathlib import Path

import numpy as np
import pytest
from tests.workloads.annotated.compiled import library, pointers

from tilewright.workloads.annotated.nests.nest import Loop, statements
from tilewright.workloads.annotated.parse.file import read_file, read_text, sibling
from tilewright.workloads.annotated.verbs.annotate import replaced
from tilewright.workloads.annotated.verbs.case import Case, input_sizes, make_case
from tilewright.workloads.annotated.verbs.handover import hand_automatic
from tilewright.workloads.annotated.verbs.meter import Beside, CpuMeter
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions
from tilewright.workloads.annotated.verbs.result import SiteResult, SizeResult

FOLDER = Path(__file__).with_name("literature")
UPDATE = """
void update(int N, int M, double alpha, double beta, double C[N][N], double A[N][M], double B[N][M]) {
  /*@ begin PerfTuning (
    def performance_params { param U[] = [1,2]; }
    def input_params { param N[] = [34]; param M[] = [26]; }
    def input_vars {
      decl static double C[N][N] = random; decl static double A[N][M] = random; decl static double B[N][M] = random;
      decl double alpha = 1.5; decl double beta = 1.2;
    }
  ) @*/
  int i, j, k;
  /*@ begin Loop(
  transform Unroll(ufactor=U)
  for (i = 0; i < N; i++) {
    for (j = 0; j <= i; j++) C[i][j] *= beta;
    for (k = 0; k < M; k++) for (j = 0; j <= i; j++) C[i][j] += A[j][k]*alpha*B[i][k] + B[j][k]*alpha*A[i][k];
  }
  ) @*/
  for (i = 0; i < N; i++) {
    for (j = 0; j <= i; j++) C[i][j] *= beta;
    for (k = 0; k < M; k++) for (j = 0; j <= i; j++) C[i][j] += A[j][k]*alpha*B[i][k] + B[j][k]*alpha*A[i][k];
  }
  /*@ end @*/
  /*@ end @*/
}
"""
RECURRENCE = """
void sums(int N, double *x) {
  /*@ begin PerfTuning (
    def performance_params { param U[] = [1,2]; }
    def input_params { param N[] = [100]; }
    def input_vars { decl dynamic double x[N] = random; }
  ) @*/
  int i;
  /*@ begin Loop(transform Unroll(ufactor=U) for (i = 1; i < N; i++) x[i] = 0.5*x[i] + 0.25*x[i-1];) @*/
  for (i = 1; i < N; i++) x[i] = 0.5*x[i] + 0.25*x[i-1];
  /*@ end @*/
  /*@ end @*/
}
"""


@pytest.fixture
def handed(workers):
    def call(case: Case, *, loops: float, original: float = 1e6) -> SizeResult | str | None:
        meter = CpuMeter(case=case, pool=workers, options=AnnotatedOptions(repeats=1))
        meter.start()
        return hand_automatic(case, meter, loops, Beside(rounds=((loops, original),), command=("cc",)))

    return call


def case_of(name: str) -> Case:
    (site,) = read_file(read_text(FOLDER / f"{name}.c"), lambda other: sibling(FOLDER, other))
    return make_case(site, site.spec, input_sizes(site.spec, {})[0], FOLDER)


@pytest.mark.parametrize("name", ["syrk", "covariance_import"])
def test_a_kernel_that_is_faster_takes_the_region(handed, name):
    found = handed(case_of(name), loops=1e6)
    assert found is not None
    assert isinstance(found, SizeResult), found
    assert found.to_dict()["speedup"] > 1
    assert not math.isnan(found.seconds)


def test_a_kernel_that_is_slower_does_not(handed):
    found = handed(case_of("syrk"), loops=1e-9)
    assert found is not None
    assert isinstance(found, str)
    assert "the loops stay" in found


def test_regions_without_a_parallel_loop_are_not_concerned(handed, tmp_path):
    (site,) = read_file(RECURRENCE, lambda other: sibling(FOLDER, other))
    assert handed(make_case(site, site.spec, input_sizes(site.spec, {})[0], tmp_path), loops=1e6) is None


def test_loops_run_on_threads_where_that_is_faster(handed):
    found = handed(case_of("gesummv"), loops=1e6)
    assert found is not None
    assert isinstance(found, SizeResult), found
    assert found.extra["blocked_products"] is False
    (body,) = found.bodies
    assert [node.pragmas for node in statements(body) if isinstance(node, Loop)] == [
        ("omp parallel for",),
        ("omp simd reduction(+:t) reduction(+:u)",),
    ]


def test_the_new_file_computes_products_of_any_size(handed, tmp_path):
    (site,) = read_file(UPDATE, lambda other: sibling(FOLDER, other))
    case = make_case(site, site.spec, input_sizes(site.spec, {})[0], tmp_path)
    found = handed(case, loops=1e6)
    assert found is not None
    assert isinstance(found, SizeResult)
    new = replaced(UPDATE, [(site, SiteResult(line=1, sizes=(found,), tuned=True))])
    assert new.count("tw_add_product_float64(tw_m") == 2
    source = tmp_path / "update.c"
    source.write_text(new, encoding="utf-8")
    function = library(source, "-O2").update
    for n, m in ((34, 26), (131, 70)):
        rng = np.random.default_rng(n)
        a, b, c = rng.random((n, m)), rng.random((n, m)), rng.random((n, n))
        lower = np.tril(np.ones((n, n))) > 0
        wanted = np.where(lower, 1.2 * c + 1.5 * (b @ a.T + a @ b.T), c)
        numbers = [ctypes.c_int(n), ctypes.c_int(m), ctypes.c_double(1.5), ctypes.c_double(1.2)]
        function(*numbers, *pointers((c, a, b)))
        np.testing.assert_allclose(c, wanted, rtol=1e-12)
