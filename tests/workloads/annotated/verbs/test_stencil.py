"""Iterated stencils in annotated loops: recognised, handed to the stencil compiler, equal to the loops."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from tests.workloads.annotated.compiled import library, pointers

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tiling import Tiling, parse
from tilewright.workloads.annotated.parse.file import read_file
from tilewright.workloads.annotated.parse.sweeps import Recognised
from tilewright.workloads.annotated.verbs import handover as annotate_stencil
from tilewright.workloads.annotated.verbs.annotate import annotate
from tilewright.workloads.annotated.verbs.case import Case, input_sizes, make_case
from tilewright.workloads.annotated.verbs.meter import CpuMeter
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions

EXAMPLES = Path(__file__).parents[4] / "examples" / "annotated"
STAR = "0.2*(A[i][j] + A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1])"
SQUARE = "for (i = 1; i <= N-2; i++) for (j = 1; j <= N-2; j++)"
ROWS = "for (i = 1; i < M-1; i++) for (j = 1; j < K-1; j++)"
LOOPS = {
    "copied back": f"{SQUARE} B[i][j] = {STAR}; {SQUARE} A[i][j] = B[i][j];",
    "there and back": f"{SQUARE} B[i][j] = {STAR}; {SQUARE} A[i][j] = {STAR.replace('A', 'B')};",
    "Gauss and Seidel": f"{SQUARE} A[i][j] = {STAR};",
    "one index": (
        f"{ROWS} q[i*K+j] = c*(p[i*K+j] + p[(i-1)*K+j] + p[i*K+K+j] + p[i*K+j-1] + p[i*K+1+j]);"
        f"{ROWS} p[i*K+j] = q[i*K+j];"
    ),
    "several fields": (
        "for (i = 1; i < N; i++) for (j = 0; j < N; j++) A[i][j] = A[i][j] - 0.5*(C[i][j] - C[i-1][j]);"
        "for (i = 0; i < N; i++) for (j = 1; j < N; j++) B[i][j] -= 0.5*(C[i][j] - C[i][j-1]);"
        "for (i = 0; i < N-1; i++) for (j = 0; j < N-1; j++)"
        "  C[i][j] -= 0.7*(B[i][j+1] - B[i][j] + A[i+1][j] - A[i][j]);"
    ),
    "a coefficient": (
        f"{SQUARE} B[i][j] = A[i][j] + C[i][j]*(A[i-1][j] - 3*A[i][j] + A[i+1][j] + A[i][j-1]*A[i][j+1]);"
        f"{SQUARE} A[i][j] = B[i][j];"
    ),
}
OTHERS = {
    "smaller box": f"{SQUARE} B[i][j] = 0.5*(A[i][j] + A[i][j-1]); {SQUARE} A[i][j] = B[i][j];",
    "time in the loop": f"{SQUARE} A[i][j] = {STAR} + t;",
    "read twice": f"{SQUARE} B[i][j] = {STAR}; {SQUARE} A[i][j] = B[i][j]; {SQUARE} B[i][j] = C[i][j];",
    "turned": f"{SQUARE} B[i][j] = A[j][i]; {SQUARE} A[i][j] = B[i][j];",
    "whole numbers": f"{SQUARE} B[i][j] = (1/N)*A[i][j-1]*A[i][j+1]*A[i+1][j]*A[i-1][j]; {SQUARE} A[i][j] = B[i][j];",
    "a condition": "for (i = 1; i <= N-2; i++) for (j = 1; j <= N-2; j++) if (i > j) A[i][j] = 0;",
}


def source(body: str, sizes: str, parameters: str = "double A[N][N], double B[N][N], double C[N][N]") -> str:
    return f"""
