"""Runs commands in this process, the way a shell would see them."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tilewright.cli.app import app


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
