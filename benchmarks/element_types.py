"""Stencils of complex numbers against loops of NumPy and Numba, and fields of 16 bits against those of 32.

python benchmarks/element_types.py [--quick] [--output FILE] [--size 2048] [--steps 50] [--rounds 9]

All contenders advance the same periodic grid in one process, in turns, so that what disturbs the machine disturbs all
of them; every result is compared with NumPy's first. NumPy's loop adds rolled arrays, Numba's is a parallel loop over
rows with as many threads as ours has. A run is whole: ours makes a new array, the others copy the first one.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import environment
import tilewright as tw
from tilewright.base.dtypes import limits, numpy_type

Array = npt.NDArray[Any]
_PAUSE = 0.02
"""Seconds between turns, in which the threads of the one before go to sleep."""


@tw.stencil
def heat(u: Any) -> Any:  # noqa: ANN401
    """Heat with real weights."""
    return 0.5 * u[0, 0] + 0.125 * (u[0, 1] + u[0, -1] + u[1, 0] + u[-1, 0])


@tw.stencil
def schroedinger(u: Any) -> Any:  # noqa: ANN401
    """A step of a free particle, damped so that it is stable: complex weights."""
    return (0.7 - 0.2j) * u[0, 0] + 0.05j * (u[0, 1] + u[0, -1] + u[1, 0] + u[-1, 0])


@tw.stencil
def condensate(u: Any) -> Any:  # noqa: ANN401
    """The same with a potential of |u|^2, as Gross and Pitaevskii have it."""
    size = (u[0, 0] * u[0, 0].conj()).real
    return (0.7 - 0.2j) * u[0, 0] + 0.05j * (u[0, 1] + u[0, -1] + u[1, 0] + u[-1, 0] - size * u[0, 0])


def roll_heat(u: Array, real: Callable[[float], Any]) -> Array:
    """One step with NumPy."""
    return real(0.5) * u + real(0.125) * (np.roll(u, -1, 1) + np.roll(u, 1, 1) + np.roll(u, -1, 0) + np.roll(u, 1, 0))


def roll_schroedinger(u: Array, _: Callable[[float], Any]) -> Array:
    """One step with NumPy."""
    return (0.7 - 0.2j) * u + 0.05j * (np.roll(u, -1, 1) + np.roll(u, 1, 1) + np.roll(u, -1, 0) + np.roll(u, 1, 0))


def roll_condensate(u: Array, _: Callable[[float], Any]) -> Array:
    """One step with NumPy."""
    around = np.roll(u, -1, 1) + np.roll(u, 1, 1) + np.roll(u, -1, 0) + np.roll(u, 1, 0)
    return (0.7 - 0.2j) * u + 0.05j * (around - (u * u.conj()).real * u)


def looped(cell: Callable[..., Any]) -> Callable[..., Array]:
    """Return a parallel loop over rows with a time loop around it; the first and the last cell wrap around."""
    inner = numba.njit(cell, fastmath=True, inline="always")

    @numba.njit(parallel=True, fastmath=True)
    def run(u: Array, v: Array, steps: int) -> Array:
        n, m = u.shape
        for _ in range(steps):
            for i in numba.prange(n):
                up, here, down = u[(i - 1) % n], u[i], u[(i + 1) % n]
                v[i, 0] = inner(here[0], here[1], here[m - 1], down[0], up[0])
                for j in range(1, m - 1):
                    v[i, j] = inner(here[j], here[j + 1], here[j - 1], down[j], up[j])
                v[i, m - 1] = inner(here[m - 1], here[0], here[m - 2], down[m - 1], up[m - 1])
            u, v = v, u
        return u

    return run


def cells(dtype: str) -> dict[str, Callable[..., Any]]:
    """Return the programs for Numba, their constants of the fields' type."""
    kind = np.dtype(dtype).type
    real = (np.float32, np.float64)[dtype == "complex128"]
    half, eighth = real(0.5), real(0.125)
    centre, side = kind(0.7 - 0.2j), kind(0.05j)

    def heat_cell(u, e, w, s, n):  # noqa: ANN001, ANN202
        return half * u + eighth * (e + w + s + n)

    def schroedinger_cell(u, e, w, s, n):  # noqa: ANN001, ANN202
        return centre * u + side * (e + w + s + n)

    def condensate_cell(u, e, w, s, n):  # noqa: ANN001, ANN202
        return centre * u + side * (e + w + s + n - (u.real * u.real + u.imag * u.imag) * u)

    return {"heat": heat_cell, "schroedinger": schroedinger_cell, "condensate": condensate_cell}


