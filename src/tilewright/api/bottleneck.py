"""``tilewright predict --explain``: why a tiling takes the time that it does (thesis, sections 2.3.4, 8.1 and 8.3)."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from tilewright.api.prediction import Prediction
from tilewright.costs import bottleneck
from tilewright.costs import time as time_model
from tilewright.costs.arrays import Sizes
from tilewright.costs.bottleneck import Resource
from tilewright.costs.setting import Setting, make_setting
from tilewright.machines.machine import Machine
from tilewright.programs.problem import Problem
from tilewright.tilings.tiling import Tiling
from tilewright.tuning.sensitivity import moved

_PARAMETERS = {
    "sm_count": ("twice the multiprocessors or cores", 2.0),
    "dram_bandwidth": ("twice the bandwidth", 2.0),
    "launch_seconds": ("half the time of a synchronisation", 0.5),
    "iteration": ("half the time of an iteration", 0.5),
    "shared_bytes": ("twice the on-chip memory", 2.0),
}
_MOST_K = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a tiling takes the time that it does.

    Attributes:
        resources: The use of every resource and its slack.
        speedups: What the tiling would gain from more of something: a sentence and the factor, the largest first.
        k_effect: Predicted seconds per number of tiles resident on an SM; empty on a CPU.
        ideal_seconds: Time without transfers and synchronisation (8.3), a lower bound.
        overhead: The predicted time over the ideal one, less 1.
        printed_overhead: The same after the printed estimate (8.5), which bounds neither way; None without tiles.
    """

    resources: tuple[Resource, ...]
    speedups: tuple[tuple[str, float], ...]
    k_effect: tuple[tuple[int, float], ...]
    ideal_seconds: float
    overhead: float
    printed_overhead: float | None

    @property
    def saturated(self) -> tuple[str, ...]:
        """Names of the resources of which hardly anything is left."""
        return tuple(each.name for each in self.resources if each.saturated)

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "resources": [dataclasses.asdict(each) for each in self.resources],
            "saturated": list(self.saturated),
            "speedups": [{"change": text, "factor": factor} for text, factor in self.speedups],
            "k_effect": [{"k": k, "seconds": seconds} for k, seconds in self.k_effect],
            "ideal_seconds": self.ideal_seconds,
            "overhead": self.overhead,
            "printed_overhead": self.printed_overhead,
        }


def explain(prediction: Prediction) -> Explanation:
    """Explain the prediction of a stencil.

    Args:
        prediction: The prediction.

    Returns:
        The explanation; that of one block where a grid that wraps runs in blocks is as for a grid that does not.
    """
    problem, where, scope = prediction.problem, prediction.hardware, prediction.scope
    assert isinstance(problem, Problem)  # noqa: S101  (tables have an explanation of their own)
    setting, tiling = make_setting(problem, where, scope), prediction.tiling
    sizes = time_model.sizes_of(tiling, setting)
    result = time_model.evaluate(tiling.family, sizes, setting, prediction.model)
    ideal = time_model.ideal_seconds(setting, tiling.family)
    seconds = float(result.seconds[0])
    hexagons = tiling.family in {"hexagonal", "hybrid"}
    tiled = _counts_k(tiling)
    printed = float(time_model.overhead_estimate(sizes, setting)[0]) if hexagons else None
    return Explanation(
        resources=bottleneck.resources(result, 0, setting, tiling.family),
        speedups=_speedups(problem, where, tiling, (prediction.model, scope), seconds),
        k_effect=_k_effect(tiling, setting, prediction.model) if tiled and not setting.cpu else (),
        ideal_seconds=ideal,
        overhead=seconds / ideal - 1.0 if ideal > 0 else 0.0,
        printed_overhead=None if printed is None or ideal <= 0 else printed / ideal,
    )


def _speedups(
    problem: Problem, machine: Machine, tiling: Tiling, how: tuple[str, str | None], seconds: float
) -> tuple[tuple[str, float], ...]:
    """Return what the same tile would gain from more of each resource; k grows where more tiles fit and that helps."""
    found = []
    held = int(time_model.evaluate(*_asked(tiling, make_setting(problem, machine, how[1])), how[0]).tiles_per_sm[0])
    tilings = {tiling, dataclasses.replace(tiling, k=tiling.k or held or None)} if _counts_k(tiling) else {tiling}
    for name, (text, factor) in _PARAMETERS.items():
        if name == "iteration":
            setting = make_setting(problem, machine, how[1])
            half = dataclasses.replace(setting.c_iter, value=factor * setting.c_iter.value, low=None, high=None)
            changed = dataclasses.replace(setting, c_iter=half)
        else:
            changed = make_setting(problem, moved(machine, problem.program.name, name, factor), how[1])
        results = [time_model.evaluate(*_asked(each, changed), how[0]) for each in tilings]
        found.append((text, seconds / min(float(result.seconds[0]) for result in results)))
    return tuple(sorted(found, key=lambda each: -each[1]))


def _counts_k(tiling: Tiling) -> bool:
    return tiling.family not in {"none", "streaming"}


def _asked(tiling: Tiling, setting: Setting) -> tuple[str, Sizes, Setting]:
    return tiling.family, time_model.sizes_of(tiling, setting), setting


def _k_effect(tiling: Tiling, setting: Setting, model: str) -> tuple[tuple[int, float], ...]:
    """Return the predicted time for every number of resident tiles that fits."""
    found = []
    for k in range(1, min(setting.max_tiles, _MOST_K) + 1):
        sizes = time_model.sizes_of(dataclasses.replace(tiling, k=k), setting)
        seconds = float(time_model.evaluate(tiling.family, sizes, setting, model).seconds[0])
        if not np.isfinite(seconds):
            break
        found.append((k, seconds))
    return tuple(found)
