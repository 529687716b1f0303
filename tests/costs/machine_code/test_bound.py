"""The bound by machine code: a listing that is kept here, and texts that the installed compiler translates."""

from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.base.errors import UsageError
from tilewright.codegen.gpu.emit import emit_device
from tilewright.costs.machine_code.bound import (
    LaunchWork,
    Needs,
    Round,
    Timing,
    analyse,
    bound,
    cycles,
    followed,
    resident_blocks,
    round_of,
    work,
)
from tilewright.costs.machine_code.listing import (
    PIPES,
    SCOREBOARDS,
    Code,
    Instruction,
    WarpPath,
    computing,
    pipe_of,
    read,
    steady,
    with_tests,
)
from tilewright.costs.time import predict
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import nvrtc
from tilewright.schedules.tiling import parse
from tilewright.tuning.choice import gpu_defaults
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

SMOOTH = Path(__file__).with_name("data") / "smooth.sass"
"""A kernel that averages rows: each thread brings four cells, and hands the outer two to its neighbours on chip."""


@pytest.fixture
def smooth():
    return read(SMOOTH.read_text())["smooth"]


def test_the_steady_loop_is_found_and_counted(smooth):
    path = steady(smooth)
    assert path.loops
    assert len(path.instructions) == path.size == 25
    counts = {"fp32": 12, "lds": 2, "sts": 2, "ldg": 1, "stg": 1, "barrier": 2, "control": 1, "alu": 1, "imad": 2}
    assert {pipe: path.count(pipe) for pipe in counts} == counts
    assert path.count("uniform") == 1
    assert path.taken == (*(False,) * 24, True)
    assert path.instructions[0].name == "LDG.E.128"
    assert path.instructions[0].width == 4
    assert (path.instructions[0].result, path.instructions[4].waits) == (2, 1 << 2)


def test_a_loop_around_two_forms_of_a_loop_is_not_the_steady_one():
    """The form without tests is: fewer instructions for the same arithmetic, though all three have arithmetic."""
    names = ["IADD3", "ISETP", "FFMA", "FFMA", "BRA", "FFMA", "FFMA", "BRA", "BRA", "EXIT"]
    targets = {4: "tested", 7: "steady", 8: "around"}
    instructions = tuple(
        Instruction(
            name=name,
            pipe=pipe_of(name),
            target=targets.get(place, ""),
            falls=name != "EXIT",
            stall=1,
            result=7,
            operands=7,
            waits=0,
            width=1.0,
        )
        for place, name in enumerate(names)
    )
    path = steady(Code(instructions, {"around": 0, "tested": 1, "steady": 5}))
    assert path.instructions == instructions[5:8]
    assert path.loops
    other, rounds = with_tests(Code(instructions, {"around": 0, "tested": 1, "steady": 5}))
    assert other.instructions == instructions[1:5]
    assert rounds == path.count("fp32") / other.count("fp32")


def test_a_kernel_of_one_loop_has_no_other_form(smooth):
    assert [path.instructions for path in computing(smooth)] == [steady(smooth).instructions]
    assert with_tests(smooth) is None


def test_bounds_of_a_multiprocessor(smooth):
    """As the review's own script found for the same listing, with 20 registers and 528 bytes on chip."""
    found = analyse(smooth, Needs(threads=64, registers=20, shared_bytes=528), Round(updates=4), load("h200"))
    assert (found.blocks, found.warps) == (32, 64)
    assert found.instructions == 6.25
    expected = {"issue": 20.48, "fp32": 32.0, "alu": 256.0, "shared": 10.667, "control": 256.0, "latency": 9.41}
    assert {name: found.rates[name] for name in expected} == pytest.approx(expected, rel=0.03)


def test_a_bound_counts_geometry_waves_and_memory(smooth):
    h200 = load("h200")
    found = analyse(smooth, Needs(threads=64, registers=20, shared_bytes=528), Round(updates=4), h200)
    asked = LaunchWork(useful=0.5, tiles=132 * 32 + 1, dram_bytes=0.1, launches=1)
    limit = bound(found, asked, h200)
    assert limit.waves == pytest.approx(32 / 33, rel=1e-3)  # a block more is a block more where many are resident
    assert limit.binding == "latency"
    assert limit.updates == pytest.approx(found.rates["latency"] * 132 * 1.98e9 * 0.5 * limit.waves)
    assert limit.instructions == 12.5
    slow = bound(found, replace(asked, dram_bytes=1e3), h200)
    assert (slow.binding, slow.updates) == ("dram", h200.dram_bandwidth.value / 1e3)


