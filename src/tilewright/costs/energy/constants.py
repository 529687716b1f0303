"""The energy constants of machines (Prajapati, thesis, table B.2): known ones, estimates, and other clocks."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tilewright.base.constants import BANKS, WORD
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity, estimated

NANOMETRES = 28.0  # the process of the K20c, from which the constants of other machines are estimated
_CPU_NANOMETRES = 10.0
_REFERENCE = {
    "global_word_joules": 2.2e-9,
    "shared_word_joules": 2.23e-10,
    "add_joules": 5.3e-11,
    "multiply_joules": 3.7e-11,
    "int_add_joules": 7.2e-11,
    "int_max_joules": 4.8e-11,
}
"""Table B.2, micro-benchmarks."""
_WATTS, _AREA = 48.0, 561.0
_RANGE = 3.0  # factor within which an estimated energy is right


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The energy constants of a machine (table B.2), each with its provenance."""

    static_watts: Quantity  # P_stat
    global_word_joules: Quantity  # e_gs, one 4-byte word between memory and chip
    shared_word_joules: Quantity  # e_sr, one 4-byte word between on-chip memory and registers
    add_joules: Quantity  # e_fadd
    multiply_joules: Quantity  # e_fmul
    int_add_joules: Quantity  # e_iadd
    int_max_joules: Quantity  # e_imax
    # a division, root or function, unmeasured: as many multiplications as its cycles
    special_joules: Quantity
    board: Quantity | None = None  # what the board may draw, in watts; None where nobody says

    def vector(self, end: str = "value") -> Floats:
        """Return the ``value``, ``low`` or ``high`` of all constants in order; shape (8,)."""
        return np.array([getattr(self, name).end(end) for name in NAMES])


NAMES = tuple(item.name for item in fields(Constants) if item.name != "board")
"""The constants by name, in order; the last is derived, the others are table B.2's."""


def constants(machine: Machine) -> Constants:
    """Return the energy constants of a machine; what nobody measured is estimated and marked so.

    Static power goes with the area of the die, 48 W per 561 mm^2 as on the K20c; on a CPU it is 4 W per core. Energy
    per word and per operation goes with the length of the process, K20c's at 28 nm, and is no more than the board can
    supply: a GPU whose lanes, shared memory and DRAM all run at the data sheet's rates draws its TDP at most. Both are
    right within a factor of about 3, which is the range they are given with; no constant is above what would draw the
    TDP alone.

    >>> from tilewright.machines.files import load
    >>> constants(load("k20c")).static_watts.source, constants(load("h200")).static_watts.source
    ('paper', 'estimated')
    """
    static = machine.static_watts or _static(machine)
    energies = {name: getattr(machine, name) or _scaled(machine, name, each) for name, each in _REFERENCE.items()}
    quantities = {"static_watts": static, **_supplied(machine, static, energies)}
    multiply, cycles = quantities["multiply_joules"], machine.special_cycles
    quantities["special_joules"] = estimated(
        lambda end: multiply.end(end) * cycles.end(end),
        "J",
        "so many multiplications as a division, root or function takes cycles",
    )
    return Constants(**quantities, board=machine.tdp_watts)


def settled(machine: Machine) -> Machine:
    """Return a machine that has its energy constants as its own: they stay when another of its quantities changes."""
    energies = constants(machine)
    return replace(machine, **{name: getattr(energies, name) for name in ("static_watts", *_REFERENCE)})


def require_known(machine: Machine) -> Constants:
    """Return the constants of a machine whose energies somebody determined."""
    names = ("static_watts", "global_word_joules", "shared_word_joules", "add_joules")
    missing = [name for name in names if getattr(machine, name) is None]
    if missing:
        raise UsageError(
            f"the energies of {machine.name} are not known: it has no {missing[0]}",
            "take those of another machine: --energy-of k20c",
        )
    return constants(machine)


