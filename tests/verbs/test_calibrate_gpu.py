"""``tw.calibrate`` of a device: the whole path on the interpreter, whose times are its own and say so."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.codegen.gpu import micro as gpu_micro
from tilewright.inputs.stencil import as_program
from tilewright.machines import files
from tilewright.machines.defaults import GpuDescription, gpu_machine
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.calibration import fits as calibrate_fits
from tilewright.runtime.calibration import gpu as calibrate_gpu
from tilewright.runtime.calibration.gpu import calibration_tiling
from tilewright.runtime.devices import gpu, nvrtc, opencl
from tilewright.runtime.session import Inputs
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule
from tilewright.verbs import calibrate

MEASURED = ("dram_bandwidth", "barrier_seconds", "launch_seconds", "call_seconds", "shared_bandwidth")


@pytest.fixture(autouse=True)
def oclgrind():
    opencl.prepare_oclgrind()


def test_a_machine_file_with_provenance_and_spread(tmp_path):
    target = tmp_path / "mine.toml"
    found = tw.calibrate(["jacobi1d"], backend="opencl:oclgrind", output=target)
    machine = files.load(str(target))
    assert machine == found.machine
    for name in MEASURED:
        quantity = getattr(machine, name)
        assert quantity.source == "measured", name
        assert 0 < quantity.low <= quantity.value <= quantity.high
        assert "no GPU" in quantity.note
    known = dict(machine.c_iter)["jacobi1d"]
    assert known.value > 0
    assert "4 compute-only random instances" in known.note
    assert {each.parameter for each in found.sensitivity} >= {"c_iter", "dram_bandwidth"}
    costs = tw.predict("jacobi1d", shape=(512,), steps=32, machine=str(target)).costs
    assert np.isfinite(costs.seconds)


def test_a_time_that_is_up_measures_the_fewest_and_says_so(tmp_path, monkeypatch):
    """The first program gets the fewest instances, by one compiled kernel; the next one is left out."""
    monkeypatch.setattr(calibrate_gpu, "TINY", replace(calibrate_gpu.TINY, instances=9, fewest=2))
    monkeypatch.setattr(calibrate, "sensitivity", lambda *_, **__: ())  # not what this is about, and slow
    loaded = []
    load = gpu.load
    monkeypatch.setattr(calibrate_gpu.gpu, "load", lambda *given: loaded.append(given[2]) or load(*given))
    notes = []
    found = tw.calibrate(
        ["j2d5pt", "jacobi1d"],
        backend="opencl:oclgrind",
        output=tmp_path / "mine.toml",
        seconds=1e-6,
        note=notes.append,
    )
    assert found.left_out == ("jacobi1d",)
    assert found.fits["j2d5pt"].instances == 2
    assert len(loaded) == 1
    assert "2 compute-only random instances (of 9: the time was up)" in dict(found.machine.c_iter)["j2d5pt"].note
    assert found.to_dict()["left_out"] == ["jacobi1d"]
    assert "not measured, since the time was up: jacobi1d" in str(found)
    assert "C_iter of jacobi1d is not measured: the time is up" in notes


def test_what_cannot_be_calibrated_is_said():
    with pytest.raises(UsageError, match="seconds of a calibration are a positive number"):
        tw.calibrate(["j2d5pt"], backend="opencl:oclgrind", seconds=0.0)
    with pytest.raises(UsageError, match="only the calibration of a GPU has a time limit"):
        tw.calibrate(["j2d5pt"], backend="c", seconds=5.0)
    with pytest.raises(UsageError, match="one of auto, c, opencl and cuda"):
        tw.calibrate(["j2d5pt"], backend="metal")
    with pytest.raises(UsageError, match="is not calibrated"):
        tw.calibrate(["smith_waterman"], backend="opencl:oclgrind")


@tw.stencil
def heat(u, alpha):
    """A program with a scalar, which a kernel takes behind its numbers."""
    return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


@pytest.mark.parametrize(("made", "scalars"), [("j2d5pt", {}), (heat, {"alpha": 0.1})])
def test_a_kernel_at_rest_moves_nothing(capfd, made, scalars):
    """Told to rest it leaves every version as it was; told to move it computes what the plain kernel computes."""
    device = opencl.select("oclgrind")
    problem, tiling = make_problem(as_program(made), (19, 40), 4), parse("hybrid:t=4,s=3x8,threads=1x8")
    source = gpu_micro.at_rest(problem, gpu_schedule(problem, tiling), "opencl")
    u = np.random.default_rng(0).random(problem.shape, dtype=np.float32)
    results = []
    for moving in (0, 1):
        loaded = replace(gpu.program_of(device, source, gpu_schedule(problem, tiling)), extra=(moving,))
        session = gpu.GpuSession(loaded, problem, Inputs(arrays={"u": [u]}, scalars=scalars))
        session.advance(4)
        results.append(np.array(session.newest("u")))
        session.close()
    assert np.array_equal(results[0], u)
    np.testing.assert_allclose(results[1], tw.run(made, u, steps=4, backend="numpy", **scalars), rtol=1e-5)
    assert "invalid" not in capfd.readouterr().err.lower()


@pytest.mark.parametrize("name", ["j1d3pt", "j2d5pt", "j3d7pt"])
def test_nothing_of_a_kernel_at_rest_is_optimised_away(name):
    """Its code is about as long as the plain kernel's: it computes all that one computes."""
    from tilewright.codegen.gpu.emit import emit_device

    known = program(name)
    problem = make_problem(known, (512,) * known.rank, 64)
    tiling = calibration_tiling(problem)
    still = nvrtc.compile_cuda(gpu_micro.at_rest(problem, gpu_schedule(problem, tiling), "cuda").text, "sm_90")
    plain = nvrtc.compile_cuda(emit_device(problem, gpu_schedule(problem, tiling), "cuda").text, "sm_90")
    assert len(still.cubin) > 0.8 * len(plain.cubin)
    assert still.resources.shared_bytes == plain.resources.shared_bytes


