import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import TilewrightWarning
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime import call, warn

U = np.random.default_rng(5).random((23, 37)).astype("f")


def heat(u, alpha):
    return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


def _expected(name, arrays, steps, boundary="fixed", dtype="float32"):
    chosen = tw.program(name)
    problem = make_problem(chosen, arrays[0].shape, steps, dtype, boundary)
    given = {field: [array] for field, array in zip(chosen.fields, arrays, strict=True)}
    return reference.run(problem, given, {})


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_function_a_name_and_a_stencil_are_programs(backend):
    whole = tw.run(heat, U, steps=4, alpha=0.2, backend=backend)
    np.testing.assert_array_equal(tw.run(tw.stencil(heat), U, steps=4, alpha=0.2, backend=backend), whole)
    expected = _expected("jacobi2d", [U], 4)["u"]
    np.testing.assert_allclose(tw.run("jacobi2d", U, steps=4, backend=backend), expected, rtol=1e-5)


def test_several_fields_and_time_levels():
    ex, ey, hz = U, U + 1, U * 2
    got = tw.run("fdtd2d", ey, ex, hz, steps=5, strict=True)
    expected = _expected("fdtd2d", [ey, ex, hz], 5)
    assert isinstance(got, tuple)
    for array, field in zip(got, ("ey", "ex", "hz"), strict=True):
        np.testing.assert_array_equal(array, expected[field])
    with pytest.warns(tw.TilewrightWarning, match="one array stands for all"):
        alone = tw.run("wave2d", U, steps=3)
    np.testing.assert_array_equal(tw.run("wave2d", (U, U), steps=3), alone)
    assert not np.array_equal(tw.run("wave2d", (U, U * 0), steps=3), alone)


def test_out_may_be_the_input_itself():
    expected = tw.run("jacobi2d", U, steps=3)
    mine = U.copy()
    assert tw.run("jacobi2d", mine, steps=3, out=mine) is mine
    np.testing.assert_array_equal(mine, expected)
    strided = np.zeros((23, 74), "f")[:, ::2]
    np.testing.assert_array_equal(tw.run("jacobi2d", U, steps=3, out=strided), expected)


@pytest.mark.parametrize(
    ("given", "dtype", "result"),
    [
        ("float32", None, "float32"),
        ("float64", None, "float64"),
        ("int32", None, "float64"),
        ("uint8", None, "float64"),
        ("bool", None, "float64"),
        ("float16", None, "float16"),
        ("complex64", None, "complex64"),
        ("float64", "float32", "float32"),
    ],
)
def test_numpy_rules_decide_dtypes(given, dtype, result):
    backend = "auto" if result in {"float32", "float64"} else "numpy"
    assert tw.run("jacobi2d", (U * 9).astype(given), steps=2, dtype=dtype, backend=backend).dtype == result


def test_whole_numbers_stay_whole_in_an_integral_program():
    u = np.array([0, 1, 5, 2, 9, 3], np.int32)
    got = tw.run(lambda u: tw.maximum(u[-1], u[1]) + 1, u, steps=1)
    np.testing.assert_array_equal(got, [0, 6, 3, 10, 4, 3])
    assert got.dtype == np.int32
    wrapped = tw.run(lambda u: u[0] * 3, np.array([2**30] * 3, np.int32), steps=1)
    np.testing.assert_array_equal(wrapped, np.array([2**30] * 3, np.int32) * np.int32(3))


def test_nan_and_infinity_pass_through():
    u = U.copy()
    u[10, 10], u[3, 30] = np.nan, np.inf
    got = tw.run("gradient2d", u, steps=2, backend="c")
    with np.errstate(all="ignore"):
        expected = tw.run("gradient2d", u, steps=2, backend="numpy")
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_without_a_compiler_numpy_runs_and_says_how_to_get_one(monkeypatch):
    def missing():
        raise tw.ToolchainError("there is no C compiler on this machine", "install a C compiler: `apt install gcc`")

    monkeypatch.setattr(call, "toolchain", missing)
    warn.forget_warnings()
    with pytest.warns(TilewrightWarning, match="running with NumPy.*apt install gcc"):
        got = tw.run("jacobi2d", U, steps=4)
    np.testing.assert_array_equal(got, _expected("jacobi2d", [U], 4)["u"])
    tw.run("jacobi2d", U, steps=4)
    with pytest.raises(tw.ToolchainError, match="there is no C compiler"):
        tw.run("jacobi2d", U, steps=4, backend="c")


class _Exchanged:
    """An array of another library, which only speaks DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_anything_that_speaks_dlpack():
    np.testing.assert_array_equal(tw.run("jacobi2d", _Exchanged(U), steps=2), tw.run("jacobi2d", U, steps=2))
    np.testing.assert_allclose(tw.run("jacobi1d", [0.0, 3.0, 0.0], steps=1), [0.0, 1.0, 0.0])
