"""Which loops run in parallel after a rewrite, and the look-alikes that must not."""

import pytest

from tilewright.workloads.annotated.lower.apply import apply_transforms
from tilewright.workloads.annotated.lower.lowering import code
from tilewright.workloads.annotated.lower.parallel import ParallelLoops, plan_parallel
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code, parse_expression

TYPES = {**dict.fromkeys("ABCxyzstuv", "double"), "c": "int", "n": "int", "m": "int", "h": "int"}
KNOWN = {"n": 140, "m": 130}


def planned(text: str, *, device: bool = False, known: dict[str, int] | None = None) -> ParallelLoops:
    stmt = parse_code(text, "a test")
    stmt = localise(inline_temporaries(stmt, TYPES), TYPES)
    return plan_parallel(stmt, NestContext(known=KNOWN if known is None else known, types=TYPES), device=device)


def parallel(plan: ParallelLoops) -> list[str]:
    return [loop.index for loop, _ in plan.loops]


TWO_WAYS = "for (i=0;i<n;i++) { y[i] = 0; for (j=0;j<m;j++) { s[j] += x[i]*A[i][j]; y[i] += A[i][j]*z[j]; } }"


def test_threads_sum_into_copies_where_a_nest_accumulates_in_two_directions():
    plan = planned(TWO_WAYS)
    ((loop, sums),) = plan.loops
    assert loop.index == "i"
    assert [(each.name, each.op) for each in sums] == [("s", "+")]
    assert plan.notes == []


def test_a_device_gets_such_a_nest_as_three_loops():
    plan = planned(TWO_WAYS, device=True)
    assert parallel(plan) == ["i", "j"]
    assert "is split into 2" in plan.notes[0]
    assert "the loop over 'j' is brought outside that over 'i'" in plan.notes[1]


def test_a_loop_that_unrolling_left_at_two_places_stays_whole():
    inside = "for (j=0;j<n;j++) for (i=1;i<n;i++) { x[i] += x[i-1]; y[i] = x[i]; }"
    text = f"for (k=0;k<n;k++) transform Unroll(ufactor=2) {inside}"
    setting = NestContext(types=TYPES)
    made = apply_transforms(parse_code(text, "a test"), setting, int, parse_expression)
    notes = plan_parallel(made.stmt, setting, device=True).notes
    assert [note.partition(",")[0] for note in notes] == ["the loop over 'i' is split into 2"]


@pytest.mark.parametrize(
    "text",
    [
        "for (i=0;i<n;i++) for (j=0;j<m-1;j++) s[j] += x[i]*s[j+1];",
        "for (i=0;i<n;i++) for (j=0;j<m;j++) s[j] = 0.5*s[j] + x[i];",
        "for (i=0;i<n;i++) { for (j=0;j<m;j++) s[j] += x[i]; y[i] = s[0]; }",
        "for (i=0;i<n;i++) for (j=0;j<m;j++) { s[j] += x[i]; s[j] *= y[i]; }",
        "for (i=0;i<n;i++) for (j=0;j<m;j++) if (s[j] < 9) s[j] += x[i];",
        "for (i=0;i<n;i++) for (j=0;j<m;j++) h[j] += x[i];",
    ],
)
def test_what_only_looks_like_a_sum_into_an_array_is_none(text):
    plan = planned(text)
    assert "i" not in parallel(plan)
    assert all(each.count is None for _, sums in plan.loops for each in sums)


def test_no_thread_keeps_a_copy_whose_size_is_not_known_or_large():
    assert parallel(planned("for (i=0;i<n;i++) for (j=0;j<m;j++) s[j] += x[i];", known={})) == ["j"]
    assert parallel(planned("for (i=0;i<n;i++) for (j=0;j<m;j++) s[j] += x[i];", known={"n": 9, "m": 10**6})) == ["j"]
    assert parallel(planned("for (i=0;i<n;i++) s[c[i]] += x[i];")) == []


LU = """for (k=0;k<n;k++) {
  for (j=k+1;j<n;j++) A[k*n+j] = A[k*n+j] / A[k*n+k];
  for (i=k+1;i<n;i++) for (j=k+1;j<n;j++) A[i*n+j] = A[i*n+j] - A[i*n+k]*A[k*n+j];
}"""


def test_what_outer_loops_bound_is_known_inside_them():
    """Rows written one after the other overlap only where a column leaves its row, which the bound on k forbids."""
    assert parallel(planned(LU)) == ["j", "i"]
    assert parallel(planned(LU.replace("j=k+1;j<n;j++) A[i", "j=k+1;j<n+2;j++) A[i"))) == ["j"]


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("for (i=1;i<n;i++) { y[i] = x[i]; s[i] = s[i-1] + y[i]; }", ["i"]),
        # The loop that reads the old values comes first.
        ("for (i=1;i<n-1;i++) { x[i] = y[i]; s[i] = 0.5*s[i-1]; z[i] = x[i+1] + s[i]; }", ["i", "i"]),
    ],
)
def test_statements_are_distributed_in_an_order_that_keeps_their_dependences(text, loops):
    plan = planned(text)
    assert parallel(plan) == loops
    assert "is split into" in plan.notes[0]


