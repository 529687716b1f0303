"""How much of L3 there is: copies through a simulated cache of known size say so again."""

import random
from collections import OrderedDict

import pytest

from tilewright.costs.fit import Copies, capacity
from tilewright.machines.parameters import Quantity

LINE, PAGE, WAYS = 64, 8, 16
NEAR, FAR = 1 / 40e9, 1 / 20e9


def described(size):
    return Quantity(value=float(size), unit="B", source="description", note="as the CPU describes itself")


def misses(size, room, seed):
    """Share of lines lost by a second pass over so many bytes, whose pages lie anywhere in memory."""
    sets = [OrderedDict() for _ in range(room // LINE // WAYS)]
    starts = random.Random(seed).choices(range(1 << 30), k=size // LINE // PAGE)  # noqa: S311  (no secret)
    missed = 0
    for turn in range(2):
        for start in starts:
            for line in range(start * PAGE, (start + 1) * PAGE):
                held = sets[line % len(sets)]
                missed += turn * (line not in held)
                held[line] = True
                held.move_to_end(line)
                if len(held) > WAYS:
                    held.popitem(last=False)
    return missed / (size // LINE)


def copies(room, largest, far=FAR, near=NEAR):
    sizes = [int(largest / 2 ** (k / 2)) for k in range(8)]
    shares = [misses(size, room, seed) for seed, size in enumerate(sizes)]
    return [Copies(size=size, seconds=(1 - lost) * near + lost * far) for size, lost in zip(sizes, shares, strict=True)]


@pytest.mark.parametrize("part", [8, 4, 3, 2])
def test_a_part_of_what_is_described_is_found(part):
    whole = 1 << 20
    room = whole // part // 1024 * 1024
    found = capacity(described(whole), WAYS, FAR, copies(room, whole))
    assert found.source == "measured"
    assert found.low <= found.value <= found.high
    assert found.value == pytest.approx(room, rel=0.1)


def test_a_cache_that_is_all_there_stays_as_it_is_described():
    whole = described(1 << 18)
    assert capacity(whole, WAYS, FAR, copies(1 << 18, 1 << 18)) is whole


def test_copies_that_memory_makes_as_fast_or_that_are_missing_say_nothing():
    whole = described(1 << 20)
    assert capacity(whole, WAYS, FAR, copies(1 << 18, 1 << 20, near=FAR / 1.1)) is whole
    assert capacity(whole, WAYS, FAR, copies(1 << 12, 1 << 20)) is whole  # all of it comes from memory
    assert capacity(whole, WAYS, FAR, []) is whole
