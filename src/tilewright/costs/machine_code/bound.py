"""What a GPU can do at most with given machine code: residency, instructions per update, and a bound of its speed.

Per round of the steady path every resident warp issues all its instructions, and every pipe takes its share; the lowest
of the bounds by issue, pipes, shared memory and the simulated rounds is the speed of a
multiprocessor. The tiling says which part of the cells that threads compute are useful, and how many tiles there are:
they run in waves of the resident blocks, those of the last wave by themselves. DRAM bounds the result from another
side, and L2 by the sectors that are asked for. Never a measurement.

In the simulation every scheduler issues at most one instruction per cycle, of the warp that it issued last or else of
the oldest one that may go on: the compiler's stall counts and scoreboards say when a warp may. A pipe is busy for some
cycles per instruction; accesses queue for one path of a wavefront per cycle. What is left out makes it optimistic:
conflicts of banks of tiles that do not stream, misses of the instruction cache, lower clocks under load.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import REGISTER_UNIT, WARP, WARP_UNIT, WORD
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.arrays import TileSizes
from tilewright.costs.facts import Facts, facts_of
from tilewright.costs.machine_code.listing import (
    MEMORY,
    PIPES,
    SCOREBOARDS,
    UNIT_OF,
    Code,
    RowValues,
    WarpPath,
    row,
    steady,
)
from tilewright.costs.work import hexagonal
from tilewright.costs.work.streaming import write_requests
from tilewright.costs.work.tiles import BlockWork
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import Tiling

_MAX_WARP_BLOCKS = 32
QUEUE = 16  # wavefronts that may wait for the path to shared memory before schedulers issue no more
_ROUNDS = 10
_FEW_BLOCKS = 4  # resident blocks up to which waves that have fewer are simulated, too
_OPERANDS = 8
_STAGGER = (37, 3, 64)  # by how many cycles blocks and warps start apart, and the most


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a block of a kernel takes of a multiprocessor."""

    threads: int
    registers: int  # registers of a thread
    shared_bytes: int  # shared memory

    @property
    def warps(self) -> int:
        """Its warps."""
        return -(-self.threads // WARP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a thread does in a round of a kernel's steady path."""

    updates: float  # updates of cells
    loops: bool = True  # whether that path is a loop, not the whole kernel
    row: RowValues | None = None  # of a prism, whose rounds are rows
    # words between the first values of neighbouring threads in memory, those that they load and those that they store
    apart: tuple[int, int] = (1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchWork:
    """What the grid asks of a kernel, per launch."""

    useful: float  # share of the updates of a tile's threads that are of its own cells and inside the grid
    tiles: int  # blocks of a launch
    dram_bytes: float  # bytes between DRAM and chip per useful update, at least
    stored_bytes: float = 0.0  # those of them that threads write, where the requests for it are counted
    requests: float = 0.0  # for a sector that they write word by word, in the mean
    launches: int  # of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """What a kernel does in a round of its steady path, on one multiprocessor."""

    instructions: float  # instructions per update of a thread, useful or not
    pipes: dict[str, float]  # the same by pipe, see :data:`tilewright.costs.machine_code.listing.PIPES`
    body_bytes: int  # size of the loop
    blocks: int  # resident blocks; 0 where not one fits
    warps: int  # resident warps
    # updates per cycle at most, by what bounds them: ``issue``, ``fp32``, ``alu``, ``shared``, ``control``, and
    # ``latency`` by the simulation
    rates: dict[str, float]
    # the same by the simulation of 1, 2, … blocks where few are resident; the last wave may have so many
    fewer: tuple[float, ...] = ()
    stored: float = 1.0  # words that an instruction stores in memory, in the mean

    def last(self, blocks: int) -> float:
        """Return the updates per cycle at most of the blocks of a wave that does not fill the multiprocessor."""
        simulated = {"latency": self.fewer[blocks - 1]} if blocks <= len(self.fewer) else {}
        return min((self.rates | simulated).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound by machine code; nothing was measured."""

    steady: Steady
    useful: float  # share of the updates that are useful
    waves: float  # share of the places for blocks that are filled, the last wave's as long as they take
    dram: float  # useful updates per second at most, by DRAM
    l2: float  # the same by requests to L2
    requests: float  # for a sector that is written, in the mean; 0 where they are not counted
    updates: float  # useful updates per second at most
    binding: str  # what bounds them: a name of ``steady.rates``, ``dram`` or ``l2``

    @property
    def instructions(self) -> float:
        """Instructions per useful update."""
        return self.steady.instructions / self.useful

    @property
    def branches(self) -> float:
        """Branches per useful update."""
        return self.steady.pipes.get("control", 0.0) / self.useful


def resident_blocks(needs: Needs, machine: Machine) -> int:
    """Return the blocks that a multiprocessor holds at once, by the rules of CUDA's occupancy calculator."""
    gpu = Numbers(machine)
    unit = round_up(max(needs.registers, 1), REGISTER_UNIT)
    chip = needs.shared_bytes + gpu.block_reserve_bytes
    if needs.shared_bytes > gpu.block_shared_bytes:
        return 0
    return int(
        min(
            gpu.max_blocks,
            gpu.max_threads // (needs.warps * WARP),
            gpu.registers // (unit * WARP) // WARP_UNIT * WARP_UNIT // needs.warps,
            gpu.shared_bytes // chip if chip else _MAX_WARP_BLOCKS,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A multiprocessor's numbers for its pipes, see :data:`tilewright.costs.machine_code.listing.PIPES`."""

    schedulers: int
    busy: dict[str, float]  # cycles for which an instruction of a warp occupies a scheduler's pipe, by pipe
    latency: dict[str, float]  # cycles from issue to result, by pipe
    branch: float  # further cycles of a branch that is taken


def timing(machine: Machine) -> Timing:
    """Return the numbers of a machine's multiprocessor for its pipes."""
    gpu = Numbers(machine)
    arithmetic, integer, near = WARP * gpu.schedulers / gpu.vector_width, gpu.integer_cycles, gpu.integer_latency
    busy = {
        "fp32": arithmetic,
        "fp64": arithmetic * (1.0 / gpu.fp64_ratio),
        "imad": integer,
        "alu": integer,
        "uniform": integer,
        "control": gpu.control_cycles,
        "special": gpu.special_pipe_cycles,
        "barrier": 2.0,
        "async": 1.0,
    }
    latency = {
        "fp32": gpu.pipeline_cycles,
        "fp64": gpu.double_latency,
        "imad": near,
        "alu": near,
        "control": near,
        "uniform": 2 * near,
        "special": gpu.special_latency,
        "shuffle": gpu.special_latency,
        "async": gpu.special_latency,
        "lds": gpu.load_latency,
        "ldg": gpu.fetch_latency,
        "sts": 2 * near,
        "stg": 2 * near,
        "barrier": gpu.meeting_latency,
    }
    return Timing(schedulers=int(gpu.schedulers), busy=busy, latency=latency, branch=gpu.taken_branch_cycles)


def analyse(code: Code, needs: Needs, each: Round, machine: Machine) -> Steady:
    """Follow a kernel's steady path, round after round, on one multiprocessor."""
    path = steady(code, loops=each.loops) if each.row is None else row(code, each.row)
    return followed(path, needs, each, machine)


def in_turn(kernels: Sequence[Steady]) -> Steady:
    """Return what kernels do that are launched one after the other for an update of all fields."""
    if len(kernels) == 1:
        return kernels[0]
    pipes = dict.fromkeys(pipe for each in kernels for pipe in each.pipes)
    rates = set[str]().union(*(each.rates for each in kernels))
    return Steady(
        instructions=sum(each.instructions for each in kernels),
        pipes={pipe: sum(each.pipes.get(pipe, 0.0) for each in kernels) for pipe in pipes},
        body_bytes=max(each.body_bytes for each in kernels),
        blocks=min(each.blocks for each in kernels),
        warps=min(each.warps for each in kernels),
        rates={
            name: 1.0 / sum(1.0 / each.rates[name] for each in kernels if name in each.rates) for name in sorted(rates)
        },
    )


def followed(path: WarpPath, needs: Needs, each: Round, machine: Machine) -> Steady:
    """Follow a given path of a kernel, as :func:`analyse` does the steady one."""
    path, updates, clock = path.spread(*each.apart), each.updates, timing(machine)
    blocks = resident_blocks(needs, machine)
    counts = {pipe: path.count(pipe) / updates for pipe in (*PIPES, "alu", "uniform")}
    rates = {name: WARP * updates / taken for name, taken in _cycles(path, clock).items() if taken}

    def simulated(count: int) -> float:
        return WARP * updates * needs.warps * count / cycles(path, clock, needs.warps, count)

    fewer = tuple(simulated(count) for count in range(1, blocks)) if blocks <= _FEW_BLOCKS else ()
    if blocks:
        rates["latency"] = simulated(blocks)
    return Steady(
        instructions=len(path.instructions) / updates,
        pipes={pipe: count for pipe, count in counts.items() if count},
        body_bytes=16 * path.size,
        blocks=blocks,
        warps=blocks * needs.warps,
        rates=rates,
        fewer=fewer,
        stored=path.words("stg") / max(1, path.count("stg")) or 1.0,
    )


def _cycles(path: WarpPath, clock: Timing) -> dict[str, float]:
    """Cycles of a multiprocessor for a round of one warp, by what takes them."""
    shares = {pipe: clock.busy.get(pipe, 0.0) / clock.schedulers * path.count(pipe) for pipe in (*PIPES, "alu")}
    return {
        "issue": len(path.instructions) / clock.schedulers,
        "fp32": shares["fp32"] + shares["imad"],
        "fp64": shares["fp64"],
        "alu": shares["alu"],
        "shared": sum(path.wavefronts[at] for at, each in enumerate(path.instructions) if each.pipe in MEMORY),
        "control": shares["control"],
    }


def bound(code: Steady, work: LaunchWork, machine: Machine) -> Bound:
    """Bound the speed of a grid's launches by what one multiprocessor can do."""
    count, resident = int(machine.sm_count.value), max(1, code.blocks)
    binding = min(code.rates, key=lambda name: code.rates[name])
    turns, rest = divmod(ceil_div(work.tiles, count), resident)
    places = turns * resident + (rest * code.rates[binding] / code.last(rest) if rest else 0.0)
    waves = work.tiles / (places * count)
    rate = code.rates[binding] * count * machine.clock.value * work.useful * waves
    requests = work.requests / code.stored
    dram = machine.dram_bandwidth.value / work.dram_bytes
    l2 = Numbers(machine).l2_bandwidth / (work.dram_bytes + work.stored_bytes * (requests - 1.0))
    limits = {binding: rate if code.blocks else 0.0, "dram": dram, "l2": l2}
    least = min(limits, key=lambda name: limits[name])
    return Bound(
        steady=code,
        useful=work.useful,
        waves=waves,
        dram=dram,
        l2=l2,
        requests=requests,
        updates=limits[least],
        binding=least,
    )


def round_of(problem: Problem, schedule: GpuSchedule) -> Round | None:
    """Return what a thread does in a round of its kernels' steady path; None where that is unknown."""
    # Known of ``none``, whose kernels have no loop, of streaming tiles in thread blocks, whose steady loop advances by
    # as many rows as a ring has, and of prisms, whose rounds are rows. Neither recurrences, whose planes are launches,
    # nor skewed and diamond tiles, which nobody gets who does not ask for them, have one.
    tiling = schedule.tiling
    if tiling.family.untiled and not problem.program.analysis.sweep:
        return Round(updates=float(schedule.column), loops=False)
    if tiling.family.streams:
        tile = stream_block.tile_of(problem, tiling)
        stored = int(tile.passage.vector) if tile.passage.needed else tile.cells[-1]
        loaded, stored = (values * problem.itemsize // WORD for values in (tile.cells[-1], stored))
        return Round(updates=float(tile.levels * schedule.advances * tile.thread_cells), apart=(loaded, stored))
    if not tiling.family.hexagons:
        return None
    facts, tiles = prisms(problem, tiling)
    each = float(tiles.meetings[0]) * math.prod(schedule.threads)
    updates = float(tiles.points[0]) / facts.stages / each
    return Round(
        updates=updates,
        row=RowValues(
            computed=updates * len(problem.program.statements),
            loaded=float(tiles.input_values[0]) / each,
            stored=float(tiles.output_values[0]) / each,
            words=facts.itemsize // WORD,
        ),
    )


def prisms(problem: Problem, tiling: Tiling) -> tuple[Facts, BlockWork]:
    """Return what is known of a problem and of the prisms of a tiling."""
    facts = facts_of(problem, cpu=False)
    sizes = TileSizes.of(*(np.array([size], dtype=np.int64) for size in (tiling.time, *tiling.space)))
    return facts, hexagonal.blocks(sizes, facts)


def work(problem: Problem, schedule: GpuSchedule) -> LaunchWork | None:
    """Return what a grid asks of the kernels of a tiling; None where :func:`round_of` is."""
    # Bytes are what a tile loads and stores, halos included, though part of them is still in L2 from its neighbours.
    each = round_of(problem, schedule)
    if each is None:
        return None
    program, shape, tiling = problem.program, problem.shape, schedule.tiling
    versions = sum(program.history(field) for field in program.updated)
    constants = len(program.fields) - len(program.updated)
    cells = math.prod(shape)
    if tiling.family.untiled:
        groups = math.prod(ceil_div(n, size) for n, size in zip(shape, schedule.cells, strict=True))
        moved = versions + constants + len(program.updated)
        return LaunchWork(
            useful=cells / (groups * math.prod(schedule.cells)),
            tiles=groups,
            dram_bytes=float(moved * problem.itemsize),
            launches=problem.steps * len(program.analysis.stages),
        )
    if tiling.family.hexagons:  # which compute nothing twice; those that something cuts are counted as their part
        facts, tiles = prisms(problem, tiling)
        fronts = int(tiles.fronts.count[0])
        moved = (tiles.input_values[0] + tiles.output_values[0]) * facts.itemsize
        return LaunchWork(
            useful=1.0,
            tiles=max(1, round(float(tiles.tiles[0]) / max(1, fronts))),
            dram_bytes=float(moved * facts.stages / tiles.points[0]),
            launches=fronts,
        )
    tile = stream_block.tile_of(problem, tiling)
    launched = math.prod(ceil_div(n, size) for n, size in zip(shape, tiling.space, strict=True))
    rows = min(tiling.space[0], shape[0]) + tile.growth.pipeline.extra_rows(tile.levels)
    computed = rows * math.prod(schedule.threads) * tile.thread_cells
    loaded = math.prod(tile.loaded)
    last = (np.array(each) for each in (tile.levels, tile.space[-1], tile.cells[-1], tile.threads[-1]))
    moved = (launched * loaded * (versions + constants) + cells * versions) * problem.itemsize
    return LaunchWork(
        useful=cells / (launched * computed),
        tiles=launched,
        dram_bytes=moved / (cells * tile.levels),
        stored_bytes=versions * problem.itemsize / tile.levels,
        requests=float(write_requests(tile.growth, tile.passage, *last)) * (problem.itemsize // WORD),
        launches=problem.steps // tile.levels + problem.steps % tile.levels * len(program.analysis.stages),
    )


class _Warp:
    """A warp: its block, its place on the path, rounds done, when it is ready, and when its scoreboards are clear."""

    __slots__ = ("block", "boards", "place", "ready", "rounds", "waits")

    def __init__(self, block: int, ready: float) -> None:
        self.block, self.ready = block, ready
        self.place = self.rounds = 0
        self.boards = [0.0] * SCOREBOARDS
        self.waits = False


def cycles(path: WarpPath, timing: Timing, warps: int, blocks: int, rounds: int = _ROUNDS) -> float:
    """Return the cycles of a round of all warps, the mean of so many rounds; ``warps`` are those of a block."""
    return _Multiprocessor(path, timing, warps, blocks).run(rounds) / rounds


class _Multiprocessor:
    def __init__(self, path: WarpPath, timing: Timing, warps: int, blocks: int) -> None:
        self._timing, self._warps = timing, warps
        self._steps = [
            (each.pipe, each.stall + timing.branch * taken, each.result, each.operands, each.waits, wavefronts)
            for each, taken, wavefronts in zip(path.instructions, path.taken, path.wavefronts, strict=True)
        ]
        per_block, per_warp, most = _STAGGER
        every = [_Warp(b, float((b * per_block + w * per_warp) % most)) for b in range(blocks) for w in range(warps)]
        self._queues = [every[number :: timing.schedulers] for number in range(timing.schedulers)]
        self._pipes: list[dict[str, float]] = [dict.fromkeys(timing.busy, 0.0) for _ in self._queues]
        self._meeting: list[list[_Warp]] = [[] for _ in range(blocks)]
        self._memory = self._now = 0.0

    def run(self, rounds: int) -> float:
        """Let all warps go so many rounds; returns the cycles."""
        last: list[_Warp | None] = [None] * len(self._queues)
        while any(self._queues):
            issued = False
            for number, queue in enumerate(self._queues):
                warp = next((each for each in _order(queue, last[number]) if self._issues(each, number)), None)
                if warp is None:
                    continue
                last[number], issued = warp, True
                if warp.rounds == rounds:
                    queue.remove(warp)
            self._now = self._now + 1.0 if issued else self._next()
        return self._now

    def _issues(self, warp: _Warp, number: int) -> bool:
        """Issue the next instruction of a warp, if it may; the number is its scheduler's."""
        now = self._now
        if warp.waits or warp.ready > now:
            return False
        pipe, stall, result, operands, waits, width = self._steps[warp.place]
        if waits and any((waits >> board) & 1 and warp.boards[board] > now for board in range(SCOREBOARDS)):
            return False
        if pipe in MEMORY:
            if self._memory > now + QUEUE:
                return False
            start = self._memory = max(self._memory, now) + width
        else:
            units, unit = self._pipes[number], UNIT_OF.get(pipe, pipe)
            if units[unit] > now:
                return False
            units[unit] = max(units[unit], now) + self._timing.busy[pipe]
            start = now
        if result < SCOREBOARDS:
            warp.boards[result] = max(warp.boards[result], start + self._timing.latency[pipe])
        if operands < SCOREBOARDS:
            warp.boards[operands] = max(warp.boards[operands], start + _OPERANDS)
        warp.ready = now + stall
        if pipe == "barrier":
            self._meet(warp)
        warp.place += 1
        if warp.place == len(self._steps):
            warp.place, warp.rounds = 0, warp.rounds + 1
        return True

    def _meet(self, warp: _Warp) -> None:
        """Wait at a barrier; the last one to arrive lets all go on."""
        meeting = self._meeting[warp.block]
        warp.waits = True
        meeting.append(warp)
        if len(meeting) == self._warps:
            for each in meeting:
                each.waits = False
                each.ready = max(each.ready, self._now + self._timing.latency["barrier"])
            meeting.clear()

    def _next(self) -> float:
        """The next cycle at which anything may change: a warp is ready, a scoreboard is clear, or a pipe is free."""
        waiting = [warp for queue in self._queues for warp in queue if not warp.waits]
        times = [time for warp in waiting for time in (warp.ready, *warp.boards)]
        times += [self._memory - QUEUE, *(time for pipes in self._pipes for time in pipes.values())]
        after = self._now + 1.0
        return max(after, min((float(math.ceil(time)) for time in times if time > self._now), default=after))


def _order(queue: list[_Warp], last: _Warp | None) -> Sequence[_Warp]:
    """The warp that was issued last, then the oldest ones."""
    if last is None or last not in queue:
        return tuple(queue)
    return (last, *(warp for warp in queue if warp is not last))
