"""What is decided about a GPU's kernels where a tiling leaves it open."""

import dataclasses
import math

import numpy as np
import pytest

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.codegen.gpu_emit import emit_device
from tilewright.costs import streaming_gpu
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.machines import files
from tilewright.machines.machine import Quantity
from tilewright.programs.catalogue import names, program
from tilewright.programs.problem import make_problem
from tilewright.tilings import catalogue
from tilewright.tilings.tiling import parse
from tilewright.tuning.gpu_schedule import gpu_schedule

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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", STREAMED)
@pytest.mark.parametrize("name", ["j2d5pt", "wave2d", "fdtd2d", "heat2d_var", "star2d4r"])
def test_the_model_expects_the_columns_that_kernels_get(name, text, dtype):
    problem, tiling = problem_of(name, dtype=dtype), parse(text)
    setting = make_setting(problem, H100)
    block = streaming_gpu.blocks_of(time_model.sizes_of(tiling, setting), setting, setting.block)
    assert gpu_schedule(problem, tiling, H100).columns == ("registers" if block.columns[0] else "shared")


def test_both_places_of_columns_are_chosen_by_some_tiling():
    problem = problem_of("j2d5pt")
    assert {gpu_schedule(problem, parse(text)).columns for text in STREAMED} == {"registers", "shared"}


def test_a_machine_with_fewer_registers_keeps_fewer_columns_there():
    problem, tiling = problem_of("j2d5pt"), parse("streaming:t=2,s=64x1020,threads=1x512")
    poor = dataclasses.replace(H100, registers=Quantity(value=8192, unit="1", source="datasheet"))
    assert gpu_schedule(problem, tiling, H100) == gpu_schedule(problem, tiling)
    assert [gpu_schedule(problem, tiling, each).columns for each in (H100, poor)] == ["registers", "shared"]


@pytest.mark.parametrize("columns", ["registers", "shared"])
@pytest.mark.parametrize("text", STREAMED)
def test_columns_that_are_asked_for_are_written_and_costed(text, columns):
    problem, tiling = problem_of("j2d5pt"), parse(f"{text},columns={columns}")
    assert str(tiling) == f"{text},columns={columns}"
    schedule, open_ = gpu_schedule(problem, tiling), gpu_schedule(problem, parse(text))
    assert schedule == dataclasses.replace(open_, tiling=tiling, columns=columns)
    written = emit_device(problem, schedule, "cuda")
    assert ("own0_0" in written.text) == (columns == "registers")
    assert columns in written.text
    same = columns == open_.columns
    asked, plain = (time_model.predict(problem, each, H100).seconds for each in (tiling, parse(text)))
    assert (asked == plain) == same
    assert written.text != emit_device(problem, open_, "cuda").text


def test_documents_name_columns_where_they_were_asked_for():
    assert "columns" not in parse(STREAMED[0]).to_dict()
    assert parse(f"{STREAMED[0]},columns=shared").to_dict()["columns"] == "shared"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("j2d5pt", "hybrid:t=4,s=4x32,columns=shared", "columns belong to streaming tilings of thread blocks"),
        ("j2d5pt", "streaming:t=4,s=64x64,columns=registers", "columns belong to streaming tilings of thread blocks"),
        ("j2d5pt", "none:columns=shared", "columns belong to streaming tilings of thread blocks"),
    ],
)
def test_columns_of_other_tilings_are_refused(name, text, said):
    with pytest.raises(UsageError, match=said):
        catalogue.complete(problem_of(name), parse(text))


def test_columns_are_kept_in_one_of_two_places():
    with pytest.raises(UsageError, match="the columns of a tiling is one of registers, shared, got 'cache'"):
        parse("streaming:t=4,s=64x64,threads=1x64,columns=cache")


def test_streaming_tiles_of_one_dimension_have_no_schedule():
    with pytest.raises(IllegalTilingError, match="are for 2D and 3D programs"):
        gpu_schedule(problem_of("j1d3pt"), parse("streaming:t=2,s=8"))


@pytest.mark.parametrize("name", names())
def test_a_schedule_knows_its_threads_and_no_shape(name):
    problem = problem_of(name)
    small = dataclasses.replace(problem, shape=(64,) * problem.program.rank, steps=2)
    families = ["none", "hexagonal" if problem.program.rank == 1 else "hybrid", "skewed", "overlapped", "diamond"]
    for family in [*families, *(["streaming"] if problem.program.rank > 1 else [])]:
        schedule = gpu_schedule(problem, parse(family))
        assert len(schedule.threads) == problem.program.rank
        assert 32 <= math.prod(schedule.threads) <= 1024
        assert gpu_schedule(small, parse(family)) == schedule


def test_several_cells_of_a_column_are_computed_together_where_one_thread_has_it_and_reads_are_few():
    def rows(name, text):
        return gpu_schedule(problem_of(name), parse(text)).rows

    assert rows("j2d5pt", "hybrid:t=4,s=4x128,threads=1x128") == (4,)
    assert rows("j2d5pt", "hybrid:t=4,s=4x128,threads=2x64") == (1,)
    assert rows("j2d5pt", "hybrid:t=4,s=4x128,threads=1x128,rows=2") == (2,)
    assert rows("box2d3r", "hybrid:t=4,s=4x128,threads=1x128") == (1,)
    assert rows("fdtd2d", "hybrid:t=4,s=4x128,threads=1x128") == (4, 4, 4)
    assert rows("j1d3pt", "hexagonal:t=4,s=32") == (1,)


def test_points_of_a_space_keep_the_columns_that_are_asked_for():
    problem = problem_of("j2d5pt")
    setting = make_setting(problem, H100)
    asked = [time_model.sizes_of(parse(f"{text},columns=shared"), setting) for text in STREAMED]
    joined = asked[0].join(asked)
    assert joined.columns.tolist() == [False] * 3
    assert joined.take(np.array([1])).columns.tolist() == [False]
    assert asked[0].join([time_model.sizes_of(parse(text), setting) for text in STREAMED]).columns is None
