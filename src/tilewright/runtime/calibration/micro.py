"""The micro-benchmarks of a CPU as small C units: bandwidth of memory and of caches, barrier, call, exponential.

Every function has the signature of a kernel, ``(field, size, scalar, constant)``, so that it is compiled, cached and
loaded like one. Copies count the bytes that a stencil's sweep moves: from memory what is read, what is written, and the
line that is fetched before it is written; from a cache what is read and written.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import WORD
from tilewright.codegen.print.c_prelude import helper, prelude
from tilewright.codegen.source import c_source
from tilewright.runtime.calibration.probes import Sampler
from tilewright.runtime.call import CompiledFunction, addresses, functions
from tilewright.runtime.memory import Array, allocate
from tilewright.runtime.toolchains.cpu import Toolchain

_TEXT = """#include <stdint.h>

#if defined(__AVX512F__)
#define TW_BYTES 64
#elif defined(__AVX__)
#define TW_BYTES 32
#else
#define TW_BYTES 16
#endif
#define TW_LANES ((int64_t)(TW_BYTES / sizeof(float)))
typedef float tw_v __attribute__((vector_size(TW_BYTES)));
typedef float tw_u __attribute__((vector_size(TW_BYTES), aligned(4), may_alias));

static void tw_micro_sweep(float *to, const float *from, int64_t count) {
  for (int64_t i = 0; i + 4 * TW_LANES <= count; i += 4 * TW_LANES)
    for (int64_t j = 0; j < 4; ++j)
      *(tw_u *)(to + i + j * TW_LANES) = 0.5f * *(const tw_u *)(from + i + j * TW_LANES);
}

/* size: elements per thread, threads, repetitions, distance of the threads' parts */
void tw_micro_copy(float **field, const int64_t *size, const float *scalar, const float **constant) {
  const int64_t count = size[0], threads = size[1], repeats = size[2], apart = size[3];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t r = 0; r < repeats; ++r) {
      tw_micro_sweep(field[1] + t * apart, field[0] + t * apart, count);
      __asm__ volatile("" ::: "memory");
    }
}

/* size: unused, threads, repetitions: what ends every wavefront of tiles */
void tw_micro_barrier(float **field, const int64_t *size, const float *scalar, const float **constant) {
  const int64_t threads = size[1], repeats = size[2];
  (void)field; (void)scalar; (void)constant;
#pragma omp parallel num_threads(threads)
  for (int64_t r = 0; r < repeats; ++r) {
#pragma omp for schedule(dynamic, 1)
    for (int64_t t = 0; t < threads; ++t) __asm__ volatile("" ::: "memory");
  }
}

