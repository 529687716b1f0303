"""Directives and launches belong to one loop each, not to every loop whose counter has the same name."""

import pytest
from tests.workloads.annotated.guessed_types import scalar_types

from tilewright.workloads.annotated.lower.apply import Applied, apply_transforms
from tilewright.workloads.annotated.lower.lowering import code
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.annotated.parse.evaluate import formula

FREE = "for (i=0;i<=n-1;i++) y[i] = 2*x[i];"
CARRIED = "for (i=1;i<=n-1;i++) z[i] = z[i-1] + x[i];"
DIAGONAL = "for (j=1;j<=n-1;j++) A[i][j] = A[i-1][j-1];"


def applied(text: str) -> Applied:
    stmt = parse_code(text, "x")
    types = scalar_types(stmt, {})
    return apply_transforms(
        localise(inline_temporaries(stmt, {}), types),
        NestContext(types=dict.fromkeys("xyzA", "double")),
        lambda each: formula(each).value({}),
        lambda each: parse_code(f"v = {each};", "x").value,
    )


def directed(text: str, word: str) -> list[str]:
    """The line behind each directive with a word, and what that loop's body begins with."""
    lines = code(applied(text).stmt).splitlines()
    return [
        " ".join(each.strip() for each in lines[place + 1 : place + 3])
        for place, line in enumerate(lines)
        if line.startswith("#pragma") and word in line
    ]


@pytest.mark.parametrize("body", [FREE + CARRIED, CARRIED + FREE])
@pytest.mark.parametrize("more", ["", ", unrolljam=(['i'],[2])", ", scalarreplace=(True,'double')"])
def test_vector_directives_stand_before_the_loops_without_carried_dependences_only(body, more):
    found = directed(f"transform Composite(vector=(True,'ivdep'){more}) {{ {body} }}", "ivdep")
    assert found
    assert all("y[" in each and "z[" not in each for each in found), found


@pytest.mark.parametrize(
    "transform", ["Unroll(ufactor=2, parallelize=True)", "Composite(openmp=(True,'omp parallel for'))"]
)
@pytest.mark.parametrize("body", [FREE + CARRIED, CARRIED + FREE])
def test_every_parallel_directive_is_true_of_its_own_loop(transform, body):
    found = directed(f"transform {transform} {{ {body} }}", "omp")
    assert found
    assert all("y[" in each and "z[" not in each for each in found), found


@pytest.mark.parametrize(
    "pragma", ["ivdep", "GCC ivdep", "simd", "omp simd", "clang loop vectorize(assume_safety)", "loop independent"]
)
def test_a_directive_that_asserts_independence_needs_it(pragma):
    result = applied(f"transform Pragma(pragma_str='{pragma}') {CARRIED}")
    assert "#pragma" not in code(result.stmt)
    assert "dependence of 'z'" in result.notes[0]
    assert "#pragma" in code(applied(f"transform Pragma(pragma_str='{pragma}') {FREE}").stmt)


def test_fused_copies_lose_the_directives_that_were_true_of_one_copy():
    """With i fixed the loop over j carries nothing; two copies of it, one reading what the other writes, do."""
    inner = f"transform Pragma(pragma_str='ivdep') {DIAGONAL}"
    assert directed(f"for (i=1;i<=n-1;i++) {inner}", "ivdep")
    result = applied(f"transform UnrollJam(ufactor=2) for (i=1;i<=n-1;i++) {inner}")
    text = code(result.stmt)
    assert "A[i + 1][j] = A[i + 1 - 1][j - 1]" in text
    fused = text[: text.index("A[i + 1][j]")]
    assert "#pragma" not in fused
    assert any("GCC ivdep" in note for note in result.notes)


def test_a_loop_that_goes_outside_loses_the_directives_that_were_true_inside():
    inner = f"transform Pragma(pragma_str='omp parallel for') {DIAGONAL}"
    assert directed(f"for (i=1;i<=n-1;i++) {inner}", "omp")
    text = f"transform Permut(seq=['j','i']) for (i=1;i<=n-1;i++) {inner}"
    assert code(applied(text).stmt).startswith("for (int j")
    assert not directed(text, "omp")
