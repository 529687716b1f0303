"""GPU kernels without a GPU: run under Oclgrind, which reports races and wrong accesses, and compiled by NVRTC."""

import dataclasses
import re

import numpy as np
import pytest
from tests.oracles.counting import exact_counts
from tests.runtime.interpreted import inputs, loaded, run, source_of, verify
from tests.sampling import covering, some

from tilewright.base.constants import STATIC_SHARED
from tilewright.base.errors import ArrayError, IllegalTilingError, ToolchainError, UsageError
from tilewright.codegen.gpu.emit import emit_device, launches
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.forms import extend
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.calibration.gpu import calibration_tiling, chip_bytes
from tilewright.runtime.devices import gpu, nvrtc, opencl
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

ARCHITECTURES = ("sm_52", "sm_70", "sm_80", "sm_90")
TILES = {1: ((8,), (16,)), 2: ((1, 8), (8,)), 3: ((1, 1, 8), (2, 8))}
"""Per rank the threads, and the classic sizes, of the small tiles that are interpreted."""


def small(name, dtype="float32", boundary="fixed"):
    """A small tiling of a program, and a problem that has whole and cut tiles of it."""
    known = program(name)
    probe = make_problem(known, (4,) * known.rank, 3, dtype, boundary)
    if known.analysis.sweep:
        return make_problem(known, (9,) * known.rank, 2, dtype, boundary), NONE
    lean = slopes(probe)
    time, base = 2, max(1, lean[0].widest)
    threads, classic = TILES[known.rank]
    if known.rank == 3 and lean[1].widest > 2:
        threads, classic = (1, 2, 16), (6, 16)  # fewer tiles: what they share is loaded again for each
    sizes = (base, *classic) if known.rank > 1 else (base + 3,)
    tiling = Tiling(
        family="hexagonal" if known.rank == 1 else "hybrid", time=time, space=sizes, threads=threads, rows=1
    )
    extents = [low + high + 2 for low, high in known.reach]
    steps = 4 if known.rank < 3 else 2
    while not exact_counts((problem := dataclasses.replace(probe, shape=tuple(extents), steps=steps)), tiling).full:
        shortest = min(range(known.rank), key=lambda axis: extents[axis] / (1 + sizes[axis]))
        extents[shortest] += 1
    # A kernel takes a tile for whole only if its box keeps clear of the cells that keep their first values.
    grown = [
        extent + (known.reach[axis][1] if axis else 0) + (axis == known.rank - 1 > 0) * sizes[axis]
        for axis, extent in enumerate(extents)
    ]
    return dataclasses.replace(problem, shape=tuple(grown)), tiling


@pytest.mark.parametrize("name", some(sorted(names(), key="fdtd2d".__ne__), 1))
def test_the_catalogue_runs_without_races_and_inside_its_arrays(device, capfd, name):
    problem, tiling = small(name, "int32" if name == "smith_waterman" else "float32")
    verify(device, capfd, problem, tiling)


@pytest.mark.stress
@pytest.mark.parametrize("boundary", ["constant", "nearest", "reflect", "mirror"])
@pytest.mark.parametrize("name", ["star1d2r", "box2d1r", "fdtd2d", "wave2d", "star3d1r"])
def test_boundaries(device, capfd, name, boundary):
    problem, tiling = small(name, "float64", boundary)
    verify(device, capfd, problem, tiling)


@pytest.mark.stress
@pytest.mark.parametrize("tile", ["rows=4", "unroll=8"])
@pytest.mark.parametrize("name", ["j2d5pt", "heat2d_var", "j3d7pt"])
def test_variants(device, capfd, name, tile):
    problem, tiling = small(name)
    key, value = tile.split("=")
    verify(device, capfd, problem, dataclasses.replace(tiling, **{key: int(value)}))


@pytest.mark.stress
@pytest.mark.parametrize("threads", ["4", "2x8", "3x5"])
def test_thread_shapes(device, capfd, threads):
    name = "j2d5pt" if "x" in threads else "j1d3pt"
    problem, tiling = small(name)
    shape = tuple(int(part) for part in threads.split("x"))
    verify(device, capfd, problem, dataclasses.replace(tiling, threads=shape, rows=None, time=4))


