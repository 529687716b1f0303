"""The model with thread blocks: its counts against brute force, its terms against their meaning."""

import dataclasses
import itertools

import numpy as np
import pytest

from tilewright.base.constants import WARP
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import TileSizes
from tilewright.costs.facts import facts_of
from tilewright.costs.gpu.fit import SPREADS, LogPoints, calibrate, sample
from tilewright.costs.gpu.terms import (
    TERMS,
    GpuConstants,
    Residency,
    residency,
    thread_numbers,
    whole_fronts,
    whole_tiles,
)
from tilewright.costs.gpu.threads import PARTS, evaluate, make_case
from tilewright.costs.work.threads import bank_conflicts, body, count, distinct_reads
from tilewright.machines.files import load, names
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem

GPU = thread_numbers(load("v100"))
GPUS = [name for name in names() if name != "host" and load(name).kind == "gpu"]


def case_of(name, tiles, shape=None, steps=120, machine="v100", dtype="float32"):
    """Make a case of (height, sizes, threads)."""
    chosen = program(name)
    grid = shape or ((4096, 4096), (256, 256, 256))[chosen.rank - 2]
    facts = facts_of(make_problem(chosen, grid, steps, dtype), cpu=False)
    rank = chosen.rank
    sizes = TileSizes(
        time=np.array([t for t, _, _ in tiles]),
        space=tuple(np.array([s[a] for _, s, _ in tiles]) for a in range(rank)),
        k=np.zeros(len(tiles), dtype=np.int64),
    )
    threads = tuple(np.array([n[a] for _, _, n in tiles]) for a in range(rank))
    return make_case(chosen, sizes, threads, facts)


def test_distinct_reads_by_brute_force():
    for columns, stride in itertools.product(
        [((0,),), ((-1, 0, 1), (0,), (0,)), ((-2, -1, 0, 1, 2), (-1, 1)), ((0, 3),)], [1, 2, 3, 5]
    ):
        found = distinct_reads(columns, stride, 12)
        for points in range(13):
            wanted = sum(len({j * stride + o for j in range(points) for o in column}) for column in columns)
            assert found[points] == wanted, (columns, stride)


