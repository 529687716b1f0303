"""What an untuned run takes promises no more than 5 % above the best of its space: stencils, tables and alignments.

Stencils on GPUs are in ``test_gpu_default.py``. On a CPU a stencil's families are compared for a whole run: the
kernel's predicted seconds, times the margins of families whose models are less certain, and the copies of the caller's
arrays (:func:`tilewright.costs.time.run_seconds`). The best is the least of that over every point that ``select``
enumerates, of every legal family. Without margins and copies the default may lie further from the least prediction, by
the product of the margins at most. Where a grid wraps, blocks of steps on an extended grid are compared as ``predict``
does, by their predicted seconds.

Tables and alignments have one family. Their best is that of the grid of sizes, and of a denser grid, whose sizes grow
by a sixth. These are predictions on both sides: nothing is said here about how well a model predicts.
"""

import dataclasses
import itertools
import zlib

import numpy as np
import pytest
from tests.sampling import some

from tilewright.base.errors import UsageError
from tilewright.base.intmath import round_up
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.costs.time import copy_seconds, run_seconds
from tilewright.machines import files
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import Legal
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.choice import choose_blocks, choose_tiling
from tilewright.tuning.ranking import families_of
from tilewright.tuning.spaces import space
from tilewright.verbs.predict import predict, select
from tilewright.workloads.tables import alignment_costs as alignment
from tilewright.workloads.tables import costs as orthogonal
from tilewright.workloads.tables.alignment_costs import AlignmentCase, alignment_default, alignment_tiles
from tilewright.workloads.tables.catalogue import names as recurrence_names
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.orthogonal import check_table, complete_table
from tilewright.workloads.tables.recurrence import trace_recurrence
from tilewright.workloads.tables.schedule import cut_for_threads, table_default, with_threads

HOST = host_machine(
    CpuDescription(cores=2, simd_bits=512, l1_bytes=2**15, l2_bytes=2**20, l3_bytes=2**25, clock_hz=2.6e9)
)
MANY = host_machine(
    CpuDescription(cores=16, simd_bits=256, l1_bytes=2**15, l2_bytes=2**19, l3_bytes=2**25, clock_hz=3e9)
)
MACHINES = {"host": HOST, "many": MANY, **{name: files.load(name) for name in ("h100", "v100", "gtx980")}}
FAR = 1.05

SHAPES = {
    "small": {1: (4096,), 2: (128, 192), 3: (40, 48, 64)},
    "large": {1: (2**22,), 2: (2048, 2048), 3: (192, 192, 192)},
}
STEPS = {"small": 10, "large": 100}
BOUNDARIES = ("fixed", "reflect", "constant", "wrap")


