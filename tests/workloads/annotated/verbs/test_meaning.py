"""What annotated C means: types, counters and conversions are those of the file, and so is what variants are held to.

Every file is compiled as it is, tuned, compiled again, and called on numbers that no specification mentions.
"""

import itertools
import resource

import numpy as np
import pytest
from tests.workloads.annotated.compiled import library, pointers

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated import call as runtime
from tilewright.workloads.annotated.parse.file import read_file
from tilewright.workloads.annotated.verbs.annotate import annotate
from tilewright.workloads.annotated.verbs.case import make_case

FILE = """{top}
#define N 103
void {name}(double *a, double *y{more}) {{
  {before}
  /*@ begin PerfTuning (
    def build {{ arg build_command = 'gcc -O1'; }}
    def performance_params {{ {params} }}
    def input_params {{ param N[] = [103]; }}
    def input_vars {{ decl static double a[N] = random; decl static double y[N] = random; {inputs} }}
    def search {{ arg algorithm = 'Exhaustive'; }}
  ) @*/
  /*@ begin Loop(transform {transform} {body}) @*/
  {body}
  /*@ end @*/
  /*@ end @*/
  {behind}
}}
"""
UNROLL = ("Unroll(ufactor=UF)", "param UF[] = [4];")
OPENMP = ("Composite(openmp=(P, 'omp parallel for'))", "param P[] = [True];")
TILE = ("Composite(tile=[('i',T,'it'),('j',T,'jt')])", "param T[] = [5];")
FORM = {
    "local int": (UNROLL, "int i; int tmp;", "for (i = 0; i < N; i++) { tmp = a[i]; y[i] = tmp*2.5; }", ""),
    "local float": (UNROLL, "int i; float t;", "for (i = 0; i < N; i++) { t = a[i]*1e-3; y[i] = t*1e3; }", ""),
    "counter behind": (UNROLL, "int i;", "for (i = 0; i <= N-3; i++) y[i] = 2*a[i];", "y[0] = i;"),
    "counters of tiles behind": (
        TILE,
        "int i, j;",
        "for (i = 0; i <= 8; i++) for (j = 2; j <= i+7; j += 3) y[10*i + j] = a[i]*a[j];",
        "if (i > 0) y[1] = 100*i + j;",
    ),
    "counter of a parallel loop behind": (OPENMP, "int i;", "for (i = N-1; i >= 7; i--) y[i] = 2*a[i];", "y[0] = i;"),
    "counter inside": (
        UNROLL,
        "int i, j;",
        "for (i = 0; i < N; i++) { for (j = i; j <= 50; j += 4) y[i] += a[j]; y[i] += j; }",
        "",
    ),
    "int in a condition": (
        UNROLL,
        "int i, k;",
        "for (i = 0; i < N; i++) { k = a[i]*0.5; if (k > 2) y[i] = 1; else y[i] = k; }",
        "",
    ),
    "int in a subscript": (UNROLL, "int i, k;", "for (i = 0; i < N; i++) { k = i*0.4; y[k] = y[k] + a[i]*k; }", ""),
    "whole numbers in a double": (
        UNROLL,
        "int i; double h;",
        "for (i = 0; i < N; i++) { h = i; if (h/2 > 10.25) y[i] = h/2; }",
        "",
    ),
    "int accumulator": (OPENMP, "int i, s = 3;", "for (i = 0; i < N; i++) s += a[i]*0.5;", "y[0] = s;"),
    "int minimum": (OPENMP, "int i, s = 99;", "for (i = 0; i < N; i++) s = fmin(s, a[i]*7.7);", "y[0] = s;"),
    "started scalar": (OPENMP, "int i; double s = 0;", "for (i = 0; i < N; i++) s += a[i]*y[i];", "y[0] = s;"),
    "two scalars": (
        UNROLL,
        "int i; long k = 5; float q = 1;",
        "for (i = 0; i < N; i++) { q = 0.5*q + a[i]; k += i; }",
        "y[0] = q; y[1] = k;",
    ),
    "static variable of the file": (
        UNROLL,
        "int i;",
        "for (i = 0; i < N; i++) { total += a[i]*2; y[i] = total; }",
        "y[3] = total;",
        "static long total = 2;",
    ),
    "extent that the file sets": (
        UNROLL,
        "int i; const int half = 103/2;",
        "for (i = 0; i < half; i++) y[i] = 2*a[i];",
    ),
}


@pytest.fixture(autouse=True)
def stack():
    """What measures originals takes a large stack for its process, a worker as a rule; here that is the tests' own."""
    before = resource.getrlimit(resource.RLIMIT_STACK)
    yield
    resource.setrlimit(resource.RLIMIT_STACK, before)


