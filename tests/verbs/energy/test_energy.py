"""Energy, fits from files, bottlenecks and what-if sweeps, and their commands."""

import importlib
import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from tilewright.base.errors import UsageError
from tilewright.cli.app import app
from tilewright.costs.energy.constants import NAMES, constants
from tilewright.costs.energy.price import price
from tilewright.inputs.stencil import stencil
from tilewright.machines.files import load, parse, to_toml
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import NONE
from tilewright.tuning.stencil import on_machine
from tilewright.verbs.bottleneck import explain
from tilewright.verbs.energy.energy import compare, energy
from tilewright.verbs.energy.runs import FitRun, fit_energy, read_runs, run_usage, with_fit, write_runs
from tilewright.verbs.predict import predict, select
from tilewright.verbs.tuning.supertune import supertune
from tilewright.verbs.tuning.tune import tune
from tilewright.verbs.whatif import VARIED, largest_shape, reuse, whatif

CASE = {"shape": (64, 64), "steps": 32, "machine": "k20c"}
ARGUMENTS = ["--shape", "64x64", "--steps", "32", "--machine", "k20c"]


def _run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def _document(*arguments):
    result = _run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_every_metric_is_the_least_of_all_tilings():
    case = {**CASE, "shape": (4096,)}
    every = select("jacobi1d", **case, within=None)
    found = compare("jacobi1d", **case)
    assert found.points == len(every)
    costs = [each.costs for each in every]
    least = {
        "time": min(c.seconds for c in costs),
        "traffic": min(c.dram_bytes for c in costs),
        "energy": min(c.joules for c in costs),
        "power": min(c.joules / c.seconds for c in costs),
        "edp": min(c.joules * c.seconds for c in costs),
        "ed2p": min(c.joules * c.seconds**2 for c in costs),
    }
    best = dict(found.best)
    assert best["time"].seconds == pytest.approx(least["time"])
    assert best["traffic"].dram_bytes == pytest.approx(least["traffic"])
    assert best["energy"].joules == pytest.approx(least["energy"])
    assert best["power"].watts == pytest.approx(least["power"])
    assert best["edp"].joules * best["edp"].seconds == pytest.approx(least["edp"])
    assert best["ed2p"].joules * best["ed2p"].seconds ** 2 == pytest.approx(least["ed2p"])
    for metric in least:
        assert select("jacobi1d", **case, within=None, metric=metric, top=1)[0].tiling == best[metric].tiling
    assert found.front[0].seconds == least["time"]
    assert found.front[-1].joules == pytest.approx(least["energy"], rel=1e-12)


def test_a_cap_and_clocks():
    free = compare("heat2d", **CASE, coarse=True)
    fastest = dict(free.best)["time"]
    capped = compare("heat2d", **CASE, coarse=True, cap=0.8 * fastest.watts).capped
    assert capped.watts <= 0.8 * fastest.watts
    assert capped.seconds >= fastest.seconds
    assert compare("heat2d", **CASE, coarse=True, cap=1.0).capped is None
    clocked = compare("heat2d", **CASE, coarse=True, clocks=(0.5, 1.0))
    assert clocked.points == 2 * free.points
    assert dict(clocked.best)["energy"].joules <= dict(free.best)["energy"].joules
    assert dict(clocked.best)["time"].clock == 1.0


def test_power_above_the_boards_is_never_silent(tmp_path):
    weak = replace(load("k20c"), name="weak", tdp_watts=replace(load("k20c").tdp_watts, value=50.0))
    path = tmp_path / "weak.toml"
    path.write_text(to_toml(weak))
    arguments = [*ARGUMENTS[:-1], str(path)]
    says = "is above the board's 50 W"
    for command in (["predict"], ["energy"], ["whatif", "--vary", "clock", "--factors", "1.2"]):
        words = [command[0], "jacobi2d", *arguments, *command[1:]]
        assert says in _run(*words).output, command
        assert says in json.dumps(_document(*words)), command
    comparison = _document("energy", "jacobi2d", *arguments)["comparison"]
    assert comparison["board_watts"] == 50.0
    most = max(point["watts"] for point in [*comparison["best"].values(), *comparison["pareto"]])
    assert comparison["warning"].startswith(f"predicted power {most:.4g} W is above")
    assert "board's" not in _run("energy", "jacobi2d", *ARGUMENTS, "--tile", "none").output
    assert predict("jacobi2d", **{**CASE, "machine": weak}).notes[-1].endswith("too large")


