"""Probes: what is sampled, in which order, and what a machine gets of it."""

import dataclasses

import pytest

from tilewright.base.errors import UsageError
from tilewright.machines.files import load
from tilewright.machines.parameters import Quantity
from tilewright.runtime.calibration.probes import Probe, measured, measured_again, quantities, samples, warmed


def probe(parameter, *values, calls=None, **others):
    """Return a probe that is prepared before its samples are taken, which are these."""

    def prepare():
        (calls if calls is not None else []).append(parameter)
        return iter(values).__next__

    return Probe(parameter, prepare, f"how {parameter} is measured", **others)


def test_every_probe_is_prepared_in_its_turn_and_tells_the_median_with_its_spread_in_the_parameters_unit():
    said = []
    probes = (
        probe("dram_bandwidth", 1e9, 3e9, 2e9, 9e9, calls=said, title="memory"),
        probe("core_bandwidth", 5e9, 5e9, 5e9, calls=said),
        probe("launch_seconds", 2e-6, 1e-6, 4e-6, calls=said, title="barriers"),
    )
    machine = measured(load("zen3"), probes, 3, said.append)
    assert said == ["memory", "dram_bandwidth", "core_bandwidth", "barriers", "launch_seconds"]
    for name, value, unit in (
        ("dram_bandwidth", 2e9, "B/s"),
        ("core_bandwidth", 5e9, "B/s"),
        ("launch_seconds", 2e-6, "s"),
    ):
        quantity = getattr(machine, name)
        assert (quantity.value, quantity.unit, quantity.source) == (value, unit, "measured")
        assert quantity.note == f"how {name} is measured"
        assert quantity.low <= value <= quantity.high
    assert machine.dram_bandwidth.low == pytest.approx(1.1e9)
    assert machine.clock == load("zen3").clock


def test_a_sample_that_warms_up_does_not_count():
    assert samples(warmed(iter((9.0, 1.0, 2.0)).__next__), 2) == (1.0, 2.0)


@pytest.mark.parametrize(("better", "value"), [({}, 2e-6), ({"better": min}, 1e-6), ({"better": max}, 2e-6)])
@pytest.mark.parametrize("low", [None, 1.5e-6])
def test_what_is_measured_again_widens_the_range_and_the_better_value_counts(better, value, low):
    known = Quantity(value=2e-6, unit="s", source="measured", note="first", low=low, high=low and 2.5e-6)
    machine = dataclasses.replace(load("zen3"), launch_seconds=known, outer_bandwidth=None)
    probes = (probe("launch_seconds", 1e-6, 1e-6, 7e-6, **better), probe("outer_bandwidth", 1.0, 1.0, 1.0))
    again = measured_again(machine, probes, 3)
    assert again.launch_seconds == dataclasses.replace(known, value=value, low=1e-6, high=(low and 2.5e-6) or 2e-6)
    assert again.outer_bandwidth is None


def test_no_samples_are_refused():
    with pytest.raises(UsageError, match="no samples"):
        quantities((probe("launch_seconds"),), 0)
