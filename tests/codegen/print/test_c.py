"""Printers: names of types, and statements that one base writes for every language."""

import re

import pytest
from tests.oracles.verify import verify

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.print.c import LANGUAGE as C
from tilewright.codegen.print.c import print_unit
from tilewright.codegen.print.gpu import LANGUAGE as GPU
from tilewright.codegen.print.gpu import print_gpu

F32, F64 = ir.element("float32"), ir.element("float64")
J, N = ir.Var("i"), ir.Var("n")
U = ir.Var("u", ir.pointer(F32))


def test_types_in_c():
    for kind, text in [
        (ir.INDEX, "int64_t"),
        (ir.WIDE, "int64_t"),
        (ir.BOOL, "int"),
        (ir.element("uint16"), "uint16_t"),
        (ir.pointer(F64), "double *"),
        (ir.const_pointer(ir.pointer(F32)), "float *const *"),
        (ir.pointer(ir.const_pointer(F32)), "const float **"),
        (ir.vector(F32), "tw_v_f32"),
        (ir.mask(F64), "tw_m_f64"),
    ]:
        assert C.type_name(kind) == text, (kind, text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ir.INDEX, "int"),
        (ir.WIDE, "tw_wide"),
        (ir.BOOL, "int"),
        (ir.const_pointer(F64), "TW_GLOBAL const double *"),
        (ir.shared_pointer(F64), "TW_LOCAL double *"),
        (ir.private_pointer(F32), "float *"),
    ],
    ids=str,
)
def test_types_on_gpus(kind, text):
    assert GPU.type_name(kind) == text


@pytest.mark.parametrize(
    ("language", "kind", "name"),
    [(GPU, ir.element("complex64"), "GPU"), (GPU, ir.element("float16"), "GPU"), (GPU, ir.vector(F32), "GPU")],
)
def test_a_type_that_a_language_lacks(language, kind, name):
    with pytest.raises(UsageError, match=f"{name} code cannot compute in {kind}"):
        language.type_name(kind)


@pytest.mark.parametrize(("dtype", "builtin"), [("int8", "paddsb"), ("int16", "paddsw"), ("int32", "")])
def test_additions_that_saturate_name_an_instruction_where_there_is_one(dtype, builtin):
    kind = ir.element(dtype)
    x, y = (ir.Var(name, ir.vector(kind)) for name in ("x", "y"))
    made = ir.Function(name="f", params=(x, y), body=(), result=ir.op(ir.Operator.ADDS, x, y), result_type=x.type)
    verify([made], gpu=False)
    text = print_unit([made])
    assert re.findall(r"__builtin_ia32_(padds\w)512_mask", text) == ([builtin] if builtin else [])
    assert f"tw_adds_v_i{kind.bits}(x, y)" in text


def rotating() -> tuple[ir.Stmt, ...]:
    """A loop that hands a value on from one round to the next."""
    last = ir.Var("last", F32)
    loaded = ir.Load(U, J, F32)
    body = (ir.Store(U, J, last + loaded, F32), ir.Assign(last, loaded * ir.Real(0.5, F32)))
    return (ir.Mutable(last, ir.Real(0, F32)), ir.For(var=J, low=ir.Int(0), high=N + -1, body=body))


def test_names_that_change_are_written_for_cpus_and_gpus():
    """C leaves out the parentheses around a whole expression; else the two agree."""
    host = ir.Function(name="f", params=(U, N), body=rotating(), kind="entry")
    device = ir.Function(name="f", params=(U, N), body=rotating(), kind="kernel", threads=32)
    verify([host], gpu=False)
    verify([device], gpu=True)
    c, gpu = print_unit([host]), print_gpu([device], "cuda")
    assert c[c.index("void f(") :].splitlines() == [
        "void f(float *u, int64_t n) {",
        "  float last = 0.0f;",
        "  for (int64_t i = 0; i < (n - 1); ++i) {",
        "    u[i] = last + u[i];",
        "    last = u[i] * 0.5f;",
        "  }",
        "}",
    ]
    assert gpu[gpu.index("TW_KERNEL(32) f") :].splitlines() == [
        "TW_KERNEL(32) f(TW_GLOBAL float *u, int n) {",
        "  float last = 0.0f;",
        "  for (int i = 0; i < (n - 1); ++i) {",
        "    u[i] = (last + u[i]);",
        "    last = (u[i] * 0.5f);",
        "  }",
        "}",
    ]
