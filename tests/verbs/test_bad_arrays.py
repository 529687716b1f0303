"""Arrays as users have them: any layout is right, and what cannot be right is refused in one sentence."""

import numpy as np
import pytest

import tilewright as tw

U = np.random.default_rng(7).random((40, 60))
EXPECTED = tw.run("jacobi2d", U.copy(), steps=9, backend="numpy")


def _padded() -> np.ndarray:
    return np.repeat(np.repeat(U, 2, axis=0), 3, axis=1)[::2, ::3]


def _reversed() -> np.ndarray:
    return U[::-1, ::-1].copy()[::-1, ::-1]


def _read_only() -> np.ndarray:
    values = U.copy()
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    "values", [np.asfortranarray(U), _padded(), _reversed(), _read_only(), U.astype(">f8"), U.tolist()]
)
def test_any_layout_is_read(values):
    np.testing.assert_allclose(tw.run("jacobi2d", values, steps=9), EXPECTED, rtol=1e-13)


def test_the_input_is_left_as_it_is():
    values = U.copy()
    tw.run("jacobi2d", values, steps=9)
    np.testing.assert_array_equal(values, U)


def test_an_output_may_be_the_input():
    values = U.copy()
    assert tw.run("jacobi2d", values, steps=9, out=values) is values
    np.testing.assert_allclose(values, EXPECTED, rtol=1e-13)


def test_an_output_may_overlap_the_input():
    memory = np.zeros((41, 60))
    memory[:40] = U
    out = memory[1:]
    tw.run("jacobi2d", memory[:40], steps=9, out=out)
    np.testing.assert_allclose(out, EXPECTED, rtol=1e-13)


@pytest.mark.parametrize("shape", [(1, 1), (1, 60), (2, 2), (3, 1)])
def test_grids_smaller_than_the_reach(shape):
    values = np.random.default_rng(8).random(shape)
    for boundary in ("fixed", "wrap", "reflect", "mirror", "nearest"):
        ours = tw.run("star2d4r", values, steps=5, boundary=boundary)
        reference = tw.run("star2d4r", values, steps=5, boundary=boundary, backend="numpy")
        np.testing.assert_allclose(ours, reference, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: tw.run("jacobi2d", np.zeros(5), steps=1), "2 dimensions"),
        (lambda: tw.run("jacobi2d", np.zeros((0, 5)), steps=1), "at least 1"),
        (lambda: tw.run("jacobi2d", steps=1), "takes 1 array"),
        (lambda: tw.run("jacobi2d", U, U, steps=1), "takes 1 array"),
        (lambda: tw.run("jacobi2d", np.array([["a"]]), steps=1), "no numbers"),
        (lambda: tw.run("jacobi2d", "u.npy", steps=1), ""),
        (lambda: tw.run("jacobi2d", U, steps=-1), "steps"),
        (lambda: tw.run("jacobi2d", U, steps=1, boundary="around"), "a boundary is one of"),
        (lambda: tw.run("jacobi2d", U, steps=1, alpha=1), "alpha"),
        (lambda: tw.run("jacobi2d", U, steps=1, out=_read_only()), "read-only"),
        (lambda: tw.run("jacobi2d", U, steps=1, out=np.zeros((3, 3))), "shape"),
        (lambda: tw.run("heat2d_var", U, U[:3], steps=1), "shape"),
        (lambda: tw.run("jacobi2d", np.broadcast_to(np.float32(0), (2**20, 2**20)), steps=1), "memory"),
        (lambda: tw.run("jacobi2d", U, steps=1, tiling="hybrid:t=4,s=ax8"), "a shape is extents"),
        (lambda: tw.run(tw.stencil(lambda u, a: a * u[0, 0]), U, steps=1), "a"),
    ],
)
def test_what_cannot_be_right_is_refused_in_one_sentence(call, part):
    with pytest.raises(tw.TilewrightError) as caught:
        call()
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
