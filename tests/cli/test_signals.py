"""A signal that no handler answers in time ends the process; ``tests/faults/test_signals.py`` sends real ones."""

import os
import signal
import threading

import pytest

from tilewright import cli


def watched(monkeypatch, *numbers, answered=False):
    """The statuses with which a process would end that got some signals, of which SIGINT's handler is the command's."""
    ended, reading, writing = [], *os.pipe()
    answer = threading.Event()
    if answered:
        answer.set()
    monkeypatch.setattr(cli, "GRACE", 0.0)
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(signal, "getsignal", {signal.SIGINT: "ours"}.get)
    os.write(writing, bytes(numbers))
    os.close(writing)
    cli._watch(reading, answer, "ours")
    return ended


def test_a_signal_without_an_answer_ends_the_process(monkeypatch):
    assert watched(monkeypatch, signal.SIGINT) == [130]
    assert watched(monkeypatch, signal.SIGUSR1, signal.SIGINT) == [130]  # however many come at once


def test_others_and_those_that_are_answered_do_not(monkeypatch):
    assert watched(monkeypatch, signal.SIGINT, answered=True) == []
    assert watched(monkeypatch, signal.SIGUSR1) == []


def test_an_interruption_that_no_signal_caused_is_passed_on():
    with pytest.raises(KeyboardInterrupt), cli.at_signals():
        raise KeyboardInterrupt
    with pytest.raises(SystemExit) as end, cli.at_signals():
        raise SystemExit(130)
    assert end.value.code == 130
