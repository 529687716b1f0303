"""Tuning on a farm: as many candidates at a time as there are nodes, like nodes only; a lost worker costs its own."""

import dataclasses
import functools
import importlib.metadata
import os
import shutil
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.base.records import Measurement, Outcome
from tilewright.plan import Plan, read_target
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.store import folder as store
from tilewright.runtime.store.wisdom import Circumstances
from tilewright.schedules.tiling import parse
from tilewright.verbs.tuning import farm
from tilewright.verbs.tuning.meter import Answer, Errand, Limits, Node

KIND = Circumstances(device="a processor", device_key="a", compiler="cc", compiler_key="c", version="1")
TILINGS = [parse(f"skewed:t={4 + number},s=32x64") for number in range(40)]
SECONDS = 0.05


def node() -> Node:
    return Node(name=threading.current_thread().name, cpus=1, kind=KIND)


def attempt(errand: Errand) -> Answer:
    """A measurement that takes some time, longer for taller tiles in what it says."""
    time.sleep(SECONDS)
    seconds = 1.0 + 0.01 * errand.plan.tiling.time
    return Answer(node=node(), measurements=(Measurement(seconds=(seconds,)),))


def meter(executor, work=attempt, here=node, log=None) -> farm.FarmMeter:
    problem = make_problem(tw.program("heat2d"), (64, 64), 8)
    plan = Plan(problem=problem, target=read_target("auto", 1))
    errand = Errand(small=None, plan=plan, scalars=(), steps=8, limits=Limits(), memory=None)
    return farm.FarmMeter(executor, farm.first_node(executor, Limits(), here), errand, log=log, work=work)


def test_four_workers_measure_four_candidates_at_a_time(tally):
    """Each waits until four are measured: with one fewer at a time none would end."""
    together = threading.Barrier(4)

    def waiting(errand):
        together.wait(timeout=60)
        return attempt(errand)

    with ThreadPoolExecutor(4) as executor:
        made = meter(executor, waiting)
        assert made.build(TILINGS[:16]) == {}
    assert sum(made.nodes.values()) == 16
    tally("farm: 4 workers measure 16 candidates in 4 rounds of 4 at a time")


def test_unlike_nodes_measure_nothing_that_counts(tmp_path):
    other = dataclasses.replace(KIND, device="another", device_key="b")

    def unlike(errand):
        answer = attempt(errand)
        odd = answer.node.name.endswith("1")
        seconds = 1e-3 if odd else answer.measurements[0].seconds[0]
        found = Node(name=answer.node.name, cpus=1, kind=other if odd else KIND)
        return Answer(node=found, measurements=(Measurement(seconds=(seconds,)),))

    with ThreadPoolExecutor(2) as executor:
        made = meter(executor, unlike, log=tmp_path / "log.jsonl")
        failures = made.build(TILINGS[:12])
    assert len(failures) < 12
    assert all(each.outcome is Outcome.LAUNCH and "another kind" in each.detail for each in failures.values())
    assert all(made.sample(tiling).seconds[0] > 1.0 for tiling in TILINGS[:12] if tiling not in failures)
    measured = [each for each in store.read(tmp_path / "log.jsonl") if each["outcome"] == "ok"]
    assert measured
    assert {each["processor"] for each in measured} == {"a"}


def test_only_unlike_nodes_are_refused():
    kinds = iter([KIND])

    def changing():
        return Node(name="n", cpus=1, kind=next(kinds, dataclasses.replace(KIND, device_key="b")))

    def unlike(errand):
        return dataclasses.replace(attempt(errand), node=changing())

    with ThreadPoolExecutor(1) as executor:
        made = meter(executor, unlike, changing)
        assert made.build(TILINGS[:2]).keys() == set(TILINGS[:2])


def test_a_lost_worker_costs_its_candidate():
    def dying(errand):
        if errand.plan.tiling == TILINGS[3]:
            raise BrokenProcessPool("a process was terminated abruptly")
        return attempt(errand)

    with ThreadPoolExecutor(4) as executor:
        made = meter(executor, dying)
        failures = made.build(TILINGS[:12])
    assert failures.keys() == {TILINGS[3]}
    assert failures[TILINGS[3]].outcome is Outcome.CRASH
    assert "its worker was lost" in failures[TILINGS[3]].detail


def ends(errand: Errand) -> Answer:
    if errand.plan.tiling == TILINGS[3]:
        os._exit(1)
    time.sleep(0.05)
    return Answer(node=there(), measurements=(Measurement(seconds=(1.0,)),))


def there() -> Node:
    return Node(name=f"node{os.getpid()}", cpus=1, kind=KIND)


