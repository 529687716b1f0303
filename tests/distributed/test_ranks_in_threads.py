"""What no result of a run on ranks shows: who writes when, who waits for what, how many threads compute."""

import functools
import itertools
import os
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from tests.distributed.in_threads import Kind, Rank, World, on_ranks, threaded_mpi  # noqa: F401  (a fixture)

import tilewright as tw
from tilewright.distributed import disk, rank_arrays, rank_runs
from tilewright.distributed.checkpoints import Checkpoints
from tilewright.distributed.compute import Computer
from tilewright.distributed.ghosts import Ghosts, Message, moving, packed_cells
from tilewright.inputs import memo
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.kernels import NumpySession
from tilewright.verbs import calibrate

pytestmark = pytest.mark.usefixtures("threaded_mpi")


def dealt(values, comm, topology=None):
    """A block of some values on every rank."""
    array = rank_arrays.Array(values.shape, values.dtype, comm=comm, topology=topology)
    array.local[...] = values[tuple(slice(*each) for each in array.box)]
    return array


def ran(program, given, steps, **options):
    """Run on a rank, in NumPy or in compiled code, with so many steps between exchanges."""
    problem = make_problem(tw.program(program), given[0].shape, options.pop("all_steps"), "float64", "nearest")
    computer = Computer(
        target=read_target(options.pop("backend", "numpy"), 1), threads=1, tiling=None, strict=True, scalars={}
    )
    job = rank_runs.RankRun(problem=problem, arrays={problem.program.fields[0]: given}, steps=steps, **options)
    return rank_runs.run(job, memo.host(), computer)[0]


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("levels", [1, 2])
def test_older_levels_that_are_missing_are_those_of_the_oldest_given(levels, backend):
    values = np.random.default_rng(levels).random((levels, 13, 9))

    def work(comm):
        given = tuple(dealt(each, comm, (2, 1)) for each in values)
        found = ran("wave2d", given, 2, all_steps=5, backend=backend, overlapped=False)
        return [each.gather() for each in found["u"]]

    _, (whole, _) = on_ranks(2, work)
    now = tuple(values) if levels > 1 else (values[0], values[0])
    right = tw.run("wave2d", now, steps=5, boundary="nearest", levels=True, strict=True, threads=1)
    for ours, theirs in zip(whole, right, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("ending", "rows", "turns"), [(".npy", 7, 1), (".zarr", 6, 1), (".zarr", 7, 3)])
def test_ranks_write_at_once_but_where_their_blocks_share_chunks(tmp_path, monkeypatch, ending, rows, turns):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    values, here, wrote = np.random.default_rng(rows).random((rows, 4)), threading.local(), []
    original = zarr.Array.__setitem__, np.memmap.__setitem__
    for kind, put in zip((zarr.Array, np.memmap), original, strict=True):

        def noted(self, place, given, put=put):
            wrote.append((here.comm.rank, here.comm.together))
            put(self, place, given)

        monkeypatch.setattr(kind, "__setitem__", noted, raising=False)

    def work(comm):
        here.comm = comm
        dealt(values, comm, (3, 1)).write(tmp_path / f"whole{ending}")

    on_ranks(3, work)
    assert sorted(rank for rank, _ in wrote) == [0, 1, 2]
    assert len({turn for _, turn in wrote}) == turns
    np.testing.assert_array_equal(disk.open_array(tmp_path / f"whole{ending}")[:], values)


def test_what_a_rank_maps_is_with_the_file_before_any_rank_goes_on(tmp_path, monkeypatch):
    """On a disk of a network others see no page that was not flushed."""
    flushed, flush = [], np.memmap.flush
    monkeypatch.setattr(np.memmap, "flush", lambda self: (flush(self), flushed.append(self.shape)))

    def work(comm):
        dealt(np.ones((6, 4)), comm, (2, 1)).write(tmp_path / "whole.npy")
        return len(flushed)

    assert on_ranks(2, work)[1] == [2, 2]


