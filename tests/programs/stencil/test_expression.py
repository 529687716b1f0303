"""Tapes: common sub-expressions, constants, powers."""

import math

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import TraceError
from tilewright.programs.stencil.expression import (
    Apply,
    Const,
    Read,
    Value,
    apply,
    as_value,
    flatten,
    flops,
    reads,
)
from tilewright.programs.stencil.operators import OPERATORS
from tilewright.programs.stencil.program import FieldBuilder
from tilewright.programs.stencil.reference import evaluate

U = FieldBuilder("u")


def _evaluate(value, number=3.0):
    return evaluate(flatten(as_value(value)), lambda read: np.float64(number), {})


def test_equal_subexpressions_are_one_node():
    x = U[0] + U[1]
    again = U[0] + U[1]
    tape = flatten(x * again)
    assert tape == (Read("u", 0, (0,)), Read("u", 0, (1,)), Apply("add", (0, 1)), Apply("mul", (2, 2)))
    assert flops(tape) == 2
    assert len(reads(tape)) == 2


def test_order_of_operands_is_kept():
    assert flatten(U[0] + U[1]) != flatten(U[1] + U[0])


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (1.0, True), (0.0, -0.0), (0, False)])
def test_constants_that_are_only_equal_stay_apart(one, other):
    tape = flatten(apply("where", U[0] > 0, one, other))
    constants = [node.value for node in tape if isinstance(node, Const)]
    kinds = {(type(value), math.copysign(1.0, value)) for value in constants}
    assert (type(one), math.copysign(1.0, one)) in kinds
    assert (type(other), math.copysign(1.0, other)) in kinds


def test_nan_is_one_constant():
    nan = float("nan")
    tape = flatten(U[0] + nan + nan)
    assert sum(isinstance(node, Const) for node in tape) == 1


@pytest.mark.parametrize("exponent", range(1, 9))
def test_small_powers_are_products(exponent):
    tape = flatten(U[0] ** exponent)
    assert all(node.op == "mul" for node in tape if isinstance(node, Apply))
    assert _evaluate(U[0] ** exponent) == 3.0**exponent


def test_operators():
    for value, expected in [
        (1 - U[0], -2.0),
        (1 / U[0], 1 / 3.0),
        (U[0] / 2, 1.5),
        (2 ** U[0], 8.0),
        (U[0] ** 0.5, 3.0**0.5),
        (-U[0], -3.0),
        (+U[0], 3.0),
        (abs(-U[0]), 3.0),
        (np.sqrt(U[0]), math.sqrt(3.0)),
        (np.float32(2) * U[0], 6.0),
        (np.maximum(U[0], 5), 5.0),
        ((U[0] > 2) & (U[0] <= 3), True),
        ((U[0] < 2) | ~(U[0] == 3), False),
        (apply("where", U[0] != 3, 1, 2), 2),
    ]:
        assert _evaluate(value) == expected, (value, expected)


def test_every_operator_takes_its_operands():
    for operator in OPERATORS.values():
        assert np.ndim(operator.evaluate(*[np.int64(1)] * operator.arity)) == 0


def test_what_is_no_expression_is_refused():
    for action in [
        lambda: bool(U[0] > 1),
        lambda: 1 < U[0] < 2,
        lambda: tuple(U[0]),
        lambda: U[0] + "a",
        lambda: U[0] + np.ones(3),
        lambda: np.ones(3) * U[0],
        lambda: np.add.reduce(U[0]),
        lambda: np.hypot(U[0], 1),
        lambda: U["a"],
        lambda: U[0.5],
        lambda: U[True],
        lambda: U[:],
    ]:
        with pytest.raises(TraceError) as caught:
            action()
        assert "\n" not in str(caught.value), action


def test_a_long_chain_needs_no_recursion():
    total = U[0]
    for i in range(20_000):
        total = total + float(i)
    assert len(flatten(total)) == 40_001
    doubled = U[0]
    for _ in range(200):
        doubled = doubled + doubled
    assert len(flatten(doubled)) == 201


def test_an_endless_expression_is_refused():
    total = U[0]
    for i in range(60_000):
        total = total + float(i)
    with pytest.raises(TraceError, match="at most 100000 operations"):
        flatten(total)


def test_values_cannot_be_keys():
    with pytest.raises(TypeError):
        hash(Value(Const(1)))


@pytest.mark.filterwarnings("ignore:values of 'u' are not finite")
def test_programs_that_differ_in_the_sign_of_a_zero_are_two():
    zero = np.ones(4)
    found = [tw.run(tw.stencil(lambda u, k=k: u[0] / k), zero, steps=1, boundary="wrap") for k in (0.0, -0.0, 0.0)]
    assert [each[0] for each in found] == [math.inf, -math.inf, math.inf]