void f(int T, int N, int M, int K, double c, double *p, double *q, {parameters}) {{
  int t, i, j;
  /*@ begin PerfTuning (
    def input_params {{ {sizes} }}
    def input_vars {{
      decl static double A[N][N] = random; decl static double B[N][N] = random; decl static double C[N][N] = random;
      decl static double p[M*K] = random; decl static double q[M*K] = random; decl double c = 0.2;
    }}
  ) @*/
  /*@ begin Loop(
    for (t = 0; t <= T-1; t++) {{ {body} }}
  ) @*/
  for (t = 0; t <= T-1; t++) {{ {body} }}
  /*@ end @*/
  /*@ end @*/
}}
"""


def sizes_of(steps: int, edge: int = 40, rows: int = 9, row: int = 150) -> str:
    return f"param T = {steps}; param N = {edge}; param M = {rows}; param K = {row};"


def opened(text: str) -> tuple[Case, Recognised, Problem] | None:
    (site,) = read_file(text)
    assert site.spec is not None
    case = make_case(site, site.spec, input_sizes(site.spec, {})[0], Path())
    found = annotate_stencil._match(case, case.site.loops[0])
    problem = None if found is None else annotate_stencil._problem(case, found)
    return None if found is None or problem is None else (case, found, problem)


@pytest.fixture
def failures(workers):
    """Run every candidate in a worker, which compares with the loops."""

    def run(text: str, tilings: list[Tiling] | None = None) -> list[str]:
        known = opened(text)
        assert known is not None
        case, found, problem = known
        meter = CpuMeter(case=case, pool=workers, options=AnnotatedOptions(repeats=1))
        meter.start()
        made = [
            annotate_stencil.stencil_variant(case, found, problem, tiling)
            for tiling in tilings or annotate_stencil.candidates(problem)[:1]
        ]
        return [meter.single(each, rounds=1).detail for each in made]

    return run


@pytest.mark.parametrize("name", LOOPS)
def test_time_loops_are_handed_over_and_compute_the_same(failures, name):
    assert failures(source(LOOPS[name], sizes_of(11))) == [""]


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_any_number_of_steps(failures, steps):
    tilings = [parse("streaming:t=4,s=40x40"), parse("none")]
    assert failures(source(LOOPS["copied back"], sizes_of(steps)), tilings) == ["", ""]


@pytest.mark.parametrize(("name", "steps"), [("several fields", 2), ("several fields", 7), ("a coefficient", 7)])
def test_kernels_between_bands_keep_every_field_that_changes_in_memory_of_its_own(failures, name, steps):
    """With one band the loops' own arrays are all there is, with several the fields between them lie side by side."""
    text = source(LOOPS[name], sizes_of(steps))
    assert failures(text, [parse("streaming:t=3,s=40x40")]) == [""]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_stencil_stays_a_loop(name):
    assert opened(source(OTHERS[name], sizes_of(3))) is None


def test_arrays_of_pointers_stay_with_their_loops():
    pointers = "double **A, double **B, double **C"
    assert opened(source(LOOPS["copied back"], sizes_of(3), pointers)) is None


def test_the_expression_is_handed_over_and_right_at_every_size(tmp_path):
    """The kernel is for one shape; any other one, and no step at all, is the old body's."""
    text = (EXAMPLES / "heat_expression.c").read_text()
    path, out = tmp_path / "a.c", tmp_path / "out.c"
    path.write_text(text)
    result = annotate(path, out=out, sizes={"N": 1000, "T": 40}, seconds=300, repeats=1)
    (size,) = result.to_dict()["regions"][0]["results"]
    assert size["validated"]
    assert size["stencil_tiling"].startswith(("streaming", "hexagonal"))
    functions = [library(each, "-O2").heat_expression for each in (path, out)]
    for cells, steps in ((1000, 40), (1000, 3), (1000, 0), (77, 40)):
        fields = []
        for function in functions:
            u, v = np.random.default_rng(3).random(cells), np.ones(cells)
            function(steps, cells, ctypes.c_double(0.25), *pointers((u, v)))
            fields.append((u, v))
        for ours, theirs in zip(*fields, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_an_expression_that_is_not_what_the_old_body_does_is_refused(tmp_path):
    path = tmp_path / "a.c"
    path.write_text((EXAMPLES / "heat_expression.c").read_text().replace("- 2*u[0] +", "- 3*u[0] +"))
    with pytest.raises(UsageError, match=r"did not run.*'u' differs from the original body's"):
        annotate(path, sizes={"N": 1000, "T": 4}, seconds=300, repeats=1)


def test_what_became_of_a_stencil_is_said(tmp_path):
    path = tmp_path / "a.c"
    path.write_text(source(LOOPS["copied back"], sizes_of(6)))
    (size,) = annotate(path, seconds=300, repeats=1).to_dict()["regions"][0]["results"]
    assert any("an iterated stencil" in note for note in size["notes"])
    assert ("stencil_tiling" in size) == any("handed to the stencil compiler" in note for note in size["notes"])
