"""Machine files are read back as they were."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.machines.dump import to_toml
from tilewright.machines.files import HOST, load, names, parse
from tilewright.machines.host import CpuDescription, host_machine
from tilewright.machines.parameters import Quantity


@pytest.mark.parametrize("name", [name for name in names() if name != HOST])
def test_every_machine_of_the_catalogue(name):
    assert parse(to_toml(load(name)), name) == load(name)


@given(st.text(min_size=1), st.text(), st.floats(1e-300, 1e300), st.text(min_size=1, max_size=20))
def test_any_text_and_any_number(title, note, value, program):
    machine = host_machine(
        CpuDescription(cores=3, simd_bits=256, l1_bytes=1 << 15, l2_bytes=1 << 20, l3_bytes=0, clock_hz=2e9)
    )
    quantity = Quantity(value=value, unit="s", source="measured", note=note, low=0.0, high=value)
    changed = dataclasses.replace(machine, title=title, c_iter=((program, quantity),))
    assert parse(to_toml(changed), "text") == changed
