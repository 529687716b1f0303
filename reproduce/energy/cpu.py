"""Micro-benchmarks of single operations for power meters, as small C functions that all threads run.

Every function has the signature of a kernel, ``(field, size, scalar, constant)``, and does one operation over and over:
operands stay in registers and are new to the compiler again and again, every result is asked for, so that nothing can
be left out or merged. 128 vector operations stand between two turns of a loop.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from energy.estimates import WATTS, MeterWindow, benchmarks
from tilewright.base.errors import UsageError
from tilewright.base.intmath import round_up
from tilewright.codegen.source import c_source
from tilewright.machines.machine import Machine
from tilewright.runtime.calibration.micro import enough
from tilewright.runtime.call import CompiledFunction, functions
from tilewright.runtime.host import available_bytes
from tilewright.runtime.memory import Array, allocate
from tilewright.runtime.power import EnergyMeter
from tilewright.runtime.toolchains.cpu import Toolchain

_HEAD = """#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define TW_BYTES 64
#define TW_MAX(a, b) ((tw_i)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__)
#include <immintrin.h>
#define TW_BYTES 32
#define TW_MAX(a, b) ((tw_i)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#elif defined(__SSE4_1__)
#include <immintrin.h>
#define TW_BYTES 16
#define TW_MAX(a, b) ((tw_i)_mm_max_epi32((__m128i)(a), (__m128i)(b)))
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#define TW_BYTES 16
#define TW_MAX(a, b) ((tw_i)vmaxq_s32((int32x4_t)(a), (int32x4_t)(b)))
#else
#define TW_BYTES 16
#define TW_MAX(a, b) (((a) & ((a) > (b))) | ((b) & ~((a) > (b))))
#endif
#if defined(__x86_64__)
#define TW_REGISTER "x"
#define TW_REST __asm__ volatile("pause")
#elif defined(__aarch64__)
#define TW_REGISTER "w"
#define TW_REST __asm__ volatile("isb")
#else
#error "single operations are metered on x86-64 and AArch64"
#endif
#define TW_VALUES ((int64_t)(TW_BYTES / 4))
typedef float tw_f __attribute__((vector_size(TW_BYTES), may_alias));
typedef int32_t tw_i __attribute__((vector_size(TW_BYTES), may_alias));
#define TW_FADD(a, b) ((a) + (b))
#define TW_FMUL(a, b) ((a) * (b))
#define TW_FDIV(a, b) ((a) / (b))
#define TW_IADD(a, b) ((a) + (b))
#define TW_RENEW(k) __asm__ volatile("" : "+" TW_REGISTER(k[0]), "+" TW_REGISTER(k[1]), "+" TW_REGISTER(k[2]), \\
  "+" TW_REGISTER(k[3]), "+" TW_REGISTER(k[4]), "+" TW_REGISTER(k[5]), "+" TW_REGISTER(k[6]), "+" TW_REGISTER(k[7]))
#define TW_ONE(T, OP, a, b) { T r = OP(a, b); __asm__ volatile("" : : TW_REGISTER(r)); }
#define TW_EIGHT(T, OP) TW_RENEW(k); \\
  TW_ONE(T, OP, k[0], k[1]) TW_ONE(T, OP, k[2], k[3]) TW_ONE(T, OP, k[4], k[5]) TW_ONE(T, OP, k[6], k[7]) \\
  TW_ONE(T, OP, k[1], k[2]) TW_ONE(T, OP, k[3], k[4]) TW_ONE(T, OP, k[5], k[6]) TW_ONE(T, OP, k[7], k[0])
#define TW_FOUR_TIMES(X) X X X X
#define TW_KERNEL(NAME) void NAME(float **field, const int64_t *size, const float *scalar, const float **constant)

/* size: values per thread, threads, repetitions, distance of the threads' parts */
TW_KERNEL(tw_energy_awake) {
  const int64_t threads = size[1], turns = size[0] * size[2];
  (void)field; (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t i = 0; i < turns; ++i) TW_REST;
}

TW_KERNEL(tw_energy_load) {
  const int64_t values = size[0], threads = size[1], repeats = size[2], apart = size[3];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t n = 0; n < repeats; ++n) {
      const float *from = field[0] + t * apart;
      for (int64_t i = 0; i < values; i += 64 * TW_VALUES)
#pragma GCC unroll 64
        for (int64_t j = 0; j < 64; ++j) {
          tw_f r = *(const tw_f *)(from + i + j * TW_VALUES);
          __asm__ volatile("" : : TW_REGISTER(r) : "memory");
        }
    }
}
"""
_OPERATION = """
TW_KERNEL(tw_energy_NAME) {
  const int64_t values = size[0], threads = size[1], repeats = size[2];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t) {
    TYPE k[8];
    for (int64_t j = 0; j < 8; ++j) k[j] = *(const TYPE *)(field[0] + j * TW_VALUES);
    for (int64_t i = 0; i < values * repeats; i += 128 * TW_VALUES) {
      TW_FOUR_TIMES(TW_FOUR_TIMES(TW_EIGHT(TYPE, HOW)))
    }
  }
}
"""
_ARITHMETIC = {
    "add": ("tw_f", "TW_FADD"),
    "multiply": ("tw_f", "TW_FMUL"),
    "int_add": ("tw_i", "TW_IADD"),
    "int_max": ("tw_i", "TW_MAX"),
    "divide": ("tw_f", "TW_FDIV"),
}
_LOADS = ("l1", "l2", "memory")
_VALUES = 2048
"""Every number of values is a multiple: 128 vectors of the longest kind."""
_APART = 1024
_CALL_SECONDS = 0.02
_TRIALS = 5
_SLEEP = 0.005
_LEAST_STREAM, _MOST_STREAM = 2**26, 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBenchmark:
    """One benchmark, ready to run.

    Attributes:
        call: Runs it once, for some hundredths of a second.
        operations: Operations of a call, counted per value; 0 where there are none.
    """

    call: Callable[[], object]
    operations: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How benchmarks take turns.

    Attributes:
        window: Seconds of a window, at least.
        rounds: Number of rounds.
        cool: Seconds of rest before each benchmark, so that the heat of the last one is gone.
        warm: Seconds that a benchmark runs before its window, once at least: it warms caches and clocks, and sensors
            that show the mean of the last second have forgotten what was before.
    """

    window: float
    rounds: int
    cool: float
    warm: float = 0.0


