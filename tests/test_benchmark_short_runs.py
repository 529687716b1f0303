"""The benchmark of short runs: what it runs, and when it calls a default slower than no tiling."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def short_runs(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    import short_runs

    yield short_runs
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_waves_are_measured_without_warnings(short_runs, monkeypatch):
    """A warning in every call would be a part of what is measured."""
    monkeypatch.setattr(short_runs, "_LEAST_SECONDS", 0.0)
    found = short_runs.measured("wave2d", (64, 64), 50, 2, 1)
    assert found.tiling != "none"
    assert len(found.seconds) == len(found.plain_seconds) == 2


@pytest.mark.parametrize(
    ("seconds", "slower"),
    [([1.0] * 11, False), ([1.2] * 11, True), ([1.2] * 9 + [0.9] * 2, False), ([1.2] * 10 + [0.9], True), ([], False)],
)
def test_a_default_is_slower_beyond_noise_where_the_interval_of_the_median_says_so(short_runs, seconds, slower):
    case = short_runs.Case(
        program="j2d5pt",
        shape=(8, 8),
        steps=4,
        tiling="none",
        seconds=tuple(seconds),
        plain_seconds=(1.0,) * len(seconds),
    )
    assert case.slower is slower
    assert f"slower than none beyond noise: {int(slower)}" in short_runs.table([case])
