"""Targets are read from names once; plans say what is computed, in which tiling, and why."""

import dataclasses
import pickle

import numpy as np
import pytest

from tilewright import planner
from tilewright.base.errors import UsageError
from tilewright.driver import emit, emit_tiling
from tilewright.machines.files import load
from tilewright.plan import Target, read_target
from tilewright.planner import plans
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.storage import Storage
from tilewright.schedules.tiling import NONE, parse
from tilewright.tuning.spaces.cpu_schedule import choose_body, cpu_schedule
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.fill import make_data
from tilewright.workloads.tables.schedule import plan_table, table_default

C = Target(backend="c")
ZEN3 = load("zen3")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auto", Target(backend="c", fallback=True)),
        ("numpy", Target(backend="numpy")),
        ("opencl:geforce", Target(backend="opencl", device="geforce")),
        ("cuda:1", Target(backend="cuda", device="1")),
    ],
)
def test_a_backends_name_is_read_once(name, expected):
    assert read_target(name) == expected
    assert expected.on_device == (expected.backend in {"opencl", "cuda"})


@pytest.mark.parametrize("name", ["fortran", "", "c:0", "auto:1", "CUDA"])
def test_other_names_are_refused(name):
    with pytest.raises(UsageError, match="the backend is one of auto, c, numpy, opencl, cuda, got"):
        read_target(name)


def test_a_plan_says_why_and_is_plain_data():
    problem = make_problem(program("j2d5pt"), (512, 512), 64)
    (asked,) = plans(problem, C, "hybrid:t=8,s=8x64")
    (chosen,) = plans(problem, C)
    assert (asked.evidence, chosen.evidence) == ("asked", "model")
    assert str(asked.tiling) == "hybrid:t=8,s=8x64"
    assert asked.computed == problem
    assert pickle.loads(pickle.dumps(chosen)) == chosen  # noqa: S301  (our own)
    with pytest.raises(dataclasses.FrozenInstanceError):
        chosen.schedule = None


def test_a_periodic_grid_in_time_tiles_is_computed_with_its_copies():
    problem = make_problem(program("j2d5pt"), (512, 512), 64, boundary="wrap")
    (tiled,) = plans(problem, C, parse("hybrid:t=8,s=8x64"))
    assert all(large > small for large, small in zip(tiled.computed.shape, problem.shape, strict=True))
    assert tiled.block.around == tuple((low, low) for low, _ in tiled.block.around)
    (plain,) = plans(problem, C, "none")
    assert plain.block is None
    assert plain.computed == problem


def test_what_numpy_computes_has_no_tiling_and_illegal_ones_are_refused_all_the_same():
    problem = make_problem(program("j2d5pt"), (64, 64), 8, "complex64")
    (plan,) = plans(problem, Target(backend="numpy"), "hybrid:t=8,s=8x64")
    assert plan.tiling == NONE
    with pytest.raises(UsageError, match="height t of a hybrid tile is an even number"):
        plans(problem, Target(backend="numpy"), "hybrid:t=7,s=8x64")


def test_a_plan_carries_the_code_that_the_driver_writes():
    problem = make_problem(program("box2d2r"), (64, 64), 4)
    (plan,) = plans(problem, C, "none:sums=inputs")
    assert plan.schedule == cpu_schedule(problem, parse("none:sums=inputs")) != cpu_schedule(problem, NONE)
    body = choose_body(problem, NONE)
    other = dataclasses.replace(plan, schedule=dataclasses.replace(plan.schedule, body=body))
    first, second = emit(plan), emit(other)
    assert first.text != second.text
    assert first.entry != second.entry
    assert second.text.replace(second.entry, "") == emit_tiling(problem, NONE).text.replace(
        emit_tiling(problem, NONE).entry, ""
    )
    (numpy,) = plans(problem, Target(backend="numpy"))
    assert numpy.schedule is emit(numpy) is None


def test_code_that_cannot_be_is_refused_when_it_is_planned():
    problem = make_problem(program("box2d2r"), (64, 64), 4)
    with pytest.raises(UsageError, match="streaming tiles"):
        plans(problem, C, "none:sums=winograd")


def test_the_plan_of_a_table_is_plain_data_and_follows_the_machine_it_is_given():
    rng = np.random.default_rng(0)
    known, texts = recurrence_named("edit_distance"), (rng.integers(0, 4, 3000), rng.integers(0, 4, 2000))
    data = make_data(known, texts, {}, "int32", None)
    plan = plan_table(known, data, C, None, 2, ZEN3)
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301  (our own)
    assert plan.schedule.tiling == table_default(known, (3000, 2000), "int32", ZEN3, 2)
    assert (plan.dtype, plan.target.threads, plan.floating) == ("int32", 2, ())
    assert plan.schedule.shape is None
    asked = plan_table(known, data, C, parse("orthogonal:t=64,s=128"), 1, ZEN3)
    assert (asked.schedule.tiling.time, asked.schedule.tiling.space, asked.target.threads) == (64, (128,), 1)
    few = make_data(known, ("kitten", "sitting"), {}, "int32", None)
    assert plan_table(known, few, C, None, None, ZEN3).target.threads == 1
    assert plan_table(known, few, Target(backend="numpy"), None, None, ZEN3).schedule is None


def test_what_was_tuned_is_not_asked_for_other_memory_or_for_some_cells_alone(monkeypatch):
    problem = make_problem(program("heat2d_var"), (64, 64), 8)
    some, kept = dataclasses.replace(problem, regions=(("u", ((0, 1), (0, 0))),)), Storage(kept=9)
    asked = []
    monkeypatch.setattr(planner, "remembered", lambda problem, *_: asked.append(problem))
    plans(problem, C)
    plans(some, C)
    plans(problem, C, storage=kept)
    assert asked == [problem]


def test_a_block_of_a_gpu_computes_the_longest_column_of_its_statements():
    schedule = gpu_schedule(make_problem(program("fdtd2d"), (64, 64), 8), NONE)
    schedule = dataclasses.replace(schedule, threads=(4, 32), rows=(1, 4, 2))
    assert (schedule.column, schedule.cells) == (4, (16, 32))
