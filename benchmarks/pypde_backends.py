"""py-pde's explicit Euler runs: its own backends beside the one of ``examples/pypde_backend.py``, interleaved.

    python benchmarks/pypde_backends.py [--extent 512] [--steps 400] [--rounds 5]

The first solution of every backend is not counted; results are compared. py-pde's backend ``numba`` compiles its steps
anew in every solution, which counts: more steps show less of it. Needs ``py-pde``.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pde

sys.path.append(str(Path(__file__).parents[1] / "examples"))
import pypde_backend  # noqa: F401  (registers the backend)


def main() -> None:
    """Print the median seconds of every backend, and how far results lie from each other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--extent", type=int, default=512)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    grid = pde.CartesianGrid([[0, 10], [0, 10]], [asked.extent] * 2, periodic=[False, True])
    state = pde.ScalarField(grid, np.random.default_rng(0).random(grid.shape))
    equation = pde.DiffusionPDE(0.1, bc={"x-": {"value": 1}, "x+": {"derivative": 0.5}, "y": "periodic"})
    step = 0.2 * (10 / asked.extent) ** 2 / 0.1
    options = {"dt": step, "solver": "euler", "adaptive": False, "tracker": None}
    backends, times, results = ("numba", "tilewright"), {}, {}
    for turn in range(asked.rounds + 1):
        for backend in backends:
            begin = time.perf_counter()
            results[backend] = equation.solve(state, t_range=step * asked.steps, backend=backend, **options).data
            if turn:
                times.setdefault(backend, []).append(time.perf_counter() - begin)
    worst = float(np.abs(results["numba"] - results["tilewright"]).max())
    for backend, found in times.items():
        print(f"{backend}: {statistics.median(found):.4f} s, of {', '.join(f'{each:.4f}' for each in found)}")
    print(f"largest difference {worst:.3g}")


if __name__ == "__main__":
    main()
