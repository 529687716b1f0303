"""Sweeps over grids on disk: the same values as in memory, tiles after all that they depend on, rows where they are."""

import ctypes
import itertools
import mmap
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.distributed.cases import WRAP, boundary_of, draw, flat, levels_of
from tests.distributed.child import SWEPT, kill, sweep
from tests.sampling import covering

import tilewright as tw
from tilewright.distributed import disk, out_of_core, sweeps
from tilewright.distributed.compute import Computer
from tilewright.inputs import memo
from tilewright.plan import read_target
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.memory import HUGE_PAGE
from tilewright.runtime.session import Inputs
from tilewright.schedules import catalogue
from tilewright.schedules.family import BEGIN, END
from tilewright.schedules.tiling import parse
from tilewright.schedules.tree.affine import Whole
from tilewright.schedules.tree.nodes import Let
from tilewright.schedules.tree.order import order

pytestmark = pytest.mark.skipif(not sweeps.available(), reason="the system takes memory for whole ranges of addresses")
NEAREST = Boundary(kind="nearest")


def tiling_of(problem, chance):
    """Draw small tiles that a sweep takes."""
    family = chance.choice(("hybrid", "hybrid", "diamond"))
    time, rest = chance.choice((2, 4, 6)), [chance.randint(1, 9) for _ in problem.shape[1:]]
    for size in itertools.count(chance.randint(1, 3)):
        first = size if family == "hybrid" else 2 * size
        tiling = parse(f"{family}:t={time},s={'x'.join(map(str, (first, *rest)))}")
        if catalogue.sweep(problem, catalogue.complete(problem, tiling)) is not None:
            return tiling
    raise AssertionError


def drawn(index):
    """Draw a problem that can be swept, its data and scalars, and a tiling."""
    for attempt in itertools.count():
        problem, arrays, scalars = draw(57, 1000 * index + attempt, rows=(1, 90))
        chance = random.Random(f"{index}/{attempt}")  # noqa: S311  (reproducible, not secret)
        boundaries = tuple(
            tuple((NEAREST, NEAREST) if WRAP in pair else pair for pair in sides) for sides in problem.boundaries
        )
        problem = replace(problem, boundaries=boundaries, steps=chance.randint(2, 14))
        computer = Computer(
            target=read_target("c", 1), threads=1, tiling=None, strict=True, scalars=scalars, make=memo.prepared
        )
        if sweeps.applies(problem, computer):
            return problem, arrays, scalars, tiling_of(problem, chance)
    raise AssertionError


