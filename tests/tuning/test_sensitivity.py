"""What a ranking depends on: parameters with a known influence."""

import numpy as np
import pytest

from tilewright.base.errors import UsageError
from tilewright.machines.files import load
from tilewright.tuning.sensitivity import moved, sensitivities

GTX = load("gtx980")


def test_what_decides_moves_the_winner_and_what_is_common_does_not():
    bandwidth, launch = GTX.dram_bandwidth.value, GTX.launch_seconds.value
    io = np.array([1.0, 0.4, 0.0])
    work = np.array([0.0, 0.5, 1.05])

    def costs(machine):
        share = bandwidth / machine.dram_bandwidth.value
        return io * share + work + machine.launch_seconds.value / launch

    result = {each.parameter: each for each in sensitivities(GTX, "x", ("launch_seconds", "dram_bandwidth"), costs)}
    assert result["launch_seconds"].insensitive
    assert not result["dram_bandwidth"].insensitive
    assert result["dram_bandwidth"].tau_down < 1
    assert next(iter(result)) == "dram_bandwidth"
    assert result["dram_bandwidth"].to_dict()["insensitive"] is False


def test_a_ranking_without_any_order_is_kept_by_every_parameter():
    result = sensitivities(GTX, "x", ("launch_seconds", "dram_bandwidth"), lambda _: np.ones(4))
    assert [(each.tau_down, each.tau_up) for each in result] == [(1.0, 1.0)] * 2


def test_moved_parameters():
    assert moved(GTX, "jacobi2d", "dram_bandwidth", 0.5).dram_bandwidth.value == 0.5 * GTX.dram_bandwidth.value
    half = moved(GTX, "jacobi2d", "c_iter", 0.5)
    assert half.iteration_seconds("jacobi2d").value == 0.5 * GTX.iteration_seconds("jacobi2d").value
    assert half.iteration_seconds("heat2d") == GTX.iteration_seconds("heat2d")
    with pytest.raises(UsageError, match="no parameter 'colour'"):
        moved(GTX, "jacobi2d", "colour", 2.0)
    with pytest.raises(UsageError, match="C_iter"):
        moved(GTX, "wave2d", "c_iter", 2.0)
    with pytest.raises(UsageError, match="between 0 and 1"):
        sensitivities(GTX, "x", (), lambda m: np.ones(3), 1.5)
