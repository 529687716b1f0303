"""Options and fixtures for every test."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-golden``."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")


@pytest.fixture(autouse=True, scope="session")
def private_store(tmp_path_factory: pytest.TempPathFactory):
    """Nothing that was tuned or calibrated on this machine is seen by a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_STORE", str(tmp_path_factory.mktemp("store")))
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compare text with a file of ``tests/golden``, or write it with ``--update-golden``."""
    folder = Path(__file__).parent / "golden"

    def compare(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{name} changed; look at it, then run with --update-golden"

    return compare
