"""Where a run could be slow without a word: nested differences, sweeps, colours and pictures, beside what users have.

    python benchmarks/silent.py [--repetitions 9] [--names tti …] [--quick] [--output FILE.json]

Contenders take turns, on one thread and on all; every result is compared, and a wrong one ends the run with status 1.

- ``tti``: a wave equation in a tilted medium, whose differences of eighth order are nested, beside the same equation
  with the inner differences in fields of their own, as one would write it by hand.
- ``sweep 0``, ``sweep 1``: one sweep of an implicit solver along an axis (``.new``), beside a loop in Numba.
- ``gauss seidel``: 1, 10 and 100 lexicographic sweeps, beside loops in Numba.
- ``red black``: the same of sweeps of two colours.
- ``blur``, ``sobel``, ``canny``: pictures of 8 bits, grey and RGB, beside OpenCV.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import environment
import summary
import tilewright as tw

Calls = dict[str, Callable[[], Any]]
PAUSE = 0.004
ORDER = 8


def tti(u: Any, cos: Any, sin: Any, k: Any) -> Any:  # noqa: ANN401
    """Waves in a medium of which the axis of symmetry is tilted: differences along the axis, twice."""
    def along(w: Any) -> Any:  # noqa: ANN401
        return cos[0, 0] * tw.diff(w, 0, order=ORDER) + sin[0, 0] * tw.diff(w, 1, order=ORDER)

    return 2 * u[0, 0] - u.prev[0, 0] + k[0, 0] * along(along(u))


def tti_staged(u: Any, g: Any, cos: Any, sin: Any, k: Any) -> Any:  # noqa: ANN401
    """The same, the inner difference in a field of its own."""
    def along(w: Any) -> Any:  # noqa: ANN401
        return cos[0, 0] * tw.diff(w, 0, order=ORDER) + sin[0, 0] * tw.diff(w, 1, order=ORDER)

    return 2 * u[0, 0] - u.prev[0, 0] + k[0, 0] * along(g.new), along(u)
