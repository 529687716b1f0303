"""The measuring protocol: warm up, then take a sample that is long enough for the clock."""

import time
from collections.abc import Callable

MINIMUM_SECONDS = 0.1
"""A sample is repeated until its repeats take this long together."""
MOST_REPEATS = 64
"""However short, a sample is repeated no more often than this."""


def sample(make: Callable[[], Callable[[], object]], clock: Callable[[], float] = time.perf_counter) -> float:
    """Take one sample: the median seconds of enough repeats, each of which ``make`` prepares, untimed.

    >>> ticks = iter(range(100))
    >>> sample(lambda: lambda: None, clock=lambda: float(next(ticks)))
    1.0
    """
    taken: list[float] = []
    while sum(taken) < MINIMUM_SECONDS and len(taken) < MOST_REPEATS:
        run = make()
        begin = clock()
        run()
        taken.append(clock() - begin)
    taken.sort()
    middle = len(taken) // 2
    return taken[middle] if len(taken) % 2 else (taken[middle - 1] + taken[middle]) / 2
