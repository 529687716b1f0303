"""What a machine allows any stencil: multiply-adds per second, and bytes that copies move, by all cores.

    python benchmarks/limits.py [--threads 2] [--output results/limits.json]

Twelve independent chains of fused multiply-adds of whole vectors stay in registers; copies of 256 MiB are written
around the caches (where the processor is no x86, as ``memcpy`` does it). The best of several turns counts, taken
alternately: these are limits. ``picture.py`` draws them, divided by a program's products and by the bytes of a cell.
"""

import argparse
import ctypes
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import environment
from tilewright.runtime.toolchains.cpu import compile_shared, target_cpu, toolchain

CHAINS = 12
TURNS = 40_000_000
BYTES, LINE = 2**28, 64
REPETITIONS = 7
_REGISTER = "w" if platform.machine() in {"aarch64", "arm64"} else "x"
"""Letter by which GNU's inline assembly asks for a vector register."""
TEXT = """
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif
void copied(char *to, const char *from, long bytes) {{
#ifdef __SSE2__
  for (long i = 0; i < bytes; i += 16)
    _mm_stream_si128((__m128i *)(to + i), _mm_load_si128((const __m128i *)(from + i)));
#else
  memcpy(to, from, bytes);
#endif
}}
typedef {real} vector __attribute__((vector_size({width})));
{real} chains(long turns) {{
  vector x = (vector){{}} + ({real})0.999, y = (vector){{}} + ({real})1e-4;
  vector {declared};
  for (long turn = 0; turn < turns; ++turn) {{
{products}
    __asm__ volatile("" : {kept});
  }}
  return ({sum})[0];
}}
"""


def compiled(real: str, width: int, folder: Path) -> ctypes.CDLL:
    """Compile the chains of a type, and copies; vectors have so many bytes."""
    names = [f"a{number}" for number in range(CHAINS)]
    text = TEXT.format(
        real=real,
        width=width,
        declared=", ".join(f"{name} = x * ({real}){number}" for number, name in enumerate(names)),
        products="\n".join(f"    {name} = {name} * x + y;" for name in names),
        kept=", ".join(f'"+{_REGISTER}"({name})' for name in names),
        sum=" + ".join(names),
    )
    path = folder / f"{real}.so"
    path.write_bytes(compile_shared(toolchain(), text, strict=False, options=("-ffp-contract=fast",)))
    found = ctypes.CDLL(str(path))
    found.chains.argtypes, found.chains.restype = [ctypes.c_long], getattr(ctypes, f"c_{real}")
    found.copied.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return found


def seconds(work: Callable[[int], object], pool: ThreadPoolExecutor, threads: int) -> float:
    """Seconds until every thread has done its work, which is given the thread's number."""
    begin = time.perf_counter()
    list(pool.map(work, range(threads)))
    return time.perf_counter() - begin


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    chosen = parser.parse_args(argv)
    threads, width = chosen.threads, target_cpu().simd_bits // 8
    record: dict[str, Any] = {"environment": environment.describe(threads), "vector_bytes": width}
    part = BYTES // threads // LINE * LINE  # copies move whole vectors, from multiples of them on
    source, target = np.ones((threads, part), np.uint8), np.zeros((threads, part), np.uint8)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(threads) as pool:
        single, double = (compiled(real, width, Path(folder)) for real in ("float", "double"))
        work: dict[str, Callable[[int], object]] = {
            "float32": lambda _: single.chains(TURNS),
            "float64": lambda _: double.chains(TURNS),
            "copies": lambda one: single.copied(target[one].ctypes.data, source[one].ctypes.data, part),
        }
        samples: dict[str, list[float]] = {name: [] for name in work}
        for _ in range(REPETITIONS):
            for name, each in work.items():
                samples[name].append(seconds(each, pool, threads))
    for name, itemsize in (("float32", 4), ("float64", 8)):
        rate = threads * TURNS * CHAINS * (width // itemsize) / min(samples[name])
        record[name] = {"multiply_adds_per_second": rate, "seconds": samples[name]}
        print(f"{name}: {rate / 1e9:.1f} G multiply-adds/s")
    rate = 2 * source.nbytes / min(samples["copies"])
    record["copies"] = {"bytes_per_second": rate, "seconds": samples["copies"]}
    print(f"copies: {rate / 1e9:.1f} GB/s, in and out together")
    if chosen.output:
        chosen.output.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
