"""Which loops are read as sums of products, and which are not."""

import pytest

from tilewright.workloads.annotated.lower.lowering import code, text
from tilewright.workloads.annotated.lower.products import product_loops, summed_in_place
from tilewright.workloads.annotated.nests.nest import Name
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code

TYPES = {
    **dict.fromkeys("ABCxs", "double"),
    **dict.fromkeys("ijknmp", "int"),
    "alpha": "double",
    "beta": "double",
    "F": "float",
    "f": "float",
}
LI, LJ, LK = "for (i = 0; i < n; i++)", "for (j = 0; j < m; j++)", "for (k = 0; k < p; k++)"
NEW = "for (int k = 0; k <= p - 1; k++) {"


def read(loops: str, body: str):
    return product_loops(parse_code(f"{loops} {body}", "a test"), TYPES)


@pytest.mark.parametrize("order", [LI + LJ + LK, LI + LK + LJ, LK + LI + LJ, LJ + LI + LK, LJ + LK + LI, LK + LJ + LI])
def test_counters_have_their_roles_in_any_order(order):
    found = read(order, "C[i][j] += alpha*A[i][k]*B[k][j];")
    assert found is not None
    assert [loop.index for loop in found.loops] == ["i", "j", "k"]
    assert found.sloped is None
    ((left, right),) = found.terms
    assert (text(left), text(right)) == ("alpha * A[i][k]", "B[k][j]")


@pytest.mark.parametrize(
    ("body", "terms"),
    [
        ("C[i][j] = C[i][j] + A[i][k]*B[j][k];", [("A[i][k]", "B[j][k]")]),
        ("C[i*m+j] = A[k*n+i]*B[k*m+j] + C[i*m+j];", [("A[k * n + i]", "B[k * m + j]")]),
        ("C[i][j] -= A[i][k]*B[k][j];", [("-A[i][k]", "B[k][j]")]),
        ("C[j][i] += A[i][k]*B[k][j];", [("B[k][j]", "A[i][k]")]),
        (
            "C[i][j] += A[j][k]*alpha*B[i][k] - B[j][k]*A[i][k];",
            [("alpha * B[i][k]", "A[j][k]"), ("A[i][k]", "-B[j][k]")],
        ),
        ("C[i][j] += (A[i][k] - beta)*sqrt(B[k][j]);", [("A[i][k] - beta", "sqrt(B[k][j])")]),
    ],
)
def test_terms_are_parted(body, terms):
    found = read(LI + LJ + LK, body)
    assert found is not None
    assert [(text(left), text(right)) for left, right in found.terms] == terms


@pytest.mark.parametrize(
    ("loops", "low", "high"),
    [
        (LI + "for (j = 0; j <= i; j++)" + LK, "0", "i"),
        (LI + "for (j = i; j < m; j++)" + LK, "i", "m - 1"),
        (LI + "for (j = n - i; j < m; j++)" + LK, "n - 0 - i", "m - 1"),
        (LJ + "for (i = j; i < n; i++)" + LK, "0", "-0 + i"),
        (LJ + "for (i = 0; i < j; i++)" + LK, "-(0 - 1) + i", "m - 1"),
    ],
)
def test_columns_may_begin_or_end_with_the_row(loops, low, high):
    found = read(loops, "C[i][j] += A[i][k]*B[k][j];")
    assert found is not None
    assert found.sloped is not None
    assert text(found.low[-1].at(Name("i"))) == low
    assert text(found.high[-1].at(Name("i"))) == high


def test_other_loops_are_none():
    for loops, body in [
        (LI + LJ + LK, "C[i][j] = A[i][k]*B[k][j];"),
        (LI + LJ + LK, "C[i][j] *= A[i][k]*B[k][j];"),
        (LI + LJ + LK, "C[i][j] += C[i][k]*B[k][j];"),
        (LI + LJ + LK, "C[i][j] += A[i][j]*B[k][j];"),
        (LI + LJ + LK, "C[i][j] += A[i][k] + B[k][j];"),
        (LI + LJ + LK, "C[i][j] += A[i][k];"),
        (LI + LJ + LK, "C[i][2*j] += A[i][k]*B[k][j];"),
        (LI + LJ + LK, "C[i*i][j] += A[i][k]*B[k][j];"),
        (LI + LJ + LK, "C[i][j] += F[i][k]*B[k][j];"),
        (LI + LJ + LK, "F[i][j] += F[i][k]*B[k][j];"),
        (LI + LJ + LK, "x[i] += A[i][k]*B[k][j];"),
        (LI + LJ, "x[i] += A[i][j]*B[i][j];"),
        (LI + LJ + "for (k = i; k < p; k++)", "C[i][j] += A[i][k]*B[k][j];"),
        (LI + LJ + "for (k = 0; k < p; k += 2)", "C[i][j] += A[i][k]*B[k][j];"),
        (LI + "for (j = i; j < 2*i; j++)" + LK, "C[i][j] += A[i][k]*B[k][j];"),
        (LI + "for (j = i; j < n + i; j++)" + LK, "C[i][j] += A[i][k]*B[k][j];"),
    ]:
        assert read(loops, body) is None, (loops, body)


def after(body: str) -> str:
    stmt = parse_code(LI + LJ + "{" + body + "}", "a test")
    stmt = localise(inline_temporaries(stmt, TYPES, frozenset()), TYPES, frozenset())
    return " ".join(code(summed_in_place(stmt, TYPES)).split())


@pytest.mark.parametrize(
    ("body", "new"),
    [
        (f"s = 0; {LK} s += A[i][k]*B[k][j]; C[i][j] = s;", f"C[i][j] = 0; {NEW} C[i][j] += A[i][k] * B[k][j]; }}"),
        (
            f"s = 0; {LK} s = s + A[i][k]*B[k][j]; C[i][j] = alpha*s + beta*C[i][j];",
            f"C[i][j] = beta * C[i][j]; {NEW} C[i][j] += alpha * (A[i][k] * B[k][j]); }}",
        ),
        (
            f"s = x[i]; {LK} s -= A[i][k]*B[k][j]; C[i][j] -= s;",
            f"C[i][j] = C[i][j] + -1 * x[i]; {NEW} C[i][j] += -1 * -(A[i][k] * B[k][j]); }}",
        ),
        (
            f"s = C[i][j]; {LK} s -= A[i][k]*B[k][j]; C[i][j] = s;",
            f"j++) {{ {NEW} C[i][j] += -(A[i][k] * B[k][j]); }}",
        ),
    ],
)
def test_sums_in_scalars_are_summed_where_they_are_stored(body, new):
    assert new in after(body)


@pytest.mark.parametrize(
    "body",
    [
        f"s = 0; {LK} s += A[i][k]*C[k][j]; C[i][j] = s;",  # the target is read
        f"s = 0; {LK} s += A[i][k]*B[k][j]; C[i][j] = s*s;",
        f"s = 0; {LK} s += A[i][k]*B[k][j]; C[i][j] = s; x[i] = s;",
        f"f = 0; {LK} f += A[i][k]*B[k][j]; C[i][j] = f;",  # rounded to float after every term
        f"s = 0; {LK} s += A[i][k]*B[k][j]; x[i] = 2; C[i][j] = s + x[i];",  # written in between
        f"s = 0; {LK} s = A[i][k]*B[k][j]; C[i][j] = s;",
    ],
)
def test_other_scalars_stay(body):
    stmt = parse_code(LI + LJ + "{" + body + "}", "a test")
    stmt = localise(inline_temporaries(stmt, TYPES, frozenset()), TYPES, frozenset())
    assert summed_in_place(stmt, TYPES) == stmt