@pytest.mark.stress
@pytest.mark.parametrize("name", ["j1d3pt", "j2d9pt", "fdtd2d", "j3d7pt", "wave3d"])
@pytest.mark.parametrize("boundary", ["fixed", "wrap", "mirror"])
def test_without_tiles(device, capfd, name, boundary):
    known = program(name)
    problem = make_problem(known, (11, 9, 10)[: known.rank], 3, "float64", boundary)
    verify(device, capfd, problem, dataclasses.replace(NONE, threads=(8,) if known.rank == 1 else ()))


@pytest.mark.stress
def test_periodic_grids_in_time_tiles(device, capfd):
    problem = make_problem(program("wave2d"), (9, 12), 7, boundary="wrap")
    verify(device, capfd, problem, parse("hybrid:t=2,s=2x8,threads=1x8"), halo=extend(problem, 3))


@pytest.mark.parametrize("boundary", ["fixed", "wrap"])
def test_a_session_filled_again_starts_from_the_initial_data(device, boundary):
    problem = make_problem(program("wave2d"), (9, 12), 5, "float64", boundary)
    halo = extend(problem, 3) if boundary == "wrap" else None
    tiling, given = parse("hybrid:t=2,s=2x8,threads=1x8"), inputs(problem)
    kernels = loaded(device, problem if halo is None else halo.problem, tiling, periodic=boundary == "wrap")
    session = gpu.GpuSession(kernels, problem, given, halo)
    session.advance(5)
    first = session.results()["u"]
    session.refill(given)
    assert session.steps == 0
    session.advance(5)
    np.testing.assert_array_equal(session.results()["u"], first)
    session.close()


@pytest.mark.stress
def test_whole_numbers_and_strict_rounding(device, capfd):
    from tilewright.programs.stencil import reference

    problem, tiling = small("j2d5pt")
    given = inputs(problem)
    result = run(device, problem, tiling, given, strict=True)["u"]
    plain = reference.run(problem, given.arrays, given.scalars)["u"]
    assert np.array_equal(result, plain)
    assert "race" not in capfd.readouterr().err


@pytest.mark.parametrize("name", ["j1d3pt", "j2d5pt"])
def test_a_missing_barrier_is_seen(device, capfd, name):
    """Without the barrier after a row, a row races with the one before; so the checks above can fail."""
    problem, tiling = small(name)
    head, mark, tail = source_of(problem, tiling, "opencl").text.rpartition("TW_KERNEL(")
    assert tail.count("TW_BARRIER();") == 2

    def edit(text):
        assert text == head + mark + tail
        return head + mark + tail.replace("TW_BARRIER();", ";")

    capfd.readouterr()
    run(device, problem, tiling, edit=edit)
    said = capfd.readouterr()
    assert "data race" in (said.err + said.out)


def test_an_access_outside_is_seen(device, capfd):
    problem, tiling = small("j2d5pt")
    capfd.readouterr()
    run(device, problem, tiling, edit=lambda text: text.replace("out[", "out[1000000 + ", 1))
    assert "invalid write" in capfd.readouterr().err.lower()


def test_versions_survive_parts_of_a_run(device):
    """Advancing in parts that are no multiple of the versions kept gives the same as at once."""
    problem, tiling = small("j2d5pt")
    given = inputs(problem)
    program_ = loaded(device, problem, tiling)
    session = gpu.GpuSession(program_, problem, given)
    for steps in (1, 2, 1):
        session.advance(steps)
    assert session.steps == 4
    assert np.array_equal(session.newest("u"), run(device, problem, tiling, given)["u"])
    session.close()


def test_time_by_events(device):
    problem, tiling = small("j1d3pt")
    session = gpu.GpuSession(loaded(device, problem, tiling), problem, inputs(problem))
    assert session.timed(problem.steps) > 0
    session.close()


