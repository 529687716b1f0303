"""Annotated files: what is read."""

import itertools
import operator
import re
from dataclasses import replace

import pytest
from tests.workloads.annotated.annotated_text import AXPY, SPEC, annotated

from tilewright.base.errors import UsageError
from tilewright.runtime.toolchains.build_command import current_architecture, parse_build_command, substitute
from tilewright.workloads.annotated.nests.nest import (
    Assign,
    Block,
    Declare,
    Loop,
    Transform,
    names,
    outermost,
    statements,
)
from tilewright.workloads.annotated.nests.values import evaluate
from tilewright.workloads.annotated.parse import macros
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.annotated.parse.evaluate import formula
from tilewright.workloads.annotated.parse.file import LoopRegion, read_file, read_input_files, read_text, regions
from tilewright.workloads.annotated.parse.spec import arguments, read_spec

COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
STEPS = {"i++": 1, "++i": 1, "i += 2": 2, "i = i + 3": 3, "i = 2 + i": 2, "i -= -1": 1} | {
    "i--": -1,
    "--i": -1,
    "i -= 2": -2,
    "i = i - 3": -3,
    "i += -2": -2,
}
"""What a loop's step adds to its counter."""


def test_regions_nest_and_take_every_way_of_writing_them():
    text = "/* @ begin PerfTuning ( def build { } ) @*/\n/*@ Loop( a ) @*/\nx\n/*@ @*/\n/*@ end @*/\n"
    (outer,) = regions(text)
    assert outer.module == "PerfTuning"
    assert [inner.module for inner in outer.inner] == ["Loop"]
    assert outer.inner[0].body(text).strip() == "x"
    (pragma,) = regions("#pragma Orio Loop(transform Unroll(ufactor=3))\nbody;\n#pragma Oiro\n")
    assert pragma.pragma
    assert pragma.code == "transform Unroll(ufactor=3)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("/*@ begin Loop( x )", "has no '@"),
        ("/*@ begin Loop( x ) @*/", "is not closed"),
        ("/*@ end @*/", "none is open"),
        ("/*@ begin 12 @*/ /*@ end @*/", "MODULE"),
        ("#pragma Orio Loop(x)\n", "is not closed"),
    ],
)
def test_annotations_that_do_not_match_are_named(text, says):
    with pytest.raises(UsageError, match=says):
        regions(text)


@pytest.mark.parametrize(
    "words",
    [
        'printf("/*@ begin Loop(x) @*/");',
        "// it's \" /*@ end @*/",
        'char c = \'"\', *d = "a\\"/*@ end @*/";',
        "/* it's \" #pragma Orio Loop(x)\n#pragma Oiro\n*/",
        "/* the mark @*/",
    ],
)
def test_marks_inside_texts_and_comments_are_none(words):
    body = f"for (i = 0; i < n; i++) y[i] = 0; {words}"
    text = f"void f(int n, double *y) {{ int i; {words}\n/*@ Loop() @*/{body}\n/*@ end @*/ {words}\n }}"
    assert [region.body(text) for region in regions(text)] == [f"{body}\n"]


def test_a_specification_is_read_as_written():
    spec = read_spec(SPEC)
    assert [(each.name, each.values) for each in spec.params] == [("UF", (1, 2, 3, 4)), ("CFLAGS", (" -O2", "-g -O2"))]
    assert [each.values for each in spec.inputs] == [(10, 20)]
    assert [(each.name, each.ctype, len(each.dims)) for each in spec.variables] == [
        ("x", "double", 1),
        ("y", "double", 1),
        ("a", "double", 0),
        ("off", "int", 1),
    ]
    assert spec.arg("build", "build_command") == "gcc -O3 @CFLAGS"
    assert not spec.constraints[0][1].value({"UF": 3})


