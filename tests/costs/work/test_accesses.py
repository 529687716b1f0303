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
WORD, BANKS = 4, 32  # bytes of a bank's word on chip, and banks
GRID_LINE = 10**6  # cells
PUT = {1: r"(?P<chip>\(+chip .+)\[0\] = new0_(?P<cell>[\d_]+);"}
PUT |= {n: rf"tw_stage{n}_f\d\d\((?P<chip>.+?), new0_(?P<cell>[\d_]+)," for n in (2, 4)}
TAKEN = {1: r"(?P<memory>.*into0_0.*)\[0\] = (?P<chip>\(+chip .+)\[0\];"}
TAKEN |= {n: rf"tw_pass{n}_f\d\d\((?P<memory>.+?), (?P<chip>\(+chip .+)\);" for n in (2, 4)}
"""Statements of kernels, by the values that they move: those that put values on chip, and those that take them."""


def tile_of(name, dtype, text):
    problem = make_problem(program(name), (512,) * program(name).rank, 8, dtype)
    return problem, stream_block.tile_of(problem, parse(text))


def own_cells(tile):
    """Of every instruction that moves threads' own cells its values, and where each thread's first one lies."""
    threads = np.stack(np.unravel_index(np.arange(np.prod(tile.threads)), tile.threads[1:]), axis=1)
    for cell in itertools.product(*map(range, tile.cells)):
        if cell[-1] % tile.vector == 0:
            yield tile.vector, threads * tile.cells + cell - tile.low


def passed(tile):
    """The same of every instruction that stores what has passed through the chip; some threads have none."""
    passage, vector = tile.passage, int(tile.passage.vector)
    strip, column = np.divmod(np.arange(np.prod(tile.threads)), passage.columns)
    for line, first in passage.rounds():
        columns = np.where(strip < passage.abreast, (first + column) * vector, passage.length)
        yield vector, np.stack([*[line + strip] * (len(tile.space) > 2), columns], axis=1)


def is_own(tile, places):
    return ((places >= 0) & (places < tile.space[1:])).all(axis=1)


