"""What a whole run takes besides its kernel, and how far the families' models are trusted against each other.

The time models cover the time steps. A user's run on a CPU also copies the fields into memory that a kernel may work
in, and the results out of it; streaming kernels read the caller's arrays in the first band and write the results in the
last one, so that their model has these transfers already. For runs of a few steps the copies decide.
"""

from typing import TypeVar

from tilewright.base.constants import CACHE_LINE
from tilewright.costs.arrays import Floats
from tilewright.costs.cpu.levels import grid_seconds
from tilewright.costs.setting import Setting
from tilewright.schedules.family import Family

Seconds = TypeVar("Seconds", float, Floats)


def run_seconds(family: Family, seconds: Seconds, setting: Setting, *, copies: bool = True) -> Seconds:
    """Return the seconds by which families are compared for a run, with a margin where a model is less certain."""
    margin = 1.0 if family.trusted else setting.coefficients.strategy_margin
    if setting.guessed and not family.untiled:
        margin *= setting.coefficients.uncalibrated_margin
    return whole_seconds(family, margin * seconds, setting) if copies else margin * seconds


def whole_seconds(family: Family, seconds: Seconds, setting: Setting) -> Seconds:
    """Return the seconds of a whole run: its kernel's, its points', and those of copies where the family needs them."""
    seconds = seconds + point_seconds(setting)
    return seconds + (copy_seconds(setting) if setting.cpu and not family.streams else 0.0)


def point_seconds(setting: Setting) -> float:
    """Seconds for what sources add and receivers record, by all cores: a line of memory per cell and step."""
    return setting.steps * setting.points * CACHE_LINE * grid_seconds(setting) / setting.sm_count


def copy_seconds(setting: Setting) -> float:
    """Seconds of copying all fields in and the results out, by all cores: each value is read, fetched and written."""
    values = setting.levels + setting.constants + setting.fields
    return 3.0 * values * setting.cells * setting.itemsize * grid_seconds(setting) / setting.sm_count
