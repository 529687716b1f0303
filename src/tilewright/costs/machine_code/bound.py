"""What a GPU can do at most with given machine code: residency, instructions per update, and a bound of its speed.

Per round of the steady path every resident warp issues all its instructions, and every pipe takes its share; the lowest
of the bounds by issue, pipes, shared memory and the simulated rounds (:mod:`.simulation`) is the speed of a
multiprocessor. The tiling says which part of the cells that threads compute are useful, and how many tiles there are:
they run in whole waves of the resident blocks. DRAM bounds the result from another side. Never a measurement.
"""

import math
from dataclasses import dataclass

from tilewright.base.constants import REGISTER_UNIT, WARP, WARP_UNIT
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.machine_code.listing import MEMORY, PIPES, Code
from tilewright.costs.machine_code.paths import WarpPath, steady
from tilewright.costs.machine_code.simulation import Timing, cycles
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.streaming import block as stream_block

_MAX_WARP_BLOCKS = 32


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
class LaunchWork:
    """What the grid asks of a kernel, per launch."""

    updates: float  # updates of cells that a thread computes in a round of the steady path
    useful: float  # share of the updates of a tile's threads that are of its own cells and inside the grid
    tiles: int  # blocks of a launch
    dram_bytes: float  # bytes between DRAM and chip per useful update, at least


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound by machine code; nothing was measured."""

    steady: Steady
    useful: float  # share of the updates that are useful
    waves: float  # share of the places for blocks that are filled, in whole waves
    dram: float  # useful updates per second at most, by DRAM
    updates: float  # useful updates per second at most
    binding: str  # what bounds them: a name of ``steady.rates``, or ``dram``

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


def analyse(code: Code, needs: Needs, updates: float, machine: Machine, *, loops: bool = True) -> Steady:
    """Follow a kernel's steady path, whose round computes so many updates per thread, on one multiprocessor."""
    return followed(steady(code, loops=loops), needs, updates, machine)


def followed(path: WarpPath, needs: Needs, updates: float, machine: Machine) -> Steady:
    """Follow a given path of a kernel, as :func:`analyse` does the steady one."""
    clock = timing(machine)
    blocks = resident_blocks(needs, machine)
    counts = {pipe: path.count(pipe) / updates for pipe in (*PIPES, "alu", "uniform")}
    rates = {name: WARP * updates / taken for name, taken in _cycles(path, clock).items() if taken}
    if blocks:
        simulated = cycles(path, clock, needs.warps, blocks)
        rates["latency"] = WARP * updates * needs.warps * blocks / simulated
    return Steady(
        instructions=len(path.instructions) / updates,
        pipes={pipe: count for pipe, count in counts.items() if count},
        body_bytes=16 * path.size,
        blocks=blocks,
        warps=blocks * needs.warps,
        rates=rates,
    )


def _cycles(path: WarpPath, clock: Timing) -> dict[str, float]:
    """Cycles of a multiprocessor for a round of one warp, by what takes them."""
    shares = {pipe: clock.busy.get(pipe, 0.0) / clock.schedulers * path.count(pipe) for pipe in (*PIPES, "alu")}
    return {
        "issue": len(path.instructions) / clock.schedulers,
        "fp32": shares["fp32"] + shares["imad"],
        "fp64": shares["fp64"],
        "alu": shares["alu"],
        "shared": sum(each.width for each in path.instructions if each.pipe in MEMORY),
        "control": shares["control"],
    }


def bound(found: Steady, work: LaunchWork, machine: Machine) -> Bound:
    """Bound the speed of a grid's launches by what one multiprocessor can do."""
    count = int(machine.sm_count.value)
    places = max(1, found.blocks) * count
    waves = work.tiles / (math.ceil(work.tiles / places) * places)
    binding = min(found.rates, key=lambda name: found.rates[name])
    rate = found.rates[binding] * count * machine.clock.value * work.useful * waves
    dram = machine.dram_bandwidth.value / work.dram_bytes
    if not found.blocks:
        rate = 0.0
    return Bound(
        steady=found,
        useful=work.useful,
        waves=waves,
        dram=dram,
        updates=min(rate, dram),
        binding="dram" if dram < rate else binding,
    )


def round_updates(problem: Problem, schedule: GpuSchedule) -> float | None:
    """Return the updates of cells that a thread computes in a round of its kernel's steady path; None where unknown.

    Known of ``none``, whose kernels have no loop, and of streaming tiles in thread blocks, whose steady loop advances
    by as many rows as a ring has. Other families have loops inside loops.
    """
    tiling = schedule.tiling
    analysis = problem.program.analysis
    if tiling.family.untiled and len(analysis.stages) == 1 and not analysis.sweep:
        return float(schedule.column)
    if tiling.family.streams and schedule.written:
        tile = stream_block.tile_of(problem, tiling)
        return float(tile.levels * schedule.advances * tile.thread_cells)
    return None


def work(problem: Problem, schedule: GpuSchedule) -> LaunchWork | None:
    """Return what a grid asks of the kernel of a tiling; None where :func:`round_updates` is.

    Bytes are what a tile loads and stores, halos included, though part of them is still in L2 from its neighbours.
    """
    updates = round_updates(problem, schedule)
    if updates is None:
        return None
    program, shape = problem.program, problem.shape
    versions = sum(program.history(field) for field in program.updated)
    constants = len(program.fields) - len(program.updated)
    if schedule.tiling.family.untiled:
        groups = math.prod(ceil_div(n, size) for n, size in zip(shape, schedule.cells, strict=True))
        moved = versions + constants + len(program.updated)
        useful = math.prod(shape) / (groups * math.prod(schedule.cells))
        return LaunchWork(updates=updates, useful=useful, tiles=groups, dram_bytes=float(moved * problem.itemsize))
    tiling = schedule.tiling
    tile = stream_block.tile_of(problem, tiling)
    tiles = math.prod(ceil_div(n, size) for n, size in zip(shape, tiling.space, strict=True))
    rows = min(tiling.space[0], shape[0]) + tile.growth.pipeline.extra_rows(tile.levels)
    computed = rows * math.prod(schedule.threads) * tile.thread_cells
    loaded = math.prod(tile.loaded)
    cells = math.prod(shape)
    moved = (tiles * loaded * (versions + constants) + cells * versions) * problem.itemsize
    useful = cells / (tiles * computed)
    return LaunchWork(updates=updates, useful=useful, tiles=tiles, dram_bytes=moved / (cells * tile.levels))
