"""Schemes past their stability limit are warned of before they run, are tuned or are predicted."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.programs.stencil import stability
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.warn import warn_once

_STABLE: dict[tuple[Any, ...], Program] = {}
"""Programs, with their scalars' values, that are known to be stable: hashing a program takes as long as a small run."""
_MOST_STABLE = 256


def warn_if_unstable(problem: Problem, scalars: Mapping[str, Any]) -> None:
    """Warn, once, if a run is past the stability limit of its scheme, where that can be derived.

    Args:
        problem: The problem.
        scalars: Values of the program's scalars, as far as they are known.
    """
    scalars = {name: value for name, value in scalars.items() if not np.ndim(value)}
    key = (id(problem.program), *scalars.values())
    if _STABLE.get(key) is problem.program or not problem.rounds:
        return
    known = tuple(scalars.items())
    text = stability.advice(problem.program, known, problem.steps)
    if text:
        warn_once(text)
    elif stability.growth(problem.program, known) is None:
        if len(_STABLE) >= _MOST_STABLE:
            _STABLE.clear()
        _STABLE[key] = problem.program