def installed(name: str) -> bool:
    """Tell whether a package was installed, whatever a module of that name may be."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.fixture(scope="module")
def dask_client():
    """Workers of Dask, each a process, whose loss fails what they had at once."""
    import dask

    distributed = pytest.importorskip("distributed")

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_of_dask_costs_what_it_had(dask_client):
    made = meter(dask_client.get_executor(), ends, there)
    failures = made.build(TILINGS[:12])
    assert TILINGS[3] in failures
    assert len(failures) <= 4  # what the scheduler had sent to the same worker
    assert all(each.outcome is Outcome.CRASH for each in failures.values())


def there_once(folder: Path) -> Node:
    """End the worker that is asked first."""
    try:
        (folder / "asked").touch(exist_ok=False)
    except FileExistsError:
        return there()
    os._exit(1)


def counted(folder: Path, errand: Errand) -> Answer:
    """A measurement that is another one each time that it is taken."""
    (folder / uuid.uuid4().hex).touch()
    return Answer(node=there(), measurements=(Measurement(seconds=(float(len(list(folder.iterdir()))),)),))


@pytest.mark.filterwarnings("ignore")
def test_what_dask_is_asked_again_is_done_again(dask_client, tmp_path):
    samples = tmp_path / "samples"
    samples.mkdir()
    work, here = functools.partial(counted, samples), functools.partial(there_once, tmp_path)
    made = meter(dask_client.get_executor(), work, here)
    made.build(TILINGS[:1])
    taken = [made.sample(TILINGS[0]).seconds[0] for _ in range(3)]
    assert taken == [1.0, 2.0, 3.0]


def test_a_worker_lost_while_it_is_asked_what_it_is_costs_the_question():
    asked = []

    def lost():
        asked.append(1)
        if len(asked) == 1:
            raise BrokenProcessPool("a process was terminated abruptly")
        return node()

    with ThreadPoolExecutor(1) as executor:
        assert farm.first_node(executor, Limits(), lost).kind == KIND
    assert len(asked) == 2


def test_what_is_no_executor_is_one_sentence():
    with pytest.raises(tw.UsageError, match="Executor, got int"):
        tw.tune("heat2d", shape=(64, 64), steps=8, executor=4)


def test_an_executor_that_answers_not_is_one_sentence():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(tw.ToolchainError, match="no worker of the executor answers"):
        tw.tune("heat2d", shape=(64, 64), steps=8, executor=executor)


def test_a_program_is_tuned_by_workers(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path))
    with ProcessPoolExecutor(2) as executor:
        plan = tw.tune("heat2d", shape=(64, 64), steps=8, candidates=3, threads=1, executor=executor)
    assert plan.winner.measured_seconds is not None
    assert plan.confirmed
    assert plan.winner.samples >= 2
    (log,) = (tmp_path / "tunes").glob("*.jsonl")
    samples = [each for each in store.read(log) if each["kind"] == "sample" and each["outcome"] == "ok"]
    assert len(samples) >= 4
    assert all(each["node"] for each in samples)


TUNED = """
import sys
import tilewright as tw

def tuned(pool):
    plan = tw.tune("heat2d", shape=(64, 64), steps=8, candidates=2, threads=1, executor=pool)
    print("winner", plan.winner.tiling, plan.winner.samples, sep="|")

if __name__ == "__main__":
    if sys.argv[1] == "mpi4py":
        from mpi4py.futures import MPIPoolExecutor as Executor
    else:
        from executorlib import SingleNodeExecutor as Executor
    with Executor(max_workers=2) as pool:
        tuned(pool)
"""


@pytest.mark.stress
@pytest.mark.parametrize("kind", ["mpi4py", "executorlib"])
def test_a_program_is_tuned_by_processes_of_a_cluster(kind, tmp_path):
    if not installed(kind):
        pytest.skip(f"{kind} is not installed")
    script = tmp_path / "tuned.py"
    script.write_text(TUNED)
    command = [sys.executable, str(script), kind]
    if kind == "mpi4py":
        mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if mpiexec is None:
            pytest.skip("there is no mpiexec")
        command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script), kind]
    environment = os.environ | {"TILEWRIGHT_STORE": str(tmp_path / "store")}
    found = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=600)
    assert found.returncode == 0, found.stderr
    (line,) = (each for each in found.stdout.splitlines() if each.startswith("winner|"))
    assert int(line.split("|")[2]) >= 2
    (log,) = (tmp_path / "store" / "tunes").glob("*.jsonl")
    samples = [each for each in store.read(log) if each["kind"] == "sample" and each["outcome"] == "ok"]
    assert samples
    assert all(each["node"] for each in samples)


def test_codesign_on_an_executor_finds_the_same():
    from tilewright.workloads.codesign.design import Axes

    axes = Axes(sm_count=(8, 16), vector_width=(64, 128), shared_kb=(48.0, 96.0))
    alone = tw.codesign("jacobi2d", axes=axes, area=(10.0, 900.0), stock=())
    with ProcessPoolExecutor(2) as executor:
        together = tw.codesign("jacobi2d", axes=axes, area=(10.0, 900.0), stock=(), executor=executor)
    assert together.best == alone.best
