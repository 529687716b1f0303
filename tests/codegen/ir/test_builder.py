"""Functions written down statement by statement."""

import pytest
from tests.oracles.verify import verify

from tilewright.codegen import ir
from tilewright.codegen.print.c import print_unit

F32, F64, I32 = (ir.element(name) for name in ("float32", "float64", "int32"))
J, N, A = ir.Var("i"), ir.Var("n"), ir.Var("a", F32)
X, Y = ir.Var("x", ir.const_pointer(F32)), ir.Var("y", ir.pointer(F32))


def test_operators_are_the_constructors_of_the_ir():
    b = ir.Builder("axpy", distinct=True)
    n, a = b.param("n", ir.INDEX), b.param("a", F32)
    x, y = b.param("x", X.type), b.param("y", Y.type)
    with b.loop("i", 0, n) as i:
        b.set(y[i], a * x[i] + y[i])
    product = ir.op(ir.Operator.MUL, A, ir.Load(X, J, F32))
    sum_ = ir.op(ir.Operator.ADD, product, ir.Load(Y, J, F32))
    loop = ir.For(var=J, low=ir.Int(0), high=N, body=(ir.Store(Y, J, sum_, F32),))
    made = b.function()
    assert made == ir.Function(name="axpy", params=(N, A, X, Y), body=(loop,), distinct=True)
    verify((made,), gpu=False)


def test_numbers_are_of_the_type_of_what_stands_beside_them():
    b = ir.Builder("f")
    n, a, x = b.param("n", ir.INDEX), b.param("a", F32), b.param("x", X.type)
    assert (a + 1) == ir.op(ir.Operator.ADD, A, ir.Real(1, F32))
    assert (2 - n) == ir.op(ir.Operator.SUB, 2, N)
    assert (n + 0) is n
    assert ir.type_of(a * x.vector(n)) == ir.vector(F32)
    assert ir.smallest(n, 4) == ir.op(ir.Operator.MIN, N, 4)
    assert ir.largest(a, 0.0) == ir.op(ir.Operator.MAXIMUM, A, ir.Real(0.0, F32))
    assert ir.type_of(ir.select(n > 0, a, 0.0)) == F32
    assert ir.select(x.vector(n) > a, x.vector(n), a).op is ir.Operator.WHERE
    assert ir.type_of(b.let("v", 1.0, ir.vector(F32))) == ir.vector(F32)


def test_conversions_say_what_they_convert():
    b = ir.Builder("f")
    a, x = b.param("a", F32), b.param("x", X.type)
    assert a.to(F32) is a
    assert a.to(F64).op is a.to(ir.INDEX).op is ir.Operator.CONVERT
    assert x.to(ir.const_pointer(I32)).op is ir.Operator.REINTERPRET
    assert ir.type_of(x.vector().to(ir.vector(I32))) == ir.vector(I32)
    assert ir.type_of(x.to(ir.INDEX)) == ir.INDEX


def test_statements_stand_where_they_are_made():
    b = ir.Builder("f", kind="entry")
    n, y = b.param("n", ir.INDEX), b.param("y", Y.type)
    count = b.mutable("count", 0)
    with b.loop_while(count < n):
        with b.when(y[count] > 0):
            b.set(y[count], 1.0)
        with b.otherwise():
            b.comment("nothing is left")
        b.set(count, count + 1)
    text = print_unit((b.function(),))
    assert text[text.index("void f(") :].splitlines() == [
        "void f(int64_t n, float *y) {",
        "  int64_t count = 0;",
        "  while (count < n) {",
        "    if (y[count] > 0.0f) {",
        "      y[count] = 1.0f;",
        "    } else {",
        "      /* nothing is left */",
        "    }",
        "    count = count + 1;",
        "  }",
        "}",
    ]


def test_what_means_nothing_is_refused():
    b = ir.Builder("f")
    n = b.param("n", ir.INDEX)
    for wrong in (
        lambda: n[0],
        n.vector,
        lambda: tuple(n),
        lambda: n.lane(0),
        lambda: b.set(n + 1, 2),
        lambda: ir.smallest(1, 2),
        lambda: b.otherwise().__enter__(),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_a_name_means_one_thing_wherever_it_is_known():
    """A value is an expression of names: in a scope where its name meant something else it would be another value."""
    b = ir.Builder("f")
    n = b.param("n", ir.INDEX)
    with b.loop("i", 0, n):
        b.let("twice", n * 2)
        with pytest.raises(ValueError, match="in f: n is the name of something else that is known here"):
            b.mutable("n", 0)
        with pytest.raises(ValueError, match="i is the name of something else"), b.loop("i", 0, n):
            pass
    b.let("twice", n * 2)

    unnamed = ir.Builder()
    unnamed.let("n", 1)
    with pytest.raises(ValueError, match="in statements: n is the name of something else"):
        unnamed.let("n", 2)