def text() -> str:
    """Return the C unit of all benchmarks."""
    return _HEAD + "".join(
        _OPERATION.replace("NAME", name).replace("TYPE", kind).replace("HOW", how)
        for name, (kind, how) in _ARITHMETIC.items()
    )


def prepare(machine: Machine, tools: Toolchain, threads: int) -> dict[str, MicroBenchmark]:
    """Compile the benchmarks and make their data.

    Args:
        machine: The processor, for the sizes of its caches.
        tools: The compiler.
        threads: Threads that work at the same time, each on its own data.

    Returns:
        Every benchmark by name.

    Raises:
        ToolchainError: If they do not compile.
        ArrayError: If there is not enough memory.
    """
    entries = (f"tw_energy_{name}" for name in ("awake", "load", *_ARITHMETIC))
    awake, load, *arithmetic = functions(c_source(text(), *entries, strict=True), tools)
    sizes = dict(zip(_LOADS, _load_bytes(machine, threads), strict=True))
    apart = round_up(max(sizes.values()) // 4, _VALUES) + _APART
    data = allocate(4 * apart * threads).view(np.float32)
    data[:] = np.resize(np.random.default_rng(1).uniform(0.5, 2.0, 2**16 + 1).astype(np.float32), data.size)
    works = {"idle": MicroBenchmark(call=partial(time.sleep, _SLEEP), operations=0.0)}
    works["awake"] = _work(awake, data, (_VALUES, threads, 0), counts=False)
    for name, compiled in zip(_ARITHMETIC, arithmetic, strict=True):
        works[name] = _work(compiled, data, (_VALUES, threads, 0))
    for name, size in sizes.items():
        works[name] = _work(load, data, (max(1, size // 4 // _VALUES) * _VALUES, threads, apart))
    return {name: works[name] for name in benchmarks("cpu")}


def run_rounds(
    works: Mapping[str, MicroBenchmark],
    meter: EnergyMeter | None,
    pace: Pace,
    *,
    clock: Callable[[], float] = time.time,
) -> tuple[MeterWindow, ...]:
    """Run all benchmarks in turn, round after round, each until its window is full.

    Args:
        works: The benchmarks by name.
        meter: The meter, or None where an outer one records.
        pace: How long each runs and rests.
        clock: Returns seconds; those since 1970 by default, which a recording meter knows too.

    Returns:
        The windows, without joules where there is no meter.

    Raises:
        UsageError: If the meter stood still.
    """
    found = []
    for number in range(pace.rounds):
        for name, work in works.items():
            time.sleep(pace.cool)
            begin = clock()
            work.call()
            while clock() - begin < pace.warm:
                work.call()
            before, start, calls = meter.joules() if meter else 0.0, clock(), 0
            while (now := clock()) - start < pace.window:
                work.call()
                calls += 1
            joules = meter.joules() - before if meter else None
            if joules is not None and joules <= 0:
                hint = "take a longer window"
                raise UsageError(f"the meter stood still while {name!r} ran for {now - start:g} s", hint)
            operations = calls * work.operations if name not in WATTS.values() else 0.0
            each = MeterWindow(
                round=number, benchmark=name, start=start, end=now, operations=operations, joules=joules
            )  # fmt: skip
            found.append(each)
    return tuple(found)


def _work(
    compiled: CompiledFunction, data: Array, sizes: tuple[int, int, int], *, counts: bool = True
) -> MicroBenchmark:
    """Bind a benchmark to its data, repeated inside so often that a call takes some hundredths of a second."""
    values, threads, apart = sizes

    def run(repeats: int) -> float:
        begin = time.perf_counter()
        compiled((data,), (values, threads, repeats, apart))
        return time.perf_counter() - begin

    # The least of some: one that waited for another process would make calls so short that they only start threads.
    repeats = enough(lambda count: min(run(count) for _ in range(_TRIALS)), _CALL_SECONDS)
    return MicroBenchmark(call=partial(run, repeats), operations=float(values * threads * repeats) if counts else 0.0)


def _load_bytes(machine: Machine, threads: int) -> tuple[int, int, int]:
    """Bytes per thread that fit L1, that fit L2 but not L1, and that no cache keeps."""
    first = int(machine.l1_bytes.value) if machine.l1_bytes else 2**15
    second = int(machine.shared_bytes.value)
    last = int(machine.l3_bytes.value) if machine.l3_bytes else 0
    stream = max(_LEAST_STREAM, min(4 * last, _MOST_STREAM) // threads)
    room = available_bytes()
    stream = stream if room is None else max(2**20, min(stream, room // (4 * threads)))
    return first // 2, max(first, second // 2), stream
