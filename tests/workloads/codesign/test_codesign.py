"""The verbs area and codesign, and their commands."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tilewright.base.errors import UsageError
from tilewright.cli.app import app
from tilewright.cli.codesign import area_range, axes_of, values_of
from tilewright.costs.gpu import blocks
from tilewright.costs.setting import make_setting
from tilewright.costs.time import sizes_of
from tilewright.costs.work import hexagonal
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse
from tilewright.workloads.codesign import area as area_api
from tilewright.workloads.codesign import files
from tilewright.workloads.codesign.codesign import WIDEST, codesign
from tilewright.workloads.codesign.design import Axes, DesignOptions, load_workload
from tilewright.workloads.codesign.designs import INSIGHTS
from tilewright.workloads.codesign.separable import SeparableForm

AXES = Axes(sm_count=(8, 16), vector_width=(128, 256), shared_kb=(48, 96))
SMALL = ["--axis", "sm=8,16", "--axis", "width=128,256", "--axis", "shared=48,96", "--grid", "coarse"]
FILE = """
[[stencil]]
program = "heat2d"
weight = 2
flops_per_cell = 10
sizes = [{ shape = "1024x1024", steps = 64 }, { shape = "512x512", steps = 32, weight = 0.5 }]
[[stencil]]
program = "heat3d"
sizes = [{ shape = "128x128x128", steps = 32 }]
"""


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    path = tmp_path_factory.mktemp("workload") / "mine.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def solved(workload):
    return codesign(str(workload), axes=AXES, area=(0.0, 500.0), options=DesignOptions(grid="coarse"))


def _run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_area_command():
    result = _run("area", "gtx980", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert round(document["mm2"], 2) == 397.99
    assert sum(document["parts"].values()) == pytest.approx(document["mm2"])
    assert "398.00" in _run("area", "gtx980").stdout


def test_area_check_covers_five_other_gpus_and_hides_nothing():
    rows = {many[0].machine: {one.process: one.error for one in many} for many in area_api.check()}
    assert len(set(rows) - {"gtx980", "titanx"}) >= 5
    assert rows["a100"]["none"] > 4
    assert abs(rows["a100"]["density"]) < 0.1
    assert "+434.0 %" in _run("area", "--check").stdout


def test_area_points(tmp_path):
    path = tmp_path / "cacti.csv"
    rows = [f"shared,{kb},{0.02 * kb + 0.1}" for kb in (24, 48, 96)]
    path.write_text("memory,kb,mm2\n" + "\n".join(rows) + "\n", encoding="utf-8")
    one = area_api.area("gtx980", points=area_api.read_points(path))
    assert float(one.parts.shared) == pytest.approx(16 * (0.02 * 96 + 0.1))
    assert one.lines["shared"].slope == pytest.approx(0.02)
    assert "Fitted lines" in _run("area", "gtx980", "--points", str(path)).stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memory,kb\nl1,1\n", "needs the columns memory, kb, mm2"),
        ("memory,kb,mm2\nl9,1,1\n", "'memory' of line 2 of points.csv is one of register, shared, l1, l2, got 'l9'"),
        ("memory,kb,mm2\nl1,x,1\n", "'kb' of line 2 of points.csv is a number from 0 to 1e9, got 'x'"),
        ("memory,kb,mm2\n", "are empty"),
    ],
)
def test_bad_points(tmp_path, text, message):
    path = tmp_path / "points.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        area_api.read_points(path)


def test_workloads(workload):
    assert len(load_workload("2d")) == 64
    assert len(load_workload("3d")) == 32
    cases = load_workload(str(workload))
    assert [(case.program, case.weight, case.flops_per_cell) for case in cases] == [
        ("heat2d", 2, 10),
        ("heat2d", 1, 10),
        ("heat3d", 1, 27),
    ]


def test_bad_workloads(tmp_path):
    for text, message in [
        ("x = 1", "is a list of \\[\\[stencil\\]\\] tables, got x"),
        ("[[stencil]]\nprogram = 1", "'program' of stencil 1 of w.toml is a text, got 1"),
        ('[[stencil]]\nprogram = "heat2d"\ncolour = 1', "stencil 1 of w.toml has an unknown key 'colour'"),
        ('[[stencil]]\nprogram = "heat9d"', "heat9d"),
        ('[[stencil]]\nprogram = "x.py:f"', "x.py:f"),
        ('[[stencil]]\nprogram = "heat2d"\nsizes = [{ shape = "9", steps = 8 }]', "has 2 dimensions"),
        ('[[stencil]]\nprogram = "heat2d"\nsizes = []', "has no sizes"),
        ('[[stencil]]\nprogram = "heat2d"\nweight = 0', "must have a weight above 0"),
        ('[[stencil]]\nprogram = "heat2d"\n[[stencil]]\nprogram = "heat2d"', "'heat2d' is there twice"),
        ("[[stencil]", "is not TOML"),
    ]:
        path = tmp_path / "w.toml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=message):
            load_workload(str(path))


def test_the_default_answer_is_a_chip_that_can_be_built():
    """Without the width cost the search goes as wide as its axis; with it, it stays near what was built."""
    axes, options = Axes(sm_count=(2, 4, 8, 16), shared_kb=(48, 96)), DesignOptions(grid="coarse")
    found = codesign("heat2d", axes=axes, area=(350.0, 450.0), options=options, stock=())
    assert found.exploration.width_cost
    # A Maxwell SM holds 2048 threads, and an operation takes 6 cycles: more units than a sixth of them starve.
    assert found.best.vector_width <= 2048 / 6
    assert "charged by our estimate" in found.notes[0]
    assert "by which predict orders chips otherwise" in found.notes[1]
    assert found.to_dict()["notes"] == list(found.notes)
    wide = found.charged(False)
    assert wide.best.vector_width > 1500
    assert f"nobody has built an SM of {wide.best.vector_width} units, the widest has {WIDEST}" in wide.notes[0]
    assert codesign(
        "heat2d", axes=axes, area=(350.0, 450.0), options=options, stock=(), width_cost=False
    ).best == wide.best  # fmt: skip
    published = DesignOptions(grid="coarse", form=SeparableForm(model="published"))
    paper = codesign("heat2d", axes=axes, area=(350.0, 450.0), options=published, stock=())
    assert not paper.exploration.width_cost


def test_the_document(solved):
    document = solved.to_dict()
    best = document["best"]
    assert document["designs"] == 8
    assert document["feasible"] <= 8
    assert document["area"] == {"low": 0.0, "high": 500.0}
    assert best["area"] <= 500
    assert len(best["tilings"]) == 3
    assert max(row["gflops"] for row in document["pareto"]) == best["gflops"]
    assert {row["name"] for row in document["stock"]} == {"gtx980", "titanx"}
    json.dumps({name: solved.insight(name) for name in INSIGHTS})
    # The printed tilings are what the time model charges.
    from tilewright.verbs.predict import predict

    for row in best["tilings"]:
        chip = {"sm_count": best["sm_count"], "vector_width": best["vector_width"], "shared": best["shared_kb"]}
        if (chip["sm_count"], chip["vector_width"], chip["shared"]) == (16, 128, 96):
            one = predict(
                row["program"], shape=tuple(row["shape"]), steps=row["steps"], machine="gtx980", tiling=row["tiling"]
            )
            assert one.costs.seconds == row["seconds"]


def test_the_stock_chip_costs_what_the_equations_in_exact_geometry_say(workload):
    stock = Axes(sm_count=(16,), vector_width=(128,), shared_kb=(96,))
    one = codesign(str(workload), axes=stock, area=(0.0, 500.0), options=DesignOptions(grid="coarse"))
    for row in one.tilings(one.best):
        setting = make_setting(make_problem(program(row["program"]), tuple(row["shape"]), row["steps"]), load("gtx980"))
        sizes = sizes_of(parse(row["tiling"]), setting)
        said = blocks.evaluate(hexagonal.blocks(sizes, setting.facts), sizes.k, setting.facts, setting.rates)
        assert said.seconds[0] == row["seconds"]


def test_tables_are_weighed_again_without_solving(solved, tmp_path):
    path = tmp_path / "tables.npz"
    files.save(solved, path)
    again = files.load(path)
    assert again.to_dict() == solved.to_dict()
    assert again.reweighted({"heat3d": 1.0}).to_dict() == solved.reweighted({"heat3d": 1.0}).to_dict()


def test_torn_tables_are_refused(solved, tmp_path):
    path = tmp_path / "tables.npz"
    files.save(solved, path)
    data = path.read_bytes()
    random = np.random.default_rng(1)
    for cut in [0, 1, 10, len(data) // 2, len(data) - 1]:
        path.write_bytes(data[:cut])
        with pytest.raises(UsageError):
            files.load(path)
    for position in random.integers(0, len(data), 40).tolist():
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x40]) + data[position + 1 :])
        try:
            again = files.load(path)
        except UsageError:
            continue
        assert again.to_dict() == solved.to_dict()


def test_files_are_written(solved, tmp_path):
    written = files.write(solved, tmp_path / "out")
    assert [path.name for path in written] == ["designs.png", "shares.png", "sensitivity.csv", "designs.csv"]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    rows = written[2].read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[0] for row in rows] == ["stencil", "heat2d", "heat3d"]
    panels = files.panels(solved)
    assert [panel.title for panel in panels] == ["heat2d", "heat3d"]
    for panel in panels:
        assert panel.gflops[panel.pareto].max() == panel.gflops.max()
        assert ((panel.shared > 0) & (panel.shared + panel.vector < 1)).all()


def test_the_energy_metrics(workload):
    common = {"axes": AXES, "area": (0.0, 500.0), "energy": "k20c"}
    time = codesign(str(workload), axes=AXES, area=(0.0, 500.0), options=DesignOptions(grid="coarse"))
    energy = codesign(str(workload), options=DesignOptions(grid="coarse", metric="energy"), **common)
    edp = codesign(str(workload), options=DesignOptions(grid="coarse", metric="edp"), **common)
    assert energy.best.joules <= edp.best.joules
    assert time.best.seconds <= edp.best.seconds
    assert (energy.table.seconds >= time.table.seconds).all()
    with pytest.raises(UsageError, match="the energies of gtx980 are not known: it has no static_watts"):
        codesign(str(workload), options=DesignOptions(metric="energy"))


def test_the_commands(workload, tmp_path):
    tables = tmp_path / "t.npz"
    result = _run(
        "codesign", "--workload", str(workload), "--area", "500", *SMALL, "--insight", "all", "--save", str(tables)
    )
    assert result.exit_code == 0, result.stderr
    for title in ("Pareto-optimal", "table C.2", "Shared memory per SM", "powered down", "What one more mm^2 buys"):
        assert title in result.stdout
    assert "note: the width of an SM is charged by our estimate" in result.stdout
    assert "note: docs/codesign.md (Insights) says which" in result.stdout
    plain = json.loads(_run("codesign", "--tables", str(tables), "--area", "500", "--no-width-cost", "--json").stdout)
    assert plain["assumptions"]["width_cost"] is False
    again = _run("codesign", "--tables", str(tables), "--area", "500", "--weight", "heat3d=1", "--json")
    document = json.loads(again.stdout)
    assert document["weights"] == {"heat3d": 1.0}
    assert len(document["best"]["tilings"]) == 1
    unused = _run("codesign", "--tables", str(tables), "--area", "500", "--metric", "energy")
    assert unused.exit_code == 2
    assert "--tables weighs what is solved, so it does not go with --metric" in unused.stderr


def test_bad_input_is_one_sentence():
    for arguments, message in [
        (["--area", "650:200"], "the area goes from a lower to an upper bound, got 650:200 mm^2"),
        (["--area", "1:2"], "none of the 13312 designs has an area of 1 to 2 mm^2"),
        (["--workload", "heat9d"], "there is no workload 'heat9d'"),
        (["--axis", "sm=32:2:2"], "FIRST:LAST:STEP"),
        (["--axis", "colour=1"], "an axis is NAME=VALUES"),
        (["--axis", "sm=1:99999:1"], "an axis has at most 4096 values"),
        (["--machine", "host"], "codesign varies a GPU, host is a cpu"),
        (["--machine", "k20c"], "k20c has no area coefficients"),
        (["--weight", "heat2d"], "a weight is NAME=NUMBER, got 'heat2d'"),
        (["--insight", "magic"], "the insight is one of"),
        (["--model", "magic"], "the model is one of exact, published, got 'magic'"),
        (["--scope", "magic"], "the scope of the bandwidth is one of device, per_sm, got 'magic'"),
    ]:
        result = _run("codesign", *arguments)
        assert result.exit_code == 2, (arguments, message)
        assert message in result.stderr, (arguments, message)
        assert len(result.stderr.splitlines()) <= 2, (arguments, message)


def test_parsing():
    assert area_range("450") == (0.0, 450.0)
    assert values_of("24,12,48:480:48") == (12.0, 24.0, *(48.0 * i for i in range(1, 11)))
    assert axes_of([], caches=True).l1_pair_kb == (48.0,)
    assert axes_of(["width=64"], caches=False).vector_width == (64,)
