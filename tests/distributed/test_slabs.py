"""Slabs that stream through memory: what of a grid is read, and how often."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.costs.transfers import Streamed, passes
from tilewright.distributed import disk, slabs
from tilewright.distributed.compute import Computer
from tilewright.distributed.windows import depths
from tilewright.inputs import memo
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import make_problem


class Read(disk.MemoryRows):
    """An array that counts how often each of its rows is read."""

    def __init__(self, values):
        super().__init__(values)
        self.times = np.zeros(len(values), int)

    def read(self, low, high, target):
        self.times[low:high] += 1
        super().read(low, high, target)


class Written(disk.MemoryRows):
    """An array that keeps what is written."""

    def write(self, low, source):
        self._values[low : low + len(source)] = source


@pytest.mark.parametrize(
    ("program", "boundary", "levels"),
    [("heat2d", "nearest", 1), ("wave2d", "fixed", 2), ("wave2d", "nearest", 1), ("heat2d", "wrap", 1)],
)
def test_rows_are_read_once_but_those_that_a_periodic_grid_begins_and_ends_with(program, boundary, levels):
    """As the model counts them: what a window shares with the one before it is in memory already.

    So is a level that is missing.
    """
    problem = make_problem(tw.program(program), (60, 9), 4, "float64", boundary)
    target = read_target("numpy", 1)
    computer = Computer(target=target, threads=1, tiling=None, strict=True, scalars={}, make=memo.prepared)
    case = Streamed(extent=60, steps=4, read_bytes=1, write_bytes=1, bandwidths=(1.0, 1.0), held_bytes=1, memory=14)
    around, wraps = depths(problem, 4)[0], boundary == "wrap"
    chosen = passes(case, lambda _: around, lambda *_: 0.0, wraps=wraps, fixed=4)
    assert chosen.slabs > 4
    values = np.random.default_rng(0).random((levels, 60, 9))
    source, out = [Read(each) for each in values], Written(np.empty((60, 9)))
    slabs.Slabs(problem, chosen, computer).stream(4, {"u": source}, {"u": [out]}, 0)
    start = (*values, *[values[-1]] * (problem.program.history("u") - levels))
    right = tw.run(program, start, steps=4, boundary=boundary, backend="numpy", strict=True)
    np.testing.assert_array_equal(out._values, right)
    again = np.zeros(60, int)
    again[60 - around[0] :] = again[: around[1]] = wraps
    for each in source:
        np.testing.assert_array_equal(each.times, 1 + again)
        assert each.times.sum() == chosen.read_bytes
