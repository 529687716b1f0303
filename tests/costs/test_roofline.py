"""Roofs: no prediction lies above the arithmetic of its program, and what lies above memory's is the printed charge."""

import numpy as np
import pytest
from tests.sampling import some

import tilewright as tw
from tilewright.costs import time as time_model
from tilewright.costs.bottleneck import Roofline, roofline
from tilewright.costs.gpu.terms import GpuConstants
from tilewright.costs.rates import estimated_seconds
from tilewright.costs.setting import make_setting
from tilewright.machines import files
from tilewright.machines.defaults import host_machine
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.report.study import StudiedTiling
from tilewright.runtime.host import describe_cpu
from tilewright.tuning.spaces import space
from tilewright.verbs.tuning import study

SHAPES = {1: (2**20,), 2: (2048, 2048), 3: (192, 192, 192)}
ROUNDED = 1 + 1e-9
MACHINES = ("gtx980", "k20c", "v100", "h200", "rtx4090", "host")
PROGRAMS = ("jacobi1d", "star1d4r", "gradient2d", "j2d5pt", "wave2d", "fdtd2d", "heat2d_var", "heat3d", "j3d7pt")


def _machine(name):
    return host_machine(describe_cpu()) if name == "host" else files.load(name)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("part", some([3, 1], 1))
def test_no_tiling_is_predicted_above_the_roof_of_the_arithmetic(name, part):
    """Of a third of the programs by default, each on two machines."""
    machine = _machine(name)
    for each in PROGRAMS[MACHINES.index(name) % part :: part]:
        one = program(each)
        problem = make_problem(one, SHAPES[one.rank], 64)
        setting = make_setting(problem, machine, "per_sm")
        roof = roofline(setting)
        if roof is None:
            continue
        work = setting.facts.cells * setting.facts.steps * setting.facts.flops
        for family in space.families(problem, cpu=setting.cpu, every=True):
            sizes = (
                time_model.sizes_of(tw.Tiling(family="none"), setting)
                if family == "none"
                else space.feasible(setting, coarse=True, family=family)
            )
            result = time_model.evaluate(family, sizes, setting, "exact")
            runs = np.isfinite(result.seconds)
            assert (work / result.seconds[runs] <= roof.flops_per_second * ROUNDED).all(), (each, family)
            if setting.gpu is not None:  # every multiprocessor is charged its own share of the bandwidth
                # of the data sheet's, in thread blocks
                known = setting.gpu.peak_dram_bandwidth * GpuConstants().dram_share
                most = known if family == "streaming" else roof.bytes_per_second
                if family == "hybrid":  # whose traffic counts whole halos, a part of which is in L2
                    continue
                taken = result.dram_bytes[runs] / result.seconds[runs]
                assert (taken <= most * ROUNDED).all(), (each, family)


def test_gradient2d_on_h200_streams_below_a_roof_that_knows_streaming():
    one = tw.predict("gradient2d", shape=(8192, 8192), steps=8192, machine="h200")
    assert one.tiling.family == "streaming"
    reached = one.costs.flops / one.costs.seconds
    iteration = estimated_seconds(program("gradient2d"), one.hardware).value
    plain = one.costs.flops / (8192**3 * iteration / (132 * 128))
    assert plain < reached < one.roof.at(one.costs.flops / one.costs.dram_bytes)


def test_points_above_a_roof_are_named():
    roof = Roofline(flops_per_second=1e9, bytes_per_second=1e9)
    low = StudiedTiling(tiling="none", predicted=2.0, measured=2.0, flops=1e9, dram_bytes=1e9)
    beyond = StudiedTiling(tiling="none", predicted=0.5, flops=4e8, dram_bytes=1e9)
    faster = StudiedTiling(tiling="none", predicted=2.0, measured=0.5, flops=1e9, dram_bytes=1e9)
    assert study.above(roof, [low]) == ()
    (memory,) = study.above(roof, [low, beyond])
    assert memory.startswith("1 of 2 predictions lie above the memory roof, by up to 100%")
    (arithmetic,) = study.above(roof, [low, faster])
    assert arithmetic.startswith("1 of 2 measured points lie above the roof of the arithmetic, by up to 100%")
    assert study.above(None, [beyond]) == ()
