"""Runs out of core in a process of their own, to be killed or measured.

python -m tests.distributed.child run FOLDER     a run that goes on where an earlier one was killed
python -m tests.distributed.child sweep FOLDER   the same of a run in sweeps of a few steps
python -m tests.distributed.child peak FOLDER    prints by how many bytes a run made it grow
"""

import sys
from pathlib import Path

import numpy as np

import tilewright as tw
from tilewright.distributed import out_of_core, sweeps

STEPS, MEMORY, PEAK_MEMORY = 96, 275_000, 40 * 2**20
SWEPT = {"steps": STEPS, "boundary": "reflect", "strict": True, "tiling": "hybrid:t=4,s=2x4x16", "threads": 1}


def run(folder: Path) -> None:
    """Go on with a run of a wave, which has two levels, on a grid that wraps."""
    given = tuple(folder / f"{name}.npy" for name in ("now", "before"))
    print("begins", flush=True)
    _, traces = tw.run(
        "wave2d", given, out=folder / "out.npy", steps=STEPS, boundary="wrap", memory=MEMORY, resume=True,
        backend="numpy", threads=1, **points(),
    )  # fmt: skip
    np.save(folder / "trace.npy", traces["u"])
    print("ends", flush=True)


def sweep(folder: Path) -> None:
    """Go on with a run of a wave in sweeps of four steps."""

    def choose(problem, memory, machine, computer, *_, **__):
        swept = sweeps.plan(problem, memory, machine, computer, 4)
        return swept.passes, swept

    out_of_core.choose = choose
    given = tuple(folder / f"{name}.npy" for name in ("now", "before"))
    print("begins", flush=True)
    tw.run("wave3d", given, out=folder / "out.npy", memory="1GiB", resume=True, **SWEPT)
    print("ends", flush=True)


def points() -> dict[str, tw.Points]:
    """Return a source and receivers of the wave, some of whose cells lie in two slabs or wrap around."""
    places = [(0.2, 3.5), (79.5, 10.0), (100.3, 63.2), (479.7, 0.1), (333.0, 7.0)]
    return {
        "sources": tw.Points([(240.5, 31.5)], values=np.sin(np.arange(STEPS)), interpolation="sinc"),
        "receivers": tw.Points(places, every=5),
    }


def peak(folder: Path) -> None:
    """Run heat on a grid of several times the memory promised."""
    options = {"steps": 16, "boundary": ("nearest", "wrap"), "threads": 1}
    np.save(folder / "small.npy", np.zeros((256, 2048), np.float32))
    tw.run("heat2d", folder / "small.npy", out=folder / "warm.npy", memory="10MiB", **options)  # loads what is needed
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far becomes what it is now
    before = highest()
    tw.run("heat2d", folder / "large.npy", out=folder / "out.npy", memory=PEAK_MEMORY, **options)
    print(highest() - before, PEAK_MEMORY)


def highest() -> int:
    """Return the most memory that this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    {"run": run, "sweep": sweep, "peak": peak}[sys.argv[1]](Path(sys.argv[2]))
