"""GPU kernels of streaming tiles under Oclgrind: results, races, accesses out of bounds; and what their text is."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
from tests.oracles.counting import exact_counts
from tests.runtime.interpreted import inputs, loaded, run, source_of, verify
from tests.sampling import some

from tilewright.base.constants import STATIC_SHARED
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.codegen.gpu.emit import launches
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.forms import extend
from tilewright.programs.stencil.problem import GPU_COMPILED, make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.runtime.devices import gpu, nvrtc
from tilewright.schedules import catalogue
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import Tiling, parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

MOST_LOADS = 300  # of a cell, for which a kernel is written out
STREAMED = tuple(
    name
    for name in names()
    if program(name).rank > 1 and not program(name).analysis.sweep and program(name).loads <= MOST_LOADS
)
ARCHITECTURES = ("sm_52", "sm_70", "sm_80", "sm_90")
LIGHT = tuple(name for name in STREAMED if program(name).loads <= 30)
SIZES = {2: ((6, 9), (1, 8)), 3: ((4, 3, 5), (1, 2, 8))}
"""Per rank the sizes and the threads of the small tiles that are interpreted."""


def small(name, dtype="float32", boundary="fixed", levels=2):
    """A small tiling of a program, and a problem of two tiles and a rest per axis with whole and short bands."""
    known = program(name)
    space, threads = SIZES[known.rank]
    reach = max(max(pair) for pair in known.reach)
    if reach > 1 and known.rank == 3:  # many reads: one cell per thread, few cells
        problem = make_problem(known, (2 * reach + 4, 2 * reach + 3, 2 * reach + 5), 2, dtype, boundary)
        space = (3, 2, 4)
        tiling = Tiling(family="streaming", time=1, space=space)
        threads = (1, *stream_block.tile_of(problem, tiling).loaded[1:])
        return problem, catalogue.complete(problem, dataclasses.replace(tiling, threads=threads))
    levels = levels if reach < 3 else 1
    shape = tuple(min(2 * size + 3 + low + high, 24) for size, (low, high) in zip(space, known.reach, strict=True))
    problem = make_problem(known, shape, 2 * levels + 1, dtype, boundary)
    return problem, catalogue.complete(problem, Tiling(family="streaming", time=levels, space=space, threads=threads))


@pytest.mark.stress
@pytest.mark.parametrize("name", STREAMED)
def test_the_catalogue_runs_without_races_and_inside_its_arrays(device, capfd, name):
    verify(device, capfd, *small(name))


@pytest.mark.parametrize("boundary", some([("fixed", "mirror", "reflect"), "fixed"], 1))
def test_planes_of_a_box_add_their_shares_to_several_results(device, capfd, boundary):
    problem = make_problem(program("j3d27pt"), (9, 11, 15), 3, boundary=boundary)
    tiling = catalogue.complete(problem, parse("streaming:t=2,s=5x4x4,threads=1x4x4"))
    text = source_of(problem, tiling, "opencl").text
    assert "sum0_" in text
    assert "rim0_" not in text
    verify(device, capfd, problem, tiling)


@pytest.mark.stress
@pytest.mark.parametrize("boundary", ["constant", "nearest", "reflect", "mirror"])
@pytest.mark.parametrize("name", ["box2d1r", "fdtd2d", "wave2d", "star3d1r"])
def test_boundaries_bit_for_bit(device, capfd, name, boundary):
    verify(device, capfd, *small(name, "float64", boundary), strict=True)


@pytest.mark.stress
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 7])
@pytest.mark.parametrize(("name", "levels"), [("j2d5pt", 3), ("wave2d", 6)])
def test_any_number_of_steps(device, capfd, name, levels, steps):
    problem, tiling = small(name, levels=levels)
    verify(device, capfd, dataclasses.replace(problem, steps=steps), tiling, strict=True)


MIXED = (("reflect", "fixed"), ("nearest", "constant:0.5"))
EDGES = list(
    dict.fromkeys(
        [
            ("j2d5pt", "mirror", 5, 23),
            ("wave2d", MIXED, 3, 31),
            ("box2d1r", "constant:0.5", 3, 23),
            *itertools.product(
                ["j2d5pt", "wave2d", "box2d1r"],
                ["fixed", "nearest", "reflect", "mirror", "constant:0.5", ("mirror", "fixed"), MIXED],
                [2, 3, 5],
                [23, 24],
            ),
        ]
    )
)


@pytest.mark.parametrize("case", some(EDGES, 3))
def test_edges_bands_and_what_is_left_of_the_steps(device, capfd, case):
    name, boundary, steps, width = case
    problem = make_problem(program(name), (17, width), steps, "float32", boundary)
    tiling = catalogue.complete(problem, parse("streaming:t=2,s=6x8,threads=1x4"))
    verify(device, capfd, problem, tiling, strict=True)


PASSING = [
    ("wave2d", "float64", "nearest", (17, 80), 3, "t=1,s=6x24,threads=1x7"),  # bands that leave one of two versions
    ("j2d5pt", "float32", "fixed", (19, 200), 5, "t=2,s=6x88,threads=1x12"),  # vectors that change places
    ("fdtd2d", "float32", "reflect", (19, 80), 5, "t=2,s=6x24,threads=1x5"),
    ("wave2d", "float32", "mirror", (19, 82), 9, "t=4,s=6x20,threads=1x5"),
    ("heat2d_var", "float64", "constant:0.5", (19, 80), 5, "t=2,s=6x24,threads=1x4"),
    ("j2d5pt", "float32", "fixed", (40, 128), 13, "t=5,s=16x30,threads=1x5"),  # value by value
    ("j3d7pt", "float32", "fixed", (12, 18, 40), 3, "t=2,s=4x8x20,threads=1x4x3"),
    ("wave3d", "float64", "mirror", (9, 12, 42), 3, "t=1,s=4x5x20,threads=1x7x4"),
]


@pytest.mark.parametrize("case", some(PASSING, 2))
def test_rows_pass_through_the_chip_on_their_way_to_memory(device, capfd, case):
    name, dtype, boundary, shape, steps, tiling = case
    problem, tiling = make_problem(program(name), shape, steps, dtype, boundary), parse(f"streaming:{tiling}")
    assert stream_block.tile_of(problem, tiling).passage.needed
    verify(device, capfd, problem, tiling, strict=True)


@pytest.mark.parametrize("dtype", GPU_COMPILED)
def test_vectors_of_every_element_type(device, capfd, dtype):
    """Fetched, stored, put on chip and taken there; both languages have names of their own for them."""
    u, seen = FieldBuilder("u"), set[str]()
    mixed = stencil("mixed", 2, {"u": u[0, 1] - u[0, -1] + u[1, 0]})
    problem = make_problem(mixed, (17, 180), 3, dtype)
    for tiling in (f"streaming:t=2,s=6x56,threads=1x{threads}" for threads in (8, 15, 30)):
        verify(device, capfd, problem, parse(tiling), strict=True)
        text = source_of(problem, parse(tiling), "cuda").text
        nvrtc.compile_cuda(text, "sm_90", strict=True)
        seen |= set(re.findall(r"\btw_(fetch|store|stage|pass)\d", text))
    assert seen == {"fetch", "store", "stage", "pass"}


@pytest.mark.stress
def test_periodic_grids(device, capfd):
    problem = make_problem(program("wave2d"), (9, 12), 7, boundary="wrap")
    verify(device, capfd, problem, parse("streaming:t=3,s=8x9,threads=1x8"), halo=extend(problem, 3))


@pytest.mark.stress
@pytest.mark.parametrize("threads", ["1x5", "1x3", "1x32"])
def test_any_threads(device, capfd, threads):
    problem, tiling = small("j2d9pt")
    shape = tuple(map(int, threads.split("x")))
    verify(device, capfd, problem, dataclasses.replace(tiling, threads=shape), strict=True)


@pytest.mark.stress
@pytest.mark.parametrize("name", ["j2d5pt", "box2d2r", "fdtd2d", "wave2d", "heat2d_var"])
@pytest.mark.parametrize("shape", [((6, 10), (1, 4)), ((6, 8), (1, 4)), ((5, 3), (1, 9))])
def test_any_number_of_cells_of_a_thread(device, capfd, name, shape):
    """Rims that are all of a thread's cells, some of them, or those of threads further away."""
    space, threads = shape
    problem, tiling = small(name)
    tiling = dataclasses.replace(tiling, space=space, threads=threads)
    for width in (31, 32):
        verify(device, capfd, dataclasses.replace(problem, shape=(17, width)), tiling, strict=True)


