"""What a prediction for a GPU cannot be: a grid beyond its memory, idle multiprocessors, values that spill."""

import math

import numpy as np

from tilewright.base.units import format_over
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.catalogue import traits
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule


def limits(problem: Problem, tiling: Tiling, costs: Costs, machine: Machine, model: str) -> tuple[str, ...]:
    """Say what stands against a prediction, one sentence each; nothing on a CPU."""
    if machine.kind == "cpu":
        return ()
    found = []
    needed = device_bytes(problem, tiling)
    if machine.memory_bytes is not None and needed > machine.memory_bytes.value:
        texts = format_over(needed, int(machine.memory_bytes.value))
        found.append(f"all buffers of the grid take {texts[0]}, {machine.name} has {texts[1]}: it cannot hold them")
    blocks, count = _blocks(problem, tiling, costs), int(machine.sm_count.value)
    if blocks < count:
        found.append(f"at most {blocks} of the {count} multiprocessors have a block: the grid is small for {tiling}")
    setting = make_setting(problem, machine)
    if model == "exact" and time_model.models_threads(tiling.family, setting):
        spilled = float(np.ceil(time_model.thread_terms(time_model.sizes_of(tiling, setting), setting).spilled[0]))
        if spilled:
            found.append(f"about {spilled:.0f} values of a thread of {tiling} find no register and spill to memory")
    return tuple(found)


def device_bytes(problem: Problem, tiling: Tiling) -> int:
    """Return the bytes of all buffers of a run on a GPU; streaming tiles keep two sets of what they update."""
    program = problem.program
    copies = program.analysis.copies
    if traits(tiling.family).streams:
        updated = set(program.updated)
        copies = tuple(2 * program.history(name) if name in updated else 1 for name in program.fields)
    return sum(copies) * problem.cells * problem.itemsize


def _blocks(problem: Problem, tiling: Tiling, costs: Costs) -> int:
    """Blocks that are launched at a time."""
    if not traits(tiling.family).untiled:
        return costs.tiles_per_wavefront
    cells = gpu_schedule(problem, tiling).cells
    return math.prod(-(-extent // each) for extent, each in zip(problem.shape, cells, strict=True))