def test_micro_benchmarks_compile_for_every_architecture():
    for architecture in ("sm_52", "sm_90"):
        needs = nvrtc.compile_kernels(gpu_micro.micro_source("cuda").text, architecture)
        assert set(needs) == {f"tw_micro_{name}" for name in ("empty", "copy", "barrier", "shared")}


def test_a_device_of_the_catalogue_starts_from_its_data_sheet():
    told = GpuDescription(name="Tesla V100-SXM2-16GB", units=80, clock_hz=1.53e9, capability=7.0)
    machine = gpu_machine(told)
    assert machine.peak_dram_bandwidth.value == 9e11
    assert machine.sm_count.source == "description"
    unknown = gpu_machine(GpuDescription(name="Graphics 9000", units=12, block_bytes=65536))
    assert unknown.sm_count.value == 12
    assert unknown.dram_bandwidth.source == "estimated"


def test_fits_recover_c_iter_from_exact_times():
    machine = gpu_machine(GpuDescription(name="NVIDIA H100", units=132))
    problem = make_problem(program("j2d5pt"), (512, 1024), 64)
    tiling = calibration_tiling(problem)
    instances = []
    for steps, height, shape in (
        (64, 16, (512, 1024)),
        (96, 8, (4096, 2048)),
        (128, 4, (300, 256)),
        (256, 2, (64, 64)),
    ):
        problem = make_problem(program("j2d5pt"), shape, steps)
        tiling = replace(tiling, time=height)
        factor, rest = calibrate_gpu._design(problem, tiling, machine)
        assert factor > 0
        assert rest > 0
        seconds = 3e-8 * factor + rest
        instances.append(
            calibrate_fits.Instance(
                shape=problem.shape, steps=steps, tiling=tiling, factors=(factor, rest), seconds=seconds
            )
        )
    found = calibrate_fits.fitted(instances)
    assert found.iteration == pytest.approx(3e-8, rel=0.02)


def test_the_shortest_of_several_runs_counts_and_the_first_one_warms_up(monkeypatch):
    times, closed = iter([1e-6, 7e-3, 5e-3, 6e-3]), []
    session = SimpleNamespace(timed=lambda steps: next(times), close=lambda: closed.append(True))
    monkeypatch.setattr(gpu, "GpuSession", lambda *_: session)
    assert calibrate_gpu._least_seconds(None, make_problem(program("j2d5pt"), (16, 16), 4)) == 5e-3
    assert closed == [True]
