"""The cost of kernels whose threads share a loop's iterations: residency, occupancy, bytes, copies."""

import math
from dataclasses import replace

import pytest

from tilewright.machines.files import load, names
from tilewright.workloads.annotated.costs import ElementAccess, LoopLaunch, launch_times, region_times, resident

C2070 = load("c2070")
ROW = ElementAccess(count=3.0, itemsize=8, stride=1, nbytes=2.0**30)
AXPY = LoopLaunch(
    threads=256, blocks=112, l1=0, registers=20, spill_bytes=0.0, shared_bytes=0, iterations=2.0**27, floats=0.0,
    doubles=2.0, integers=3.0, specials=0.0, accesses=(ROW,),
)  # fmt: skip
GPUS = [load(name) for name in names() if name != "host" and load(name).kind == "gpu"]


@pytest.mark.parametrize(
    ("changes", "blocks"),
    [
        ({}, 5),  # 32768 registers over 24 x 256, where 1536 threads would allow 6
        ({"registers": 33}, 3),
        ({"threads": 1024, "registers": 20}, 1),
        ({"threads": 32}, 8),  # MTB_SM
        ({"shared_bytes": 20000}, 2),
        ({"shared_bytes": 20000, "l1": 48}, 0),  # 16 kB are left
        ({"shared_bytes": 20000, "l1": 32}, 1),
        ({"shared_bytes": 20000, "l1": 16}, 2),
        ({"shared_bytes": 50000}, 0),
    ],
)
def test_the_blocks_of_a_multiprocessor(changes, blocks):
    assert resident(replace(AXPY, **changes), C2070) == blocks


def test_a_large_sweep_takes_its_bytes_over_the_bandwidth_on_every_card():
    for machine in GPUS:
        blocks, row = 64 * int(machine.sm_count.value), replace(ROW, nbytes=2.0**28)
        iterations = 600.0 * 256 * blocks  # every thread has 600 turns
        one = replace(
            AXPY, blocks=blocks, iterations=iterations, registers=16, doubles=0.0, integers=0.0, accesses=(row,)
        )  # fmt: skip
        bare = launch_times(replace(one, accesses=()), machine).seconds
        moved = launch_times(one, machine).seconds - bare
        lines = iterations * 3 * 8 / (128 * machine.sm_count.value * machine.clock.value)  # 128 B a cycle from L1
        assert moved == pytest.approx(2.0**28 / machine.dram_bandwidth.value + lines, rel=1e-9), machine


def test_what_does_not_fit_takes_forever_and_nothing_takes_a_call():
    assert launch_times(replace(AXPY, shared_bytes=50000), C2070).seconds == math.inf
    assert launch_times(replace(AXPY, iterations=0.0), C2070).seconds == C2070.launch_seconds.value


def test_fewer_blocks_than_multiprocessors_leave_some_idle():
    seconds = {blocks: launch_times(replace(AXPY, blocks=blocks), C2070).seconds for blocks in (1, 7, 14, 70)}
    assert seconds[1] > 6.5 * seconds[7] > 6.5 * 1.9 * seconds[14]
    assert seconds[14] > seconds[70]  # 8 of the 44 warps that hide a latency, and 40


def test_what_lies_apart_brings_whole_transactions_unless_a_cache_keeps_them():
    column = replace(ROW, stride=4096, count=1.0, nbytes=2.0**33)
    bound = replace(AXPY, accesses=(column,), doubles=0.0, integers=0.0, iterations=2.0**24, threads=96, blocks=140)
    # 8 blocks of 96 threads hold 24 kB of transactions: more than 16 kB of L1, less than 48.
    small, large = (launch_times(replace(bound, l1=kilobytes), C2070).seconds for kilobytes in (16, 48))
    assert small == large  # one access: what a transaction brings is asked for once, whoever keeps the rest
    walked = replace(bound, accesses=(replace(column, count=4.0, nbytes=2.0**27),))
    small, large = (launch_times(replace(walked, l1=kilobytes), C2070).seconds for kilobytes in (16, 48))
    reached = 24 / 44
    assert small - large == pytest.approx((4 * 2.0**24 * 32 - 2.0**27) / (107.55e9 * reached), rel=1e-9)


def test_what_spills_is_moved_again():
    spilling = replace(AXPY, spill_bytes=64.0, registers=63)
    assert launch_times(spilling, C2070).seconds > launch_times(replace(spilling, spill_bytes=0.0), C2070).seconds


def test_streams_overlap_copies_and_kernels_and_cost_calls():
    bytes_, call = C2070.host_bandwidth.value, C2070.launch_seconds.value
    assert region_times(0.2, (0.3 * bytes_, 0.1 * bytes_), 3, 1, C2070).seconds == pytest.approx(0.6 + 3 * call)
    assert region_times(0.2, (0.3 * bytes_, 0.1 * bytes_), 3, 4, C2070).seconds == pytest.approx(
        0.3 + 0.3 / 4 + 12 * call
    )
    assert region_times(0.2, (0.0, 0.0), 0, 1, C2070).seconds == 0.2  # the arrays are there
