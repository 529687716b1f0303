"""The tiling that a call asks for by name."""

from typing import overload

from tilewright.base.deprecations import DEPRECATIONS
from tilewright.runtime.warn import warn_of
from tilewright.schedules.tiling import Tiling, parse


@overload
def asked_tiling(tiling: Tiling | str) -> Tiling: ...
@overload
def asked_tiling(tiling: Tiling | str | None) -> Tiling | None: ...
def asked_tiling(tiling: Tiling | str | None) -> Tiling | None:
    """Read a tiling that a caller gives, as a value or as text; a family that goes warns."""
    asked = parse(tiling) if isinstance(tiling, str) else tiling
    if asked is not None and asked.family in DEPRECATIONS:
        warn_of(asked.family)
    return asked
