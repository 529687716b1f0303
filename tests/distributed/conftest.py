"""What every test of this folder looks at, whatever it is about."""

import pytest
from tests.sessions import closed_sessions  # noqa: F401  (a fixture)


@pytest.fixture(autouse=True)
def no_session_stays_open(closed_sessions, mostly_unoptimised) -> None:  # noqa: F811
    """Memory of sessions goes back, and few kernels need the compiler's own diligence."""
