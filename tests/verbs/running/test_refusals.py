"""What a run, or its gradient, cannot be: an error of a kind that is told apart, in one sentence."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw

ARRAY, ILLEGAL, TRACE, USAGE = tw.ArrayError, tw.IllegalTilingError, tw.TraceError, tw.UsageError
U = np.random.default_rng(5).random((23, 37)).astype("f")
SMALL = np.ones((8, 8))
GRIDS = np.zeros((4, 20, 30))
PAIR = np.ones((20, 30)), np.ones((20, 30))
SIDE = np.ones((1, 8))
HUGE = np.broadcast_to(np.float32(0), (2**20, 2**20))


@tw.stencil
def heat(u, alpha):
    return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


@tw.stencil
def plain(u):
    return u[0, 1] + u[1, 0]


@tw.stencil
def varied(u, k):
    return u[0, 0] + k * (u[-1, 0] + u[1, 0] - 2 * u[0, 0])


jacobi = partial(tw.run, "jacobi2d", U, steps=1)
watched = partial(tw.run, "heat2d", SMALL, steps=4)
batched = partial(tw.run, "j2d5pt", GRIDS, steps=1)
sided = partial(tw.run, heat, SMALL, steps=3, alpha=0.1)


def forced(dtype="float32", **given):
    """A run with sources or receivers."""
    return tw.run(plain, np.zeros((8, 8), dtype), steps=3, **given)


def pulled(worth):
    """A gradient that goes back."""
    return tw.vjp("j2d5pt", SMALL, steps=1)[1](worth)


REFUSED = {
    "arrays": [
        (lambda: tw.run("jacobi2d", U[0], steps=1), ARRAY, "'jacobi2d' has 2 dimensions, 'u' has 1"),
        (lambda: tw.run("jacobi2d", 3.0, steps=1), ARRAY, r"'u' has 0 \(shape \(\)\)"),
        (lambda: tw.run("jacobi2d", U[:0], steps=1), ARRAY, "every extent must be at least 1, 'u' has the shape 0x37"),
        (lambda: tw.run("jacobi2d", U, U, steps=1), ARRAY, r"takes 1 array \(u\), got 2"),
        (lambda: tw.run("jacobi2d", steps=1), ARRAY, "takes 1 array"),
        (lambda: tw.run("jacobi2d", "u.npy", steps=1), USAGE, "writes its result to disk, and got no out="),
        (lambda: tw.run("jacobi2d", HUGE, steps=1), ARRAY, "memory"),
        (lambda: tw.run("heat2d_var", U, U[:5], steps=1), ARRAY, "have one shape, 'u' has 23x37 and 'k' 5x37"),
        (lambda: tw.run("jacobi2d", (U, U), steps=1), ARRAY, "'u' of 'jacobi2d' has 1 time level, got 2 arrays"),
        (lambda: tw.run("jacobi2d", U.astype(str), steps=1), ARRAY, "holds no numbers"),
        (lambda: tw.image.blur(Path("a.png"), sigma=1), ARRAY, r"'image' is the text 'a.png', where .*np\.load, or"),
        (lambda: tw.run("jacobi2d", [[1], [2, 3]], steps=1), ARRAY, "'u' is no array of numbers"),
        (lambda: tw.stencil(3), USAGE, "a stencil is made of a function, got a value of type int"),
        (lambda: jacobi(out=U[:3].copy()), ARRAY, "out must have the shape"),
        (lambda: jacobi(out=np.zeros(U.shape, int)), ARRAY, "out cannot hold float32"),
        (lambda: jacobi(out=np.broadcast_to(np.float32(0), U.shape)), ARRAY, "out is read-only"),
    ],
    "scalars": [
        (lambda: tw.run(heat, U, steps=1, alpha="x"), USAGE, r"'alpha' is the text 'x', .* \(hint: give a number"),
        (lambda: tw.run(heat, U, steps=1, alpha=None), USAGE, r"'alpha' is None, .* \(hint: give a number, or"),
        (lambda: tw.run(heat, U, steps=1), USAGE, "'heat' needs a value of 'alpha'"),
        (lambda: tw.run(heat, U, steps=1, alpha=1, beta=2), USAGE, "'heat' has no scalar 'beta'"),
        (lambda: tw.run(heat, U, steps=1, alpha=1, tw_t=3), USAGE, "has no scalar 'tw_t'"),
        (lambda: tw.run(heat, U, steps=1, alpha=1, network="lan"), USAGE, "network is an option of other functions"),
        (lambda: tw.run(heat, U, steps=1, alpha=1, u=U), USAGE, "it is a field: pass the arrays of u in this order"),
        (lambda: jacobi(alpha=1), USAGE, "alpha"),
        (lambda: tw.run(varied, U, steps=1, k=np.ones(20)), ARRAY, "'k' has 1"),
    ],
    "options": [
        (lambda: jacobi(steps=-1), USAGE, "steps is a whole number from 0"),
        (lambda: jacobi(boundary="round"), USAGE, "a boundary is one of"),
        (lambda: jacobi(backend="fortran"), USAGE, "the backend is one of auto, c, numpy"),
        (lambda: jacobi(dtype="int32"), ARRAY, "which int32 cannot hold"),
        (lambda: tw.run("jacobi2d", U + 1j, steps=1, dtype="float32"), ARRAY, "which float32 cannot hold"),
        (lambda: jacobi(dtype="str"), USAGE, "the dtype must be one of"),
        (lambda: jacobi(threads=0), USAGE, "threads is a whole number"),
        (
            lambda: tw.run("smith_waterman", U, U, steps=1, boundary="wrap"),
            USAGE,
            "must be fixed or constant, got wrap",
        ),
        (
            lambda: tw.run("smith_waterman", GRIDS, GRIDS, steps=1, boundary="nearest", axes=(1, 2), threads=2),
            USAGE,
            "must be fixed or constant, got nearest",
        ),
        (lambda: tw.run(lambda u, levels: levels * u[0], U, steps=1), TRACE, "the argument 'levels' of .* clashes"),
        (lambda: tw.run(lambda u, record: record * u[0], U, steps=1), TRACE, "the argument 'record' of .* clashes"),
    ],
    "tilings": [
        (lambda: jacobi(tiling="hybrid:t=3,s=8x8"), USAGE, "an even number from 2"),
        (lambda: jacobi(tiling="hybrid:t=4,s=ax8"), USAGE, "a shape is extents"),
        (lambda: jacobi(tiling="origami"), USAGE, "there is no tiling family 'origami'"),
        (
            lambda: tw.run("fdtd2d", U, U, U, steps=4, boundary={"hz": ("wrap", "fixed")}, tiling="hybrid:t=4,s=8x8"),
            ILLEGAL,
            "with the boundary wrap on axis 0",
        ),
        (
            lambda: tw.run("j2d9pt", U, steps=4, tiling="hybrid:t=4,s=1x8"),
            ILLEGAL,
            "dependences lead beyond the neighbouring tile",
        ),
        (
            lambda: tw.run("j2d9pt", U, steps=21, boundary="wrap", tiling="hybrid:t=6,s=1x16"),
            ILLEGAL,
            "narrower than what 'j2d9pt' reaches",
        ),
    ],
    "levels": [
        (
            lambda: tw.run("wave2d", PAIR, steps=5, levels=True, out=PAIR[0]),
            USAGE,
            "with levels=True out needs 2 arrays for 'u', got 1",
        ),
        (
            lambda: tw.run("wave2d", PAIR, steps=5, levels=True, out=(*PAIR, PAIR[0])),
            USAGE,
            "with levels=True out needs 2 arrays for 'u', got 3",
        ),
        (
            lambda: tw.run("wave2d", PAIR, steps=5, levels=True, out=(PAIR[0], np.ones((20, 31)))),
            ARRAY,
            "out must have the shape",
        ),
    ],
    "watching": [
        (lambda: watched(callback=print), USAGE, "how often"),
        (lambda: watched(every=0), USAGE, "every is a whole number"),
        (lambda: watched(every=1.5), USAGE, "every is a whole number"),
        (lambda: watched(until=-1.0), USAGE, "until, a change per step, is not negative"),
        (lambda: watched(until=float("nan")), USAGE, "until, a change per step, is not negative"),
        (lambda: watched(where=np.ones((3, 3))), ARRAY, "must have the shape 8x8"),
        (lambda: watched(where=np.ones((8, 8), dtype=complex)), ARRAY, "truth values"),
    ],
    "sources": [
        (lambda: watched(sources=[((8, 0), 1.0)]), USAGE, "not on the grid 8x8"),
        (lambda: watched(sources=[((1,), 1.0)]), USAGE, "not on the grid"),
        (lambda: watched(sources=[1.0]), USAGE, "pair of a cell"),
        (lambda: watched(sources=[((1, 1), np.ones(3))]), USAGE, "one per step"),
        (lambda: watched(sources=[((1, 1), 1j)]), USAGE, r"the source value 1j does not fit float64"),
        (lambda: watched(sources={"w": []}), USAGE, "does not update 'w'"),
        (lambda: watched(sources=[((1, 1), 1.0)], steps=1.5), USAGE, "steps is a whole number"),
        (lambda: forced(sources=tw.Points([(4.0, 9.5)], values=1.0)), USAGE, "outside the grid 8x8"),
        (lambda: forced(sources=tw.Points([(4.0, 5.0)])), USAGE, "sources have values"),
        (
            lambda: forced(sources=tw.Points([(4.0, 5.0)], values=np.ones(4))),
            USAGE,
            r"one row per step \(3\), got 4",
        ),
        (lambda: forced(sources=tw.Points([4.0], values=1.0)), USAGE, "as many coordinates, got 1"),
        (
            lambda: forced(sources=tw.Points([(4.0, 5.0)], values=1j)),
            USAGE,
            "the source value 1j does not fit float",
        ),
        (lambda: forced(sources={"w": tw.Points([(4.0, 5.0)], values=1.0)}), USAGE, "does not update 'w'"),
        (
            lambda: forced(sources=tw.Points([(4.0, 5.0)], values=1.0, scale="k")),
            USAGE,
            "a field that no statement updates, got 'k'",
        ),
        (
            lambda: forced(sources=tw.Points([(4.0, 5.0)], values=1.0, scale=np.ones(3))),
            ARRAY,
            "the grid's shape 8x8",
        ),
        (lambda: forced(sources=tw.Points([(4.0, 5.0)], values=1.0, scale=[[]])), ARRAY, "the grid's shape 8x8"),
        (lambda: forced(sources=tw.Points([(4.0, 5.0)], values=1.0, scale=1j)), USAGE, "does not fit float"),
        (lambda: forced(sources=tw.Points([(4.0, 5.0)], values=1.0, scale=np.nan)), USAGE, "is finite"),
        (
            lambda: forced(sources=tw.Points([(4.0, 5.0)], values=1.0, scale=np.full((8, 8), np.inf))),
            USAGE,
            "is finite",
        ),
        (
            lambda: forced("int32", sources=tw.Points([(4.5, 5.0)], values=1)),
            USAGE,
            "no whole numbers as weights",
        ),
        (lambda: forced(sources=[((4.5, 5.0), 1.0)]), USAGE, r"a source's cell has whole numbers, got \(4.5, 5.0\)"),
        (lambda: forced(sources=[((np.nan, 5.0), 1.0)]), USAGE, "a pair of a cell and its values"),
        (lambda: forced(sources=5), USAGE, "pairs of a cell and values, got 5"),
    ],
    "receivers": [
        (lambda: forced(receivers={"w": tw.Points([(4.0, 5.0)])}), USAGE, "no field 'w' to record"),
        (lambda: forced(receivers=[(4.0, 5.0)]), USAGE, "receivers are tw.Points"),
        (lambda: forced(receivers=tw.Points([(4.0, 5.0)], values=1.0)), USAGE, "receivers have no values"),
        (lambda: forced(receivers=tw.Points([(4.0, 7.5)])), USAGE, "outside the grid 8x8"),
    ],
    "axes": [
        (batched, ARRAY, r"axes=\(-2, -1\) runs it over the last ones"),
        (lambda: batched(axes=(0,)), USAGE, "has 2 axes"),
        (lambda: batched(axes=(1, 1)), USAGE, "different ones"),
        (lambda: batched(axes=(1, 3)), USAGE, "different ones"),
        (lambda: batched(axes="ab"), USAGE, "whole"),
        (lambda: batched(axes=(1, 2), every=1), USAGE, "a run over axes takes no every"),
        (lambda: batched(axes=(1, 2), out=np.empty((4, 20, 31))), ARRAY, "out must have the shape"),
        (
            lambda: tw.run(varied, GRIDS, steps=1, axes=(1, 2), k=np.zeros((3, 20, 30))),
            ARRAY,
            "batches of different shapes: 'u' has 4, 'k' has 3",
        ),
        (lambda: tw.run("j2d5pt", GRIDS, GRIDS, steps=1, axes=(1, 2)), ARRAY, "takes 1 array, got 2"),
    ],
    "values per step": [
        (
            lambda: tw.run(heat, np.ones((5, 6)), steps=6, alpha=np.ones(6)),
            USAGE,
            "one per step or a coefficient along the last axis",
        ),
        (lambda: sided(alpha=tw.per_step(np.ones(4))), ARRAY, "a value for each of 4 steps, the run has 3"),
        (lambda: tw.per_step(np.ones((2, 2))), ARRAY, "values per step have one axis"),
        (
            lambda: sided(boundary=tw.Boundary("constant", np.ones(2))),
            ARRAY,
            "a value for each of 2 steps, the run has 3",
        ),
        (
            lambda: tw.predict(
                heat, shape=(64, 64), steps=3, machine="gtx980", boundary=tw.Boundary("constant", np.ones(2))
            ),
            ARRAY,
            "a value for each of 2 steps, the run has 3",
        ),
        (
            lambda: tw.vjp(heat, SMALL, steps=3, alpha=np.ones(3), wrt=["alpha"]),
            USAGE,
            "not taken by values per step, got 'alpha'",
        ),
    ],
    "boundaries": [
        (
            lambda: sided(boundary=tw.Boundary("nearest", np.ones(3))),
            USAGE,
            "a 'nearest' boundary has no values, got some of the shape",
        ),
        (lambda: sided(boundary=tw.Boundary("mirror", SIDE)), USAGE, "a 'mirror' boundary has no values"),
        (lambda: sided(boundary="robin:1:-2"), USAGE, "the factor -2 says nothing of cells 0.5 outside the face"),
        (
            lambda: sided(boundary="robin:1:2:3"),
            USAGE,
            "a 'robin' boundary is written robin:1:0.5, got 'robin:1:2:3'",
        ),
        (lambda: sided(boundary="wrap:1"), USAGE, "a 'wrap' boundary is written wrap, got 'wrap:1'"),
        (lambda: sided(boundary="neumann:a"), USAGE, "the value of a neumann boundary is a number, got 'a'"),
        (
            lambda: sided(boundary=tw.Boundary("neumann", "a")),
            USAGE,
            "the value of a boundary is a number or an array of numbers, got 'a'",
        ),
        (
            lambda: sided(boundary=tw.Boundary("neumann", np.ones((5, 5)))),
            USAGE,
            "the extent 1 along that axis, got the shape .5, 5.",
        ),
        (
            lambda: tw.run(lambda u: u[-1] + u[1], np.arange(9, dtype=np.int32), steps=1, boundary="robin:1:1"),
            USAGE,
            "a 'robin' boundary computes fractions, got int32",
        ),
        (
            lambda: tw.run(tw.stencil(lambda u: u[-5] * 0.5, name="far"), np.ones(3), steps=1, boundary="neumann:1"),
            USAGE,
            "at least as many cells along an axis as 'far' reads far, 5, got 3",
        ),
        *(
            (
                lambda kind=kind, value=value: sided(boundary=tw.Boundary(kind, value)),
                USAGE,
                r"the boundary value .* of 'u' does not fit float64",
            )
            for kind in ("constant", "dirichlet", "neumann", "robin")
            for value in (1j, np.complex64(1 + 2j))
        ),
    ],
    "gradients": [
        (lambda: tw.adjoint("smith_waterman"), USAGE, "recurrence, which has no adjoint"),
        (lambda: tw.vjp("j2d5pt", SMALL.astype("complex64"), steps=1), USAGE, "gradients are of float32 and float64"),
        (lambda: tw.adjoint(lambda u: u[0, 0] >> 1), USAGE, "works on the bits of whole numbers"),
        (lambda: tw.adjoint(lambda u: 1j * u[0, 0]), USAGE, "complex numbers, which have no adjoint"),
        (lambda: tw.adjoint("fdtd2d", boundary={"ex": "wrap"}), USAGE, "wrap along different axes"),
        (lambda: tw.vjp("gradient2d", SMALL, steps=1, checkpoints=1), USAGE, "at least 2"),
        (lambda: tw.vjp("gradient2d", SMALL, steps=1, checkpoints=3, memory="1GiB"), USAGE, "give one of them"),
        (lambda: tw.vjp("heat2d_var", SMALL, SMALL, steps=1, wrt=("u",)), USAGE, "no coefficient or scalar"),
        (
            lambda: tw.vjp("j2d5pt", np.ones((1, 9)), steps=1, boundary="reflect"),
            USAGE,
            "needs more than 1 cells along axis 0",
        ),
        (lambda: tw.vjp("j2d5pt", SMALL, steps=1, where=SMALL > 0), USAGE, "gradients take no option 'where'"),
        (
            lambda: tw.value_and_grad("j2d5pt", lambda y: (0.0, y), SMALL, steps=1, every=1),
            USAGE,
            "gradients take no option 'every'",
        ),
        (lambda: pulled(SMALL.astype("complex64")), ARRAY, "is real, as the result is, got complex64"),
        (lambda: pulled(np.ones((3, 3))), ARRAY, "has the result's shape"),
        (lambda: pulled((SMALL, SMALL)), ARRAY, "a cotangent is needed for each of u"),
    ],
}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [pytest.param(*row, id=f"{what} {number}") for what, rows in REFUSED.items() for number, row in enumerate(rows)],
)
def test_what_a_run_cannot_be_is_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
