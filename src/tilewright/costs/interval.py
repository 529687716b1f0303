"""How sure a prediction is: the range in which four of five measured times lie.

The ranges are the 10th and the 90th percentile of measured over predicted time, over measurements that are recorded:
those of others on a V100 (constants of the model fitted to other stencils than the measured one), and sweeps of ten
programs on a CPU. ``reproduce/intervals.py`` repeats them, and says what share of the points of a program
lies inside the range that the *other* programs give. They are errors of the models, so that they stand beside these;
what a machine's own numbers scatter by is in its file.
"""

from dataclasses import asdict, dataclass

from tilewright.schedules.catalogue import traits

SHARE = 0.8
"""Share of the measured times that lie inside an interval."""
_LOGS = "25,370 measurements of seven stencils on a V100"
_SWEEPS = "sweeps of ten programs on a CPU"
_NOBODY = "an estimate: no measurements are recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A range of times.

    Attributes:
        low: Seconds that one measured time of ten is below.
        high: Seconds that one of ten is above.
        share: Share of the measured times in between.
        source: What says so.
    """

    low: float
    high: float
    share: float
    source: str

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)


_CPU = {
    "none": (0.81, 1.04),
    "streaming": (0.84, 1.25),
    "hybrid": (0.78, 1.15),
    "diamond": (0.76, 1.40),
    "overlapped": (1.00, 2.02),
    "skewed": (0.86, 2.39),
}
_THREADS = (0.92, 1.66)
_GUESS = (0.5, 2.0)


def interval(family: str, seconds: float, *, cpu: bool, threads: bool = False) -> Interval:
    """Return the range in which a measured time is expected.

    Args:
        family: The tiling family.
        seconds: The predicted time.
        cpu: Whether the machine is a CPU.
        threads: Whether the prediction knows a GPU's thread blocks.

    Returns:
        The range; the time itself need not lie in it where a model errs to one side.

    >>> interval("streaming", 2.0, cpu=True).high
    2.5
    """
    if cpu and family in _CPU:
        (low, high), source = _CPU[family], _SWEEPS
    elif threads and traits(family).hexagons and not cpu:
        (low, high), source = _THREADS, _LOGS
    else:
        (low, high), source = _GUESS, _NOBODY
    return Interval(low=low * seconds, high=high * seconds, share=SHARE, source=source)
