"""What tests of annotated C from end to end share."""

from contextlib import contextmanager

import pytest

from tilewright.runtime.workers.pool import pool
from tilewright.workloads.annotated.verbs import site
from tilewright.workloads.annotated.verbs.meter import Beside


@pytest.fixture(scope="session")
def workers():
    """A process in which variants run, one for all tests: it keeps what the last original body made, and no more."""
    with pool(1) as opened:
        yield opened


@pytest.fixture(autouse=True)
def one_worker(workers, monkeypatch):
    """Regions are tuned in that process, so that none is started for each."""

    @contextmanager
    def opened(count):
        assert count == 1
        yield workers

    monkeypatch.setattr(site, "pool", opened)


@pytest.fixture(autouse=True)
def variants_win(request, monkeypatch):
    """Let the best variant be written, whether or not it was surely faster: tests run small loops on busy machines."""
    if "measured" not in request.fixturenames:
        monkeypatch.setattr(Beside, "gained", property(lambda _: True))


@pytest.fixture
def measured():
    """Leave the choice between a variant and the original body to the times."""
