"""Runs on two ranks beside two threads, and the model's steps between exchanges beside all others, messages delayed.

    mpiexec -n 2 python benchmarks/ranks.py --output benchmarks/results/ranks.json

Each of two ranks has one thread. Delays are injected: a message counts as received no sooner than so long after it was
asked for, so that a slow network can be had on one machine; the model is told of the delay as the latency, beside the
bandwidth that is measured. Repeats are interleaved, and medians compared. A sample begins after a pause and is short: a
kernel that lets real-time processes have 95 % of a second stops each rank on its own, and all wait for each other.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import environment
import tilewright as tw
from tilewright.costs import transfers
from tilewright.distributed import ghosts, rank_runs
from tilewright.distributed.compute import Computer
from tilewright.inputs import memo
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import make_problem
from tilewright.verbs import calibrate

# ruff: noqa: ANN401
COMM = MPI.COMM_WORLD
BACKEND = read_target("auto", 1).backend
REPEATS = 3
PAUSE = 1.1
"""Seconds of sleep before a sample."""
DELAYS = (5e-5, 2e-4, 2e-3)
PARTS = ("beside_threads", "delayed", "overlapped")
BESIDE = (4, 8, 12, 16, 32)
"""Steps between exchanges that are tried beside the model's."""
BOTH = (1, 4, 16)
"""Steps between exchanges at which overlapped ones are compared with others."""


class Delayed:
    """A request that completes no sooner than a delay after it was made."""

    def __init__(self, request: Any, delay: float) -> None:
        self._request, self._due = request, time.perf_counter() + delay

    def Wait(self) -> None:  # noqa: N802  (as mpi4py has it)
        """Wait for both."""
        self._request.Wait()
        while time.perf_counter() < self._due:
            pass

    def Test(self) -> bool:  # noqa: N802
        """Whether both are over."""
        return bool(self._request.Test()) and time.perf_counter() >= self._due


class Shim:
    """A communicator whose messages are delayed."""

    def __init__(self, comm: Any, delay: float) -> None:
        self._comm, self._delay = comm, delay

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def Irecv(self, *arguments: Any, **options: Any) -> Delayed:  # noqa: N802
        """Ask for a message."""
        return Delayed(self._comm.Irecv(*arguments, **options), self._delay)


def seconds_of(call: Callable[[], object], pause: float = PAUSE) -> float:
    """Return the seconds of a call on the slower rank."""
    time.sleep(pause)
    COMM.Barrier()
    begin = time.perf_counter()
    call()
    return float(COMM.allreduce(time.perf_counter() - begin, op=MPI.MAX))


def job(name: str, shape: tuple[int, ...], steps: int, t: int | None = None, overlapped: bool | None = None) -> Any:
    """Return a run of random data on both ranks."""
    array = tw.distributed.Array(shape, "float32", comm=COMM, topology=(2, *(1,) * (len(shape) - 1)))
    array.local[...] = np.random.default_rng(COMM.Get_rank()).random(array.local.shape, np.float32)
    problem = make_problem(tw.program(name), shape, steps, "float32", "nearest")
    levels = {"u": (array,) * problem.program.history("u")}
    return rank_runs.RankRun(problem=problem, arrays=levels, steps=t, overlapped=overlapped)


def computer() -> Computer:
    """Return what computes on one thread."""
    return Computer(
        target=read_target(BACKEND, 1), threads=1, tiling=None, strict=False, scalars={}, make=memo.prepared
    )