def test_a_bound_counts_requests_for_what_is_written(smooth):
    """Word by word eight for a sector; the code stores four words at once, so that it makes two."""
    h200 = load("h200")
    found = analyse(smooth, Needs(threads=64, registers=20, shared_bytes=528), Round(updates=4), h200)
    assert found.stored == 4.0
    asked = LaunchWork(useful=1.0, tiles=132, dram_bytes=9.0, launches=1, stored_bytes=4.0, requests=8.0)
    limit = bound(found, asked, h200)
    assert limit.requests == 2.0
    assert limit.l2 == pytest.approx(h200.l2_bandwidth.value / (9.0 + 4.0))
    assert bound(found, replace(asked, requests=80.0), h200).binding == "l2"


def test_an_access_to_memory_takes_a_cycle_per_line_of_its_warp(smooth):
    """Of cells that lie 8 words apart a warp touches 8 lines, whatever it moves; what lies on chip is not concerned."""
    path = steady(smooth)
    for loaded, stored in ((1, 1), (4, 8), (8, 4), (64, 2)):
        least = {"ldg": min(loaded, 32), "stg": stored}
        widths = zip(path.instructions, path.spread(loaded, stored).wavefronts, strict=True)
        assert all(each == max(one.width, least.get(one.pipe, 1)) for one, each in widths)
    needs = Needs(threads=64, registers=20, shared_bytes=528)
    near, far = (analyse(smooth, needs, Round(updates=4, apart=(apart, apart)), load("h200")) for apart in (4, 16))
    assert far.rates["shared"] < near.rates["shared"]
    assert far.rates["latency"] <= near.rates["latency"]


def test_the_last_wave_takes_what_its_blocks_take_by_themselves(smooth):
    """Of two resident blocks one is left: it has the multiprocessor for itself, and waits more than half as long."""
    h200 = load("h200")
    found = analyse(smooth, Needs(threads=64, registers=20, shared_bytes=100_000), Round(updates=4), h200)
    assert (found.blocks, len(found.fewer)) == (2, 1)
    alone = found.fewer[0] / found.rates["latency"]
    assert 0.4 < alone < 0.9
    asked = LaunchWork(useful=1.0, tiles=132 * 2 + 1, dram_bytes=0.1, launches=1)
    assert bound(found, asked, h200).waves == pytest.approx((2 + 1 / 132) / (2 + 1 / alone))
    assert bound(found, replace(asked, tiles=132 * 2), h200).waves == 1.0


def test_every_block_takes_a_kibibyte_more():
    """The review's case: of 32 KiB seven blocks would fit, six do."""
    h200 = load("h200")
    blocks = [resident_blocks(Needs(threads=64, registers=32, shared_bytes=kib * 1024), h200) for kib in (32, 31, 228)]
    assert blocks == [6, 7, 0]
    assert resident_blocks(Needs(threads=128, registers=255, shared_bytes=0), h200) == 2


def test_a_listing_without_encodings_is_refused():
    with pytest.raises(UsageError, match="nvdisasm -c -hex"):
        read(".text.smooth:\n        /*0000*/                   EXIT ;\n")


TOOLS = pytest.mark.skipif(not (nvrtc.available() and nvrtc._programs()), reason="needs NVRTC and nvdisasm")


def compiled(problem, schedule):
    """The code of a schedule's first kernel, and what its blocks need."""
    source = emit_device(problem, schedule, "cuda")
    code, kernel = nvrtc.compile_cuda(source.text, "sm_90"), source.kernels[0]
    needs = Needs(threads=kernel.threads, registers=code.resources.registers, shared_bytes=source.shared_bytes)
    return read(nvrtc.disassemble(code.cubin))[kernel.entry], needs


@TOOLS
@pytest.mark.parametrize(
    ("name", "shape", "tile", "per_update"),
    [
        ("j1d3pt", (2**24,), "hexagonal:t=8,s=2048", {"fp32": 3, "sts": 1}),
        ("j2d5pt", (4096, 4096), "hybrid:t=8,s=6x64,threads=1x64", {"fp32": 5, "sts": 1}),
        ("j3d7pt", (256,) * 3, "hybrid:t=4,s=4x8x32,threads=1x8x32", {"fp32": 7, "sts": 1}),
    ],
)
def test_rows_of_prisms_are_put_together_from_their_loops(name, shape, tile, per_update, monkeypatch, tmp_path):
    """Every cell is computed and stored on chip, each once, beside what a row's share of the loads brings."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    h200, problem = load("h200"), make_problem(program(name), shape, 64)
    schedule = gpu_schedule(problem, parse(tile))
    each = round_of(problem, schedule)
    found = analyse(*compiled(problem, schedule), each, h200)
    assert found.pipes["fp32"] == pytest.approx(per_update["fp32"], rel=0.35)  # of rounds a row has a whole number
    loads = found.pipes.get("ldg", 0.0)
    assert loads == pytest.approx(each.row.loaded / each.updates, abs=1.1 / each.updates)
    assert found.pipes["sts"] == pytest.approx(found.pipes["fp32"] / per_update["fp32"] + loads, rel=0.01)
    assert found.pipes["barrier"] * each.updates == pytest.approx(1.0)
    assert bound(found, work(problem, schedule), h200).updates > 0


@TOOLS
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("j1d3pt", "float32"),
        ("star1d4r", "float64"),
        ("j2d5pt", "float32"),
        *(
            pytest.param(name, dtype, marks=pytest.mark.stress)
            for name in ("jacobi1d", "box1d2r", "wave3d", "j3d7pt", "j3d27pt", "star2d2r", "fdtd2d", "gradient2d")
            for dtype in ("float32", "float64")
        ),
    ],
)
def test_no_choice_is_predicted_to_be_faster_than_its_machine_code(name, dtype, monkeypatch, tmp_path):
    """Boxes in float64 come closest: the prediction is of all launches, the bound of the loop without tests."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    h200, known = load("h200"), program(name)
    problem = make_problem(known, {1: (2**26,), 2: (8192, 8192), 3: (512, 512, 512)}[known.rank], 1000, dtype)
    tiling = gpu_defaults(problem, h200)[0].tiling
    schedule = gpu_schedule(problem, tiling)
    small = replace(problem, shape=(64,) * known.rank, steps=2)
    found = analyse(*compiled(small, schedule), round_of(problem, schedule), h200)
    limit = bound(found, work(problem, schedule), h200)
    assert predict(problem, tiling, h200).gcells_per_second <= limit.updates / 1e9 / (1.0 if known.rank == 1 else 0.95)