@pytest.mark.parametrize("storage", ["", "static", "dynamic", "managed", "__device__", "managed __device__ static"])
def test_inputs_are_declared_in_every_storage(storage):
    (variable,) = read_spec(f"def input_vars {{ decl {storage} double x[N][2*N] = random; }}").variables
    assert (variable.name, variable.ctype, variable.init) == ("x", "double", "random")
    assert [each.value({"N": 3}) for each in variable.dims] == [3, 6]


@pytest.mark.parametrize(
    "line", ["decl volatile double x[N] = random", "decl __global__ double x = 1", "decl double 3x"]
)
def test_other_declarations_are_refused(line):
    with pytest.raises(UsageError, match="a declaration is decl"):
        read_spec(f"def input_vars {{ {line}; }}")


def test_statements_may_lack_their_semicolons():
    text = "let A = 3\ndef input_params {\n  param N[] = [1,\n 2]\n  param M = A;\n  constraint c = N < \n A\n};"
    spec = read_spec(text)
    assert [(each.name, each.values) for each in spec.inputs] == [("N", (1, 2)), ("M", (3,))]
    assert len(spec.input_constraints) == 1
    assert sum("without a semicolon" in note for note in spec.notes) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("range(32, 129, 32)", (32, 64, 96, 128)),
        ("[1] + range(2, 4)", (1, 2, 3)),
        ("10**8", 10**8),
        ("map(join, product(['', '-f'], ['-O1', '-O3']))", (" -O1", " -O3", "-f -O1", "-f -O3")),
        ("(T if T > 1 else 7)", 4),
        ("(T == 1) or (T % 2 == 0)", True),
        ("not 1 < 2 < 2", True),
        ("[('i', T, 'ii'), (('ii', 'i'), 64, 'iii')]", (("i", 4, "ii"), (("ii", "i"), 64, "iii"))),
        ("-7 // 2", -4),
        ("'a' * 3", "aaa"),
    ],
)
def test_expressions(text, value):
    assert formula(text).value({"T": 4}) == value


def test_code_becomes_loops():
    stmt = parse_code("transform Tile(tsize=4, tindex='ii') for (i=0; i<n; ++i) { cr = ci = 0.0; y[i] -= a; }", "x")
    assert isinstance(stmt, Transform)
    assert stmt.arguments == (("tsize", "4"), ("tindex", "'ii'"))
    loop = stmt.body
    assert isinstance(loop, Loop)
    assert sum(isinstance(node, Assign) for node in statements(loop)) == 3


@pytest.mark.parametrize("step", [*STEPS])
@pytest.mark.parametrize("op", [*COMPARISONS])
@pytest.mark.parametrize("side", ["i {op} b", "b {turned} i"])
def test_a_loop_counts_as_in_c_and_leaves_what_c_leaves(side, op, step):
    turned = op.translate(str.maketrans("<>", "><"))
    head = f"i = a; {side.format(op=op, turned=turned)}; {step}"
    text = f"void f(int a, int b, double *y) {{ int i; /*@ Loop() @*/ for ({head}) y[i] = 0; /*@ end @*/ y[0] = i; }}"
    if (STEPS[step] > 0) is (op in {">", ">="}):
        with pytest.raises(UsageError, match="the loop over 'i' does not end at a bound"):
            read_file(text)
        return
    (loop,) = read_file(text)[0].loops
    (final,) = loop.finals
    for a, b in itertools.product((-1, 0, 2, 7), (-2, 0, 3, 8)):
        counter, counted = a, []
        while COMPARISONS[op](counter, b):
            counted.append(counter)
            counter += STEPS[step]
        first, last = (evaluate(each, {"a": a, "b": b}) for each in (loop.old.first, loop.old.last))
        assert [*range(first, last + (1 if loop.old.step > 0 else -1), loop.old.step)] == counted
        assert evaluate(final.value, {"a": a, "b": b}) == counter


