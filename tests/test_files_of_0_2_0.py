"""Files that version 0.2.0 wrote are read; tilings that are refused since, and keys that mean nothing, harm nothing."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.machines.files import load, parse
from tilewright.planner import remembered
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.host import thread_count
from tilewright.runtime.store import folder, wisdom
from tilewright.runtime.warn import forget_warnings
from tilewright.schedules.tiling import parse as parse_tiling
from tilewright.verbs.report import FileDefaults, of_file
from tilewright.verbs.tuning.meter import read_history

WRITTEN = Path(__file__).with_name("written_by_0_2_0")
"""By ``tilewright tune heat2d --shape 32x48 --steps 8`` (its log, document and wisdom, as stored and as exported),
``tilewright predict jacobi2d --tile hybrid:t=8,s=4x64,threads=1x64,variant=param,reuse=move`` and ``to_toml``."""


@pytest.fixture(autouse=True)
def _anew():
    forget_warnings()


def test_wisdom_as_it_is_exported():
    (entry,) = wisdom.read_document(WRITTEN / "wisdom.json")
    assert (entry.program, entry.shape, entry.steps, entry.tiling) == ("heat2d", (32, 48), 8, "hybrid:t=10,s=4x64")
    assert entry.circumstances.version.startswith("0.2.0/")


def test_wisdom_as_it_is_stored_is_listed_and_not_used(private_folders, tmp_path):
    (tmp_path / "store").mkdir()
    shutil.copy(WRITTEN / "wisdom.jsonl", tmp_path / "store" / "wisdom.jsonl")
    (entry,) = wisdom.load()
    assert entry.id == wisdom.read_document(WRITTEN / "wisdom.json")[0].id
    with pytest.warns(tw.TilewrightWarning, match="another version, so it is not used"):
        assert remembered(make_problem(program("heat2d"), (32, 48), 8), 2) is None


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("hybrid:t=4,s=4x16,variant=param", "hybrid:t=4,s=4x16"),
        ("hybrid:t=4,s=4x16,threads=1x16,reuse=move", "hybrid:t=4,s=4x16,threads=1x16"),
        ("hybrid:t=4,s=1x16", None),  # narrower than the reach
    ],
)
def test_an_entry_whose_tiling_is_refused_now_is_not_used(private_folders, text, used):
    problem = make_problem(program("star2d2r"), (64, 64), 8)
    (written,) = wisdom.read_document(WRITTEN / "wisdom.json")
    entry = dataclasses.replace(
        written,
        program="star2d2r",
        problem_key=wisdom.problem_key(problem),
        shape=problem.shape,
        tiling=text,
        threads=thread_count(None),
        circumstances=wisdom.here(),
    )
    wisdom.remember([entry])
    found = remembered(problem, thread_count(None))
    assert found == (None if used is None else parse_tiling(used))


def test_a_tuning_log():
    records = folder.read(WRITTEN / "tune.jsonl")
    assert {record["kind"] for record in records} >= {"begin", "sample", "confirm"}
    with pytest.warns(tw.TilewrightWarning, match=r"^tune.jsonl: skipped 1 entry of tiling families that were removed"):
        found = read_history(WRITTEN / "tune.jsonl").measurements
    assert {str(tiling) for tiling in found} == {"none", "hybrid:t=10,s=4x64"}


def test_a_document_of_tune():
    with pytest.warns(tw.TilewrightWarning, match=r"^tune.json: skipped 1 entry of tiling families that were removed"):
        study = of_file(WRITTEN / "tune.json", FileDefaults())
    assert {each.tiling for each in study.candidates} == {"none", "hybrid:t=10,s=4x64"}


def test_a_document_of_predict():
    study = of_file(WRITTEN / "predict.json", FileDefaults())
    assert [each.tiling for each in study.candidates] == ["hybrid:t=8,s=4x64,threads=1x64"]


@pytest.mark.parametrize("family", ["overlapped", "wavefront-diamond"])
def test_a_document_of_a_family_that_is_gone_alone_is_refused_in_one_sentence(family, tmp_path):
    written = json.loads((WRITTEN / "predict.json").read_text())
    written["tiling"]["family"] = family
    (tmp_path / "gone.json").write_text(json.dumps(written))
    with pytest.warns(tw.TilewrightWarning, match="skipped 1 entry"), pytest.raises(UsageError, match="still there"):
        of_file(tmp_path / "gone.json", FileDefaults())


def test_wisdom_of_families_that_are_gone_is_skipped_and_counted(private_folders, tmp_path):
    document = json.loads((WRITTEN / "wisdom.json").read_text())
    (kept,) = document["entries"]
    gone = ["overlapped:t=8,s=16x48", "wavefront-diamond:t=4,s=2x8x64,team=2", "overlapped"]
    document["entries"] += [{**kept, "tiling": text} for text in gone]
    (tmp_path / "wisdom.json").write_text(json.dumps(document))
    with pytest.warns(tw.TilewrightWarning, match=r"^wisdom.json: skipped 3 entries of tiling families"):
        assert [entry.tiling for entry in wisdom.read_document(tmp_path / "wisdom.json")] == [kept["tiling"]]
    (tmp_path / "store").mkdir()
    for entry in document["entries"]:
        folder.append(tmp_path / "store" / "wisdom.jsonl", {key: value for key, value in entry.items() if key != "id"})
    with pytest.warns(tw.TilewrightWarning, match=r"^wisdom.jsonl: skipped 3 entries of tiling families"):
        assert [entry.tiling for entry in wisdom.load()] == [kept["tiling"]]


def test_a_prediction_of_keys_that_mean_nothing_is_that_of_the_tiling_without_them():
    written = json.loads((WRITTEN / "predict.json").read_text())
    tiling = parse_tiling("hybrid:t=8,s=4x64,threads=1x64,variant=param,reuse=move")
    found = tw.predict("jacobi2d", machine="gtx980", shape=(4096, 4096), steps=512, tiling=tiling).to_dict()
    assert found["tiling"] == {**written["tiling"], "variant": "fixed", "reuse": "place"}
    case = {"machine": "gtx980", "shape": (4096, 4096), "steps": 512}
    plain = tw.predict("jacobi2d", **case, tiling="hybrid:t=8,s=4x64,threads=1x64")
    assert found["costs"] == plain.to_dict()["costs"]
    assert found["costs"].keys() == written["costs"].keys()


def test_a_machine_file():
    written, known = parse((WRITTEN / "machine.toml").read_text(), "written"), load("gtx980")
    for field in dataclasses.fields(known):
        values = [getattr(getattr(machine, field.name), "value", None) for machine in (written, known)]
        assert values[0] == values[1] or field.name == "tdp_watts", field.name  # which files had none of then
