"""How rankings and predictions depend on a machine's numbers: each is moved, the results are compared.

Near a prediction p the logarithm of the true time is ``log p + sum_k d log p / d log c_k * e_k``, e_k the error of
the logarithm of number c_k: a linear model, whose coefficients measurements of candidates tell (Bayesian linear
regression: Rasmussen and Williams, Gaussian processes for machine learning, 2006, section 2.1). Two candidates bound by
the same number err together, however unlike their sizes are.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.costs.accuracy import Comparison
from tilewright.costs.arrays import Floats
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity

MOST = 1500  # candidates that are compared pair by pair; of more, the best and an even sample of the rest
INSENSITIVE = 0.999
"""A ranking that agrees at least so far with the unmoved one, and has the same winner, is called insensitive."""
SPREAD = 0.2
"""Prior standard deviation of the logarithm of a number. Between 0.15 and 0.3 replayed measurements say the same."""
STEP = 0.02  # by which share a number is moved
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sensitivity(Record):
    """What moving one parameter does to a ranking."""

    KEYS = "parameter share tau_down tau_up loss winner_moves insensitive"

    parameter: str  # name; ``c_iter`` for that of the program, ``c_iter streaming`` for that of its streaming tiles
    share: float  # by how much it was moved, up and down
    tau_down: float  # Kendall's rank correlation with the unmoved ranking after lowering it
    tau_up: float  # the same after raising it
    # what the winner of the worse of the two rankings costs in the unmoved model above the best, as a share
    loss: float
    winner_moves: bool  # whether either ranking has another winner

    @property
    def insensitive(self) -> bool:
        """Whether the parameter hardly matters for the choice of a tiling."""
        return min(self.tau_down, self.tau_up) >= INSENSITIVE and not self.winner_moves


def sensitivities(
    machine: Machine,
    program: str,  # whose C_iter is meant by ``c_iter``
    parameters: Sequence[str],
    evaluate: Callable[[Machine], Floats],  # costs of the same candidates on a machine; shape (n,)
    share: float = 0.2,
) -> tuple[Sensitivity, ...]:
    """Move every parameter up and down and compare the rankings; the one that matters most comes first."""
    if not 0 < share < 1:
        raise UsageError(f"a parameter is moved by a share between 0 and 1, got {share!r}")
    base = evaluate(machine)
    order = np.argsort(base, kind="stable")
    picked = order[np.unique(np.linspace(0, len(order) - 1, min(MOST, len(order))).astype(np.int64))]
    results = []
    for name in parameters:
        down, up = (evaluate(moved(machine, program, name, factor)) for factor in (1 - share, 1 + share))
        winners = [int(np.argmin(each)) for each in (down, up)]
        results.append(
            Sensitivity(
                parameter=name,
                share=share,
                tau_down=_agreement(base[picked], down[picked]),
                tau_up=_agreement(base[picked], up[picked]),
                loss=float(max(base[winner] for winner in winners) / base[order[0]] - 1.0),
                winner_moves=any(base[winner] > base[order[0]] for winner in winners),
            )
        )
    return tuple(sorted(results, key=lambda each: (min(each.tau_down, each.tau_up), each.parameter)))


def moved(machine: Machine, program: str, name: str, factor: float) -> Machine:
    """Return a machine with one parameter multiplied by a factor; its range is dropped."""
    if name.partition(" ")[0] == "c_iter":
        iterations, key = dict(machine.c_iter), program + name.removeprefix("c_iter")
        if key not in iterations:
            raise UsageError(f"{machine.name} has no C_iter of {key!r}")
        iterations[key] = iterations[key].at(factor * iterations[key].value)
        return replace(machine, c_iter=tuple(iterations.items()))
    quantity = getattr(machine, name, None)
    if not isinstance(quantity, Quantity):
        raise UsageError(f"{machine.name} has no parameter {name!r}")
    changes: dict[str, Any] = {name: quantity.at(factor * quantity.value)}
    return replace(machine, **changes)


def _agreement(first: Floats, second: Floats) -> float:
    """Return Kendall's tau of two rankings; 1 where nothing can be ordered, since then nothing has moved."""
    tau = Comparison(predicted=first, measured=second).kendall
    return 1.0 if math.isnan(tau) else tau


def slopes(numbers: Mapping[str, Floats], predicted: Floats) -> Floats:
    """Return the slopes, log over log times SPREAD, from predictions with each number times ``1 + STEP``."""
    columns = [np.log(each / predicted) / np.log1p(STEP) * SPREAD for each in numbers.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(predicted), 0))


def machine_slopes(machine: Machine, program: str, evaluate: Callable[[Machine], Floats]) -> Floats:
    """Return the slopes of predictions along the numbers of a machine, the same numbers whatever the candidates."""
    moved_costs = {}
    for name in NUMBERS[machine.kind]:
        try:
            other = moved(machine, program, name, 1.0 + STEP)
        except UsageError:  # the machine has no such number
            continue
        moved_costs[name] = evaluate(other)
    return slopes(moved_costs, evaluate(machine))