def begun(comm, steps=1):
    """An exchange that is under way on a rank."""
    problem = make_problem(tw.program("heat2d"), (12, 8), 4, "float64", "nearest")
    ghosts = Ghosts(problem, dealt(np.ones((12, 8)), comm, (comm.Get_size(), 1)), steps)
    return ghosts, ghosts.begin([np.ones(ghosts.own.window.problem.shape)])


@pytest.mark.parametrize("many", [True, False])
def test_a_thread_asks_about_messages_while_the_interior_is_computed(threaded_mpi, many):  # noqa: F811
    threaded_mpi.level = 3 if many else 2

    def work(comm):
        ghosts, exchange = begun(comm)
        with moving(exchange):
            arrived = not many or all(each.done.wait(5.0) for each in exchange.requests)
        looked = any(each.looks for each in exchange.requests)
        ghosts.finish(exchange)
        return arrived, looked

    _, found = on_ranks(2, work)
    assert found == [(True, many)] * 2
    assert all(each.name != "tilewright-messages" for each in threading.enumerate())


def test_messages_meet_whichever_rank_begins_its_own_first():
    """Of the ranks that stand in for MPI's: two of them make a box at the same time."""
    shortest = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(comm):
        found = []
        for tag in range(1000):
            comm.Barrier()
            found.append(comm.world.box(0, 1, tag))
        return found

    try:
        _, (first, second) = on_ranks(2, work)
    finally:
        sys.setswitchinterval(shortest)
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_one_rank_alone_asks_about_nothing(monkeypatch):
    monkeypatch.setattr(threading, "Thread", lambda **_: pytest.fail("a thread without a message"))
    with moving(begun(Rank(World(1), 0))[1]):
        pass


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_window_is_started_once_and_stays_with_its_kernel(monkeypatch, backend):
    original, started = Computer.resident, []
    monkeypatch.setattr(Computer, "resident", lambda *given: (state := original(*given), started.append(state))[0])
    monkeypatch.setattr(Computer, "run", lambda *_, **__: pytest.fail("a window that could have stayed"), raising=True)

    def work(comm):
        given = (dealt(np.random.default_rng(3).random((12, 8)), comm, (2, 1)),)
        return ran("heat2d", given, 2, all_steps=7, backend=backend, overlapped=False)["u"][0].gather()

    _, (whole, _) = on_ranks(2, work)
    right = tw.run("heat2d", np.random.default_rng(3).random((12, 8)), steps=7, boundary="nearest", strict=True)
    np.testing.assert_array_equal(whole, right)
    assert [each is not None for each in started] == [True] * 2


@pytest.mark.parametrize(("asked", "found"), [((2, -1), (2, 3)), ((-1, 3), (2, 3)), ((3, 2), (3, 2)), ((6, 1), (6, 1))])
def test_topologies_that_fit(asked, found):
    assert rank_arrays.Array((24, 24), comm=Rank(World(6), 0), topology=asked).topology == found


@pytest.mark.parametrize("asked", [(2, 2), (1, 2), (3, 1), (4, -1), (-1, 5), (12, 1), (6, 2)])
def test_topologies_of_another_product_are_refused(asked):
    with pytest.raises(tw.UsageError, match="does not fit the 6 ranks"):
        rank_arrays.Array((24, 24), comm=Rank(World(6), 0), topology=asked)


def test_every_message_is_waited_for_and_counted():
    def work(comm):
        given = (dealt(np.random.default_rng(1).random((12, 8)), comm, (3, 1)),)
        return ran("heat2d", given, 2, all_steps=7, overlapped=False)["u"][0].traffic

    world, found = on_ranks(3, work)
    assert all(each.waited and each.done.is_set() for each in world.requests)
    assert [(each.exchanges, each.messages, each.bytes) for each in found] == [
        (4, 4, 4 * 2 * 8 * 8), (4, 8, 4 * 4 * 8 * 8), (4, 4, 4 * 2 * 8 * 8)
    ]  # fmt: skip
    assert len(world.requests) == 2 * (4 + 8 + 4)


