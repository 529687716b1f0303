"""GPU kernels of skewed and diamond tiles under Oclgrind: results, races, accesses out of bounds."""

import dataclasses
import itertools

import pytest
from tests.oracles.counting import exact_counts
from tests.runtime.interpreted import source_of, verify
from tests.sampling import some

from tilewright.codegen.gpu.emit import launches
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.runtime.devices import nvrtc
from tilewright.schedules.families import diamond
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

pytest.importorskip("pyopencl")

THREADS = {1: (8,), 2: (2, 8), 3: (1, 2, 8)}
SIZES = {1: (12,), 2: (5, 8), 3: (3, 3, 8)}
BOUNDARIES = ("constant", "nearest", "reflect", "mirror")


def small(family, name, dtype="float32", boundary="fixed"):
    """A small tiling of a family, and a problem that has whole and cut tiles of it."""
    known = program(name)
    rank = known.rank
    probe = make_problem(known, (4,) * rank, 5, dtype, boundary)
    space, sub = SIZES[rank], ()
    if family == "diamond":
        space = (diamond.least_pitch(probe, 2), *space[1:])
    elif family == "skewed":
        space, sub = tuple(2 * size for size in space), space
    tiling = Tiling(family=family, time=2, space=space, sub=sub, threads=THREADS[rank])
    stages = len(known.stages)
    shape = tuple(
        min(2 * size + slope.widest * 2 * stages + 3, {1: 60, 2: 34, 3: 18}[rank])
        for size, slope in zip(space, slopes(probe), strict=True)
    )
    return dataclasses.replace(probe, shape=shape), tiling


@pytest.mark.stress
@pytest.mark.parametrize("family", ["skewed", "diamond"])
@pytest.mark.parametrize(
    "name", ["jacobi1d", "star1d2r", "j2d5pt", "gradient2d", "heat2d_var", "j3d7pt", "wave2d", "fdtd2d"]
)
def test_programs_run_without_races_and_inside_their_arrays(device, capfd, family, name):
    verify(device, capfd, *small(family, name))


@pytest.mark.stress
@pytest.mark.parametrize("family", ["skewed", "diamond"])
def test_several_stages_of_fields_that_have_two_versions(device, capfd, family):
    """The version that a row reads follows from its step, not from its row."""
    u, v = FieldBuilder("u"), FieldBuilder("v")
    values = {"u": 0.25 * (u[-1] + u[1]) + 0.5 * v[0], "v": 0.5 * (u.new[-1] + u.new[1]) + 0.25 * (v[-1] - v[1])}
    known = stencil("pair", 1, values)
    assert (len(known.stages), known.analysis.copies) == (2, (2, 2))
    problem = make_problem(known, (43,), 5, "float64")
    tiling = Tiling(family=family, time=2, space=(16,), threads=THREADS[1])
    verify(device, capfd, problem, tiling, strict=True)


@pytest.mark.parametrize("case", some(list(itertools.product(BOUNDARIES, ["skewed", "diamond"])), 2))
def test_boundaries_bit_for_bit(device, capfd, case):
    boundary, family = case
    verify(device, capfd, *small(family, "box2d1r", "float64", boundary), strict=True)


@pytest.mark.stress
@pytest.mark.parametrize("steps", [0, 1, 2, 7])
@pytest.mark.parametrize("family", ["skewed", "diamond"])
def test_any_number_of_steps(device, capfd, family, steps):
    problem, tiling = small(family, "jacobi1d")
    verify(device, capfd, dataclasses.replace(problem, steps=steps), tiling, strict=True)


def test_a_launch_per_wavefront():
    problem, tiling = small("skewed", "j2d5pt")
    found = list(launches(problem, gpu_schedule(problem, tiling), problem.steps))
    assert len(found) == exact_counts(problem, tiling).wavefronts
    assert sum(launch.groups for launch in found) >= exact_counts(problem, tiling).tiles


@pytest.mark.parametrize("family", ["skewed", "diamond"])
@pytest.mark.parametrize("name", ["jacobi1d", "heat2d", "j3d7pt"])
def test_the_cuda_text_compiles(family, name):
    pytest.importorskip("nvidia.cuda_nvrtc")
    problem, tiling = small(family, name)
    text = source_of(problem, tiling, "cuda").text
    assert nvrtc.compile_cuda(text, "sm_90")