def alone(name: str, shape: tuple[int, ...], steps: int) -> float:
    """Return the seconds of a run on two threads, in a process of its own while the ranks wait asleep."""
    code = (
        "import sys,time,numpy as np,tilewright as tw\n"
        f"u=np.random.default_rng(0).random({shape},np.float32)\n"
        f"ages=tw.program({name!r}).history('u')\n"
        f"f=lambda: tw.run({name!r},(u,)*ages if ages>1 else u,"
        f"steps={steps},boundary='nearest',threads=2)\n"
        "f(); t=[]\n"
        f"for _ in range({REPEATS}):\n time.sleep({PAUSE})\n"
        " a=time.perf_counter(); f(); t.append(time.perf_counter()-a)\n"
        "print(sorted(t)[len(t)//2])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(found.stdout)


def quietly(work: Callable[[], float]) -> float:
    """Do something on the first rank while the second one sleeps, not spins."""
    if COMM.Get_rank() == 0:
        found = work()
        for rank in range(1, COMM.Get_size()):
            COMM.send(found, dest=rank)
        return found
    while not COMM.Iprobe(source=0):
        time.sleep(0.01)
    return float(COMM.recv(source=0))


def beside_threads(name: str, shape: tuple[int, ...], steps: int) -> dict[str, Any]:
    """Compare two ranks of one thread with one process of two, and the model's steps with others, all in turn."""
    free = job(name, shape, steps)
    found, _ = rank_runs.run(free, memo.host(), computer())
    traffic = found["u"][0].traffic
    jobs = {t: job(name, shape, steps, t, overlapped=False) for t in sorted({traffic.steps, *BESIDE})} | {0: free}
    ranks: dict[int, list[float]] = {t: [] for t in jobs}
    threads = []
    for number in range(REPEATS + 1):
        for t, one in jobs.items():
            seconds = seconds_of(lambda one=one: rank_runs.run(one, memo.host(), computer()), PAUSE if number else 0.0)
            if number:
                ranks[t].append(seconds)
        if number:
            threads.append(quietly(lambda: alone(name, shape, steps)))
    medians = {t: statistics.median(samples) for t, samples in ranks.items()}
    own, both = medians.pop(0), statistics.median(threads)
    return {
        "program": name, "shape": shape, "steps": steps, "ranks_seconds": own, "threads_seconds": both,
        "speed": both / own, "t": traffic.steps, "overlapped": traffic.overlapped,
        "over_best": own / min(own, *medians.values()), "all": list(medians.items()), "samples": ranks[0],
        "threads_samples": threads,
    }  # fmt: skip


def beside_both(name: str, shape: tuple[int, ...], steps: int, delay: float) -> list[dict[str, Any]]:
    """Compare exchanges that are overlapped with others where messages are delayed, as predicted and as measured."""
    host = memo.host()
    latency = replace(host.network_latency, value=delay, low=None, high=None)
    host = replace(host, network_latency=latency, network_bandwidth=calibrate.network(COMM)["network_bandwidth"])
    free, found = job(name, shape, steps), []
    with delayed(delay):
        for t in BOTH:
            jobs = [job(name, shape, steps, t, overlapped=each) for each in (False, True)]
            expected = [expected_seconds(free, host, t, overlapped=each) for each in (False, True)]
            times: list[list[float]] = [[], []]
            for number in range(REPEATS + 1):
                for one, samples in zip(jobs, times, strict=True):
                    seconds = seconds_of(lambda one=one: rank_runs.run(one, host, computer()), 0.05)
                    if number:
                        samples.append(seconds)
            apart, hidden = map(statistics.median, times)
            found.append(
                {
                    "program": name, "shape": shape, "steps": steps, "delay": delay, "t": t,
                    "expected": expected, "measured": [apart, hidden], "expected_gain": expected[0] / expected[1],
                    "measured_gain": apart / hidden,
                }
            )  # fmt: skip
    return found


def expected_seconds(one: Any, host: Any, t: int, *, overlapped: bool) -> float:
    """Return what the model expects of a run, whichever of both ways it would choose."""
    margin = transfers._HIDDEN_MARGIN  # noqa: SLF001
    transfers._HIDDEN_MARGIN = 0.0  # noqa: SLF001
    try:
        found = rank_runs.choose(one.problem, one.first.layout, host, 1, BACKEND, t, overlapped=overlapped)
    finally:
        transfers._HIDDEN_MARGIN = margin  # noqa: SLF001
    if found.overlapped != overlapped:
        raise SystemExit(f"{one.problem.program.name} has no interior at t={t}")
    return float(found.seconds)


@contextmanager
def delayed(delay: float) -> Iterator[None]:
    """Delay the messages of runs."""
    original = ghosts.Ghosts.__init__

    def shimmed(self: Any, problem: Any, like: Any, t: int) -> None:
        original(self, problem, like, t)
        self._comm = Shim(self._comm, delay)

    ghosts.Ghosts.__init__ = shimmed  # type: ignore[method-assign]
    try:
        yield
    finally:
        ghosts.Ghosts.__init__ = original  # type: ignore[method-assign]


def beside_all(name: str, shape: tuple[int, ...], steps: int, delay: float) -> dict[str, Any]:
    """Compare the model's steps between exchanges with others where messages are delayed."""
    measured = calibrate.network(COMM)
    host = memo.host()
    latency = replace(measured["network_latency"], value=delay + measured["network_latency"].value, low=None, high=None)
    host = replace(host, network_latency=latency, network_bandwidth=measured["network_bandwidth"])
    free = job(name, shape, steps)
    chosen = COMM.bcast(rank_runs.choose(free.problem, free.first.layout, host, 1, BACKEND) if not COMM.rank else None)
    choices = {(t, False) for t in (1, 4, 8, 16, 32, 64)} | {
        (chosen.steps, chosen.overlapped),
        (chosen.steps, False),
    }
    jobs = {each: job(name, shape, steps, *each) for each in sorted(choices)}
    times: dict[tuple[int, bool], list[float]] = {each: [] for each in jobs}
    with delayed(delay):
        for number in range(REPEATS + 1):
            for each, one in jobs.items():
                seconds = seconds_of(lambda one=one: rank_runs.run(one, host, computer()), 0.05)
                if number:
                    times[each].append(seconds)
    medians = {each: statistics.median(samples) for each, samples in times.items()}
    best = min(medians, key=medians.__getitem__)
    own = medians[chosen.steps, chosen.overlapped]
    return {
        "program": name, "shape": shape, "steps": steps, "delay": delay, "model": [chosen.steps, chosen.overlapped],
        "best": list(best), "model_seconds": own, "best_seconds": medians[best], "over_best": own / medians[best],
        "expected_seconds": chosen.seconds, "every_step_seconds": medians[1, False],
        "all": [[*each, seconds] for each, seconds in medians.items()],
    }  # fmt: skip


def main() -> None:
    """Measure, print, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS, help="others stay as the output has them")
    options = parser.parse_args()
    record: dict[str, Any] = {}
    if options.output is not None and options.output.exists():
        record = json.loads(options.output.read_text())
    for part in options.parts:
        record[part] = {"beside_threads": threads_rows, "delayed": delayed_rows, "overlapped": both_rows}[part]()
        record.setdefault("environments", {})[part] = environment.describe(2)
    if COMM.Get_rank():
        return
    for part in options.parts:
        for row in record[part]:
            print(told(part, row))
    if options.output:
        options.output.write_text(json.dumps(record, indent=1) + "\n")


def threads_rows() -> list[dict[str, Any]]:
    """Return the rows of ranks beside threads."""
    return [beside_threads("heat2d", (4096, 4096), 768), beside_threads("wave3d", (256, 192, 192), 320)]


def delayed_rows() -> list[dict[str, Any]]:
    """Return the rows of the model's steps beside others."""
    return [beside_all("heat2d", (1024, 1024), 128, delay) for delay in DELAYS]


def both_rows() -> list[dict[str, Any]]:
    """Return the rows of overlapped exchanges beside others, of programs that the margin was not taken from."""
    return [
        row
        for name, shape in (("wave2d", (1024, 1024)), ("heat3d", (128, 96, 96)), ("wave3d", (128, 96, 96)))
        for delay in (2e-4, 2e-3)
        for row in beside_both(name, shape, 32, delay)
    ]


def told(part: str, row: dict[str, Any]) -> str:
    """Say what a row says."""
    if part == "beside_threads":
        return (
            f"{row['program']}: 2 ranks reach {row['speed']:.2f} of the speed of 2 threads, t={row['t']}, "
            f"{row['over_best']:.2f} of the best t's time"
        )
    if part == "delayed":
        more = row["every_step_seconds"] / row["model_seconds"]
        return (
            f"{row['program']}, delay {row['delay']:.2g} s: model's t {row['model']}, best {row['best']}, "
            f"{row['over_best']:.3f} of the best time; every step {more:.2f}"
        )
    return (
        f"{row['program']}, delay {row['delay']:.2g} s, t={row['t']}: overlapped exchanges {row['measured_gain']:.2f} "
        f"times as fast, {row['expected_gain']:.2f} expected"
    )


if __name__ == "__main__":
    main()