@TOOLS
@pytest.mark.parametrize("boundary", ["fixed", "constant:0.5", "nearest"])
@pytest.mark.parametrize(
    ("name", "tile"),
    [("j2d5pt", "streaming:t=10,s=228x746,threads=1x128"), ("star2d2r", "streaming:t=5,s=171x746,threads=1x128")],
)
def test_constants_at_edges_are_no_arithmetic_of_the_steady_loop(name, tile, boundary, monkeypatch, tmp_path):
    """Loops that compare with a constant have more of it than the steady one; a round has as many barriers."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    problem = make_problem(program(name), (4096, 4096), 8, "float32", boundary)
    schedule = gpu_schedule(problem, parse(tile))
    listed, _ = compiled(problem, schedule)
    arithmetic, updates = {"j2d5pt": 5, "star2d2r": 9}[name], round_of(problem, schedule).updates
    assert steady(listed).count("fp32") == arithmetic * updates
    tested, rounds = with_tests(listed)
    assert rounds == 1.0
    assert tested.count("fp32") >= arithmetic * updates
    assert len(tested.instructions) > len(steady(listed).instructions)


@TOOLS
@pytest.mark.parametrize("tile", ["none", "streaming:t=2,s=32x58,threads=1x64"])
def test_generated_kernels_are_bounded(tile, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    h200, problem = load("h200"), make_problem(program("j2d5pt"), (4096, 4096), 8)
    schedule = gpu_schedule(problem, parse(tile))
    listed, needs = compiled(problem, schedule)
    each = round_of(problem, schedule)
    found = analyse(listed, needs, each, h200)
    assert found.pipes["fp32"] == pytest.approx(5.0, rel=0.01)  # its own arithmetic: what is counted is its loop
    other = with_tests(listed)
    assert (other is None) == (tile == "none")
    if other:  # the loop of tiles at edges has the same arithmetic and more besides
        slow = followed(other[0], needs, replace(each, updates=each.updates / other[1]), h200)
        assert slow.pipes["fp32"] == pytest.approx(5.0, rel=0.01)
        assert slow.instructions > found.instructions
    limit = bound(found, work(problem, schedule), h200)
    assert 0.3 < limit.useful <= 1.0
    assert limit.updates <= min(found.rates.values()) * 132 * 1.98e9


NONE = SCOREBOARDS
"""No scoreboard."""


def path(*pipes, result=NONE, operands=NONE, waits=0):
    """A loop of an instruction per pipe; the last one may wait for the first one's result, or until it has read."""
    last = len(pipes) - 1
    every = tuple(
        Instruction(
            name=pipe,
            pipe=pipe,
            target="",
            falls=True,
            stall=1,
            result=result if place == 0 else NONE,
            operands=operands if place == 0 else NONE,
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


def test_a_register_is_written_once_a_store_has_read_it():
    """A cycle to move it, eight until its operands are read, and one for what writes them; alone it takes two."""
    assert cycles(path("stg", "fp32", operands=3, waits=1 << 3), timing(), 1, 1, 20) == 10.0
    assert cycles(path("stg", "fp32"), timing(), 1, 1, 20) == 2.0


def test_a_result_is_waited_for_until_it_is_there():
    """A cycle to move it, 300.5 until it is there, and a whole one to use it; other warps' results come meanwhile."""
    read = path("ldg", "fp32", result=2, waits=1 << 2)
    assert cycles(read, timing(ldg=300.5), 1, 1, 20) == 303.0
    assert 303.0 < cycles(read, timing(ldg=300.5), 8, 1, 20) < 311.0
