"""What is chosen and counted where a run is cut into parts, and where it is taken back, as digests.

No result shows most of it: windows that are larger than need be, more messages, fewer steps per pass, states that are
computed again once too often. Everything is of a machine of the catalogue, and numbers are rounded: what another
processor's arithmetic may change in their last digits is no change. After a change that is meant, look at the cases
that are named, then run ``pytest tests/laws/test_recorded_choices.py --update-golden``.
"""

import dataclasses
import hashlib
import itertools
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tilewright.base.errors import TilewrightError
from tilewright.costs.transfers import Exchanges, Passes
from tilewright.distributed import chunks, rank_runs, slabs, streams, sweeps
from tilewright.distributed.compute import Computer, copied_seconds, expected_seconds, session_bytes, share
from tilewright.distributed.sweeps import available
from tilewright.distributed.windows import Box, Decomposition, depths, halo, split, window
from tilewright.machines.networks import network
from tilewright.plan import read_target
from tilewright.programs.stencil import catalogue as programs
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.verbs.gradients.checkpoints import Forward, Reverse, schedule, segments
from tilewright.verbs.gradients.predict import predict_gradient
from tilewright.verbs.predict import as_machine

from .generator import make_case
from .test_recorded_texts import Digests, compare, recorded_kinds

SEED = 4
SHAPES = {1: (90_000,), 2: (1100, 800), 3: (150, 90, 130)}
NAMES = ("jacobi1d", "heat2d", "wave2d", "heat2d_var", "fdtd2d", "j2d9pt", "gradient2d", "laplacian3d", "wave3d")
BOUNDARIES = ("fixed", "constant:0.5", "nearest", "reflect", "mirror", "wrap")
TILINGS = ("hybrid:t=4,s=8x64", "diamond:t=4,s=8x64")
_FORMER = ", kept=0, series=(), regions=(), subdomains=())"
"""How a problem ended when the digests were made: what says where its fields lie was a part of it."""
_FRACTION = re.compile(r"\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+")


_SAID = {
    Passes: "rows steps count slabs seconds disk_seconds compute_seconds read_bytes write_bytes",
    Exchanges: "steps count messages bytes seconds message_seconds compute_seconds redundant overlapped",
}
"""What was said of a choice when the digests were made, in this order."""


@dataclasses.dataclass(frozen=True)
class Said:
    """A choice that says what it said then; the terms of its time add up to the seconds among these."""

    choice: Passes | Exchanges

    def __repr__(self) -> str:
        names = _SAID[type(self.choice)].split()
        return f"{type(self.choice).__name__}({', '.join(f'{name}={getattr(self.choice, name)!r}' for name in names)})"


def digest(*parts: object) -> str:
    """A digest of what is said of some things, of fractions the first four digits."""
    text = "\n".join(map(repr, parts)).replace(", regions=())", _FORMER)
    text = _FRACTION.sub(lambda found: f"{float(found[0]):.4g}", text)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def tried(make: Callable[..., object], *arguments: object, **options: object) -> Callable[[], str]:
    """What digests what is made, or the words with which it is refused."""

    def made() -> str:
        try:
            return digest(make(*arguments, **options))
        except TilewrightError as error:
            return digest(str(error))

    return made


