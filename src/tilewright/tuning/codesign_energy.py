"""Energy as codesign needs it, and what a metric makes of time and energy.

E = P_stat T + E_dyn (thesis, appendix B). The dynamic part depends on the program and its tiles: words between chip
and memory, on-chip accesses and operations. P_stat goes with the area of the design: an assumption of ours, since the
thesis' P_stat belongs to one chip and would make silicon free.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats
from tilewright.machines.machine import Machine
from tilewright.tuning.codesign import Case

METERED = ("static_watts", "global_word_joules", "shared_word_joules", "add_joules")


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """The energy model of a set of designs.

    Attributes:
        watts: Static power per design, of the designs' shape (outer, n_SM, n_V, M_SM).
        word: Joules per 4-byte word between chip and memory, e_gs.
        access: Joules per on-chip load or store, e_sr.
        flop: Joules per operation.
        watts_per_mm2: Static power per area.
    """

    watts: Floats
    word: float
    access: float
    flop: float
    watts_per_mm2: float = 0.0

    def dynamic(self, case: Case, words: Floats) -> Floats:
        """Return the dynamic energy of a case in joules, given the words that it moves off chip."""
        program = case.problem.program
        updates = float(case.problem.cells) * case.problem.steps
        per_update = self.flop * program.flops + self.access * (program.loads + len(program.statements))
        return np.asarray(self.word * words + updates * per_update)


def energy_of(machine: Machine, areas: Floats, area: float) -> Energy:
    """Make the energy model from a metered machine.

    Args:
        machine: The machine whose energies are known, such as ``k20c``.
        areas: Areas of the designs, mm^2.
        area: That of the machine, by the same area model.

    Returns:
        The model; static power is the machine's, per mm^2.

    Raises:
        UsageError: If the machine's energies are not known.
    """
    missing = [name for name in METERED if getattr(machine, name) is None]
    if missing:
        raise UsageError(
            f"the energies of {machine.name} are not known: it has no {missing[0]}",
            "take those of another machine: --energy-of k20c",
        )
    watts, word, access, flop = (getattr(machine, name).value for name in METERED)
    return Energy(watts=areas * (watts / area), word=word, access=access, flop=flop, watts_per_mm2=watts / area)


def value(metric: str, seconds: Floats, joules: Floats, watts: Floats | float) -> Floats:
    """Return what a metric makes of a time and a dynamic energy under a static power; least is best.

    The metric ``per_area`` chooses tiles as ``time`` does, since they do not change the area.
    """
    if metric in {"time", "per_area"}:
        return seconds
    whole = np.asarray(watts * seconds + joules)
    return whole if metric == "energy" else np.asarray(seconds * whole)


def longest(metric: str, limit: Floats, joules: float, watts: Floats | float) -> Floats:
    """Return the longest time whose value is at most a limit, for at least so much dynamic energy."""
    if metric in {"time", "per_area"}:
        return limit
    if metric == "energy":
        return np.asarray((limit - joules) / watts)
    return np.asarray(2.0 * limit / (joules + np.sqrt(joules * joules + 4.0 * watts * limit)))
