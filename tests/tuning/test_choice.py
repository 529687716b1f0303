"""The default on GPUs follows the cost models: over the catalogue, on four machines, without a device."""

import dataclasses

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.codegen.gpu.emit import made
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.machines import files
from tilewright.machines.defaults import GpuDescription, gpu_machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.catalogue import check
from tilewright.schedules.family import Legal
from tilewright.tuning.choice import gpu_defaults
from tilewright.tuning.ranking import evaluated, families_of
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

MACHINES = ("h100", "v100", "gtx980", "a100")
LARGE = {1: (2**26,), 2: (8192, 8192), 3: (512, 512, 512)}
SMALL = {1: (4096,), 2: (256, 256), 3: (64, 64, 64)}
KINDS = [("float32", LARGE), ("float64", LARGE), ("float32", SMALL), ("float64", SMALL)]


def distinct():
    """The catalogue without programs that another name has already."""
    found = {}
    for name in names():
        known = program(name)
        found.setdefault((known.rank, known.statements, known.fields), name)
    return sorted(found.values())


def least(problem, machine, coarse):
    """The least that any family promises by the model that ``select`` ranks by, over its whole space."""
    setting = dataclasses.replace(make_setting(problem, machine), energy=None)
    families = families_of(problem, setting, "exact")
    spaces = [evaluated(setting, family, "exact", coarse=coarse)[1].seconds for family in families]
    return min(float(np.min(seconds, initial=np.inf)) for seconds in spaces)


def first_and_best(problem, machine, coarse):
    first = gpu_defaults(problem, machine)[0]
    predicted = time_model.predict(problem, first.tiling, machine).seconds
    assert predicted == pytest.approx(first.predicted, rel=1e-9)
    return predicted, least(problem, machine, coarse)


def cases(every):
    """All, or 8: every kind and every machine twice, of every other program."""
    for place, name in enumerate(distinct() if every else distinct()[::-2][:8]):
        for number, machine in enumerate(MACHINES):
            for turn, (dtype, shapes) in enumerate(KINDS):
                if every or (number % 4 == place % 4 and (place // 4 + number) % len(KINDS) == turn):
                    yield name, machine, dtype, shapes


def worst(every):
    found = {}
    for name, machine, dtype, shapes in cases(every):
        known = program(name)
        problem = make_problem(known, shapes[known.rank], 1000, dtype)
        found[name, machine, dtype, problem.shape] = first_and_best(problem, files.load(machine), coarse=not every)
    return {case: pair for case, pair in found.items() if not pair[0] <= pair[1] * (1.0 + 1e-12)}


def test_the_default_is_the_models_best():
    assert worst(every=False) == {}


@pytest.mark.stress
def test_the_default_is_the_models_best_everywhere():
    assert worst(every=True) == {}


def test_the_largest_gains_over_a_fixed_list_of_hybrid_tiles():
    problem = make_problem(program("j3d7pt"), LARGE[3], 1000)
    first = gpu_defaults(problem, files.load("h200"))[0]
    assert first.tiling.family == "streaming"
    assert 1e-9 * problem.cells * problem.steps / first.predicted > 500


def test_there_are_next_best_tilings_all_legal_and_none_is_the_last():
    problem = make_problem(program("heat2d"), LARGE[2], 64)
    found = gpu_defaults(problem, files.load("h100"))
    assert len(found) > 3
    assert {each.tiling.family for each in found} == {"streaming", "none"}  # hybrid tiles promise less than none
    assert [str(each.tiling) for each in found].count("none") == 1
    assert found[-1].tiling.family == "none"
    assert all(isinstance(check(problem, each.tiling), Legal) for each in found)


def test_what_a_block_may_have_is_kept_to():
    machine = files.load("h100")
    problem = make_problem(program("j2d5pt"), LARGE[2], 64)
    wide = gpu_defaults(problem, machine)[0].tiling
    count = 48
    narrow = dataclasses.replace(machine, max_block_threads=Quantity(value=count, unit="1", source="description"))
    for each in gpu_defaults(problem, narrow):
        assert int(np.prod(each.tiling.threads, initial=1)) <= count < np.prod(wide.threads)
    poor = dataclasses.replace(machine, block_shared_bytes=Quantity(value=4096.0, unit="B", source="description"))
    for each in gpu_defaults(problem, poor):
        assert time_model.predict(problem, each.tiling, poor).tile_shared_bytes <= 4096


@pytest.mark.parametrize(("name", "machine"), covering(["wave2d", "fdtd2d", "wave3d", "j3d7pt"], ["h100", "gtx980"]))
def test_every_default_has_kernels_that_fit(name, machine):
    known, where = program(name), files.load(machine)
    for dtype, shapes in KINDS[machine == "h100" :: 2]:
        problem = make_problem(known, shapes[known.rank], 1000, dtype)
        for each in gpu_defaults(problem, where):
            source, _ = made(problem, gpu_schedule(problem, each.tiling), "cuda")
            assert source.shared_bytes <= where.block_shared_bytes.value
            assert max(kernel.threads for kernel in source.kernels) <= 1024


def test_single_steps_recurrences_and_unknown_devices_have_a_default():
    machine = gpu_machine(GpuDescription(name="Some simulator", units=1, clock_hz=1e6, block_bytes=2**18, gpu=False))
    for name in ("j1d3pt", "heat2d", "wave3d"):
        known = program(name)
        problem = make_problem(known, (20,) * known.rank, 5)
        assert all(np.isfinite(each.predicted) for each in gpu_defaults(problem, machine))
        one = make_problem(known, (20,) * known.rank, 1)
        assert [each.tiling.family for each in gpu_defaults(one, machine)] == ["none"]
    sweep = make_problem(program("smith_waterman"), (64, 64), 5)
    assert [each.tiling.family for each in gpu_defaults(sweep, machine)] == ["none"]
