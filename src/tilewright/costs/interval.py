"""How sure a prediction is: the range in which four of five measured times lie.

The ranges are quantiles of measured over predicted time, over measurements that are recorded: those of others on a
V100 (constants of the model fitted to other stencils than the measured one), and sweeps of nine programs on four hosts:
one CPU with AVX-512 and with AVX2, one thread and two. Programs differ more than their points, so the quantiles
are a little wider than the 10th and the 90th: four of five points of a program lie inside the range that the *other*
programs give (``reproduce/intervals.py`` repeats it). They are errors of the models, so that they stand beside these;
what a machine's own numbers scatter by is in its file.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from tilewright.base.units import format_seconds
from tilewright.schedules.family import Family

SHARE = 0.8  # share of the measured times that lie inside an interval
_LOGS = "25,370 measurements of seven stencils on a V100"
_SWEEPS = "sweeps of nine programs on four hosts of one CPU"
_NOBODY = "an estimate: no measurements are recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A range of times."""

    low: float  # seconds that about one measured time of ten is below
    high: float  # seconds that about one of ten is above
    share: float  # share of the measured times in between
    source: str  # what says so

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)

    @property
    def span(self) -> str:
        """Its ends for people."""
        return f"{format_seconds(self.low)} to {format_seconds(self.high)}"

    def __str__(self) -> str:
        return f"{self.span}, by {self.source}"


_THREADS = (0.88, 1.59)
_GUESS = (0.5, 2.0)


def interval(family: Family, seconds: float, *, cpu: bool, threads: bool = False) -> Interval:
    """Return the range in which a measured time is expected; the predicted one may lie outside where a model errs.

    >>> from tilewright.schedules.family import family_named
    >>> interval(family_named("streaming"), 2.0, cpu=True).high
    2.66
    """
    if cpu and family.cpu_range:
        (low, high), source = family.cpu_range, _SWEEPS
    elif threads and family.hexagons and not cpu:
        (low, high), source = _THREADS, _LOGS
    else:
        return unmeasured(seconds)
    return Interval(low=low * seconds, high=high * seconds, share=SHARE, source=source)


def ranges(families: Iterable[Family], *, cpu: bool, threads: bool = False) -> tuple[str, ...]:
    """Say the intervals of several families as factors of their times, those that are alike together.

    >>> from tilewright.schedules.family import family_named
    >>> ranges(map(family_named, ["hybrid", "none", "hybrid"]), cpu=False)
    ('80% interval of hybrid, none: 0.5 to 2 times the time, by an estimate: no measurements are recorded',)
    """
    alike: dict[Interval, list[str]] = {}
    for family in dict.fromkeys(families):
        alike.setdefault(interval(family, 1.0, cpu=cpu, threads=threads), []).append(family)
    return tuple(
        f"{ends.share:.0%} interval of {', '.join(names)}: {ends.low:g} to {ends.high:g} times the time, "
        f"by {ends.source}"
        for ends, names in alike.items()
    )


def unmeasured(seconds: float) -> Interval:
    """Return the range of a time of which no measurements are recorded."""
    low, high = _GUESS
    return Interval(low=low * seconds, high=high * seconds, share=SHARE, source=_NOBODY)
