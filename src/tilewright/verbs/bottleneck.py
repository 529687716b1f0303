"""``tilewright predict --explain``: why a tiling takes the time that it does (thesis, sections 2.3.4, 8.1 and 8.3)."""

import dataclasses
from dataclasses import dataclass

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.costs.bottleneck import Resource
from tilewright.costs.time import Costs
from tilewright.report import energy
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.sensitivity import moved
from tilewright.verbs.prediction import Prediction
from tilewright.workload import Workload

_PARAMETERS = {
    "sm_count": ("twice the multiprocessors or cores", 2.0),
    "dram_bandwidth": ("twice the bandwidth", 2.0),
    "launch_seconds": ("half the time of a synchronisation", 0.5),
    "iteration": ("half the time of an iteration", 0.5),
    "shared_bytes": ("twice the on-chip memory", 2.0),
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Record):
    """Why a tiling takes the time that it does."""

    KEYS = "resources saturated speedups=_changes k_effect=_resident ideal_seconds overhead printed_overhead"
    TABLE = staticmethod(energy.explanation)

    resources: tuple[Resource, ...]  # the use of every resource and its slack
    # gains from more of a resource: a sentence and the factor, the largest first
    speedups: tuple[tuple[str, float], ...]
    k_effect: tuple[tuple[int, float], ...]  # predicted seconds per number of tiles resident on an SM; empty on a CPU
    ideal_seconds: float  # time without transfers and synchronisation (8.3), a lower bound
    overhead: float  # the predicted time over the ideal one, less 1
    # the same by the printed estimate (8.5), which is no bound; None without tiles
    printed_overhead: float | None

    @property
    def saturated(self) -> tuple[str, ...]:
        """Names of the resources of which hardly anything is left."""
        return tuple(each.name for each in self.resources if each.saturated)

    def _changes(self) -> list[dict[str, object]]:
        return [{"change": text, "factor": factor} for text, factor in self.speedups]

    def _resident(self) -> list[dict[str, object]]:
        return [{"k": k, "seconds": seconds} for k, seconds in self.k_effect]


def explain(prediction: Prediction) -> Explanation:
    """Explain a prediction; of a grid that wraps and runs in blocks, one block as if it did not wrap."""
    work, tiling = prediction.work, prediction.tiling
    costs = work.expected(tiling)
    if costs is None:
        raise UsageError(f"nothing explains {str(tiling)!r}, which does not fit {work.machine.name}")
    ideal = work.ideal_seconds(tiling)
    printed = work.printed_overhead(tiling)
    return Explanation(
        resources=work.resources(tiling),
        speedups=_speedups(work, tiling, costs),
        k_effect=_k_effect(work, tiling),
        ideal_seconds=ideal,
        overhead=costs.seconds / ideal - 1.0 if ideal > 0 else 0.0,
        printed_overhead=None if printed is None or ideal <= 0 else printed / ideal,
    )


def _speedups(work: Workload, tiling: Tiling, costs: Costs) -> tuple[tuple[str, float], ...]:
    """Return what the same tile would gain from more of each resource; k grows where more tiles fit and that helps."""
    problem, base = work.problem, dataclasses.replace(tiling, k=tiling.k or costs.tiles_per_sm)
    tilings = {tiling, base} if work.most_tiles(tiling) else {tiling}
    speedups = []
    for name, (text, factor) in _PARAMETERS.items():
        if name == "iteration":
            other = work.hastened()
        else:
            machine = moved(work.machine, "", name, factor)
            other = work.changed(machine, problem.shape, problem.steps)
        seconds = [each.seconds for each in map(other.expected, tilings) if each is not None]
        if name == "shared_bytes":  # which a launch may leave unused, so that no more tiles are resident than before
            seconds.append(costs.seconds)
        speedups.append((text, costs.seconds / min(seconds)))
    return tuple(sorted(speedups, key=lambda each: -each[1]))


def _k_effect(work: Workload, tiling: Tiling) -> tuple[tuple[int, float], ...]:
    effects = []
    for k in range(1, work.most_tiles(tiling) + 1):
        costs = work.expected(dataclasses.replace(tiling, k=k))
        if costs is None:
            break
        effects.append((k, costs.seconds))
    return tuple(effects)
