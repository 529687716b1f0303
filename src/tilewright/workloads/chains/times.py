"""How long matrix products take on this machine: measured when asked for, kept with the kernels, never on the side."""

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.runtime import cache
from tilewright.runtime.host import cpu_features, describe_cpu
from tilewright.runtime.store import folder as store
from tilewright.runtime.toolchains.cpu import compiler_identity
from tilewright.schedules.code import Blocking
from tilewright.workloads.chains.fused import DTYPES, block_sizes, fused_product
from tilewright.workloads.chains.time import HostTimes, fit, host_terms, times_from
from tilewright.workloads.chains.traffic import least, terms

_VERSION = 3
_SINGLE = (
    (2, 2, 2), (16, 16, 16), (100, 100, 100), (300, 300, 300), (900, 900, 900), (1500, 700, 1100), (400_000, 16, 6),
    (600_000, 6, 16), (200_000, 32, 12), (300_000, 12, 32), (100_000, 64, 24), (100_000, 24, 64), (40_000, 200, 80),
    (40_000, 80, 200), (6, 16, 400_000), (16, 6, 400_000), (64, 24, 100_000), (24, 64, 100_000), (200, 80, 40_000),
    (16, 400_000, 16), (64, 100_000, 32), (2000, 2000, 4), (4, 2000, 2000), (2000, 4, 2000), (2000, 40, 2000),
)  # fmt: skip
_FUSED = (
    (8, 8, 8, 8), (100, 100, 100, 100), (500, 500, 500, 500), (1200, 500, 900, 700), (1400, 1400, 1400, 1400),
    (600_000, 16, 6, 16), (300_000, 32, 12, 32), (100_000, 64, 24, 64), (40_000, 200, 80, 200), (400_000, 4, 16, 4),
    (10_000, 900, 200, 900), (2000, 4, 2000, 4), (2000, 40, 2000, 40), (20_000, 100, 1000, 100),
    (12, 32, 12, 200_000), (64, 128, 50, 60_000), (50, 1000, 2000, 50), (16, 100_000, 16, 16), (16, 16, 16, 100_000),
)  # fmt: skip
"""P0 … P3 of left fusions; right ones are measured in reverse."""
_REPEATS = 3
_ROUNDS = 4
_PAUSE = 0.1
"""Seconds after which the array library's idle threads have gone to sleep."""
_SHORTEST = 2e-4
"""Calls shorter than this are timed several at a time."""

Array = npt.NDArray[Any]


def memory_words(itemsize: int) -> int:
    """Return the words that a fused kernel keeps on chip: half of a core's L2 cache, the other half for streams.

    >>> memory_words(4) >= memory_words(8) > 0
    True
    """
    return max(1024, describe_cpu().l2_bytes // 2 // itemsize)


def stored(dtype: str, threads: int) -> HostTimes | None:
    """Return what :func:`calibrate` measured on this machine before, or None."""
    text = cache.load_text(store.directory(), _key(dtype, threads))
    if text is None:
        return None
    try:
        return times_from(json.loads(text))
    except (ValueError, UsageError):
        return None


def calibrate(dtype: str, threads: int, how: Blocking) -> HostTimes:
    """Measure products and fused pairs of some 60 sizes, fit their times, and keep them. Takes half a minute.

    Everything is measured in several rounds, and the least of each taken, so that a moment in which the machine did
    something else does not speak against one of the two. The array library uses threads of its own.
    """
    if dtype not in DTYPES:
        raise UsageError(f"fused products compute in {' or '.join(DTYPES)}, got {dtype!r}")
    rounds = [_round(dtype, threads, how) for _ in range(_ROUNDS)]
    fits = [fit(_quietest(samples)) for samples in zip(*rounds, strict=True)]
    times = HostTimes(
        single=fits[0][0],
        left=fits[1][0],
        right=fits[2][0],
        itemsize=np.dtype(dtype).itemsize,
        source="measured",
        spread=max(each[1] for each in fits),
    )
    cache.save_text(store.directory(), _key(dtype, threads), json.dumps(dataclasses.asdict(times)))
    return times


def _key(dtype: str, threads: int) -> str:
    return f"chain-times-{fingerprint(_VERSION, dtype, threads, cpu_features(), compiler_identity(), np.__version__)}"


Sample = tuple[tuple[float, ...], float]


def _round(dtype: str, threads: int, how: Blocking) -> tuple[list[Sample], list[Sample], list[Sample]]:
    """Measure every product, every left and every right fusion once."""
    rng = np.random.default_rng(0)
    single = [_single(rng, p, dtype) for p in _SINGLE]
    time.sleep(_PAUSE)
    left, right = ([_fused(rng, p, dtype, fusion, threads, how) for p in _FUSED] for fusion in ("left", "right"))
    return single, left, right


def _quietest(rounds: Sequence[Sequence[Sample]]) -> list[Sample]:
    """Return every sample with the least seconds of its rounds."""
    return [min(samples, key=lambda sample: sample[1]) for samples in zip(*rounds, strict=True)]


def _single(rng: np.random.Generator, p: tuple[int, int, int], dtype: str) -> Sample:
    left, right = (rng.standard_normal(p[i : i + 2]).astype(dtype) for i in (0, 1))
    return _row("none", p, (1, 1), left.itemsize), _timed(lambda: left @ right)


def _fused(
    rng: np.random.Generator, p: tuple[int, ...], dtype: str, fusion: str, threads: int, how: Blocking
) -> Sample:
    four = p if fusion == "left" else p[::-1]
    a1, a2, a3 = (rng.standard_normal(four[i : i + 2]).astype(dtype) for i in (0, 1, 2))
    tile = kernel_tile(fusion, (four[0], four[1], four[2], four[3]), a1.itemsize, threads)
    return _row(fusion, four, tile, a1.itemsize), _timed(
        lambda: fused_product(fusion, (a1, a2, a3), tile, threads, how)
    )


def kernel_tile(fusion: str, p: tuple[int, int, int, int], itemsize: int, threads: int) -> tuple[int, int]:
    """Return the tile that a fused kernel runs with here: the least words for the memory of a core."""
    a, u, b, v, _ = (np.array([float(term)]) for term in terms(fusion, p))
    _, x, y = least(a, u, b, v, memory_words(itemsize))
    return block_sizes(fusion, p, (int(x[0]), int(y[0])), threads)


def _row(fusion: str, p: tuple[int, ...], tile: tuple[int, int], itemsize: int) -> tuple[float, ...]:
    columns = [np.array([float(size)]) for size in (*p, *tile)]
    row = host_terms(fusion, columns[:-2], (columns[-2], columns[-1]), itemsize)
    return tuple(float(term[0]) for term in row)


def _timed(call: Callable[[], Array]) -> float:
    """Return the least seconds of a call, after one that warms up: what it takes undisturbed."""
    begin = time.perf_counter()
    call()
    count = max(1, min(100, int(_SHORTEST / max(time.perf_counter() - begin, 1e-7))))
    samples = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        samples.append((time.perf_counter() - begin) / count)
    return min(samples)
