"""How long a launch of thread blocks lasts: how many are resident together, and how they are dealt out.

A device has so many places for blocks; a block that ends makes room for the next one in the order of their numbers. Of
a grid of tiles those in the middle take the time 1, those at its edges longer.
"""

from collections.abc import Callable

import numpy as np

from tilewright.base.constants import REGISTER_UNIT, WARP, WARP_UNIT
from tilewright.costs.arrays import Floats, Ints, ceil_div
from tilewright.costs.work.stream_blocks import TileGrid
from tilewright.machines.numbers import Numbers

PARTS = ("arithmetic", "on-chip memory", "latency", "transfers")
"""What the cycles of blocks are for: issuing instructions, and beyond that the path to shared memory, the last block's
waits, and DRAM. They add up."""
_TURNS = 6
"""Blocks of a place up to which they are dealt out one after the other; beyond, the mean of their times is near."""


def most_registers(threads: Ints, gpu: Numbers) -> Ints:
    """Return the registers that a thread may have if one block is to fit; shape (n,)."""
    warps = ceil_div(ceil_div(threads, WARP), WARP_UNIT) * WARP_UNIT
    return np.asarray(gpu.registers // np.maximum(warps * WARP, 1) // REGISTER_UNIT * REGISTER_UNIT)


def resident(threads: Ints, registers: Ints, chip_bytes: Ints, gpu: Numbers) -> Ints:
    """Return the blocks that a multiprocessor holds at once, by the rules of CUDA's occupancy calculator."""
    whole = -(-registers // REGISTER_UNIT) * REGISTER_UNIT
    used = np.maximum(np.minimum(whole, most_registers(threads, gpu)), REGISTER_UNIT)
    warps = np.maximum(ceil_div(threads, WARP), 1)
    held = gpu.registers // (used * WARP) // WARP_UNIT * WARP_UNIT // warps
    found = np.minimum(np.minimum(gpu.max_blocks, gpu.max_threads // (warps * WARP)), held)
    return np.asarray(np.minimum(found, gpu.shared_bytes // np.maximum(chip_bytes + gpu.block_reserve_bytes, 1)))


def combined(together: Ints | Floats, alone: Floats, busy: tuple[Floats, Floats], dram: Floats) -> Floats:
    """Return the cycles of blocks that are resident together, one tile each, by :data:`PARTS`; 0 for no block.

    Of blocks that share a scheduler the oldest goes first, and others fill what it leaves: together they are busy until
    the last one runs alone, part of whose waiting nothing fills. ``alone`` is the cycles of one block; of all blocks
    ``busy`` is those of their instructions and of these or shared memory, ``dram`` those of DRAM.
    """
    issue, work = busy
    each = work / np.maximum(np.asarray(together), 1)
    time = np.maximum(alone, work + each * (1.0 - each / alone))
    work = np.minimum(work, time)  # of blocks whose schedulers are busier than one of them alone takes
    issue = np.minimum(issue, work)
    parts = np.stack([issue, work - issue, time - work, np.maximum(time, dram) - time])
    return np.where(np.asarray(together) > 0, parts, 0.0)


def in_waves(blocks: Ints, places: Ints, gpu: Numbers, cycles: Callable[[Ints], Floats]) -> Floats:
    """Return the cycles of launches of equal blocks, of which so many have a place on a multiprocessor."""
    queue = ceil_div(blocks, gpu.sm_count)
    together = np.maximum(np.minimum(places, queue), 1)
    turns, rest = queue // together, queue % together
    return np.asarray(turns * cycles(together) + cycles(rest))


def makespan(grid: TileGrid, places: Ints, slow: Floats) -> Floats:
    """Return when the last block of every launch ends, in units of a tile in the middle; one at an edge takes ``slow``.

    >>> one = tuple(np.array([each]) for each in (4, 3))
    >>> grid = TileGrid(counts=one, first=(np.array([0]), np.array([1])), inside=(np.array([4]), np.array([1])))
    >>> [makespan(grid, np.array([places]), np.array([2.0])).tolist() for places in (12, 6)]
    [[2.0], [4.0]]
    """
    total, turns = grid.all, ceil_div(grid.all, places)
    edges = total - grid.middle
    mean = 1.0 + (slow - 1.0) * edges / np.maximum(total, 1)
    found = np.where(edges > 0, np.minimum(turns * mean + slow - 1.0, turns * slow), 1.0 * turns)
    some = np.flatnonzero((turns <= _TURNS) & (edges > 0) & (edges < total))
    if len(some):
        most = int(np.ceil(found[some] + slow[some]).max())
        found[some] = _one_by_one(_taken(grid, some), places[some], slow[some], (most, int(turns[some].max())))
    return found


def _taken(grid: TileGrid, index: Ints) -> TileGrid:
    parts = (tuple(axis[index] for axis in axes) for axes in (grid.counts, grid.first, grid.inside))
    counts, first, inside = parts
    return TileGrid(counts=counts, first=first, inside=inside)


def _one_by_one(grid: TileGrid, places: Ints, slow: Floats, most: tuple[int, int]) -> Floats:
    """Deal blocks out: places are told apart by how many tiles in the middle and at edges they had, ``most`` each."""
    middle, late = (each.ravel() for each in np.indices((most[0] + 1, most[1] + 1)))
    rows, total = np.arange(len(places)), grid.all
    ends = middle + late * slow[:, None]
    there = np.zeros(ends.shape, dtype=np.int64)
    there[:, 0] = places
    done, before = np.zeros_like(total), np.zeros_like(total)
    while (done < total).any():
        first = np.where(there > 0, ends, np.inf).argmin(axis=1)
        count = np.minimum(there[rows, first], total - done)
        done = done + count
        known = np.where(done == total, grid.middle, grid.before(np.minimum(done, total - 1)))
        quick, before = known - before, known
        there[rows, first] -= count
        there[rows, np.minimum(first + most[1] + 1, len(middle) - 1)] += quick
        there[rows, np.minimum(first + 1, len(middle) - 1)] += count - quick
    return np.asarray(np.where(there > 0, ends, 0.0).max(axis=1))
