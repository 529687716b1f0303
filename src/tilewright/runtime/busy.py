"""CPUs that other processes keep busy: runs that are not told how many threads to use leave these alone.

Threads meet at barriers, many times in a run. One that waits for its turn on a busy CPU lets all others wait, for
milliseconds each time: with two threads on two busy CPUs small grids take tens of times as long as with one.
"""

import os
import time
from pathlib import Path

from tilewright.runtime.host import THREAD_VARIABLES, whole_machine

_LOAD = Path("/proc/loadavg")
_TASKS = Path("/proc/self/task")
_PAUSES = (0.0, 0.002, 0.008)
"""Seconds before each of the first looks, which end with one that finds nothing: a process that has just been started
is seldom alone (its shell, what loads its files), and one that sleeps loses its CPU to other virtual machines."""
_AGAIN = 0.05  # seconds after which one more is taken: a look takes a tenth of a millisecond
_OLD = 5.0  # seconds after which a look says nothing any more
_seen: list[tuple[float, int]] = []


def may_yield(threads: int | None) -> bool:
    """Whether a run may take fewer threads: nobody said how many, and this process may use the whole machine.

    In a part of a machine, by affinity or quota, it is not known whose CPUs others keep busy.
    """
    named = any(os.environ.get(name, "").strip() for name in THREAD_VARIABLES)
    return threads is None and not named and whole_machine()


def unoccupied(threads: int) -> int:
    """Return how many of so many threads find a CPU that no other process uses, at least one.

    What runs is asked of Linux (``/proc/loadavg``, ``/proc/self/task``): the fewest of the last three looks count. The
    first call, and one after five seconds without, looks until nothing else runs, up to three times in ten
    milliseconds. Elsewhere, and where that cannot be read, nothing is known, and all threads remain.
    """
    if threads == 1:
        return 1
    now = time.monotonic()
    recent = [(when, processes) for when, processes in _seen if now - when <= _OLD]
    pauses = _PAUSES[len(recent) :] or _PAUSES[: now - recent[-1][0] > _AGAIN]
    for pause in pauses:
        time.sleep(pause)
        busy = running_elsewhere()
        if busy is None:
            return threads
        recent.append((now, busy))
        if not busy:
            break
    _seen[:] = recent[-len(_PAUSES) :]
    return max(1, threads - min(processes for _, processes in recent[-len(_PAUSES) :]))


def running_elsewhere() -> int | None:
    """Return how many threads of other processes run or wait for a CPU, or None where the system does not say."""
    try:
        running = _running_count()
        if running <= 1:
            return 0
        own = sum(_runs(task) for task in _TASKS.iterdir())
        # Own threads may have stopped since the first look.
        return max(0, min(running, _running_count()) - own)
    except (OSError, ValueError, IndexError):
        return None


def _running_count() -> int:
    return int(_LOAD.read_text().split()[3].partition("/")[0])


def _runs(task: Path) -> bool:
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    except (OSError, IndexError):  # it has just ended
        return False