@pytest.mark.parametrize("inner", [1, 2, 4, 8, 16, 32, 64])
def test_bank_conflicts_by_brute_force(inner):
    pitches = np.arange(1, 80)
    found = bank_conflicts(pitches, np.full_like(pitches, inner))
    for pitch, most in zip(pitches.tolist(), found.tolist(), strict=True):
        width = min(inner, WARP)
        words = {(lane // width) * pitch + lane % width for lane in range(WARP)} if width < WARP else set(range(WARP))
        banks = [word % 32 for word in words]
        # Lanes of one word are served together, so that only distinct words count.
        assert max(banks.count(bank) for bank in banks) <= most
        if pitch >= width:
            assert max(banks.count(bank) for bank in banks) == most


def test_wavefronts_in_whole_and_in_part_by_brute_force():
    for rows, steps in itertools.product([2, 4, 10, 36], [1, 7, 36, 120]):
        full, part, number = 0, 0.0, 0
        for start in (0, -(rows // 2)):
            for low in range(start, steps, rows):
                inside = min(low + rows, steps) - max(low, 0)
                if inside <= 0:
                    continue
                number += 1
                full += inside == rows
                part += inside / rows if inside < rows else 0.0
        whole, rest, fronts = whole_fronts(steps, np.array([rows]))
        assert (whole[0], fronts[0]) == (full, number), (rows, steps)
        assert rest[0] == pytest.approx(part), (rows, steps)
        assert (whole + rest)[0] * rows == pytest.approx(2 * steps), (rows, steps)


def test_whole_tiles_are_a_share():
    share = whole_tiles((64, 100, 1000), (np.array([4]), np.array([10]), np.array([64])), (1, 1, 1), np.array([5]))
    assert share[0] == pytest.approx((9 * 10 / 100) * (15 * 64 / 1000))
    assert whole_tiles((8, 8), (np.array([4]), np.array([64])), (1, 1), np.array([5]))[0] == 0.0


def test_points_and_reads_of_a_thread_by_brute_force():
    tiles = [(8, (3, 64), (1, 64)), (8, (4, 64), (2, 64)), (12, (5, 64), (3, 32))]
    case = case_of("j2d5pt", tiles)
    for i, (height, (base, width), (first, second)) in enumerate(tiles):
        widths = [base + 2 * min(t, height - 1 - t) for t in range(height)]
        turns = [-(-w // first) for w in widths]
        assert case.work.statements[i] == sum(turns) * (width // second)
        reads = 0
        for turn in turns:
            points = [j * first for j in range(turn)]
            reads += len({p + o for p in points for o in (-1, 0, 1)}) + 2 * turn
        plain = 5 * sum(turns) * (width // second)
        assert case.work.reads[i] == (reads if width == second else plain)
        assert case.work.reads_plain[i] == plain


def test_flags_of_the_code():
    tiles = [(8, (4, 64), (1, 64)), (8, (4, 64), (2, 64)), (8, (4, 64), (3, 64)), (8, (4, 64), (1, 32))]
    work = case_of("j2d5pt", tiles).work
    assert work.straight.tolist() == [True, False, False, False]
    assert work.even.tolist() == [True, True, False, False]
    wide = case_of("j2d9pt", [(8, (4, 64), (4, 64)), (8, (4, 64), (3, 64))]).work
    assert wide.even.tolist() == [True, False]


def test_fused_operations():
    assert body(program("j2d9pt-gol")).arithmetic == 9
    assert body(program("gradient2d")).reads == 5
    assert len(body(program("j3d27pt")).columns) == 9


def test_resident_blocks_by_every_limit():
    tiles = [
        (2, (2, 32), (1, 32)),  # blocks
        (2, (8, 128), (8, 128)),  # threads
        (16, (6, 256), (1, 256)),  # shared memory: 48,048 bytes each
        (16, (8, 64), (3, 64)),  # registers
    ]
    case = case_of("j2d5pt", tiles)
    here = residency(case.work, GPU, case.facts, GpuConstants())
    assert isinstance(here, Residency)
    assert here.blocks[0] == GPU.max_blocks == 32
    assert here.blocks[1] == 1
    assert here.blocks[2] == 98304 // 48048 == 2
    limit = 65536 // (here.registers[3] * 192)
    assert here.blocks[3] == int(limit)
    free = residency(case.work, GPU, case.facts, GpuConstants(), ("registers",))
    assert (free.blocks >= here.blocks).all()


def test_tiles_larger_than_shared_memory_go_through_l1():
    case = case_of("j2d5pt", [(16, (6, 256), (1, 256)), (20, (3, 256), (1, 256))])
    assert evaluate(case, GPU).shared.tolist() == [True, False]


def test_every_gpu_has_a_finite_answer():
    for name, dtype in itertools.product(GPUS, ["float32", "float64"]):
        tiles = [
            (t, (base, width), (first, second))
            for t, base, width, first, second in itertools.product((2, 16), (1, 8), (32, 256), (1, 4), (8, 32))
        ]
        case = case_of("j2d5pt", tiles, machine=name, dtype=dtype)
        terms = evaluate(case, thread_numbers(load(name)))
        assert np.isfinite(terms.seconds).all(), (name, dtype)
        assert (terms.seconds > 0).all(), (name, dtype)
        for part in PARTS:
            assert (getattr(terms, part) >= 0).all(), (name, dtype)
            assert (getattr(terms, part) <= terms.seconds * (1 + 1e-9)).all(), part


def test_no_combination_exceeds_the_sum_of_its_parts():
    case = case_of("heat3d", [(4, (2, 8, 64), (1, 8, 64)), (8, (1, 4, 32), (1, 4, 32))])
    terms = evaluate(case, GPU)
    parts = terms.latency + np.maximum(terms.issue, terms.access) + np.maximum(terms.dram, terms.l2) + terms.launch
    assert (terms.seconds <= parts * (1 + 1e-9)).all()


@pytest.mark.parametrize("term", TERMS)
def test_every_term_can_be_switched_off(term):
    tiles = [(16, (6, 256), (1, 256)), (20, (8, 512), (3, 64)), (8, (16, 55), (16, 2)), (12, (5, 1024), (1, 32))]
    boxes = case_of("heat3d", [(8, (1, 16, 64), (1, 16, 64))], shape=(512, 512, 512))
    cases = (case_of("j2d5pt", tiles, shape=(5000, 5000)), boxes)
    assert any((evaluate(case, GPU, off=(term,)).seconds != evaluate(case, GPU).seconds).any() for case in cases)


def l2_of_widths(extent, **how):
    """Seconds of L2 for boxes of 16 rows, 32 and 128 words wide, of which none lives in shared memory."""
    tiles = [(8, (1, 16, width), (1, 16, 32)) for width in (32, 128)]
    return evaluate(case_of("j3d7pt", tiles, shape=(512, 512, extent)), GPU, **how).l2


def test_rows_a_power_of_two_apart_meet_in_sets_of_l1():
    """Rows of 512 words begin in every sixteenth set only, which short rows suffer from most; rows of 500 in any."""
    met, spread = (l2_of_widths(extent) / l2_of_widths(extent, off=("l1_sets",)) for extent in (512, 500))
    assert met[0] > 1.1
    assert met[0] > met[1]
    np.testing.assert_allclose(spread, 1.0)


def test_rows_further_apart_than_a_way_lie_in_sets_by_chance():
    """What L2 sends again is what sets lose into which the lines of one step's rows are thrown at random."""
    tiles = [(16, (base, 512), (1, 512)) for base in (2, 6, 10, 16)]
    case = case_of("j2d5pt", tiles, shape=(16384, 16384))
    known, ways = GpuConstants(near_misses=0.0), 4
    assert not evaluate(case, GPU).shared.any()
    sets = int(known.l1_share * GPU.unified_bytes / 128 / ways)
    draw, lost = np.random.default_rng(0), []
    for rows in case.work.held_rows.tolist():
        lines = int(rows * (512 + 31) * 4 / 128)
        company = [np.bincount(draw.integers(sets, size=lines), minlength=sets) for _ in range(400)]
        # A line is lost where four others or more have fallen into the set that it falls into.
        lost.append(np.mean([(others >= ways).mean() for others in company]))
    none, full = (evaluate(case, GPU, dataclasses.replace(known, l1_share=share)).l2 for share in (1e9, 1e-9))
    assert lost == sorted(lost)
    assert lost[0] < 0.5 < lost[-1]
    np.testing.assert_allclose((evaluate(case, GPU, known).l2 - none) / (full - none), lost, atol=0.02)


def test_issue_and_memory_of_blocks_in_step_add_up():
    tiles = [(16, (6, 256), (1, 256)), (12, (8, 128), (4, 128)), (20, (8, 512), (2, 512)), (8, (4, 64), (2, 64))]
    case = case_of("j2d5pt", tiles, shape=(16384, 16384))
    terms = evaluate(case, GPU, off=("latency",))
    both = np.maximum(terms.issue, terms.access) + np.maximum(terms.dram, terms.l2) + terms.launch
    np.testing.assert_allclose(terms.seconds, both, rtol=1e-9)
    alone = evaluate(case, GPU, GpuConstants(overlap=40.0))
    np.testing.assert_allclose(alone.seconds, np.maximum(alone.latency + alone.launch, both), rtol=0.03)


def test_warps_of_a_block_share_what_a_scheduler_fetches_and_blocks_do_not():
    """One kind of code: with half as long rows twice as many blocks run it, each of which fetches all of it."""
    tiles = [(16, (4, width), (1, width)) for width in (512, 256, 128, 64, 32)]
    case = case_of("j2d5pt", tiles, shape=(2**18, 16384))
    known = GpuConstants(issue=1e-9, fetch_cycles=0.0)
    long = dataclasses.replace(known, copy_slots=0.0)
    blocks = 1.0 * case.facts.cells / case.sizes.inner
    fetched = evaluate(case, GPU, long, off=("overflow", "boundary_tiles", "partial_waves")).issue / blocks
    np.testing.assert_allclose(fetched[1:3], fetched[0], rtol=0.02)  # every scheduler has a warp of the block
    np.testing.assert_allclose(fetched[3:] / fetched[2], (0.5, 0.25), rtol=0.02)
    held = dataclasses.replace(known, near_code_slots=1e6)
    assert (evaluate(case, GPU, held).issue < 1e-6 * evaluate(case, GPU).issue).all()


@pytest.mark.parametrize(("name", "read", "written"), [("j3d7pt", 1, 1), ("wave3d", 2, 1)])
def test_rows_of_a_step_by_brute_force(name, read, written):
    case = case_of(name, [(6, (2, 5, 32), (1, 5, 32))])
    reach = case.facts.slopes[0]
    widths = [2 + 2 * reach * min(row, 5 - row) for row in range(6)]
    loaded = np.mean([(width + 2 * reach) * (5 + 2 * reach) for width in widths]) * read
    np.testing.assert_allclose(case.work.step_rows, loaded)
    np.testing.assert_allclose(case.work.held_rows, loaded + np.mean(widths) * 5 * written)


@pytest.mark.parametrize(("name", "rows", "kept"), [("star3d1r", 5, 3), ("star3d2r", 9, 5), ("j3d27pt", 9, 3)])
def test_rows_that_other_points_have_read(name, rows, kept):
    """Of the rows of a point one is new; a thread that walks along the hexagon's axis keeps a column in registers."""
    case = case_of(name, [(4, (2, 5, 32), (1, 5, 32)), (4, (2, 10, 32), (1, 5, 32))], shape=(512, 512, 512))
    np.testing.assert_array_equal(case.work.again, (kept - 1, rows - 1))


def test_rows_between_two_uses_of_a_step_by_brute_force():
    """Planes z - 1, z and z + 1 with a halo along the middle axis, and the plane that is written."""
    case = case_of("j3d7pt", [(8, (1, size, 32), (1, size, 32)) for size in (8, 16, 32)], shape=(512, 512, 512))
    counted = [len({(z, y) for z in range(3) for y in range(size + 2)}) + size for size in (8, 16, 32)]
    np.testing.assert_array_equal(case.work.near_rows, counted)


def test_boxes_of_many_rows_lose_even_what_a_step_uses_at_once():
    """8 rows of 512 words apart are held between two uses, 16 in part, 32 hardly at all: L2 pays for it."""
    tiles = [(8, (1, size, 1024 // size), (1, size, 1024 // size)) for size in (8, 16, 32)]
    case = case_of("j3d7pt", tiles, shape=(512, 512, 512))
    dearer = evaluate(case, GPU).l2 / evaluate(case, GPU, off=("near_rows",)).l2
    assert 1.0 <= dearer[0] < 1.03 < dearer[1] < dearer[2]


def test_rows_through_l1_cost_their_own_sectors_and_copies_what_they_wait_for():
    """What a copied segment costs beyond its own words moves no tile that is not copied."""
    case = case_of("j3d7pt", [(4, (1, 2, 32), (1, 2, 32)), (8, (1, 16, 64), (1, 16, 64))], shape=(512, 512, 512))
    plain, cut = (evaluate(case, GPU, GpuConstants(segment_words=words)) for words in (7.0, 37.0))
    assert plain.shared.tolist() == [True, False]
    assert cut.dram[0] > plain.dram[0]
    assert cut.dram[1] == plain.dram[1]


def test_an_unknown_term_is_refused():
    with pytest.raises(UsageError, match="'magic'"):
        evaluate(case_of("j2d5pt", [(16, (6, 256), (1, 256))]), GPU, off=("magic",))


def test_twice_the_bandwidth_and_the_clock_is_twice_the_speed():
    case = case_of("j2d9pt-gol", [(8, (4, 128), (1, 128)), (20, (8, 512), (2, 64))], steps=1200)
    fast = GPU.at(
        clock=2 * GPU.clock,
        peak_dram_bandwidth=2 * GPU.peak_dram_bandwidth,
        l2_bandwidth=2 * GPU.l2_bandwidth,
        launch_seconds=GPU.launch_seconds / 2,
    )
    np.testing.assert_allclose(evaluate(case, fast).seconds * 2, evaluate(case, GPU).seconds, rtol=1e-12)


def test_a_cpu_and_a_hexagonal_tile_are_refused():
    from tilewright.machines.defaults import CpuDescription, host_machine

    cpu = CpuDescription(cores=2, simd_bits=256, l1_bytes=32768, l2_bytes=2**20, l3_bytes=0, clock_hz=2e9)
    with pytest.raises(UsageError, match="for GPUs"):
        thread_numbers(host_machine(cpu))
    facts = facts_of(make_problem(program("jacobi1d"), (1000,), 10), cpu=False)
    one = np.array([4])
    with pytest.raises(UsageError, match="hybrid"):
        make_case(program("jacobi1d"), TileSizes(time=one, space=(one,), k=0 * one), (one,), facts)


def _many():
    choices = itertools.product((4, 8, 16, 24), (1, 3, 8), (64, 128, 256), (1, 2, 4), (32, 64))
    return case_of("j2d5pt", [(t, (b, w), (f, s)) for t, b, w, f, s in choices])


def test_a_sample_is_seeded_distinct_and_mostly_promising():
    predicted = np.random.default_rng(0).random(500)
    first = sample(predicted, 10, 3)
    assert first.tolist() == sample(predicted, 10, 3).tolist()
    assert first.tolist() != sample(predicted, 10, 4).tolist()
    assert len(set(first.tolist())) == 10
    assert (np.argsort(np.argsort(predicted))[first] < 25).sum() == 6
    assert len(sample(predicted[:4], 10, 0)) == 4
    with pytest.raises(UsageError):
        sample(predicted, -1, 0)


def test_calibration_without_points_keeps_the_prior():
    assert calibrate([], GPU).constants == GpuConstants()


def test_calibration_finds_constants_that_made_the_times():
    case = _many()
    truth = GpuConstants(guarded_copy_slots=90.0, guarded_slots=24.0, dram_share=0.8)
    times = evaluate(case, GPU, truth).seconds
    found = calibrate([LogPoints(case=case, seconds=times)], GPU).constants
    before = np.log(evaluate(case, GPU).seconds / times).std()
    after = np.log(evaluate(case, GPU, found).seconds / times).std()
    assert after < 0.5 * before
    assert found.guarded_copy_slots > GpuConstants().guarded_copy_slots
    assert found.dram_share < GpuConstants().dram_share


def test_fast_points_count_most_where_asked_to():
    case = _many()
    plain = evaluate(case, GPU).seconds
    times = np.where(plain <= np.quantile(plain, 0.1), 0.7 * plain, plain)
    errors = [
        abs(np.log(evaluate(case, GPU, found.constants).seconds * found.scales[0] / times)[plain.argmin()])
        for found in (calibrate([LogPoints(case=case, seconds=times)], GPU, fastest=power) for power in (0.0, 10.0))
    ]
    assert errors[1] < errors[0]


def test_a_calibration_changes_what_it_may_only():
    case = _many()
    times = 1.3 * evaluate(case, GPU).seconds
    found = calibrate([LogPoints(case=case, seconds=times)], GPU, free={"issue": 0.3}).constants
    assert found == dataclasses.replace(GpuConstants(), issue=found.issue)
    assert found.issue > GpuConstants().issue


def test_blocks_left_over_share_the_memory_among_themselves():
    """Whole waves take the same time each; a last wave of few blocks takes less than one of many."""
    case = case_of("j2d5pt", [(16, (6, 256), (1, 256))], shape=(16384, 16384))
    pitch = 2 * 6 + 16 - 2
    times = []
    for blocks in (160, 168, 240, 320):
        part = case_of("j2d5pt", [(16, (6, 256), (1, 256))], shape=(blocks * pitch - pitch // 2, 16384))
        times.append(evaluate(part, GPU).seconds[0])
    assert case.work.threads[0] == 256
    assert times[0] < times[1] < times[2] < times[3]
    assert times[3] == pytest.approx(2 * times[0], rel=0.02)


def test_instructions_beyond_the_cache_are_waited_for():
    short, long = [(8, (4, 256), (1, 256))], [(32, (16, 32), (1, 32))]
    for tiles, grows in ((short, False), (long, True)):
        case = case_of("j2d5pt", tiles)
        known = GpuConstants(near_code_slots=1e6)
        times = [evaluate(case, GPU, known, off=off).issue[0] for off in ((), ("instruction_cache",))]
        assert (times[0] > times[1]) == grows


def test_calibration_keeps_the_fixed_constants_and_the_shares_below_one():
    case = _many()
    times = evaluate(case, GPU).seconds * np.random.default_rng(1).lognormal(-0.5, 0.3, len(case.work.rows))
    found = calibrate([LogPoints(case=case, seconds=times)], GPU)
    for name in (field.name for field in dataclasses.fields(GpuConstants)):
        if name not in SPREADS:
            assert getattr(found.constants, name) == getattr(GpuConstants(), name)
    assert found.constants.dram_share <= 1.0
    assert found.points == len(times)


def test_counting_does_not_depend_on_the_company():
    tiles = [(8, (3, 64), (1, 64)), (36, (32, 512), (8, 32)), (2, (1, 32), (1, 32))]
    together = case_of("j2d9pt", tiles[:2]).work
    alone = case_of("j2d9pt", tiles[:1]).work
    for field in type(alone).__slots__:
        assert getattr(alone, field)[0] == getattr(together, field)[0]


def test_count_covers_every_point_once_for_one_thread_shape():
    case = case_of("j2d5pt", [(8, (3, 64), (1, 64))])
    assert count(program("j2d5pt"), case.sizes, case.threads, case.facts).points[0] == 64 * 4 * (2 * 3 + 6)


@pytest.mark.parametrize(("name", "factor"), [("issue", 5.0), ("latency", 5.0), ("dram_share", 0.2)])
def test_calibration_finds_a_constant_that_is_far_from_where_it_starts(name, factor):
    """The first step goes too far: it is taken back, and shorter ones are tried."""
    case, start = _many(), GpuConstants()
    truth = dataclasses.replace(start, **{name: factor * getattr(start, name)})
    points = LogPoints(case=case, seconds=evaluate(case, GPU, truth).seconds)
    found = calibrate([points], GPU, free={name: 10.0}, factors=1e-3).constants
    assert getattr(found, name) == pytest.approx(getattr(truth, name), rel=1e-3)


def test_all_that_is_issued_takes_as_many_slots_as_its_constant_says():
    case = _many()
    twice = dataclasses.replace(GpuConstants(), issue=2 * GpuConstants().issue)
    one, two = (evaluate(case, GPU, known, off=("instruction_cache",)) for known in (GpuConstants(), twice))
    np.testing.assert_allclose(two.issue, 2 * one.issue, rtol=1e-12)
    np.testing.assert_array_equal(two.latency, one.latency)