@pytest.mark.stress
@pytest.mark.parametrize("name", ["j3d7pt", "j3d27pt", "wave3d"])
@pytest.mark.parametrize("shape", [((3, 6, 6), (1, 3, 3)), ((3, 4, 4), (1, 4, 4)), ((4, 2, 9), (1, 2, 5))])
def test_any_box_of_cells_of_a_thread(device, capfd, name, shape):
    space, threads = shape
    problem, tiling = small(name, levels=2)
    tiling = dataclasses.replace(tiling, space=space, threads=threads)
    if not stream_block.tile_of(problem, tiling).written:
        tiling = dataclasses.replace(tiling, time=1)
    verify(device, capfd, dataclasses.replace(problem, shape=(9, 13, 16), steps=4), tiling, strict=True)


@pytest.mark.stress
def test_versions_survive_parts_of_a_run(device):
    problem, tiling = small("wave2d")
    given = inputs(problem)
    session = gpu.GpuSession(loaded(device, problem, tiling), problem, given)
    for steps in (1, 3, 1):
        session.advance(steps)
    assert np.array_equal(session.newest("u"), run(device, problem, tiling, given)["u"])
    session.close()


@pytest.mark.parametrize("boundary", ["fixed", "mirror"])
def test_a_missing_barrier_is_seen(device, capfd, boundary):
    """So the checks above can fail."""
    problem, tiling = small("j2d5pt", boundary=boundary)
    problem = dataclasses.replace(problem, shape=(9, 12), steps=2)
    capfd.readouterr()
    run(device, problem, tiling, edit=lambda text: text.replace("TW_BARRIER();", ";"))
    said = capfd.readouterr()
    assert "data race" in (said.err + said.out)


