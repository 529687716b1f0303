"""The diffs of the page "Add a …": applied to a copy of the package they do what the page says."""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", PAGE, flags=re.MULTILINE))
FILES = re.compile(r"^--- (?:a/|/dev/)\S+\n\+\+\+ b/(\S+)\n((?:(?!^--- ).*\n)*)", flags=re.MULTILINE)


def _diffs(text, title):
    return FILES.findall("".join(re.findall(rf"^```diff{title}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)))


def _apply(folder, path, hunks):
    """Put the hunks of a unified diff into a file, each where its old lines stand, once."""
    file = folder / path
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    for hunk in re.split(r"^@@ .* @@\n", hunks, flags=re.MULTILINE)[1:]:
        lines = [line or " " for line in hunk.splitlines()]
        old, new = ("".join(f"{line[1:]}\n" for line in lines if line[0] in kept) for kept in (" -", " +"))
        assert text.count(old) == 1 if old else not text, f"{path}: the lines of a hunk do not stand there once:\n{old}"
        text = text.replace(old, new) if old else new
    file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the package with every diff applied, and the files that the page shows."""
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    applied = [_apply(folder, *diff) for diff in _diffs(PAGE, "")]
    assert len(applied) >= 5
    for name, text in re.findall(r"with `(\w+\.py)`:\n\n```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _run(folder, line):
    words = shlex.split(line)
    command = [sys.executable, "-m", *words] if words[0] == "tilewright" else words
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return "".join(f"{each.rstrip()}\n" for each in done.stdout.splitlines())


@pytest.mark.parametrize("section", [name for name, text in SECTIONS.items() if "```console" in text])
def test_the_commands_print_what_stands_below_them(changed, section):
    (block,) = re.findall(r"^```console\n(.*?)^```", SECTIONS[section], flags=re.MULTILINE | re.DOTALL)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for line, wanted in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
        printed = _run(changed, line)
        assert doctest.OutputChecker().check_output(wanted, printed, flags), printed


def test_examples_in_new_modules_run(changed):
    new = [path for path, hunks in _diffs(PAGE, "") if hunks.startswith("@@ -0,0 ") and path.endswith(".py")]
    assert new
    for path in new:
        assert ">>>" in (changed / path).read_text(encoding="utf-8")
        assert not _run(changed, f"{sys.executable} -m doctest {path}")


def test_what_is_from_history_still_stands():
    diffs = _diffs(PAGE, ' title="From the repository\'s history"')
    assert diffs
    for path, lines in diffs:
        text = (ROOT / path).read_text(encoding="utf-8")
        for part in lines.split("…\n"):
            assert "".join(f"{line[1:]}\n" for line in part.splitlines()) in text, path
