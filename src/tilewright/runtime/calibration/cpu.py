"""Running the micro-benchmarks: this machine's CPU as a machine value whose parameters are measured.

C_iter follows the papers' method (Prajapati et al., PPoPP 2017, section 5.2): random small instances of the program,
computed from the cache by one core so that nothing but arithmetic counts, and a robust fit through their times.
"""

import contextlib
import functools
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import TilewrightError
from tilewright.costs import fit
from tilewright.costs.rates import iteration_seconds
from tilewright.costs.setting import make_setting
from tilewright.costs.time import predict, sizes_of
from tilewright.machines.defaults import host_machine
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime import direct
from tilewright.runtime.calibration import micro, probes
from tilewright.runtime.calibration.fits import Instance, Timing, exposing
from tilewright.runtime.calibration.probes import Note, Probe
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.host import available_bytes, thread_count
from tilewright.runtime.session import Inputs, Session
from tilewright.runtime.toolchains.cpu import Toolchain, target_cpu
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.family import untileable
from tilewright.schedules.tiling import NONE, Tiling

_ROWS = 4
"""Rows that kernels compute together at most: instances hold whole blocks of them, as nearly all of a larger grid."""
_SWEEPS = 24  # least instances without tiles
_LEAST_STEPS = 64  # least steps of an instance whose grid stays in L1 or L2
_L1_SHARE = 0.7
_L2_SHARE = 0.5
_INSTANCE_SECONDS = 3e-4
_REPEATS, _MOST_REPEATS = 2, 6
_FINER = math.sqrt(2.0)  # by how much copies that find out how large L3 is become smaller
_ALIKE = 1.03  # times that differ by less are the same
_TILES: dict[int, tuple[Tiling, ...]] = {
    1: tuple(Tiling(family="hexagonal", time=t, space=(s,)) for t, s in ((8, 512), (16, 256), (32, 1024))),
    2: tuple(
        Tiling(family="hybrid", time=t, space=s)
        for t, s in ((8, (8, 1024)), (16, (4, 1024)), (32, (4, 1024)), (64, (4, 1024)), (16, (8, 128)))
    ),
    3: tuple(
        Tiling(family="hybrid", time=t, space=s)
        for t, s in ((2, (4, 64, 512)), (4, (4, 16, 512)), (8, (4, 32, 512)), (4, (8, 64, 512)))
    ),
}
"""Tilings of the instances, by rank: C_iter must not depend on them. Most have whole rows, as many as tiles of real
grids; one is cut, so that pieces of rows and small boxes tell their start-ups."""
_STREAMS = {
    1: ((32, (2048,)), (32, (4096,)), (52, (2048,)), (52, (8192,))),
    2: ((32, (688,)), (24, (1024,)), (32, (256,)), (16, (2048,)), (32, (352,)), (16, (512,))),
    3: ((4, (64, 256)), (6, (48, 256)), (8, (32, 256)), (4, (32, 128))),
}
"""Levels and sizes behind the first axis of the instances' streaming tiles, by rank: of many widths, so that some wait
for lines and some do not, and with many levels, so that reading and writing the grid does not hide the rest."""
_WHOLE = 4096  # a size along the first axis that no instance exceeds
_TOGETHER = (
    *(Tiling(family="hybrid", time=t, space=s) for t, s in ((16, (4, 16, 384)), (12, (8, 32, 384)))),
    *(Tiling(family=streaming.FAMILY, time=t, space=(_WHOLE, *s)) for t, s in ((5, (64, 256)), (6, (32, 256)))),
)
"""Tilings in which all cores compute a grid of 3D in memory; their tiles lie in L2 and in L3."""
_PLANE, _PLANES, _PLANES_BYTES = (256, 256), 96, 2**28  # of that grid: planes, at least so many, in at most so much
_TOGETHER_STEPS = 32
_MOST_TOGETHER = 3  # programs that are measured so


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuProtocol:
    """How much is measured."""

    instances: int = 30  # random instances per program; the papers take 70
    samples: int = 9  # samples per micro-benchmark
    stream_bytes: int = 2**27  # least size of the arrays streamed from memory, per thread
    streams: int = 4  # most streaming tiles per program
    seed: int = 1  # of the random instances


