"""The generated loops: what they compute, and that they move what the formulas say."""

import itertools
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from tests.sampling import covering, some

from tilewright.base.errors import UsageError
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.codegen.products.matmul import emit_fused
from tilewright.codegen.products.matmul_gpu import emit_gpu
from tilewright.codegen.source import c_source
from tilewright.runtime.call import functions
from tilewright.runtime.toolchains.cpu import target_cpu
from tilewright.schedules.code import Blocking, GroupBlock
from tilewright.tuning.spaces.cpu_schedule import blocking
from tilewright.workloads.chains import device
from tilewright.workloads.chains.fused import block_sizes, fused_product
from tilewright.workloads.chains.traffic import SCHEDULES, count

CASES = 600
LOOPS = Path(__file__).with_name("chain_loops.c")


@pytest.fixture(scope="module")
def counted():
    """Run the instrumented loops: returns the product, the reads, the writes and the trace."""
    (kernel,) = functions(c_source(LOOPS.read_text(), "tw_counted_loops"))

    def run(schedule, arrays, tile, room=0):
        p = [arrays[0].shape[0], *(array.shape[1] for array in arrays), 0][:4]
        result = np.full((p[0], arrays[-1].shape[1]), np.nan)
        others = [*arrays, *[result] * (3 - len(arrays))]
        chip = [np.full(tile, np.nan), np.full(max(tile), np.nan)]
        trace, counts = np.zeros(max(room, 1), dtype=np.int64), np.zeros(3, dtype=np.int64)
        size = (SCHEDULES.index(schedule), *p, *tile, room)
        kernel((result, *others, *chip), size, trace if room else None, counts)
        return result, int(counts[0]), int(counts[1]), trace[: counts[2]]

    return run


def matrices(rng, p):
    return [rng.standard_normal((a, b)) for a, b in itertools.pairwise(p)]


def product(arrays):
    return np.linalg.multi_dot(arrays)


def random_case(rng, high=26):
    schedule = SCHEDULES[rng.integers(5)]
    p = rng.integers(1, high, 4 if schedule in {"left", "right"} else 3).tolist()
    tile = tuple(rng.integers(1, high, 2).tolist())
    return schedule, p, tile


def simulate(trace, capacity, scratch=frozenset()):
    """Return the words that a cache of single-word lines moves.

    A read that misses fetches its word. A write that misses takes a line without fetching. A changed word is written
    back when it is evicted, or at the end.

    Args:
        trace: Words as numbers; ``-word - 1`` stands for a write.
        capacity: Words that the cache holds, at least 1.
        scratch: Matrices (``word >> 40``) whose words are dead when they leave, so that writing them back does not
            count; reading them again afterwards does.

    Returns:
        Words fetched and written back.
    """
    lines: OrderedDict[int, bool] = OrderedDict()
    moved = 0
    for entry in trace:
        write = entry < 0
        word = -entry - 1 if write else entry
        if word in lines:
            lines.move_to_end(word)
            lines[word] |= write
            continue
        moved += not write
        lines[word] = write
        if len(lines) > capacity:
            old, changed = lines.popitem(last=False)
            moved += changed and old >> 40 not in scratch
    return moved + sum(changed for word, changed in lines.items() if word >> 40 not in scratch)


@pytest.mark.parametrize(
    ("trace", "capacity", "scratch", "moved"),
    [
        ([1, 2, 3, 1, 2, 3], 2, (), 6),  # least recently used: the worst pattern
        ([1, 2, 3, 1, 2, 3], 3, (), 3),
        ([-2, 2, 3], 2, (), 3),  # a changed word is evicted and written back
        ([-(4 << 40) - 1, 4 << 40], 1, (4,), 0),  # a dead word is not
        ([-(4 << 40) - 1, 7, 4 << 40], 1, (4,), 2),  # reading it again counts
    ],
)
def test_cache_simulator(trace, capacity, scratch, moved):
    assert simulate(trace, capacity, frozenset(scratch)) == moved


def test_instrumented_loops_move_what_the_formulas_count(counted):
    """On random sizes and tiles, tiles larger than the matrices included."""
    rng = np.random.default_rng(10)
    seen = dict.fromkeys(SCHEDULES, 0)
    for _ in range(CASES):
        schedule, p, tile = random_case(rng)
        arrays = matrices(rng, p)
        result, reads, writes, _ = counted(schedule, arrays, tile)
        np.testing.assert_allclose(result, product(arrays), rtol=1e-11, atol=1e-11)
        assert reads + writes == count(schedule, p, tile), (schedule, p, tile)
        seen[schedule] += 1
    assert sum(seen.values()) >= 500
    assert min(seen.values()) >= 50


def test_a_cache_moves_no_more_than_the_formulas_count(counted):
    """Through a least-recently-used cache that holds the tile and the streams, instead of by name."""
    rng = np.random.default_rng(11)
    equal = 0
    for _ in range(40):
        schedule, p, tile = random_case(rng, 14)
        arrays = matrices(rng, p)
        _, reads, writes, trace = counted(schedule, arrays, tile, room=200_000)
        assert 0 < trace.size < 200_000
        capacity = tile[0] * tile[1] + 2 * sum(tile) + 2
        moved = simulate(trace.tolist(), capacity, scratch={4})
        assert moved <= reads + writes
        compulsory = sum(array.size for array in arrays) + p[0] * p[-1]
        assert moved >= compulsory
        equal += moved == reads + writes
    assert equal > 0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_cache_of_just_the_tile_and_its_streams_moves_exactly_the_count(counted, schedule):
    """Where the streams are too long for anything to survive from one block to the next."""
    p, tile = ((40, 41, 42), (4, 5)) if schedule in {"R", "A1", "A2"} else ((40, 41, 42, 39), (4, 5))
    arrays = matrices(np.random.default_rng(0), p)
    _, reads, writes, trace = counted(schedule, arrays, tile, room=2_000_000)
    moved = simulate(trace.tolist(), tile[0] * tile[1] + 2 * sum(tile) + 2, scratch={4})
    assert moved == pytest.approx(count(schedule, p, tile), rel=0.02)
    assert reads + writes == count(schedule, p, tile)


