"""``tilewright predict --explain`` of a recurrence: what its orthogonal tiles wait for."""

import dataclasses

from tilewright.api.bottleneck import Explanation
from tilewright.api.prediction import Prediction
from tilewright.api.table_whatif import ideal_seconds
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.costs import orthogonal as model
from tilewright.costs.bottleneck import Resource, ordered
from tilewright.costs.orthogonal import TableCase
from tilewright.costs.time import Costs
from tilewright.tilings.tiling import Tiling
from tilewright.tuning.sensitivity import moved

_CHANGES = {
    "sm_count": ("twice the multiprocessors or cores", 2.0),
    "dram_bandwidth": ("twice the bandwidth", 2.0),
    "launch_seconds": ("half the time of a synchronisation", 0.5),
    "shared_bytes": ("twice the on-chip memory", 2.0),
}
_FASTER = "half the time of an iteration"


def explain_table(prediction: Prediction) -> Explanation:
    """Explain the prediction of a recurrence.

    Besides the resources of stencils there are the lanes of a tile's pipeline, which fill and drain. Multiprocessors
    idle on short wavefronts.

    Args:
        prediction: The prediction.

    Returns:
        The explanation; nothing is printed for the overhead of these tiles.
    """
    case, tiling, costs = prediction.problem, prediction.tiling, prediction.costs
    assert isinstance(case, TableCase)  # noqa: S101  (stencils have an explanation of their own)
    ideal = ideal_seconds(case)
    return Explanation(
        resources=_resources(case, tiling, costs, ideal),
        speedups=_speedups(case, tiling, costs),
        k_effect=() if case.cpu else _k_effect(case, tiling),
        ideal_seconds=ideal,
        overhead=costs.seconds / ideal - 1.0,
        printed_overhead=None,
    )


def _resources(case: TableCase, tiling: Tiling, costs: Costs, ideal: float) -> tuple[Resource, ...]:
    machine, count = case.machine, int(case.machine.sm_count.value)
    tiles = ceil_div(case.shape[0], tiling.time) * ceil_div(case.shape[1], tiling.space[0])
    work = {
        "vector units": ideal / costs.seconds,
        "memory": costs.dram_bytes / machine.dram_bandwidth.value / costs.seconds,
        "synchronisation": model.sync_seconds(case, tiling) / costs.seconds,
    }
    held = {"multiprocessors": tiles / (model.turns(case, tiling) * count)}
    if not case.cpu:
        lanes = tiling.space[0] // tiling.sub[0]
        held["lanes of a tile's pipeline"] = tiling.time / (tiling.time + lanes - 1)
        held["on-chip memory"] = costs.tiles_per_sm * costs.tile_shared_bytes / machine.shared_bytes.value
        if machine.max_blocks:
            held["resident tiles"] = costs.tiles_per_sm / machine.max_blocks.value
    return (*ordered(work, "work"), *ordered(held, "held"))


def _speedups(case: TableCase, tiling: Tiling, costs: Costs) -> tuple[tuple[str, float], ...]:
    known = case.machine.iteration_seconds(case.program.name) is not None
    faster = moved(case.machine, case.program.name, *(("c_iter", 0.5) if known else ("clock", 2.0)))
    changed = {_FASTER: faster}
    for name, (text, factor) in _CHANGES.items():
        changed[text] = moved(case.machine, case.program.name, name, factor)
    same = dataclasses.replace(tiling, k=costs.tiles_per_sm)
    found = []
    for text, machine in changed.items():
        other = dataclasses.replace(case, machine=machine)
        seconds = min(model.predict(other, each).seconds for each in (tiling, same))
        found.append((text, costs.seconds / seconds))
    return tuple(sorted(found, key=lambda each: -each[1]))


def _k_effect(case: TableCase, tiling: Tiling) -> tuple[tuple[int, float], ...]:
    found = []
    for k in range(1, int(case.machine.max_blocks.value if case.machine.max_blocks else 1) + 1):
        try:
            found.append((k, model.predict(case, dataclasses.replace(tiling, k=k)).seconds))
        except UsageError:
            break
    return tuple(found)
