"""What the ranks of a job do: ``mpiexec -n N python -m tests.distributed.ranks VERB …``; rank 0 prints the outcome."""

import functools
import itertools
import os
import random
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from mpi4py import MPI
from tests.distributed.cases import boundary_of, draw, flat, levels_of, points_of, varied

import tilewright as tw
from tilewright.distributed import compute, ghosts, rank_arrays, rank_runs, windows
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.runtime import kernels
from tilewright.verbs import calibrate

COMM = MPI.COMM_WORLD
warnings.simplefilter("ignore", tw.TilewrightWarning)


def topologies(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return every topology of this job's ranks that fits a grid."""
    size = COMM.Get_size()
    every = itertools.product([n for n in range(1, size + 1) if size % n == 0], repeat=len(shape))
    return [
        each
        for each in every
        if np.prod(each) == size and all(n <= extent for n, extent in zip(each, shape, strict=True))
    ]


def deal(problem: Problem, arrays, topology) -> list[tuple[tw.distributed.Array, ...]]:
    """Deal every level of every field."""

    def one(values) -> tw.distributed.Array:
        array = tw.distributed.Array(problem.shape, problem.dtype, comm=COMM, topology=topology)
        return array.scatter(values if COMM.Get_rank() == 0 else None)

    return [tuple(one(values) for values in levels) for levels in levels_of(problem, arrays)]


def programs(first: int, count: int) -> None:
    """Run random programs on random topologies; compare with one process, and traffic with its prediction."""
    done = wrong = exchanged = hidden = recorded = 0
    for index in range(first, first + count):
        problem, arrays, scalars = draw(70 + COMM.Get_size(), index, rows=(COMM.Get_size(), 60))
        fitting = topologies(problem.shape)
        if not fitting:
            continue
        chance = random.Random(index)  # noqa: S311  (reproducible, not secret)
        topology = chance.choice(fitting)
        backend = "c" if index % 10 == 0 else "numpy"
        given = deal(problem, arrays, topology)
        steps = chance.choice((None, 1, 2, 3, problem.steps or 1))
        overlapped = chance.choice((True, False, None))
        ghosts._RUN_BYTES = chance.choice((1, 64, 2**12))
        options = {"steps": problem.steps, "boundary": boundary_of(problem), "dtype": problem.dtype}
        points = points_of(problem, f"ranks:{index}") if chance.random() < 0.5 else {}
        scalars = varied(problem, scalars, f"ranks:{index}") if points else scalars
        common = {"levels": True, "strict": True, "backend": backend, "threads": 1}
        try:
            with decided(steps, overlapped):
                found = tw.run(problem.program, *given, **options, **common, **points, **scalars)
        except tw.UsageError as error:
            assert "some fields wrap" in str(error), error  # noqa: PT017
            continue
        traces: dict[str, np.ndarray] = {}
        if points:
            found, traces = found
        whole = [each.gather() for each in flatten(found)]
        done += 1
        traffic = flatten(found)[0].traffic
        exchanged += traffic.exchanges
        hidden += traffic.overlapped
        recorded += bool(traces)
        if not agrees(problem, given, traffic):
            wrong += 1
            print(f"rank {COMM.Get_rank()}: traffic of {index} is {traffic}", flush=True)
        if COMM.Get_rank() == 0:
            right = tw.run(problem.program, *levels_of(problem, arrays), **options, **common, **points, **scalars)
            if points:
                right, expected = right
                for field, trace in expected.items():
                    if not np.array_equal(traces[field], trace, equal_nan=True):
                        wrong += 1
                        print(f"trace of {field} of case {index} is wrong: {topology} {steps} {problem}", flush=True)
            right = flat(right)
            if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(whole, right, strict=True)):
                wrong += 1
                print(f"case {index} is wrong: {topology} {steps} {problem}", flush=True)
    wrong = COMM.allreduce(wrong)
    if COMM.Get_rank() == 0:
        print(
            f"{done} programs, {exchanged} exchanges, {recorded} with points, {hidden} overlapped, {wrong} wrong",
            flush=True,
        )


@contextmanager
def decided(steps: int | None, overlapped: bool | None) -> Iterator[None]:
    """Run with so many steps between exchanges, overlapped or not; None leaves it to the model."""
    original = rank_runs.RankRun
    rank_runs.RankRun = functools.partial(original, steps=steps, overlapped=overlapped)
    try:
        yield
    finally:
        rank_runs.RankRun = original