def test_a_tile_that_does_not_fit_is_refused(device):
    problem = make_problem(program("j2d5pt"), (100, 100), 8)
    tiling = parse("hybrid:t=64,s=64x512")
    source = source_of(problem, tiling, "opencl")
    assert source.kernels[0].room_bytes == source.shared_bytes == chip_bytes(problem, tiling) > STATIC_SHARED
    with pytest.raises(ArrayError, match="on chip"):
        gpu.program_of(device, source, gpu_schedule(problem, tiling))


def test_text_that_does_not_compile_is_one_sentence(device):
    source = source_of(*small("j1d3pt"), "opencl")
    with pytest.raises(ToolchainError, match="does not compile"):
        device.build(dataclasses.replace(source, text=source.text.replace("const int left", "const nothing left")))
    with pytest.raises(UsageError, match="there is no OpenCL device 'nothing like it'"):
        opencl.select("nothing like it")


# What the texts are.


@pytest.mark.parametrize("name", ["j2d5pt", "fdtd2d", "smith_waterman"])
def test_both_dialects_share_their_text(name):
    problem, tiling = small(name)
    texts = []
    for dialect in ("opencl", "cuda"):
        source = source_of(problem, tiling, dialect)
        body = source.text.partition("TW_KERNEL(")[2].partition("TW_KERNEL(")[2]
        texts.append(body.replace(source.entry.split("_")[-2], ""))
    assert texts[0] == texts[1]


def test_text_depends_on_neither_shape_nor_steps():
    problem, tiling = small("j2d5pt")
    other = dataclasses.replace(problem, shape=(500, 700), steps=100)
    assert source_of(problem, tiling, "cuda").text == source_of(other, tiling, "cuda").text


@pytest.mark.parametrize("unroll", [1, 3, 4, 5, 100])
def test_rows_of_whole_tiles_are_written_out_where_all_of_them_are_asked_for(unroll):
    """Only then a row's place on chip is known to the compiler; rows of cut tiles stay a loop."""
    problem = make_problem(program("j2d5pt"), (64, 64), 20)
    text = source_of(problem, parse(f"hybrid:t=4,s=3x32,unroll={unroll}"), "cuda").text
    whole, cut = re.findall(r"(TW_UNROLL\S*)\s*for \(int row = ", text)
    assert whole == ("TW_UNROLL" if unroll >= 4 else "TW_UNROLL_BY(1)")
    assert cut == "TW_UNROLL_BY(1)"


def test_what_has_no_kernel_is_refused():
    problem, tiling = small("j2d5pt")
    with pytest.raises(IllegalTilingError, match="no GPU code is made for the tiling family 'orthogonal'"):
        emit_device(
            problem, dataclasses.replace(gpu_schedule(problem, tiling), tiling=Tiling(family="orthogonal")), "cuda"
        )
    with pytest.raises(UsageError, match="GPU code computes in"):
        source_of(dataclasses.replace(problem, dtype="complex64"), tiling, "cuda")
    with pytest.raises(UsageError, match="the dialect of a GPU"):
        source_of(problem, tiling, "metal")


@pytest.mark.parametrize("tile", ["hybrid:t=4,s=3x8", "hybrid:t=8,s=1x5", "hybrid:t=2,s=4x9"])
def test_launches_are_the_wavefronts_of_the_scan(tile):
    from tilewright.schedules.catalogue import scan

    problem = make_problem(program("j2d5pt"), (40, 30), 13)
    tiling = parse(tile)
    schedule = gpu_schedule(problem, tiling)
    started = [
        (number, group)
        for number, launch in enumerate(launches(problem, schedule, 13))
        for group in range(launch.groups)
    ]
    wavefronts = sorted({piece.wavefront for piece in scan(problem, tiling)})
    wanted = {(wavefronts.index(piece.wavefront), piece.tile) for piece in scan(problem, tiling)}
    assert wanted <= set(started)
    assert len({number for number, _ in started}) == len(wavefronts)


@pytest.mark.parametrize("extent", [5, 16, 40])
def test_no_launch_is_empty(extent):
    """A grid that the tiles of one colour cover alone has none of the other; CUDA refuses a launch of no groups."""
    problem = make_problem(program("j1d3pt"), (extent,), 13)
    started = list(launches(problem, gpu_schedule(problem, parse("hexagonal:t=4,s=16")), 13))
    assert len(started) == exact_counts(problem, parse("hexagonal:t=4,s=16")).wavefronts
    assert all(launch.groups > 0 for launch in started)


