"""Arrays as users have them: any layout is right, and what cannot be right is refused in one sentence."""

import numpy as np
import pytest

import tilewright as tw

U = np.random.default_rng(7).random((40, 60))


def test_an_output_may_overlap_the_input():
    memory = np.zeros((41, 60))
    memory[:40] = U
    out = memory[1:]
    tw.run("jacobi2d", memory[:40], steps=9, out=out)
    np.testing.assert_allclose(out, tw.run("jacobi2d", U, steps=9, backend="numpy"), rtol=1e-13)


IMAGE = np.random.default_rng(9).random((12, 13))
MATRIX = tw.sparse.Dia.from_diagonals({-1: -1.0, 0: 2.0, 1: -1.0}, (40, 40))
TAKERS = {
    "run with a mask and sources": lambda u, v: tw.run(
        "heat2d", u, steps=3, where=v > 0.2, sources=tw.Points([(4.5, 4)], values=v[0, :3], scale=v)
    ),
    "run of a coefficient": lambda u, v: tw.run("heat2d_var", u, v, steps=3),
    "run by NumPy": lambda u, v: tw.run("heat2d_var", u, v, steps=3, backend="numpy"),
    "run over axes": lambda u, v: tw.run("heat2d_var", u, v, steps=3, axes=(1, 0)),
    "values per step": lambda u, v: tw.run("heat2d", u, steps=3, boundary=tw.Boundary("constant", v[0, :3])),
    "gradient": lambda u, v: tw.vjp("heat2d_var", u, v, steps=3)[1](v)[0],
    "pipeline": lambda u, _: tw.pipeline("blur")(u),
    "blur": lambda u, _: tw.image.blur(u, 1.5),
    "sobel": lambda u, _: tw.image.sobel(u),
    "canny": lambda u, _: tw.image.canny(u),
    "colours": lambda u, v: tw.image.blur(np.stack([u, v, u], axis=-1)),
    "cg": lambda u, v: tw.sparse.cg(MATRIX, u.ravel()[:40], v.ravel()[:40]).x,
    "products": lambda u, v: (MATRIX @ u.ravel()[:40], v.ravel()[:40] @ MATRIX, MATRIX @ u.ravel()[:80].reshape(40, 2)),
    "matrices": lambda u, v: tw.sparse.Dia.from_diagonals({0: u[0], 1: v[0, 1:]}, dtype=u.dtype).toarray(),
    "from a dense matrix": lambda u, _: tw.sparse.Dia.from_scipy(u).toarray(),
    "from a stencil": lambda u, v: tw.sparse.from_stencil("heat2d_var", u.shape, k=v).toarray(),
    "chain": lambda u, v: tw.chain.multi_dot([u, v.T, u]),
    "table": lambda u, v: tw.fill(
        "lcs", (9 * u[0]).astype(f"{u.dtype.str[0]}i4"), (9 * v[0]).astype(f"{u.dtype.str[0]}i4")
    ),
}


@pytest.mark.parametrize("name", TAKERS)
def test_bytes_in_the_other_order_are_read(private_folders, name):
    u, v = IMAGE, np.random.default_rng(10).uniform(0.1, 0.3, IMAGE.shape)
    found, right = (TAKERS[name](u.astype(kind), v.astype(kind)) for kind in (">f8", "<f8"))
    for one, other in zip(found, right, strict=True) if isinstance(right, tuple) else [(found, right)]:
        assert np.asarray(one).dtype.isnative
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["axpy", "aypx", "waxpy", "scale", "dot", "dot_norm", "norm", "axpy_norm", "maxpy"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_vectors_in_the_other_order_of_bytes_are_changed_in_place(private_folders, name, dtype):
    """Also one in each order; what is written keeps its own."""
    krylov = tw.sparse.krylov
    arguments = {
        "axpy": (2.0, 0, 1), "aypx": (2.0, 0, 1), "waxpy": (2.0, 0, 1), "scale": (2.0, 0), "dot": (0, 1), "norm": (0,),
        "dot_norm": (0, 1), "axpy_norm": (2.0, 0, 1), "maxpy": ([2.0], [0], 1),
    }[name]  # fmt: skip

    def result(orders):
        x, y = (np.linspace(1, 2, 50).astype(order + dtype) for order in orders)
        vectors = {0: x, 1: y}
        filled = [[x] if each == [0] else vectors[each] if type(each) is int else each for each in arguments]
        return [np.array(getattr(krylov, name)(*filled), "f8"), x.astype("f8"), y.astype("f8"), (x.dtype, y.dtype)]

    expected = result("==")
    for orders in (">>", ">=", "=>"):
        *found, types = result(orders)
        assert types == tuple(np.dtype(order + dtype) for order in orders)
        for one, other in zip(found, expected, strict=False):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_pictures_in_the_other_order_of_bytes_are_processed(private_folders, dtype):
    picture = (IMAGE * 250).astype(dtype)
    for call in (tw.image.blur, tw.image.sobel, tw.image.canny):
        found = call(picture.astype(picture.dtype.newbyteorder(">")))
        np.testing.assert_array_equal(found, call(picture), strict=True)
    out = np.empty(IMAGE.shape, ">f4")
    assert tw.pipeline("blur")(picture.astype("f4"), out=out) is out
    np.testing.assert_array_equal(out, tw.pipeline("blur")(picture.astype("f4")))
