"""Runs out of core in a process of their own, to be killed or measured."""

import random
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from tests import forked
from tests.forked import tell

import tilewright as tw
from tilewright.distributed import journal, out_of_core, sweeps

forked.prepare(__name__)

STEPS, MEMORY, PEAK_MEMORY = 48, 275_000, 20 * 2**20
SWEPT = {"steps": STEPS, "boundary": "reflect", "strict": True, "tiling": "hybrid:t=4,s=2x4x16", "threads": 1}


def run(folder: Path, told: Connection) -> None:
    """Go on with a run of a wave, which has two levels, on a grid that wraps."""
    given = tuple(folder / f"{name}.npy" for name in ("now", "before"))
    tell(told, "begins")
    _, traces = tw.run(
        "wave2d", given, out=folder / "out.npy", steps=STEPS, boundary="wrap", memory=MEMORY, resume=True,
        backend="numpy", threads=1, **points(),
    )  # fmt: skip
    np.save(folder / "trace.npy", traces["u"])
    tell(told, "ends")


def sweep(folder: Path, told: Connection) -> None:
    """Go on with a run of a wave in sweeps of four steps."""

    def choose(problem, memory, machine, computer, *_, **__):
        swept = sweeps.plan(problem, memory, machine, computer, 4)
        return swept.passes, swept

    out_of_core.choose = choose
    given = tuple(folder / f"{name}.npy" for name in ("now", "before"))
    tell(told, "begins")
    tw.run("wave3d", given, out=folder / "out.npy", memory="1GiB", resume=True, **SWEPT)
    tell(told, "ends")


def points() -> dict[str, tw.Points]:
    """Return a source and receivers of the wave, some of whose cells lie in two slabs or wrap around."""
    places = [(0.2, 3.5), (79.5, 10.0), (100.3, 63.2), (479.7, 0.1), (333.0, 7.0)]
    return {
        "sources": tw.Points([(240.5, 31.5)], values=np.sin(np.arange(STEPS)), interpolation="sinc"),
        "receivers": tw.Points(places, every=5),
    }


def peak(folder: Path, told: Connection) -> None:
    """Run heat on a grid of several times the memory promised."""
    options = {"steps": 16, "boundary": ("nearest", "wrap"), "threads": 1}
    np.save(folder / "small.npy", np.zeros((256, 2048), np.float32))
    tw.run("heat2d", folder / "small.npy", out=folder / "warm.npy", memory="10MiB", **options)  # loads what is needed
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far becomes what it is now
    before = highest()
    tw.run("heat2d", folder / "large.npy", out=folder / "out.npy", memory=PEAK_MEMORY, **options)
    tell(told, highest() - before)


def highest() -> int:
    """Return the most memory that this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def kill(work: Callable[..., None], folder: Path, kills: int, wrong: Callable[[], int]) -> int:
    """Kill runs at random instants, and go on with each until one comes to its end.

    Args:
        work: What runs, and goes on.
        folder: Where.
        kills: How many runs are killed before their end.
        wrong: The wrong cells of a run that came to its end.

    Returns:
        The kills after which a journal told of complete passes.
    """
    chance, done, resumed = random.Random(kills), 0, 0  # noqa: S311  (reproducible, not secret)
    process, told = forked.start(work, folder)
    assert told.poll(60)
    begin = time.monotonic()
    assert forked.end(process, told)[1].endswith("ends ")
    span = time.monotonic() - begin
    while done < kills:
        process, told = forked.start(work, folder)
        assert told.poll(60)
        time.sleep(chance.uniform(0.0, span))
        if "ends" in forked.end(process, told, signal.SIGKILL)[1]:
            span *= 0.7
            assert wrong() == 0
            continue
        span, done = 1.2 * span, done + 1
        known = journal.read(folder / "out.npy.tilewright")
        resumed += known is not None and known.done > 0
    assert forked.run(work, folder)[1].endswith("ends ")
    assert wrong() == 0
    return resumed
