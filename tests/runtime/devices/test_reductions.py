"""Kernels that look at a field, under the interpreter: the largest value, the largest change, single cells."""

import itertools
import math
import re

import numpy as np
import pytest
from tests.sampling import some

from tilewright.runtime.devices import opencl
from tilewright.runtime.devices.reductions import Cells, Reductions

pytest.importorskip("pyopencl")


@pytest.fixture
def device():
    opencl.prepare_oclgrind()
    return opencl.select("oclgrind")


def sent(device, values):
    buffer = device.allocate(values.nbytes)
    device.write(buffer, 0, values)
    return buffer


@pytest.mark.parametrize("dtype", some(["float32", "int64", "float64", "int32"], 2))
def test_looks_are_what_numpy_sees(device, dtype, capfd):
    rng = np.random.default_rng(0)
    count, offset = 1700, 64
    new, old = (np.round(100 * rng.normal(size=offset + count)).astype(dtype) for _ in range(2))
    reductions = Reductions(device, device, dtype)
    buffer, before = sent(device, new), sent(device, old[offset:])
    cells = Cells(buffer, offset, count)
    assert reductions.largest(cells) == np.abs(new[offset:]).max()
    assert reductions.change(cells, before) == np.abs(new - old)[offset:].max()
    wanted = rng.integers(0, count, 300)
    np.testing.assert_array_equal(reductions.at(cells, wanted), new[offset:][wanted])
    assert reductions.at(cells, wanted[:0]).size == 0
    assert not re.search("race|invalid|uninitialized", "".join(capfd.readouterr()).lower())


def test_what_is_not_finite_wins(device):
    reductions = Reductions(device, device, "float32")
    wins = [(np.nan, math.nan), (np.inf, math.inf), (-np.inf, math.inf)]
    for (value, seen), at in itertools.product(wins, (0, 511, 699)):
        values = np.ones(700, "float32")
        values[at] = value
        found = reductions.largest(Cells(sent(device, values), 0, values.size))
        assert found == seen or (math.isnan(found) and math.isnan(seen)), (value, at)


def test_a_change_of_whole_numbers_stops_at_the_largest(device):
    far = np.array([2**31 - 1, 0], "int32")
    buffer, before = sent(device, far), sent(device, -far - 1)
    assert Reductions(device, device, "int32").change(Cells(buffer, 0, 2), before) == 2**31 - 1
