"""A pytest plugin that writes which lines of the mutated parts of the package each test runs, and how long it takes.

Loaded by ``tests/mutations.py`` with ``-p tests.mutation_map``; the variable ``MUTATION_MAP`` names the file. What a
fixture of a wider scope than one test runs belongs to every test of its file; what an import runs, to every test.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "tilewright"
ELSEWHERE = {"torch.py", "pypde.py"}
"""Files whose tests need libraries that the test run does not install."""
LAYERS = tuple(
    sorted(
        path.name
        for path in PACKAGE.iterdir()
        if (path / "__init__.py").exists() or (path.name.endswith(".py") and path.name not in ELSEWHERE)
    )
)
"""Folders and files that get errors: all of the package."""
SHARED = "*"
IMPORTED = ""


def _spent() -> float:
    """Processor time of this process and those that it waited for."""
    return sum(os.times()[:4])


class Recorder:
    """Coverage per test."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.coverage = coverage.Coverage(data_file=None, include=[f"{PACKAGE}/*"])
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])  # of tests that reach none of it
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Everything until the test's end is the test's."""
        self.coverage.switch_context(item.nodeid)
        begin = _spent()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = round(_spent() - begin, 3)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[object]:
        """What several tests share."""
        if fixturedef.scope == "function":
            return (yield)
        self.coverage.switch_context(SHARED)
        try:
            return (yield)
        finally:
            node = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0] or request.node.nodeid
            self.coverage.switch_context(node)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails without any mutation says nothing."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the map."""
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[str, list[int]]] = {}
        for name in data.measured_files():
            file = str(Path(name).relative_to(PACKAGE))
            for number, contexts in data.contexts_by_lineno(name).items():
                for context in contexts:
                    lines.setdefault(context, {}).setdefault(file, []).append(number)
        tests = {name: seconds for name, seconds in self.seconds.items() if name not in self.failed}
        text = json.dumps({"seconds": tests, "failed": self.failed, "lines": lines})
        partial = self.target.with_suffix(".part")
        partial.write_text(text, encoding="utf-8")
        partial.replace(self.target)


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    config.pluginmanager.register(Recorder(Path(os.environ["MUTATION_MAP"])), "mutation-recorder")
