"""Whole programs as scientists write them: the new file prints what the old one does, both built with the sanitisers.

The table is drawn from by default; all of it runs with ``-m stress``.
"""

import re
import subprocess

import pytest
from tests.sampling import some

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.verbs.annotate import annotate

SANITISED = ("cc", "-g", "-O1", "-w", "-fopenmp", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
UNROLL, JAM = "Unroll(ufactor=4)", "UnrollJam(ufactor=3)"
TILES = "Composite(tile=[('i',4,'it'),('j',3,'jt')])"
OPENMP = "Composite(openmp=(True, 'omp parallel for'))"


def region(transform, body):
    return f"/*@ begin Loop(transform {transform} {body}) @*/\n{body}\n/*@ end @*/"


def spec(inside, inputs, params="param U[] = [3];", sizes="param N[] = [57];"):
    return (
        f"/*@ begin PerfTuning ( def performance_params {{ {params} }} def input_params {{ {sizes} }}\n"
        f"def input_vars {{ {inputs} }} ) @*/\n{inside}\n/*@ end @*/"
    )


def main(inside, top=""):
    """A program whose function f works on x and y; everything is printed."""
    return (
        "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n" + top + "\n"
        f"double f(int n, double *x, double *y) {{\n{inside}\n}}\n"
        "int main(void) { double *x = malloc(57*sizeof(double)), *y = malloc(57*sizeof(double));\n"
        "for (int q = 0; q < 57; q++) { x[q] = (q*37 + 11)%83/8.0 - 5; y[q] = (q*17 + 5)%31/4.0; }\n"
        'printf("%.17g\\n", f(57, x, y)); printf("%.17g\\n", f(5, x, y)); printf("%.17g\\n", f(0, x, y));\n'
        'for (int q = 0; q < 57; q++) printf("%.17g %.17g\\n", x[q], y[q]); free(x); free(y); return 0; }\n'
    )


AXPY = "for (i = 0; i < n; i++) y[i] += 2.5*x[i];"
LAST = "for (i = 0; i < n; i++) { t = 0.5*x[i]; y[i] += t; }"
FOUND = {
    "scalar read behind": main(f"int i; double t = 3; {region(UNROLL, LAST)} return t;"),
    "pointer taken before": main(f"int i; double t = 0, *pt = &t; {region(UNROLL, LAST)} return *pt;"),
    "pointer handed on": main(
        f"int i; double t = 0; keep(&t); {region(UNROLL, LAST)} return kept();",
        "static double *held; static void keep(double *p) { held = p; } static double kept(void) { return *held; }",
    ),
    "macro before": main(f"int i; double t = 0; {region(UNROLL, LAST)} return RESULT;", "#define RESULT (t - 1.0)"),
    "macro of macros": main(
        f"int i = 2; double t = 0; {region(TILES, LAST)} SHOW(i, t); return t;",
        '#define BOTH(a, b) a, b\n#define SHOW(a, b) printf("%d %g\\n", BOTH(a, b))',
    ),
    "macro with a block": main(
        f"int i; double t = 0, s = 0; {region(UNROLL, LAST)} ADD(s, t) return s;",
        "#define ADD(a, b) do { \\\n  a += b; \\\n } while (0);",
    ),
    "goto back": main(
        f"int i, turn = 0; double t = 3; again: y[0] += t; {region(UNROLL, LAST)} if (turn++ < 2 && n) goto again; "
        "return y[0];",
    ),
    "enclosing loop reads": main(
        f"int i, q; double t = 3; for (q = 0; q < 3; q++) {{ if (n) y[0] += t; {region(UNROLL, LAST)} }} return 1;"
    ),
    "enclosing loop's head reads": main(
        "int i, q = 0; double t = 3; do { " + region(UNROLL, LAST) + " q++; } while (t < 4 && q < 3); return q;"
    ),
    "counter as an index behind": main(f"int i; {region(JAM, AXPY)} if (i > 0) y[i-1] += 7; return i;"),
    "shadowed counter bound": main(
        "int i, j, last = 5; "
        + region(UNROLL, "for (i = 0; i < n; i++) { int last; last = i/2; for (j = 0; j <= last; j++) y[j] += x[i]; }")
        + " return j + last;"
    ),
    "shadowed scalar of another type": main(
        "int i; double t = 0.25; "
        + region(UNROLL, "for (i = 0; i < n; i++) { if (i%2) { int t = x[i]; y[i] += t/2; } y[i] += t; }")
        + " return t;"
    ),
    "two inner variables of one name": main(
        "int i; "
        + region(
            UNROLL,
            "for (i = 0; i < n; i++) { { int k = 2.5*x[i]; y[i] += k; } { double k = 2.5*x[i]; y[i] += k; } }",
        )
        + " return 0;"
    ),
    "several functions": main(
        f"int i; {region(UNROLL, AXPY)} return norm(n, y);",
        "static double norm(int n, double *y) { int i; double t = 0;\n"
        + region(UNROLL, "for (i = 0; i < n; i++) t += y[i]*y[i];")
        + " return sqrt(t); }",
    ),
    "static counter of calls": main(
        "static double total = 1; int i; "
        + region(UNROLL, "for (i = 0; i < n; i++) { total = total*0.5 + x[i]; y[i] = total; }")
        + " return 0;"
    ),
    "global scalar": main(
        f"int i; {region(UNROLL, LAST)} return seen();", "double t; static double seen(void) { return t; }"
    ),
    "early return": main(
        f"int i; double t = 1; if (n == 0) return -1; {region(UNROLL, LAST)} if (n > 10) return t; t = 4; return t;"
    ),
    "branches around": main(f"int i = 9; double t = 1; if (n > 10) {region(UNROLL, LAST)} else t = 2; return t + i;"),
    "switch around": main(
        f"int i = 9; double t = 1; switch (n) {{ case 57: {region(UNROLL, LAST)} break; default: t = 2; }} return i;"
    ),
    "reduction": main(f"int i; double s = 2; {region(UNROLL, 'for (i = 0; i < n; i++) s += x[i]*y[i];')} return s;"),
    "parallel minimum": main(
        f"int i; double s = 2; {region(OPENMP, 'for (i = 0; i < n; i++) s = fmin(s, x[i]*y[i]);')} return s;"
    ),
    "triangle": main(
        "int i, j; "
        + region(TILES, "for (i = 0; i < n; i++) for (j = 0; j <= i; j++) y[i] += x[j]*(i-j);")
        + " return i + 100*j;"
    ),
    "triangle from a diagonal": main(
        "int i, j; "
        + region(
            "Composite(unrolljam=(['i','j'],[2,3]))",
            "for (i = 1; i <= n-2; i++) for (j = i+1; j < n; j++) y[i] += x[j]*i;",
        )
        + " return y[0];"
    ),
    "Fortran's bounds": main(
        "int i, j; double a[8][8] = {{0}}; "
        + region(TILES, "for (i = 1; i <= 7; i++) for (j = 1; j <= i; j++) a[i][j] = i*10 + j;")
        + " double s = 0; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) s = 2*s/3 + a[i][j]; return s;"
    ),
    "counting down": main("int i; " + region(UNROLL, "for (i = n-1; i >= 0; i -= 3) y[i] = x[i] + i;") + " return i;"),
    "unsigned counter": main(
        "unsigned i, m = n; " + region(UNROLL, "for (i = 0; i < m; i++) y[i] = x[m-1-i] + (i-3)/2;") + " return i/2;"
    ),
    "long long counter": main(
        "long long i; " + region(UNROLL, "for (i = 0; i < n; ++i) y[i] += i*i;") + " return i*3000000000LL;"
    ),
    "size_t in the head": main(region(UNROLL, "for (size_t i = 0; i < (size_t)n; i++) y[i] += x[i];") + " return 0;"),
    "ternary": main(
        "int i; " + region(UNROLL, "for (i = 0; i < n; i++) y[i] = x[i] > 0 ? sqrt(x[i]) : -x[i];") + " return i;"
    ),
    "comma in the head": main(
        "int i, k; " + region(UNROLL, "for (i = 0, k = 3; i < n; i++) y[i] += k;") + " return i + k;"
    ),
    "chained": main(
        "int i; double s, t; "
        + region(UNROLL, "for (i = 0; i < n; i++) { s = t = x[i]; y[i] = s*t; }")
        + " return n ? s + t : 0;"
    ),
    "if and else": main(
        "int i; "
        + region(
            JAM,
            "for (i = 0; i < n; i++) { if (i == 0) y[i] = 0; else if (i < 4) y[i] = x[i-1]; else y[i] = x[i-4]; }",
        )
        + " return 0;"
    ),
    "conditional of the preprocessor": main(
        f"int i; double t = 0; {region(UNROLL, LAST)}\n#ifdef TRACE\nreturn i;\n#else\nreturn t;\n#endif"
    ),
    "conditional inside": main(
        "int i; "
        + region(UNROLL, "for (i = 0; i < n; i++) {\n#ifdef _OPENMP\n y[i] = 1;\n#else\n y[i] = 2;\n#endif\n}")
        + " return 0;"
    ),
    "structures around": main(
        "struct grid g = {n, {1, 2}}; int i; const int m = g.n; double h = g.h[1]; "
        + region(UNROLL, "for (i = 0; i < m; i++) y[i] += h*x[i];")
        + " g.n = i; return g.n;",
        "struct grid { int n; double h[2]; };",
    ),
    "structure inside": main(
        "struct grid g = {n}; int i; " + region(UNROLL, "for (i = 0; i < g.n; i++) y[i] += x[i];") + " return 0;",
        "struct grid { int n; };",
    ),
    "extents in the parameters": main(
        "if (n < 57) return 0; sum(7, 8, (void *)x, y); return y[0];",
        "static void sum(int n, int m, double a[n][m], double *restrict y) { int i, j;\n"
        + region(TILES, "for (i = 0; i < n; i++) for (j = 0; j < m; j++) y[i] += a[i][j];")
        + " y[20] = j; }",
    ),
    "pointer to rows": main(
        "if (n < 57) return 0; sum(7, (void *)x, y); return y[0];",
        "static void sum(int n, double (*a)[8], double y[static 7]) { int i, j;\n"
        + region(TILES, "for (i = 0; i < n; i++) for (j = 0; j < 8; j++) y[i] += a[i][j];")
        + " y[20] = j; }",
    ),
    "overlapping arguments": main(
        "if (n < 57) return 0; shift(50, x, x+1); return 0;",
        "static void shift(int n, double *x, double *y) { int i;\n" + region(OPENMP, AXPY) + " }",
    ),
    "imperfect nest": main(
        "int i, j = 0; double s = 9; "
        + region(JAM, "for (i = 0; i < n/8; i++) { s = 0; for (j = 0; j < 8; j++) s += x[8*i + j]; y[i] = s; }")
        + " return s + j;"
    ),
    "nested regions": main(
        "int i, j; double t = 0, s = 0;\n"
        + spec(
            region("Unroll(ufactor=U)", "for (i = 0; i <= N-1; i++) { t = 2*x[i]; y[i] += t; }")
            + "\ns = t;\n"
            + region("Unroll(ufactor=U)", "for (i = 0; i <= N-1; i++) y[i] = y[i]*0.5 + s;"),
            "decl dynamic double x[N] = random; decl dynamic double y[N] = random;",
        )
        .replace("N-1", "n-1")
        .replace("def input_vars {", "def input_vars { decl int n = N;")
        + " return s + t + i;"
    ),
    "tuned with a counter behind": main(
        "int i;\n"
        + spec(
            region("Unroll(ufactor=U)", "for (i = 0; i <= n-3; i++) y[i] = 2*x[i];"),
            "decl dynamic double x[N] = random; decl dynamic double y[N] = random; decl int n = N;",
        )
        + " return i;"
    ),
    "tuned with static arrays": main(
        "int i, j, k, q; if (n < 57) return 0; for (i = 0; i < 24; i++) for (j = 0; j < 24; j++) A[i][j] = i - j;\n"
        + spec(
            region(
                "Unroll(ufactor=U)",
                "for (i = 0; i < 24; i++) for (j = 0; j < 24; j++) for (k = 0; k < 24; k++) C[i][j] += A[i][k]*x[k];",
            ),
            "decl static double A[24][24] = random; decl static double C[24][24] = 0; decl double x[24] = random;",
        )
        + " double s = 0; for (i = 0; i < 24; i++) for (j = 0; j < 24; j++) s = s*0.5 + C[i][j]; return s + k;",
        "static double A[24][24], C[24][24];",
    ),
    "tuned in a loop": main(
        "int i, q; double t = 1; for (q = 0; q < 3; q++) {\n"
        + spec(
            region("Unroll(ufactor=U)", "for (i = 0; i <= n-1; i++) { y[i] += t; t = x[i]; }"),
            "decl dynamic double x[N] = random; decl dynamic double y[N] = random; decl int n = N; decl double t = 1;",
        )
        + " y[0] += q; } return t;"
    ),
}
REFUSED = {
    "shadowed counter bound": "the counter 'j' is read behind its loop in the region of line 6",
    "structure inside": "got a member of a structure",
    "comma in the head": "a loop starts with counter = value",
    "conditional inside": "depends on whether '_OPENMP' is defined, which the file does not say",
}
NAMES = sorted(FOUND)


def printed(path):
    target = path.with_suffix("")
    subprocess.run([*SANITISED, str(path), "-o", str(target), "-lm"], check=True)
    done = subprocess.run([str(target)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def test_there_are_enough():
    assert len(NAMES) >= 40


@pytest.mark.parametrize("name", some(NAMES, 6))
def test_the_new_program_prints_what_the_old_one_does(name, tmp_path):
    old, new = tmp_path / "old.c", tmp_path / "new.c"
    old.write_text(FOUND[name])
    if name in REFUSED:
        with pytest.raises(UsageError, match=re.escape(REFUSED[name])):
            annotate(old, out=new, runs=2, seconds=100, repeats=1)
        return
    annotate(old, out=new, runs=2, seconds=100, repeats=1)
    assert printed(new) == printed(old)