USUAL = CpuProtocol()
THOROUGH = CpuProtocol(instances=70, samples=15, streams=6)
QUICK = CpuProtocol(instances=20, samples=5, stream_bytes=2**26)


def measure_machine(tools: Toolchain, protocol: CpuProtocol, note: Note) -> Machine:
    """Measure what belongs to no program (bandwidths, barrier, call); the rest stays as described or estimated."""
    base = host_machine(target_cpu())
    units, threads = micro.build(tools), _threads(base, tools)
    streamed, vectors = _stream_bytes(base, threads, protocol), base.clock.value * base.vector_width.value
    shared = functools.partial(micro.bandwidth, units, streamed, threads, cached=False)
    alone = functools.partial(micro.bandwidth, units, streamed, 1, cached=False)
    team = functools.partial(micro.least_seconds, units.team, threads)
    function = functools.partial(micro.function_cycles, units, vectors)
    size = f"{streamed >> 20} MiB each, fetches before writes counted"
    memory = (
        Probe("dram_bandwidth", shared, f"copy by {_many(threads)}, {size}", title="bandwidth of memory"),
        Probe("core_bandwidth", alone, f"copy by one thread, {size}"),
        _cache_probe(base, units),
    )
    machine = _with_outer(probes.measured(base, memory, protocol.samples, note), units, threads, protocol)
    other_probes = (
        *_outer_probes(machine, units, threads),
        _barrier_probe(units, threads),
        Probe("call_seconds", team, f"a team of {_many(threads)} starts and ends"),
        Probe("function_cycles", function, "exponentials of vectors in L1", title="functions"),
    )
    return probes.measured(machine, other_probes, protocol.samples, note)


def outer_again(machine: Machine, tools: Toolchain, protocol: CpuProtocol) -> Machine:
    """Measure L3 once more, before streaming tiles are.

    Nothing makes a copy faster than L3 is, so the faster counts. What others take of L3 at one moment they may take at
    another, so the smaller room counts. Both must be known before, since streaming tiles wait for L3 and their C_iter
    is what is left of their time.
    """
    threads, units = _threads(machine, tools), micro.build(tools)
    whole = replace(machine, l3_bytes=host_machine(target_cpu()).l3_bytes)
    candidate = _with_outer(whole, units, threads, protocol)
    if candidate.l3_bytes and machine.l3_bytes and candidate.l3_bytes.value < machine.l3_bytes.value:
        machine = candidate
    return probes.measured_again(machine, _outer_probes(machine, units, threads), protocol.samples)


def measured_again(machine: Machine, tools: Toolchain, protocol: CpuProtocol) -> Machine:
    """Measure L2 and the barrier once more, at the end of a calibration; ranges widen where they have changed.

    Nothing makes a barrier shorter than it is, so the shorter one counts. L2 keeps its value: C_iter goes with it.

    What else runs on the same cores may come and go meanwhile, and other systems on the same hardware show in no other
    way: they take half of L2's bandwidth and a third of the arithmetic. A range that wide is called unstable.
    """
    units = micro.build(tools)
    again = _cache_probe(machine, units), _barrier_probe(units, _threads(machine, tools))
    return probes.measured_again(machine, again, protocol.samples)


def _threads(machine: Machine, tools: Toolchain) -> int:
    return min(thread_count(), int(machine.sm_count.value)) if tools.openmp else 1


def _many(threads: int) -> str:
    return f"{threads} thread{'s' * (threads != 1)}"


def _cache_probe(machine: Machine, units: micro.Micro) -> Probe:
    size = int(_L2_SHARE * machine.shared_bytes.value)
    copies = functools.partial(micro.bandwidth, units, size, 1, cached=True)
    return Probe("cache_bandwidth", copies, f"copy by one thread in {size >> 10} KiB", title="bandwidth of the caches")


