"""Running the micro-benchmarks of a GPU: L, tau_sync, T_sync, launch overhead, shared memory, and C_iter by program.

C_iter follows the papers' method (Prajapati et al., PPoPP 2017, section 5.2): 70 random instances of the program in
hybrid tiles, with every transfer between chip and memory removed and nothing optimised away, and a robust fit through
their times. Times are the device's own, by events; the least of some repeats after a warm-up. Where the device or its
compiler is slow, time is up before: then fewer instances are measured, and the note of the value says how many.
"""

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.constants import STATIC_SHARED
from tilewright.base.errors import TilewrightError
from tilewright.base.intmath import ceil_div
from tilewright.codegen.gpu import micro as gpu_micro
from tilewright.codegen.gpu.chip import values_of
from tilewright.costs.gpu import blocks
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import sizes_of
from tilewright.costs.work import hexagonal
from tilewright.machines.defaults import gpu_machine
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.calibration import probes
from tilewright.runtime.calibration.fits import Instance
from tilewright.runtime.calibration.probes import Note, Probe, warmed
from tilewright.runtime.devices import gpu
from tilewright.runtime.devices.device import Device
from tilewright.runtime.memory import Array
from tilewright.runtime.session import Inputs
from tilewright.schedules import catalogue
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.prism import geometry
from tilewright.schedules.tiling import NONE, Tiling

