"""Measured tuning on a device: the whole path on the interpreter, in worker processes, into the wisdom store."""

from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import SpillsError
from tilewright.base.records import Outcome, Resources
from tilewright.inputs import memo
from tilewright.plan import read_target
from tilewright.planner import plans
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import opencl
from tilewright.runtime.devices.drivers import circumstances, open_device
from tilewright.runtime.store import wisdom
from tilewright.verbs.tuning import trial
from tilewright.verbs.wisdom import forget, known

BACKEND = "opencl:oclgrind"


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    opencl.prepare_oclgrind()
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    memo.forget()


def test_a_device_is_tuned_and_its_wisdom_used():
    plan = tw.tune("jacobi2d", shape=(9, 34), steps=2, backend=BACKEND, candidates=2, progress=False)
    assert plan.confirmed
    assert plan.backend == BACKEND
    assert "`tilewright calibrate --backend opencl:oclgrind --program jacobi2d` measures it" in plan.explain()
    tried = [each for each in plan.candidates if each.measured_seconds is not None]
    assert tried
    assert plan.winner.measured_seconds == min(each.measured_seconds for each in tried)
    assert "__kernel" in plan.source
    (entry,) = wisdom.load()
    assert entry.circumstances.device == "Oclgrind Simulator"
    assert entry.circumstances.compiler.startswith("OpenCL Oclgrind")
    problem = make_problem(program("jacobi2d"), (9, 34), 2)
    assert entry.problem_key == wisdom.problem_key(problem, "opencl") != wisdom.problem_key(problem)
    from tilewright.driver import prepare
    from tilewright.planner import remembered

    assert prepare(problem, read_target(BACKEND)).plan.tiling == plan.tiling
    assert remembered(problem, 1) is None  # a processor does not use what a device has learned
    u = np.random.default_rng(0).random((9, 34), dtype=np.float32)
    np.testing.assert_allclose(plan.run(u), tw.run("jacobi2d", u, steps=2, backend="numpy"), rtol=1e-6)


def test_what_a_device_has_learned_is_compared_with_that_device():
    """Not with the processor; and a device that is not here is other hardware."""
    here = circumstances(open_device(read_target(BACKEND)))
    entry = wisdom.Wisdom(
        program="jacobi2d",
        problem_key=wisdom.problem_key(make_problem(program("jacobi2d"), (9, 34), 2), "opencl"),
        dtype="float32",
        shape=(9, 34),
        steps=2,
        threads=1,
        tiling="none",
        seconds=0.5,
        circumstances=here,
        when=wisdom.now(),
    )
    changes = {
        (): {},
        ("compiler",): {"compiler_key": "0" * 32},
        ("hardware",): {"device_key": "0" * 32},
        ("hardware", "compiler"): {"device": "Card C", "device_key": "0" * 32, "compiler_key": "0" * 32},
    }
    for stale, change in changes.items():
        wisdom.remember([replace(entry, circumstances=replace(here, **change))])
        assert known()[-1].stale == stale
    assert forget(stale=True) == 3
    assert [each.stale for each in known()] == [()]


def test_circumstances_are_those_of_the_device():
    here = circumstances(open_device(read_target(BACKEND)))
    assert here.device == "Oclgrind Simulator"
    assert here != wisdom.here()
    assert here == circumstances(open_device(read_target(BACKEND)))


def planned(tile="hybrid:t=2,s=2x8,threads=1x8"):
    (plan,) = plans(make_problem(program("jacobi2d"), (18, 40), 4), read_target(BACKEND, 1), tile)
    return plan


def test_a_candidate_is_built_checked_timed_and_compared():
    assert trial.build(planned()) is None  # OpenCL's drivers do not say what the code needs
    trial.check(planned(), ())
    assert trial.sample(planned(), (), 4) > 0
    trial.confirm(planned(), (), planned("none"))


def test_what_spills_does_not_run(monkeypatch):
    device = type(open_device(read_target(BACKEND)))
    needs = Resources(registers=255, spill_bytes=16, stack_bytes=0, shared_bytes=0)
    monkeypatch.setattr(device, "resources", lambda *_: needs)
    with pytest.raises(SpillsError, match="16 bytes of spills"):
        trial.build(planned("hybrid:t=2,s=3x8,threads=1x8"))


def test_outcomes_of_devices():
    from tilewright.runtime.workers import pool as workers

    assert workers._OUTCOMES["DeviceError"] is Outcome.LAUNCH
    assert workers._OUTCOMES["SpillsError"] is Outcome.SPILLS