def at_clock(machine: Machine, ratio: float) -> Machine:
    """Return a machine at another clock: the clock as a variable of its own."""
    # Our assumption, not the papers': the voltage falls with the clock as 0.6 + 0.4 f, on-chip energy goes with its
    # square, static power with the voltage; memory keeps its bandwidth and its energy per word, kernel calls their
    # time.
    if not 0.2 <= ratio <= 2:
        raise UsageError(f"a clock is given as a share of the machine's own, 0.2 to 2, got {ratio!r}")
    if ratio == 1:
        return machine
    volts = 0.6 + 0.4 * ratio
    slower, note = 1.0 / ratio, f"at {ratio:g} times the clock"
    machine = settled(machine)
    changes: dict[str, Any] = {
        "clock": _times(machine.clock, ratio, note),
        "barrier_seconds": _times(machine.barrier_seconds, slower, note),
        "c_iter": tuple((name, _times(value, slower, note)) for name, value in machine.c_iter),
        "static_watts": _times(constants(machine).static_watts, volts, note),
    }
    for name in ("shared_word_joules", "add_joules", "multiply_joules", "int_add_joules", "int_max_joules"):
        changes[name] = _times(getattr(machine, name), volts * volts, note)
    for name, factor in (("cache_bandwidth", ratio), ("row_seconds", slower)):
        if getattr(machine, name) is not None:
            changes[name] = _times(getattr(machine, name), factor, note)
    return replace(machine, name=f"{machine.name}@{ratio:g}", **changes)


def _times(quantity: Quantity, factor: float, note: str) -> Quantity:
    scale: Callable[[float | None], float | None] = lambda x: None if x is None else factor * x  # noqa: E731
    text = f"{quantity.note}, {note}" if quantity.note else note
    return replace(
        quantity,
        value=factor * quantity.value,
        low=scale(quantity.low),
        high=scale(quantity.high),
        source="estimated",
        note=text,
    )


def _static(machine: Machine) -> Quantity:
    if machine.kind == "cpu":
        value, factor, note = 4.0 * machine.sm_count.value, 3.0, "4 W per core"
    elif machine.die_area is not None:
        value, factor = _WATTS / _AREA * machine.die_area.value, 2.0
        note = "K20c's static power per area of the die"
    else:
        value, factor, note = _WATTS, 3.0, "K20c's; the area of the die is not known"
    return _guess(value, "W", factor, note)


def _scaled(machine: Machine, name: str, reference: float) -> Quantity:
    assumed = _CPU_NANOMETRES if machine.kind == "cpu" else NANOMETRES
    length = machine.process.value if machine.process is not None else assumed
    if name == "global_word_joules" and machine.kind == "cpu":
        return _guess(reference, "J", _RANGE, "K20c's energy per word off chip")
    assumption = "" if machine.process is not None else ", assumed"
    return _guess(reference * length / NANOMETRES, "J", _RANGE, f"K20c's, by the process: {length:g} nm{assumption}")


def _supplied(machine: Machine, static: Quantity, energies: dict[str, Quantity]) -> dict[str, Quantity]:
    """Bring estimated energies down to what the board of a GPU supplies when everything runs at full rate."""
    # In a cycle a lane completes a multiplication and an addition, and a bank of shared memory a word; DRAM moves what
    # its data sheet says.
    if machine.kind != "gpu" or machine.tdp_watts is None:
        return energies
    sms = machine.sm_count.value * machine.clock.value
    lanes, banks = sms * machine.vector_width.value, sms * BANKS
    rates = {
        "global_word_joules": (machine.peak_dram_bandwidth or machine.dram_bandwidth).value / WORD,
        "shared_word_joules": banks if machine.shared_bandwidth is None else machine.shared_bandwidth.value / WORD,
        "add_joules": lanes,
        "multiply_joules": lanes,
    }
    dynamic = max(0.0, machine.tdp_watts.value - static.value)
    share = min(1.0, dynamic / max(dynamic, sum(energies[name].value * rate for name, rate in rates.items())))
    supplied = dict(energies)
    for name, guess in energies.items():
        if getattr(machine, name) is None:
            value, alone = share * guess.value, dynamic / rates.get(name, lanes)
            note = f"{guess.note}; {share:.2f} of that draws the board's {machine.tdp_watts.value:g} W at full rate"
            high = max(value, min(guess.end("high"), alone))
            supplied[name] = replace(guess, value=value, low=value / _RANGE, high=high, note=note)
    return supplied


def _guess(value: float, unit: str, factor: float, note: str) -> Quantity:
    return Quantity(value=value, unit=unit, source="estimated", note=note, low=value / factor, high=value * factor)
