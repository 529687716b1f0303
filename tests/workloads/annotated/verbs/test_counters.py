"""Counters and bounds of any type, in files without a specification: the new file is run beside the old one.

No variant is compared with the file's own text there, so what a loop counts with has to be read right.
"""

import re
import subprocess

import pytest

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.verbs.annotate import annotate

FILE = """void f(int n, int m, double *a, double *y) {{
  {before}
  {head}
  /*@ begin Loop(transform {transform} {body}) @*/
  {body}
  /*@ end @*/
  {tail}
  {behind}
}}
"""
HEADERS = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
HEADERS += "#include <math.h>\n#define floord(n, d) floor(((double)(n))/((double)(d)))\n"
HEADERS += "#define ceild(n, d) ceil(((double)(n))/((double)(d)))\n"
MAIN = r"""
int main(void) {
  static const int sizes[] = {0, 1, 2, 3, 4, 5, 8, 13, 40};
  for (unsigned p = 0; p < sizeof sizes / sizeof *sizes * 5; p++) {
    int n = sizes[p / 5], m = p % 5 * 2;
    double *array[2][2];
    for (int who = 0; who < 2; who++) {
      for (int place = 0; place < 2; place++) {
        array[who][place] = malloc(200 * sizeof(double));
        for (int i = 0; i < 200; i++) array[who][place][i] = (i * 37 + place * 11 + n) % 83 / 8.0 - 5;
      }
      (who ? tuned : plain)(n, m, array[who][0], array[who][1]);
    }
    for (int i = 0; i < 400; i++)
      if (array[0][i / 200][i % 200] != array[1][i / 200][i % 200]) {
        printf("n = %d, m = %d, element %d\n", n, m, i);
        return 1;
      }
  }
  return 0;
}
"""
UNROLL = "Unroll(ufactor=4)"
TILES = "Composite(tile=[('i',3,'it'),('j',4,'jt')], boundreplace=True, unrolljam=(['i','j'],[2,3]))"
DOUBLED = "for (i = 0; i < q; i++) y[i] = 2*a[i];"
COUNTS = {
    "long": ("long i;", "for (i = 0; i < n; i++) y[i] = (i+100000)*(i+100000);", "y[0] = i*3000000000;", UNROLL),
    "own long": ("", "for (long i = 0; i < n; i++) y[i] = (i+100000)*(i+100000);", "", UNROLL),
    "beyond int": (
        "long i, j, b = 3000000000;",
        "for (i = b; i < b+n; i++) for (j = b; j < b+n; j++) y[j-b] += a[i-b]*(i-j);",
        "y[0] = i;",
        TILES,
    ),
    "unsigned bound": ("int i; unsigned q = n;", DOUBLED, "", UNROLL),
    "unsigned literal": ("int i; n += 1;", "for (i = 0; i < n-1u; i++) y[i] = 2*a[i];", "", UNROLL),
    "size_t": ("size_t i, q = n;", "for (i = 0; i < q; i++) y[i] = (i - 5)/2 + a[q-1-i];", "y[1] = i - 50;", UNROLL),
    "unsigned test": (
        "uint32_t i; uint64_t q = n;",
        "for (i = 0; i < q; i++) { if (i - 1 < 4) y[i] += 1; y[(i-1)%8] += a[i]; }",
        "y[1] = (i-50)/2;",
        UNROLL,
    ),
    "unsigned tiles": (
        "unsigned i, j, q = n;",
        "for (i = 0; i < q; i++) for (j = 0; j < q; j++) y[j] += a[i]*(i-j);",
        "y[1] = i/2;",
        TILES,
    ),
    "unsigned inside": (
        "int j; unsigned i, q = n;",
        "for (j = 0; j < m; j++) { for (i = 0; i < q; i++) y[i] += a[q-1-i]; y[j] += (i-50)/2; }",
        "",
        UNROLL,
    ),
    "Pluto's bounds": (
        "int i, t, lag = n - 13;",
        "for (t = ceild(lag, 4); t <= floord(n-1, 4); t++) for (i = 4*t; i <= 4*t+3; i++) if (i >= 0) y[i] += a[i]*t;",
        "y[0] = t;",
        TILES.replace("'j'", "'t'"),
    ),
    "rounded quotients": (
        "long i;",
        "for (i = floor(-n/3.0); i < ceil((double)(n - m)/7); i++) y[i+20] += i;",
        "y[0] = i;",
        UNROLL,
    ),
    "real start": ("int i;", "for (i = n*0.7; i < n; i++) y[i] = 2*a[i];", "y[0] = i;", UNROLL),
    "narrow counter": ("unsigned char i;", "for (i = 0; i < n; i++) y[i] += i*a[i];", "", UNROLL),
    "narrow bound": (
        "int i, j; uint8_t q[42]; for (i = 0; i < 42; i++) q[i] = i*5%7;",
        "for (i = 0; i < n; i++) for (j = q[i]; j < q[i+1]; j++) y[j] += a[i];",
        "y[0] = i;",
        TILES,
    ),
    "bound that the body sets": (
        "int i, j, q = 0;",
        "for (i = 0; i < n; i++) { q = 3; if (i%2) q = 7; for (j = 0; j < q; j++) y[j] += a[i]; }",
        "y[0] = i + q;",
        TILES,
    ),
    "bound and counter that the body declares": (
        "int i;",
        "for (i = 0; i < n; i++) { int q = i/2, j; for (j = 0; j < q; j++) y[j] += a[i]; y[50] += j; }",
        "",
        TILES,
    ),
    "bound in an array that the body writes": (
        "int i, j, q[3];",
        "for (i = 0; i < n; i++) { q[1] = i%5; for (j = 0; j < q[1]; j++) y[j] += a[i]; }",
        "",
        TILES,
    ),
    "condition that the body sets": (
        "int i, j;",
        "for (i = 0; i < n; i++) { int q = 3; if (i%2) q = 7; if (q > 4) for (j = 0; j < 9; j++) y[j] += a[i]; }",
        "",
        TILES,
    ),
    "names of copies": (
        "int i, j;",
        "for (i = 0; i < n; i++) { double q = a[i], q_1 = a[i+1]; for (j = 0; j < 9; j++) y[j] += q - 2*q_1; }",
        "",
        TILES,
    ),
    "arrays of copies": (
        "int i, j;",
        "for (i = 0; i < n; i++) { double q[2]; q[0] = a[i]; q[1] = i; for (j = 0; j < 9; j++) y[j] += q[0]*q[1]; }",
        "",
        TILES,
    ),
    "one's own and an outer one": (
        "int i = 3, j;",
        "for (j = 0; j < m; j++) for (int i = 0; i < n; i++) y[i] += a[i]; for (i = 0; i < m; i++) y[i] = 3*a[i];",
        "y[0] = i;",
        UNROLL,
    ),
}


