import math

import pytest

from tilewright.base import errors, intmath
from tilewright.base.records import Measurement, Outcome


def test_an_error_is_its_sentence_and_its_hint():
    assert str(errors.UsageError("no such thing", "try another")) == "no such thing (hint: try another)"
    assert str(errors.ToolchainError("no compiler")) == "no compiler"


@pytest.mark.parametrize("name", ["UsageError", "TraceError", "ArrayError", "IllegalTilingError"])
def test_what_a_user_got_wrong_is_a_value_error_with_status_2(name):
    error = getattr(errors, name)("x")
    assert isinstance(error, ValueError)
    assert error.exit_status == 2


@pytest.mark.parametrize("name", ["TilewrightError", "ToolchainError", "WrongResultError"])
def test_what_failed_has_status_1(name):
    assert getattr(errors, name)("x").exit_status == 1


@pytest.mark.parametrize("numerator", range(-7, 8))
@pytest.mark.parametrize("denominator", [1, 2, 3, 5])
def test_division_rounds_up(numerator, denominator):
    assert intmath.ceil_div(numerator, denominator) == math.ceil(numerator / denominator)
    up = intmath.round_up(numerator, denominator)
    assert up % denominator == 0
    assert numerator <= up < numerator + denominator


def test_the_median():
    assert Measurement(seconds=(3.0, 1.0, 2.0)).median == 2.0
    assert Measurement(seconds=(4.0, 1.0, 2.0, 3.0)).median == 2.5
    assert math.isnan(Measurement(outcome=Outcome.CRASH).median)


def test_what_an_error_quotes_is_shortened_to_one_line():
    error = errors.UsageError("got\n\n  " + "x" * 9000, "a\nb")
    assert "\n" not in str(error)
    assert len(error.message) < 600
    assert error.hint == "a b"


def test_errors_of_others_are_said_in_a_sentence():
    with (
        pytest.raises(errors.ArrayError, match=r"^it cannot be read: No space left on device$"),
        errors.told("it cannot be read"),
    ):
        raise OSError(28, "No space left on device", "x")
    with (
        pytest.raises(errors.ArrayError, match=r"^it cannot be read: EOFError \(hint: again\)$"),
        errors.told("it cannot be read", "again"),
    ):
        raise EOFError
    with pytest.raises(errors.ToolchainError, match="ours"), errors.told("it cannot be read"):
        raise errors.ToolchainError("ours")
