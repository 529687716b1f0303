"""What hostile annotated files get: one sentence, and nothing runs."""

import itertools
import subprocess

import pytest
from tests.workloads.annotated.annotated_text import AXPY, SPEC, annotated

from tilewright.base.errors import UsageError
from tilewright.runtime.toolchains.build_command import parse_build_command
from tilewright.workloads.annotated.parse import macros
from tilewright.workloads.annotated.parse.file import read_file, sibling
from tilewright.workloads.annotated.parse.spec import read_spec

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
        "void f(void) { int k; typedef ; ' /*@ begin Loop() @*/ k = 1; /*@ end @*/ }",
        "int a[] = { /*@ begin Loop() @*/ k = 1; /*@ end @*/ };" + "@;" * 90,
    ],
    ids=range(11),
)
def test_hostile_files_are_refused(text):
    refused(lambda: read_file(text))


def test_there_are_enough_hostile_files():
    assert len(set(EXPRESSIONS)) + len(set(COMMANDS)) + len(set(CODE)) + len(set(MACROS)) + len(set(SPECS)) >= 100
