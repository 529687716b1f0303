from dataclasses import replace

import pytest

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.emit import emit
from tilewright.codegen.export import header
from tilewright.codegen.expression import Leaves, lower_tape
from tilewright.codegen.print.c import c_literal
from tilewright.codegen.tapes import fuse_roots
from tilewright.driver import emit_tiling, emit_tilings
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.expression import Apply, Read, Value, apply, flatten
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import NONE, parse
from tilewright.tuning.spaces.cpu_schedule import cpu_schedule

JACOBI = make_problem(program("jacobi2d"), (40, 50), 3)
HYBRID = parse("hybrid:t=8,s=8x64")
U = Value(Read("u", 0, (0,)))


def test_text_depends_on_neither_shape_nor_steps():
    other = replace(JACOBI, shape=(7, 9), steps=100)
    assert emit_tiling(JACOBI, HYBRID) == emit_tiling(other, HYBRID)


def test_fingerprint_depends_on_everything_else():
    sources = [
        emit_tiling(JACOBI, HYBRID),
        emit_tiling(JACOBI, NONE),
        emit_tiling(JACOBI, HYBRID, strict=True),
        emit(JACOBI, replace(cpu_schedule(JACOBI, NONE), tiling=HYBRID)),
        emit_tiling(replace(JACOBI, dtype="float64"), HYBRID),
        emit_tiling(make_problem(program("jacobi2d"), (40, 50), 3, boundary="nearest"), HYBRID),
    ]
    assert len({source.fingerprint for source in sources}) == len(sources)


def test_one_unit_holds_several_kernels_and_equal_ones_once():
    source = emit_tilings([(JACOBI, NONE), (JACOBI, HYBRID), (JACOBI, NONE)])
    assert source.kernels[0].entry == source.kernels[2].entry != source.kernels[1].entry
    assert source.text.count(f"\nvoid {source.entry}(") == 1
    assert source.text.count("\nvoid ") == 2


def test_only_the_entry_is_exported():
    source = emit_tiling(JACOBI, HYBRID)
    others = (" ", "static", "typedef", "#", "/", "}")
    starts = [line for line in source.text.splitlines() if line and not line.startswith((*others, "extern"))]
    hook, entry = starts  # what it asks whether its results are still wanted, and itself
    assert "(*tw_interrupted)(void);" in hook
    assert source.entry in entry


def test_names_that_are_no_c_identifiers():
    source = emit_tiling(replace(JACOBI, program=replace(JACOBI.program, name='x"; system("rm -rf ~") //é')), NONE)
    assert source.entry.startswith("tw_x_system_rm_rf_")
    assert source.entry.replace("_", "").isalnum()
    assert "rm -rf" not in source.text


def test_element_types_without_c_code():
    with pytest.raises(UsageError, match=r"kernels hold numbers of float16.*got float128"):
        emit_tiling(replace(JACOBI, dtype="float128"), NONE)
    with pytest.raises(UsageError, match="NumPy has no element type 'float8'"):
        emit_tiling(replace(JACOBI, dtype="float8"), NONE)


def test_unknown_dialect():
    with pytest.raises(UsageError, match="the dialect must be one of c, got 'fortran'"):
        emit(JACOBI, cpu_schedule(JACOBI, NONE), "fortran")


def test_literals():
    for value, dtype, text in [
        (0.1, "float32", "0.1f"),
        (1 / 3, "float32", "0.33333334f"),
        (1 / 3, "float64", "0.3333333333333333"),
        (1, "float32", "1.0f"),
        (1e30, "float32", "1e+30f"),
        (-0.0, "float64", "(-0.0)"),
        (1e60, "float32", "(__builtin_inff())"),
        (float("-inf"), "float64", "(-__builtin_inf())"),
        (float("nan"), "float32", '__builtin_nanf("")'),
        (-(2**31), "int32", "(-2147483647 - 1)"),
        (-(2**63), "int64", "(-9223372036854775807LL - 1)"),
        (7, "int64", "7LL"),
    ]:
        assert c_literal(value, dtype) == text, (value, dtype, text)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_a_header_declares_the_entry_as_its_text_defines_it(dtype):
    problem = replace(JACOBI, dtype=dtype)
    source = emit_tiling(problem, HYBRID)
    signatures = [
        " ".join(text[text.index(f"void {source.entry}(") :].partition(")")[0].split())
        for text in (header(source, problem, HYBRID), source.text)
    ]
    assert signatures[0] == signatures[1]


def _lower(value, dtype="float32", *, vector=False):
    number = ir.element(dtype)
    kind = ir.vector(number) if vector else number
    return lower_tape(flatten(value), Leaves(dtype=number, read=lambda node: ir.Var("load", kind), vector=vector))


def test_constants_fold_in_double_precision():
    body, _ = _lower(U * apply("sqrt", 2.0))
    assert [let.value.args[1] for let in body if isinstance(let, ir.Let) and hasattr(let.value, "args")] == [
        ir.Real(2.0**0.5, ir.element("float32"))
    ]


def test_integer_constants_must_fit():
    with pytest.raises(UsageError, match="the constant 4294967296 does not fit int32"):
        _lower(U + 2**32, "int32")
    with pytest.raises(UsageError, match=r"the constant 0\.5 does not fit int64"):
        _lower(U * 0.5, "int64")


def test_accuracys_become_numbers():
    _, result = _lower(U > 0)
    assert result.op is ir.Operator.NUMBER
    _, result = _lower(U > 0, vector=True)
    assert (result.op, result.type) == (ir.Operator.NUMBER, ir.vector(ir.element("float32")))


def test_roots_are_fused_only_under_a_division():
    tape = flatten(U / apply("sqrt", U + 1.0))
    assert fuse_roots(tape)[-1].op == "over_sqrt"
    assert fuse_roots(flatten(apply("sqrt", U) + 1.0)) == flatten(apply("sqrt", U) + 1.0)
    assert all(node.op != "over_sqrt" for node in tape if isinstance(node, Apply))
