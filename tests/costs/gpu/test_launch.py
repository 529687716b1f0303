"""Blocks dealt out to places: exactly as one after the other, and whole waves where all are alike."""

import heapq
import itertools
import random

import numpy as np
import pytest

from tilewright.costs.gpu.streaming import in_waves, makespan, resident
from tilewright.costs.machine_code.bound import Needs, resident_blocks
from tilewright.costs.work.streaming import TileGrid
from tilewright.machines.files import load
from tilewright.machines.numbers import Numbers

H200 = load("h200")


def drawn(seed, rank):
    """Grids of tiles, places and how much longer tiles at edges take."""
    draw = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    for _ in range(80):
        counts = [draw.randint(1, 9) for _ in range(rank)]
        first = [draw.randint(0, min(2, count)) for count in counts]
        inside = [draw.randint(0, count - low) for count, low in zip(counts, first, strict=True)]
        total = int(np.prod(counts))
        yield counts, first, inside, draw.randint(-(-total // 6), total + 5), draw.choice([1.0, 1.2, 2.03, 8.0])


def numbered(counts, first, inside):
    """Tiles by their numbers: in 3D those at an edge of the first axis, then by the second axis."""
    tiles = list(itertools.product(*map(range, counts)))
    begin = first[0] if inside[0] else 0
    if len(counts) > 2:
        tiles.sort(key=lambda at: (at[0] >= begin, at if at[0] < begin else (at[1], at[0], at[2])))
    return tiles


def dealt(counts, first, inside, places, slow):
    free = [0.0] * places
    for tile in numbered(counts, first, inside):
        middle = all(low <= at < low + many for at, low, many in zip(tile, first, inside, strict=True))
        heapq.heappush(free, heapq.heappop(free) + (1.0 if middle else slow))
    return max(free)


@pytest.mark.parametrize("rank", [2, 3])
def test_launches_end_when_blocks_that_are_dealt_out_one_by_one_do(rank):
    cases = list(drawn(0, rank))
    axes = [tuple(np.array(axis) for axis in zip(*(case[part] for case in cases), strict=True)) for part in range(3)]
    grid = TileGrid(counts=axes[0], first=axes[1], inside=axes[2])
    found = makespan(grid, np.array([case[3] for case in cases]), np.array([case[4] for case in cases]))
    assert found.tolist() == pytest.approx([dealt(*case) for case in cases])


def test_of_many_turns_the_mean_of_all_tiles_counts():
    counts, first, inside = (40, 30), (0, 2), (40, 26)
    axes = [tuple(np.array([each]) for each in part) for part in (counts, first, inside)]
    many = TileGrid(counts=axes[0], first=axes[1], inside=axes[2])
    found = makespan(many, np.array([50]), np.array([2.0]))[0]
    assert found == pytest.approx(dealt(counts, first, inside, 50, 2.0), rel=0.05)


def test_tiles_at_edges_that_come_last_make_the_launch_as_long_as_they_are():
    """527 tiles in 264 places, 2.03 times as long at edges: as long as if all but one of them were at edges."""
    axes = [tuple(np.array([each]) for each in part) for part in ((31, 17), (0, 1), (31, 15))]
    grid = TileGrid(counts=axes[0], first=axes[1], inside=axes[2])
    assert makespan(grid, np.array([264]), np.array([2.03]))[0] == pytest.approx(4.03)


def test_as_many_blocks_are_resident_as_the_bound_by_machine_code_says():
    cases = np.array(list(itertools.product([64, 124, 252, 1024], [32, 56, 168, 255], [0, 20160, 143360])))
    cases = cases[cases[:, 0] * cases[:, 1] <= 65536]
    bounds = [resident_blocks(Needs(threads=t, registers=r, shared_bytes=b), H200) for t, r, b in cases.tolist()]
    np.testing.assert_array_equal(resident(*cases.T, Numbers(H200)), bounds)


def test_waves_are_whole_but_for_the_bytes_of_the_last():
    """What multiprocessors compute is rounded up to the busiest one's blocks; bandwidth serves those that there are."""
    gpu = Numbers(H200)

    def cycles(together, mean):
        return np.stack([7.0 * together, 0.0 * together, 2.0 * together, 1.0 * mean])

    blocks = np.array([132, 133, 264, 1, 165])
    found = in_waves(blocks, np.array([1, 1, 2, 4, 4]), gpu, cycles)
    assert found[0].tolist() == [7.0, 14.0, 14.0, 7.0, 14.0]
    assert found[2].tolist() == [2.0, 4.0, 4.0, 2.0, 4.0]
    assert found[3].tolist() == pytest.approx([1.0, 1 + 1 / 132, 2.0, 1.0, 1.25])
