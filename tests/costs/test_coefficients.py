"""The CPU models' empirical coefficients are the machine's: what its file says moves predictions and choices."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.costs.setting import make_setting
from tilewright.costs.time import predict, run_seconds
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.files import load, parse, to_toml
from tilewright.machines.machine import PARAMETERS
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse as parse_tiling
from tilewright.tuning.choice import choose_blocks, choose_tiling
from tilewright.tuning.ranking import evaluated, families_of
from tilewright.workloads.tables import alignment_costs as alignment
from tilewright.workloads.tables import costs as orthogonal
from tilewright.workloads.tables import orthogonal as tiles
from tilewright.workloads.tables.catalogue import recurrence_named

HOST = host_machine(
    CpuDescription(cores=2, simd_bits=512, l1_bytes=2**15, l2_bytes=2**20, l3_bytes=2**25, clock_hz=2.6e9)
)
COEFFICIENTS = [name for name, each in PARAMETERS.items() if each.estimate is not None and HOST.kind in each.kinds]
ELSEWHERE = re.compile(
    "alignment_|halo_|periodic_|disk_|network_|row_p|chain_|function_|outer_latency|short_row|inplace_|diagonal_|block_call"
)
MOVING = [name for name in COEFFICIENTS if not ELSEWHERE.match(name)]
"""Those on which predictions of stencils in tiles hang."""
CASES = (("j2d5pt", (4096, 4096)), ("wave2d", (1024, 1024)), ("gradient2d", (2048, 2048)), ("j3d7pt", (160, 160, 160)))
RECORDED = Path(__file__).parents[2] / "benchmarks" / "results" / "sweeps" / "j2d5pt.host.toml"
"""A calibration of a Zen 4, AVX-512, from before machines had coefficients."""
MORE_ROOM = ("cache_fraction", "l3_tile_fraction", "l3_grid_fraction", "l3_reuse_fraction")
MORE_OVERLAP = ("overlap_exponent", "l3_overlap_exponent")
EITHER_WAY = ("l2_ways", "l3_ways")


def moved(machine, name, factor):
    quantity = getattr(machine, name)
    return replace(machine, **{name: replace(quantity, value=factor * quantity.value, low=None, high=None)})


def predictions(machine):
    """Seconds of a run in all families' tiles, for all cases."""
    found = []
    for name, shape in CASES:
        problem = make_problem(program(name), shape, 32)
        setting = make_setting(problem, machine)
        for family in families_of(problem, setting, "exact"):
            _, result = evaluated(setting, family, "exact", coarse=True)
            found.append(run_seconds(family, result.seconds, setting))
    return np.concatenate(found)


@pytest.fixture(scope="module")
def usual():
    return predictions(HOST)


def test_every_coefficient_of_a_machine_moves_its_predictions(usual):
    for name in MOVING:
        change = predictions(moved(HOST, name, 2.0 if name in EITHER_WAY else 1.2)) / usual - 1.0
        assert np.abs(change).max() > 1e-4, name
        if name not in EITHER_WAY:
            sign = -1 if name in (*MORE_ROOM, *MORE_OVERLAP) else 1
            assert (sign * change).min() > -1e-9, name


def test_pieces_that_wait_are_the_machines():
    problem = make_problem(program("gradient2d"), (64, 64), 4)
    seconds = [make_setting(problem, each).rates.cut_seconds for each in (HOST, moved(HOST, "inplace_cut_cycles", 2.0))]
    assert seconds[1] == pytest.approx(2 * seconds[0])


@pytest.mark.parametrize("name", ["halo_bandwidth", "block_call_seconds", "halo_seconds_2d"])
def test_blocks_of_periodic_grids_cost_what_the_machine_says(name):
    problem = make_problem(program("j2d5pt"), (4096, 4096), 200, boundary="wrap")
    times = [choose_blocks(problem, each).costs.seconds for each in (HOST, moved(HOST, name, 0.5))]
    assert (times[1] > times[0]) == (name == "halo_bandwidth")
    assert times[1] != times[0]


def test_a_machine_may_ask_more_of_blocks_and_of_time_tiles():
    problem = make_problem(program("j2d5pt"), (4096, 4096), 200, boundary="wrap")
    assert choose_blocks(problem, HOST) is not None
    assert choose_blocks(problem, moved(HOST, "periodic_threshold_2d", 0.1)) is None
    plain = make_problem(program("j2d5pt"), (4096, 4096), 200)
    assert choose_tiling(plain, HOST).family != "none"
    assert choose_tiling(plain, moved(HOST, "uncalibrated_margin", 20.0)).family == "none"