def written(form, before, body, behind="", top="", *, inputs="", more="", name="f"):
    transform, params = form
    return FILE.format(
        top=f"#include <math.h>\n{top}",
        before=before,
        params=params,
        transform=transform,
        body=body,
        behind=behind,
        inputs=inputs,
        more=more,
        name=name,
    )


def called(function, seed):
    """Return what a function makes of its arrays."""
    rng = np.random.default_rng(seed)
    a, y = rng.uniform(-9, 9, 103), rng.uniform(-9, 9, 103)
    function(*pointers((a, y)))
    return y


def test_the_new_file_means_what_the_old_one_does(tmp_path):
    path, out = tmp_path / "a.c", tmp_path / "out.c"
    names = {name: f"f{number}" for number, name in enumerate(FORM)}
    path.write_text("\n".join(written(*FORM[name], name=function) for name, function in names.items()))
    result = annotate(path, out=out, runs=1, seconds=300, repeats=1)
    sizes = {name: site.sizes[0] for name, site in zip(FORM, result.sites, strict=True)}
    for name, size in sizes.items():
        assert size.to_dict()["outcomes"] == {"ok": 1}, (name, size.to_dict()["failures"])
    old, new = (library(each, "-O1") for each in (path, out))
    for seed, (name, function) in itertools.product(range(2), names.items()):
        ours, theirs = (called(getattr(each, function), seed) for each in (new, old))
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13, err_msg=name)
        if "file" in name:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
    # An integer that real terms are added to is no sum.
    illegal = {name for name, size in sizes.items() if "in parallel is illegal" in " ".join(size.notes)}
    assert illegal & {"int accumulator", "started scalar"} == {"int accumulator"}
    assert "i <= half" in result.text


@pytest.mark.parametrize(
    ("before", "body", "more", "message"),
    [
        ("int i;", "for (i = 0; i < m; i++) y[i] = a[i];", "", "'m' in the region of line 5 is declared as a number n"),
        ("int i;", "for (i = 0; i < N; i++) y[i] = a[i]*c;", "", "'c' in the region of line 5 is declared as a number"),
        (
            "int i;",
            "for (i = 0; i < m; i++) y[i] = a[i];",
            ", int m",
            "subscripts in the region of line 5 depend on 'm', which has no value",
        ),
        (
            "int i; unsigned char c;",
            "for (i = 0; i < N; i++) { c = a[i]; y[i] = c; }",
            "",
            "'c' in the region of line 5 is declared as a number neither in the file nor",
        ),
        (
            "int i;",
            "for (i = 0; i < N; i++) y[i] = b[i];",
            ", double *b",
            "the array 'b' in the region of line 5 has no extents in the specification",
        ),
    ],
)
def test_names_without_a_type_or_a_value_are_refused(before, body, more, message, tmp_path):
    path = tmp_path / "a.c"
    path.write_text(written(UNROLL, before, body, more=more).replace("#include <math.h>\n", "", 1))
    with pytest.raises(UsageError, match=message):
        annotate(path, runs=1, seconds=100, repeats=1)


def test_a_type_that_file_and_specification_disagree_on_is_refused(tmp_path):
    path = tmp_path / "a.c"
    text = written(UNROLL, "int i;", "for (i = 0; i < N; i++) y[i] = 2*a[i];")
    path.write_text(text.replace("decl static double a", "decl static float a"))
    with pytest.raises(UsageError, match="the file declares 'a' as double, its specification of line 6 as float"):
        annotate(path, runs=1, seconds=100, repeats=1)


def test_a_counter_that_is_lost_is_refused(tmp_path):
    path = tmp_path / "a.c"
    body = "for (i = 0; i < N; i++) { if (a[i] > 1) { for (j = 0; j < i; j++) y[j] += a[i]; } }"
    path.write_text(written(UNROLL, "int i, j;", body, "y[0] = j;"))
    with pytest.raises(UsageError, match="the counter 'j' is read behind its loop in the region of line 13"):
        annotate(path, runs=1, seconds=100, repeats=1)


def test_the_reference_is_the_files_own_text(tmp_path, monkeypatch):
    """A region that is read as something else than its text is refused, whatever its variants agree on."""
    built = []
    real = runtime.build

    def wrong(command, text, *rest):
        built.append((command, text))
        return real(command, text.replace("2.5 * a[i]", "2.0 * a[i]"), *rest)  # only the printed body has these spaces

    monkeypatch.setattr(runtime, "build", wrong)
    path = tmp_path / "a.c"
    path.write_text(written(UNROLL, "int i;", "for (i = 0; i < N; i++) y[i] = 2.5*a[i];"))
    with pytest.raises(UsageError, match=r"computes something else than its own text: 'y' differs"):
        annotate(path, runs=1, seconds=100, repeats=1)
    references = [command for command, text in built if "y[i] = 2.5*a[i];" in text]
    assert references[0][1:] == ("-O1", "-ffp-contract=off")


