"""Annotated files: what is read, and what hostile ones get."""

import itertools
import subprocess

import pytest

from tilewright.base.errors import UsageError
from tilewright.frontends import annotated_macros as macros
from tilewright.frontends.annotated import regions
from tilewright.frontends.annotated_c import parse_code, parse_parameters
from tilewright.frontends.annotated_eval import formula
from tilewright.frontends.annotated_file import read_file, read_input_files, sibling
from tilewright.frontends.annotated_spec import arguments, read_spec
from tilewright.programs.loopnest import Assign, Block, Declare, Loop, Transform, statements
from tilewright.runtime.build_command import current_architecture, parse_build_command, substitute

AXPY = "for (i = 0; i <= n-1; i++) y[i] += a*x[i];"
SPEC = """
  def build { arg build_command = 'gcc -O3 @CFLAGS'; }
  def performance_params { param UF[] = range(1,5);  # a comment
    param CFLAGS[] = map(join, product(['', '-g'], ['-O2'])); constraint even = (UF % 2 == 0); }
  def input_params { let K = 10; param N[] = [K, 2*K]; }
  def input_vars { decl static double x[N] = random; decl dynamic double y[N] = 0; decl double a = 1.5;
    decl static int off[3] = {-1,0,1}; }
"""


def annotated(code, body=AXPY, spec=SPEC):
    return (
        "void f(int n, double *x, double *y, double a) {\n  int i;\n"
        f"  /*@ begin PerfTuning ({spec}) @*/\n  int n = N;\n  /*@ begin Loop({code}) @*/\n  {body}\n"
        "  /*@ end @*/\n  /*@ end @*/\n}\n"
    )


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


def test_declarations_and_allocations_are_read():
    stmt = parse_code("double *t = (double *) malloc(n * sizeof(double)); int o[3] = {1, 2, 3}; long q = 1;", "x")
    assert isinstance(stmt, Block)
    first, second, third = stmt.body
    assert isinstance(first, Declare)
    assert first.heap
    assert len(second.value) == 3
    assert third.ctype == "long"


def test_parameters_of_functions():
    found = parse_parameters("int n, double *y, float A[10][20], struct s *q, const double **B")
    assert {name: (each.ctype, len(each.dims)) for name, each in found.items()} == {
        "n": ("int", 0),
        "y": ("double", 1),
        "A": ("float", 2),
        "B": ("double", 2),
    }


def test_macros_are_expanded_but_min_and_max_mean_themselves():
    known = macros.defined(["#define sq(x) ((x)*(x))", "#define max(a,b) ((a)>(b)?(a):(b))", "#define N 10"])
    assert macros.expand("sq(N + 1) + max(1, N)", known) == "((10 + 1)*(10 + 1)) + max(1, 10)"


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
    assert site.loops[0].old == parse_code(AXPY, "x")
    empty = read_file(annotated(f"transform Unroll(ufactor=UF) {AXPY}", body=""))[0]
    assert empty.loops[0].old == parse_code(AXPY, "x")
    bare = read_file(annotated("transform Unroll(ufactor=UF)"))[0]
    assert isinstance(bare.loops[0].code, Transform)
    assert bare.loops[0].code.body == parse_code(AXPY, "x")


def test_build_commands():
    command = parse_build_command(substitute("nvcc -arch=sm_20 @CFLAGS@", {"CFLAGS": "-use_fast_math -O2"}))
    assert command.architecture == "sm_20"
    assert command.fast_math
    assert command.flags == ("-ffast-math", "-O2")
    assert parse_build_command("gcc-mp-10 -O3 -fopenmp -DDYNAMIC").defines == (("DYNAMIC", "1"),)
    assert parse_build_command("mycc -O1", ["mycc"]).compiler == "mycc"
    now, warning = current_architecture("sm_20")
    assert now == "sm_75"
    assert "sm_20" in warning


def test_arguments_are_split_outside_brackets():
    assert arguments("tile=[('i',T,'ii')], n=4", "x") == (("tile", "[('i',T,'ii')]"), ("n", "4"))


# What follows is hostile: every file must be refused, in bounded time, with nothing run.

