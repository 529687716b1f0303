"""OpenCL kernels of diagonals and vectors under Oclgrind; CUDA ones through NVRTC."""

import itertools

import numpy as np
import pytest
from tests.sampling import covering, some

from tilewright.base.errors import UsageError
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.sparse.dia import Dia, length
from tilewright.sparse.krylov import reference
from tilewright.sparse.lower.gpu import emit_dia_gpu, emit_vectors_gpu
from tilewright.sparse.lower.vectors import CATALOGUE, fuse, multiple

EVERY = (*CATALOGUE.values(), multiple(3), fuse(multiple(2), CATALOGUE["norm2"], {"x": "y"}))


def silent(capfd):
    said = capfd.readouterr()
    assert "race" not in (said.err + said.out).lower()
    assert "invalid" not in (said.err + said.out).lower()


def laid_out(matrix):
    """A matrix as the kernel takes it: elements, starts, offsets."""
    values = np.concatenate([*matrix.diagonals, np.zeros(0, matrix.dtype)])
    starts = np.cumsum([0, *(each.size for each in matrix.diagonals)])[:-1]
    return values, starts.astype(np.int64), np.array(matrix.offsets, dtype=np.int64)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case",
    some([("float64", 3, 16, 4), ("float32", 3, 16, 4), ("float64", 1, 8, 1), ("float32", 1, 8, 1)], 1),
)
def test_opencl_products_of_matrices_longer_than_the_grid(device, capfd, case):
    dtype, groups, threads, unroll = case
    cl, context, queue = device
    rng = np.random.default_rng(1)
    source = emit_dia_gpu(dtype, "opencl", threads, unroll)
    kernel = cl.Kernel(cl.Program(context, source.text).build(), source.entry)
    for shape, offsets in (((150, 150), (-40, -1, 0, 1, 40)), ((70, 130), (-69, -3, 0, 60, 129)), ((5, 3), (-2, 0))):
        a = Dia.from_diagonals({o: rng.standard_normal(length(shape, o)) for o in offsets}, shape, dtype)
        for matrix in (a, a.T):
            x = rng.standard_normal(matrix.shape[1]).astype(dtype)
            y = np.full(matrix.shape[0], np.nan, dtype)
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
            buffers = [cl.Buffer(context, flags, hostbuf=each) for each in (*laid_out(matrix), x, y)]
            sizes = map(np.int64, (*matrix.shape, len(matrix.offsets)))
            kernel(queue, (groups * threads,), (threads,), *buffers, *sizes)
            cl.enqueue_copy(queue, y, buffers[-1])
            queue.finish()
            dense = matrix.toarray().astype("float64")
            bound = 4 * np.finfo(dtype).eps * 6 * (np.abs(dense) @ np.abs(x.astype("float64")))
            assert np.all(np.abs(y - dense @ x) <= bound)
    silent(capfd)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", some(list(itertools.product(EVERY[::-1], ["float64", "float32"])), 1))
def test_opencl_vectors_longer_than_the_grid(device, capfd, case):
    what, dtype = case
    cl, context, queue = device
    rng = np.random.default_rng(2)
    groups, threads, n = 3, 8, 101
    source = emit_vectors_gpu(what, dtype, "opencl", threads)
    program = cl.Program(context, source.text).build()
    vectors = [rng.standard_normal(n).astype(dtype) for _ in what.vectors]
    scalars = rng.standard_normal(len(what.scalars)).astype(dtype)
    part = np.full(groups * max(1, what.sums), np.nan, dtype)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=each) for each in (*vectors, part)]
    sums = buffers[-1:] if what.sums else []
    kernel = cl.Kernel(program, source.entry)
    kernel(queue, (groups * threads,), (threads,), *buffers[:-1], *scalars, *sums, np.int64(n))
    for finish in source.kernels[1:]:
        cl.Kernel(program, finish.entry)(queue, (threads,), (threads,), *sums, np.int32(groups))
    got = [np.empty_like(each) for each in vectors]
    for target, buffer in zip(got, buffers, strict=False):
        cl.enqueue_copy(queue, target, buffer)
    cl.enqueue_copy(queue, part, buffers[-1])
    queue.finish()
    expected, totals = reference(what, vectors, scalars.tolist())
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for mine, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(part[: what.sums], totals, rtol=tolerance, atol=tolerance * n)
    silent(capfd)


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
