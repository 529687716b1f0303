"""GPU backends as a user meets them, under Oclgrind and without any GPU."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.sampling import some

import tilewright as tw
from tilewright.base.errors import ArrayError, IllegalTilingError, ToolchainError, UsageError
from tilewright.base.records import Outcome, Resources
from tilewright.driver import prepare
from tilewright.machines.files import load, names
from tilewright.plan import read_target
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import drivers as devices
from tilewright.runtime.devices import nvrtc, opencl
from tilewright.runtime.warn import forget_warnings
from tilewright.runtime.workers.pool import Reply
from tilewright.schedules.tiling import parse
from tilewright.tuning.choice import gpu_defaults
from tilewright.tuning.spaces.periodic import plan_blocks
from tilewright.verbs.predict import as_machine
from tilewright.verbs.tuning import screen as screening

OCLGRIND = "opencl:oclgrind"


@pytest.fixture(autouse=True)
def oclgrind():
    opencl.prepare_oclgrind()


def test_streaming_tiles_get_their_threads():
    u = np.random.default_rng(0).random((20, 30), dtype=np.float32)
    expected = tw.run("jacobi2d", u, steps=5, backend="numpy")
    out = tw.run("jacobi2d", u, steps=5, backend=OCLGRIND, tiling="streaming:t=3,s=8x12")
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    asked = tw.run("jacobi2d", u, steps=5, backend=OCLGRIND, tiling="streaming:t=3,s=8x12,threads=1x5", record=True)
    np.testing.assert_array_equal(asked.state, out)
    assert str(asked.tiling) == "streaming:t=3,s=8x12,threads=1x5"
    with pytest.raises(IllegalTilingError, match="with threads is one for GPUs"):
        tw.run("jacobi2d", u, steps=5, backend="c", tiling="streaming:t=3,s=8x12,threads=1x8")


def test_what_a_gpu_cannot_do_is_said():
    u = np.ones((20, 30), np.float32)
    with pytest.raises(UsageError, match="there is no OpenCL device 'cray'"):
        tw.run("jacobi2d", u, steps=2, backend="opencl:cray")
    with pytest.raises(UsageError, match="no kernels for 'orthogonal"):
        tw.run("jacobi2d", u, steps=2, backend=OCLGRIND, tiling="orthogonal:t=4,s=8x8")
    with pytest.raises(ArrayError, match="on chip"):
        tw.run("jacobi2d", u, steps=2, backend=OCLGRIND, tiling="hybrid:t=64,s=64x512")
    with pytest.raises(UsageError, match="GPU backends compute in float32"):
        tw.run("jacobi2d", u.astype(np.complex64), steps=2, backend=OCLGRIND)


def test_candidates_are_screened_without_a_gpu():
    ask = {"shape": (64, 64), "steps": 16, "machine": "gtx980", "backend": "cuda", "effort": "none"}
    plan = tw.tune("j2d5pt", **ask, candidates=4)
    document = plan.to_dict()
    assert document["backend"] == "cuda"
    assert document["evaluated"] == len(document["candidates"]) == 4
    for each in document["candidates"]:
        assert each["registers"] > 0
        assert each["spills"] == each["stack_bytes"] == 0
        assert (each["shared_bytes"] > 0) == (each["tiling"]["family"] != "none")
        assert each["measured_seconds"] is None
        assert each["predicted_seconds"] > 0
    assert document["winner"]["outcome"] is None
    assert "__global__" in plan.source
    assert "4 compiled" in plan.explain()
    with pytest.raises(UsageError, match="no C code"):
        plan.export("kernel.c")


GPUS = [name for name in names() if name != "host" and load(name).kind == "gpu"]
FIRST = ("k20c", "gtx750", "v100", "h200")
"""One without code of NVRTC, the oldest with it, the oldest whose code may have a bound, and the newest."""


@pytest.mark.parametrize("name", some([*FIRST, *(name for name in GPUS if name not in FIRST)], len(FIRST)))
def test_every_gpu_of_the_catalogue_is_tuned_for_without_one(name):
    """By what is installed: compiled where NVRTC knows the card, bound where the disassembler does, else it is said."""
    forget_warnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask = {"shape": (1024, 1024), "steps": 32, "machine": name, "backend": "cuda", "effort": "none"}
        plan = tw.tune("j2d5pt", **ask, candidates=2)
    said = " ".join(str(each.message) for each in caught)
    capability = load(name).compute_capability.value
    compiled = round(10 * capability) >= nvrtc.oldest_architecture()
    assert plan.winner.outcome is None
    assert (plan.winner.registers is not None) == compiled
    assert (f"{name} are not screened by a compiler: NVRTC {nvrtc.version()} makes code for sm_" in said) != compiled
    bound = plan.winner.bound_seconds is not None
    assert bound or capability < 7.0 or f"{name} are ranked without the bound by machine code: nvdisasm" in said
    assert len(caught) == int(not compiled or (capability >= 7.0 and not bound))
    assert "__global__" in plan.source


def test_without_the_compiler_for_cuda_the_model_alone_chooses(monkeypatch):
    def missing():
        raise ToolchainError("the compiler for CUDA is missing", nvrtc.INSTALL)

    monkeypatch.setattr(nvrtc, "oldest_architecture", missing)
    forget_warnings()
    ask = {"shape": (64, 64), "steps": 8, "machine": "h200", "backend": "cuda", "effort": "none", "candidates": 2}
    with pytest.warns(tw.TilewrightWarning, match="h200 are not screened by a compiler: the compiler .* missing"):
        plan = tw.tune("j2d5pt", **ask)
    assert plan.winner.registers is None


@pytest.mark.parametrize("said", ["nvdisasm fatal   : SM70 is deprecated", ""])
def test_code_that_nobody_lists_is_judged_without_its_bound(monkeypatch, said):
    def refused(_):
        raise ToolchainError(said or "NVIDIA's disassembler nvdisasm is missing")

    problem = make_problem(program("j2d5pt"), (64, 64), 2)
    tiling = parse("streaming:t=2,s=32x58,threads=1x64")
    monkeypatch.setattr(screening.nvrtc, "disassemble", refused)
    built = screening.compile_candidate(problem, tiling, as_machine("h200"), strict=False)
    assert built.resources.registers > 0
    assert built.steady is None
    assert built.unlisted == (said or "NVIDIA's disassembler nvdisasm is missing")
    assert screening._verdict(problem, as_machine("h200"), tiling, Reply(value=built)).outcome is None


def test_what_spills_or_does_not_fit_is_dropped(monkeypatch):
    problem = make_problem(program("j2d5pt"), (2048, 2048), 64)
    machine = as_machine("v100")
    needs = {
        "hybrid:t=8,s=8x64,threads=1x64": nvrtc.Resources(
            registers=40, spill_bytes=0, stack_bytes=0, shared_bytes=9000
        ),
        "hybrid:t=8,s=9x64,threads=1x64": nvrtc.Resources(registers=255, spill_bytes=64, stack_bytes=8, shared_bytes=9),
        "hybrid:t=8,s=7x64,threads=1x64": nvrtc.Resources(
            registers=40, spill_bytes=0, stack_bytes=0, shared_bytes=2**20
        ),
    }
    found = [
        screening._verdict(problem, machine, parse(tile), Reply(value=screening.Built(resources=each)))
        for tile, each in needs.items()
    ]
    assert [each.outcome for each in found] == [None, Outcome.SPILLS, Outcome.LAUNCH]
    assert "64 bytes of spills" in found[1].detail


def test_candidates_are_ranked_by_their_bound_and_next_to_no_registers_must_win_by_a_margin():
    def screened(registers, bound_seconds):
        needs = Resources(registers=registers)
        return screening.Screened(
            tiling=parse("none"), predicted_seconds=9.0, resources=needs, bound_seconds=bound_seconds
        ).expected_seconds

    assert screened(240, 1.0) == 1.0
    assert 1.0 < screened(241, 1.0) == screening.MARGIN
    assert screened(255, None) == 9.0


def test_registers_of_the_code_count_in_the_prediction():
    from tilewright.costs import time as model

    problem, machine = make_problem(program("j2d5pt"), (8192, 8192), 512), as_machine("gtx980")
    tiling = parse("hybrid:t=8,s=8x64,threads=1x256")
    few, many = (
        model.predict(
            problem,
            tiling,
            machine,
            resources=nvrtc.Resources(registers=count, spill_bytes=0, stack_bytes=0, shared_bytes=4096),
        )
        for count in (32, 200)
    )
    assert few.tiles_per_sm > many.tiles_per_sm
    assert few.seconds < many.seconds


def test_the_compiler_is_told_the_machine():
    names = {"gtx980": "sm_52", "v100": "sm_70", "a100": "sm_80", "rtx4090": "sm_89", "h200": "sm_90"}
    assert {name: screening.architecture(as_machine(name)) for name in names} == names


def test_cuda_without_a_driver(monkeypatch):
    from tilewright.runtime.devices import cuda

    monkeypatch.setattr(cuda, "_LIBRARY", "libnothing.so.1")
    cuda.library.cache_clear()
    with pytest.raises(ToolchainError, match="driver"):
        tw.run("jacobi2d", np.ones((9, 9), np.float32), steps=1, backend="cuda")


def test_families_compete_on_gpus():
    ask = {"shape": (64, 64, 64), "steps": 16, "machine": "p100"}
    chosen = tw.select("star3d1r", **ask, within=3.0)
    families = {each.tiling.family for each in chosen}
    assert {"none", "streaming"} <= families
    assert chosen[0].tiling.family == tw.predict("star3d1r", **ask).tiling.family
    plan = tw.tune("star3d1r", **ask, backend="cuda", effort="none", candidates=16)
    tried = {each.tiling.family for each in plan.candidates}
    assert {"none", "hybrid", "streaming"} <= tried
    assert plan.winner.predicted_seconds == min(each.predicted_seconds for each in plan.candidates)


def test_an_untuned_run_takes_the_models_choice(monkeypatch):
    machine = as_machine("gtx980")
    monkeypatch.setattr(devices, "device_machine", lambda _: machine)
    large = make_problem(program("j2d5pt"), (512, 512), 64)
    found = prepare(large, read_target(OCLGRIND))
    assert found.plan.block is None
    assert found.plan.tiling == gpu_defaults(large, machine)[0].tiling
    assert found.plan.tiling.family == "streaming"


def test_an_untuned_run_that_wraps_takes_the_models_blocks(monkeypatch):
    machine = as_machine("gtx980")
    monkeypatch.setattr(devices, "device_machine", lambda _: machine)
    large = make_problem(program("j2d5pt"), (512, 512), 64, boundary="wrap")
    found = prepare(large, read_target(OCLGRIND))
    blocks = plan_blocks(large, machine, lambda block: gpu_defaults(block, machine)[0].tiling)
    assert found.plan.block == blocks.extended
    assert found.plan.tiling == blocks.tiling


@pytest.mark.parametrize("fault", ["spills", "shared", "threads"])
def test_an_untuned_run_takes_the_next_best_where_the_first_does_not_fit(monkeypatch, fault):
    from tilewright.runtime.devices import gpu

    machine = as_machine("gtx980")
    large = make_problem(program("star2d2r"), (512, 512), 64)
    ways = [each.tiling for each in gpu_defaults(large, machine)]
    load = gpu.load

    def spoilt(device, artifact, schedule):
        first = schedule.tiling.family == ways[0].family
        if first and fault == "shared":
            raise ArrayError("a group needs more on chip")
        found = load(device, artifact, schedule)
        if first and fault == "spills":
            return replace(found, resources=Resources(registers=255, spill_bytes=8, stack_bytes=0, shared_bytes=0))
        if first and fault == "threads":
            kernels = tuple(replace(each, threads=2048) for each in found.source.kernels)
            return replace(found, source=replace(found.source, kernels=kernels))
        return found

    monkeypatch.setattr(devices, "device_machine", lambda _: machine)
    monkeypatch.setattr(gpu, "load", spoilt)
    found = prepare(large, read_target(OCLGRIND))
    assert found.plan.tiling == next(each for each in ways if each.family != ways[0].family)
