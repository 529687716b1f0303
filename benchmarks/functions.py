"""Functions in stencils: each beside NumPy's own loop, and three stencils with neighbours beside Numba and OpenCV.

    python benchmarks/functions.py [--repetitions 9] [--output FILE.json]

Every function is applied to each cell of a grid that stays in L2, many times: whole runs of ``tw.run``, which also move
the grid and bring the values back where the function is defined, on one thread and on all. NumPy applies the function
alone, to a part that stays in L1 and into an array that is there (``out=``), on one thread as it always does.
Contenders take turns. The three stencils are reaction and diffusion with an exponential, a bilateral filter over a disc
of radius 2 (as OpenCV's with ``d=5``) and a cellular network of tanh; results are compared, and a wrong one ends the
run with status 1.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import environment
import summary
import tilewright as tw

SHAPE, STEPS, CHUNK, PAUSE = (256, 512), 100, 4096, 0.004
FUNCTIONS: dict[str, tuple[Callable[..., object], Callable[..., object]]] = {
    "exp": (lambda u: tw.exp(-u[0, 0]), lambda x, out: np.exp(x, out=out)),
    "log": (lambda u: tw.log(u[0, 0] + 1.9), lambda x, out: np.log(x, out=out)),
    "sin": (lambda u: tw.sin(u[0, 0] + 0.5), lambda x, out: np.sin(x, out=out)),
    "cos": (lambda u: tw.cos(u[0, 0]), lambda x, out: np.cos(x, out=out)),
    "tan": (lambda u: tw.tan(u[0, 0] * 0.5), lambda x, out: np.tan(x, out=out)),
    "tanh": (lambda u: tw.tanh(u[0, 0] + 0.1), lambda x, out: np.tanh(x, out=out)),
    "atan2": (lambda u: tw.atan2(u[0, 0], u[0, 0] + 0.3), lambda x, out: np.arctan2(x, x, out=out)),
    "pow 2.3": (lambda u: (0.9 * u[0, 0] + 0.05) ** 2.3, lambda x, out: np.power(x, x.dtype.type(2.3), out=out)),
    "pow -1": (lambda u: (u[0, 0] + 1.0) ** -1, lambda x, out: np.power(x, x.dtype.type(-1), out=out)),
    "pow 0.5": (lambda u: (u[0, 0] + 0.1) ** 0.5, lambda x, out: np.power(x, x.dtype.type(0.5), out=out)),
    "pow 1.5": (lambda u: (0.9 * u[0, 0] + 0.05) ** 1.5, lambda x, out: np.power(x, x.dtype.type(1.5), out=out)),
    "pow 3": (lambda u: (0.9 * u[0, 0] + 0.05) ** 3, lambda x, out: np.power(x, x.dtype.type(3), out=out)),
    "sqrt": (lambda u: tw.sqrt(u[0, 0] + 0.1), lambda x, out: np.sqrt(x, out=out)),
}


def in_turns(calls: dict[str, Callable[[], object]], repetitions: int) -> dict[str, list[float]]:
    """Time every call in turn, the first round not counted."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for repetition in range(repetitions + 1):
        for name, call in calls.items():
            time.sleep(PAUSE)
            begin = time.perf_counter()
            call()
            if repetition:
                samples[name].append(time.perf_counter() - begin)
    return samples


def repeat(loop: Callable[..., object], part: object, out: object, turns: int) -> None:
    for _ in range(turns):
        loop(part, out)


def functions(repetitions: int, counts: Sequence[int], names: Sequence[str]) -> dict[str, object]:
    """Nanoseconds of a function, and how many times as fast as NumPy each number of threads is."""
    record: dict[str, object] = {}
    rng = np.random.default_rng(1)
    for name in names:
        for dtype in ("float32", "float64"):
            body, loop = FUNCTIONS[name]
            program = tw.stencil(body)
            u = rng.uniform(0.1, 0.9, SHAPE).astype(dtype)
            part = rng.uniform(0.1, 0.9, CHUNK).astype(dtype)
            out, result = np.empty_like(part), np.empty_like(u)
            turns = u.size * STEPS // CHUNK

            calls: dict[str, Callable[[], object]] = {
                "numpy": lambda f=loop, x=part, y=out, n=turns: repeat(f, x, y, n)
            }
            for count in counts:
                calls[f"{count}"] = lambda p=program, u=u, r=result, c=count: tw.run(
                    p, u, steps=STEPS, boundary="wrap", threads=c, out=r
                )
            samples = in_turns(calls, repetitions)
            each = {key: min(values) / u.size / STEPS * 1e9 for key, values in samples.items()}
            ratios = {str(count): summary.paired_ratio(samples[str(count)], samples["numpy"]) for count in counts}
            record[f"{name} {dtype}"] = {"nanoseconds": each, "numpy_over_ours": ratios}
            told = "  ".join(f"{count}: {ratios[str(count)]['median']:6.2f}" for count in counts)
            print(f"{name:8} {dtype}  numpy {each['numpy']:6.3f} ns  numpy / ours, by threads  {told}", flush=True)
    return record