EXPRESSIONS = [
    "__import__('os').system('touch HIT')",
    "().__class__.__bases__[0].__subclasses__()",
    "open('/etc/passwd').read()",
    "eval('1')",
    "exec('x=1')",
    "compile('1','a','eval')",
    "globals()",
    "(lambda: 1)()",
    "[x for x in range(9)]",
    "{1: 2}",
    "{1, 2}",
    "f'{1}'",
    "(x := 3)",
    "range(10**12)",
    "range(0, 10**18, 1)",
    "product(range(1000), range(1000), range(1000))",
    "product([1]*60000, [1]*60000)",
    "'a' * 10**9",
    "[0] * 10**9",
    "9**9**9**9",
    "2**100000",
    "10**400",
    "1" * 5000,
    "(" * 200 + "1" + ")" * 200,
    "[" * 200 + "]" * 200,
    "-" * 3000 + "1",
    "not " * 3000 + "1",
    "1 " + "+ 1 " * 8000,
    "[1][10]",
    "[1][1:2]",
    "1 if",
    "join",
    "map(eval, ['1'])",
    "map(join, [1, 2])",
    "max()",
    "min('a', 1)",
    "1/0",
    "5 % 0",
    "(-8) ** 0.5",
    "1e308 ** 9",
    "int('x')",
    "float('1' * 100000)",
    "range('a')",
    "range(1, 2, 0)",
    "undefined_name",
    "os",
    "sys.exit",
    "print(1)",
    "input()",
    "getattr(1, 'real')",
    "type(1)",
    "*[1, 2]",
    "1 is 1",
    "~1",
    "1 << 62",
    "yield 1",
    "await x",
    "'\\x00' + chr(1)",
    "...",
    "1j",
    "b'x'",
    "str(9) * 10**8",
    "product(product(range(300), range(300)), range(9))",
]
COMMANDS = [
    "gcc -O3; touch HIT",
    "gcc && touch HIT",
    "gcc | sh",
    "gcc `touch HIT`",
    "gcc $(touch HIT)",
    "gcc > HIT",
    "gcc -O3 & touch HIT",
    "sh -c 'touch HIT'",
    "bash",
    "python3 -c 1",
    "touch HIT",
    "rm -rf /",
    "../gcc -O3",
    "/opt/gcc -O3",
    "./gcc",
    "gcc -fplugin=evil.so",
    "gcc -wrapper sh",
    "gcc -specs=evil.specs",
    "gcc -B/tmp/evil",
    "gcc @args",
    "gcc -Xlinker --version",
    "gcc -Wl,-rpath,/tmp",
    "gcc -include /etc/passwd",
    "gcc -o /tmp/HIT",
    "gcc -o ../HIT",
    "gcc /etc/passwd",
    "gcc -x c -",
    "gcc -fdump-tree-all=/tmp/HIT",
    "gcc -save-temps",
    "gcc -DX='system(1)'",
    "gcc\ntouch HIT",
    "gcc 'unclosed",
    "",
    "   ",
    "gcc " + "-O3 " * 1000,
    "curl http://example.org",
    "env gcc",
    "gcc -fprofile-use=/etc/passwd",
]
CODE = [
    'system("touch HIT");',
    'for (i=0; i<n; i++) system("touch HIT");',
    "x = fork();",
    'printf("%n", &i);',
    "goto out;",
    "while (1) ;",
    "do { } while (1);",
    'asm("nop");',
    '__asm__("nop");',
    "__builtin_trap();",
    "return 1;",
    "int *p = (int *)0; *p = 1;",
    "void (*f)(void) = 0; f();",
    "} void evil(void) { system(1); } void tw_region(void) {",
    "switch (i) { case 1: break; }",
    "for (;;) x[0] = 1;",
    "for (i=0; i<n; i++) i = 0;",
    "for (i=0; i<n; i+=k) x[i] = 1;",
    "for (i=0; i<i; i++) x[i] = 1;",
    "for (i=0; i<n; i+=0) x[i] = 1;",
    "((((" * 40 + "x" + "))))" * 40 + " = 1;",
    "{" * 200 + "}" * 200,
    "if (a) " * 400 + "x = 1;",
    "x = " + "-" * 2000 + "1;",
    "x = " + "!" * 500 + "a;",
    "x = " + "a + " * 30000 + "a;",
    "x = y = " * 500 + "1;",
    "x[" * 100 + "1" + "]" * 100 + " = 1;",
    "x = a ? " * 300 + "1" + ": 2" * 300 + ";",
    "struct s { int a; } q;",
    "union u { int a; } q;",
    "typedef int evil;",
    'char *s = "text";',
    "extern int system(const char *);",
    "free(x); y = malloc(3);",
    "x.y = 1;",
    "x->y = 1;",
    "&x;",
    "x = sizeof(int);",
    "x = (char *) y;",
    '_Pragma("omp parallel")',
    "int a[3] = {[0 ... 2] = 1};",
    "x = ({ int z = 1; z; });",
    "transform Unroll(ufactor=4",
    "transform " * 2000 + "x;",
    "x = 'a' + L'b';",
]
MACROS = [
    "#define A B B\n#define B C C\n#define C D D\n"
    + "".join(f"#define {a} {b} {b} {b} {b}\n" for a, b in itertools.pairwise("DEFGHIJKLMNOPQ"))
    + "x = A;",
    '#include "/etc/passwd"\n#error no\nx = 1;',
    "#define F(x) x ## y\nx = F(1);",
    "#if defined(A) && system(1)\n#endif\nx = 1;",
    "#ifdef A\nx = 1;",
    "#endif\nx = 1;",
    "#define f(a, b) a\nx = f(1);",
    "#define f(a) a\nx = f(1;",
    "x = 1; /* not closed",
    "#define 1x 2\nx = 1;",
]
SPECS = [
    "def build { arg build_command 'gcc'; }",
    "def build { arg build_command = 'gcc';",
    "def evil { arg x = 1; }",
    "def build { run x = 1; }",
    "import os",
    "def input_params { param N[] = []; }",
    "def input_params { param N[] = [1]; param N[] = [2]; }",
    "def input_vars { decl struct s x = 1; }",
    "def input_vars { decl double x[ = 1; }",
    "def input_vars { decl double ../x = 1; }",
    "def input_vars { decl double x = {1,2; }",
    "def build { let = 3; }",
    "let x 3;",
    "def build { arg = 3; }",
    "def input_vars { decl " + "static " * 2000 + "double x = 1; }",
    "def build { " + "arg a = 1; " * 3000 + "}",
    "def build {" * 500,
    "x" * 200_000,
]