def test_the_loop_that_reads_old_values_is_the_first():
    text = code(planned("for (i=1;i<n-1;i++) { x[i] = y[i]; s[i] = 0.5*s[i-1]; z[i] = x[i+1]; }").stmt)
    assert text.index("z[i] =") < text.index("x[i] =")


@pytest.mark.parametrize(
    "text",
    [
        "for (i=1;i<n;i++) { x[i] = y[i-1]; y[i] = x[i]; }",
        "for (i=1;i<n;i++) { double t = x[i]; y[i] = y[i-1] + t; }",
        "for (i=1;i<n;i++) y[i] = y[i-1];",
        "for (i=1;i<n;i++) { s[0] = x[i]; y[i] = y[i-1] + s[0]; }",
    ],
)
def test_a_cycle_of_dependences_stays_one_sequential_loop(text):
    for device in (False, True):
        plan = planned(text, device=device)
        assert plan.loops == []
        assert plan.sequential


def test_loops_run_as_a_wavefront_where_both_carry_what_the_diagonal_does_not():
    for text in (
        "for (i=1;i<n;i++) for (j=1;j<m;j++) A[i][j] = A[i-1][j] + A[i][j-1];",
        "for (i=1;i<n-1;i++) for (j=1;j<m-1;j++) A[i][j] = A[i-1][j-1] + A[i-1][j+1] + A[i][j-1] + A[i+1][j+1];",
        "for (i=n-2;i>=0;i--) for (j=i+1;j<n;j++) { A[i][j] += A[i+1][j] + A[i][j-1]; }",
    ):
        for device in (False, True):
            plan = planned(text, device=device)
            assert parallel(plan) == ["tw_tile_i"]
            assert "as a wavefront" in plan.notes[-1]


@pytest.mark.parametrize(
    "text",
    [
        "for (i=1;i<n;i++) for (j=1;j<m-2;j++) A[i][j] = A[i-1][j+2] + A[i][j-1];",
        "for (i=1;i<n;i++) for (j=1;j<m;j++) y[0] = 0.5*y[0] + A[i][j];",
        "for (i=1;i<n;i++) for (j=1;j<m;j++) y[c[j]] = y[c[i]] + A[i][j];",
        "for (i=1;i<n;i++) for (j=1;j<c[i];j++) A[i][j] = A[i-1][j] + A[i][j-1];",
    ],
)
def test_what_a_diagonal_carries_is_no_wavefront(text):
    for device in (False, True):
        assert planned(text, device=device).loops == []


def test_an_inner_loop_comes_outside_only_where_that_keeps_every_dependence():
    assert parallel(planned("for (i=1;i<n;i++) for (j=0;j<m;j++) A[i][j] = A[i-1][j];", device=True)) == ["j"]
    turned = planned("for (i=1;i<n;i++) for (j=0;j<m-1;j++) A[i][j] = A[i-1][j+1];", device=True)
    assert parallel(turned) == ["j"]
    assert [loop.index for loop, _ in turned.sequential] == ["i"]


MATVEC = "for (i=0;i<n;i++) for (j=0;j<m;j++) A[i*m + j] = 0.5*A[i*m + j] + x[j];"


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        (MATVEC, ["i"]),
        (MATVEC.replace("i*m + j", "j + m*(i + 1)"), ["i"]),
        (MATVEC.replace("i*m + j", "i*m*m + j*m"), ["i"]),
        ("for (i=0;i<n;i++) for (j=0;j<m;j++) for (k=0;k<h;k++) A[(i*m + j)*h + k] += x[k];", ["i"]),
        (LU, ["j", "i"]),
        ("for (i=1;i<n;i++) for (j=0;j<m;j++) A[i*m + j] = A[(i-1)*m + j];", ["j"]),
    ],
)
def test_matrices_with_one_index_are_told_apart_by_rows_of_any_length(text, loops):
    assert parallel(planned(text, known={})) == loops


@pytest.mark.parametrize(
    "text",
    [
        MATVEC.replace("j<m", "j<=m"),
        MATVEC.replace("j=0", "j=-1"),
        MATVEC.replace("i*m + j", "i*m + 2*j"),
        MATVEC.replace("j<m", "j<h"),
        MATVEC.replace("A[i*m + j] =", "A[i*h + j] ="),
        MATVEC.replace("for (j", "{ m = m - 1; for (j").replace("x[j];", "x[j]; }"),
    ],
)
def test_rows_that_may_overlap_are_not_told_apart(text):
    assert "i" not in parallel(planned(text, known={}))


@pytest.mark.parametrize("before", ["if (i % 2 == 0) y[i] = x[i];", "{ double t = x[i]; y[i] = t; }"])
def test_what_stands_deeper_in_the_text_still_runs_first(before):
    plan = planned(f"for (i=1;i<n;i++) {{ {before} z[i] = 0.5*z[i-1] + y[i]; }}")
    text = code(plan.stmt)
    assert parallel(plan) == ["i"]
    assert text.index("y[i] =") < text.index("z[i] =")