def random_run(index, folder, monkeypatch):
    """Sweep over a random problem in passes of few steps, from disk to disk, and compare with the run in memory."""
    problem, arrays, scalars, tiling = drawn(index)
    chance = random.Random(index)  # noqa: S311
    chosen = []

    def choose(problem, memory, machine, computer, *_, **__):
        chosen.append(sweeps.plan(problem, memory, machine, computer, chance.randint(1, problem.steps)))
        return chosen[0].passes, chosen[0]

    monkeypatch.setattr(out_of_core, "choose", choose)
    given = []
    for number, levels in enumerate(levels_of(problem, arrays)):
        for age, values in enumerate(levels):
            np.save(folder / f"in-{number}-{age}.npy", values)
        given.append(tuple(folder / f"in-{number}-{age}.npy" for age in range(len(levels))))
    fields = problem.program.updated
    names = [tuple(folder / f"out-{f}-{age}.npy" for age in range(problem.program.history(f))) for f in fields]
    options = {"steps": problem.steps, "boundary": boundary_of(problem), "dtype": problem.dtype, **scalars}
    options |= {"levels": True, "strict": True, "threads": chance.choice((1, 2))}
    out = names[0] if len(names) == 1 else tuple(names)
    found = tw.run(problem.program, *given, out=out, memory="1GiB", tiling=str(tiling), **options)
    right = tw.run(problem.program, *levels_of(problem, arrays), backend="c", tiling="none", **options)
    assert chosen
    for ours, theirs in zip(flat(found), flat(right), strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{index}: {problem} {tiling}")
    assert not list(folder.glob("*.tilewright"))


@pytest.mark.parametrize("index", range(6))
def test_random_problems_have_the_values_of_a_run_in_memory(index, tmp_path, monkeypatch):
    random_run(index, tmp_path, monkeypatch)


@pytest.mark.stress
@pytest.mark.parametrize("index", range(100, 160))
def test_many_random_problems_have_the_values_of_a_run_in_memory(index, tmp_path, monkeypatch):
    random_run(index, tmp_path, monkeypatch)


@pytest.mark.parametrize(("index", "parts"), covering(range(20), [1, 3]))
def test_every_cell_is_computed_once_and_from_rows_that_are_there(index, parts):
    problem, _, _, tiling = drawn(index)
    tiling = catalogue.complete(problem, tiling)
    reach = max(abs(read.offset[0]) for each in problem.program.statements for read in each.reads)
    done = np.zeros((problem.steps * len(problem.program.stages), problem.shape[0]), int)
    there = gone = most = 0
    cut = catalogue.sweep(problem, tiling)
    turn = parts * cut.pitch
    for stage in sweeps.stages(problem, cut, parts):
        for low, high in stage.put:
            assert low == there
            assert high - low <= turn
            there = high
        most = max(most, there - gone)
        begin, end = stage.parts
        tree = Let(BEGIN.name, Whole(begin), Let(END.name, Whole(end), cut.tree))
        for piece in order(problem, tree):
            low, high = piece.box[0]
            assert gone <= max(0, low - reach)
            assert min(problem.shape[0], high + reach) <= there
            cells = np.prod([b - a for a, b in piece.box[1:]])
            done[piece.time, low:high] += cells
        for low, high in stage.finish:
            assert low == gone
            assert high - low <= turn
            gone = high
    assert there == gone == problem.shape[0]
    assert (done == np.prod(problem.shape[1:])).all()
    assert most <= sweeps._rows(problem, cut, parts)


def test_memory_holds_the_rows_under_way_alone():
    """Of a grid of 512 MiB, and what is counted is what is there."""
    problem = make_problem(program("heat2d"), (2**15, 2**12), 4, "float32", "nearest")
    computer = Computer(target=read_target("c", 1), threads=1, tiling="hybrid:t=4,s=8x512", strict=False, scalars={})
    swept = sweeps.plan(problem, 2**26, memo.host(), computer, 4)
    kernel = sweeps.Sweeper(problem, swept, computer)._kernel
    state = sweeps.Sweep(kernel.compiled, problem, Inputs(arrays={}, scalars={}), 1)
    row, most = np.ones((1, 2**12), np.float32), 0
    for stage in itertools.islice(sweeps.stages(problem, catalogue.sweep(problem, swept.tiling), 1), 60):
        for low, high in stage.put:
            state.put(low, {"u": [np.broadcast_to(row, (high - low, 2**12))]})
        state.advance_parts(*stage.parts)
        most = max(most, resident(state))
        for low, high in stage.finish:
            out = np.empty((high - low, 2**12), np.float32)
            state.finish(low, high, {"u": [out]})
            np.testing.assert_allclose(out, 1.0, rtol=1e-6)
    state.close()
    counted = sweeps.sweep_bytes(problem, problem.program.analysis.copies, swept.passes.rows)
    assert HUGE_PAGE // 8 < most <= counted < 2**25


def resident(state):
    """Bytes of a sweep's addresses that have memory."""
    begin, end = state._buffer.ctypes.data // mmap.PAGESIZE, state._buffer.ctypes.data + state._buffer.nbytes
    pages = np.zeros(-(-end // mmap.PAGESIZE) - begin, np.uint8)
    told = ctypes.CDLL(None).mincore(
        ctypes.c_void_p(begin * mmap.PAGESIZE), ctypes.c_size_t(pages.size * mmap.PAGESIZE), pages.ctypes
    )
    assert told == 0
    return int(np.count_nonzero(pages & 1)) * mmap.PAGESIZE


def test_what_cannot_be_swept_goes_slab_by_slab():
    def applies(name, boundary="nearest", **options):
        problem = make_problem(program(name), (64, 64), options.pop("steps", 8), "float32", boundary)
        backend = options.pop("backend", "c")
        computer = Computer(
            target=read_target(backend, 1), threads=1, strict=False, scalars={}, **{"tiling": None, **options}
        )
        return sweeps.applies(problem, computer)

    assert applies("heat2d")
    assert applies("heat2d", tiling="diamond:t=4,s=8x64")
    assert not applies("heat2d", "wrap")
    assert not applies("heat2d", backend="numpy")
    assert not applies("heat2d", tiling="none")
    assert not applies("heat2d", tiling="streaming:t=4,s=64x64")
    assert not applies("heat2d", steps=1)


def test_a_grid_of_several_times_the_memory_is_swept_where_slabs_would_overlap(tmp_path, caplog):
    """Memory for 40 rows, of a run of 32 steps: windows would be computed twice, and the disk asked often."""
    shape = (250, 160, 160)
    values = np.random.default_rng(0).random(shape, np.float32)
    paths = tmp_path / "now.npy", tmp_path / "before.npy"
    for path in paths:
        np.save(path, values)
    with caplog.at_level("INFO", "tilewright"):
        found = tw.run("wave3d", paths, out=tmp_path / "out.npy", steps=32, boundary="fixed", memory="38MiB", threads=2)
    assert "swept" in caplog.text
    right = tw.run("wave3d", (values, values), steps=32, boundary="fixed", threads=2)
    np.testing.assert_allclose(np.asarray(found), right, rtol=1e-4, atol=1e-5)
    assert disk.exists(tmp_path / "out.npy")


def test_no_slab_is_compiled_where_a_sweep_is_expected_to_be_faster(monkeypatch):
    class MadeError(Exception):
        pass

    def make(*_, **__):
        raise MadeError

    problem = make_problem(program("wave3d"), (400, 160, 160), 32, "float32", "fixed")
    computer = Computer(target=read_target("c", 2), threads=2, tiling=None, strict=False, scalars={}, make=make)
    passes, swept = out_of_core.choose(problem, 38 * 2**20, memo.host(), computer)
    assert swept.passes == passes
    monkeypatch.setattr(sweeps, "applies", lambda *_: False)
    with pytest.raises(MadeError):
        out_of_core.choose(problem, 38 * 2**20, memo.host(), computer)


def test_a_sweep_that_was_stopped_goes_on_from_its_last_pass(tmp_path, monkeypatch):
    problem = make_problem(program("wave3d"), (60, 9, 12), 10, "float32", "reflect")
    values = [np.random.default_rng(age).random(problem.shape, np.float32) for age in range(2)]
    paths = tuple(tmp_path / f"in-{age}.npy" for age in range(2))
    for path, each in zip(paths, values, strict=True):
        np.save(path, each)
    passes, stream = [], sweeps.Sweeper.stream

    def choose(problem, memory, machine, computer, *_, **__):
        swept = sweeps.plan(problem, memory, machine, computer, 4)
        return swept.passes, swept

    def once(self, *arguments):
        if len(passes) == 2:
            raise KeyboardInterrupt
        passes.append(arguments[0])
        stream(self, *arguments)

    monkeypatch.setattr(out_of_core, "choose", choose)
    monkeypatch.setattr(sweeps.Sweeper, "stream", once)
    options = {"steps": 10, "boundary": "reflect", "strict": True, "tiling": "hybrid:t=4,s=2x4x16"}
    with pytest.raises(KeyboardInterrupt):
        tw.run("wave3d", paths, out=tmp_path / "out.npy", memory="1GiB", **options)
    monkeypatch.setattr(sweeps.Sweeper, "stream", stream)
    found = tw.run("wave3d", paths, out=tmp_path / "out.npy", memory="1GiB", resume=True, **options)
    assert passes == [4, 4]
    right = tw.run("wave3d", tuple(values), steps=10, boundary="reflect", strict=True)
    np.testing.assert_array_equal(np.asarray(found), right)


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.stress)])
def test_killed_sweeps_go_on_from_their_last_pass(tmp_path, tally, kills):
    field = np.random.default_rng(kills).random((2, 240, 24, 40))
    right = tw.run("wave3d", tuple(field), **{**SWEPT, "tiling": None})
    for name, values in zip(("now", "before"), field, strict=True):
        np.save(tmp_path / f"{name}.npy", values)
    resumed = kill(sweep, tmp_path, kills, lambda: int(np.count_nonzero(np.load(tmp_path / "out.npy") != right)))
    tally(f"sweeps over the disk: {kills} kills, {resumed} with complete passes, 0 cells wrong")
    assert kills < 50 or resumed >= 10


@pytest.mark.parametrize("most", [3, 8])
def test_so_many_tilings_that_fit_are_compared_and_no_more(monkeypatch, most):
    """Where the disk takes most of the time, nothing else ends the search but that."""
    problem = make_problem(program("heat2d"), (32000, 512), 16, "float32", "nearest")
    slow = {
        name: replace(getattr(memo.host(), name), value=1e6, low=None, high=None)
        for name in ("disk_read_bandwidth", "disk_write_bandwidth")
    }
    computer = Computer(target=read_target("c", 1), threads=1, tiling=None, strict=False, scalars={})
    compared, taken, memory = [], sweeps.taken, 2**24

    def counted(*arguments):
        found = taken(*arguments)
        compared.append(found <= memory)
        return found

    monkeypatch.setattr(sweeps, "_MOST_FITTING", most)
    monkeypatch.setattr(sweeps, "taken", counted)
    assert sweeps.plan(problem, memory, replace(memo.host(), **slow), computer, 16) is not None
    assert sum(compared) == most
