"""What threads of streaming tiles ask memory and the chip for, against the addresses of all lanes of all warps."""

import itertools
import random
import re

import numpy as np
import pytest

from tilewright.codegen.gpu.emit import emit_device
from tilewright.costs import time as model
from tilewright.costs.gpu import streaming as streaming_gpu
from tilewright.costs.setting import make_setting
from tilewright.costs.work import streaming
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

SECTOR, LINE, WARP = 32, 128, 32  # bytes, and lanes


def tile_of(name, dtype, text):
    problem = make_problem(program(name), (512,) * program(name).rank, 8, dtype)
    return problem, stream_block.tile_of(problem, parse(text))


def stores(tile):
    """Lines and addresses of the values that an instruction of a warp stores, from each start that tiles may have."""
    itemsize, lanes = tile.growth.itemsize, tile.threads[1:]
    for start in range(SECTOR // itemsize):
        for line, part in itertools.product(
            itertools.product(*map(range, tile.cells[:-1])), range(0, tile.cells[-1], tile.vector)
        ):
            for first in range(0, int(np.prod(lanes)), WARP):
                values = []
                for thread in range(first, min(first + WARP, int(np.prod(lanes)))):
                    at = [
                        number * cells + beside - low
                        for number, cells, beside, low in zip(
                            np.unravel_index(thread, lanes), tile.cells, (*line, part), tile.low, strict=True
                        )
                    ]
                    if all(0 <= place < size for place, size in zip(at, tile.space[1:], strict=True)):
                        column = start * tile.space[-1] + at[-1]
                        values += [(tuple(at[:-1]), (column + lane) * itemsize) for lane in range(tile.vector)]
                if values:
                    yield values


def asked(tile):
    """Requests for a sector that is written, in the mean."""
    every = list(stores(tile))
    requests = sum(len({(line, byte // SECTOR) for line, byte in values}) for values in every)
    starts, cells = SECTOR // tile.growth.itemsize, int(np.prod(tile.space[1:]))
    return requests * SECTOR / (starts * cells * tile.growth.itemsize)


def counted(problem, text):
    setting = make_setting(problem, load("h200"))
    return streaming.blocks(model.sizes_of(parse(text), setting), setting.facts)


def drawn(rank, count):
    draw = random.Random(rank)  # noqa: S311  (reproducible, not secret)
    for _ in range(count):
        levels, cells, beside = draw.randint(1, 5), draw.choice([1, 2, 3, 4, 6, 8]), draw.randint(0, 1)
        across = draw.choice([30, 64, 96, 127] if rank == 2 else [7, 9, 14, 16, 18, 36])
        lines, rows = draw.choice([7, 14]), draw.choice([1, 2, 4])
        middle = (lines * rows - 2 * levels, lines) if rank == 3 else ()
        own = across * cells - 2 * levels - beside
        if own >= 24 and all(size > 0 for size in middle):
            sizes = "x".join(map(str, (64, *middle[:1], own)))
            yield f"streaming:t={levels},s={sizes},threads={'x'.join(map(str, (1, *middle[1:], across)))}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "error"), [("j2d5pt", 0.015), ("j3d7pt", 0.03)])
def test_requests_for_written_sectors_are_those_of_all_lanes(name, error, dtype):
    """Exact but where lines end within a thread, and where a plane has few lines, for which a mean stands."""
    found = []
    for text in drawn(program(name).rank, 18):
        problem, tile = tile_of(name, dtype, text)
        found.append(counted(problem, text).requests[0] / asked(tile))
    assert found == pytest.approx(np.ones(len(found)), rel=error)
    assert np.median(np.abs(np.array(found) - 1.0)) < 0.005


@pytest.mark.parametrize(
    ("name", "dtype", "text", "requests"),
    [
        ("j2d5pt", "float32", "streaming:t=8,s=342x480,threads=1x124", 1.0),  # a vector per thread and line
        ("j2d5pt", "float32", "streaming:t=8,s=342x960,threads=1x124", 2.0),  # two, and a sector apart
        ("j2d5pt", "float32", "streaming:t=8,s=342x746,threads=1x127", 3.0),  # three of 8 bytes
        ("j3d7pt", "float64", "streaming:t=3,s=256x22x64,threads=1x7x36", 1.0),
    ],
)
def test_a_vector_per_thread_and_line_asks_once(name, dtype, text, requests):
    problem, tile = tile_of(name, dtype, text)
    assert asked(tile) == pytest.approx(requests, abs=0.1)
    assert counted(problem, text).requests[0] == pytest.approx(requests, abs=0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", ["s=342x480,threads=1x124", "s=342x960,threads=1x124", "s=342x746,threads=1x127"])
def test_an_access_to_memory_takes_as_long_as_it_touches_lines(text, dtype):
    """Of full warps, whose first bytes begin a line where tiles do."""
    problem, tile = tile_of("j2d5pt", dtype, f"streaming:t=8,{text}")
    full = [values for values in stores(tile) if len(values) == WARP * tile.vector]
    lines = [(max(byte for _, byte in each) - min(byte for _, byte in each)) / LINE for each in full]
    block, setting = counted(problem, f"streaming:t=8,{text}"), make_setting(problem, load("h200"))
    accesses = streaming_gpu._accesses(block, setting.facts, edge=False) - block.words * (problem.itemsize // 4)
    assert accesses[0] * tile.vector == pytest.approx(2 * tile.thread_cells * np.mean(lines), rel=0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("j3d7pt", "streaming:t=2,s=64x40x60,threads=1x11x16"),
        ("j3d27pt", "streaming:t=1,s=64x20x34,threads=1x11x18"),
        ("star3d2r", "streaming:t=1,s=64x20x34,threads=1x12x19"),
        ("box2d2r", "streaming:t=2,s=64x200,threads=1x64"),
    ],
)
def test_no_two_lanes_meet_in_a_bank(name, dtype, text):
    """Places on chip of a warp's threads follow each other, and a value's group moves in one instruction."""
    problem, _ = tile_of(name, dtype, text)
    kernel = emit_device(problem, gpu_schedule(problem, parse(text)), "cuda").text
    place, threads = re.search(r"\bplace = ([^;]+);", kernel)[1], parse(text).threads[1:]
    names = [f"i{axis + 1}" for axis in range(len(threads))]
    places = [
        eval(place, dict(zip(names, at, strict=True)))  # noqa: S307  (the kernel's own text)
        for at in itertools.product(*map(range, threads))
    ]
    assert np.diff(places).tolist() == [1] * (len(places) - 1)
