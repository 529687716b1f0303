"""What all laws have in common."""

import pytest


@pytest.fixture(autouse=True)
def _quickly(mostly_unoptimised: None) -> None:
    """Laws draw many programs, of which few need the compiler's own diligence."""