def with_steps(problem: Problem, given, scalars, backend: str, steps: int):
    """Run with so many steps between exchanges."""
    target = read_target(backend, 1)
    computer = compute.Computer(target=target, threads=1, tiling=None, strict=True, scalars=scalars)
    levels = dict(zip(problem.program.fields, given, strict=True))
    from tilewright.runtime.store.hosts import host

    return rank_runs.run(rank_runs.RankRun(problem=problem, arrays=levels, steps=steps), host(), computer)


def flatten(found) -> list[tw.distributed.Array]:
    """Return the arrays of a result, whatever its form."""
    return [one for each in found for one in flatten(each)] if isinstance(found, tuple) else [found]


def agrees(problem: Problem, given, traffic: rank_arrays.Traffic) -> bool:
    """Whether messages and bytes are those that follow from the windows, counted cell by cell."""
    layout, rank = given[0][0].layout, COMM.Get_rank()
    each = min(traffic.steps, max(1, problem.steps))
    window = windows.window(problem, layout.block(rank), each)
    owner = np.empty(problem.shape, int)
    for other in range(layout.size):
        owner[tuple(slice(low, high) for low, high in layout.block(other))] = other
    axes = [np.arange(low, high) % extent for (low, high), extent in zip(window.span, problem.shape, strict=True)]
    seen = owner[np.ix_(*axes)]
    others = seen[seen != rank]
    # A box is where neither the owner nor the copy of a grid that wraps changes along any axis.
    turns = [np.arange(low, high) // extent for (low, high), extent in zip(window.span, problem.shape, strict=True)]
    copies = [each.ravel().tolist() for each in np.broadcast_arrays(*np.ix_(*turns))]
    boxes = set(zip(seen.ravel().tolist(), *copies, strict=True))
    sent = sum(each[0] != rank for each in boxes)
    count = -(-max(1, problem.steps) // each)
    program = problem.program
    moving = sum(map(program.history, program.updated))
    still = sum(program.history(name) for name in program.fields if name not in program.updated)
    values = len(others) * (count * moving + still)
    expected = rank_arrays.Traffic(
        overlapped=traffic.overlapped,
        steps=traffic.steps,
        exchanges=count,
        messages=sent * (count * moving + still),
        bytes=values * problem.itemsize,
    )
    return expected == traffic


def files(folder: str) -> None:
    """Write and read arrays, and gather them."""
    values = np.random.default_rng(1).random((13, 10)).astype(np.float32)
    for ending, topology in itertools.product((".npy", ".zarr"), topologies(values.shape)):
        path = Path(folder) / f"{'-'.join(map(str, topology))}{ending}"
        array = tw.distributed.Array(values.shape, comm=COMM, topology=topology)
        array.scatter(values if COMM.Get_rank() == 0 else None)
        array.write(path)
        again = tw.distributed.Array(values.shape, comm=COMM, topology=topology).read(path)
        last = COMM.Get_size() - 1
        whole = again.gather(rank=last)
        assert (whole is None) == (COMM.Get_rank() != last)
        assert whole is None or np.array_equal(whole, values)
    if COMM.Get_rank() == 0:
        print("right", flush=True)


def mistakes(folder: str) -> None:
    """Check that a mistake, also of a single rank, is an error on all ranks."""
    rank, size = COMM.Get_rank(), COMM.Get_size()
    array = tw.distributed.Array((12, 12), comm=COMM)
    problem = make_problem(tw.program("heat2d"), (12, 12), 3)
    cases = {
        "exchanges": lambda: with_steps(problem, [(array,)], {}, "numpy", 1 + rank),
        "differs": lambda: tw.run("heat2d", array, steps=3 + (rank == 1), threads=1),
        "failed on one": lambda: tw.run("heat2d", array, steps=-1 if rank == 1 else 3, threads=1),
        "no such file": lambda: array.read(Path(folder) / "nothing.npy"),
        "other shape": lambda: array.scatter(np.zeros((3, 3))),
        "topology": lambda: tw.distributed.Array((12, 12), comm=COMM, topology=(size + 1, 1)),
        "too many ranks": lambda: tw.distributed.Array((1, 1), comm=COMM),
        "out": lambda: tw.run("heat2d", array, steps=1, out=np.zeros((12, 12))),
        "mixed": lambda: tw.run("fdtd2d", array, np.zeros((12, 12)), array, steps=1),
        "two topologies": lambda: tw.run(
            "heat2d_var", array, tw.distributed.Array((12, 12), comm=COMM, topology=(1, size)), steps=1
        ),
    }
    for name, call in cases.items():
        try:
            call()
        except tw.TilewrightError as error:
            told = COMM.gather(str(error), root=0)
            if rank == 0:
                print(f"{name}: {' | '.join(dict.fromkeys(told))}", flush=True)
        else:
            print(f"{name}: no error on rank {rank}", flush=True)


def messages() -> None:
    """Measure messages between ranks."""
    found = calibrate.network(COMM)
    if COMM.Get_rank() == 0:
        print(found["network_latency"].value, found["network_bandwidth"].value, flush=True)


def dies(instant: str) -> None:
    """Kill a rank in the middle of a run, or let it fail."""
    array = tw.distributed.Array((200, 200), comm=COMM)
    dying(instant)
    target = read_target("numpy", 1)
    computer = compute.Computer(target=target, threads=1, tiling=None, strict=False, scalars={})
    problem = make_problem(tw.program("heat2d"), (200, 200), 400)
    from tilewright.runtime.store.hosts import host

    rank_runs.run(rank_runs.RankRun(problem=problem, arrays={"u": (array,)}, steps=4), host(), computer)
    print("ends", flush=True)


def dying(instant: str) -> None:
    """Let the second rank be killed before it computes for the nth time, or fail, with an exclamation mark."""
    original, calls = kernels.NumpySession.advance, itertools.count()

    def advance(self, steps):
        if COMM.Get_rank() == 1 and next(calls) == int(instant.strip("!")):
            if instant.endswith("!"):
                raise RuntimeError("an accident")
            os.kill(os.getpid(), signal.SIGKILL)
        original(self, steps)

    kernels.NumpySession.advance = advance


def goes_on(folder: str, instant: str) -> None:
    """Go on with a wave from its last checkpoint, and compare with one process; the second rank may die on the way."""
    if instant != "never":
        dying(instant)
    fields, steps = np.random.default_rng(4).random((2, 90, 47)), 160
    places = [(0.2, 3.5), (29.5, 10.0), (44.7, 23.2), (89.7, 46.0), (60.0, 7.0)]
    options = {
        "steps": steps,
        "boundary": ("wrap", "reflect"),
        "strict": True,
        "backend": "numpy",
        "levels": True,
        "sources": tw.Points([(45.5, 23.5)], values=np.sin(np.arange(steps)), interpolation="sinc"),
        "receivers": tw.Points(places, every=3),
    }
    given = tuple(
        tw.distributed.Array(field.shape, field.dtype, comm=COMM).scatter(field if COMM.Get_rank() == 0 else None)
        for field in fields
    )
    with decided(4, None):
        found, traces = tw.run("wave2d", given, checkpoint=folder, every=20, resume=True, **options)
    whole = [each.gather() for each in found]
    if COMM.Get_rank() == 0:
        right, expected = tw.run("wave2d", tuple(fields), **options)
        wrong = sum(int(np.count_nonzero(a != b)) for a, b in zip(whole, right, strict=True))
        wrong += int(np.count_nonzero(traces["u"] != expected["u"]))
        print(f"{steps - 4 * found[0].traffic.exchanges} steps before, {wrong} wrong", flush=True)


def uneven() -> None:
    """Check that ranks whose root cannot scatter or gather do not wait for it."""
    array = tw.distributed.Array((6, 6), comm=COMM)
    for given in (np.full((6, 6), "x"), np.full((6, 6), None), [[1, 2], [3]], np.zeros((6, 6), complex)):
        try:
            array.scatter(given if COMM.Get_rank() == 0 else None)
        except tw.ArrayError as error:
            told = COMM.gather(str(error), root=0)
            if COMM.Get_rank() == 0:
                print(" | ".join(dict.fromkeys(told)), flush=True)


def together(folder: str) -> None:
    """Do one after the other what needs no job of its own."""
    parts = {
        "files": lambda: files(folder),
        "mistakes": lambda: mistakes(folder),
        "messages": messages,
        "uneven": uneven,
    }
    for name, part in parts.items():
        if COMM.Get_rank() == 0:
            print(f"== {name}", flush=True)
        part()


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    if verb == "programs":
        programs(*map(int, arguments))
    else:
        {"dies": dies, "goes_on": goes_on, "together": together}[verb](*arguments)
