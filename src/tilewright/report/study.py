"""What a page shows about one result: plain values, made by the api from a plan, a prediction or a file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.costs.accuracy import Comparison
from tilewright.costs.bottleneck import Resource, Roofline
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tiling import Tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedTiling:
    """One tiling of a study."""

    tiling: str
    predicted: float  # s; NaN where the model does not know it
    measured: float | None = None  # s
    measured_range: tuple[float, float] | None = None  # the fastest and the slowest sample; s
    spread: float | None = None  # range of the samples over their median
    outcome: str = ""  # ``ok``, how it failed, or empty where it was not tried
    flops: float | None = None  # of the whole problem
    dram_bytes: float | None = None  # off chip, predicted
    joules: float | None = None  # predicted
    bound_by: str = ""  # what takes most of the predicted time, or empty
    interval: tuple[float, float] | None = None  # expected of four of five measured times; s

    @property
    def family(self) -> str:
        """Name of the tiling's family."""
        return self.tiling.partition(":")[0]

    @property
    def intensity(self) -> float | None:
        """Operations per byte off chip, or None."""
        return self.flops / self.dram_bytes if self.flops and self.dram_bytes else None

    @property
    def known(self) -> bool:
        """Whether there is a prediction."""
        return math.isfinite(self.predicted) and self.predicted > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One result, ready to be shown."""

    title: str  # what was computed where
    facts: tuple[tuple[str, str], ...]  # names and values
    candidates: tuple[StudiedTiling, ...]  # the chosen tiling, then the others as they rank
    roof: Roofline | None = None  # None where the machine or the program is not known
    front: tuple[StudiedTiling, ...] = ()  # the time-energy Pareto set over the whole space, by increasing time
    families: tuple[StudiedTiling, ...] = ()  # the best tiling of every family by time, best first
    used: tuple[Resource, ...] = ()  # by the chosen tiling
    gains: tuple[tuple[str, float], ...] = ()  # from more of something, of the chosen tiling: a sentence and the factor
    plain: str = ""  # what was chosen and what of it was measured, in plain words
    made: tuple[tuple[str, str], ...] = ()  # when, where and with what anything was measured: names and values
    tile: tuple[Problem, Tiling] | None = None  # the problem and the chosen tiling, to be drawn
    explanation: tuple[str, ...] = ()  # lines
    notes: tuple[str, ...] = ()  # what could not be shown, and why


def comparison(candidates: Sequence[StudiedTiling]) -> Comparison:
    """Return predicted beside measured times of the candidates that have both, by family."""
    pairs = [each for each in candidates if each.measured and each.known]
    return Comparison(
        predicted=np.array([each.predicted for each in pairs]),
        measured=np.array([each.measured for each in pairs]),
        configurations=[each.family for each in pairs],
    )
