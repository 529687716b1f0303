"""A progress bar on standard error, where that is a terminal; elsewhere nothing is drawn."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Update = Callable[[int, int, str], None]
"""Called with what is done, what there is, and what is being done."""


@contextmanager
def bar(title: str, shown: bool | None = None) -> Iterator[Update]:
    """Show a progress bar while a block runs, by default on a terminal; yield what moves it."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda _done, _total, _text: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(
        *columns, *times, TextColumn("{task.fields[note]}"), console=Console(stderr=True), transient=True
    ) as progress:
        task = progress.add_task(title, total=None, note="")

        def update(done: int, total: int, text: str) -> None:
            progress.update(task, completed=done, total=total, note=text.replace("[", "\\["))

        yield update
