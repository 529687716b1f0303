"""Runs for the energy experiments: recorded ones from a file, or a synthetic trace that is labelled as such.

The thesis metered 298 runs of Smith-Waterman, 265 of Jacobi 1D and 125 of Jacobi 2D on a K20c and does not print them.
Without such a device the trace here is synthetic: amounts by the printed equations, constants by the regression of
table B.2, times by the time model (Jacobi 2D) or by a bound of arithmetic, bandwidth and wavefronts (the others), and
log-normal noise on the energy. What it can show is whether the method recovers what was put in, nothing about a device.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tilewright.costs import time as time_model
from tilewright.costs.arrays import ceil_div
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.price import price
from tilewright.costs.rates import iteration_seconds
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse
from tilewright.verbs.energy.runs import FitRun, read_runs, run_usage

COUNTS = {"smith_waterman": 298, "jacobi1d": 265, "jacobi2d": 125}
TRUTH, METERED = "k20c-regression", "k20c"
NOISE = 0.025
INSTANCES = 5


def runs(path: Path | None, seed: int = 0) -> tuple[tuple[FitRun, ...], str]:
    """Return the runs and a label that says where they come from."""
    if path is not None:
        return read_runs(path), f"recorded in {path.name}"
    return tuple(
        _synthetic(seed)
    ), f"SYNTHETIC: {TRUTH}'s constants with {100 * NOISE:g} % noise, no device was metered"


def _synthetic(seed: int) -> Iterator[FitRun]:
    random = np.random.default_rng(seed)
    truth = constants(load(TRUTH))
    for name, count in COUNTS.items():
        made: set[tuple[tuple[int, ...], str]] = set()
        while len(made) < count:
            shape, steps, tile = _case(name, random)
            if (shape, tile) in made:
                continue
            seconds = _seconds(name, shape, steps, tile)
            if seconds is None:
                continue
            made.add((shape, tile))
            run = FitRun(program=name, shape=shape, steps=steps, tiling=tile, seconds=seconds, joules=1.0)
            joules = price(run_usage(run, load(TRUTH)), truth).joules * math.exp(random.normal(0.0, NOISE))
            yield FitRun(program=name, shape=shape, steps=steps, tiling=tile, seconds=seconds, joules=joules)


def _case(name: str, random: np.random.Generator) -> tuple[tuple[int, ...], int, str]:
    size = int(random.integers(0, INSTANCES))
    if name == "jacobi2d":
        shape, steps = (2048 * (1 + size), 2048 * (1 + size)), 512
        t, s1, s2 = 2 * random.integers(1, 17), random.integers(1, 33), 32 * random.integers(1, 5)
        return shape, steps, f"hybrid:t={t},s={s1}x{s2}"
    t, s = 2 ** random.integers(4, 10), 2 ** random.integers(6, 12)
    sub = 2 ** random.integers(3, 7)
    if name == "jacobi1d":
        return (2 ** (20 + size),), 4096, f"skewed:t={t},s={s},sub={sub}"
    extent = 8192 * (1 + size)
    return (extent, extent), 1, f"orthogonal:t={t},s={s},sub={sub}"


def _seconds(name: str, shape: tuple[int, ...], steps: int, tile: str) -> float | None:
    """Return T_alg, or None where a tile does not fit the machine."""
    machine = load(METERED)
    if name == "jacobi2d":
        problem = make_problem(program(name), shape, steps)
        try:
            return time_model.predict(problem, parse(tile), machine).seconds
        except ValueError:
            return None
    tiling = parse(tile)
    run = FitRun(program=name, shape=shape, steps=steps, tiling=tile, seconds=1.0, joules=1.0)
    used = run_usage(run, machine)
    rows, columns = (steps, shape[0]) if name == "jacobi1d" else shape
    high, wide = math.ceil(rows / tiling.time), math.ceil(columns / tiling.space[0])
    # Tiles on a diagonal run together: rounds of as many tiles as there are multiprocessors, filling and emptying.
    diagonals = np.arange(high + wide - 1)
    tiles = np.minimum(np.minimum(diagonals + 1, high + wide - 1 - diagonals), min(high, wide))
    rounds = int(ceil_div(tiles, 13).sum())
    point = iteration_seconds(program(name), machine).value / machine.vector_width.value
    compute = rounds * tiling.time * tiling.space[0] * point
    return max(compute, 4 * used.global_words / machine.dram_bandwidth.value) + (high + wide - 1) * 2e-6