def files(path, before, body, behind="", transform=UNROLL, *, head="", tail=""):
    """Return the text of a file, and what becomes of it."""
    text = FILE.format(before=before, body=body, behind=behind, transform=transform, head=head, tail=tail)
    path.write_text(HEADERS + text)
    return text, annotate(path).text.removeprefix(HEADERS)


def agree(folder, text, new):
    """Run two files beside each other."""
    unit = folder / "both.c"
    unit.write_text(
        HEADERS + text.replace("void f(", "static void plain(") + new.replace("void f(", "static void tuned(") + MAIN
    )
    subprocess.run(["cc", "-O1", "-w", "-fopenmp", str(unit), "-o", str(folder / "both"), "-lm"], check=True)
    done = subprocess.run([str(folder / "both")], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"{done.returncode} {done.stdout}\n{new}"


@pytest.mark.parametrize("name", COUNTS)
def test_counters_of_any_type_mean_what_they_do_in_the_file(name, tmp_path):
    text, new = files(tmp_path / "a.c", *COUNTS[name])
    assert "for (" in new.replace(text.partition("@*/")[0], "")
    agree(tmp_path, text, new)


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("if (n > 1) {", "}"),
        ("if (n > 1) {", "} else { i = 9; q = 3; }"),
        ("if (n > 1)", "else i = 5;"),
        ("if (n > 1)", ""),
        ("for (j = 0; j < 2; j++) {", "}"),
        ("for (j = 0; j < 2; j++)", ""),
        ("while (q > 2 && j++ < 4)", ""),
        ("", 'const char *text = "}}";'),
    ],
)
def test_what_is_read_behind_the_block_of_a_region_lives_on(head, tail, tmp_path):
    before, body = "int i = 3, j = 0; double q = 7;", "for (i = 0; i < n; i++) { q = a[i]*0.5; y[i] = 2*q; }"
    text, new = files(tmp_path / "a.c", before, body, "y[0] = q + i;", head=head, tail=tail)
    agree(tmp_path, text, new)


