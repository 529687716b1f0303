"""Forked children compute: each ends itself by an alarm where it would wait for ever."""

import subprocess
import sys
import textwrap
import threading
import time

import pytest

from tilewright.runtime import forks

_HEAD = """
import os, signal, sys, threading, warnings
import numpy as np
import tilewright as tw

warnings.simplefilter("error", tw.TilewrightWarning)
u = np.random.default_rng(0).random((96, 80), dtype=np.float32)


def heat():
    return tw.run("heat2d", u, steps=6, threads=2)


def in_child(body, seconds=60):
    child = os.fork()
    if not child:
        signal.alarm(seconds)
        try:
            body()
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"the child ended with {status}"


def same():
    assert np.array_equal(heat(), wanted)


"""


def _run(script: str, head: str = _HEAD) -> None:
    done = subprocess.run(
        (sys.executable, "-c", head + textwrap.dedent(script)), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_children_forked_one_after_the_other_compute_with_two_threads():
    _run("""
    wanted = heat()
    for number in range(8):
        in_child(same)
        if number % 3 == 0:
            same()  # the parent's threads wait again
    """)


def test_a_child_of_a_child_computes():
    _run("""
    wanted = heat()

    def twice():
        same()
        in_child(lambda: (same(), in_child(same)))
        same()

    in_child(twice)
    in_child(lambda: in_child(same))  # the child in between computes nothing
    """)


def test_children_compute_that_were_forked_while_another_thread_runs_kernels():
    _run("""
    wanted = heat()
    stop, failures = threading.Event(), []

    def busy():
        while not stop.is_set():
            if not np.array_equal(heat(), wanted):
                failures.append(1)

    runner = threading.Thread(target=busy, daemon=True)
    runner.start()
    for _ in range(8):
        in_child(same)
        same()
    stop.set()
    runner.join()
    assert not failures
    """)


def test_pools_of_processes_that_fork_compute():
    _run("""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    wanted = heat()

    def task(number):
        signal.alarm(60)
        return np.array_equal(heat(), wanted)

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert list(pool.map(task, range(4))) == [True] * 4
    """)


def test_children_compute_whatever_kernel_the_parent_ran():
    _run("""
    import scipy.sparse
    from tilewright import sparse
    from tilewright.workloads.chains.fused import fused_product
    from tilewright.tuning.spaces.cpu_schedule import blocking
    from tilewright.sparse.choices import KernelChoice

    large, choice = np.tile(u, (3, 4))[:256, :256], KernelChoice(vectors=1, threads=2, stream=False)
    calls = {
        "alignment": lambda: tw.align("GATTACA" * 40, "GCATGCT" * 40, threads=2).score,
        "table": lambda: tw.fill("edit_distance", "GATTACA" * 20, "GCATGCT" * 20, threads=2),
        "pipeline": lambda: tw.image.blur(np.tile(u, (4, 4)), 2.0, threads=2),
        "chain": lambda: fused_product("left", (large, large, large), (64, 64), 2, blocking(128)),
        "vectors": lambda: sparse.krylov.apply("dot", u.ravel(), u.ravel(), choice=choice)[0],
        "matrix": lambda: sparse.Dia.from_scipy(scipy.sparse.eye(4096, format="dia")).matvec(np.ones(4096), threads=2),
    }
    for name, call in calls.items():
        wanted = np.asarray(call())

        def again():
            assert np.array_equal(call(), wanted), name

        in_child(again)
        again()
    """)


def test_children_compute_where_the_openmp_library_cannot_end_its_threads():
    _run("""
    from tilewright.runtime import forks

    forks._PAUSE = "no_such_function_in_gcc_8"
    wanted = heat()
    seen = []

    def twice():
        same()
        same()
        in_child(same)
        worker = threading.Thread(target=lambda: seen.append(np.array_equal(heat(), wanted)))
        worker.start()
        worker.join()
        assert seen == [True]

    for _ in range(5):
        in_child(twice)
        same()
    """)


def test_an_interrupted_call_in_a_child_ends_after_its_kernel():
    _run("""
    import time

    from tilewright.runtime.forks import _forked, _Protected

    done = []

    def kernel(seconds):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(seconds)
        done.append(True)

    _forked.append(threading.get_ident())
    try:
        _Protected(kernel)(0.2)
    except KeyboardInterrupt:
        assert done == [True]
    else:
        sys.exit("nobody was interrupted")
    """)


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupt_while_the_thread_starts_leaves_no_kernel_behind(monkeypatch, begun):
    """A kernel that has begun is waited for; one that has not never begins."""
    started, running, done = [], threading.Event(), []

    def kernel():
        running.set()
        time.sleep(0.1)
        done.append(True)

    def start(function, arguments):
        started.append(threading.Thread(target=function, args=arguments))
        if begun:
            started[0].start()
            running.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(forks._thread, "start_new_thread", start)
    monkeypatch.setattr(forks, "_forked", [threading.get_ident()])
    with pytest.raises(KeyboardInterrupt):
        forks._Protected(kernel)()
    assert done == [True] * begun
    monkeypatch.undo()
    if not begun:
        started[0].start()
    started[0].join()
    assert done == [True] * begun


def test_no_child_finds_a_lock_taken_by_a_thread_that_it_does_not_have():
    _run("""
    import time

    from tilewright.runtime import forks

    lock, taken = forks.lock(), threading.Event()

    def hold():
        with lock:
            taken.set()
            time.sleep(0.3)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()

    def take():
        assert lock.acquire(timeout=30)
        lock.release()

    in_child(take)
    assert lock.acquire(timeout=30)
    holder.join()
    """)


def test_no_lock_is_added_while_a_fork_goes_through_them():
    """The fork would go on without the locks, and with threads that the child does not have."""
    forks.lock()  # so that forks call back
    made, begun = [], threading.Event()

    def make():
        begun.set()
        made.append(forks.lock())

    thread = threading.Thread(target=make)
    forks._before()
    try:
        thread.start()
        begun.wait()
        thread.join(0.2)
        assert not made
    finally:
        forks._release()
    thread.join()
    assert made


def test_a_lock_that_nobody_uses_any_more_is_not_kept():
    before = len(forks._locks)
    made = [forks.lock() for _ in range(5)]
    assert len(forks._locks) == before + 5
    assert isinstance(made[0], type(threading.Lock()))
    made.clear()
    assert len(forks._locks) == before