def _outer_probes(machine: Machine, units: micro.Micro, threads: int) -> tuple[Probe, ...]:
    """Copies well beyond L2, of half of L3 in all; none where that is impossible."""
    size = int(machine.l3_bytes.value) // (2 * threads) if machine.l3_bytes else 0
    if size < 3 * machine.shared_bytes.value:
        return ()
    copies = functools.partial(micro.bandwidth, units, size, threads, cached=False, shared=False)
    note = f"copy by {_many(threads)} at once in {size >> 10} KiB each, fetches before writes counted"
    return (Probe("outer_bandwidth", copies, note, better=max),)


def _barrier_probe(units: micro.Micro, threads: int) -> Probe:
    barrier = functools.partial(micro.least_seconds, units.barrier, threads)
    note = f"one loop shared dynamically by {_many(threads)}, with its barrier"
    return Probe("launch_seconds", barrier, note, title="barriers and calls", better=min)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Random instances of one program in one kind of tiles, drawn before anything is compiled or measured."""

    program: Program  # computed in float32
    kind: str  # ``tiles``, ``none`` for sweeps without tiles, ``streaming``, or ``together`` for all cores
    shapes: tuple[tuple[int, ...], ...]  # of the instances
    tilings: tuple[Tiling, ...]  # their tilings; instance i has number i modulo their count

    @property
    def title(self) -> str:
        """What it measures, for people."""
        kinds = {"tiles": "", "none": " without tiles", "streaming": " in streaming tiles"}
        if self.kind == "together":
            return f"{self.program.name} on all cores"
        return f"C_iter of {self.program.name}{kinds[self.kind]}"

    @property
    def kernels(self) -> tuple[tuple[Problem, Tiling], ...]:
        """What its kernels are made of, one per tiling; they depend on no instance's shape."""
        case = make_problem(self.program, self.shapes[0], 1024)
        return tuple((case, tiling) for tiling in self.tilings)


def tile_series(program: Program, machine: Machine, protocol: CpuProtocol) -> Series:
    """Draw instances in hexagonal or hybrid tiles, whose grids lie in a core's L2."""
    generator = random.Random(f"{protocol.seed} {program.name}")  # noqa: S311  (no secret)
    draw = _tiled_shape if program.rank > 1 else _shape
    shapes = tuple(draw(program, machine, generator) for _ in range(protocol.instances))
    tilings = _tilings(make_problem(program, shapes[0], 1024))
    return Series(program=program, kind="tiles", shapes=shapes, tilings=tilings)