@dataclass
class Case:
    """One program of one type: everyone's samples, in seconds."""

    program: str
    dtype: str
    samples: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, rival: str) -> tuple[float, float, float]:
        """Return the rival's time over ours: the median of the rounds' ratios, and their quartiles."""
        pairs = [b / a for a, b in zip(self.samples["tilewright"], self.samples[rival], strict=True)]
        low, middle, high = statistics.quantiles(pairs, n=4)
        return middle, low, high


def complex_case(name: str, dtype: str, size: int, steps: int, rounds: int) -> Case:
    """Measure a program of complex numbers."""
    ours = {"heat": heat, "schroedinger": schroedinger, "condensate": condensate}[name]
    roll = {"heat": roll_heat, "schroedinger": roll_schroedinger, "condensate": roll_condensate}[name]
    generator = np.random.default_rng(0)
    u = (generator.standard_normal((size, size)) + 1j * generator.standard_normal((size, size))).astype(dtype)
    u /= np.abs(u).max()
    loop, real = looped(cells(dtype)[name]), (np.float32, np.float64)[dtype == "complex128"]

    def with_numpy(count: int = steps) -> Array:
        now = u
        for _ in range(count):
            now = roll(now, real)
        return now

    def with_numba(count: int = steps) -> Array:
        return loop(u.copy(), np.empty_like(u), count)

    def with_tilewright(count: int = steps) -> Array:
        return tw.run(ours, u, steps=count, boundary="wrap")

    expected = with_numpy(5)
    for contender in (with_numba, with_tilewright):
        error = float(np.abs(contender(5) - expected).max())
        if not error <= 100 * float(limits(dtype).eps):
            raise RuntimeError(f"{contender.__name__} computes another {name}: off by {error}")
    few = max(1, steps // 10)  # NumPy's loop takes as long per step however many there are
    case = Case(name, dtype)
    calls = {"tilewright": (with_tilewright, steps), "numba": (with_numba, steps), "numpy": (with_numpy, few)}
    return take(case, calls, rounds)


def narrow_case(dtype: str, size: int, steps: int, rounds: int) -> Case:
    """Measure heat in a type of 16 bits beside the same in float32."""
    u = np.random.default_rng(0).random((size, size), dtype=np.float32)
    small = u.astype(numpy_type(dtype))

    def narrow(count: int = steps) -> Array:
        return tw.run(heat, small, steps=count, boundary="wrap")

    def wide(count: int = steps) -> Array:
        return tw.run(heat, u, steps=count, boundary="wrap")

    error = float(np.abs(narrow(2).astype(np.float32) - wide(2)).max())
    if not error <= 4 * float(limits(dtype).eps):
        raise RuntimeError(f"{dtype} and float32 differ by {error}")
    return take(Case("heat", dtype), {"tilewright": (narrow, steps), "float32": (wide, steps)}, rounds)


def take(case: Case, calls: dict[str, tuple[Callable[[int], Array], int]], rounds: int) -> Case:
    """Let everyone have a turn, as often as there are rounds; a first one warms up."""
    for number in range(rounds + 1):
        for name, (call, count) in calls.items():
            time.sleep(_PAUSE)
            begin = time.perf_counter()
            call(count)
            seconds = (time.perf_counter() - begin) / count
            if number:
                case.samples.setdefault(name, []).append(seconds)
    return case


def shown(case: Case) -> str:
    """Return a line on a case."""
    ours = statistics.median(case.samples["tilewright"])
    parts = [f"{case.program:<13}{case.dtype:<11}{1e3 * ours:8.2f} ms a step"]
    for rival in case.samples:
        if rival != "tilewright":
            middle, low, high = case.ratio(rival)
            parts.append(f"{rival} takes {middle:.2f} times as long ({low:.2f} to {high:.2f})")
    return ", ".join(parts)


def main() -> None:
    """Measure, print, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small grids: figures that mean nothing")
    parser.add_argument("--output", type=Path, help="keep the record in this file")
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    size, steps, rounds = (128, 10, 3) if given.quick else (given.size, given.steps, given.rounds)
    threads = int(os.environ.get("OMP_NUM_THREADS", environment.cores()))
    numba.set_num_threads(threads)
    cases = []
    for dtype in ("complex64", "complex128"):
        for name in ("heat", "schroedinger", "condensate"):
            cases.append(complex_case(name, dtype, size, steps, rounds))
            print(shown(cases[-1]), flush=True)
    for dtype in ("float16", "bfloat16"):
        cases.append(narrow_case(dtype, size, steps, rounds))
        print(shown(cases[-1]), flush=True)
    if given.output:
        record = {
            "environment": environment.describe(threads),
            "size": size,
            "steps": steps,
            "cases": [vars(case) for case in cases],
        }
        given.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