def test_a_chip_that_is_varied_keeps_its_energies_per_operation():
    found = whatif("heat2d", **{**CASE, "machine": "h200"}, vary="sms", factors=(4.0,))
    one, four = (row.costs for row in found.rows)
    assert (one.energy.arithmetic / one.usage.adds) == pytest.approx(four.energy.arithmetic / four.usage.adds)
    assert (one.energy.off_chip / one.usage.global_words) == pytest.approx(
        four.energy.off_chip / four.usage.global_words
    )


def test_the_answer_says_whether_the_fastest_takes_the_least():
    found = compare("jacobi2d", shape=(1024, 1024), steps=64, machine="gtx980")
    assert found.extra_joules == 0
    assert found.answer().endswith("also takes the least energy")
    found = compare("jacobi2d", shape=(512, 512), steps=128, machine="k20c")
    assert found.extra_joules > 0
    assert found.answer().startswith("no: the fastest tile, streaming:")
    assert f"{100 * found.extra_joules:.1f} % more energy" in found.answer()
    same = replace(found, best=tuple((name, found.best[0][1]) for name, _ in found.best))
    assert same.answer().endswith("also takes the least energy")


def test_energy_agrees_with_the_prediction_also_in_blocks_and_as_published():
    for extra in ({}, {"boundary": "wrap"}, {"model": "published"}):
        one = energy("heat2d", **CASE, **extra)
        costs = predict("heat2d", **CASE, tiling=one.tiling, **extra).costs
        assert one.energy.joules == pytest.approx(costs.joules, rel=1e-12)
        assert one.energy == costs.energy
    measured = energy("heat2d", **CASE, tiling="hybrid:t=8,s=8x32", seconds=2.0)
    assert measured.energy.static == 96.0
    assert measured.to_dict()["constants"]["static_watts"]["source"] == "paper"


def test_the_time_of_printed_tiles_is_predicted_unless_it_was_measured():
    case = {"shape": (4096,), "steps": 64, "machine": "k20c", "tiling": "skewed:t=8,s=64,sub=32"}
    found, given = energy("jacobi1d", **case), energy("jacobi1d", **case, seconds=2.0)
    assert found.seconds == predict("jacobi1d", **case).costs.seconds
    assert given.energy.static == pytest.approx(found.energy.static * 2.0 / found.seconds)


def test_what_has_no_energy_is_one_sentence():
    with pytest.raises(UsageError, match="a measured time is above 0 s, got 0"):
        energy("heat2d", **CASE, seconds=0.0)
    with pytest.raises(UsageError, match="a power cap is above 0 W"):
        compare("heat2d", **CASE, coarse=True, cap=-1.0)


@pytest.fixture
def runs():
    random = np.random.default_rng(7)
    found = []
    for number in range(90):
        t, s, sub = (int(2 ** random.integers(low, high)) for low, high in ((3, 8), (5, 10), (2, 5)))
        name, shape, steps, tile = (
            ("smith_waterman", (4096, 8192), 1, f"orthogonal:t={t},s={s},sub={sub}"),
            ("jacobi1d", (2**20,), 1024, f"skewed:t={t},s={s},sub={sub}"),
            ("jacobi2d", (4096, 4096), 256, f"hybrid:t={min(t, 32)},s={s % 29 + 1}x{32 * sub}"),
        )[number % 3]
        seconds = float(10 ** random.uniform(-2, 0))
        run = FitRun(program=name, shape=shape, steps=steps, tiling=tile, seconds=seconds, joules=1.0)
        joules = price(run_usage(run, load("k20c")), constants(load("k20c-regression"))).joules
        found.append(replace(run, joules=joules * float(np.exp(random.normal(0.0, 0.02)))))
    return tuple(found)


