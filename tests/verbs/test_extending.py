"""The blocks of the page "Add a …": put into a copy of the package they do what the page says, and pass its linters."""

import ast
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", PAGE, flags=re.MULTILINE))
BLOCKS = re.findall(r'^```\w+ title="([^",]+), ([^"]+)"\n(.*?)^```', PAGE, flags=re.MULTILINE | re.DOTALL)
"""File, place in it, lines."""
FILES = sorted({path for path, _, _ in BLOCKS})
NEW = [path for path, place, _ in BLOCKS if place == "new"]


def placed(text, place, lines):
    """Put lines into the text of a module: ``before NAME``, ``in NAME``, ``instead of NAME``, ``with the imports``."""
    body, rows = ast.parse(text).body, text.splitlines(keepends=True)
    if place == "with the imports":
        last = max(node.end_lineno for node in body if isinstance(node, ast.Import | ast.ImportFrom))
        return "".join([*rows[:last], lines, *rows[last:]])
    how, _, name = place.rpartition(" ")
    (node,) = (node for node in body if name in _names(node))
    if how == "before":
        return "".join([*rows[: node.lineno - 1], lines, "\n\n", *rows[node.lineno - 1 :]])
    if how == "instead of":
        return "".join([*rows[: node.lineno - 1], lines, *rows[node.end_lineno :]])
    assert how == "in", place
    if isinstance(node, ast.ClassDef):
        field = [each for each in node.body if isinstance(each, ast.AnnAssign)][-1]
        indented = textwrap.indent(lines, " " * field.col_offset)
        return "".join([*rows[: field.end_lineno], indented, *rows[field.end_lineno :]])
    item = lines.strip()
    inner, end = node.value.elts if isinstance(node.value, ast.Tuple) else node.value.keys, node.value.end_lineno - 1
    if node.value.lineno == node.value.end_lineno:
        before, after = rows[end][: node.value.end_col_offset - 1], rows[end][node.value.end_col_offset - 1 :]
        return "".join([*rows[:end], f"{before}, {item}{after}", *rows[end + 1 :]])
    return "".join([*rows[:end], f"{' ' * inner[0].col_offset}{item},\n", *rows[end:]])


def _names(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("before TABLE", "import a\n\nADDED\n\n\nTABLE = {\n    1: 2,\n}\nSHORT = (3,)\n"),
        ("in TABLE", "import a\n\nTABLE = {\n    1: 2,\n    ADDED,\n}\nSHORT = (3,)\n"),
        ("with the imports", "import a\nADDED\n\nTABLE = {\n    1: 2,\n}\nSHORT = (3,)\n"),
        ("instead of SHORT", "import a\n\nTABLE = {\n    1: 2,\n}\nADDED\n"),
    ],
)
def test_lines_go_to_the_place_that_is_named(place, expected):
    assert placed("import a\n\nTABLE = {\n    1: 2,\n}\nSHORT = (3,)\n", place, "ADDED\n") == expected


def test_an_item_goes_into_a_tuple_of_one_line_and_a_field_into_a_class():
    assert placed("SHORT = (3, 4)\n", "in SHORT", "5\n") == "SHORT = (3, 4, 5)\n"
    text = "class A:\n    x: int\n\n    def f(self): ...\n"
    assert placed(text, "in A", "y: int\n") == "class A:\n    x: int\n    y: int\n\n    def f(self): ...\n"


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the package with every block in its place, and the files that the page shows."""
    folder = tmp_path_factory.mktemp("changed")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("benchmarks", "reproduce", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    assert len(BLOCKS) >= 9
    for path, place, lines in BLOCKS:
        file = folder / path
        assert file.exists() != (place == "new"), path
        text = lines if place == "new" else placed(file.read_text(encoding="utf-8"), place, lines)
        file.write_text(text, encoding="utf-8")
    for name, text in re.findall(r"with `(\w+\.py)`:\n\n```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _run(folder, line):
    words = shlex.split(line)
    command = [sys.executable, "-m", *words] if words[0] in {"tilewright", "pytest"} else words
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return "".join(f"{each.rstrip()}\n" for each in done.stdout.splitlines())


@pytest.mark.parametrize("section", [name for name, text in SECTIONS.items() if "```console" in text])
def test_the_commands_print_what_stands_below_them(changed, section):
    (block,) = re.findall(r"^```console\n(.*?)^```", SECTIONS[section], flags=re.MULTILINE | re.DOTALL)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for line, wanted in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
        printed = _run(changed, line)
        assert doctest.OutputChecker().check_output(wanted, printed, flags), printed


def test_examples_in_new_modules_run(changed):
    modules = [path for path in NEW if path.endswith(".py")]
    assert modules
    assert all(">>>" in (changed / path).read_text(encoding="utf-8") for path in modules)
    assert not _run(changed, shlex.join([sys.executable, "-m", "doctest", *modules]))


def test_the_new_family_passes_the_tests_of_families(changed):
    assert " passed" in _run(changed, "pytest tests/schedules/test_families.py -q -k upwards -p no:cacheprovider")


@pytest.mark.parametrize("checker", ["ruff check", "ruff format --check", "mypy"])
def test_the_linters_pass(changed, checker):
    tool, *options = checker.split()
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed: pip install -e '.[dev]'")
    files = [path for path in FILES if path.endswith(".py")]
    known = ROOT / ".mypy_cache"
    if tool == "mypy" and known.is_dir():  # what is known of the package as it is
        shutil.copytree(known, changed / known.name)
    if tool == "ruff" and "--check" not in options:
        options += ["--ignore", "I001"]  # "with the imports" leaves their order to `ruff check --fix`
    assert _run(changed, shlex.join([tool, *options, *files]))
