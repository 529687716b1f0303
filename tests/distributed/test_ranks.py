"""Runs on the ranks of MPI: the values of one process, messages as predicted, and no rank that waits for ever."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.laws.generator import DRAW
from tests.sampling import some
from typer.testing import CliRunner

from tilewright.cli.app import app

ROOT = Path(__file__).parents[2]


def installed() -> tuple[str | None, dict[str, str]]:
    """Return the command that starts ranks, and the variables that mpi4py needs to find a library beside it."""
    try:
        importlib.metadata.version("mpi4py")
        files = importlib.metadata.files("mpich") or ()
    except importlib.metadata.PackageNotFoundError:
        return shutil.which("mpiexec"), {}
    found = {Path(each).name: str(Path(each.locate()).resolve()) for each in files}
    library = found.get("libmpi.so.12")
    return found.get("mpiexec"), {"MPI4PY_LIBMPI": library} if library else {}


COMMAND, VARIABLES = installed()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a job of two ranks says of everything that needs no job of its own, line by line."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    pytest.importorskip("zarr", reason="zarr is not installed")
    if COMMAND is None:
        pytest.skip("there is no mpiexec")
    found = job(2, "together", tmp_path_factory.mktemp("ranks"))
    if found.returncode and "cannot load MPI library" in found.stderr:
        pytest.skip("mpi4py finds no MPI library")
    assert found.returncode == 0, found.stdout + found.stderr
    parts = (part.partition("\n") for part in found.stdout.split("== ")[1:])
    return {name: lines.splitlines() for name, _, lines in parts}


def job(ranks: int, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [COMMAND, "-n", str(ranks), sys.executable, "-m", "tests.distributed.ranks", *map(str, arguments)]
    environment = {**os.environ, **VARIABLES, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=900, check=False)


def compared(ranks: int, first: int, count: int) -> tuple[int, str]:
    found = job(ranks, "programs", first, count)
    assert found.returncode == 0, found.stdout + found.stderr
    outcome = re.search(
        r"(\d+) programs, (\d+) exchanges, (\d+) with points, (\d+) overlapped, (\d+) wrong", found.stdout
    )
    assert outcome is not None, found.stdout + found.stderr
    assert int(outcome[5]) == 0, found.stdout
    return int(outcome[1]), outcome[0]


@pytest.mark.parametrize("ranks", some([4, 1, 2, 3], 1))
def test_random_programs_are_those_of_one_process(ranks, told, tally):
    done, outcome = compared(ranks, 0, 10)
    tally(f"{ranks} ranks: {outcome}, traffic as predicted")
    assert done >= 5


@pytest.mark.stress
@pytest.mark.parametrize("ranks", range(1, 9))
def test_many_random_programs_are_those_of_one_process(ranks, told, tally):
    done, outcome = compared(ranks, 1000 + DRAW, 90)
    tally(f"{ranks} ranks: {outcome}, traffic as predicted")
    assert done >= 63


def test_blocks_are_read_written_and_gathered(told):
    assert told["files"] == ["right"]


@pytest.mark.stress
def test_blocks_of_four_ranks_are_read_written_and_gathered(told, tmp_path):
    assert "== files\nright\n" in job(4, "together", tmp_path).stdout


def test_a_mistake_of_one_rank_is_an_error_on_all(told):
    said = dict(line.split(": ", 1) for line in told["mistakes"])
    expected = {
        "exchanges": "rank 1 has other arguments than rank 0",
        "differs": "rank 1 has other arguments than rank 0",
        "failed on one": "steps",
        "no such file": "nothing.npy",
        "other shape": "expected (12, 12)",
        "topology": "does not fit the 2 ranks",
        "too many ranks": "fewer than the",
        "out": "takes no out and memory",
        "mixed": "some are not",
        "two topologies": "one communicator and one topology",
    }
    assert said.keys() == expected.keys()
    for name, text in expected.items():
        assert text in said[name], said[name]


def test_what_one_rank_cannot_scatter_no_rank_waits_for(told):
    assert len(told["uneven"]) == 4
    assert all("rank 0" in line for line in told["uneven"])


def test_messages_are_measured(told):
    latency, bandwidth = map(float, told["messages"][0].split())
    assert 1e-8 < latency < 10.0
    assert 1e5 < bandwidth < 1e13


def test_a_rank_that_fails_ends_the_job_with_a_message(told):
    found = job(2, "dies", "3!")
    assert found.returncode != 0
    assert "ends" not in found.stdout.splitlines()
    assert "rank 1 of 2 failed, which ends the job" in found.stdout + found.stderr


@pytest.mark.stress
@pytest.mark.parametrize("instant", range(0, 80, 4))
def test_a_rank_killed_at_any_instant_is_no_wait_for_ever(instant, told):
    assert job(3, "dies", instant).returncode != 0


def killed_and_resumed(folder: Path, instants: list[int]) -> int:
    """Kill jobs of three ranks at instants, go on with two or four. Returns how many went on from a checkpoint."""
    resumed = 0
    for number, instant in enumerate(instants):
        place = folder / str(number)
        killed = job(3, "goes_on", place, instant)
        assert killed.returncode != 0
        assert any(text in killed.stdout + killed.stderr for text in ("KILLED BY SIGNAL: 9", "BAD TERMINATION"))
        found = job(2 + 2 * (number % 2), "goes_on", place, "never")
        outcome = re.search(r"(\d+) steps before, 0 wrong", found.stdout)
        assert outcome is not None, found.stdout + found.stderr
        assert int(outcome[1]) == instant * 4 // 20 * 20
        resumed += int(outcome[1]) > 0
    return resumed


def test_a_killed_job_goes_on_with_another_number_of_ranks(told, tmp_path):
    assert killed_and_resumed(tmp_path, [17]) == 1


@pytest.mark.stress
def test_jobs_killed_at_twenty_instants_go_on(told, tmp_path, tally):
    resumed = killed_and_resumed(tmp_path, list(range(0, 40, 2)))
    tally(f"runs on ranks: 20 kills, {resumed} resumed from a checkpoint by another number of ranks, 0 cells wrong")


def test_the_command_computes_on_ranks_what_it_computes_alone(told, tmp_path):
    options = ["run", "heat2d", "--shape", "60x44", "--steps", "9", "--strict", "--threads", "1", "--json"]
    tilewright = [sys.executable, "-m", "tilewright", *options]
    environment = {**os.environ, **VARIABLES}
    parts = [COMMAND, "-n", "2", *tilewright, "--distributed", "--topology", "1x-1", "--output", tmp_path / "two.npy"]
    found = subprocess.run(parts, capture_output=True, text=True, env=environment, timeout=300, check=True)
    told = json.loads(found.stdout)
    assert told["topology"] == [1, 2]
    assert told["exchanges"] == -(-9 // told["steps_per_exchange"])
    assert CliRunner().invoke(app, [*options, "--output", str(tmp_path / "one.npy")]).exit_code == 0
    assert np.array_equal(np.load(tmp_path / "two.npy"), np.load(tmp_path / "one.npy"))


@pytest.mark.parametrize("option", [["--check"], ["--output", "u.png"], ["--topology", "axb"]])
def test_what_ranks_do_not_do_is_one_sentence(option):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    found = CliRunner().invoke(app, ["run", "heat2d", "--shape", "8x8", "--steps", "1", "--distributed", *option])
    assert found.exit_code in {1, 2}
