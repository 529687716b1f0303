"""Runs on threads: many at a time from one plan, and results that do not depend on how many there are."""

import threading

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw

GRIDS = np.random.default_rng(6).random((8, 70, 90), dtype=np.float32)
TILINGS = ("none", "streaming:t=4,s=16x32", "hybrid:t=4,s=4x16", "skewed:t=4,s=16x16")


@pytest.mark.parametrize("tiling", TILINGS)
def test_many_threads_run_one_plan(tiling):
    def run(grid):
        return tw.run("heat2d", grid, steps=12, tiling=tiling, threads=2, boundary="reflect")

    alone = [run(grid) for grid in GRIDS]
    results = [[] for _ in GRIDS]

    def work(number):
        results[number] += [run(GRIDS[number]) for _ in range(6)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(GRIDS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for expected, found in zip(alone, results, strict=True):
        assert len(found) == 6
        assert {each.tobytes() for each in found} == {expected.tobytes()}


@pytest.mark.parametrize(
    ("program", "boundary"),
    covering(["heat2d", "wave2d", "gradient2d"], ["fixed", "wrap", "reflect", "constant:0.5"]),
)
def test_strict_results_do_not_depend_on_the_number_of_threads(program, boundary):
    start = (GRIDS[0], GRIDS[0]) if program == "wave2d" else GRIDS[0]
    found = {
        tw.run(program, start, steps=9, strict=True, threads=threads, boundary=boundary, tiling=tiling).tobytes()
        for threads in (1, 2, 3, 5)
        for tiling in (None, "none", "streaming:t=3,s=16x32")
    }
    assert len(found) == 1