def test_a_fit_from_a_file_beats_other_constants_on_runs_held_out(runs, tmp_path):
    path = tmp_path / "runs.csv"
    write_runs(runs, path)
    assert read_runs(path) == runs
    fit = fit_energy(read_runs(path), "k20c", train=0.5)
    scores = dict(fit.held_out)
    assert scores["all"].runs == 45
    assert scores["all"].fitted < 0.05
    assert scores["all"].fitted < scores["all"].machine
    assert fit.to_dict()["alike"] == [["int_add_joules", "int_max_joules"]]
    machine = with_fit("k20c", fit)
    assert parse(to_toml(machine), "copy") == machine
    assert machine.int_add_joules.note.endswith("only a combination of int_add_joules, int_max_joules is determined")
    assert {getattr(machine, name).source for name in NAMES[:7]} == {"measured"}


def test_the_energy_commands(runs, tmp_path):
    path, target = tmp_path / "runs.csv", tmp_path / "fitted.toml"
    write_runs(runs, path)
    fitted = _document("energy", "--fit", path, "--train", "0.5", "-o", target)
    assert fitted["held_out"]["all"]["fitted"] < 0.05
    one = _document("energy", "jacobi2d", *ARGUMENTS[:-1], target)
    assert one["source"] == "measured"
    assert one["comparison"]["best"]["energy"]["joules"] <= one["joules"]
    tile = _document("energy", "jacobi2d", *ARGUMENTS, "--tile", "hybrid:t=8,s=8x32", "--model", "published")
    assert tile["joules"] == pytest.approx(tile["static"] + tile["off_chip"] + tile["on_chip"] + tile["arithmetic"])
    for metric in ("energy", "power", "edp", "ed2p"):
        assert len(_document("predict", "jacobi2d", *ARGUMENTS, "--metric", metric, "--top", "3")["candidates"]) == 3
    result = _run("energy", "jacobi2d", *ARGUMENTS, "--cap", "1", "--clocks", "0.5,1")
    assert result.exit_code == 0
    assert "nothing is within it" in result.output
    assert _run("energy").exit_code == 2
    assert _run("energy", "jacobi2d", *ARGUMENTS, "--clocks", "fast").exit_code == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--fit", "runs.csv", "--tile", "none"),
            "--fit takes metered runs from a file, so it does not go with --tile",
        ),
        (("--train", "0.5"), "--train, --seed and --output go with --fit"),
        (("--output", "fitted.toml"), "--train, --seed and --output go with --fit"),
        (("--append", "runs.csv"), "--append goes with --meter"),
        (("--fit", "runs.csv"), "--fit takes metered runs from a file, so it does not go with --shape"),
        (("--meter", "rapl", "--boundary", "wrap"), "--meter measures, so it does not go with --boundary"),
        (("--meter", "rapl", "--cap", "9"), "--meter measures, so it does not go with --cap"),
        (("--tile", "none", "--cap", "9"), "--tile names one tiling, so there is none to choose by --cap"),
    ],
)
def test_options_of_another_kind_of_energy_are_refused(options, sentence):
    result = _run("energy", "jacobi2d", *ARGUMENTS, *options)
    assert result.exit_code == 2
    assert sentence in result.output