@pytest.mark.parametrize(
    ("code", "says", "hint"),
    [
        ("y[i++] = 0;", "got '++' inside a subscript in a test, line 1", "write it as a statement of its own"),
        ("\ny[0] = a[--i];", "got '--' inside a subscript in a test, line 2", "a statement of its own"),
        ("y[0] = (s = 2) + 1;", "got an assignment in", "a statement of its own"),
        ("y[(1, 2)] = 0;", "got a comma inside a subscript in", "two statements"),
        ("y[0] = *a;", "got '*', what a pointer points to in", "p[0]"),
        ("y[0] = p->x;", "got a member of a structure in", "a variable or array of its own"),
        ("y[0] = 'a';", "got a character in", "its number"),
        ("while (i < n) i++;", "got a while loop in", "for (i = first"),
        ("for (i = 0; i < n; i++) { break; }", "got break in", "into if"),
        ("{ typedef int q; }", "got typedef in", "before the region"),
        ("y[0] == 1;", "got a value that is not kept in", "assign it"),
    ],
)
def test_what_a_region_has_not_is_named_as_in_c(code, says, hint):
    with pytest.raises(UsageError, match=re.escape(says)) as caught:
        parse_code(code, "a test")
    assert hint in caught.value.hint


def test_lines_may_end_in_a_carriage_return(tmp_path):
    text = annotated(f"transform Unroll(ufactor=UF) {AXPY}", spec=SPEC).replace("(", "(\n", 1)
    (tmp_path / "a.c").write_bytes(("#define Q(x) \\\n x\n" + text).replace("\n", "\r\n").encode())
    assert read_file(read_text(tmp_path / "a.c"))[0].loops == read_file("#define Q(x) \\\n x\n" + text)[0].loops


def test_declarations_and_allocations_are_read():
    stmt = parse_code("double *t = (double *) malloc(n * sizeof(double)); int o[3] = {1, 2, 3}; long q = 1;", "x")
    assert isinstance(stmt, Block)
    first, second, third = stmt.body
    assert isinstance(first, Declare)
    assert first.heap
    assert len(second.value) == 3
    assert third.ctype == "long"


def test_parameters_of_functions():
    head = "void f(int n, double *y, float A[10][20], struct s *q, const double **B)"
    found = read_file(f"{head} {{ /*@ Loop() @*/ y[0] = n; /*@ end @*/ }}")[0].parameters
    assert {name: (each.ctype, len(each.dims)) for name, each in found.items()} == {
        "n": ("int", 0),
        "y": ("double", 1),
        "A": ("float", 2),
        "B": ("double", 2),
    }


def test_macros_are_expanded_but_min_and_max_mean_themselves():
    known, _ = macros.defined("#define sq(x) ((x)*(x))\n#define max(a,b) ((a)>(b)?(a):(b))\n#define\tN 10")
    assert macros.expand("sq(N + 1) + max(1, N)", known) == "((10 + 1)*(10 + 1)) + max(1, 10)"


CHAINS = [
    ("#define P 1\n#if P == 1\n#define K 1\n#elif P == 2\n#define K 2\n#else\n#define K 3\n#endif", "1"),
    ("#define P 2\n#if P == 1\n#define K 1\n#elif P == 2\n#define K 2\n#else\n#define K 3\n#endif", "2"),
    ("#define P 7\n#if P == 1\n#define K 1\n#elif P == 2\n#define K 2\n#else\n#define K 3\n#endif", "3"),
    ("#define P 2\n#if defined(P) && !(P < 2)\n#define K 1\n#else\n#define K 2\n#endif", "1"),
    ("#ifndef K\n#define K 1\n#endif", "1"),
    ("#define P\n#ifdef P\n#define K 1\n#else\n#define K 2\n#endif", "1"),
    ("#if defined P || 0x10 > 15L\n#define K 1\n#else\n#define K 2\n#endif", "1"),
    ("#define P 1\n#ifdef P\n#if P - 1\n#define K 1\n#else\n#define K 2\n#endif\n#else\n#define K 3\n#endif", "2"),
    ("#if 0\n#if UNKNOWN > 1\n#define K 1\n#endif\n#elif 1\n#define K 2\n#endif", "2"),
    ("#define K 1\n#if 1\n#undef K\n#define K 2\n#elif UNKNOWN\n#define K 3\n#endif", "2"),
]
"""Chains of conditionals, and what a compiler takes for K."""


