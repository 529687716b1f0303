import re
import tomllib
from pathlib import Path

import pytest

from tilewright.verbs import doctor

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_doctor(cli):
    result = cli("doctor", "--json")
    assert result.code == 0
    names = [check["name"] for check in result.json["checks"]]
    assert {"python", "numpy", "compiler", "cpu", "threads", "memory", "cache", "matplotlib"} <= set(names)
    assert "compiler" in cli("doctor").out


def test_what_counts_as_required_are_the_dependencies_of_the_core(cli, monkeypatch):
    """An extra that is not installed is no fault."""
    needed = {re.match(r"[\w-]+", each)[0] for each in PROJECT["dependencies"]}
    assert set(doctor._REQUIRED) == needed
    monkeypatch.setattr(doctor, "_version", lambda name: "1.0" if name in needed else "")
    document = cli("doctor", "--json").json
    assert document["healthy"]
    assert {check["name"]: check["state"] for check in document["checks"]}["pillow"] == "absent"


def test_what_the_backends_of_gpus_would_find(cli, monkeypatch):
    """Absent is no fault; what is absent has its reason and what mends it."""
    from tilewright.runtime.devices import cuda, opencl

    monkeypatch.setattr(cuda, "_LIBRARY", "libnothing.so.1")
    cuda.library.cache_clear()
    checks = {check["name"]: check for check in cli("doctor", "--json").json["checks"]}
    assert checks["opencl"]["state"] == "ok"
    assert "Oclgrind" in checks["opencl"]["detail"]
    assert checks["nvrtc"]["state"] == "ok"
    assert checks["cuda"]["state"] == "absent"
    assert "needs NVIDIA's driver" in checks["cuda"]["detail"]
    assert checks["cuda"]["fix"] == "use the backend opencl or c"
    monkeypatch.setattr(opencl, "devices", lambda: ())
    document = cli("doctor", "--json").json
    absent = next(check for check in document["checks"] if check["name"] == "opencl")
    assert absent["state"] == "absent"
    assert "pip install 'tilewright[opencl]'" in absent["fix"]
    assert document["healthy"]


def test_a_missing_compiler_is_a_fault_with_a_fix(cli, monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("TILEWRIGHT_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    document = cli("doctor", "--json").json
    compiler = next(check for check in document["checks"] if check["name"] == "compiler")
    assert not document["healthy"]
    assert compiler["state"] == "fault"
    assert "gcc" in compiler["fix"]
    assert "NumPy" in compiler["detail"]


def test_a_compiler_that_does_not_exist_is_named(cli, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CC", "no-such-compiler")
    compiler = next(check for check in cli("doctor", "--json").json["checks"] if check["name"] == "compiler")
    assert "no-such-compiler" in compiler["detail"]
    assert compiler["fix"] == "unset TILEWRIGHT_CC"


def test_a_cache_that_others_may_write_is_a_fault(cli, monkeypatch, tmp_path):
    shared = tmp_path / "shared"
    (shared / "kernels").mkdir(parents=True)
    (shared / "kernels").chmod(0o777)
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(shared))
    cache = next(check for check in cli("doctor", "--json").json["checks"] if check["name"] == "cache")
    assert cache["state"] == "fault"
    assert "TILEWRIGHT_CACHE" in cache["fix"]


def test_a_wrong_number_of_threads_is_a_fault(cli, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    threads = next(check for check in cli("doctor", "--json").json["checks"] if check["name"] == "threads")
    assert threads["state"] == "fault"


def test_a_computer_that_nobody_calibrated_is_told_how(cli, monkeypatch, tmp_path):
    from tilewright.runtime.store import hosts

    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path))
    found = {check["name"]: check for check in cli("doctor", "--json").json["checks"]}["calibration"]
    assert found["state"] == "absent"
    assert "tilewright calibrate" in found["fix"]
    hosts.keep(hosts.host())
    found = {check["name"]: check for check in cli("doctor", "--json").json["checks"]}["calibration"]
    assert found["state"] == "ok"
    assert found["fix"] == ""


@pytest.mark.parametrize(("known", "state"), [(12080, "fault"), (13000, "ok"), (99000, "ok")])
def test_bindings_of_a_later_cuda_than_the_drivers_are_named(known, state):
    from cuda import bindings
    from tests.runtime import fake_cuda

    class Older(fake_cuda.FakeDriver):
        def do_cuDriverGetVersion(self, version):  # noqa: N802
            fake_cuda.put(version, fake_cuda.ctypes.c_int, known)

    with fake_cuda.installed(Older()):
        checks = [each for each in doctor.diagnose().checks if each.name == "cuda"]
    assert checks[0].state == "ok"
    assert "Card A, Card B" in checks[0].detail
    assert checks[-1].state == (state if int(bindings.__version__.partition(".")[0]) > 12 else "ok")
    if checks[-1].state == "fault":
        assert checks[-1].detail.endswith("is for a later CUDA than the driver knows, which is 12.8")
        assert checks[-1].fix.endswith("pip install 'cuda-bindings<13'")