def test_a_launch_per_band():
    problem, tiling = small("wave2d", levels=6)
    problem = dataclasses.replace(problem, steps=15)
    started = list(launches(problem, gpu_schedule(problem, tiling), 15))
    counted = exact_counts(problem, tiling)
    assert [launch.kernel for launch in started] == [0, 0, 1, 1, 1]
    assert [launch.numbers[:2] for launch in started] == [(0, 2), (2, 0), (0,), (1,), (2,)]
    assert len(started) == counted.wavefronts
    assert {launch.groups for launch in started[:2]} == {counted.tiles_per_wavefront}


@pytest.mark.parametrize("name", ["j2d5pt", "fdtd2d", "j3d27pt"])
def test_memory_on_chip_is_the_counted_footprint(name):
    problem, tiling = small(name)
    kernel = source_of(problem, tiling, "cuda").kernels[0]
    assert kernel.shared_bytes == problem.itemsize * exact_counts(problem, tiling).footprint


def compiled(name, architecture, dtype="float32"):
    known = program(name)
    problem = make_problem(known, (512,) * known.rank, 20, dtype)
    tiling = catalogue.complete(problem, stream_block.threads_for(problem, Tiling(family="streaming")))
    source = source_of(problem, tiling, "cuda")
    needs = nvrtc.compile_cuda(source.text, architecture).resources
    assert needs.registers
    assert needs.shared_bytes == source.shared_bytes <= STATIC_SHARED
    assert (needs.spill_bytes, needs.stack_bytes) == (0, 0), (architecture, str(tiling))


@pytest.mark.parametrize(("number", "name"), list(enumerate(LIGHT[::2])))
def test_the_default_configurations_compile_without_spills(number, name):
    compiled(name, ARCHITECTURES[number % 4])


@pytest.mark.stress
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", STREAMED)
def test_every_default_configuration_compiles_without_spills(name, dtype, architecture):
    compiled(name, architecture, dtype)


def test_what_makes_no_block_is_one_sentence():
    problem, _ = small("j2d5pt")
    for text, said in {
        "streaming:t=2,s=8x8,threads=2x8": "the first one 1",
        "streaming:t=2,s=8x8,threads=8": "given per axis, 2 here",
        "streaming:t=2,s=8x8,threads=1x2048": "at most 1024 threads",
        "streaming:t=2,s=8x8,threads=1x8,rows=4": "with threads has no rows",
        "streaming:t=2,s=8,threads=1x8": "has 2 sizes",
    }.items():
        with pytest.raises(UsageError, match=said):
            catalogue.complete(problem, parse(text))
    line = make_problem(program("j1d3pt"), (40,), 3)
    with pytest.raises(UsageError, match="are for 2D and 3D programs"):
        catalogue.complete(line, parse("streaming:t=2,s=8,threads=8"))
    with pytest.raises(IllegalTilingError, match="are for 2D and 3D programs"):
        source_of(line, parse("streaming:t=2,s=8"), "cuda")
