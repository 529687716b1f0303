"""The schedule of streaming tiles on many threads, simulated: tiles of a band go to whichever thread is free."""

import heapq
import itertools

import pytest

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.tiling import parse

THREADS = 64


def busy_share(problem, tiling, threads):
    """Work over threads times the time until the last one is done; the work of a tile is the cells it computes."""
    stream = streaming.geometry(problem, catalogue.complete(problem, tiling))
    total = elapsed = 0
    for levels in stream.levels:
        free = [0] * threads
        for own in itertools.product(*(itertools.pairwise(cuts) for cuts in stream.cuts)):
            cells = 0
            for left in range(levels):
                box = streaming._box(stream, own, left, 0)
                size = 1
                for (low, high), extent in zip(box[-len(problem.shape) :], problem.shape, strict=True):
                    size *= min(high, extent) - max(low, 0)
                cells += size
            total += cells
            heapq.heappush(free, heapq.heappop(free) + cells)
        elapsed += max(free)
    return total / (threads * elapsed)


@pytest.mark.parametrize(
    ("name", "shape", "text"),
    [
        ("j2d5pt", (16384, 16384), "streaming:t=32,s=1024x1024"),
        ("j2d5pt", (16384, 16384), "streaming:t=32,s=4096x1024"),
        ("j3d7pt", (640, 640, 640), "streaming:t=5,s=640x10x640"),
        ("j1d3pt", (2**22,), "streaming:t=52,s=2048"),
    ],
)
def test_tiles_for_64_threads_keep_them_busy(name, shape, text):
    problem = make_problem(program(name), shape, 100)
    assert busy_share(problem, parse(text), THREADS) > 0.9


def test_too_few_tiles_leave_threads_idle():
    problem = make_problem(program("j2d5pt"), (4096, 4096), 100)
    assert busy_share(problem, parse("streaming:t=32,s=4096x1024"), THREADS) < 0.1


def test_one_thread_is_always_busy():
    problem = make_problem(program("j2d5pt"), (512, 512), 20)
    assert busy_share(problem, parse("streaming:t=8,s=100x96"), 1) == 1.0
