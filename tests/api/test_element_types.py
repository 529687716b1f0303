"""Element types that no code is generated for: NumPy computes, and says so; models refuse them."""

import json
import re

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import TilewrightWarning, UsageError
from tilewright.cli.app import app
from tilewright.programs.expression import apply
from tilewright.programs.stencil import FieldBuilder
from tilewright.programs.table import recurrence
from tilewright.runtime.warn import forget_warnings

U = np.random.default_rng(0).random((12, 14))
REASONS = {
    "float16": 'no code is generated for float16; pass dtype="float32"',
    "complex64": "no code is generated for complex64; compute its real and its imaginary part as two fields",
    "complex128": "no code is generated for complex128; compute its real and its imaginary part as two fields",
}


@pytest.fixture(autouse=True)
def unwarned():
    forget_warnings()
    yield
    forget_warnings()


@pytest.mark.parametrize("dtype", REASONS)
def test_numpy_says_once_that_it_computes_what_has_no_code(dtype):
    text = f'running with NumPy, which is many times slower: {REASONS[dtype]} (or backend="numpy" to say that it is'
    with pytest.warns(TilewrightWarning, match=re.escape(text)):
        tw.run("jacobi2d", U.astype(dtype), steps=1)
    tw.run("jacobi2d", U.astype(dtype), steps=1)  # a second warning would be an error


@pytest.mark.parametrize("dtype", REASONS)
def test_numpy_that_was_asked_for_says_nothing(dtype):
    assert tw.run("jacobi2d", U.astype(dtype), steps=1, backend="numpy").dtype == dtype


@pytest.mark.parametrize("dtype", REASONS)
@pytest.mark.parametrize(
    "call",
    [
        lambda dtype: tw.predict("heat2d", shape=(64, 64), steps=4, machine="host", dtype=dtype),
        lambda dtype: tw.predict("heat2d", shape=(64, 64), steps=4, machine="h200", dtype=dtype, boundary="wrap"),
        lambda dtype: tw.select("heat2d", shape=(64, 64), steps=4, machine="gtx980", dtype=dtype),
        lambda dtype: tw.tune("heat2d", shape=(64, 64), steps=4, dtype=dtype),
        lambda dtype: tw.tune("heat2d", shape=(64, 64), steps=4, dtype=dtype, effort="none"),
    ],
    ids=["host", "gpu", "select", "tune", "plan"],
)
def test_models_and_tuning_refuse_what_has_no_code(dtype, call):
    with pytest.raises(
        UsageError, match=f"code is generated for float32, float64, int32, int64, got {dtype}"
    ) as caught:
        call(dtype)
    assert 'backend="numpy"' in caught.value.hint


def test_a_tiling_is_checked_where_numpy_computes():
    u = U.astype("complex64")
    expected = tw.run("jacobi2d", u, steps=2, boundary="wrap", backend="numpy")
    got = tw.run("jacobi2d", u, steps=2, boundary="wrap", backend="numpy", tiling="hybrid:t=2,s=4x4")
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(tw.IllegalTilingError):
        tw.run("jacobi1d", u[0], steps=2, backend="numpy", tiling="hybrid:t=2,s=4x4")


def test_the_command_line_says_it_too(tmp_path, capsys):
    path = tmp_path / "u.npy"
    np.save(path, U.astype("complex64"))
    with (
        pytest.warns(TilewrightWarning, match="no code is generated for complex64"),
        pytest.raises(SystemExit) as ended,
    ):
        app(["run", "jacobi2d", "--input", str(path), "--steps", "1", "--json"], prog_name="tilewright")
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["backend"] == "numpy"
    with pytest.raises(SystemExit) as ended:
        app(
            ["predict", "heat2d", "--shape", "8x8", "--steps", "1", "--machine", "host", "--dtype", "float16"],
            prog_name="tilewright",
        )
    assert ended.value.code == 2
    assert "got float16" in " ".join(capsys.readouterr().err.split())


def test_a_table_without_tiles_says_that_numpy_fills_it():
    d = FieldBuilder("d")
    ahead = recurrence("ahead", {"d": apply("maximum", d[-1, 2], d[0, -1]) + 1}, outside={"d": 0})
    with pytest.warns(TilewrightWarning, match="running with NumPy.*'ahead' has no C code: a read goes up and to"):
        tw.fill(ahead, shape=(4, 5))
