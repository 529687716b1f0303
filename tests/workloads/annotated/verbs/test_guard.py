"""The new file at other calls than those of the tuning: sizes, arrays that overlap, no element at all."""

import subprocess
import warnings

import pytest

from tilewright.runtime.warn import forget_warnings
from tilewright.workloads.annotated.parse.evaluate import formula
from tilewright.workloads.annotated.verbs.annotate import annotate
from tilewright.workloads.annotated.verbs.guard import names_of_sum
from tilewright.workloads.annotated.verbs.meter import Beside, CpuMeter

SHIFT = """
void f(int N, int k, double *x, double *y) {
  /*@ begin PerfTuning (
    def performance_params { param U[] = [2]; }
    def input_params { param N[] = [64]; param k[] = [64]; }
    def input_vars { decl dynamic double x[N+k] = random; decl dynamic double y[N] = random; }
  ) @*/
  int i;
  /*@ begin Loop(
    transform Composite(unrolljam=(['i'],[U]), openmp=(True,'omp parallel for'), scalarreplace=(True,'double'))
    for (i = 0; i <= N-1; i++) x[i+k] = 0.5*x[i] + y[i] + y[0];
  ) @*/
  for (i = 0; i <= N-1; i++) x[i+k] = 0.5*x[i] + y[i] + y[0];
  /*@ end @*/
  /*@ end @*/
}
"""
ROWS = """
void f(int N, int k, double *x, double *y) {
  /*@ begin PerfTuning (
    def performance_params { param T[] = [4]; }
    def input_params { param N[] = [12]; param k[] = [12]; }
    def input_vars { decl dynamic double x[N*k+k] = random; decl dynamic double y[N*k+k] = random; }
  ) @*/
  int i, j;
  /*@ begin Loop(
    transform Composite(tile=[('i',T,'ii'),('j',T,'jj')], permut=[['j','i']], openmp=(True,'omp parallel for'))
    for (i = 0; i <= N-1; i++) for (j = 0; j <= 11; j++) y[i*k+j] = 0.5*y[i*k+j] + x[j*k+i];
  ) @*/
  for (i = 0; i <= N-1; i++) for (j = 0; j <= 11; j++) y[i*k+j] = 0.5*y[i*k+j] + x[j*k+i];
  /*@ end @*/
  /*@ end @*/
}
"""
PLAIN = """
void f(int N, int k, double *x, double *y) {
  int i;
  /*@ begin Loop(
    transform Unroll(ufactor=4, parallelize=True)
    for (i = 0; i <= N-1; i++) x[i] = 0.5*y[i] + k;
  ) @*/
  for (i = 0; i <= N-1; i++) x[i] = 0.5*y[i] + k;
  /*@ end @*/
}
"""
MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  static const int sizes[][2] = {{0, 12}, {1, 1}, {1, 12}, {2, 1}, {5, 3}, {12, 12}, {13, 12}, {64, 64}, {64, 1},
    {77, 5}, {200, 64}, {5000, 1}};
  for (unsigned c = 0; c < sizeof sizes / sizeof *sizes; c++) {
    for (int shift = -1; shift < 3; shift++) {
      int n = sizes[c][0], k = sizes[c][1];
      size_t count = (size_t)n * k + 13 * k + n + 32;
      double *memory[2];
      for (int who = 0; who < 2; who++) {
        memory[who] = malloc(2 * count * sizeof(double));
        for (size_t i = 0; i < 2 * count; i++) memory[who][i] = 1.0 + (double)(i * 7 % 31) / 32;
        double *y = shift < 0 ? memory[who] + count : memory[who] + shift;
        (who ? tuned : plain)(n, k, memory[who], y);
      }
      for (size_t i = 0; i < 2 * count; i++) {
        double a = memory[0][i], b = memory[1][i], d = (a - b) / (a < 0 ? -a : a);
        /* Where arrays overlap, values may grow beyond all bounds. */
        if (a == b || (d < 1e-9 && d > -1e-9) || (a - a != 0 && b - b != 0)) continue;
        printf("N = %d, k = %d, shift = %d, element %zu\n", n, k, shift, i);
        exit(1);
      }
      free(memory[0]);
      free(memory[1]);
    }
  }
  return 0;
}
"""


@pytest.fixture
def always(monkeypatch):
    """The variant is written however fast the original body is."""
    monkeypatch.setattr(CpuMeter, "beside", lambda *_, **__: Beside(rounds=((1.0, 2.0),), command=("cc",)))


def tuned(tmp_path, text: str) -> str:
    path = tmp_path / "a.c"
    path.write_text(text)
    return annotate(path, runs=1, repeats=1, seconds=300).text


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(("text", "names"), [(SHIFT, "N == 64"), (ROWS, "k == 12"), (PLAIN, "")])
def test_new_files_compute_what_the_old_ones_do_at_any_size_and_where_arrays_overlap(tmp_path, text, names):
    new = tuned(tmp_path, text)
    assert new.count("#pragma omp parallel for")
    assert names in new
    assert "(const char *)" in new
    unit = tmp_path / "both.c"
    unit.write_text(text.replace("void f(", "static void plain(") + new.replace("void f(", "static void tuned(") + MAIN)
    flags = ["-O1", "-g", "-w", "-fopenmp", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    made = subprocess.run(
        ["cc", *flags, str(unit), "-o", str(tmp_path / "both")], capture_output=True, text=True, check=False
    )
    if "sanitize" in made.stderr:
        pytest.skip("this compiler has no sanitizers")
    assert made.returncode == 0, made.stderr
    done = subprocess.run(
        [str(tmp_path / "both")], capture_output=True, text=True, check=False, env={"OMP_NUM_THREADS": "4"}
    )
    assert done.returncode == 0, done.stdout + done.stderr[:2000]


@pytest.mark.usefixtures("always")
def test_code_that_is_right_for_every_call_has_no_condition(tmp_path):
    """Copies of a body in the old order assume nothing."""
    text = PLAIN.replace("Unroll(ufactor=4, parallelize=True)", "Unroll(ufactor=4)")
    new = tuned(tmp_path, text)
    assert "i += 4" in new
    assert "if (" not in new


@pytest.mark.parametrize(
    ("x", "y", "overlap"),
    [
        ("size_t", "long", True),
        ("unsigned", "int", True),
        ("char", "double", True),
        ("thing", "float", True),
        ("float", "double", False),
        ("long", "int", False),
    ],
)
def test_arrays_overlap_where_c_lets_their_types(tmp_path, x, y, overlap):
    """Signs apart, one type may have two names; through char everything may be written."""
    path = tmp_path / "a.c"
    path.write_text(PLAIN.replace("double *x", f"{x} *x").replace("double *y", f"{y} *y"))
    assert ("(const char *)" in annotate(path).text) is overlap


@pytest.mark.usefixtures("always")
def test_arrays_of_unknown_reach_are_told_by_their_starts_and_a_note(tmp_path):
    path = tmp_path / "a.c"
    path.write_text(PLAIN.replace("0.5*y[i]", "0.5*y[(int)y[i]]"))
    result = annotate(path)
    assert "if ((const char *)x != (const char *)y) {" in result.text
    assert "how much of 'y' is used is not known, so it must not overlap 'x'" in str(result)


def test_device_code_runs_for_the_sizes_that_its_extents_are_of(tmp_path):
    """Extents of several indices are numbers of the tuning; a call with others is the original body's."""
    path = tmp_path / "a.c"
    path.write_text(
        """
void f(int N, int M, double A[N][M], double B[N][M]) {
  /*@ begin PerfTuning (
    def performance_params { param TC[] = [32]; }
    def input_params { param N[] = [6]; param M[] = [10]; }
    def input_vars { decl static double A[N][M] = random; decl static double B[N][M] = random; }
  ) @*/
  int i, j;
  /*@ begin Loop(transform CUDA(threadCount=TC)
    for (i = 0; i <= N-1; i++) for (j = 0; j <= M-1; j++) A[i][j] += B[i][j];
  ) @*/
  for (i = 0; i <= N-1; i++) for (j = 0; j <= M-1; j++) A[i][j] += B[i][j];
  /*@ end @*/
  /*@ end @*/
}
"""
    )
    forget_warnings()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        new = annotate(path, backend="cuda", machine="h200").text
    test, _, rest = new[new.index("  if (") :].partition("{\n")
    assert "M == 10" in test
    assert "N == 6" in test
    assert "(const char *)" in test
    assert "B[i][j];\n    }\n  }" in rest[rest.index("} else {") :]


def test_that_rows_behind_pointers_lie_apart_is_said(tmp_path):
    path = tmp_path / "a.c"
    body = "for (i = 0; i < n; i++) for (j = 1; j < n; j++) r[i][j] = r[i][j-1] + i;"
    region = f"/*@ begin Loop(transform Unroll(ufactor=2) {body}) @*/{body}/*@ end @*/"
    path.write_text(f"void f(int n, double **r) {{ int i, j;\n{region} }}")
    (site,) = annotate(path).to_dict()["regions"]
    assert "the rows of 'r' must not overlap each other, which nothing looks at" in site["results"][0]["notes"]


@pytest.mark.parametrize(
    ("extent", "names"),
    [
        ("N*(M + 2) - k1", {"N", "M", "k1"}),
        ("100", set()),
        *((text, None) for text in ("1e5", "N*1e2", "1_000", "0x10", "N**2", "N//2", "max([N, 2])", "[2][0]")),
    ],
)
def test_extents_are_written_in_c_where_c_reads_them_alike(extent, names):
    assert names_of_sum(formula(extent)) == names