@pytest.mark.parametrize(("text", "value"), CHAINS)
def test_conditionals_are_followed_as_a_compiler_follows_them(text, value):
    known, unsure = macros.defined(text)
    assert (known["K"].body, unsure) == ((value,), set())
    assert macros.preprocess(f"{text}\nK")[0].strip() == value


@pytest.mark.parametrize("asked", ["if P == 1", "ifdef P", "ifndef P", "ifdef __linux__"])
def test_a_macro_that_an_unknown_conditional_decides_is_refused(asked):
    chain = f"#{asked}\n#define K 1\n#else\n#define K 300\n#endif\n"
    assert macros.defined(chain)[1] == {"K"}
    with pytest.raises(UsageError, match="the macro 'K' in the region of line 8 depends on a conditional that is not"):
        read_file(chain + annotated("for (i=0; i<=n-1; i++) y[i + K] = x[i];"))
    assert macros.defined(chain + "#define K 2\n") == ({"K": macros.Macro(parameters=None, body=("2",))}, set())


def test_files_of_inputs():
    text = """
#define NX N
#ifdef DYNAMIC
double *A;
#else
double A[NX][NX];
#endif
int nx;
void init_input_vars() {
  int i;
#ifdef DYNAMIC
  A = (double*) malloc((NX*NX)*sizeof(double));
#endif
  nx = NX;
  for (i=0; i<=NX-1; i++) A[i] = i/2.0;
}
"""
    found = read_input_files(["a.c"], [("DYNAMIC", "1")], lambda _: text)
    assert {each.name: len(each.dims) for each in found.variables} == {"A": 1, "nx": 0}
    plain = read_input_files(["a.c"], [], lambda _: text.replace("A[i] =", "A[i][0] ="))
    assert {each.name: len(each.dims) for each in plain.variables} == {"A": 2, "nx": 0}


def test_a_file_is_read_as_a_whole():
    (site,) = read_file(annotated(f"transform Unroll(ufactor=UF) {AXPY}"))
    assert site.spec is not None
    assert len(site.loops) == 1
    plain = parse_code(AXPY, "x")
    assert isinstance(plain, Loop)
    plain = replace(plain, ctype="int")
    assert site.loops[0].old == plain
    empty = read_file(annotated(f"transform Unroll(ufactor=UF) {AXPY}", body=""))[0]
    assert empty.loops[0].old == plain
    bare = read_file(annotated("transform Unroll(ufactor=UF)"))[0]
    assert isinstance(bare.loops[0].code, Transform)
    assert bare.loops[0].code.body == plain


def test_build_commands():
    command = parse_build_command(substitute("nvcc -arch=sm_20 @CFLAGS@", {"CFLAGS": "-use_fast_math -O2"}))
    assert command.architecture == "sm_20"
    assert command.fast_math
    assert command.flags == ("-ffast-math", "-O2")
    assert parse_build_command("gcc-mp-10 -O3 -fopenmp -DDYNAMIC").defines == (("DYNAMIC", "1"),)
    assert parse_build_command("mycc -O1", ["mycc"]).compiler == "mycc"
    command = parse_build_command("$CC -fPIC -mcmodel=medium -framework OpenCL -Xptxas -dlcm=ca ${OPT} -O2")
    assert (command.compiler, command.flags) == ("cc", ("-O2",))
    assert command.notes[:2] == ("the variable '$CC' is the C compiler cc", "the variable '${OPT}' is left out")
    for bad in ("gcc $(rm -rf x)", "gcc -I$HOME", "gcc `id`", "gcc -Xlinker -rpath", "gcc -Xcompiler -wrapper"):
        with pytest.raises(UsageError, match="a build command"):
            parse_build_command(bad)
    now, warning = current_architecture("sm_20")
    assert now == "sm_75"
    assert "sm_20" in warning