def catalogued(steps: int = 40) -> Iterator[Problem]:
    """Programs of the catalogue, the boundaries in turn."""
    for number, name in enumerate(NAMES):
        program, boundary = programs.program(name), BOUNDARIES[number % len(BOUNDARIES)]
        yield make_problem(program, SHAPES[program.rank], steps, ("float32", "float64")[number // 3 % 2], boundary)


def computer(backend: str, threads: int = 8, tiling: str | None = None) -> Computer:
    """What computes windows, on a machine that nobody asks."""
    target = read_target(backend, threads)
    return Computer(target=target, threads=threads, tiling=tiling, strict=False, scalars={})


def drawn(count: int) -> Iterator[tuple[random.Random, Problem]]:
    """Random programs on grids of a few cells per rank."""
    for index in range(count):
        chance, problem = random.Random(f"parts:{index}"), make_case(SEED, index).problem  # noqa: S311
        yield chance, dataclasses.replace(problem, shape=tuple(chance.randint(8, 40) for _ in problem.shape))


def cut(problem: Problem, box: Box, layout: Decomposition, rank: int) -> str:
    return digest(
        [depths(problem, steps) for steps in (0, 1, 2, 7, 300)],
        [window(problem, box, steps) for steps in (1, 3)],
        [halo(problem, layout, rank, steps) for steps in (0, 1, 2)],
        [split(problem, layout, rank, steps) for steps in (1, 2)],
    )


def windows() -> Digests:
    """How far from a cut values are wrong, what a box depends on, who has it, and what is computed first."""
    for index, (chance, problem) in enumerate(drawn(60)):
        box = tuple((low := chance.randrange(extent), chance.randint(low + 1, extent)) for extent in problem.shape)
        layout = Decomposition(shape=problem.shape, topology=tuple(chance.randint(1, 4) for _ in problem.shape))
        rank = chance.randrange(layout.size)
        yield f"case {index}", partial(cut, problem, box, layout, rank)


def passes() -> Digests:
    """Slabs that NumPy computes, of grids of several times the memory; what they take, and how they lie."""
    machine, own = as_machine("zen3"), computer("numpy")
    for problem, memory in itertools.product(catalogued(), (2**16, 2**20, 2**22, 2**30)):

        def planned(problem: Problem = problem, memory: int = memory) -> object:
            chosen = slabs.plan(problem, memory, machine, own)
            assert chosen is not None
            cut = slabs.slabs(problem, chosen, chosen.steps)
            taken = streams.Buffers.bytes(problem, chosen.rows, 1), session_bytes(own.kernel(problem), problem, 8)
            return Said(chosen), [(each.span, each.box) for each in cut], taken

        yield f"{problem.program.name}, {memory} bytes", tried(planned)


def swept() -> Digests:
    """Sweeps of compiled code, with their stages, by the tilings that the models choose and by one of each family."""
    machine = as_machine("zen3")
    if not available():
        pytest.skip("the system takes memory for whole ranges of addresses")
    for name, tiling in (*itertools.product(("heat2d", "wave2d"), (None, *TILINGS)), ("wave3d", None)):
        program = programs.program(name)
        problem = make_problem(program, SHAPES[program.rank], 24, "float32", "reflect")

        def planned(problem: Problem = problem, tiling: str | None = tiling) -> object:
            found = sweeps.plan(problem, 2**24, machine, computer("c", tiling=tiling))
            if found is None:
                return None
            one = dataclasses.replace(problem, steps=found.passes.steps)
            cut = sweeps.catalogue.sweep(one, found.tiling)
            assert cut is not None
            taken = sweeps.taken(one, cut, found.parts)
            return Said(found.passes), str(found.tiling), found.parts, taken, [*sweeps.stages(one, cut, found.parts)]

        yield f"{name}, {tiling or 'chosen'}", tried(planned)


def exchanged(*arguments: Any, **options: Any) -> Said:
    return Said(rank_runs.choose(*arguments, **options))


def exchanges() -> Digests:
    """How many steps lie between two exchanges of ranks, and whether messages travel while they compute."""
    for number, problem in enumerate(catalogued()):
        known = network(("slingshot", "ethernet10")[number % 2], as_machine("zen3"))
        machine = dataclasses.replace(
            as_machine("zen3"), network_latency=known.latency, network_bandwidth=known.bandwidth
        )
        topology = tuple(((2, 1, 3), (1, 4, 1), (2, 2, 2))[number % 3][: len(problem.shape)])
        layout = Decomposition(shape=problem.shape, topology=topology)
        own = computer("numpy" if number % 4 else "c", threads=2)
        for steps, overlapped in ((None, None), (3, None), (None, False)):
            how = own.threads, own.target.backend, steps
            name = f"{problem.program.name}, {steps or 'chosen'} steps{', one after another' * (overlapped is False)}"
            yield name, tried(exchanged, problem, layout, machine, *how, overlapped=overlapped)
    for threads in (0, 1, 3, 1000):
        part = share(as_machine("zen3"), threads)
        scaled = [part.sm_count, part.dram_bandwidth, part.l3_bytes]
        found = [(each.value, each.low, each.high) for each in scaled if each is not None]
        yield f"share of {threads} threads", partial(digest, found)
    for problem, backend in itertools.product(itertools.islice(catalogued(), 3), ("c", "numpy")):
        ways = (expected_seconds, copied_seconds)
        seconds = [way(problem, as_machine("zen3"), backend) for way in ways]
        yield f"seconds of {problem.program.name}, {backend}", partial(digest, seconds)


def tasks() -> Digests:
    """Steps of a task on chunks, of all axes and of the first alone."""
    for number, problem in enumerate(catalogued(steps=400)):
        own = computer("numpy" if number else "c", threads=1)
        for parts in (3, 12):
            sizes = tuple((extent // parts,) * (parts - 1) for extent in problem.shape)
            cut = tuple((*each, extent - sum(each)) for each, extent in zip(sizes, problem.shape, strict=True))
            ways = {"all axes": cut, "the first axis": (cut[0], *((extent,) for extent in problem.shape[1:]))}
            for way, each in ways.items():
                found = tried(chunks._steps, problem, each, as_machine("zen3"), own)
                yield f"{problem.program.name}, {parts} parts of {way}", found


def adjoints() -> Digests:
    """Adjoints of the catalogue and of random programs, with every way in which they are computed."""
    for name, boundary in itertools.product(NAMES, ("fixed", "wrap", "reflect")):
        yield f"{name}, {boundary}", tried(adjoint_of, programs.program(name), boundary)
    for index in range(40):
        problem = make_case(SEED, index).problem
        sides = dict(zip(problem.program.fields, problem.boundaries, strict=True))
        yield f"case {index}", tried(adjoint_of, problem.program, sides)


def gradients() -> Digests:
    """What gradients are expected to cost, and which states they keep."""
    for problem, asked in itertools.product(catalogued(), ({}, {"checkpoints": 7}, {"wrt": ()})):
        if problem.program.name not in {"heat2d", "wave2d", "heat2d_var", "gradient2d"}:
            continue

        def predicted(problem: Problem = problem, asked: dict[str, object] = asked) -> object:
            found = predict_gradient(
                problem.program,
                shape=problem.shape,
                steps=problem.steps,
                machine="zen3",
                dtype=problem.dtype,
                boundary=dict(zip(problem.program.fields, problem.boundaries, strict=True)),
                **asked,
                **dict.fromkeys(problem.program.scalars, 0.1),
            )
            return found.states, found.run_seconds, found.forward_seconds, found.again_seconds, found.back_seconds

        asked_for = ", ".join(f"{name}={value}" for name, value in asked.items()) or "nothing asked"
        yield f"{problem.program.name}, {asked_for}", tried(predicted)
    for steps, slots in itertools.product((1, 2, 3, 17, 100, 513, 2000), (1, 2, 3, 9, 40, 600)):
        first, *rest = schedule(steps, slots)
        at = [first.at[:-1], *(each.at for each in rest if isinstance(each, Forward))]
        runs = [
            tuple(b - a for a, b in itertools.pairwise(each)) for each in sorted(at, key=lambda at: (at[0], -at[-1]))
        ]
        _, bands = zip(*sorted((each.begin, each.steps) for each in rest if isinstance(each, Reverse)), strict=True)
        found = segments(steps, slots), max(bands), ([each for each in runs if each], list(bands))
        yield f"{steps} steps, {slots} slots", partial(digest, *found)


KINDS: dict[str, tuple[int, Callable[[], Digests]]] = {
    "parts, windows": (2, windows),
    "parts, slabs": (1, passes),
    "parts, sweeps": (4, swept),
    "parts, ranks": (1, exchanges),
    "parts, chunks": (1, tasks),
    "gradients, adjoints": (2, adjoints),
    "gradients, costs": (2, gradients),
}
"""Of how many choices one is made in a default run, and all of them."""


@recorded_kinds(KINDS)
def test_choices_are_those_recorded(kind, every, request):
    compare(kind, KINDS[kind][1](), every, update=request.config.getoption("--update-golden"))
