"""What is decided about a GPU's kernels where a tiling leaves it open."""

import dataclasses
import math

import pytest
from tests.sampling import covering

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen.gpu.emit import emit_device
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.costs.work import streaming
from tilewright.machines import files
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

H100 = files.load("h100")
SHAPES = {1: (2**20,), 2: (2048, 2048), 3: (256, 256, 256)}
STREAMED = (
    "streaming:t=2,s=64x120,threads=1x128",
    "streaming:t=6,s=64x500,threads=1x32",
    "streaming:t=4,s=64x24,threads=1x8",
)


def problem_of(name, steps=96, dtype="float32"):
    known = program(name)
    return make_problem(known, SHAPES[known.rank], steps, dtype)


@pytest.mark.parametrize(("name", "text"), covering(["j2d5pt", "wave2d", "fdtd2d", "heat2d_var", "star2d4r"], STREAMED))
def test_the_model_expects_the_kernel_that_is_written(name, text):
    problem, tiling = problem_of(name), parse(text)
    setting = make_setting(problem, H100)
    block = streaming.blocks(time_model.sizes_of(tiling, setting), setting.facts)
    if block.reads[0] > setting.facts.block.most_reads:
        with pytest.raises(IllegalTilingError, match="reads written out"):
            gpu_schedule(problem, tiling)
        return
    kernel = emit_device(problem, gpu_schedule(problem, tiling), "cuda").kernels[0]
    assert kernel.shared_bytes + kernel.room_bytes == block.chip_bytes[0]


def test_streaming_tiles_of_one_dimension_have_no_schedule():
    with pytest.raises(IllegalTilingError, match="are for 2D and 3D programs"):
        gpu_schedule(problem_of("j1d3pt"), parse("streaming:t=2,s=8"))


def test_a_schedule_knows_its_threads_and_no_shape():
    for name in names():
        problem = problem_of(name)
        small = dataclasses.replace(problem, shape=(64,) * problem.program.rank, steps=2)
        families = ["none", "hexagonal" if problem.program.rank == 1 else "hybrid", "skewed", "diamond"]
        for family in [*families, *(["streaming"] if problem.program.rank > 1 and problem.program.loads < 300 else [])]:
            schedule = gpu_schedule(problem, parse(family))
            assert len(schedule.threads) == problem.program.rank, name
            assert 32 <= math.prod(schedule.threads) <= 1024, name
            assert gpu_schedule(small, parse(family)) == schedule, name


def test_several_cells_of_a_column_are_computed_together_where_one_thread_has_it_and_reads_are_few():
    def rows(name, text):
        return gpu_schedule(problem_of(name), parse(text)).rows

    assert rows("j2d5pt", "hybrid:t=4,s=4x128,threads=1x128") == (4,)
    assert rows("j2d5pt", "hybrid:t=4,s=4x128,threads=2x64") == (1,)
    assert rows("j2d5pt", "hybrid:t=4,s=4x128,threads=1x128,rows=2") == (2,)
    assert rows("box2d3r", "hybrid:t=4,s=4x128,threads=1x128") == (1,)
    assert rows("fdtd2d", "hybrid:t=4,s=4x128,threads=1x128") == (4, 4, 4)
    assert rows("j1d3pt", "hexagonal:t=4,s=32") == (1,)
