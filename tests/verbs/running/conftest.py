"""What all tests of this folder have in common."""

import pytest


@pytest.fixture(autouse=True)
def _quickly(mostly_unoptimised: None) -> None:
    """Few kernels need the compiler's own diligence."""
