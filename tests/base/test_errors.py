import itertools
import math
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tilewright.base import errors, intmath
from tilewright.base.errors import MissingLibraryError, UsageError, meant, needed
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


def test_division_rounds_up():
    for numerator, denominator in itertools.product(range(-7, 8), [1, 2, 3, 5]):
        assert intmath.ceil_div(numerator, denominator) == math.ceil(numerator / denominator), (numerator, denominator)
        up = intmath.round_up(numerator, denominator)
        assert up % denominator == 0, (numerator, denominator)
        assert numerator <= up < numerator + denominator, (numerator, denominator)


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


NAMES = ("heat2d", "heat3d", "wave2d", "jacobi2d")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("het2d", "did you mean heat2d?"),
        ("jacobi", "did you mean jacobi2d?"),  # its consonants begin those of one name
        ("wave2", "did you mean wave2d?"),
        ("WV2D", "did you mean wave2d?"),
    ],
)
def test_what_is_alike_is_meant(name, hint):
    assert meant(name, NAMES) == hint


def test_nothing_alike_says_the_other_sentence():
    assert meant("qqq", NAMES) == ""
    assert meant("qqq", NAMES, "`tilewright programs` lists them") == "`tilewright programs` lists them"
    assert meant("heat2d", ()) == ""


def test_known_names_may_be_an_iterator():
    assert meant("het2d", iter(NAMES)) == "did you mean heat2d?"


def test_at_most_three_are_named():
    many = [f"heat{number}d" for number in range(9)]
    assert meant("heat", many).count(" or ") == 2


ROOT = Path(__file__).parents[2]
ADAPTERS = {"xarray": "xarray", "jax": "jax", "torch": "torch"}
"""Adapters, and what each adapts."""


def _says(library, adapter):
    """What importing an adapter says in a process where a library cannot be imported."""
    code = f"""
import sys
sys.modules[{library!r}] = None
try:
    import tilewright.{adapter}
except ModuleNotFoundError as error:
    print(error.name, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(("adapter", "library"), ADAPTERS.items())
def test_an_adapter_without_its_library_names_the_extra(adapter, library):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert _says(library, adapter) == (
        f"{library} tilewright.{adapter} needs {library}, which is not installed "
        f'(hint: pip install "tilewright[{adapter}]")'
    )
    (requirement,) = extras[adapter]
    assert requirement.startswith(library)


def test_every_extra_that_is_named_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            _, call, rest = line.partition("with needed(")
            if call:
                words = rest.split('"')
                named.add(words[5] if "extra=" in rest else words[1])
    assert named >= {*ADAPTERS, "plot", "sparse", "fit", "annotate"}
    assert named <= set(extras)


def test_a_missing_library_is_an_error_of_imports_and_of_use():
    with pytest.raises(MissingLibraryError) as caught, needed("nothing_of_this_name", "a test", extra="plot"):
        import nothing_of_this_name  # noqa: F401
    assert isinstance(caught.value, UsageError)
    assert isinstance(caught.value, ModuleNotFoundError)
    assert caught.value.hint == 'pip install "tilewright[plot]"'
    assert caught.value.exit_status == 2


def test_a_library_that_is_too_old_or_lacks_another_is_not_called_missing():
    with (
        pytest.raises(MissingLibraryError, match=r"needs json, whose version here has no json\.nothing"),
        needed("json", "a test"),
    ):
        import json.nothing  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="'of_its_own'") as caught, needed("json", "a test"):
        import of_its_own  # noqa: F401
    assert not isinstance(caught.value, UsageError)
