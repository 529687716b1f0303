"""Time tiles on periodic grids: blocks of steps on an extended grid, where the model expects them to pay."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

from tilewright.base.constants import WORD
from tilewright.base.errors import UsageError
from tilewright.costs import time as time_model
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.price import price
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.forms import Extended, extend, wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.spaces.cpu_schedule import arithmetic_ratio

_LENGTHS = (2, 4, 8, 16, 32, 64, 128)  # steps of a block that are tried
_PLAIN_LENGTH = 16  # steps of a block that nobody tries: those of a tiling that was asked for on a GPU
_MOST_GROWTH = 4.0  # an extended grid has at most so many times the cells of the grid itself, or so many cells
_SMALL = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicBlocks:
    """How a periodic problem runs in time tiles."""

    extended: Extended  # with the steps of one block
    count: int  # number of blocks, the last one possibly shorter
    tiling: Tiling  # of a block
    costs: Costs  # of all blocks, refreshing the copies included


def plain_block(problem: Problem, tiling: Tiling, steps: int = _PLAIN_LENGTH) -> Extended | None:
    """Return the extended grid of a block of so many steps, without asking what it costs."""
    if problem.steps < 2 or tiling.family.untiled or not wrapped_axes(problem):
        return None
    return extend(problem, max(1, min(steps, problem.steps)))


def plan_blocks(
    problem: Problem, machine: Machine, choose: Callable[[Problem], Tiling], *, always: bool = False
) -> PeriodicBlocks | None:
    """Find the block length that the model expects to be fastest; None if sweeps are, unless ``always``."""
    best: PeriodicBlocks | None = None
    failure: UsageError | None = None
    for length in sorted({min(length, problem.steps) for length in _LENGTHS}):
        extended = extend(problem, length)
        if extended is None or (best and extended.problem.cells > max(_SMALL, _MOST_GROWTH * problem.cells)):
            break
        try:
            tiling = choose(extended.problem)
        except UsageError as error:
            failure = error
            continue
        candidate = None if tiling.family.untiled else _blocks(problem, extended, machine, tiling)
        if candidate is not None and (best is None or candidate.costs.seconds < best.costs.seconds):
            best = candidate
    if always and best is None and failure is not None:
        raise failure
    if always or best is None:
        return best
    plain = time_model.predict(problem, NONE, machine)
    threshold = machine.of_rank("periodic_threshold", problem.program.rank).value
    return best if best.costs.seconds < threshold * plain.seconds else None


def _blocks(problem: Problem, extended: Extended, machine: Machine, tiling: Tiling) -> PeriodicBlocks:
    """Cost blocks: the extended grid's time, and the copies that are read, fetched and written between blocks."""
    block = extended.problem
    ratio = arithmetic_ratio(block, tiling, machine)
    costs = time_model.predict(block, tiling, machine, arithmetic=ratio)
    count = math.ceil(problem.steps / block.steps)
    versions = sum(problem.program.history(f) for f in problem.program.updated)
    copied = (block.cells - problem.cells) * versions * problem.itemsize
    moved = 3.0 * copied
    share = problem.steps / block.steps
    copying = copied / machine.halo_bandwidth.value if machine.kind == "cpu" else moved / machine.dram_bandwidth.value
    each = machine.of_rank("halo_seconds", problem.program.rank).value
    between = machine.block_call_seconds.value + versions * each + copying
    terms = {name: share * term for name, term in costs.terms.items()} | {"copies between blocks": count * between}
    seconds = sum(terms.values())
    work = problem.cells * problem.steps
    dram_bytes = share * costs.dram_bytes + count * moved
    assert costs.usage is not None  # noqa: S101  (predictions have an energy model)
    usage = dataclasses.replace(costs.usage.times(share), seconds=seconds, global_words=dram_bytes / WORD)
    energy = price(usage, constants(machine))
    flops = work * problem.program.flops
    whole = dataclasses.replace(
        costs,
        terms=terms,
        joules=energy.joules,
        energy=energy,
        usage=usage,
        dram_bytes=dram_bytes,
        wavefronts=count * costs.wavefronts,
        flops=flops,
        gcells_per_second=work / seconds * 1e-9,
        gflops_per_second=flops / seconds * 1e-9,
    )
    return PeriodicBlocks(extended=extended, count=count, tiling=tiling, costs=whole)