def test_inputs_are_wide_and_scalars_start_anywhere():
    """What a variant forgets only shows where inputs differ from what is usual."""
    inputs = [
        runtime.RegionInput(name="x", dtype="float64", extents=(40,), wide=True),
        runtime.RegionInput(name="s", dtype="float64", init=0, wide=True),
        runtime.RegionInput(name="k", dtype="int32", init=0, wide=True),
        runtime.RegionInput(name="n", dtype="int32", init=40),
    ]
    head = (
        "#include <stdlib.h>\ndouble tw_run(void **p) {{ double *x = p[0], *s = p[1]; int *k = p[2], n = *(int *)p[3];"
    )
    body = " for (int i = 0; i < n; i++) {{ {0} }} return 0.0; }}"
    objects = {
        name: runtime.build(("cc", "-O1"), (head + body).format(text))
        for name, text in {
            "right": "*s += x[i]; *k += 1;",
            "forgets s": "*s = (i ? *s : 0) + x[i]; *k += 1;",
            "forgets k": "*s += x[i]; *k = i + 1;",
            "misses negative ones": "*s += x[i] < 0 ? -x[i] : x[i]; *k += 1;",
            "misses large ones": "*s += x[i] > 2 ? 2 : x[i]; *k += 1;",
        }.items()
    }
    right = objects.pop("right")
    originals = runtime.Originals(timed=right, reference=right, second=right, initial=None)
    assert runtime.prepare(originals, inputs, 0, 1, 60.0)[1:] == (True, True)
    assert runtime.trial(right, 1, 1.0)
    for wrong in objects.values():
        with pytest.raises(runtime.WrongResultError):
            runtime.trial(wrong, 1, 1.0)


def test_roots_are_compared_on_positive_numbers():
    text = "#include <math.h>\ndouble tw_run(void **p) { double *x = p[0]; x[0] = sqrt(x[0]); return 0.0; }"
    data = runtime.build(("cc", "-O1"), text)
    originals = runtime.Originals(timed=data, reference=data, second=data, initial=None)
    inputs = [runtime.RegionInput(name="x", dtype="float64", extents=(20,), wide=True)]
    for seed in range(5):
        assert runtime.prepare(originals, inputs, seed, 1, 60.0)[1] is True


def test_regions_are_timed_with_what_the_file_declares():
    """Arrays of the file are objects whose extents compilers know, parameters pointers, sizes what they are there."""
    text = """static double A[30][30];
void f(int N, double *restrict x, double y[N], double (*B)[30]) {
  double t[30], z = 1; int i; double *p = x;
  /*@ begin PerfTuning ( def input_params { param N[] = [30]; param M[] = [4]; } def input_vars {
    decl double A[N][N] = random; decl double B[N][N] = random; decl double x[N] = random; decl double y[N] = random;
    decl double t[N] = random; decl double p[N] = random; decl static double S[N] = random;
    decl dynamic double D[N] = 0;
  } ) @*/
  /*@ begin Loop(transform Unroll(ufactor=2)) @*/
  for (i = 0; i < N; i++) y[i] += A[i][i]*x[i]*B[i][0] + t[i]*p[i]*S[i]*D[i]*M;
  /*@ end @*/ /*@ end @*/
}
"""
    (site,) = read_file(text)
    case = make_case(site, site.spec, {"N": 30, "M": 4}, None)
    for unit in (case.original(), case.reference()):
        assert "static double A[30][30];" in unit
        assert "  double (*B)[30] = (double (*)[30])tw_p[" in unit
        assert "  double *restrict x = (double *)tw_p[" in unit
        for name in ("y", "p", "D"):
            assert f"  double *{name} = (double *)tw_p[" in unit
        for name in ("t", "S"):
            assert f"static double {name}[30];" in unit
        assert "static volatile int tw_number_N = 30;" in unit
        assert "  int N = tw_number_N;" in unit
        assert "#define M (4)" in unit


def test_everything_that_chooses_no_elements_is_compared_on_wide_numbers():
    """Arrays and scalars that begin with 0 among them: a variant that forgets what was there shows."""
    body = "for (i = 0; i < N; i++) { s += a[i]*t[i] + q; y[k[i] + m] += s; }"
    arrays = "decl static double t[N] = 0; decl static int k[N] = 0; decl double q = 0; decl int m = 0;"
    text = written(UNROLL, "int i; double s = 0;", body, "y[0] = s;", inputs=arrays, more=", double q, int m")
    (site,) = read_file(text.replace("#define N 103\n", ""))
    case = make_case(site, site.spec, {"N": 103}, None)
    assert {each.name for each in case.inputs if each.wide} == {"a", "y", "t", "q", "s"}
    assert {each.name for each in case.inputs if not each.wide} == {"k", "m"}
