"""A line about a call that takes long: in a terminal or a notebook, after some patience, gone at its end."""

import io
import sys
import threading
import time
import types

import pytest

from tilewright.report import progress


def test_a_long_call_is_told_of_and_the_line_is_taken_away(terminal):
    stream = terminal()
    with progress.waiting("heat", lambda: (0.5, None), patience=0.05):
        stream.until("after")
    told = stream.getvalue()
    assert "\rheat: 50 % after " in told
    assert told.endswith("\r")
    assert told.rpartition("\r")[0].rpartition("\r")[2].strip() == ""


def test_a_short_call_says_nothing_and_leaves_no_thread(terminal):
    stream = terminal()
    before = threading.active_count()
    with progress.waiting("heat", lambda: pytest.fail("nothing is to be said"), patience=5.0):
        pass
    assert stream.getvalue() == ""
    assert threading.active_count() == before


def test_an_error_ends_the_line(terminal):
    stream = terminal()

    def fail():
        with progress.waiting("heat", lambda: (-1.0, 30.0), patience=0.02):
            stream.until("of some")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert "of some 30 s" in stream.getvalue()


def test_without_anybody_who_looks_no_thread_is_started(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(threading, "Thread", lambda **_: pytest.fail("nobody looks"))
    with progress.waiting("heat", lambda: (0.5, None), patience=0.0):
        time.sleep(0.02)
    assert sys.stderr.getvalue() == ""


def test_a_notebook_is_seen(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert progress.seen()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert not progress.seen()
