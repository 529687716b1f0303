"""Numbers too small to be normal: zero for kernels that are not strict, and for nobody else."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.dtypes import numpy_type

pytestmark = pytest.mark.optimised

TILINGS = ("none", "skewed:t=4,s=8x16", "hybrid:t=4,s=8x32", "streaming:t=4,s=16x64")
DTYPES = ("float32", "float64")


def _half(values):
    """What a processor that computes as IEEE 754 says makes of them."""
    return values * values.dtype.type(0.5)


@tw.stencil
def halve(u):
    return 0.5 * u[0, 0]


def _run(values, tiling, *, strict):
    return tw.run(halve, values, steps=4, tiling=tiling, threads=2, strict=strict)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tiling", TILINGS)
def test_they_are_zero_unless_strict(tiling, dtype):
    """A sixteenth of the smallest normal number is no normal one."""
    small = np.finfo(dtype).smallest_normal
    values = np.full((40, 96), small, dtype=dtype)
    assert not _run(values, tiling, strict=False).any()
    assert (_run(values, tiling, strict=True) == small / 16).all()


@pytest.mark.parametrize("tiling", TILINGS)
def test_normal_numbers_are_as_they_were(tiling):
    values = np.full((40, 96), np.finfo("float32").smallest_normal * 16, dtype="float32")
    assert (_run(values, tiling, strict=False) == values / 16).all()


def test_half_precision_keeps_its_own():
    """Its smallest normal number is 6e-5: smaller ones are among those that people compute with."""
    values = np.full((40, 96), 2.0**-18, dtype="float16")
    assert (_run(values, None, strict=False) == values / 16).all()
    values = np.full((40, 96), 2.0**-128).astype(numpy_type("bfloat16"))
    assert (_run(values, None, strict=False).astype(float) == 2.0**-132).all()


@pytest.mark.parametrize("tiling", TILINGS)
def test_the_processor_is_left_as_it_was(tiling):
    values = np.full((40, 96), 1e-39, dtype="float32")
    before = _half(values)
    assert before.any()
    _run(values, tiling, strict=False)
    np.testing.assert_array_equal(_half(values), before)


def test_batches_and_gradients_take_them_for_zero_too():
    """Kernels that are called by other functions, and those of adjoints."""
    small = np.float32(np.finfo("float32").smallest_normal)
    grids = np.full((3, 24, 24), small, dtype="float32")
    assert not tw.run(halve, grids, steps=4, axes=(1, 2)).any()
    _, pull = tw.vjp(halve, grids[0], steps=4)
    (worth,), _ = pull(grids[0])
    assert not worth.any()
