"""Runs commands in this process, the way a shell would see them."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from tilewright.base import tables
from tilewright.base.tables import Pairs, Table
from tilewright.cli import output
from tilewright.cli.app import app
from tilewright.runtime.calibration import cpu as calibrate


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Call the command line; the current folder is empty and no setting of this machine is seen."""
    for name in ("BACKEND", "BOUNDARY", "DTYPE", "MACHINE", "MODEL", "STRICT", "THREADS"):
        monkeypatch.delenv(f"TILEWRIGHT_{name}", raising=False)
    monkeypatch.chdir(tmp_path)

    def call(*args: object) -> Result:
        with pytest.raises(SystemExit) as ended:
            app([str(arg) for arg in args], prog_name="tilewright")
        captured = capsys.readouterr()
        code = ended.value.code
        return Result(code=code if isinstance(code, int) else 0, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def little(monkeypatch):
    """Calibrating measures hardly anything."""
    protocol = calibrate.CpuProtocol(instances=2, samples=2, stream_bytes=2**20, streams=1)
    monkeypatch.setattr(calibrate, "QUICK", protocol)
    monkeypatch.setattr(calibrate, "_stream_bytes", lambda *_: protocol.stream_bytes)


@pytest.fixture
def refuses(cli):
    """Call the command line and check that it refuses in one sentence: no traceback, at most 8 lines, no output."""

    def call(*args: object, code: int = 2) -> str:
        result = cli(*args)
        assert result.code == code, result.err
        assert result.out == ""
        assert result.err.startswith("error: ")
        assert len(result.err.splitlines()) <= 8
        assert "Traceback" not in result.err
        return result.err

    return call


@pytest.fixture
def whole(monkeypatch):
    """Check of all that commands print that nothing is cut, whatever the width; return what they print by and by."""
    printed = []

    def check(shown, stream, print_it=output._print):
        nothing_is_cut(shown)
        printed.append(shown)
        print_it(shown, stream)

    monkeypatch.setattr(output, "_print", check)
    return printed


def nothing_is_cut(shown):
    """At every width the words are those of a pipe, and whatever holds together lies on one line.

    Rows that are stacked repeat their headings. No line is wider than the terminal but one that cannot be folded.
    """
    piped = tables.lay_out(shown, None)
    headings = Counter(word for column in _headings(shown) for word in column.split())
    for width in (20, 60, 80, 120):
        lines = tables.lay_out(shown, width)
        words, narrow = (
            Counter(word for line in many for word in line.split() if word.strip("-")) for many in (piped, lines)
        )
        assert words.keys() == narrow.keys()
        assert all(narrow[word] == words[word] or word in headings for word in words)
        assert all(any(part in line for line in lines) for part in _texts(shown)), (width, lines)
        assert all(tables._cells(line) <= width or len(_parts(line)) == 1 for line in lines), (width, lines)


def _parts(line):
    return tables._PART.findall(line)


def _headings(shown):
    if isinstance(shown, Table):
        return [column.removeprefix(">") for column in shown.columns]
    return [each for part in shown for each in _headings(part)] if isinstance(shown, list | tuple) else []


def _texts(shown):
    """Whatever is not folded: parts of sentences, of cells, of headings."""
    if isinstance(shown, str):
        return [part for line in shown.split("\n") for part in _parts(line)]
    if isinstance(shown, Table):
        return [
            part
            for text in (shown.title, *_headings(shown), *(c for row in shown.rows for c in row))
            for part in _texts(text)
        ]
    if isinstance(shown, Pairs):
        return [part for text in (shown.title, *shown.facts, *shown.facts.values()) for part in _texts(text)]
    return [text for part in shown for text in _texts(part)]
