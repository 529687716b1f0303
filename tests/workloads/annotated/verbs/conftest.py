"""What tests of annotated C share."""

import pytest

from tilewright.workloads.annotated.verbs.meter import Beside


@pytest.fixture(autouse=True)
def variants_win(request, monkeypatch):
    """Let the best variant be written, whether or not it was surely faster: tests run small loops on busy machines."""
    if "measured" not in request.fixturenames:
        monkeypatch.setattr(Beside, "gained", property(lambda _: True))


@pytest.fixture
def measured():
    """Leave the choice between a variant and the original body to the times."""
