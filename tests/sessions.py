"""Sessions of compiled kernels: whoever starts one hands its memory back, once, on every way out."""

import itertools
from collections.abc import Iterator

import pytest

from tilewright.runtime.session import Session


@pytest.fixture
def closed_sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every session that a test starts in this process is closed once."""
    numbers, closed, count = dict[int, int](), list[int](), itertools.count()
    init, close = Session.__init__, Session.close

    def begin(self, *arguments, **options) -> None:
        init(self, *arguments, **options)
        numbers[id(self)] = next(count)

    def end(self) -> None:
        closed.append(numbers[id(self)])
        close(self)

    monkeypatch.setattr(Session, "__init__", begin)
    monkeypatch.setattr(Session, "close", end)
    yield
    started = next(count)
    assert sorted(closed) == list(range(started)), f"{started} sessions were started, and these closed: {closed}"
