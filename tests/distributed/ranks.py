"""What the ranks of a job do: ``mpiexec -n N python -m tests.distributed.ranks VERB …``; rank 0 prints the outcome."""

import itertools
import os
import random
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
from mpi4py import MPI
from tests.distributed.cases import boundary_of, draw, flat, levels_of

import tilewright as tw
from tilewright.distributed import compute, measure, ranks, windows
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import Problem, make_problem

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
    done = wrong = exchanged = 0
    for index in range(first, first + count):
        problem, arrays, scalars = draw(70 + COMM.Get_size(), index, rows=(COMM.Get_size(), 60))
        fitting = topologies(problem.shape)
        if not fitting:
            continue
        chance = random.Random(index)  # noqa: S311  (reproducible, not secret)
        topology = chance.choice(fitting)
        backend = "c" if index % 40 == 0 else "numpy"
        given = deal(problem, arrays, topology)
        steps = chance.choice((None, 1, 2, 3, problem.steps or 1))
        options = {"steps": problem.steps, "boundary": boundary_of(problem), "dtype": problem.dtype}
        common = {"levels": True, "strict": True, "backend": backend, "threads": 1}
        try:
            if steps is None:
                found = tw.run(problem.program, *given, **options, **common, **scalars)
            else:
                found = with_steps(problem, given, scalars, backend, steps)
        except tw.UsageError as error:
            assert "some fields wrap" in str(error), error  # noqa: PT017
            continue
        whole = [each.gather() for each in flatten(found)]
        done += 1
        traffic = flatten(found)[0].traffic
        exchanged += traffic.exchanges
        if not agrees(problem, given, traffic):
            wrong += 1
            print(f"rank {COMM.Get_rank()}: traffic of {index} is {traffic}", flush=True)
        if COMM.Get_rank() == 0:
            right = flat(tw.run(problem.program, *levels_of(problem, arrays), **options, **common, **scalars))
            if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(whole, right, strict=True)):
                wrong += 1
                print(f"case {index} is wrong: {topology} {steps} {problem}", flush=True)
    wrong = COMM.allreduce(wrong)
    if COMM.Get_rank() == 0:
        print(f"{done} programs, {exchanged} exchanges, {wrong} wrong", flush=True)


def with_steps(problem: Problem, given, scalars, backend: str, steps: int):
    """Run with so many steps between exchanges."""
    target = read_target(backend, 1)
    computer = compute.Computer(target=target, threads=1, tiling=None, strict=True, scalars=scalars)
    levels = dict(zip(problem.program.fields, given, strict=True))
    from tilewright.runtime.store.hosts import host

    found = ranks.run(problem, levels, host(), computer, steps)
    return tuple(found.values())


def flatten(found) -> list[tw.distributed.Array]:
    """Return the arrays of a result, whatever its form."""
    return [one for each in found for one in flatten(each)] if isinstance(found, tuple) else [found]


def agrees(problem: Problem, given, traffic: ranks.Traffic) -> bool:
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
    count = -(-max(1, problem.steps) // each)
    program = problem.program
    moving = sum(map(program.history, program.updated))
    still = sum(program.history(name) for name in program.fields if name not in program.updated)
    values = len(others) * (count * moving + (still if count else 0))
    expected = ranks.Traffic(
        steps=traffic.steps,
        exchanges=count,
        messages=count * len(set(others.tolist())),
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
    found = measure.network(COMM)
    if COMM.Get_rank() == 0:
        print(found["network_latency"].value, found["network_bandwidth"].value, flush=True)


def dies(instant: str) -> None:
    """Kill a rank in the middle of a run, or let it fail."""
    array = tw.distributed.Array((200, 200), comm=COMM)
    original, calls = compute.Computer.run, itertools.count()

    def run(self, problem, arrays, results, done=0) -> None:
        if COMM.Get_rank() == 1 and next(calls) == int(instant.strip("!")):
            if instant.endswith("!"):
                raise RuntimeError("an accident")
            os.kill(os.getpid(), signal.SIGKILL)
        original(self, problem, arrays, results, done)

    compute.Computer.run = run
    target = read_target("numpy", 1)
    computer = compute.Computer(target=target, threads=1, tiling=None, strict=False, scalars={})
    problem = make_problem(tw.program("heat2d"), (200, 200), 400)
    from tilewright.runtime.store.hosts import host

    ranks.run(problem, {"u": (array,)}, host(), computer, 4)
    print("ends", flush=True)


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    if verb == "programs":
        programs(*map(int, arguments))
    else:
        {"files": files, "mistakes": mistakes, "dies": dies, "messages": messages}[verb](*arguments)