def refused(call):
    """Run something that must be refused."""
    with pytest.raises(UsageError) as caught:
        call()
    assert len(caught.value.message) < 1000
    return caught.value


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch, tmp_path):
    """Fail if anything is started, and work in an empty folder."""

    def started(*args, **kwargs):
        raise AssertionError(f"{args[0]} was started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr("os.system", started)
    yield
    assert not list(tmp_path.glob("HIT*"))


@pytest.mark.parametrize("text", EXPRESSIONS, ids=range(len(EXPRESSIONS)))
def test_hostile_expressions_are_refused(text):
    spec = SPEC.replace("range(1,5)", text.replace("#", ""))
    refused(lambda: read_file(annotated(f"transform Unroll(ufactor=UF) {AXPY}", spec=spec))[0])


@pytest.mark.parametrize("text", COMMANDS, ids=range(len(COMMANDS)))
def test_hostile_build_commands_are_refused(text):
    refused(lambda: parse_build_command(text))


@pytest.mark.parametrize("text", CODE, ids=range(len(CODE)))
def test_hostile_code_is_refused(text):
    refused(lambda: read_file(annotated(text, body="")))


@pytest.mark.parametrize("text", MACROS, ids=range(len(MACROS)))
def test_hostile_macros_are_refused(text):
    refused(lambda: macros.preprocess(macros.without_comments(text)))


@pytest.mark.parametrize("text", SPECS, ids=range(len(SPECS)))
def test_hostile_specifications_are_refused(text):
    refused(lambda: read_spec(text))


@pytest.mark.parametrize(
    "name", ["../x.c", "/etc/passwd", "a/b.c", ".hidden", "x;y", "link.c", "missing.c", "", "a" * 200]
)
def test_files_are_read_beside_the_annotated_one_only(name, tmp_path):
    (tmp_path / "link.c").symlink_to("/etc/hostname")
    refused(lambda: sibling(tmp_path, name))


@pytest.mark.parametrize(
    "text",
    [
        "/*@" * 300_000,
        "/*@ begin Loop(x) @*/" * 300,
        "/*@ begin PerfTuning( def build { } ) @*/" * 9 + "/*@ end @*/" * 9,
        "x" * (2**20 + 1),
        "/*@ begin Evil( x ) @*/ x; /*@ end @*/",
        "/*@ begin Loop( x ) \0 @*/ /*@ end @*/",
        "no annotation at all",
        "/*@ begin PerfTuning( def build { } ) @*/ x; /*@ end @*/",
        "#pragma Orio Loop(" + "\\\n" * 50_000,
    ],
    ids=range(9),
)
def test_hostile_files_are_refused(text):
    refused(lambda: read_file(text))


def test_there_are_enough_hostile_files():
    assert len(set(EXPRESSIONS)) + len(set(COMMANDS)) + len(set(CODE)) + len(set(MACROS)) + len(set(SPECS)) >= 100