def reaction(u, v, k):  # noqa: ANN001, ANN201
    """Reaction and diffusion whose rate grows with the temperature u."""

    def laplacian(w):  # noqa: ANN001, ANN202
        return w[-1, 0] + w[1, 0] + w[0, -1] + w[0, 1] - 4 * w[0, 0]

    rate = k * v[0, 0] * tw.exp(-1.0 / (u[0, 0] + 0.2))
    return u[0, 0] + 0.15 * laplacian(u) + rate, v[0, 0] + 0.1 * laplacian(v) - rate


DISC = [(i, j) for i in range(-2, 3) for j in range(-2, 3) if i * i + j * j <= 4]
COLOUR, SPACE = 0.2, 1.5


def bilateral(u):  # noqa: ANN001, ANN201
    """A bilateral filter over a disc."""
    total = weights = 0.0
    for i, j in DISC:
        away = u[i, j] - u[0, 0]
        weight = tw.exp(away * away * (-0.5 / COLOUR**2)) * float(np.exp(-0.5 * (i * i + j * j) / SPACE**2))
        total, weights = total + weight * u[i, j], weights + weight
    return total / weights


def network(u):  # noqa: ANN001, ANN201
    """A cellular neural network."""
    near = u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1]
    return 0.9 * u[0, 0] + 0.1 * tw.tanh(1.2 * u[0, 0] - 0.2 * near + 0.05)


def numba_steps() -> dict[str, Callable[..., object]]:
    """The same in Numba, as its users write it; nothing where it is missing."""
    try:
        import numba
    except ImportError:
        print("numba is not installed: pip install numba", file=sys.stderr)
        return {}

    @numba.njit(parallel=True, fastmath=True)
    def react(u, v, p, q, k, steps):  # noqa: ANN001, ANN202
        for _ in range(steps):
            for i in numba.prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    a, b = u[i, j], v[i, j]
                    rate = k * b * np.exp(np.float32(-1) / (a + np.float32(0.2)))
                    f = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - np.float32(4) * a
                    g = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - np.float32(4) * b
                    p[i, j] = a + np.float32(0.15) * f + rate
                    q[i, j] = b + np.float32(0.1) * g - rate
            u, p, v, q = p, u, q, v
        return u, v

    @numba.njit(parallel=True, fastmath=True)
    def net(u, p, steps):  # noqa: ANN001, ANN202
        for _ in range(steps):
            for i in numba.prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    near = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    inner = np.float32(1.2) * u[i, j] - np.float32(0.2) * near + np.float32(0.05)
                    p[i, j] = np.float32(0.9) * u[i, j] + np.float32(0.1) * np.tanh(inner)
            u, p = p, u
        return u

    return {"reaction": react, "network": net, "threads": numba.set_num_threads}


def stencils(repetitions: int, counts: Sequence[int], side: int, steps: int) -> tuple[dict[str, object], bool]:
    """Whole runs of the three stencils beside Numba or OpenCV."""
    import cv2

    rng = np.random.default_rng(2)
    u, v = (rng.random((side, side)).astype(np.float32) for _ in range(2))
    numba = numba_steps()
    record: dict[str, object] = {}
    good = True
    programs = {each.__name__: tw.stencil(each) for each in (reaction, bilateral, network)}
    for name, program in programs.items():
        for count in counts:
            cv2.setNumThreads(count)
            if name == "reaction":
                ours = lambda p=program, c=count: tw.run(p, u, v, steps=steps, k=np.float32(0.1), threads=c)  # noqa: E731
                rival = numba and (
                    lambda: numba["reaction"](u.copy(), v.copy(), u.copy(), v.copy(), np.float32(0.1), steps)
                )
            elif name == "network":
                ours = lambda p=program, c=count: tw.run(p, u, steps=steps, threads=c)  # noqa: E731
                rival = numba and (lambda: numba["network"](u.copy(), u.copy(), steps))
            else:
                ours = lambda p=program, c=count: tw.run(p, u, steps=1, boundary="mirror", threads=c)  # noqa: E731
                rival = lambda: cv2.bilateralFilter(u, 5, COLOUR, SPACE, borderType=cv2.BORDER_REFLECT_101)  # noqa: E731
            if not rival:
                continue
            if numba:
                numba["threads"](count)
            difference = float(np.abs(np.asarray(ours()) - np.asarray(rival())).max())
            if difference > (3e-3 if name == "bilateral" else 1e-4):  # OpenCV reads its weights from a table
                print(f"WRONG: {name} differs by {difference}", file=sys.stderr)
                good = False
            samples = in_turns({"ours": ours, "rival": rival}, repetitions)
            ratio = summary.paired_ratio(samples["ours"], samples["rival"])
            record[f"{name} {count}"] = {"seconds": samples, "rival_over_ours": ratio, "difference": difference}
            print(f"{name:10} {count} thread{'s' * (count > 1)}  rival / ours {ratio['median']:.2f}", flush=True)
    return record, good


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--functions", nargs="*", default=list(FUNCTIONS), choices=list(FUNCTIONS))
    parser.add_argument("--quick", action="store_true", help="small grids, 2 repetitions: figures mean nothing")
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    chosen = parser.parse_args(arguments)
    repetitions, side, steps = (2, 200, 4) if chosen.quick else (chosen.repetitions, 2000, 50)
    counts = sorted({1, environment.cores()})
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    record = {"environment": environment.describe(counts[-1])}
    record["functions"] = functions(repetitions, counts, chosen.functions)
    record["stencils"], good = stencils(repetitions, counts, side, steps)
    if chosen.output:
        chosen.output.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
