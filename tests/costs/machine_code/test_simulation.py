"""Warps on one multiprocessor, cycle by cycle: what barriers, scoreboards and pipes let them wait for."""

import pytest

from tilewright.costs.machine_code.listing import PIPES, SCOREBOARDS, Code, Instruction
from tilewright.costs.machine_code.paths import WarpPath
from tilewright.costs.machine_code.simulation import Timing, cycles

NONE = SCOREBOARDS
"""No scoreboard."""


def path(*pipes, result=NONE, waits=0):
    """A loop of an instruction per pipe; the last one may wait for the first one's result."""
    last = len(pipes) - 1
    every = tuple(
        Instruction(
            name=pipe,
            pipe=pipe,
            target="",
            falls=True,
            stall=1,
            result=result if place == 0 else NONE,
            operands=NONE,
            waits=waits if place == last else 0,
            width=1.0,
        )
        for place, pipe in enumerate(pipes)
    )
    return WarpPath(Code(every, {}), list(range(len(pipes))), len(pipes), loops=True)


def timing(**latency):
    """One scheduler, every pipe free again after a cycle."""
    pipes = dict.fromkeys((*PIPES, "async"), 1.0)
    return Timing(schedulers=1, busy=pipes, latency=pipes | latency, branch=0.0)


@pytest.mark.parametrize("warps", [1, 2, 5])
def test_the_last_warp_at_a_barrier_lets_all_go_on(warps):
    """Each warp of a block issues, then all wait as long as a barrier takes; without one they only issue."""
    slow, rounds = timing(barrier=50.0), 40
    assert cycles(path("fp32", "barrier"), slow, warps, 1, rounds) == pytest.approx(50 + warps, abs=3)
    assert cycles(path("fp32", "fp32"), slow, warps, 1, rounds) == pytest.approx(2 * warps, abs=1)


def test_a_block_does_not_wait_for_another():
    """While one block is at its barrier the other one issues."""
    slow = timing(barrier=50.0)
    alone, together = (cycles(path("fp32", "barrier"), slow, 2, blocks, 40) for blocks in (1, 2))
    assert together == pytest.approx(alone, rel=0.1)


def test_a_result_is_waited_for_until_it_is_there():
    """A cycle to move it, 300.5 until it is there, and a whole one to use it; other warps' results come meanwhile."""
    read = path("ldg", "fp32", result=2, waits=1 << 2)
    assert cycles(read, timing(ldg=300.5), 1, 1, 20) == 303.0
    assert 303.0 < cycles(read, timing(ldg=300.5), 8, 1, 20) < 311.0