ALIGNMENT = ("row_starts", "widened_fraction", "traced_cycles", "visit_seconds")


@pytest.mark.parametrize("name", [f"alignment_{each}" for each in ALIGNMENT])
def test_alignments_cost_what_the_machine_says(name):
    times = [
        alignment.times(
            alignment.AlignmentCase(lengths=(5000, 6000), letters=20, traced=True, machine=each), 1000, 1024
        ).seconds
        for each in (HOST, moved(HOST, name, 2.0))
    ]
    assert times[1] > times[0]


def test_anti_diagonals_of_tables_cost_what_the_machine_says():
    table = recurrence_named("smith_waterman")
    tiling = tiles.complete_table(table, parse_tiling("orthogonal:t=64,s=128"))
    times = [
        orthogonal.predict(orthogonal.make_case(table, (3000, 3000), "int32", each), tiling).seconds
        for each in (HOST, moved(HOST, "diagonal_row_starts", 2.0))
    ]
    assert times[1] > times[0]


def test_files_without_coefficients_have_the_estimates(tmp_path):
    lines = to_toml(HOST).splitlines()
    old = [line for line in lines if line.partition(" =")[0] not in COEFFICIENTS]
    assert len(lines) - len(old) == len(COEFFICIENTS)
    (tmp_path / "old.toml").write_text("\n".join(old), encoding="utf-8")
    assert load(str(tmp_path / "old.toml")) == HOST


def test_calibrations_of_before_are_read():
    assert "cache_fraction" not in RECORDED.read_text(encoding="utf-8")
    machine = load(str(RECORDED))
    assert all(getattr(machine, name) == getattr(HOST, name) for name in MOVING)
    assert machine.known()["strategy_margin"].source == "estimated"


def test_a_file_may_say_them_and_gpus_have_none():
    text = re.sub(
        r"(?m)^strategy_margin = .*$", 'strategy_margin = { value = 3, unit = "1", source = "measured" }', to_toml(HOST)
    )
    assert parse(text, "here").strategy_margin.value == 3
    gpu = load("gtx980")
    assert not set(gpu.known()) & {"strategy_margin", "cache_fraction"}
    assert "strategy_margin" not in to_toml(gpu)


@pytest.mark.parametrize("name", ["vector_width", "shared_bytes", "clock"])
def test_what_a_catalogue_cpu_has_moves_its_predictions(name):
    zen3 = load("zen3")
    assert zen3.vector_width.value == 8
    problem = make_problem(program("fdtd2d"), (2048, 2048), 100)  # three fields, whose tiles need both caches

    def seconds(machine):
        return predict(problem, choose_tiling(problem, machine), machine).seconds

    assert seconds(moved(zen3, name, 0.5)) > 1.02 * seconds(zen3)


def test_another_cpu_is_given_other_tiles():
    wide, zen3 = load(str(RECORDED)), load("zen3")
    problems = [make_problem(program(name), shape, 100) for name, shape in CASES]
    chosen = {machine.name: [choose_tiling(each, machine) for each in problems] for machine in (wide, zen3)}
    assert chosen["host"] != chosen["zen3"]
    # Half the lanes: more arithmetic runs beside the lines of a row, so that rows that L1 does not hold cost less.
    assert chosen["zen3"][0].space[-1] > chosen["host"][0].space[-1]
    larger = replace(zen3, vector_width=wide.vector_width, shared_bytes=wide.shared_bytes)
    assert choose_tiling(problems[0], larger).space[-1] < chosen["zen3"][0].space[-1]


def test_carries_of_the_first_vectors_of_a_row_are_waited_for():
    """Further ones are hidden behind what the vectors before them compute."""
    case = alignment.AlignmentCase(lengths=(5000, 6000), letters=20, traced=False, machine=HOST)
    lanes, carried = int(HOST.vector_width.value) * 2, 4
    seconds = [alignment._row_seconds(case, lanes * vectors) for vectors in range(2, 9)]
    early, late = np.split(np.diff(seconds), [carried - 2])
    np.testing.assert_allclose(early, early[0], rtol=1e-9)
    np.testing.assert_allclose(late, late[0], rtol=1e-9)
    assert early[0] > 1.05 * late[0]