Scheduler = Callable[[Problem, Tiling], GpuSchedule]
_EMPTY, _COPY, _BARRIER, _SHARED = range(4)
_HEIGHTS = (1.0, 0.5, 0.25)
"""Heights of the instances' tiles over that of the default tile: C_iter must not depend on them."""
_REPEATS = 3
_SHORTEST = 1e-12  # what a clock is taken to say that says 0 s
_TILE_SIZES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((512,), (256,), (64,)),
    2: ((16, 128), (8, 128), (8, 64), (4, 64), (4, 32)),
    3: ((4, 4, 32), (4, 2, 32), (2, 2, 32), (2, 1, 16)),
}
_TILE_HEIGHTS = {1: (32, 16, 8, 4, 2), 2: (16, 8, 4, 2), 3: (6, 4, 2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProtocol:
    """How much is measured."""

    instances: int = 70  # most random instances per program; the papers take 70
    fewest: int = 4  # instances that are measured although the time of a program is up
    seconds: float = 150.0  # time for the instances of all programs, compiling their kernels included
    samples: int = 15  # samples per micro-benchmark
    stream_bytes: int = 2**29  # size of the arrays that are copied
    launches: int = 200  # launches of a sample of the empty kernel
    # turns of a sample's loops, few and many: what a turn takes is their difference
    turns: tuple[int, int] = (1000, 11000)
    tiles: tuple[int, int] = (4, 24)  # tiles per axis of an instance, fewest and most
    steps: tuple[int, int] = (64, 512)  # steps of an instance, fewest and most
    local_bytes: int = STATIC_SHARED  # memory on chip that an instance's tile may use
    seed: int = 1  # of the random instances


FULL = GpuProtocol()
QUICK = GpuProtocol(instances=20, seconds=60.0, samples=5, stream_bytes=2**27, steps=(32, 128))
TINY = GpuProtocol(
    instances=4, samples=2, stream_bytes=2**14, launches=4, turns=(2, 10), tiles=(2, 3), steps=(2, 6), local_bytes=4096
)
"""For interpreters: the path is real, its times are the interpreter's."""
SMALL = GpuProtocol(
    seconds=75.0, samples=9, stream_bytes=2**24, launches=20, turns=(20, 220), tiles=(2, 6), steps=(4, 24)
)
"""For processors behind a GPU's interface: what takes their time is compiling, seconds for a kernel of a 3D program."""
SMALL_QUICK = replace(SMALL, instances=12, seconds=30.0, samples=5)


def protocol_for(device: Device, *, quick: bool) -> GpuProtocol:
    """Return how much is measured on a device."""
    about = device.describe()
    if about.gpu:
        return QUICK if quick else FULL
    if "Oclgrind" in about.name:
        return TINY
    return SMALL_QUICK if quick else SMALL


def measure_machine(device: Device, protocol: GpuProtocol, note: Note) -> Machine:
    """Measure what belongs to no program; the rest is as the driver or the data sheet says, or estimated."""
    base = gpu_machine(device.describe())
    bench = _Bench(device, protocol)
    try:
        return probes.measured(base, bench.probes(int(base.sm_count.value)), protocol.samples, note)
    finally:
        bench.close()


def whose(device: Device) -> str:
    """Say whose times are measured."""
    about = device.describe()
    return f"by events on {about.name}" if about.gpu else f"{about.name}'s own times, which are those of no GPU"


def measure_programs(
    programs: Sequence[Program],  # in float32, such that hybrid or hexagonal tiles can cut them
    machine: Machine,  # with its barrier and its launch measured
    device: Device,
    schedule: Scheduler,  # decides what a tiling leaves open
    protocol: GpuProtocol,
    note: Note,
) -> dict[str, tuple[Instance, ...]]:
    """Measure random instances of programs at rest, in the protocol's time.

    Every program gets an even share of the time that is left. One whose turn comes when nothing is left is left out;
    the first one never is.
    """
    end = time.monotonic() + protocol.seconds
    instances: dict[str, tuple[Instance, ...]] = {}
    for number, program in enumerate(programs):
        now = time.monotonic()
        if instances and now >= end:
            note(f"C_iter of {program.name} is not measured: the time is up")
            continue
        note(f"C_iter of {program.name}")
        until = now + max(0.0, end - now) / (len(programs) - number)
        instances[program.name] = tuple(_instances(program, machine, device, schedule, protocol, until))
    return instances


def _instances(
    program: Program, machine: Machine, device: Device, schedule: Scheduler, protocol: GpuProtocol, until: float
) -> Iterator[Instance]:
    # after ``until``, by ``time.monotonic``, no more is compiled, and only the fewest are measured
    generator = random.Random(f"{protocol.seed} {program.name}")  # noqa: S311  (no secret)
    sample = make_problem(program, (4096,) * program.rank, 64)
    tilings = _tilings(sample, min(protocol.local_bytes, device.local_bytes))
    loaded: list[gpu.DeviceKernels] = []
    for number in range(protocol.instances):
        late = time.monotonic() >= until
        if late and number >= protocol.fewest:
            return
        if len(loaded) < len(tilings) and not (late and loaded):
            plan = schedule(sample, tilings[len(loaded)])
            source = gpu_micro.at_rest(sample, plan, device.dialect)
            loaded.append(replace(gpu.program_of(device, source, plan), extra=(0,)))
        kernel = loaded[number % len(loaded)]
        tiling = kernel.schedule.tiling
        shape = tuple(size * generator.randint(*protocol.tiles) for size in _pitches(tiling))
        problem = make_problem(program, shape, generator.randint(*protocol.steps))
        factors, seconds = _design(problem, tiling, machine), _least_seconds(kernel, problem)
        yield Instance(shape=shape, steps=problem.steps, tiling=tiling, factors=factors, seconds=seconds)


def _tilings(problem: Problem, limit: int) -> tuple[Tiling, ...]:
    first = calibration_tiling(problem, limit)
    tilings = [first]
    for share in _HEIGHTS[1:]:
        height = max(2, round(share * first.time / 2) * 2)
        if height < first.time:  # a higher one might not fit
            tilings.append(replace(first, time=height))
    return tuple(dict.fromkeys(tilings))


def _pitches(tiling: Tiling) -> tuple[int, ...]:
    """Cells by which tiles follow each other, about."""
    return (2 * tiling.space[0] + tiling.time, *tiling.space[1:])


def _design(problem: Problem, tiling: Tiling, machine: Machine) -> tuple[float, float]:
    """Seconds per second of C_iter, and of everything else but transfers, by the equations in exact geometry."""
    setting = make_setting(problem, machine)
    sizes = sizes_of(tiling, setting)
    work = hexagonal.blocks(sizes, setting.facts)

    def seconds(setting: Setting, iteration: float) -> float:
        c_iter = setting.rates.c_iter.at(iteration)
        still = setting.at(word_seconds=0.0, byte_seconds=0.0, c_iter=c_iter)
        return float(blocks.evaluate(work, sizes.k, still.facts, still.rates).seconds[0])

    rest = seconds(setting, 0.0)
    silent = setting.at(barrier_seconds=0.0, launch_seconds=0.0)
    return seconds(silent, 1.0), rest


def _least_seconds(program: gpu.DeviceKernels, problem: Problem) -> float:
    values: Array = np.full(problem.shape, 0.5, np.float32)
    stencil = problem.program
    arrays = {field: [values] * stencil.history(field) for field in stencil.fields}
    session = gpu.GpuSession(program, problem, Inputs(arrays=arrays, scalars=dict.fromkeys(stencil.scalars, 0.1)))
    try:
        session.timed(problem.steps)
        return max(1e-9, min(session.timed(problem.steps) for _ in range(_REPEATS)))
    finally:
        session.close()


class _Bench:
    """The micro-benchmarks' kernels and arrays on a device."""

    def __init__(self, device: Device, protocol: GpuProtocol) -> None:
        self._device, self._protocol = device, protocol
        self._cells = max(protocol.stream_bytes // 4, 4 * gpu_micro.WORDS)
        self._kernels = device.build(gpu_micro.micro_source(device.dialect))
        values = np.full(self._cells, 0.5, np.float32)
        self._buffers = [device.allocate(values.nbytes) for _ in range(2)]
        for buffer in self._buffers:
            device.write(buffer, 0, values)

    def close(self) -> None:
        for buffer in self._buffers:
            self._device.release(buffer)

    def probes(self, units: int) -> tuple[Probe, ...]:
        """What tells the parameters of a device with so many multiprocessors."""
        calls, size, groups = self._protocol.launches, 4 * self._cells, ceil_div(self._cells, gpu_micro.THREADS)
        read = 4 * 4 * units * gpu_micro.THREADS * gpu_micro.SHARED_ACCESSES
        call = warmed(lambda: self._seconds(_EMPTY, 1, 0, calls) / calls)
        copy = warmed(lambda: 2 * size / self._seconds(_COPY, groups, self._cells))
        barrier = warmed(lambda: self._turn_seconds(_BARRIER, units))
        shared = warmed(lambda: read / self._turn_seconds(_SHARED, 4 * units))
        origin = whose(self._device)
        return (
            Probe("launch_seconds", call, f"one of {calls} calls in a row, {origin}", title="kernel calls"),
            Probe("call_seconds", warmed(self._call_seconds), f"one call from the host and waiting for it, {origin}"),
            Probe("dram_bandwidth", copy, f"copy of {size >> 20} MiB, {origin}", title="bandwidth of memory"),
            Probe(
                "barrier_seconds",
                barrier,
                f"a barrier of {gpu_micro.THREADS} threads, {origin}",
                title="barriers and shared memory",
            ),
            Probe("shared_bandwidth", shared, f"all multiprocessors, {origin}"),
        )

    def _start(self, kernel: int, groups: int, count: int, times: int = 1) -> None:
        arguments: tuple[Any, ...] = (*self._buffers, np.int32(count))
        for _ in range(times):
            self._device.start(self._kernels[kernel], (groups, gpu_micro.THREADS), arguments, 0)

    def _seconds(self, kernel: int, groups: int, count: int, times: int = 1) -> float:
        return max(_SHORTEST, self._device.timed(lambda: self._start(kernel, groups, count, times)))

    def _call_seconds(self) -> float:
        """A call and the wait for it, by the host's clock."""
        begin = time.perf_counter()
        self._start(_EMPTY, 1, 0)
        self._device.finish()
        return max(_SHORTEST, time.perf_counter() - begin)

    def _turn_seconds(self, kernel: int, groups: int) -> float:
        """One turn of a kernel's loop: many turns less few."""
        few, many = self._protocol.turns
        spent = [self._seconds(kernel, groups, turns) for turns in (few, many)]
        return max(_SHORTEST, (spent[1] - spent[0]) / (many - few))


def calibration_tiling(problem: Problem, limit: int = STATIC_SHARED) -> Tiling:
    """Return the first legal hexagonal or hybrid tiling, with threads, of a short list, that fits on chip, or ``none``.

    What a run takes by default is the cost model's choice, see :mod:`tilewright.tuning.choice`.
    """
    if problem.steps < 2:
        return NONE
    for tiling in _candidates(problem):
        try:
            complete = catalogue.legal(problem, tiling)
        except TilewrightError:
            return NONE
        if chip_bytes(problem, complete) <= limit:
            return complete
    return NONE


def chip_bytes(problem: Problem, tiling: Tiling) -> int:
    """Return the memory on chip that a group of a completed prism tiling needs."""
    return values_of(problem, geometry(problem, tiling)) * problem.itemsize


def _candidates(problem: Problem) -> Iterator[Tiling]:
    rank = problem.program.rank
    try:
        least = slopes(problem)[0].widest
    except TilewrightError:
        return
    for height, space in itertools.product(_TILE_HEIGHTS[rank], _TILE_SIZES[rank]):
        sizes = (max(space[0], least), *space[1:])
        threads = {1: (256,), 2: (1, space[-1]), 3: (1, space[1] if rank == 3 else 1, space[-1])}[rank]
        yield Tiling(family="hexagonal" if rank == 1 else "hybrid", time=height, space=sizes, threads=threads)
