"""What the tool that puts errors in names is there: an error in a package that it forgets survives unseen."""

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("mutation_tool", TESTS / "mutations.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_package_gets_errors(tool):
    packages = {path.parent.name for path in tool.PACKAGE.glob("*/__init__.py")}
    assert {str(path.relative_to(tool.PACKAGE)).partition("/")[0] for path in tool.modules()} >= packages
    for name in (name for names in tool.RANKS.values() for name in names):
        assert list(TESTS.glob(f"{name}.py")), f"no file of tests is named {name}"


def test_an_error_under_which_nothing_can_be_imported_is_caught(tool):
    known = tool.Known(seconds={"one": 1.0}, sound={"one"})
    runs = []
    copy = SimpleNamespace(run=lambda tests, seconds: runs.append(tests) or "")
    assert tool._sound(copy, known, "(ended with 4)", ["one"])
    assert runs == [["one"]]
    with pytest.raises(SystemExit, match="cannot be run"):
        tool._sound(SimpleNamespace(run=lambda *_: "(ended with 4)"), known, "(ended with 4)", ["one"])


def test_draws_are_of_every_package(tool):
    names = [f"{package}/some.py: line: {number}" for package in ("large", "small") for number in range(50)]
    assert len({name.partition("/")[0] for name in tool._of_every_part(names, 2, tool.Counter())}) == 2
    assert len(tool._of_every_part(names, 200, tool.Counter())) == len(names)


def test_errors_without_effect_are_where_they_are_said_to_be(tool):
    known = json.loads((TESTS / "mutations_without_effect.json").read_text(encoding="utf-8"))
    files = {name.partition(": ")[0] for name in known}
    there = tool.named_sites(tool.PACKAGE / file for file in files)
    assert not [name for name in known if name not in there]
