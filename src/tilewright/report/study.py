"""What a page shows about one result: plain values, made by the api from a plan, a prediction or a file."""

import math
from dataclasses import dataclass

from tilewright.costs.roofline import Roofline
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tiling import Tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedTiling:
    """One tiling of a study.

    Attributes:
        tiling: The tiling as text.
        predicted: Predicted seconds; NaN where the model does not know it.
        interval: Seconds between which four of five measured times are expected, or None.
        measured: Measured seconds, or None.
        measured_range: Seconds of the fastest and the slowest sample, or None.
        spread: Range of the samples over their median, or None.
        outcome: ``ok``, how it failed, or empty where it was not tried.
        flops: Operations of the whole problem, or None.
        dram_bytes: Predicted bytes off chip, or None.
        joules: Predicted energy, or None.
        bound_by: What takes most of the predicted time, or empty.
    """

    tiling: str
    predicted: float
    measured: float | None = None
    measured_range: tuple[float, float] | None = None
    spread: float | None = None
    outcome: str = ""
    flops: float | None = None
    dram_bytes: float | None = None
    joules: float | None = None
    bound_by: str = ""
    interval: tuple[float, float] | None = None

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
class TradeOff:
    """A tiling with its two costs: a point of a Pareto set, or the best of a family.

    Attributes:
        tiling: The tiling as text.
        seconds: Predicted time.
        joules: Predicted energy.
    """

    tiling: str
    seconds: float
    joules: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """How much of a resource the chosen tiling uses.

    Attributes:
        name: Its name.
        kind: ``work`` (a share of the time) or ``held`` (a share of what there is).
        use: The share.
    """

    name: str
    kind: str
    use: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One result, ready to be shown.

    Attributes:
        title: What was computed where.
        facts: Names and values.
        candidates: The chosen tiling, then the others as they rank.
        roof: The roofs, or None where the machine or the program is not known.
        front: The time-energy Pareto set over the whole space, by increasing time; may be empty.
        families: The best tiling of every family by time, best first; may be empty.
        used: Resources of the chosen tiling; may be empty.
        gains: What the chosen tiling would gain from more of something: a sentence and the factor.
        plain: What was chosen and what of it was measured, in plain words.
        made: When, where and with what anything was measured: names and values.
        tile: The problem and the chosen tiling, to be drawn, or None.
        explanation: Lines of text.
        notes: What could not be shown, and why.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    candidates: tuple[StudiedTiling, ...]
    roof: Roofline | None = None
    front: tuple[TradeOff, ...] = ()
    families: tuple[TradeOff, ...] = ()
    used: tuple[Used, ...] = ()
    gains: tuple[tuple[str, float], ...] = ()
    plain: str = ""
    made: tuple[tuple[str, str], ...] = ()
    tile: tuple[Problem, Tiling] | None = None
    explanation: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