def test_arguments_are_split_outside_brackets():
    assert arguments("tile=[('i',T,'ii')], n=4", "x") == (("tile", "[('i',T,'ii')]"), ("n", "4"))


# What follows is hostile: every file must be refused, in bounded time, with nothing run.


def test_a_specification_is_imported_from_a_file_beside():
    files = {"sizes.spec": "spec sizes { def input_params { param N[] = [7]; } import spec params; }",
             "params.spec": "# unrolling\ndef performance_params { param U[] = [1,2]; }"}  # fmt: skip
    spec = read_spec("import spec sizes; def build { arg build_command = 'gcc'; }", 1, files.__getitem__)
    assert [each.values for each in (*spec.inputs, *spec.params)] == [(7,), (1, 2)]
    with pytest.raises(UsageError, match="at most 16 others"):
        read_spec("import spec sizes;", 1, lambda _: "import spec sizes;")
    with pytest.raises(UsageError, match="no folder to look in"):
        read_spec("import spec sizes;")


def test_a_loop_without_a_start_begins_with_what_stands_before_it():
    loop = parse_code("{ i = 3; transform Unroll(ufactor=2) for (; i < n; i++) y[i] = 0; }", "x")
    assert isinstance(loop, Transform)
    assert loop.body == parse_code("for (i = 3; i < n; i++) y[i] = 0;", "x")
    text = """void f(int n, double *y) { int i;
/*@ begin Loop( for (; i < n; i++) y[i] = 0; ) @*/ for (; i < n; i++) y[i] = 0; /*@ end @*/ }"""
    with pytest.raises(UsageError, match="begins where its counter stands"):
        read_file(text)


def test_a_loop_goes_on_where_another_one_of_its_counter_ended():
    text = """void f(int n, double *y) { int i;
/*@ begin Loop( for (i = 0; i <= n-2; i += 2) y[i] = 0; for (; i <= n-1; i++) y[i] = 1; ) @*/
for (i = 0; i <= n-2; i += 2) y[i] = 0; for (; i <= n-1; i++) y[i] = 1; /*@ end @*/ }"""
    (site,) = read_file(text)
    assert "i" not in names(outermost(site.loops[0].old)[1].first)


def module(annotation: str, body: str = "for (i = 0; i < n; i++) for (j = 0; j < n; j++) A[i][j] = 0;") -> LoopRegion:
    text = f"void f(int n, double **A, double *x) {{ int i, j, k;\n/*@ begin {annotation} @*/\n{body}\n/*@ end @*/ }}"
    return read_file(text)[0].loops[0]


def test_other_modules_are_transforms_of_the_old_body():
    code = module("PolySyn( tiles = [4,T]; # both\n parallel = True; )").code
    assert (code.name, code.arguments) == ("PolySyn", (("tiles", "[4,T]"), ("parallel", "True")))
    code = module("CHiLL ( permute([2,1])\n tile(0,1,TI) known(n>0) unroll(0,2,4) )").code
    assert code.arguments == (("script", "[('permute',[2,1]),('tile',0,1,TI),('unroll',0,2,4)]"),)
    wanted = parse_code("for (int tw_row = 0; tw_row <= 5 - 1; tw_row++) y[tw_row] = 0;", "x")
    said = "out_vector = y; in_vector = x; in_matrix = a; row_inds = r; col_inds = c; total_rows = 5; simd = 'none';"
    spmv = f"void f(double *y, double *x, double *a, int *r, int *c) {{\n/*@ begin SpMV( {said} ) @*/ /*@ end @*/ }}"
    old = read_file(spmv)[0].loops[0].old
    assert (old.index, old.first) == ("tw_row", wanted.first)