def layouts(rng, shape, dtype):
    """A matrix in one of several layouts."""
    a = rng.standard_normal(shape).astype(dtype)
    kind = rng.integers(4)
    if kind == 0:
        return np.asfortranarray(a)
    if kind == 1:
        return np.repeat(a, 2, axis=0)[::-2]
    if kind == 2:
        wide = np.zeros((shape[0], 2 * shape[1] + 1), dtype=dtype)
        wide[:, ::2][:, : shape[1]] = a
        return wide[:, ::2][:, : shape[1]]
    return a


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fusion", ["left", "right"])
def test_fused_kernels_compute_the_product(fusion, dtype):
    rng = np.random.default_rng(4)
    for case in range(60):
        p = rng.integers(1, (300 if case % 10 == 0 else 70), 4).tolist()
        arrays = [layouts(rng, shape, dtype) for shape in itertools.pairwise(p)]
        tile = tuple(rng.integers(1, 90, 2).tolist())
        before = [array.copy() for array in arrays]
        result = fused_product(fusion, tuple(arrays), tile, 1 + case % 3, blocking(target_cpu().simd_bits))
        exact = product([array.astype("float64") for array in arrays])
        bound = product([np.abs(array).astype("float64") for array in arrays])
        assert result.dtype == dtype
        assert np.all(np.abs(result - exact) <= 4 * np.finfo(dtype).eps * (p[1] + p[2] + 4) * bound)
        assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


@pytest.mark.parametrize("how", [Blocking(rows=4, vectors=2, depth=16), blocking(256)])
@pytest.mark.parametrize("fusion", ["left", "right"])
def test_other_register_blockings_compute_the_same(fusion, how):
    arrays = tuple(matrices(np.random.default_rng(1), (53, 37, 41, 29)))
    result = fused_product(fusion, arrays, (16, 17), 2, how)
    np.testing.assert_allclose(result, product(arrays), rtol=1e-11, atol=1e-11)


def test_blocks_cover_the_tile_and_leave_no_thread_idle():
    assert block_sizes("left", (1000, 5, 24, 5), (5000, 50), 4) == (256, 24)
    assert block_sizes("right", (7, 30, 5, 1000), (50, 5000), 4) == (30, 256)
    assert block_sizes("left", (3, 5, 7, 5), (1, 1), 2) == (3, 1)


def test_unknown_kernels_are_refused():
    with pytest.raises(UsageError, match="float32 or float64"):
        emit_fused("left", "int32", blocking(512))
    with pytest.raises(UsageError, match="'left' or 'right'"):
        emit_fused("up", "float32", blocking(512))
    with pytest.raises(UsageError, match="must divide"):
        emit_gpu("left", "float32", "cuda", GroupBlock(tile=(10, 8), cells=(4, 4), depth=8))
    with pytest.raises(UsageError, match="no fused kernel"):
        emit_gpu("left", "float16", "cuda", GroupBlock(tile=(8, 8), cells=(4, 4), depth=8))


BLOCKS = [
    ((19, 13, 27, 17), GroupBlock(tile=(8, 12), cells=(2, 3), depth=5)),
    ((16, 8, 16, 16), GroupBlock(tile=(8, 8), cells=(4, 4), depth=8)),
    ((3, 2, 5, 4), GroupBlock(tile=(8, 8), cells=(2, 2), depth=3)),
]


@pytest.mark.parametrize(
    "case",
    some(list(itertools.product(BLOCKS, ["float32", "float64"], ["left", "right"])), 1),
)
def test_opencl_kernels_compute_and_move_what_the_formulas_count(opencl_device, case):
    (p, block), dtype, fusion = case
    arrays = [each.astype(dtype) for each in matrices(np.random.default_rng(0), p)]
    result, moved = device.fused_product(opencl_device, fusion, arrays, block, counting=True)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(result, product(arrays), rtol=tolerance, atol=tolerance)
    assert moved == count(fusion, p, block.tile)


@pytest.mark.parametrize(
    ("kind", "fusion", "architecture"),
    covering([("float32", False), ("float64", True)], ["left", "right"], ["sm_75", "sm_90"]),
)
def test_cuda_kernels_compile(nvrtc, kind, fusion, architecture):
    dtype, counting = kind
    source = emit_gpu(fusion, dtype, "cuda", GroupBlock(tile=(64, 64), cells=(4, 4), depth=8), counting=counting)
    assert source.shared_bytes <= 48 * 1024
    assert not nvrtc(source.text, architecture).strip()


def test_both_dialects_share_their_text():
    block = GroupBlock(tile=(8, 8), cells=(4, 4), depth=8)
    bodies = []
    for dialect in DIALECTS:
        source = emit_gpu("left", "float32", dialect, block)
        bodies.append(source.text.replace(source.entry, "entry").partition("typedef float real;")[2])
    assert bodies[0] == bodies[1]
