"""Bottlenecks of a tiling: which resource is saturated, and how much slack each other has (thesis, section 2.3.4).

Two kinds of resources: those that *work* all along (vector units, memory, synchronisation), whose use is the share of
the predicted time that they need, and those that are *held* (on-chip memory, resident tiles, multiprocessors in the
last round), whose use is the share that is occupied. Slack is what is left of each. Memory can be used above 1: with
the bandwidth charged as printed, every tile has the whole device's, and tiles of different SMs do not share it.
"""

from dataclasses import dataclass

from tilewright.costs.breakdown import Breakdown
from tilewright.costs.setting import Setting
from tilewright.costs.time import ideal_seconds
from tilewright.schedules.family import Family

SATURATED = 0.9
"""A resource used at least so far counts as saturated."""


_EQUATIONS = "published"
"""Where a time has no parts, hexagons take it from the papers' equations, whose ideal is that of C_iter."""
_PARTS = {
    "latency": "chains of a thread",
    "issue": "vector units",
    "access": "shared memory ports",
    "dram": "memory",
    "l2": "L2",
    "launch": "synchronisation",
}
"""What the parts of a time with thread blocks are the use of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource under one tiling."""

    name: str
    kind: str  # ``work`` (a share of the time) or ``held`` (a share of what there is)
    use: float  # the share in use; above 1 for memory where the printed scope promises more bandwidth than there is
    slack: float  # what is left, at least 0
    saturated: bool  # whether hardly anything is left


def resources(result: Breakdown, index: int, setting: Setting, family: Family | None = None) -> tuple[Resource, ...]:
    """Return the use of every resource by one tiling: those that work first, each group by falling use."""
    seconds = float(result.seconds[index])
    resident = max(1, int(result.tiles_per_sm[index]))
    parallel = setting.rates.sm_count * resident
    tiles = max(1, int(result.tiles_per_wavefront[index]))
    if result.parts is None:
        work = {
            "vector units": ideal_seconds(setting, family, _EQUATIONS) / seconds,
            "memory": float(result.dram_bytes[index]) * setting.rates.byte_seconds / seconds,
            "synchronisation": float(result.sync_seconds[index]) / seconds,
        }
    else:
        work = {_PARTS[name]: float(part[index]) / seconds for name, part in result.parts.items()}
    held = {
        "on-chip memory": resident * float(result.shared_bytes[index]) / setting.rates.shared_bytes,
        "resident tiles": resident / setting.rates.max_tiles,
        "multiprocessors": tiles / (-(-tiles // parallel) * parallel),
    }
    if setting.cpu:
        del held["resident tiles"]
    return (*ordered(work, "work"), *ordered(held, "held"))


def ordered(uses: dict[str, float], kind: str) -> list[Resource]:
    """Return resources of one kind by falling use."""
    return [
        Resource(name=name, kind=kind, use=use, slack=max(0.0, 1.0 - use), saturated=use >= SATURATED)
        for name, use in sorted(uses.items(), key=lambda item: -item[1])
    ]
