"""What every test of this folder looks at, whatever it is about."""

import pytest
from tests.sessions import closed_sessions  # noqa: F401  (a fixture)


@pytest.fixture(autouse=True)
def no_session_stays_open(closed_sessions) -> None:  # noqa: F811
    """Memory of sessions goes back."""
