"""Constructors find the type that an operation works in, and fold what is known."""

import pytest

from tilewright.base.errors import UsageError
from tilewright.codegen import ir

F32, F64 = ir.element("float32"), ir.element("float64")
X, WIDE, P = ir.Var("x"), ir.Var("w", ir.WIDE), ir.Var("p", ir.const_pointer(F32))
V, A = ir.Var("v", ir.vector(F32)), ir.Var("a", F32)


def test_the_type_of_an_operation():
    for made, kind, works_in in [
        (X + 1, ir.INDEX, ir.INDEX),
        (X + WIDE, ir.WIDE, ir.WIDE),
        (ir.wide(X), ir.WIDE, ir.INDEX),
        (P + X, P.type, P.type),
        (P - P, ir.INDEX, ir.INDEX),
        (A * V, V.type, V.type),
        (V < A, ir.mask(F32), V.type),
        (X < 3, ir.BOOL, ir.INDEX),
        (X + (X < 3), ir.INDEX, ir.INDEX),
        ((X < 3) & (A < 0.5), ir.BOOL, ir.BOOL),
        (X | 1, ir.INDEX, ir.INDEX),
        (ir.select(X < 3, A, A), F32, F32),
        (ir.select(X, ir.Var("q", ir.pointer(F32)), P), P.type, P.type),
        (ir.writable(P), ir.pointer(F32), ir.pointer(F32)),
        (ir.splat(A, V.type), V.type, V.type),
    ]:
        assert ir.type_of(made) == kind, (made, kind, works_in)
        assert made.type == works_in, (made, kind, works_in)


def test_what_is_known_is_folded():
    assert (ir.Int(2) + 3) == ir.Int(5)
    assert (X - 0) is X is (X * 1)
    assert ir.Int(0) == (X * 0)
    assert (X + 0 + -2) == ir.op(ir.Operator.SUB, X, 2) == (X - 2)
    assert ir.smallest(X, X) is X is ir.largest(X, X)
    assert ir.op(ir.Operator.MUL, X, 1) == ir.Op(ir.Operator.MUL, (X, ir.Int(1)))


def test_types_that_no_kernel_can_name_are_refused():
    with pytest.raises(UsageError, match=r"kernels hold numbers of float16, .*, got float128"):
        ir.element("float128")


def test_only_pointers_point():
    with pytest.raises(TypeError, match="only pointers become writable, not a index"):
        ir.writable(X)
    with pytest.raises(TypeError, match="only pointers are indexed, not a index"):
        ir.pointee(X)
    with pytest.raises(TypeError, match="f returns nothing"):
        ir.type_of(ir.Call("f", ()))


def test_an_element_type_knows_its_width_and_its_range():
    assert [ir.element(name).bytes for name in ("int8", "float16", "uint32", "complex128")] == [1, 2, 4, 16]
    assert ir.element("int8").range == (-128, 127)
    assert ir.element("uint16").range == (0, 65535)
    assert str(ir.shared_pointer(ir.vector(F64))) == "shared pointer to vector of float64"
