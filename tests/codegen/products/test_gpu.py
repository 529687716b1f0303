"""OpenCL kernels of diagonals and vectors on what implements OpenCL here; CUDA ones through NVRTC."""

import itertools

import numpy as np
import pytest
from tests.sampling import covering, some

from tilewright.base.errors import UsageError
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.sparse import device as on_device
from tilewright.sparse.dia import Dia, length
from tilewright.sparse.krylov import reference
from tilewright.sparse.lower.gpu import emit_dia_gpu, emit_vectors_gpu
from tilewright.sparse.lower.vectors import CATALOGUE, fuse, multiple

EVERY = (*CATALOGUE.values(), multiple(3), fuse(multiple(2), CATALOGUE["norm2"], {"x": "y"}))


@pytest.mark.parametrize(
    "case",
    some([("float64", 16, 4), ("float32", 16, 4), ("float64", 8, 1), ("float32", 8, 1)], 1),
)
def test_opencl_products_of_matrices_longer_than_the_grid(opencl_device, monkeypatch, case):
    dtype, threads, unroll = case
    monkeypatch.setattr(on_device, "GROUPS", 3)
    rng = np.random.default_rng(1)
    for shape, offsets in (((150, 150), (-40, -1, 0, 1, 40)), ((70, 130), (-69, -3, 0, 60, 129)), ((5, 3), (-2, 0))):
        a = Dia.from_diagonals({o: rng.standard_normal(length(shape, o)) for o in offsets}, shape, dtype)
        for matrix in (a, a.T):
            x = rng.standard_normal(matrix.shape[1]).astype(dtype)
            y = on_device.multiply(opencl_device, matrix, x, threads=threads, unroll=unroll)
            dense = matrix.toarray().astype("float64")
            bound = 4 * np.finfo(dtype).eps * 6 * (np.abs(dense) @ np.abs(x.astype("float64")))
            assert np.all(np.abs(y - dense @ x) <= bound)


@pytest.mark.parametrize("case", some(list(itertools.product(EVERY[::-1], ["float64", "float32"])), 1))
def test_opencl_vectors_longer_than_the_grid(opencl_device, monkeypatch, case):
    what, dtype = case
    monkeypatch.setattr(on_device, "GROUPS", 3)
    rng = np.random.default_rng(2)
    threads, n = 8, 101
    vectors = [rng.standard_normal(n).astype(dtype) for _ in what.vectors]
    scalars = rng.standard_normal(len(what.scalars)).astype(dtype)
    expected, totals = reference(what, vectors, scalars.tolist())
    sums = on_device.apply(opencl_device, what, vectors, scalars, threads=threads)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for mine, wanted in zip(vectors, expected, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(sums, totals, rtol=tolerance, atol=tolerance * n)


@pytest.mark.parametrize(("dtype", "architecture"), covering(["float32", "float64"], ["sm_75", "sm_90"]))
def test_cuda_kernels_compile(nvrtc, dtype, architecture):
    assert not nvrtc(emit_dia_gpu(dtype, "cuda", 256, 5).text, architecture).strip()
    for what in EVERY:
        assert not nvrtc(emit_vectors_gpu(what, dtype, "cuda", 256).text, architecture).strip()


def test_both_dialects_share_their_text():
    for emit in (
        lambda d: emit_dia_gpu("float32", d, 256, 1),
        lambda d: emit_vectors_gpu(CATALOGUE["dot"], "float32", d, 256),
    ):
        texts = []
        for dialect in DIALECTS:
            source = emit(dialect)
            texts.append(source.text.replace(source.entry, "entry").partition("typedef float real;")[2])
        assert texts[0] == texts[1]


def test_what_there_is_not_is_refused():
    for call, message in (
        (lambda: emit_dia_gpu("int32", "cuda", 256, 1), "no sparse kernel for 'int32'"),
        (lambda: emit_dia_gpu("float32", "metal", 256, 1), "in 'metal'"),
        (lambda: emit_dia_gpu("float32", "cuda", 2000, 1), "1 to 1024 threads"),
        (lambda: emit_vectors_gpu(CATALOGUE["dot"], "float32", "cuda", 96), "power of two"),
    ):
        with pytest.raises(UsageError, match=message):
            call()