def moves(tile, instructions):
    """Lines and addresses of a tile's own values that an instruction of a warp moves, from each start of tiles."""
    itemsize = tile.growth.itemsize
    for start, (vector, places) in itertools.product(range(SECTOR // itemsize), list(instructions(tile))):
        for warp in np.split(places, range(WARP, len(places), WARP)):
            values = [
                (tuple(line), (start * tile.space[-1] + column + lane) * itemsize)
                for *line, column in warp[is_own(tile, warp)].tolist()
                for lane in range(vector)
            ]
            if values:
                yield values


def stores(tile):
    return moves(tile, passed if tile.passage.needed else own_cells)


def asked(tile):
    """Requests for a sector that is written, in the mean."""
    every = list(stores(tile))
    requests = sum(len({(line, byte // SECTOR) for line, byte in values}) for values in every)
    starts, cells = SECTOR // tile.growth.itemsize, int(np.prod(tile.space[1:]))
    return requests * SECTOR / (starts * cells * tile.growth.itemsize)


def counted(problem, text):
    setting = make_setting(problem, load("h200"))
    return streaming.blocks(model.sizes_of(parse(text), setting), setting.facts)


def on_chip(block):
    """Values of rims, and of rows that pass through the chip, that a thread moves there per advance."""
    return block.words + block.passes * (block.turns + block.stores * block.apart)


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
        ("j2d5pt", "float32", "streaming:t=8,s=342x960,threads=1x124", 1.0),  # two, which pass through the chip
        ("j2d5pt", "float32", "streaming:t=8,s=342x746,threads=1x127", 1.1),  # of 8 bytes, from anywhere in a sector
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
    lines = []
    for each in (moves(tile, own_cells), stores(tile)):
        every = [[byte for _, byte in values] for values in each]
        full = max(map(len, every))
        lines.append(np.mean([(max(values) - min(values)) / LINE for values in every if len(values) == full]))
    block, setting = counted(problem, f"streaming:t=8,{text}"), make_setting(problem, load("h200"))
    accesses = streaming_gpu._accesses(block, setting.facts, edge=False) - on_chip(block) * (problem.itemsize // 4)
    stored = len(list(passed(tile))) if tile.passage.needed else tile.thread_cells // tile.vector
    assert accesses[0] == pytest.approx(tile.thread_cells // tile.vector * lines[0] + stored * lines[1], rel=0.1)


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


def c_values(text, names):
    """What threads get of a kernel's expression of whole numbers."""
    return eval(text.replace("/", "//"), names)  # noqa: S307  (the kernel's own text)


def through_the_chip(tile, kernel):
    """Of every instruction of a kernel's text that puts a row's values on chip, and of every one that takes them there:
    how many, where a thread's first one lies on chip, which threads have some, and where their cells lie in memory."""
    threads, inner = np.arange(np.prod(tile.threads)), range(1, len(tile.space))
    # A thread's first cell, of a tile at the start of a grid of long lines.
    first = np.stack(np.unravel_index(threads, tile.threads[1:]), axis=1) * tile.cells - tile.low
    names = {f"at{axis}": first[:, axis - 1] for axis in inner} | {f"low{axis}": 0 for axis in inner}
    names |= {"chip": 0, "thread": threads, "s1": GRID_LINE}
    for name in ("strip", "column"):
        names[name] = c_values(re.search(rf"\b{name} = (.+);", kernel)[1], names)
    names["into0_0"] = names["column"] + GRID_LINE * names["strip"] * (len(tile.space) > 2)
    put, taken = [], []
    for line, before in {b: a for a, b in itertools.pairwise(map(str.strip, kernel.splitlines()))}.items():
        if found := re.match(PUT[tile.vector], line):
            cells = first + list(map(int, found["cell"].split("_")))
            memory = cells @ [GRID_LINE, 1][-len(inner) :]
            put.append((tile.vector, c_values(found["chip"], names), is_own(tile, cells), memory))
        elif found := re.match(TAKEN[int(tile.passage.vector)], line):
            test = re.match(r"if \((\(*(?:strip|column) .+)\) {", before)
            some = c_values(test[1], names) if test else threads >= 0
            memory = c_values(found["memory"], names)
            taken.append((int(tile.passage.vector), c_values(found["chip"], names), some, memory))
    return put, taken


def values_moved(instructions):
    """Places on chip of all values that some instructions move, and where they lie in memory."""
    return sorted(
        (int(place) + lane, int(cell) + lane)
        for vector, places, some, memory in instructions
        for place, cell in zip(places[some], memory[some], strict=True)
        for lane in range(vector)
    )


@pytest.mark.parametrize(
    ("name", "dtype", "text", "moved"),
    [
        ("j2d5pt", "float32", "streaming:t=8,s=342x960,threads=1x124", (4, 4)),  # bytes: 16 and 16
        ("j2d5pt", "float32", "streaming:t=8,s=342x744,threads=1x127", (2, 4)),  # three of 8, and 16
        ("j2d5pt", "float32", "streaming:t=3,s=342x746,threads=1x94", (1, 1)),  # eight of 4
        ("j2d5pt", "float32", "streaming:t=4,s=342x742,threads=1x125", (2, 2)),
        ("j2d5pt", "float64", "streaming:t=8,s=342x480,threads=1x124", (2, 2)),
        ("j2d5pt", "float64", "streaming:t=8,s=342x960,threads=1x124", (2, 2)),
        ("box2d1r", "float32", "streaming:t=4,s=342x1016,threads=1x128", (4, 4)),
        ("j3d7pt", "float64", "streaming:t=2,s=64x40x60,threads=1x11x16", (2, 2)),
        ("j3d7pt", "float64", "streaming:t=3,s=64x26x58,threads=1x16x16", (1, 1)),
    ],
)
def test_no_two_lanes_meet_in_a_bank_as_rows_pass_through_the_chip(name, dtype, text, moved):
    """Of those whose accesses pass at once: as many as have 128 bytes."""
    problem, tile = tile_of(name, dtype, text)
    put, taken = through_the_chip(tile, emit_device(problem, gpu_schedule(problem, parse(text)), "cuda").text)
    assert (tile.vector, int(tile.passage.vector)) == moved
    assert values_moved(put) == values_moved(taken)
    assert len(values_moved(put)) == len(set(values_moved(put))) == tile.passage.rows * np.prod(tile.space[1:])
    for vector, places, some, _ in [*put, *taken]:
        size = vector * tile.growth.itemsize
        lanes = LINE // size
        for first in range(0, len(places), lanes):
            starts = places[first : first + lanes][some[first : first + lanes]] * tile.growth.itemsize
            words = np.add.outer(starts, np.arange(0, size, WORD)) // WORD
            assert len(np.unique(words % BANKS)) == words.size
