"""What tests of meters share with those of the layer that they run on."""

from tests.runtime.conftest import device, forgotten

__all__ = ["device", "forgotten"]