def test_a_fit_takes_its_programs_from_the_runs():
    for further, sentence in (((), "leave 'jacobi2d' out"), (("--clocks", "0.5"), "it does not go with --clocks")):
        result = _run("energy", "jacobi2d", "--fit", "runs.csv", *further)
        assert result.exit_code == 2
        assert sentence in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("program,shape\nheat2d,4x4\n", "needs the columns program, shape, steps, tiling"),
        (
            "program,shape,steps,tiling,seconds,joules\nheat2d,4x4,8,none,1,-1\n",
            "'joules' of line 2 of runs.csv is a finite number above 0",
        ),
        (
            "program,shape,steps,tiling,seconds,joules\nheat2d,4x4,x,none,1,1\n",
            "'steps' of line 2 of runs.csv is a whole number, got 'x'",
        ),
    ],
)
def test_bad_files_of_runs(tmp_path, text, message):
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_runs(path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_runs(tmp_path / "absent.csv")


def test_an_explanation_names_what_is_saturated():
    case = {**CASE, "shape": (1024, 1024)}
    one = predict("jacobi2d", **case, tiling="hybrid:t=16,s=16x64", model="published")
    found = explain(one)
    uses = {each.name: each for each in found.resources}
    assert uses["on-chip memory"].use == one.costs.tiles_per_sm * one.costs.tile_shared_bytes / 49152
    assert uses["vector units"].use == pytest.approx(found.ideal_seconds / one.costs.seconds)
    assert uses["memory"].use == pytest.approx(one.costs.dram_bytes / 156e9 / one.costs.seconds)
    assert all(each.slack == pytest.approx(max(0.0, 1.0 - each.use)) for each in found.resources)
    assert dict(found.k_effect)[one.costs.tiles_per_sm] == one.costs.seconds
    assert len(found.k_effect) == one.costs.tiles_per_sm
    assert found.overhead == pytest.approx(one.costs.seconds / found.ideal_seconds - 1)
    assert found.printed_overhead == pytest.approx(13 * 192 / 1024 / (16 + 8))  # (8.5) over (8.3)
    threads = explain(predict("jacobi2d", **case, tiling="hybrid:t=16,s=16x64"))
    assert {"chains of a thread", "vector units", "shared memory ports", "L2"} < {
        each.name for each in threads.resources
    }
    assert threads.printed_overhead is None
    assert threads.overhead > 0
    untiled = explain(predict("jacobi2d", **case, tiling="none"))
    assert untiled.k_effect == ()
    assert untiled.printed_overhead is None


def test_more_bandwidth_helps_what_memory_binds():
    starved = replace(load("k20c"), dram_bandwidth=replace(load("k20c").dram_bandwidth, value=1e9, low=None, high=None))
    one = predict("jacobi2d", shape=(1024, 1024), steps=128, machine=starved, tiling="none")
    found = explain(one)
    assert found.saturated == ("memory", "multiprocessors")
    assert found.speedups[0] == ("twice the bandwidth", pytest.approx(2.0, rel=0.01))


@pytest.mark.parametrize("vary", VARIED)
def test_sweeps_choose_again_at_every_point(vary):
    found = whatif("heat2d", **CASE, vary=vary, factors=(0.5, 1.5))
    assert [row.factor for row in found.rows] == [0.5, 1.0, 1.5]
    unmoved = next(row for row in found.rows if row.factor == 1.0)
    assert unmoved.reuse_loss == 0.0
    assert all(row.reuse_loss is None or row.reuse_loss >= 0.0 for row in found.rows)
    assert all(0.0 < row.efficiency <= 1.0 for row in found.rows)
    seconds = [row.costs.seconds for row in found.rows]
    grows = vary in {"size", "steps", "launch"}
    assert seconds == sorted(seconds, reverse=not grows)


def test_a_sweep_keeps_its_tiling_where_the_coarse_grid_has_only_worse_ones(monkeypatch):
    """The grid of sizes moves with the problem: the tiling of factor 1 may be better than all of it."""
    module = importlib.import_module("tilewright.verbs.whatif")  # the package has a function of that name
    ranked, bases = module._best, []

    def best(work, metric):
        if not bases:
            bases.append(ranked(work, metric))
            return bases[0]
        return NONE, work.expected(NONE)

    monkeypatch.setattr(module, "_best", best)
    _, row = whatif("heat2d", shape=(1024, 1024), steps=64, machine="k20c", vary="size", factors=(1.0, 1.5)).rows
    assert bases[0][0] != NONE
    assert row.tiling == bases[0][0]
    assert row.reuse_loss == 0.0


def test_sweeps_say_where_efficiency_drops():
    found = whatif("heat2d", shape=(8192, 8192), steps=128, machine="gtx980", vary="size", factors=(0.01,))
    assert found.drops_at == ("82x82",)


def test_the_largest_problem_fits_and_no_larger_one():
    machine, problem = load("k20c"), make_problem(program("heat2d"), (1000, 2000), 8)
    first, second = largest_shape(on_machine(problem, machine))
    assert 2 * 4 * first * second <= machine.memory_bytes.value < 2 * 4 * (first + 1) * (second + 2)
    assert largest_shape(on_machine(problem, replace(machine, memory_bytes=None))) is None


def test_the_loss_of_another_programs_tiling():
    lost = reuse(["jacobi2d", "gradient2d", "heat2d"], **CASE, metric="energy")
    assert all(lost[name][name] == 0.0 for name in lost)
    assert min(value for row in lost.values() for value in row.values() if value is not None) >= 0.0
    assert lost["heat2d"]["jacobi2d"] > 0.0


@pytest.mark.parametrize(
    "programs", [program("jacobi2d"), stencil(lambda u: u[-1, 0] + u[1, 0]), "jacobi2d", ["jacobi2d"]]
)
def test_reuse_needs_two_programs(programs):
    with pytest.raises(UsageError, match="give two programs or more, as a list"):
        reuse(programs, **CASE)


@pytest.mark.parametrize("vary", ["size", "sms", "bandwidth"])
def test_sweeps_of_tables_choose_again_at_every_point(vary):
    found = whatif("smith_waterman", shape=(600, 400), machine="k20c", vary=vary, factors=(0.5, 1.5))
    assert [row.factor for row in found.rows] == [0.5, 1.0, 1.5]
    same = next(row for row in found.rows if row.factor == 1.0)
    best = predict("smith_waterman", shape=(600, 400), steps=1, machine="k20c")
    assert (same.tiling, same.costs.seconds, same.reuse_loss) == (best.tiling, best.costs.seconds, 0.0)
    assert all(row.reuse_loss is None or row.reuse_loss >= 0.0 for row in found.rows)
    assert all(0.0 < row.efficiency <= 1.0 for row in found.rows)
    seconds = [row.costs.seconds for row in found.rows]
    assert seconds == sorted(seconds, reverse=vary not in {"size", "launch"})
    rows, columns = found.largest
    assert 3 * 4 * rows * columns <= load("k20c").memory_bytes.value < 3 * 4 * (rows + 2) * (columns + 1)


def test_a_tile_that_no_longer_fits_has_no_loss():
    found = whatif("lcs", shape=(400, 400), machine="k20c", vary="shared", factors=(0.02,))
    assert found.rows[0].reuse_loss is None
    assert found.rows[0].costs.tile_shared_bytes <= 0.02 * 49152


@pytest.mark.parametrize("ask", [tune, supertune])
def test_recurrences_are_not_tuned_and_say_so(ask):
    with pytest.raises(UsageError, match="'smith_waterman' is a recurrence, which"):
        ask("smith_waterman", shape=(9, 9), steps=1, machine="k20c")


def test_what_cannot_be_varied_is_one_sentence():
    with pytest.raises(UsageError, match=r"what is varied is one of size, .*, got 'colour'"):
        whatif("heat2d", **CASE, vary="colour")
    with pytest.raises(UsageError, match="factors above 0"):
        whatif("heat2d", **CASE, vary="size", factors=(-1.0,))
    with pytest.raises(UsageError, match="the metric is one of"):
        whatif("heat2d", **CASE, vary="size", metric="beauty")


@pytest.mark.parametrize("machine", ["gtx980", "k20c", "h200"])
def test_more_on_chip_memory_is_never_slower(machine):
    one = predict("heat2d", **{**CASE, "machine": machine})
    factors = dict(explain(one).speedups)
    assert factors["twice the on-chip memory"] >= 1.0


def test_the_commands_explain_and_whatif(tmp_path):
    why = _document("predict", "heat2d", *ARGUMENTS, "--explain")["explanation"]
    assert {each["name"] for each in why["resources"]} >= {"memory", "vector units", "on-chip memory"}
    assert _document("predict", "heat2d", *ARGUMENTS, "--metric", "energy", "--explain")["explanation"]
    explained = _run("predict", "heat2d", *ARGUMENTS, "--explain").output
    assert "bottlenecks" in explained
    assert "work: the share of the time that a resource is busy" in explained
    picture = tmp_path / "sweep.png"
    swept = _document("whatif", "heat2d", *ARGUMENTS, "--vary", "sms", "--reuse", "gradient2d", "--plot", picture)
    assert swept["reuse"]["heat2d"]["heat2d"] == 0.0
    assert picture.stat().st_size > 0
    assert "re-use" in _run("whatif", "heat2d", *ARGUMENTS, "--factors", "0.5,2").output
    assert _run("whatif", "heat2d", *ARGUMENTS, "--factors", "much").exit_code == 2
