"""What standard error shows of a call that takes long: a bar in a terminal, a line there or in a notebook."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tilewright.base.units import format_seconds

PATIENCE = 2.0  # seconds before anything is said
_PAUSE = 0.5
_MINUTES = 180  # seconds from which minutes are told
Progress = Callable[[], tuple[float, float | None]]
"""The share that is done, negative where it is not known, and the seconds that are expected, if any are."""
Update = Callable[[int, int, str], None]  # called with what is done, what there is, and what is being done


@contextmanager
def bar(title: str, shown: bool | None = None) -> Iterator[Update]:
    """Show a progress bar while a block runs, by default on a terminal; yield what moves it."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda _count, _total, _text: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn())
    times = (rich.TimeElapsedColumn(), rich.TextColumn("left"), rich.TimeRemainingColumn())
    note = rich.TextColumn("{task.fields[note]}")
    with rich.Progress(*columns, *times, note, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None, note="")

        def update(count: int, total: int, text: str) -> None:
            progress.update(task, completed=count, total=total, note=text.replace("[", "\\["))

        yield update


def seen() -> bool:
    """Whether somebody looks: standard error is a terminal, or this is a notebook's process."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return hasattr(shell, "kernel")


@contextmanager
def waiting(title: str, progress: Progress, patience: float = PATIENCE) -> Iterator[None]:
    """Say now and then, from a thread, how far a block is that takes over ``patience`` seconds; then clear the line."""
    if not seen():
        yield
        return
    ended = threading.Event()
    teller = threading.Thread(target=_tell, args=(title, progress, patience, ended), daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def line(title: str, seconds: float, share: float, expected: float | None) -> str:
    """Write how far something is; the ``share`` is negative where it is not known.

    >>> line("heat2d", 6.0, 0.25, None), line("heat2d", 6.0, -1.0, 15.0), line("heat2d", 6.0, -1.0, 3.0)
    ('heat2d: 25 % after 6 s, 18 s left', 'heat2d: 6 s of some 15 s', 'heat2d: 6 s, longer than the 3 s expected')
    """
    now = _long(round(seconds))
    if share > 0:
        return f"{title}: {share:.0%} after {now}, {_long(seconds * (1 - share) / share)} left".replace("%", " %")
    if expected is None:
        return f"{title}: {now}"
    if expected > seconds:
        return f"{title}: {now} of some {_long(expected)}"
    return f"{title}: {now}, longer than the {_long(expected)} expected"


def _long(seconds: float) -> str:
    """Write a duration, in minutes where it is long."""
    return format_seconds(seconds) if seconds < _MINUTES else f"{seconds / 60:.0f} min"


def _tell(title: str, progress: Progress, patience: float, ended: threading.Event) -> None:
    begin, longest = time.monotonic(), 0
    if ended.wait(patience):
        return
    while not ended.is_set():
        text = line(title, time.monotonic() - begin, *progress())
        longest = max(longest, len(text))
        sys.stderr.write(f"\r{text:<{longest}}")
        sys.stderr.flush()
        ended.wait(_PAUSE)
    sys.stderr.write(f"\r{'':<{longest}}\r")
    sys.stderr.flush()
