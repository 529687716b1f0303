"""What a whole run takes besides its kernel, and how far the families' models are trusted against each other.

The time models cover the time steps. A user's run on a CPU also copies the fields into memory that a kernel may work
in, and the results out of it; streaming kernels read the caller's arrays in the first band and write the results in the
last one, so that their model has these transfers already. For runs of a few steps the copies decide.
"""

from typing import TypeVar

from tilewright.base.constants import CACHE_LINE, WORD
from tilewright.costs.arrays import Floats
from tilewright.costs.cpu.levels import grid_seconds
from tilewright.costs.rates import CpuRates
from tilewright.costs.setting import Setting
from tilewright.schedules.family import Family

Seconds = TypeVar("Seconds", float, Floats)


def run_seconds(family: Family, seconds: Seconds, setting: Setting, *, copies: bool = True) -> Seconds:
    """Return the seconds by which families are compared for a run, with a margin where a model is less certain."""
    margin = 1.0 if family.trusted else setting.rates.numbers.strategy_margin
    if setting.guessed and not family.untiled:
        margin *= setting.rates.numbers.uncalibrated_margin
    return whole_seconds(family, margin * seconds, setting) if copies else margin * seconds


def whole_seconds(family: Family, seconds: Seconds, setting: Setting) -> Seconds:
    """Return the seconds of a whole run: its kernel's, its points', and those of copies where the family needs them."""
    seconds = seconds + point_seconds(setting)
    return seconds + (copy_seconds(setting) if setting.cpu and not family.streams else 0.0)


def point_seconds(setting: Setting) -> float:
    """Seconds for what sources add and receivers record, by all cores: a line of memory per cell and step."""
    return setting.facts.steps * setting.facts.points * CACHE_LINE * _byte_seconds(setting) / setting.rates.sm_count


def _byte_seconds(setting: Setting) -> float:
    """Seconds per byte of the grid where it lies: in a cache, in all of a GPU's memory on chip, or in memory."""
    facts, rates = setting.facts, setting.rates
    if isinstance(rates, CpuRates):
        return grid_seconds(facts, rates)
    on_chip = facts.data_bytes <= rates.numbers.cache_fraction * rates.sm_count * rates.shared_bytes
    return 0.0 if on_chip else rates.word_seconds / WORD


def copy_seconds(setting: Setting) -> float:
    """Seconds of copying all fields in and the results out, by all cores: each value is read, fetched and written."""
    values = setting.facts.levels + setting.facts.constants + setting.facts.fields
    return 3.0 * values * setting.facts.cells * setting.facts.itemsize * _byte_seconds(setting) / setting.rates.sm_count
