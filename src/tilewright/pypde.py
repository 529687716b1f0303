"""Where py-pde's backend was until version 0.3.0."""

from tilewright.base.deprecations import GONE

raise ImportError(str(GONE["tilewright.pypde"]))