def test_a_loop_without_braces_reads_what_its_region_leaves(tmp_path):
    before, body = "int i, j = 0; double q = 7;", "for (i = 0; i < n; i++) { q = a[i]*0.5; y[i] += 2*q; }"
    text, new = files(tmp_path / "a.c", before, body, head="while (q > 2 && j++ < 4)")
    agree(tmp_path, text, new)


@pytest.mark.parametrize(
    ("before", "body", "message"),
    [
        (
            "int i; double q = n*0.5;",
            DOUBLED,
            "the loop over 'i' in the region of line 12 ends at a floating-point num",
        ),
        ("int i;", "for (i = 0; i < n*0.5; i++) y[i] = 1;", "ends at a floating-point number"),
        ("int i;", "for (i = 0; i < floord(n, m); i++) y[i] = 1;", "ends at a floating-point number"),
        ("double x;", "for (x = 0; x < n; x += 1) y[0] += x;", "the loop over 'x' in .* counts with a double"),
        ("int i, q = n;", "for (i = 0; i < q; i++) { y[i] = 1; if (i == 2) q = 3; }", "changes its own bound"),
        ("int i, j = n;", "for (i = 0; i < j; i++) for (j = 0; j < 3; j++) y[i] += j;", "changes its own bound"),
        ("int i;", "for (i = 0; i < n; i++) for (i = 0; i < 3; i++) y[i] += 1;", "counts with the same variable"),
        (
            "int i; bool q;",
            "for (i = 0; i < n; i++) { q = a[i]; y[i] = q; }",
            "'q' in the region .* is declared as a",
        ),
    ],
)
def test_loops_that_are_no_count_known_beforehand_are_refused(before, body, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        files(tmp_path / "a.c", before, body)


@pytest.mark.parametrize(
    ("before", "body", "behind", "message"),
    [
        ("int i; uint q = n;", DOUBLED, "", "over 'i' in .* with 'q' or ends at it, which the file declares as 'uint'"),
        ("uint i;", "for (i = 0; i < n; i++) y[i] = (i - 5)/2;", "", "'i' or ends at it, which .* declares as 'uint'"),
        ("ssize_t i;", "for (i = 0; i < n; i++) y[i] = i*i;", "", "which the file declares as 'ssize_t'"),
        ("static const uint *q; int i;", DOUBLED.replace("< q", "< q[0]"), "", "which the file declares as 'uint'"),
        ("int q; { uint q = n; int i;", DOUBLED, "}", "which the file declares as 'uint'"),
        ("enum e {one, two} i;", "for (i = 0; i < n; i++) y[i] = 2;", "", "which the file declares as 'enum'"),
        ("unsigned char i;", "for (i = 0; i < n; i++) y[i] = 2;", "y[0] = i;", "which .* declares as 'unsigned char'"),
        ("typedef unsigned char byte; byte i;", "for (i = 0; i < n; i++) y[i] = 2;", "", "declares as 'byte'"),
        ("long double q; int i;", DOUBLED, "", "which the file declares as 'long double'"),
    ],
)
def test_loops_over_types_whose_arithmetic_is_not_known_are_refused(before, body, behind, message, tmp_path):
    with pytest.raises(UsageError, match=message) as caught:
        files(tmp_path / "a.c", before, body, behind)
    assert "size_t" in caught.value.hint


@pytest.mark.parametrize(
    ("before", "body", "message"),
    [
        (
            "int i, j; double *p = a, *q = y, *swap;",
            "for (j = 0; j < m; j++) { for (i = 0; i < n; i++) q[i] = 2*p[i]; swap = p; p = q; q = swap; }",
            "the region of line 12 uses 'p', an array or a pointer, without a subscript",
        ),
        (
            "int i, j; double *p;",
            "for (j = 0; j < m; j++) { p = a + j; for (i = 0; i < n; i++) y[i] += p[i]; }",
            "uses 'a', an array or a pointer, without a subscript",
        ),
        (
            "int i; double s = 2, *p = &s;",
            "for (i = 0; i < n; i++) { p[0] += a[i]; y[i] = s; }",
            "uses 's' also through the pointer 'p'",
        ),
        (
            "int i; double s = 2, *p, *q; p = &s; q = p;",
            "for (i = 0; i < n; i++) { q[0] += a[i]; y[i] = s; }",
            "uses 's' also through the pointer 'q'",
        ),
        ("int i;", "for (i = 0; i < n; i++) { static double s = 0; s += 1; y[i] = s; }", "got 'static s'"),
        ("int i;", "for (i = 0; i < n; i++) { extern double s; y[i] = s; }", "got 'extern s'"),
        (
            "int i;",
            "{ double *s = (double *)calloc(n, sizeof(double)); for (i = 0; i < n; i++) y[i] += s[i]; }",
            "a region has its memory from malloc, got calloc",
        ),
    ],
)
def test_what_is_no_value_of_the_regions_own_is_refused(before, body, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        files(tmp_path / "a.c", before, body)


def test_constants_that_a_region_declares_are_its_own(tmp_path):
    body = "for (i = 0; i < n; i++) { static const double q[2] = {2.5, 1}; y[i] = q[i%2]*a[i]; }"
    text, new = files(tmp_path / "a.c", "int i; double s = 2, *p = &s, t = p[0] + 1;", body, "y[50] = s*t;")
    agree(tmp_path, text, new)


def test_an_inner_declaration_hides_one_of_an_unknown_type(tmp_path):
    text, new = files(
        tmp_path / "a.c", "uint q = 3, i = 4; { int q = n;", DOUBLED.replace("i =", "int i =", 1), "} y[100] = q + i;"
    )
    agree(tmp_path, f"#include <sys/types.h>\n{text}", new)


def test_kernels_count_with_the_type_of_the_file(tmp_path):
    path = tmp_path / "a.c"
    path.write_text(
        FILE.format(
            before="long i;",
            body="for (i = 0; i < n; i++) y[i] = a[i];",
            behind="",
            head="",
            tail="",
            transform="CUDA(threadCount=64)",
        )
    )
    new = annotate(path, backend="cuda").text
    assert "const long tw_first, const long tw_last" in new
    assert "const long tw_last = n - 1;" in new
    assert "for (long i = tw_first" in new


@pytest.mark.parametrize(
    ("before", "body", "name"),
    [
        ("int i;", "for (i = 0; i < n; i++) y[i] = alpha*a[i];", "alpha"),
        ("int i;", "for (i = 0; i < n; i++) y[i] = other[i];", "other"),
    ],
)
def test_what_kernels_take_has_a_type(before, body, name, tmp_path):
    text = FILE.format(before=before, body=body, behind="", head="", tail="", transform="CUDA(threadCount=64)")
    path = tmp_path / "a.c"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"'{name}' in the region of line 4 is declared as a number neither in the f"):
        annotate(path, backend="cuda")
    path.write_text(f"static float {name}{'[99]' if name == 'other' else ''};\n{text}")
    new = annotate(path, backend="cuda").text
    assert re.search(rf"const float (\*__restrict__ )?{name}\b", new)


def test_elements_in_scalars_keep_their_type(tmp_path):
    """What an element is rounded to at every step is not rounded once at the end."""
    body = "for (i = 0; i < n; i++) for (j = 0; j < m; j++) k[i] += a[j];"
    transform = "ScalarReplace(dtype='double')"
    text, new = files(tmp_path / "a.c", "int i, j, k[40] = {0};", body, "y[0] = k[0] + k[2];", transform)
    assert "int itv_" in new
    agree(tmp_path, text, new)