def test_texts_that_differ_have_names_that_differ():
    """Kernels are kept by their names."""
    problem, tiling = small("j2d5pt")
    changes = ({}, {"time": 4}, {"space": (2, 8)}, {"space": (1, 12)}, {"unroll": 2})
    sources = [source_of(problem, dataclasses.replace(tiling, **change), "opencl") for change in changes]
    assert len({source.fingerprint for source in sources}) == len({source.text for source in sources}) == len(changes)


# NVRTC.


def compiled(name, architecture, dtype="float32", tiling=None):
    known = program(name)
    problem = make_problem(known, (64,) * known.rank, 20, dtype)
    chosen = tiling or calibration_tiling(problem)
    source = source_of(problem, chosen, "cuda")
    return chosen, source, nvrtc.compile_cuda(source.text, architecture)


@pytest.mark.parametrize(("part", "architecture"), covering([0, 1, 2, 3], ["sm_52", "sm_90", "sm_70", "sm_80"]))
def test_the_default_configurations_compile_without_spills(part, architecture):
    """A quarter of the catalogue for each architecture, every program for one; all of them under ``stress``."""
    spilling = []
    for name in names()[part::4]:
        tiling, source, code = compiled(name, architecture)
        assert code.cubin.startswith(b"\x7fELF")
        assert code.resources.registers
        assert code.resources.shared_bytes == source.shared_bytes <= STATIC_SHARED
        assert name == "smith_waterman" or tiling.family != "none"
        if code.resources.spill_bytes or code.resources.stack_bytes:
            spilling.append((name, code.resources))
    assert not spilling


@pytest.mark.parametrize("name", ["j2d5pt", "gradient2d", "fdtd2d", "star3d1r"])
def test_double_precision_compiles_without_spills(name):
    _, _, code = compiled(name, "sm_70", "float64")
    assert code.resources.spill_bytes == 0


@pytest.mark.stress
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", sorted(set(names()) - {"smith_waterman"}))
def test_every_default_configuration_in_double_precision_compiles_without_spills(name, architecture):
    tiling, source, code = compiled(name, architecture, "float64")
    assert (tiling.family == "none") == (name in {"star3d4r", "box3d4r"})  # not even the smallest tile fits
    assert code.resources.shared_bytes == source.shared_bytes <= STATIC_SHARED
    assert (code.resources.spill_bytes, code.resources.stack_bytes) == (0, 0), str(tiling)


@pytest.mark.parametrize("tile", ["hybrid:t=16,s=8x64", "none"])
def test_variants_compile(tile):
    _, source, code = compiled("j2d5pt", "sm_80", tiling=parse(tile))
    assert code.resources.registers
    assert code.resources.shared_bytes == source.kernels[0].shared_bytes


def test_results_are_kept(private_cache, monkeypatch):
    _, source, first = compiled("j2d5pt", "sm_90", tiling=NONE)

    def refuse(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(nvrtc, "_compile", refuse)
    assert nvrtc.compile_cuda(source.text, "sm_90") == first
    with pytest.raises(AssertionError, match="compiled again"):
        nvrtc.compile_cuda(source.text, "sm_80")


def test_a_refused_text_is_one_sentence():
    with pytest.raises(ToolchainError, match=r"refuses the kernel: .*error: identifier \"nothing\""):
        nvrtc.compile_cuda('extern "C" __global__ void k() { nothing(); }', "sm_90")
    with pytest.raises(ToolchainError, match="refuses the kernel"):
        nvrtc.compile_cuda('extern "C" __global__ void k() {}', "sm_1")
    large = "__shared__ int b[20000]; b[a[0]] = 1; __syncthreads(); a[1] = b[a[2]];"
    with pytest.raises(ToolchainError, match=r"refuses the kernel: ptxas error   : Entry function 'k' uses too much"):
        nvrtc.compile_cuda(f'extern "C" __global__ void k(int *a) {{ {large} }}', "sm_80")
