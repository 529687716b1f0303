"""Element types: whole numbers wrap around; where no code is generated NumPy computes, and says so."""

import json
import re

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import TilewrightWarning, UsageError
from tilewright.cli.app import app
from tilewright.programs.expression import apply
from tilewright.programs.problem import COMPILED
from tilewright.programs.stencil import FieldBuilder, stencil
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
    with pytest.raises(UsageError, match=f"code is generated for {', '.join(COMPILED)}, got {dtype}") as caught:
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


U2 = FieldBuilder("u")
WRAPPING = stencil(
    "wrapping", 2, {"u": 7 * U2[0, 0] * U2[-1, 0] - U2[1, 0] + apply("where", U2[0, 1] > U2[0, -1], 100, 3)}
)
NARROW = ("int8", "uint8", "int16", "uint16", "uint32")


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("tiling", ["none", "streaming", "hybrid:t=2,s=4x16", "diamond", "skewed", "overlapped"])
def test_whole_numbers_wrap_around_as_in_numpy(dtype, tiling):
    limits = np.iinfo(dtype)
    u = np.random.default_rng(1).integers(limits.min, limits.max, (37, 700), dtype, endpoint=True)
    expected = tw.run(WRAPPING, u, steps=3, boundary="reflect", backend="numpy")
    found = tw.run(WRAPPING, u, steps=3, boundary="reflect", tiling=tiling)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


def test_every_operation_stays_in_its_type():
    """200 + 100 is 44 in a byte, and half of that 22; NumPy alone takes the 100 for a number of 64 bits."""
    cell = FieldBuilder("u")[0]
    kept = stencil("kept", 1, {"u": (cell + apply("where", cell > 3, 100, 5)) >> 1})
    u = np.array([0, 3, 100, 155, 156, 200, 255], np.uint8)
    for backend in ("numpy", "auto"):
        np.testing.assert_array_equal(tw.run(kept, u, steps=1, backend=backend), [2, 4, 100, 127, 0, 22, 49])


@pytest.mark.parametrize("dtype", NARROW)
def test_shifts_by_more_bits_than_there_are(dtype):
    limits = np.iinfo(dtype)
    u = np.array([limits.min, limits.min + 1, 0, 5, limits.max] * 40, dtype)
    for by in (1, limits.bits - 1, limits.bits, 40):
        shifted = stencil(f"by{by}", 1, {"u": FieldBuilder("u")[0] >> by})
        expected = [int(each) >> by for each in u]  # of Python's whole numbers, which have no last bit
        np.testing.assert_array_equal(tw.run(shifted, u, steps=1), expected)
        np.testing.assert_array_equal(tw.run(shifted, u, steps=1, backend="numpy"), expected)


@pytest.mark.parametrize("dtype", NARROW)
def test_models_know_narrow_types(dtype):
    wide = tw.predict(WRAPPING, shape=(4000, 4000), steps=8, machine="zen3", dtype="int32", boundary="reflect")
    narrow = tw.predict(WRAPPING, shape=(4000, 4000), steps=8, machine="zen3", dtype=dtype, boundary="reflect")
    assert narrow.costs.seconds <= wide.costs.seconds


def test_gpus_refuse_narrow_types():
    with pytest.raises(UsageError, match="in float32, float64, int32, int64, got uint8"):
        tw.run(WRAPPING, np.ones((8, 8), np.uint8), steps=1, backend="cuda")