@pytest.mark.parametrize(("mine", "threads"), [([{0, 1, 2, 3}] * 2, 2), ([{0, 1}, {2, 3}], 4), ([{0, 1}] * 4, 1)])
def test_ranks_of_a_node_share_the_processors_that_were_not_dealt_out(monkeypatch, mine, threads):
    here = threading.local()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: here.mine)

    def work(comm):
        here.mine = mine[comm.rank]
        return rank_arrays.threads_per_rank(comm, 4)

    assert on_ranks(len(mine), work)[1] == [threads] * len(mine)


def test_a_rank_that_fails_ends_the_job_and_says_so(monkeypatch, capfd):
    original, count = NumpySession.advance, itertools.count()

    def advance(self, steps):
        if next(count) == 3:
            raise RuntimeError("an accident")
        original(self, steps)

    monkeypatch.setattr(NumpySession, "advance", advance)
    worlds = []

    def work(comm):
        worlds.append(comm.world)
        return ran("heat2d", (dealt(np.ones((12, 8)), comm, (2, 1)),), 1, all_steps=9, overlapped=False)

    with pytest.raises(RuntimeError, match="an accident"):
        on_ranks(2, work)
    assert "of 2 failed, which ends the job: RuntimeError('an accident')" in capfd.readouterr().err
    assert 1 in worlds[0].aborted


def test_messages_take_the_memory_of_those_before_them():
    def work(comm):
        problem = make_problem(tw.program("wave2d"), (12, 8), 4, "float64", "nearest")
        ghosts = Ghosts(problem, dealt(np.ones((12, 8)), comm, (2, 1)), 1)
        grid, found = np.ones(ghosts.own.window.problem.shape), []
        for grids in ([grid, grid], [grid, grid], [grid], [grid, grid]):
            exchange = ghosts.begin(grids)
            found.append({each.buffer.ctypes.data for each in (*exchange.coming, *exchange.going)})
            ghosts.finish(exchange)
        return len(set.union(*found))

    assert on_ranks(2, work)[1] == [4, 4]


@pytest.mark.parametrize(("axis", "packed"), [(0, 0), (1, 2 * 3 * 6)])
def test_what_the_model_counts_as_packed_is_packed(axis, packed):
    """Rows of 8 KiB travel from where they lie, columns do not."""

    def work(comm):
        whole = dealt(np.zeros((6, 1024)), comm, (2, 1) if axis == 0 else (1, 2))
        ghosts = Ghosts(make_problem(tw.program("wave2d"), (6, 1024), 4, "float64", "nearest"), whole, 3)
        exchange = ghosts.begin([np.zeros(ghosts.own.window.problem.shape)] * 2)
        ghosts.finish(exchange)
        counted = packed_cells(ghosts.own, comm.rank, 8)
        return 2 * counted, sum(each.box.size for each in exchange.coming if each.buffer is not None)

    assert on_ranks(2, work)[1] == [(packed, packed)] * 2


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("least", [(1, 1), (1, 2**12), (2**12, 1)])
def test_boxes_travel_from_where_they_lie_to_where_they_belong(monkeypatch, axis, least):
    """Whoever packs: what lies in large pieces for its sender may lie in small ones for its receiver."""
    topology, here = ((2, 1), (1, 2))[axis], threading.local()
    monkeypatch.setattr(Message, "packed", property(lambda self: self.run < least[here.rank]))

    def work(comm):
        here.rank = comm.rank
        whole = np.arange(2 * 96.0).reshape(2, 12, 8)
        ghosts = Ghosts(problem, dealt(whole[0], comm, topology), 3)
        inner, span = ghosts.own.window.inner, ghosts.own.window.span
        memory = np.full((2, 20, 24), -1.0)
        shape = ghosts.own.window.problem.shape
        grids = [each[4 : 4 + shape[0], 3 : 3 + shape[1]] for each in memory]
        part = tuple(slice(low, high) for low, high in span)
        for grid, values in zip(grids, whole, strict=True):
            grid[inner] = values[part][inner]
        exchange = ghosts.begin(grids)
        packed = [each.buffer is not None for each in (*exchange.coming, *exchange.going)]
        ghosts.finish(exchange)
        right = np.full_like(memory, -1.0)
        right[:, 4 : 4 + shape[0], 3 : 3 + shape[1]] = whole[(slice(None), *part)]
        np.testing.assert_array_equal(memory, right)
        return packed

    problem = make_problem(tw.program("wave2d"), (12, 8), 4, "float64", "nearest")
    _, found = on_ranks(2, work)
    assert found == [[least[rank] > 1] * 4 for rank in (0, 1)]
    assert not Kind.alive