def stencils():
    """Every stencil of the catalogue, every other one large too; boundaries, element types and machines take turns."""
    known = {}
    for name in names():
        one = program(name)
        known.setdefault((one.rank, one.statements, one.fields), name)
    for place, name in enumerate(sorted(known.values())):
        for turn, size in enumerate(SHAPES if place % 2 else ("small",)):
            boundary = BOUNDARIES[(place + turn) % len(BOUNDARIES)]
            dtype = ("float32", "float64")[place // 4 % 2]
            yield name, size, boundary, dtype, (HOST, MANY)[place // 2 % 2]


def problem_of(name, size, boundary, dtype):
    known = program(name)
    try:
        return make_problem(known, SHAPES[size][known.rank], STEPS[size], dtype, boundary)
    except UsageError:  # a boundary that this program cannot have
        return make_problem(known, SHAPES[size][known.rank], STEPS[size], dtype)


def least(problem, setting, expected):
    """The least of what is expected of every point that ``select`` enumerates."""
    found = []
    for family in families_of(problem, setting, "exact"):
        pieces = [time_model.sizes_of(NONE, setting)] if family == "none" else space.parts(setting, family=family)
        for piece in pieces:
            seconds = time_model.evaluate(family, piece, setting).seconds
            found.append(float(np.min(expected(family, seconds), initial=np.inf)))
    return min(found)


@pytest.mark.parametrize("case", some(sorted(stencils(), key=lambda case: zlib.crc32(str(case[:4]).encode())), 18))
def test_stencils_on_cpus(case):
    *what, machine = case
    problem = problem_of(*what)
    setting = make_setting(problem, machine)
    best = least(problem, setting, lambda _, seconds: seconds)
    blocks = choose_blocks(problem, machine)
    if blocks is not None:
        assert blocks.costs.seconds <= FAR * best
        return
    tiling = choose_tiling(problem, machine)
    seconds = time_model.predict(problem, tiling, machine).seconds
    whole = least(problem, setting, lambda family, each: run_seconds(family, each, setting))
    assert run_seconds(tiling.family, seconds, setting) <= FAR * whole
    margins = setting.rates.numbers.strategy_margin * setting.rates.numbers.uncalibrated_margin
    assert seconds <= margins * (best + copy_seconds(setting))


def test_two_steps_are_swept_on_a_cpu_that_nobody_has_calibrated():
    """The one pass over memory that they could save is no more than the guessed speeds may be off."""
    problem = make_problem(program("j2d5pt"), (4096, 4096), 2)
    assert choose_tiling(problem, HOST) == NONE
    assert choose_tiling(dataclasses.replace(problem, steps=5), HOST).time > 1
    known = dataclasses.replace(HOST.dram_bandwidth, source="measured")
    assert choose_tiling(problem, dataclasses.replace(HOST, dram_bandwidth=known)).time > 1


def far(d, a, b):
    return d[-2, -3] + a[0] * b[0]


def beside(d, c):
    return d[0, -1] + c[0, 0]


RECURRENCES = (
    *map(recurrence_named, recurrence_names()),
    trace_recurrence(far, rows=("a",), columns=("b",), outside=0),
    trace_recurrence(beside, outside=0),
)
"""The built-in recurrences, one with a longer reach, and one without a reach to the rows above."""


LARGE = {("smith_waterman", "host"), ("lcs", "many"), ("edit_distance", "h100"), ("monotone_paths", "gtx980")}
"""Large tables that are held against the denser grid too."""


def growing(start, end, step=1):
    """Sizes from start to end that grow by a sixth, multiples of a step."""
    found, size = {start, max(step, end // step * step)}, float(start)
    while size < end:
        found.add(max(step, round(size / step) * step))
        size *= 7 / 6
    return sorted(found)


def denser(case):
    """Tilings of a denser grid; on a GPU with the sub-tiles that the model's own grid has."""
    (m, n), up = case.shape, case.program.reach[0]
    subs = {each.sub[0] for each, _ in orthogonal.times(case)} if not case.cpu else set()
    for s in growing(32, min(2 * n, 4096), 32):
        for sub in {s // case.lanes} if case.cpu else {each for each in subs if s % each == 0}:
            for t in growing(max(16, up), min(m, 2048)):
                yield Tiling(family="orthogonal", time=t, space=(s,), sub=(sub,))


def tables():
    """Every recurrence on every machine: by default each of both in turn, and what is held against the denser grid."""
    for (i, known), (j, name) in itertools.product(enumerate(RECURRENCES), enumerate(MACHINES)):
        chosen = (known.name, name) in LARGE or i % len(MACHINES) == j
        yield pytest.param(known, name, marks=() if chosen else pytest.mark.stress, id=f"{known.name}-{name}")


@pytest.mark.parametrize(("known", "name"), list(tables()))
def test_tables(known, name):
    for shape, dtype in ((300, 200), "int32"), ((3000, 5000), "int32"), ((20000, 20000), "float64"):
        case = orthogonal.make_case(known, shape, dtype, MACHINES[name])
        tiling = table_default(known, shape, dtype, MACHINES[name])
        assert isinstance(check_table(known, tiling), Legal)
        assert complete_table(known, tiling) == tiling
        seconds = orthogonal.predict(case, tiling).seconds
        assert seconds == min(each for _, each in orthogonal.times(case))
        if shape == (300, 200) or (shape == (3000, 5000) and (known.name, name) in LARGE):
            assert seconds <= FAR * min(each for _, each in orthogonal.times(case, denser(case)))


def test_predict_takes_the_same_tile_as_a_run():
    for name, machine in (("lcs", HOST), ("smith_waterman", MACHINES["v100"])):
        chosen = table_default(recurrence_named(name), (500, 700), "int32", machine)
        assert predict(name, shape=(500, 700), machine=machine).tiling == chosen
        assert select(name, shape=(500, 700), machine=machine, top=1)[0].tiling == chosen


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("machine", [HOST, MANY, with_threads(HOST, 1)])
def test_alignments(machine, traced):
    for lengths, letters in itertools.product(
        ((70, 120), (300, 200), (200, 5000), (3000, 2500), (10000, 10000), (100000, 100000)), (4, 24)
    ):
        case = AlignmentCase(lengths=lengths, letters=letters, traced=traced, machine=machine)
        tile = alignment_default(lengths, letters, machine, traced=traced)
        seconds = alignment.times(case, *tile).seconds
        assert seconds == min(alignment.times(case, *each).seconds for each in alignment_tiles(case))
        room = max(alignment.kept_bytes(case, *each) for each in alignment_tiles(case))
        m, n = lengths
        for t in growing(min(8, m), m):
            for s in growing(64, round_up(n, 64), 64):
                if not traced or alignment.kept_bytes(case, t, s) <= room:
                    assert seconds <= FAR * alignment.times(case, t, s).seconds, (lengths, letters, tile, t, s)


@pytest.mark.parametrize("traced", [False, True])
def test_tiles_of_alignments_can_be_run(traced):
    for lengths in ((1, 1), (5, 10**6), (10**6, 5), (10**5, 10**5), (10**6, 10**6)):
        for threads in (1, 2, 7):
            rows, columns = alignment_default(lengths, 24, HOST, threads, traced=traced)
            assert 1 <= rows <= lengths[0]
            assert columns % 64 == 0
            assert rows * columns <= 2**31


def test_every_thread_has_its_columns_of_tiles_and_scores_stay_in_the_cache():
    for threads in (1, 2, 4, 16):
        lengths = (10**5, 10**5)
        _, columns = alignment_default(lengths, 24, MANY, threads, traced=False)
        assert -(-lengths[1] // columns) % threads in {0, *range(threads // 2, threads)}
        assert 24 * 2 * columns < MANY.shared_bytes.value
    small = dataclasses.replace(MANY, shared_bytes=dataclasses.replace(MANY.shared_bytes, value=2**17))
    assert (
        alignment_default(lengths, 24, small, 1, traced=False)[1]
        < alignment_default(lengths, 24, MANY, 1, traced=False)[1]
    )


def test_threads_take_part_with_their_share_of_the_bandwidth():
    one = with_threads(MANY, 4)
    assert one.sm_count.value == 4
    assert one.dram_bandwidth.value == MANY.dram_bandwidth.value / 4
    assert with_threads(MANY, 16) is MANY
    assert with_threads(MACHINES["h100"], 4) is MACHINES["h100"]


def test_tiles_without_sub_tiles_are_cut_for_the_threads_of_a_block():
    asked = Tiling(family="orthogonal", time=64, space=(768,), sub=(768,))
    known, machine = recurrence_named("smith_waterman"), MACHINES["h100"]
    case = orthogonal.make_case(known, (4000, 4000), "int32", machine)
    found = cut_for_threads(known, case.shape, case.dtype, machine, asked)
    assert (found.time, found.space) == (64, (768,))
    every = [dataclasses.replace(asked, sub=(sub,)) for sub in (1, 2, 3, 4, 6, 8, 12, 16)]
    assert orthogonal.predict(case, found).seconds == min(each for _, each in orthogonal.times(case, every))
    tall = dataclasses.replace(asked, time=50000)
    assert not list(orthogonal.times(case, [tall]))
    assert cut_for_threads(known, case.shape, case.dtype, machine, tall).sub[0] < 768


def test_tables_of_every_size_have_a_tile_even_where_nothing_fits():
    def wide(d):
        return d[-60, -60] + d[-1, 0]

    known = trace_recurrence(wide, outside=0)
    for shape in ((1, 1), (1, 5000), (5000, 1), (70, 70), (10**6, 3)):
        for machine in MACHINES.values():
            tiling = table_default(known, shape, "int64", machine)
            assert isinstance(check_table(known, tiling), Legal)
    h100 = MACHINES["h100"]
    tiny = dataclasses.replace(h100, block_shared_bytes=dataclasses.replace(h100.block_shared_bytes, value=64.0))
    assert str(table_default(known, (70, 70), "int64", tiny)) == "orthogonal:t=60,s=60,sub=60"