def sweep_series(program: Program, machine: Machine, protocol: CpuProtocol) -> Series:
    """Draw instances without tiles, whose grids lie in a core's L1.

    They are a third as many, but enough to tell C_iter from the start-up of a step, which takes as long as a hundred
    vectors.
    """
    generator = random.Random(f"{protocol.seed} {program.name}")  # noqa: S311  (no secret)
    count = max(_SWEEPS, protocol.instances // 3)
    shapes = tuple(_shape(program, machine, generator) for _ in range(count))
    return Series(program=program, kind="none", shapes=shapes, tilings=(NONE,))


def stream_series(program: Program, machine: Machine, protocol: CpuProtocol) -> Series | None:
    """Draw instances in streaming tiles, whose grids lie in a core's part of L3; None where it does not apply."""
    generator = random.Random(f"{protocol.seed} {program.name} streaming")  # noqa: S311  (no secret)
    tiles = _STREAMS[program.rank][: protocol.streams]
    count = max(2 * len(tiles), protocol.instances // 3)
    shapes = tuple(_wide_shape(program, tiles[i % len(tiles)][1], machine, generator) for i in range(count))
    case = make_problem(program, shapes[0], 1024)
    if not streaming.FAMILY.applies(case):
        return None
    spaces = [(levels, behind if program.rank == 1 else (_WHOLE, *behind)) for levels, behind in tiles]
    tilings = tuple(
        catalogue.complete(case, Tiling(family=streaming.FAMILY, time=levels, space=space)) for levels, space in spaces
    )
    return Series(program=program, kind="streaming", shapes=shapes, tilings=tilings)


CHOSEN: dict[str, Callable[[Sequence[float]], float]] = {
    "tiles": min,
    "none": min,
    "streaming": min,
    "together": statistics.median,
}
"""What of the times of an instance counts: C_iter is never shorter than it is, but what others take of L3 and of memory
every run meets."""
SERIES = tile_series, sweep_series, stream_series  # what draws the instances of each kind on one core


def together_series(programs: Sequence[Program], machine: Machine, tools: Toolchain) -> list[Series]:
    """Take a grid of 3D in memory, which all cores compute in tiles of several kinds, of the first such programs."""
    if _threads(machine, tools) < machine.sm_count.value:
        return []  # whoever asked for fewer threads does not learn what all cores feel
    last = int(machine.l3_bytes.value) if machine.l3_bytes else 0
    found = []
    for program in (each for each in programs if each.rank == len(_PLANE) + 1):
        cells = _cells(program, min(4 * last, _PLANES_BYTES, _room(1)))
        shape = (max(_PLANES, int(cells / math.prod(_PLANE))), *_PLANE)
        case = make_problem(program, shape, 1024)
        if not untileable(case) and streaming.FAMILY.applies(case):
            tilings = tuple(catalogue.complete(case, tiling) for tiling in _TOGETHER)
            found.append(Series(program=program, kind="together", shapes=(shape,) * len(tilings), tilings=tilings))
    return found[:_MOST_TOGETHER]


def timed(series: Series, kernels: Sequence[CompiledKernel], machine: Machine) -> tuple[Timing, ...]:
    """Time the instances of a series, on one core or on all."""
    threads = int(machine.sm_count.value) if series.kind == "together" else 1
    timings = []
    for number, shape in enumerate(series.shapes):
        index = number % len(series.tilings)
        kernel, tiling = kernels[index], series.tilings[index]
        steps = _steps(series, shape, tiling, machine)
        problem = make_problem(series.program, shape, steps)
        time = _run_seconds if tiling.family.streams else _advance_seconds
        timings.append(Timing(shape=shape, steps=steps, tiling=tiling, seconds=time(kernel, problem, threads)))
    return tuple(timings)


def _steps(series: Series, shape: tuple[int, ...], tiling: Tiling, machine: Machine) -> int:
    """The steps of an instance: whole bands, an even number of them."""
    least = steps = 2 * tiling.time
    if series.kind == "together":
        steps = _TOGETHER_STEPS
    elif series.kind == "streaming":
        steps = int(_INSTANCE_SECONDS / (math.prod(shape) / machine.vector_width.value * 1e-9))
    else:
        vectors = math.prod(_updated_extents(make_problem(series.program, shape, 1))) / machine.vector_width.value
        guess = iteration_seconds(series.program, machine).value
        steps = max(_LEAST_STEPS, int(_INSTANCE_SECONDS / (vectors * guess)))
    return max(least, steps - steps % least)


def instances(series: Series, timings: Sequence[Timing], machine: Machine) -> tuple[Instance, ...]:
    """What the models say that the instances are made of; seconds of streaming tiles are without loading and storing.

    Of those on all cores that is their seconds if no time beyond L2 is exposed, and what that time is estimated to add.
    """
    if series.kind == "streaming":
        machine = one_core(machine)  # C_iter of the program is among its values
    found = []
    for each in timings:
        problem, seconds = make_problem(series.program, each.shape, each.steps), each.seconds
        if series.kind == "together":
            hidden, exposed = (predict(problem, each.tiling, exposing(machine, ratio)).seconds for ratio in (0.0, 1.0))
            factors = [hidden, exposed - hidden]
        elif series.kind == "streaming":
            setting = make_setting(problem, machine)
            *factors, rest = fit.stream_design(sizes_of(each.tiling, setting), setting).tolist()
            seconds -= rest
        else:
            setting = make_setting(replace(problem, shape=_updated_extents(problem)), machine)
            factors = fit.design(each.tiling.family, sizes_of(each.tiling, setting), setting).tolist()
        if seconds > 0:  # else loading and storing would have taken longer than the whole
            found.append(
                Instance(
                    shape=each.shape, steps=each.steps, tiling=each.tiling, factors=tuple(factors), seconds=seconds
                )
            )
    return tuple(found)


def one_core(machine: Machine) -> Machine:
    """A machine each of whose cores has the bandwidth that one has alone."""
    alone = machine.core_bandwidth
    if alone is None:
        return machine
    return replace(machine, dram_bandwidth=alone.at(machine.sm_count.value * alone.value))


def _cells(program: Program, size: float) -> float:
    """Cells of a grid all versions of whose fields take so many bytes."""
    return size / (4 * sum(program.history(field) + (field in program.updated) for field in program.fields))


def _wide_shape(
    program: Program, behind: tuple[int, ...], machine: Machine, generator: random.Random
) -> tuple[int, ...]:
    # 20 to 40 % of a core's part of L3, but of 4 to 32 L2: more than a tile keeps. Some processors say that they have
    # hundreds of MiB of L3, which others use as well: a grid as large as a part of that would tell no more and take
    # minutes. Behind the first axis the grid is as long as a tile, which computes no less than its size; in 1D it is
    # some tiles.
    part = machine.l3_bytes.value / machine.sm_count.value if machine.l3_bytes else 0.0
    own = machine.shared_bytes.value
    cells = _cells(program, generator.uniform(0.2, 0.4) * min(max(part, 4 * own), 32 * own))
    count = int(cells / math.prod(behind))
    return (behind[0] * max(1, count),) if program.rank == 1 else (max(12, count), *behind)


def _stream_bytes(machine: Machine, threads: int, protocol: CpuProtocol) -> int:
    """Bytes per thread that are streamed: beyond the last cache where memory allows, and no more than 1 GiB in all."""
    last = int(machine.l3_bytes.value) if machine.l3_bytes else 0
    size = max(protocol.stream_bytes, min(2 * last, 2**30) // threads)
    return max(2**20, min(size, _room(threads)))


def _room(threads: int) -> int:
    """Bytes that copies by so many threads take of what is free, for each of them."""
    room = available_bytes()
    return sys.maxsize if room is None else room // (4 * threads)


def _with_outer(machine: Machine, units: micro.Micro, threads: int, protocol: CpuProtocol) -> Machine:
    """Find how much of L3 there is, by copies from well beyond L2 to what the CPU describes."""
    described, copies = machine.l3_bytes, []
    if described is None:
        return machine
    least, most = 3 * int(machine.shared_bytes.value), int(described.value) // threads
    size = min(most, _room(threads))
    while size >= least:
        prepare = functools.partial(micro.bandwidth, units, size, threads, cached=False)
        bandwidth = statistics.median(probes.samples(prepare, protocol.samples))
        copies.append(fit.Copies(size=size * threads, seconds=threads / bandwidth))
        size = int(size / _FINER)
    memory = threads / machine.dram_bandwidth.value
    capacity = fit.capacity(described, int(machine.l3_ways.value), memory, copies)
    if capacity is described:
        return machine
    whole = Quantity(value=1.0, unit="1", source="measured", note="of what copies find of L3", low=0.8, high=1.0)
    return replace(machine, l3_bytes=capacity, l3_reuse_fraction=whole)


def _tilings(problem: Problem) -> tuple[Tiling, ...]:
    if untileable(problem):
        return (NONE,)
    legal = []
    for tiling in _TILES[problem.program.rank]:
        with contextlib.suppress(TilewrightError):
            catalogue.legal(problem, tiling)
            legal.append(tiling)
    return tuple(legal) or (NONE,)


def _shape(program: Program, machine: Machine, generator: random.Random) -> tuple[int, ...]:
    # 30 to 100 % of what is used of L1. Rows have a whole number of vectors, the cells that are not updated among them,
    # so that all of them start at cache lines, as in most grids that are larger; others take up to a third longer.
    lanes = int(machine.vector_width.value)
    l1 = machine.l1_bytes.value if machine.l1_bytes else 2**15
    cells = _cells(program, generator.uniform(0.3, 1.0) * _L1_SHARE * l1)
    around = [low + high for low, high in program.reach]
    if program.rank == 1:
        return (max(8 * lanes, int(cells)) + around[0],)
    longest = max(2.0, min(64.0, cells ** (1 / program.rank) * 12 / lanes))
    innermost = lanes * max(2, int(generator.uniform(1.5, longest + 1.0)))
    rest = max(4.0, cells / innermost)
    if program.rank == 2:
        return (_ROWS * max(1, round(rest / _ROWS)) + around[0], innermost)
    middle = _ROWS * max(1, round(math.sqrt(rest) * generator.uniform(0.6, 1.6) / _ROWS))
    return (max(3, int(rest / middle)) + around[0], middle + around[1], innermost)


def _tiled_shape(program: Program, machine: Machine, generator: random.Random) -> tuple[int, ...]:
    # 15 to 45 % of L2, in rows of 4 to 32 whole vectors. In a grid within L1 no box of a tile has more than some rows,
    # the next box reads what is still being stored, and C_iter comes out up to one and a half times as long as in the
    # tiles that larger grids are cut into.
    lanes = int(machine.vector_width.value)
    cells = _cells(program, generator.uniform(0.15, 0.45) * machine.shared_bytes.value)
    around = [low + high for low, high in program.reach]
    innermost = lanes * generator.randint(4, 32 if program.rank == 2 else 12)
    rest = max(16.0, cells / innermost)
    if program.rank == 2:
        return (int(rest) + around[0], innermost)
    middle = max(4, round(math.sqrt(rest) * generator.uniform(0.6, 1.6)))
    return (max(4, round(rest / middle)) + around[0], middle + around[1], innermost)


def _updated_extents(problem: Problem) -> tuple[int, ...]:
    """The extents of what is updated."""
    boxes = [problem.update_box(statement) for statement in problem.program.statements]
    return tuple(max(1, *(box[axis][1] - box[axis][0] for box in boxes)) for axis in range(len(problem.shape)))


def _advance_seconds(kernel: CompiledKernel, problem: Problem, threads: int) -> float:
    with contextlib.closing(Session(kernel, problem, _inputs(problem), threads)) as session:
        return _least(lambda: session.advance(problem.steps))


def _run_seconds(kernel: CompiledKernel, problem: Problem, threads: int) -> float:
    # Between bands rows stay as the kernel orders them: a session would transpose them in every band, which the model
    # would take for arithmetic.
    out = {field: np.zeros(problem.shape, dtype=np.float32) for field in problem.program.updated}
    inputs = replace(_inputs(problem), out=out)
    return _least(lambda: direct.execute(kernel, problem, inputs, threads))


def _inputs(problem: Problem) -> Inputs:
    generator = np.random.default_rng(7)
    arrays = {f: (generator.random(problem.shape, dtype=np.float32),) for f in problem.program.fields}
    return Inputs(arrays=arrays, scalars=dict.fromkeys(problem.program.scalars, 0.1))


def _least(call: Callable[[], object]) -> float:
    """The least of some times, of more where another process came in between: until a second one is as short."""
    call()
    seconds: list[float] = []
    while len(seconds) < _REPEATS or (len(seconds) < _MOST_REPEATS and seconds[1] > _ALIKE * seconds[0]):
        seconds = sorted([*seconds, probes.seconds_of(call)])
    return seconds[0]
