"""What functions cost: as many exponentials as their vectors take, on a CPU; on a GPU like divisions."""

from dataclasses import replace

import pytest

import tilewright as tw
from tilewright.costs.operations import Operations, count_operations, hard_cycles, sum_cycles
from tilewright.costs.rates import iteration_seconds
from tilewright.machines.files import load as machine
from tilewright.machines.numbers import FEW, MANY
from tilewright.machines.parameters import Quantity
from tilewright.schedules.sums import SumWork
from tilewright.tracing import trace


def tape(body):
    return trace(body).statements[0].tape


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda u: tw.exp(u[0, 0]) + u[0, 1], Operations(plain=1, functions=1, exponentials=1.0)),
        (lambda u: u[0, 0] / u[0, 1], Operations(divisions=1)),
        (lambda u: u[0, 0] ** -1.5, Operations(plain=1, divisions=2)),
        (lambda u: u[0, 0] ** 5.0, Operations(plain=3)),
    ],
)
def test_operations_are_counted_as_they_are_computed(body, expected):
    assert count_operations(tape(body), "float32") == expected


def test_a_longer_function_counts_as_more_exponentials():
    power = count_operations(tape(lambda u: u[0, 0] ** 2.3), "float32")
    wide = count_operations(tape(lambda u: u[0, 0] ** 2.3), "float64")
    assert 1.0 < power.exponentials < wide.exponentials


def test_functions_take_the_machines_cycles():
    cpu, gpu = machine("zen3"), machine("v100")
    count = Operations(divisions=2, functions=1, exponentials=1.5)
    known = replace(cpu, function_cycles=Quantity(value=20.0, unit="1", source="measured", note="a test"))
    assert hard_cycles(count, known) == pytest.approx(2 * cpu.special_cycles.value + 30.0)
    assert hard_cycles(count, gpu) == pytest.approx(3 * gpu.special_cycles.value)


def test_a_body_of_functions_is_dearer_by_what_they_take():
    cpu = machine("zen3")
    plain = iteration_seconds(trace(lambda u: u[0, 0] + u[0, 1]), cpu).value
    waves = iteration_seconds(trace(lambda u: tw.sin(u[0, 0]) + tw.cos(u[0, 1])), cpu).value
    assert (waves - plain) * cpu.clock.value == pytest.approx(3.0 * cpu.function_cycles.value)


def test_a_sum_takes_as_long_as_what_it_has_most_of():
    work = SumWork(products=12, additions=2, fused=2, loads=6, weights=12)
    assert [sum_cycles(work, units, 1, 3) for units in (MANY, FEW)] == [12.0, 6.0]
    loads = replace(work, products=2, loads=30)
    assert [sum_cycles(loads, units, 1, 3) for units in (MANY, FEW)] == [15.0, 15.0]
    assert sum_cycles(loads, FEW, 1, 12) == 21.0  # with weights that registers do not hold
