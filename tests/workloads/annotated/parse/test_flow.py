"""What is declared around a region, and what the rest of a function reads of what it leaves."""

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
        ("double z = va_arg(ap, double); k = 0;", ["k", "t"]),
        ("k = 0; } void g(void) { FOREACH (i, n) k = 0;", ["k", "t"]),
        ("k = 0; }\nvoid g(void)\n{ FOREACH (i, n) { k = 0; }", []),
        ("BEGIN_TIMING\nk = 0; y[0] = k;", ["k"]),
        ("FILE *f = fopen(name); number u = (number)n, *v = (number *)y; k = u;", []),
        ("(k) = 0; y[0] = k;", []),
        ("y[0] = n && (k = 3);", ["k"]),
        ('const char *c = "%" PRIu64 "{", d = \'}\'; t = 0;', []),
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


@pytest.mark.parametrize(
    "top",
    [
        'extern "C" void g(int n);\nextern "C" {\nvoid h(void) { }\n}',
        "namespace one { int n; }",
        "template <class T> T g(T q) { return q; }",
        "#ifdef TUNED",
        "#ifndef HEAD\n#define HEAD\n#define SQUARE(k) ((k)*(k))",
        "int g(x, t) double *x; real t; { return k; }",
        "MPI_Comm comm; static Vec X, *Y; struct s { int t; } s1 = {.t = 3}; enum { A, B = 2 };",
        "struct q { thing *x; void (*h)(other *); }; third **h(int n, fourth *x, fifth y[n]) { return (sixth *)x; }",
        "".join(
            f"int use{n}(Foo{n} a, const Bar{n} *b, Baz{n} c[3]) {{ return a * b; }} Qux{n} *of{n}(void); "
            for n in range(50)
        ),
        "\ufeff",  # what some editors begin a file with
        "void g(FILE *f, MPI_Comm c) { CHECK(f); kern<<<1, 2>>>(t); std::cout << k; }",
    ],
)
def test_what_stands_around_a_function_says_nothing_of_its_scalars(top):
    behind = (
        "y[0] = t; }\n#else\nvoid f(int n) {\n}\n#endif\nvoid tail(void) {" if top == "#ifdef TUNED" else "y[0] = t;"
    )
    behind += " }\n#endif\nvoid tail(void) {" if "HEAD" in top else ""
    assert live("", behind, top=top) == ["t"]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("unsigned q = 3;", ("unsigned", "3")),
        ("unsigned q = 3; q = 4;", ("unsigned", None)),
        ("unsigned q = 3, *p = &q;", ("unsigned", None)),
        ("unsigned q = 3; { int q = 5; q++; }", ("unsigned", "3")),
        ("int q = 5; { unsigned q = 3;", ("unsigned", "3")),
        ("unsigned q = 3; while (n--) { q = 4; } again: while (n--) {", ("unsigned", None)),
        ("for (unsigned q = 3; q < 9; q++) {", ("unsigned", None)),
        ("typedef long count; const count q = 3;", ("long", "3")),
        ("long __attribute__((aligned(8))) q = 3;", ("long", "3")),
        ("ATTRIBUTE\nlong q = 3;", ("long", "3")),
        ("#if WIDTH > 4\nlong q = 3;\n#endif", ("long", None)),
        ("#if WIDTH > 4\nint q = 2;\n#else\nlong q = 3;\n#endif", ("long", None)),
        ("unsigned q = 3;\n#ifdef WIDE\nq = 4;\n#endif", ("unsigned", None)),
        (
            "#define P 1\n#if P == 1\ntypedef long T;\n#elif P\ntypedef int T;\n#endif\nT q = 3;",
            ("long", "3"),
        ),
        ("#if P == 1\ntypedef long T;\n#else\ntypedef int T;\n#endif\nT q = 3;", (None, None)),
        ("unsigned q = 3; FOREACH (i) q = va_arg(list, unsigned);", ("unsigned", None)),
        ("long double q = 3;", (None, None)),
        ("struct { int a; } q;", (None, None)),
        ("double complex q;", (None, None)),
    ],
)
def test_what_is_declared_before_a_region_is_visible(before, found):
    inside = f"int k; double t;\n{before}\n{LOOP}" + "}" * (before.count("{") - before.count("}"))
    (site,) = read_file(f"void f(int n, double *a, double *y) {{\n{inside}\n}}\n")
    declared = site.parameters.get("q")
    assert (declared and declared.ctype, site.values.get("q")) == found


def test_a_region_outside_every_function_sees_what_is_declared_before_it():
    (site,) = read_file(f"int n = 3, k; double t, *a, y[9];\n{LOOP}")
    assert site.parameters.keys() == {"n", "k", "t", "a", "y"}
    assert (site.values["n"], site.arrays, site.loops[0].live >= {"k", "t"}) == ("3", {"y"}, True)


def test_what_a_statement_declares_that_is_no_c_is_refused():
    text = f"void f(double *a, double *y) {{ int k; double t; size_t n = va_arg(list, size_t);\n{LOOP} }}"
    with pytest.raises(
        UsageError, match="'n' in the region of line 2 stands in a statement of the file that cannot be"
    ):
        read_file(text)
    with pytest.raises(UsageError, match="what stands around the region of line 2 cannot be read as C"):
        read_file("int a[3] = {\n" + LOOP + "};" + "@;" * 90)


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
