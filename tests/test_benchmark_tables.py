"""The tables of the documentation say what the records say, and every page gets those that it asks for."""

import doctest
import functools
import importlib.util
import json
import re
from pathlib import Path

import pytest

import tilewright

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tables():
    """The module, whose tables are made once, that of energy for two programs of six."""
    spec = importlib.util.spec_from_file_location("tables", ROOT / "benchmarks" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.TABLES = {name: functools.cache(make) for name, make in module.TABLES.items()}
    energy = module.experiment("energy_choice")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(energy, "CASES", {name: energy.CASES[name] for name in ("jacobi1d", "heat3d")})
        yield module


def _cells(text):
    """Rows of the tables in a text, without heads."""
    lines = [
        line.removeprefix("| ").removesuffix(" |").split(" | ") for line in text.splitlines() if line.startswith("|")
    ]
    heads = [number for number, line in enumerate(lines) if set(line) == {"---"}]
    return [line for number, line in enumerate(lines) if number not in heads and number + 1 not in heads]


def _record(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def test_the_examples_of_the_module(tables):
    assert doctest.testmod(tables).failed == 0


def test_whole_runs_are_those_of_the_records(tables):
    rows = _cells(tables.whole_runs())
    cases = _record("cpu_float32")["cases"] + _record("cpu_float64")["cases"]
    assert len(rows) == len(cases)
    for row, case in zip(rows, cases, strict=True):
        ours = case["contenders"]["tilewright"]
        assert row[0].split()[0] == case["case"]["program"]
        assert float(row[1]) == pytest.approx(ours["gcells_per_second"], abs=0.051)
        assert float(row[4].split()[0]) == pytest.approx(ours["against_naive"]["median"], abs=0.0051)
        assert row[6] == f"`{ours['describe']['tiling']}`"


def test_readme_says_the_least_and_the_most_of_whole_runs(tables):
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    cases = {
        case["case"]["program"]: case["contenders"]["tilewright"]
        for name in ("cpu_zen3", "cpu_2d_zen3")  # the picture takes a program from the newest record that has it
        for case in _record(name)["cases"]
    }
    naive, other = ([each[key]["median"] for each in cases.values()] for key in ("against_naive", "against_best_peer"))
    assert f"four programs run {min(other):.1f} to {max(other):.1f} times as fast as" in text
    assert f"and {min(naive):.1f} to {max(naive):.1f} times as fast as plain C" in text
    assert len(cases) == 4

    earlier = [float(row[5].split()[0]) for row in _cells(tables.whole_runs()) if row[0].endswith("float32")]
    assert f"twelve programs on a Zen 4 with AVX-512 at {min(earlier):.1f} to {max(earlier):.1f} times" in text
    assert len(earlier) == 12


def test_sizes_has_every_case(tables):
    assert tables.sizes().count("(") == len(_record("cpu_sizes")["cases"])


def test_boundaries_hold_the_least_and_the_most_of_all_cases(tables):
    bounds = [
        float(number)
        for number in re.findall(r"\d\.\d\d", " ".join(" ".join(r[2:]) for r in _cells(tables.boundaries())))
    ]
    ratios = [case["against_naive"]["median"] for case in _record("cpu_boundaries")["cases"]]
    assert min(bounds) == pytest.approx(min(ratios), abs=0.0051)
    assert max(bounds) == pytest.approx(max(ratios), abs=0.0051)


def test_the_least_cases_are_in_order(tables):
    found = [float(row[3].split()[0]) for row in _cells(tables.least())]
    cases = _record("cpu_sizes")["cases"] + _record("cpu_boundaries")["cases"]
    assert found == sorted(round(case["against_naive"]["median"], 2) for case in cases)[: len(found)]


def test_every_damaged_cache_has_an_outcome(tables):
    rows = _cells(tables.caches())
    cases = [case for subject in _record("caches")["subjects"] for case in subject["cases"]]
    assert sum(int(number) for row in rows for number in row[2:6]) == len(cases)
    assert sum(int(row[7]) for row in rows) == sum(case["second"] != "right" for case in cases)


def test_the_energy_of_the_fastest_tile_is_what_the_model_says(tables):
    rows = _cells(tables.TABLES["energy_choice"]())
    assert len(rows) == 2 * 4
    found = {(row[0].strip("`"), row[1]): row[2] for row in rows}
    one = tilewright.compare("jacobi1d", shape=(2**22,), steps=4096, machine="k20c")
    assert found["k20c", "jacobi1d"] == f"+{100 * one.extra_joules:.1f} %, {100 * one.extra_seconds:.1f} %"


def test_the_runs_held_out_are_predicted_as_the_page_says(tables):
    text = tables.TABLES["energy_metered"]()
    assert "SYNTHETIC" in text
    assert "in 10 of 10 random splits" in text
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| all")]
    assert float(rows[0][3].removesuffix(" %")) < 4.0 < float(rows[0][2].removesuffix(" %"))
    assert text.count("| smith_waterman |") == text.count("| jacobi2d |") == 2


def test_every_table_is_whole(tables):
    for name, make in tables.TABLES.items():
        parts = [rows for part in make().split("\n\n") if (rows := _cells(part))]
        assert sum(map(len, parts)) >= 2, name
        assert all(len({len(row) for row in rows}) == 1 for rows in parts), name


def test_every_page_gets_the_tables_that_it_asks_for(tables):
    asked = []
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        marks = re.findall(r"^<!-- table: (\w+) -->$", text, flags=re.MULTILINE)
        asked += marks
        filled = tables.fill(text)
        assert "<!-- table:" not in filled
        for name in marks:
            assert tables.TABLES[name]() in filled
    assert sorted(asked) == sorted(tables.TABLES)
