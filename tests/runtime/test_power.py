"""Power meters against fakes: counters that wrap, sensors that are sampled, recorded traces, and what is missing."""

import itertools
import sys
import types

import pytest

from tilewright.base.errors import UsageError
from tilewright.runtime import power


@pytest.fixture
def powercap(tmp_path):
    for name, value in (("intel-rapl:0", 900), ("intel-rapl:1", 10), ("intel-rapl:0:0", 5)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energy_uj").write_text(f"{value}\n")
        (tmp_path / name / "max_energy_range_uj").write_text("1000\n")
    return tmp_path


def _write(root, *values):
    for package, value in enumerate(values):
        (root / f"intel-rapl:{package}" / "energy_uj").write_text(f"{value}\n")


def test_rapl_sums_packages_and_unrolls_counters(powercap):
    meter = power.rapl(powercap)
    assert len(meter.files) == 2  # a package's own parts are already in it
    assert meter.joules() == 0.0
    _write(powercap, 950, 30)
    assert meter.joules() == pytest.approx(70e-6)
    _write(powercap, 50, 30)  # the first counter passed 1000
    assert meter.joules() == pytest.approx(170e-6)
    meter.close()


def test_what_has_no_meter_is_one_sentence(tmp_path, powercap, monkeypatch):
    with pytest.raises(UsageError, match="no energy counter of the processor"):
        power.rapl(tmp_path / "nothing")
    (powercap / "intel-rapl:1" / "max_energy_range_uj").unlink()
    with pytest.raises(UsageError, match=r"the energy counter '.*max_energy_range_uj' cannot be read"):
        power.rapl(powercap)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(UsageError, match="metering a GPU needs nvidia-ml-py"):
        power.nvml()


def _library(*, counts, power_sensor=True):
    class NVMLError(Exception):
        pass

    ticks = itertools.count(1)

    def refuse(_handle):
        raise NVMLError("Not Supported")

    def missing(number):
        if number:
            raise NVMLError("Invalid Argument")
        return "handle"

    return types.SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByIndex=missing,
        nvmlDeviceGetHandleByPciBusId=lambda bus: missing(bus != b"0000:65:00.0"),
        nvmlDeviceGetTotalEnergyConsumption=(lambda _h: 2000 * next(ticks)) if counts else refuse,
        nvmlDeviceGetPowerUsage=(lambda _h: 50_000) if power_sensor else refuse,
    )


def test_nvml_reads_its_counter(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", _library(counts=True))
    meter = power.nvml()
    assert meter.counts
    before = meter.joules()
    assert meter.joules() - before == pytest.approx(2.0)
    meter.close()


def test_nvml_finds_a_card_by_its_place(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", _library(counts=True))
    assert power.nvml("0000:65:00.0").handle == "handle"
    with pytest.raises(UsageError, match=r"the GPU 0000:17:00\.0 cannot be metered: Invalid Argument"):
        power.nvml("0000:17:00.0")


def test_nvml_integrates_its_sensor_where_there_is_no_counter(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", _library(counts=False))
    meter = power.nvml()
    assert not meter.counts
    for _ in range(1000):
        if meter.joules() > 0:
            break
        power.time.sleep(0.01)
    assert meter.joules() > 0
    meter.close()
    after = meter.joules()
    assert meter.joules() == after


def test_nvml_without_a_gpu_or_a_sensor_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", _library(counts=False, power_sensor=False))
    with pytest.raises(UsageError, match="the GPU 0 has no power sensor: Not Supported"):
        power.nvml()
    with pytest.raises(UsageError, match="the GPU 3 cannot be metered: Invalid Argument"):
        power.nvml(3)


def test_a_trace_is_integrated_between_any_moments(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("seconds,watts\n0,10\n1,30\n3,30\n4,0\n")
    trace = power.trace(path)
    assert trace.joules(0.0, 4.0) == pytest.approx(20 + 60 + 15)
    assert trace.joules(0.5, 2.0) == pytest.approx(12.5 + 30)
    with pytest.raises(UsageError, match="the trace covers 0 to 4 s, asked for 1 to 5 s"):
        trace.joules(1.0, 5.0)


@pytest.mark.parametrize(
    "text",
    ["seconds,watts\n0,1\n", "seconds,watts\n0,1\n0,2\n", "seconds,watts\n0,-1\n1,2\n", "seconds,watts\n0,nan\n1,2\n"],
)
def test_a_trace_must_be_increasing_and_finite(tmp_path, text):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match="two samples or more, at increasing times"):
        power.trace(path)


def test_other_files_are_no_traces(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("time,power\n0,1\n")
    with pytest.raises(UsageError, match="needs the columns seconds, watts"):
        power.trace(path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        power.trace(tmp_path / "absent.csv")


class _Counting:
    name = "fake"

    def __init__(self, each):
        self.total, self.each = 0.0, each

    def work(self):
        self.total += self.each

    def joules(self):
        return self.total

    def close(self):
        pass


def test_measuring_repeats_until_the_window_is_full():
    meter = _Counting(2.5)
    reading = power.measure(meter.work, meter, window=0.01, windows=3)
    assert reading.joules == reading.low == reading.high == pytest.approx(2.5)
    assert reading.repetitions >= 1
    assert reading.windows == 3
    assert reading.watts == pytest.approx(2.5 / reading.seconds)
    with pytest.raises(UsageError, match="the meter fake stood still"):
        power.measure(lambda: None, _Counting(0.0), window=0.001)
    with pytest.raises(UsageError, match="energy is measured over one window or more"):
        power.measure(meter.work, meter, window=0.0)
