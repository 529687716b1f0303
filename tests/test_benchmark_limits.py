"""The script that measures a machine's limits: what it times computes what it says, by any number of threads."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tilewright.runtime.toolchains.cpu import target_cpu

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def limits(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    import limits

    yield limits
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize(("real", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_chains_and_copies_are_computed(limits, tmp_path, real, dtype):
    calls = limits.compiled(real, target_cpu().simd_bits // 8, tmp_path)
    chains = dtype(0.999) * np.arange(limits.CHAINS, dtype=dtype)
    for _ in range(5):
        chains = chains * dtype(0.999) + dtype(1e-4)
    assert calls.chains(5) == pytest.approx(chains.sum(), rel=1e-5)
    source, target = np.arange(256, dtype=np.uint8), np.zeros(256, np.uint8)
    calls.copied(target.ctypes.data, source.ctypes.data, source.size)
    assert np.array_equal(source, target)


def test_a_record_holds_rates_and_samples_of_three_threads(limits, monkeypatch, tmp_path):
    """A number that divides no power of two, so that parts of the copied memory are no whole lines."""
    monkeypatch.setattr(limits, "TURNS", 1000)
    monkeypatch.setattr(limits, "BYTES", 2**16)
    assert limits.main(["--threads", "3", "--output", str(tmp_path / "limits.json")]) == 0
    record = json.loads((tmp_path / "limits.json").read_text())
    work = 3 * 1000 * limits.CHAINS * (record["vector_bytes"] // 4)
    assert record["float32"]["multiply_adds_per_second"] == pytest.approx(work / min(record["float32"]["seconds"]))
    moved = 2 * 3 * (2**16 // 3 // 64 * 64)
    assert record["copies"]["bytes_per_second"] == pytest.approx(moved / min(record["copies"]["seconds"]))
