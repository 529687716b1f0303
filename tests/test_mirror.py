"""Every module has its tests at the place that mirrors its own, or at one that ``covered_elsewhere.toml`` names."""

import ast
import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilewright

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "tilewright"
ELSEWHERE: dict[str, str] = tomllib.loads((TESTS / "covered_elsewhere.toml").read_text(encoding="utf-8"))["modules"]
FURTHEST = 2
"""Imports from one folder to another that may lie between a test and a module that is covered elsewhere."""


def dotted(path: Path) -> str:
    """Name a module; a package has the name of its folder."""
    return ".".join(("tilewright", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


PATHS = {dotted(path): path for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = {name: path for name, path in PATHS.items() if not path.name.startswith("__")}


def mirrored(path: Path) -> Path:
    """Where the tests of a module lie."""
    place = path.relative_to(PACKAGE)
    return TESTS / place.parent / f"test_{place.name}"


def listed(module: str) -> str | None:
    """The test file that is named for a module, or for the closest package that holds it."""
    name = module.removeprefix("tilewright.")
    while name and name not in ELSEWHERE:
        name = name.rpartition(".")[0]
    return ELSEWHERE.get(name)


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules_of(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, or whose public names it takes from the package."""
    for node in ast.walk(parsed(path)):
        match node:
            case ast.ImportFrom(module=str(home), level=0):
                yield home
                yield from (f"{home}.{each.name}" for each in node.names)
            case ast.Import():
                yield from (each.name for each in node.names)
            case ast.Attribute(value=ast.Name(id="tw")) if node.attr in tilewright._HOME:
                yield tilewright._HOME[node.attr]
            case ast.Constant(value=str(text)):  # pytest.importorskip, monkeypatch.setattr
                yield text


@functools.cache
def imports(module: str) -> frozenset[str]:
    return frozenset(modules_of(PATHS[module])) & PATHS.keys()


@functools.cache
def reached(test: Path) -> frozenset[str]:
    """Modules that a test file imports, those beside them that they import, and so through other folders, twice."""
    fixtures = [folder / "conftest.py" for folder in test.parents if TESTS in folder.parents]
    files = [test, *(path for path in fixtures if path.exists())]
    found: set[str] = set()
    far = {name for path in files for name in modules_of(path)} & PATHS.keys() - {"tilewright"}
    for _ in range(FURTHEST + 1):
        near = far - found
        far = set()
        while near:
            found |= near
            beyond = {(a, b) for a in near for b in imports(a) if b not in found}
            near = {b for a, b in beyond if PATHS[a].parent == PATHS[b].parent}
            far |= {b for _, b in beyond} - near
    return frozenset(found)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_its_tests(module):
    place = mirrored(MODULES[module])
    if place.exists():
        return
    named = listed(module)
    assert named, f"{module} has no {place.relative_to(TESTS.parent)}, nor a line in tests/covered_elsewhere.toml"
    assert (TESTS / named).is_file(), f"{named}, which is to test {module}, is not there"
    assert module in reached(TESTS / named), f"{named} does not reach {module}"


def test_commands_are_called_by_the_tests_that_are_named_for_them():
    """``cli/test_examples.py`` calls every command: it runs the examples of their help."""
    from tilewright.cli.app import _COMMANDS

    for name in _COMMANDS:
        named = ELSEWHERE.get(f"cli.{name}")
        if named and named != "cli/test_examples.py":
            assert f'"{name}"' in (TESTS / named).read_text(encoding="utf-8"), (name, named)


def test_the_list_holds_nothing_that_is_not_needed():
    assert list(ELSEWHERE) == sorted(ELSEWHERE)
    for name in ELSEWHERE:
        under = [path for module, path in MODULES.items() if f"{module}.".startswith(f"tilewright.{name}.")]
        assert any(not mirrored(path).exists() for path in under), f"{name} is tested at its own place, or is gone"
