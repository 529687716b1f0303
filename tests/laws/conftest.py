"""Prints what the laws covered at the end of a run."""

from collections.abc import Iterator

import pytest

_LINES = pytest.StashKey[list[str]]()


@pytest.fixture
def law_report(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Lines to print in the terminal summary."""
    lines: list[str] = []
    yield lines
    request.config.stash.setdefault(_LINES, []).extend(lines)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the counts and seeds."""
    lines = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("laws")
        for line in lines:
            terminalreporter.write_line(line)