/* size: unused, threads, repetitions: a team of threads that starts and ends */
void tw_micro_team(float **field, const int64_t *size, const float *scalar, const float **constant) {
  const int64_t threads = size[1], repeats = size[2];
  (void)field; (void)scalar; (void)constant;
  for (int64_t r = 0; r < repeats; ++r) {
#pragma omp parallel num_threads(threads)
    __asm__ volatile("" ::: "memory");
  }
}
"""
_FUNCTION = """
/* size: elements, unused, repetitions: exponentials of vectors */
void tw_micro_function(float **field, const int64_t *size, const float *scalar, const float **constant) {{
  (void)scalar; (void)constant;
  for (int64_t r = 0; r < size[2]; ++r) {{
    for (int64_t i = 0; i + TW_LANES_F32 <= size[0]; i += TW_LANES_F32)
      *(tw_u_f32 *)(field[1] + i) = {called}(*(const tw_u_f32 *)(field[0] + i));
    __asm__ volatile("" ::: "memory");
  }}
}}
"""
_FUNCTION_ELEMENTS = 2048
_SHORT_REPEATS, _SHORT_TIMINGS = 32, 24
_SLOW = 1e-3
_SHORTEST = 2e-4  # a timing takes at least this long, by repetition inside the call


@dataclass(frozen=True, slots=True, kw_only=True)
class Micro:
    """The compiled micro-benchmarks."""

    copy: CompiledFunction  # copies memory
    barrier: CompiledFunction  # meets in barriers
    team: CompiledFunction  # starts teams of threads
    function: CompiledFunction  # takes exponentials


def build(tools: Toolchain) -> Micro:
    """Compile the micro-benchmarks, or load them from the kernel cache."""
    copy, barrier, team = functions(c_source(_TEXT, "tw_micro_copy", "tw_micro_barrier", "tw_micro_team"), tools)
    text = prelude(["float32"], [("exp", "float32", True)])
    text += _FUNCTION.format(called=helper("exp", "float32", vector=True))
    (function,) = functions(c_source(text, "tw_micro_function"), tools)
    return Micro(copy=copy, barrier=barrier, team=team, function=function)


def bandwidth(micro: Micro, size: int, threads: int, *, cached: bool, shared: bool = True) -> Sampler:
    """Prepare copies, in bytes/s of all threads together or of one; ``size`` is one's source and target together."""
    elements = max(256, size // 2 // WORD // 256 * 256)
    apart = elements + 32 * 1024 if not cached else elements + 1024
    buffers = [allocate(apart * threads * WORD) for _ in range(2)]
    for buffer in buffers:
        buffer.view(np.float32)[:] = 1.0
    moved = elements * WORD * threads * (2 if cached else 3)  # else a line is fetched before it is written
    seconds = _repeated_seconds(micro.copy, buffers, (elements, threads, apart))
    among = 1 if shared else threads
    return lambda: moved / seconds() / among


def function_cycles(micro: Micro, lanes: float) -> Sampler:
    """Prepare exponentials of vectors in L1, in cycles of one; ``lanes`` are those of all cycles of a second."""
    buffers = [allocate(_FUNCTION_ELEMENTS * WORD) for _ in range(2)]
    buffers[0].view(np.float32)[:] = np.linspace(-3, 3, _FUNCTION_ELEMENTS)
    seconds = _repeated_seconds(micro.function, buffers, (_FUNCTION_ELEMENTS, 1, 0))
    return lambda: seconds() / _FUNCTION_ELEMENTS * lanes


def least_seconds(compiled: CompiledFunction, threads: int) -> Sampler:
    """Prepare what barriers or starts of teams take, in seconds of one."""

    def sample() -> float:
        # Threads that wait for one that lost its core to another process wait for the scheduler, a thousand times as
        # long.
        shortest = math.inf
        for _ in range(_SHORT_TIMINGS):
            shortest = min(shortest, _seconds(compiled, 0, (0, threads, _SHORT_REPEATS, 0)))
            if shortest > _SHORT_REPEATS * _SLOW:
                time.sleep(_SLOW)
        return shortest / _SHORT_REPEATS

    return sample


def _repeated_seconds(compiled: CompiledFunction, buffers: Sequence[Array], sizes: tuple[int, int, int]) -> Sampler:
    """Seconds per repetition, of as many as take long enough."""
    count, threads, apart = sizes

    def run(repeats: int) -> float:
        fields = addresses(buffers)
        return _seconds(compiled, fields.ctypes.data, (count, threads, repeats, apart))

    repeats = enough(run)
    return lambda: run(repeats) / repeats


def _seconds(compiled: CompiledFunction, fields: int, sizes: tuple[int, int, int, int]) -> float:
    size = np.array(sizes, dtype=np.int64)
    begin = time.perf_counter()
    compiled.function(fields, size.ctypes.data, 0, 0)
    return time.perf_counter() - begin


def enough(run: Callable[[int], float], shortest: float = _SHORTEST) -> int:
    """Return how often something must be repeated to take long enough to be timed; ``run`` returns seconds.

    >>> enough(lambda repeats: repeats * 1e-6, 1e-3) >= 1000
    True
    """
    run(1)
    repeats = 1
    while (seconds := run(repeats)) < shortest:
        repeats = max(2 * repeats, int(1.2 * repeats * shortest / max(seconds, 1e-9)))
        repeats = min(repeats, 1 << 26)
        if repeats == 1 << 26:
            break
    return repeats
