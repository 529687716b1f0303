"""NVIDIA's disassembler: each that there is is asked, and what all of them say is one sentence."""

import pytest

from tilewright.base.errors import ToolchainError
from tilewright.runtime.devices import nvrtc

REFUSES = """echo 'nvdisasm fatal   : CUDA architecture "SM70" is deprecated. Please use CUDA toolkit 13.0' >&2
exit 1"""
LISTS = 'test "$1 $2" = "-c -hex" && cat "$3"'


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Let programs be found, each a script."""

    def put(*scripts):
        paths = []
        for place, script in enumerate(scripts):
            path = tmp_path / f"nvdisasm{place}"
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
            paths.append(str(path))
        monkeypatch.setattr(nvrtc, "_programs", lambda: tuple(paths))

    return put


def test_the_first_that_lists_the_code_is_taken(found):
    found(REFUSES, "exit 1", LISTS, "echo another")
    assert nvrtc.disassemble(b"listed") == "listed"


def test_what_none_lists_is_said(found):
    found(REFUSES)
    with pytest.raises(ToolchainError) as caught:
        nvrtc.disassemble(b"code")
    assert caught.value.message == (
        'nvdisasm refuses the machine code: CUDA architecture "SM70" is deprecated. Please use CUDA toolkit 13.0'
    )
    assert "older CUDA toolkit" in caught.value.hint


def test_a_missing_one_names_the_extra(found):
    found()
    with pytest.raises(ToolchainError, match=r"nvdisasm is missing.*tilewright\[cuda\]"):
        nvrtc.disassemble(b"code")