def test_ranks_tell_each_other_what_they_recorded_once_it_is_much(monkeypatch):
    """At the end alone, else as often as a table of all steps so far is as large."""
    receivers = tw.Points([(2.0, 3.0), (9.0, 1.0)])

    def work(comm):
        given = dealt(np.random.default_rng(5).random((12, 8)), comm, (2, 1))
        before = comm.together
        _, traces = tw.run("heat2d", given, steps=8, boundary="nearest", receivers=receivers, threads=1, strict=True)
        return comm.together - before, traces["u"]

    monkeypatch.setattr(rank_runs, "RankRun", functools.partial(rank_runs.RankRun, steps=2, overlapped=False))
    values = np.random.default_rng(5).random((12, 8))
    right = tw.run("heat2d", values, steps=8, boundary="nearest", receivers=receivers, strict=True, threads=1)[1]["u"]
    often = {}
    for most in (2**26, 2 * 8 * 4 - 1, 0):
        monkeypatch.setattr(rank_runs, "_TABLE_BYTES", most)
        (often[most], trace), _ = on_ranks(2, work)[1]
        np.testing.assert_array_equal(trace, right)
    assert {most: count - often[2**26] for most, count in often.items()} == {2**26: 0, 63: 1, 0: 3}


@pytest.mark.parametrize(("asked", "chosen"), [*itertools.product((None, True, False), (True, False))])
def test_what_is_asked_of_an_exchange_comes_before_what_the_model_chooses(monkeypatch, asked, chosen):
    choose = rank_runs.choose
    monkeypatch.setattr(rank_runs, "choose", lambda *each, **rest: replace(choose(*each, **rest), overlapped=chosen))

    def work(comm):
        given = (dealt(np.ones((40, 8)), comm, (2, 1)),)
        return ran("heat2d", given, None, all_steps=2, overlapped=asked)["u"][0].traffic.overlapped

    assert on_ranks(2, work)[1] == [chosen if asked is None else asked] * 2


def test_a_checkpoint_is_deleted_once_the_next_one_is_whole(tmp_path, monkeypatch):
    """And what receivers had recorded by then; what others have put beside it stays."""
    pytest.importorskip("zarr", reason="zarr is not installed")
    (tmp_path / "notes.txt").touch()
    keep, there = Checkpoints.keep, {}

    def kept(self, done, like, *rest):
        keep(self, done, like, *rest)
        if like.comm.Get_rank() == 0:
            there[done] = sorted(path.name for path in tmp_path.iterdir())

    def work(comm):
        given = dealt(np.ones((12, 8)), comm, (2, 1))
        options = {"boundary": "nearest", "receivers": tw.Points([(2.0, 3.0)]), "threads": 1}
        tw.run("heat2d", given, steps=8, checkpoint=tmp_path, every=2, **options)

    monkeypatch.setattr(Checkpoints, "keep", kept)
    monkeypatch.setattr(rank_runs, "RankRun", functools.partial(rank_runs.RankRun, steps=2, overlapped=False))
    on_ranks(2, work)
    names = {done: ["journal.json", "notes.txt", f"state-{done}.zarr", f"trace-{done}-u.npy"] for done in (2, 4, 6)}
    assert there == names


def test_a_checkpoint_of_something_else_is_not_gone_on_with(tmp_path):
    (tmp_path / "journal.json").write_text('{"version": 1, "run": "other", "steps": 2, "done": 1}')

    def work(comm):
        tw.run("heat2d", dealt(np.ones((12, 8)), comm, (2, 1)), steps=8, checkpoint=tmp_path, every=2, resume=True)

    with pytest.raises(tw.UsageError, match="is of another program, size or data"):
        on_ranks(2, work)


def test_messages_of_one_rank_alone_are_not_measured():
    with pytest.raises(tw.UsageError, match="between two ranks, and there is one"):
        calibrate.network(Rank(World(1), 0))
