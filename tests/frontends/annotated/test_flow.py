"""What the rest of a function reads of what a region leaves."""

import pytest

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.parse.file import read_file

BODY = "for (k = 0; k <= n-1; k++) { t = a[k]; y[k] = 2*t; }"
LOOP = f"/*@ begin Loop(transform Unroll(ufactor=2) {BODY}) @*/ {BODY} /*@ end @*/"


def live(before, behind, *, head="", top=""):
    """The scalars of a region that live on behind it."""
    inside = f"int k, i; double t;\n{before}{head}\n{LOOP}\n{behind}"
    text = f"{top}\nvoid f(int n, double *a, double *y) {{\n{inside}\n}}\n"
    (site,) = read_file(text)
    return sorted(site.loops[0].live & {"k", "t"})


@pytest.mark.parametrize(
    ("behind", "names"),
    [
        ("", []),
        ("for (k = 0; k < n; k++) { for (i = 0; i < n; ++i) t = i; }", []),
        ("for (i = 0; i < n; i++) { for (k = 0; k < n; ++k) y[k] = 0; } y[0] = k;", ["k"]),
        ("for (i = 0; i < n; i++) { for (k = k + 1; k < n; ++k) y[k] = 0; }", ["k"]),
        ("if (n) for (k = 0; k < n; ++k) { y[k] = 0; } else y[0] = t;", ["t"]),
        ("if (n) k = 1; else k = 2; y[0] = k;", []),
        ("if (n) k = 1; y[0] = k;", ["k"]),
        ("while (n--) { y[n] += k; k = 0; }", ["k"]),
        ("do { k = 0; } while (t > k);", ["t"]),
        ("do k = 0; while (n > k); y[0] = k;", []),
        ("k = t = 0; y[0] = k + t;", []),
        ("i = 3, k = 0; y[0] = k;", []),
        ("i = k, k = 0;", ["k"]),
        ("{ int k = 3; y[0] = k; } k = 2;", []),
        ("{ double k = t; y[0] = k; } y[1] = k;", ["k", "t"]),
        ("{ int t[3]; t[0] = 1; } struct s *p; p->k = 3; (*p).t = 2;", []),
        ("for (int k = 0; k < n; k++) y[k] = 1;", []),
        ("return; y[0] = k;", []),
        ("if (n) { k = 0; goto out; } out: y[0] = k;", ["k"]),
        ("k = 0; goto out; again: y[0] = t; return; out: if (n) goto again; y[1] = k;", ["t"]),
        ("switch (n) { case 0: k = 1; break; case 1: t = 2; default: y[0] = t; } y[1] = 0;", ["t"]),
        ("switch (n) { case 0: k = 1; } y[1] = k;", ["k"]),
        ("for (;;) { if (n) { y[0] = t; break; } k = 0; }", ["t"]),
        ("n > 3 ? (k = 1) : 0;", ["k"]),
        ('printf("k t\\n"); /* t */ // k', []),
        ("#ifdef DEBUG\n y[0] = k;\n#endif", ["k"]),
        ("#if N > 3\n k = 0;\n#elif X\n y[0] = t;\n#endif\n y[0] = k;", ["k", "t"]),
        ("FOREACH (i, n) { k = 0; y[0] = t; }", ["k", "t"]),
    ],
)
def test_a_scalar_lives_on_if_some_way_reads_it_first(behind, names):
    assert live("", behind) == names


@pytest.mark.parametrize(
    ("before", "head", "behind", "names"),
    [
        ("", "for (i = 0; i < 3; i++) {", "}", []),
        ("", "for (i = 0; i < 3; i++) { y[0] = t;", "}", ["t"]),
        ("", "for (i = 0; i < 3; i++) { if (i) y[0] = k; k = 0;", "}", ["k"]),
        ("", "for (i = 0; i < 3; i += k)", "", ["k"]),
        ("", "do {", "} while (t > 0);", ["t"]),
        ("again: y[0] = t;", "", "if (n--) goto again;", ["t"]),
        ("again: t = 0;", "", "if (n--) goto again;", []),
        ("double *p = &t;", "", "y[0] = 1;", ["t"]),
        ("{ int t; f(&t); }", "", "", []),
        ("", "", "scanf(fmt, (void *)&(k));", ["k"]),
        ("i = n & k;", "", "", []),
        ("static int q; extern double t;", "", "", ["t"]),
    ],
)
def test_the_whole_function_says_what_lives_on(before, head, behind, names):
    assert live(before, behind, head=head) == names


@pytest.mark.parametrize(
    ("top", "behind", "names"),
    [
        ("#define RESULT (t - 1.0)", "y[0] = RESULT;", ["t"]),
        ("#define RESULT (t - 1.0)", "", []),
        ("#define T2 t*2\n#define RESULT(x) ((x) + T2)", "y[0] = RESULT(1);", ["t"]),
        ("#define LOG(...) printf(__VA_ARGS__)", 'LOG("%d", k);', ["k"]),
        ("#define N 1\n#undef N\n#define N k", "y[0] = N;", ["k"]),
        ("#define JOIN(a) a##t", "y[0] = JOIN(n);", ["k", "t"]),
        ("static double t;", "", []),
        ("#define max(k, t) ((k) > (t) ? (k) : (t))", "y[0] = max(i, 3);", []),
        ("#define V(a) t##a", "y[0] = V(1);", ["k", "t"]),
        ("#define PUT(x) y[0] = x##_end\n#define V PUT(k)", "V;", ["k", "t"]),
        ("#define V(a) t##a", "y[0] = 1;", []),
    ],
)
def test_macros_say_it_too(top, behind, names):
    assert live("", behind, top=top) == names


def test_what_cannot_be_followed_reads_everything():
    assert live("", "if (n { y[0] = 1; }") == ["k", "t"]


def test_an_inner_region_lives_on_in_the_code_of_its_specification():
    text = f"""void f(int N, double *a, double *y) {{
/*@ begin PerfTuning ( def input_params {{ param N[] = [9]; }} def input_vars {{ decl double a[N] = random;
  decl double y[N] = random; decl int n = N; }} ) @*/
int k; double t, s; {LOOP}
s = t; for (k = 0; k < N; k++) y[k] += s;
/*@ end @*/ }}"""
    (site,) = read_file(text)
    assert site.loops[0].live & {"k", "t"} == {"t"}


def test_a_variable_of_the_region_that_is_read_behind_it_is_refused():
    text = "void f(int n, double *y) {{ int i; /*@ begin Loop(transform Unroll(ufactor=2)) @*/ {0} /*@ end @*/ {1} }}"
    body = "double s = 0; for (i = 0; i < n; i++) s += y[i];"
    with pytest.raises(UsageError, match="'s', which the region of line 2 declares, is read behind it"):
        read_file("double s;\n" + text.format(body, "y[0] = s;"))
    with pytest.raises(UsageError, match="'s', which the region of line 1 declares, is read behind it"):
        read_file(text.format(body, "y[0] = s;"))
    assert read_file(text.format(body, "{ double s = 1; y[0] = s; }"))


def test_a_scalar_that_is_also_an_element_behind_a_pointer_is_refused():
    body = "for (i = 0; i < n; i++) { t = y[i]; y[i] = p[0]; }"
    text = f"void f(int n, double *y) {{ int i; double t, *p = &t; /*@ begin Loop() @*/ {body} /*@ end @*/ }}"
    with pytest.raises(UsageError, match="the region of line 1 uses 't' also through the pointer 'p'"):
        read_file(text)
