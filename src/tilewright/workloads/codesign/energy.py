"""Energy as codesign needs it, and what a metric makes of time and energy.

E = P_stat T + E_dyn (thesis, appendix B). The dynamic part depends on the program and its tiles, by the rule of
:mod:`tilewright.costs.energy.price`. P_stat goes with the area of the design: an assumption of ours, since the
thesis' P_stat belongs to one chip and would make silicon free.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import WORD
from tilewright.costs.arrays import Floats
from tilewright.costs.energy.constants import Constants, require_known
from tilewright.costs.energy.price import rule
from tilewright.machines.machine import Machine
from tilewright.tuning import energy as choices
from tilewright.workloads.codesign.design import WeightedProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignEnergy:
    """The energy model of a set of designs."""

    watts: Floats  # static power per design, of the designs' shape (outer, n_SM, n_V, M_SM)
    known: Constants  # of the machine whose energies are taken
    watts_per_mm2: float = 0.0  # static

    def dynamic(self, case: WeightedProblem, words: Floats) -> Floats:
        """Return a case's dynamic joules by 4-byte words moved off chip."""
        return rule(case.problem, self.known).dynamic(WORD * words)


def energy_of(machine: Machine, areas: Floats, area: float) -> DesignEnergy:
    """Make the energy model of designs from a metered machine, whose ``area`` is by the same area model, in mm^2."""
    known = require_known(machine)
    watts = known.static_watts.value
    return DesignEnergy(watts=areas * (watts / area), known=known, watts_per_mm2=watts / area)


def value(metric: str, seconds: Floats, joules: Floats, watts: Floats | float) -> Floats:
    """Return what a metric makes of a time and a dynamic energy under a static power; least is best.

    The metric ``per_area`` chooses tiles as ``time`` does, since they do not change the area.
    """
    if metric in {"time", "per_area"}:
        return seconds
    return choices.value(metric, seconds, np.asarray(watts * seconds + joules))


def longest(metric: str, limit: Floats, joules: float, watts: Floats | float) -> Floats:
    """Return the longest time whose value is at most a limit, for at least so much dynamic energy."""
    if metric in {"time", "per_area"}:
        return limit
    if metric == "energy":
        return np.asarray((limit - joules) / watts)
    known = np.where(np.isfinite(limit), limit, 0.0)
    time = 2.0 * known / (joules + np.sqrt(joules * joules + 4.0 * watts * known))
    return np.where(np.isfinite(limit), time, np.inf)
