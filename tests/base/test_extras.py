"""Libraries of extras that are not there: one sentence, the extra named, and a ``ModuleNotFoundError`` as before."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tilewright.base.errors import UsageError
from tilewright.base.extras import MissingLibraryError, needed

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
