"""How a prediction depends on the numbers that nobody knows exactly: its slopes along them, in units of their spread.

Near a prediction p the logarithm of the true time is ``log p + sum_k d log p / d log c_k * e_k``, e_k the error of
the logarithm of number c_k: a linear model, whose coefficients measurements of candidates tell (Bayesian linear
regression: Rasmussen and Williams, Gaussian processes for machine learning, 2006, section 2.1). Two candidates bound by
the same number err together, however unlike their sizes are.
"""

from collections.abc import Callable, Mapping

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats
from tilewright.machines.machine import Machine
from tilewright.tuning.sensitivity import moved

SPREAD = 0.2
"""Prior standard deviation of the logarithm of a number. Between 0.15 and 0.3 replayed measurements say the same."""
STEP = 0.02
"""By which share a number is moved."""
NUMBERS = {
    "cpu": (
        "dram_bandwidth", "cache_bandwidth", "outer_bandwidth", "core_bandwidth", "launch_seconds", "row_seconds",
        "advance_seconds", "shared_bytes", "flop_cycles", "load_cycles", "c_iter", "c_iter streaming", "c_iter row",
    ),
    "gpu": (
        "dram_bandwidth", "l2_bandwidth", "barrier_seconds", "launch_seconds", "flop_cycles", "load_cycles", "c_iter",
        "c_iter streaming",
    ),
}  # fmt: skip
"""The numbers of a machine that move its rankings, by kind; those that it lacks have no slope."""


def slopes(numbers: Mapping[str, Floats], predicted: Floats) -> Floats:
    """Return the slopes, log over log times SPREAD, from predictions with each number times ``1 + STEP``."""
    columns = [np.log(each / predicted) / np.log1p(STEP) * SPREAD for each in numbers.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(predicted), 0))


def machine_slopes(machine: Machine, program: str, evaluate: Callable[[Machine], Floats]) -> Floats:
    """Return the slopes of predictions along the numbers of a machine, the same numbers whatever the candidates."""
    found = {}
    for name in NUMBERS[machine.kind]:
        try:
            other = moved(machine, program, name, 1.0 + STEP)
        except UsageError:  # the machine has no such number
            continue
        found[name] = evaluate(other)
    return slopes(found, evaluate(machine))