def test_what_a_module_holds_beyond_that_is_named():
    for annotation, says in (
        ("CHiLL ( cudaize(0,'k',{}) )", "commands of CHiLL here are permute, tile, unroll, got 'cudaize'"),
        ("PolySyn( tiles )", "holds NAME = expression"),
        ("SpMV( out_vector = y+1; )", "says out_vector = NAME"),
        ("CHiLL (recipe.txt)", "no folder to look in"),
        ("Bernoulli( )", "the modules are PerfTuning, Loop, PolySyn"),
    ):
        with pytest.raises(UsageError, match=says):
            module(annotation)


def test_annotations_inside_a_module_are_carried_out_and_stand_for_their_own_code():
    inner = "for (i = 0; i < n; i++) { x[i] = 1;\n/*@ begin Loop( "
    inner += "transform Unroll(ufactor=2)\n for (j = 0; j < n; j++) A[i][j] = 0; ) @*/\n/*@ end @*/ }"
    region = module("PolySyn( parallel = True; )", inner)
    assert [node.name for node in statements(region.code) if isinstance(node, Transform)] == ["PolySyn", "Unroll"]
    assert region.old == parse_code(
        "for (int i = 0; i < n; i++) { x[i] = 1; for (int j = 0; j < n; j++) A[i][j] = 0; }", "x"
    )
    assert "A[i][j] = 0" in region.text


@pytest.mark.parametrize("words", ["unsigned long", "long unsigned int", "long long", "long int", "short", "float"])
def test_a_specification_and_a_file_read_the_same_type(words):
    spec = read_spec(f"def input_vars {{ decl {words} x[4] = random; }}")
    code = parse_code(f"{{ {words} x; x = 1; }}", "a test")
    assert [each.ctype for each in statements(code) if isinstance(each, Declare)] == [spec.variables[0].ctype]


def test_types_of_numbers_have_the_names_that_the_file_gives():
    body = "for (i = 0; i < n; i++) { real t = (real)x[i]; x[i] = t; }"
    text = f"void f(int n, real *x) {{ int i;\n/*@ Loop() @*/ {body} /*@ end @*/ }}"
    (site,) = read_file(f"typedef float single;\ntypedef single real;\n{text}")
    assert [each.ctype for each in statements(site.loops[0].old) if isinstance(each, Declare)] == ["float"]
    for typedef in ("", "typedef struct { float a; } real;\n", "typedef long double real;\n"):
        with pytest.raises(UsageError, match="the type 'real' is none of numbers that are known here in the o"):
            read_file(typedef + text)


@pytest.mark.parametrize("asked", ["ifdef FAST", "if 1 == 2L\nx[i] = 3;\n#elif defined(FAST)"])
@pytest.mark.parametrize("decided", ["", "#define FAST\n", "#undef FAST\n", "#define FAST 0\n"])
def test_a_conditional_that_the_file_does_not_decide_is_refused(decided, asked):
    body = f"for (i = 0; i < n; i++) {{\n#{asked}\nx[i] = 1;\n#endif\nx[i] += 2; }}"
    text = f"{decided}void f(int n, double *x) {{ int i;\n/*@ Loop() @*/ {body} /*@ end @*/ }}"
    if decided:
        (site,) = read_file(text)
        assert sum(isinstance(node, Assign) for node in statements(site.loops[0].old)) == 1 + ("define" in decided)
        return
    with pytest.raises(UsageError, match="the region of line 2 depends on whether 'FAST' is defined, which the file"):
        read_file(text)


def test_a_type_that_we_have_not_is_refused():
    with pytest.raises(UsageError, match="got 'long double'"):
        parse_code("{ long double s; s = 1; }", "a test")
    with pytest.raises(UsageError, match="a declaration is decl"):
        read_spec("def input_vars { decl long double x[4] = random; }")
