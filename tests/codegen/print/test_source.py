"""Texts for people: what is printed is read back as the same tree, and says types, loops and kernels as C does."""

import random

import pytest
from tests.oracles.verify import InvalidIRError, verify, verify_region

from tilewright.codegen import ir
from tilewright.codegen.ir import Operator
from tilewright.codegen.print.source import CUDA, OPENCL, expression_text, print_kernels, statement_lines
from tilewright.workloads.annotated.lower.lowering import code, lower_expression, text
from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.nest import Binary, Choose, Convert, Item, Name, Num, Unary
from tilewright.workloads.annotated.parse.c import parse_expression

INT, DOUBLE = ir.Native("int"), ir.Native("double")
N, X = ir.Var("n", INT), ir.Var("x", ir.pointer(DOUBLE))
BINARY = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&&", "||")


def random_expression(rng: random.Random, depth: int) -> nest.Expr:
    kind = rng.randrange(10) if depth else 0
    if kind < 2:
        atoms = (Num("1"), Num("2.5f"), Name("a"), Name("n"), Item("x", (Name("i"),)))
        return rng.choice((*atoms, Item("A", (Name("i"), Binary("+", Name("j"), Num("1"))))))
    inner = [random_expression(rng, depth - 1) for _ in range(3)]
    if kind < 7:
        return Binary(rng.choice(BINARY), *inner[:2])
    if kind == 7:
        return Unary(rng.choice("-+!~"), inner[0])
    return Convert("float", inner[0]) if kind == 8 else Choose(*inner)


def test_an_expression_is_read_back_as_it_was():
    for seed in range(20):
        pytest.importorskip("pycparser")
        rng = random.Random(seed)  # noqa: S311
        for _ in range(40):
            expr = random_expression(rng, rng.randrange(5))
            assert parse_expression(text(expr), "a test") == expr, seed


@pytest.mark.parametrize(
    ("expr", "printed"),
    [
        (Binary("-", Name("a"), Binary("-", Name("b"), Name("c"))), "a - (b - c)"),
        (Binary("||", Name("a"), Binary("&&", Name("b"), Name("c"))), "a || (b && c)"),
        (Binary("&", Name("a"), Binary("==", Name("b"), Num("0"))), "a & (b == 0)"),
        (Binary("<<", Num("1"), Binary("+", Name("a"), Num("1"))), "1 << (a + 1)"),
        (Unary("-", Unary("-", Name("a"))), "-(-a)"),
        (nest.Call("min", (Name("a"), Binary("-", Name("n"), Num("1")))), "a < n - 1 ? a : n - 1"),
        (Binary("*", nest.Call("max", (Name("a"), Num("2"))), Num("3")), "(a > 2 ? a : 2) * 3"),
    ],
)
def test_parentheses_stand_where_they_are_needed_or_compilers_warn(expr, printed):
    assert text(expr) == printed


def test_types_of_expressions_are_those_of_c():
    names = {"k": ir.Native("short"), "u": ir.Native("unsigned"), "x": X.type}

    def kind(expr: nest.Expr) -> str:
        return str(ir.type_of(lower_expression(expr, names)))

    assert kind(Binary("+", Name("k"), Name("k"))) == "C's int"
    assert kind(Binary("*", Name("k"), Name("u"))) == "C's unsigned"
    assert kind(Binary("*", Item("x", (Name("k"),)), Num("2"))) == "C's double"
    assert kind(Binary("<<", Name("k"), Name("u"))) == "C's int"
    assert kind(Name("elsewhere")) == "C's numbers"


def test_statements_of_a_region():
    heap = nest.Declare(ctype="float", name="h", dims=(Name("n"),), heap=True)
    falling = nest.Loop(index="i", first=Name("n"), last=Num("0"), step=-1, body=nest.Assign(Name("s"), "+=", Num("1")))
    body = nest.Block((heap, nest.Declare(ctype="int", name="s", value=Num("0")), falling))
    assert code(body).splitlines() == [
        "{",
        "  float *h = (float *)malloc(sizeof(float) * (size_t)n);",
        "  int s = 0;",
        "  for (int i = n; i >= 0; i--) {",
        "    s += 1;",
        "  }",
        "}",
    ]


def kernel() -> ir.Function:
    update = ir.Update(ir.Load(X, ir.Var("i", INT), DOUBLE), Operator.ADD, ir.Call("sqrtf", (N,), ir.Native("float")))
    loop = ir.For(var=ir.Var("i", INT), low=ir.GROUP, high=N, step=ir.GROUPS * 4, body=(update,), closed=True)
    return ir.Function(name="k", params=(N, X), body=(loop, ir.Barrier()), kind="kernel", distinct=True, threads=4)


def test_a_kernel_in_the_words_of_its_language():
    verify([kernel()], gpu=True)
    cuda, opencl = print_kernels([kernel()], CUDA), print_kernels([kernel()], OPENCL, {"k": "hint "})
    assert cuda.splitlines() == [
        'extern "C" __global__ void k(const int n, double *__restrict__ x) {',
        "  for (int i = (int)blockIdx.x; i <= n; i += (int)gridDim.x * 4) {",
        "    x[i] += sqrtf(n);",
        "  }",
        "  __syncthreads();",
        "}",
    ]
    assert "__kernel hint void k(const int n, __global double *restrict x) {" in opencl
    assert "x[i] += sqrt(n);" in opencl
    with pytest.raises(TypeError, match="C has no kernels"):
        statement_lines([ir.Barrier()])
    with pytest.raises(TypeError, match="C has no sqrt"):
        expression_text(ir.Op(Operator.SQRT, (N,), INT))


def loop_of(**changed) -> ir.For:
    given = {"var": ir.Var("i", INT), "low": ir.Int(0), "high": N, "body": (), "closed": True, **changed}
    return ir.For(**given)


def test_a_region_that_c_would_not_take_is_refused():
    for stmt, says in [
        (loop_of(var=ir.Var("i")), "is a bound or a step|ends below its bound"),
        (loop_of(falling=True), "falls by steps of 1"),
        (loop_of(step=ir.Int(-2)), "rises by steps of -2"),
        (loop_of(step=ir.Int(0)), "steps of 0"),
        (ir.Update(N, Operator.LT, ir.Int(1)), "updated by lt"),
        (ir.Directive("a\nb"), "one line"),
        (ir.Declare(var=ir.Var("y", DOUBLE), extents=(N,)), "1 extents make no"),
        (ir.Declare(var=ir.Var("y", DOUBLE), values=(N, N)), "2 first values"),
        (ir.Store(X, X, N, DOUBLE), "is an index"),
        (ir.Store(N, N, N, DOUBLE), "is indexed"),
    ]:
        with pytest.raises(InvalidIRError, match=says):
            verify_region([stmt])
