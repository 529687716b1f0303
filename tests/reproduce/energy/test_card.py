"""Metered micro-benchmarks of a GPU: a driver and NVML's counter, both fakes on one clock, and what is not there."""

# ruff: noqa: N802  (the driver's own names)

import ctypes
import functools
import json
import sys
import types

import numpy as np
import pytest
from tests.runtime.fake_cuda import FakeDriver, installed, put

from energy import cpu as runtime
from energy import gpu as energy_gpu
from energy import metering as api
from energy.estimates import benchmarks
from energy.kernels import PER_TURN
from energy_micro import main
from tilewright import predict
from tilewright.base.errors import ToolchainError, UsageError
from tilewright.costs.energy.constants import constants
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.files import parse
from tilewright.runtime.devices import cuda

CPU = host_machine(CpuDescription(cores=2, simd_bits=256, l1_bytes=2**15, l2_bytes=2**20, l3_bytes=2**24, clock_hz=3e9))
RATE = {"awake": 1e7, "barrier": 2e7, "load": 1e6, "store": 1e6}
"""Turns per second, 1e7 where nothing else is said."""


class Card(FakeDriver):
    """A GPU whose kernels do as many turns as they are told, at rates of their own, and whose counter shows it."""

    def __init__(self):
        super().__init__(devices=("NVIDIA H100 80GB HBM3", "Card B"))
        self.now, self.microjoules, self.entries, self.started, self.between = 5.0, 0.0, [], False, 0.0

    def do_cuLibraryGetKernel(self, kernel, library, name):
        self.entries.append(ctypes.string_at(name).decode().removeprefix("tw_energy_"))
        put(kernel, ctypes.c_size_t, len(self.entries))

    def do_cuDeviceTotalMem(self, size, device):
        put(size, ctypes.c_size_t, 80 * 2**30)

    def do_cuMemAllocFromPoolAsync(self, pointer, size, pool, stream):
        put(pointer, ctypes.c_size_t, 1 << 40)

    def do_cuMemFreeAsync(self, pointer, stream):
        pass

    def do_cuMemcpyHtoDAsync(self, target, source, size, stream):
        pass

    def do_cuLaunchKernelEx(self, config, kernel, arguments, extra):
        name = self.entries[kernel - 1]
        groups, threads = (ctypes.c_uint32 * 4).from_address(config)[::3]
        words = (ctypes.c_size_t * 5).from_address(arguments)
        numbers = [ctypes.c_int32.from_address(word).value for word in words[2:]]
        turns, chunks, told = numbers
        assert (threads, told) == (128, groups)
        self.between = turns / RATE.get(name, 1e7)
        self.now += self.between
        if name == "load":
            name = "memory" if chunks > 1000 else "l2"
        count = turns * groups * (1 if name == "barrier" else 128) * PER_TURN.get(name, 64)
        self.microjoules += 1e6 * (self.between * 70.0 + count * GPU_JOULES.get(name, 0.0))

    def do_cuEventElapsedTime(self, milliseconds, first, last):
        put(milliseconds, ctypes.c_float, 1e3 * self.between)

    def sleep(self, seconds):
        self.now += seconds
        self.microjoules += 1e6 * seconds * 30.0


GPU_JOULES = {
    "add": 2e-12, "multiply": 3e-12, "fma": 4e-12, "int_add": 1e-12, "int_max": 5e-12, "divide": 4e-11,
    "shared_load": 1.2e-11, "shared_store": 9e-12, "l2": 9e-11, "memory": 4e-10, "store": 5e-10, "barrier": 3e-10,
}  # fmt: skip


@pytest.fixture
def card(monkeypatch):
    """A card and NVML's counter of it, both fakes, on a clock of their own."""
    fake = Card()

    def found(bus):
        assert bus == b"0000:01:00.0"
        return "handle"

    library = types.SimpleNamespace(
        NVMLError=RuntimeError,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByPciBusId=found,
        nvmlDeviceGetTotalEnergyConsumption=lambda _: int(fake.microjoules / 1e3),
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setattr(energy_gpu, "sleep", fake.sleep)
    monkeypatch.setattr(runtime, "time", types.SimpleNamespace(sleep=fake.sleep, time=lambda: fake.now))
    monkeypatch.setattr(runtime, "run_rounds", functools.partial(runtime.run_rounds, clock=lambda: fake.now))
    with installed(fake):
        yield fake


def test_a_gpu_by_its_counter_gives_a_machine_file(card, tmp_path, capsys):
    target, log = tmp_path / "card.toml", tmp_path / "windows.csv"
    main(["--backend", "cuda", "--log", str(log), "--meter", "nvml", "-o", str(target), "--json"])
    found = json.loads(capsys.readouterr().out)["constants"]
    alike = ("add", "multiply", "fma", "int_add", "int_max", "shared_store", "barrier")
    wanted = {f"{name}_joules": GPU_JOULES[name] for name in alike}
    wanted |= {"idle_watts": 30.0, "static_watts": 70.0, "division_joules": GPU_JOULES["divide"]}
    wanted["global_store_joules"] = GPU_JOULES["store"]
    words = {"shared_word_joules": "shared_load", "l2_word_joules": "l2", "global_word_joules": "memory"}
    wanted |= {name: GPU_JOULES[each] - GPU_JOULES["add"] for name, each in words.items()}
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        assert found[name]["value"] == pytest.approx(value, rel=0.01), name
    machine = parse(target.read_text(), "written")
    assert machine.name == "nvidia-h100-80gb-hbm3-metered"
    known = constants(machine)
    assert {known.global_word_joules.source, known.static_watts.source} == {"measured"}
    assert "NVML, windows of 3 s, 5 rounds" in known.shared_word_joules.note
    windows = api.read_windows(log, "gpu")
    assert [each.benchmark for each in windows] == [*benchmarks("gpu")] * 5
    assert all(each.seconds >= 3.0 for each in windows)
    assert predict("heat2d", shape=(4096, 4096), steps=64, machine=str(target)).costs.joules > 0


def test_a_gpu_runs_under_an_outer_meter(card, tmp_path):
    log, trace = tmp_path / "windows.csv", tmp_path / "watts.csv"
    how = api.MeterProtocol(rounds=2, window=1.0)
    assert api.log_windows(log=log, backend="cuda", how=how) == 2 * len(benchmarks("gpu"))
    rows = [
        (moment, 50.0 + number)
        for number, each in enumerate(api.read_windows(log, "gpu"))
        for moment in np.linspace(each.start, each.end, 9).tolist()
    ]
    trace.write_text("seconds,watts\n" + "".join(f"{s!r},{w!r}\n" for s, w in rows))
    found = api.micro_energy("k20c", backend="cuda", meter=str(trace), log=log)
    assert {each.name: each for each in found.constants}["idle_watts"].value == pytest.approx(57.0)
    assert found.machine.name == "k20c-metered"
    with pytest.raises(UsageError, match="unknown benchmark 'fma'"):
        api.micro_energy(CPU, meter=str(trace), log=log)


def test_a_gpu_that_is_not_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(cuda, "_LIBRARY", "libnothing.so.1")
    cuda.library.cache_clear()
    with pytest.raises(ToolchainError, match="the backend cuda needs NVIDIA's driver"):
        main(["--backend", "cuda"])
