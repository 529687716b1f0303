import json

import pytest

PLAN = ("tune", "gradient2d", "--shape", "8192x8192", "--steps", 8192, "--machine", "gtx980", "--effort", "none")
MEASURE = ("tune", "j1d3pt", "--shape", 5000, "--steps", 8, "--candidates", 3)


@pytest.fixture(autouse=True)
def private_store(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))


def test_the_keys_of_the_interface(cli):
    document = cli(*PLAN, "--candidates", 4, "--json").json
    assert {"winner", "candidates", "evaluated", "space_size"} <= set(document)
    keys = {"tiling", "predicted_seconds", "measured_seconds", "registers", "spills", "outcome"}
    for each in (document["winner"], *document["candidates"]):
        assert keys <= set(each)
        assert each["measured_seconds"] is None
        assert {"family", "time", "space"} <= set(each["tiling"])
    assert document["winner"] == document["candidates"][0]
    assert len(document["candidates"]) == 4
    assert document["evaluated"] == 0
    assert document["space_size"] > 5000


def test_a_printed_tiling_is_accepted(cli):
    tile = cli(*PLAN, "--json").json["winner"]["tile"]
    same = cli("predict", *PLAN[1:8], "--tile", tile, "--json").json
    assert same["tiling"] == cli(*PLAN, "--json").json["winner"]["tiling"]


def test_measuring_and_the_store_from_end_to_end(cli, tmp_path):
    measured = cli(*MEASURE, "--json")
    assert measured.code == 0
    document = measured.json
    assert document["evaluated"] == 3
    assert document["confirmed"]
    assert document["winner"]["measured_seconds"] > 0
    assert {each["outcome"] for each in document["candidates"]} == {"ok"}
    assert "measured" in measured.err

    (known,) = cli("wisdom", "list", "--json").json["entries"]
    assert known["tiling"] == document["winner"]["tile"]
    assert known["stale"] == []
    assert known["id"] in cli("wisdom", "list").out

    exported = tmp_path / "wisdom.json"
    assert cli("wisdom", "export", "-o", exported).code == 0
    on_screen = cli("wisdom", "export")
    assert json.loads(on_screen.out) == json.loads(exported.read_text())
    assert cli("wisdom", "import", exported, "--json").json == {"imported": 0, "stale": 0}
    assert cli("wisdom", "forget", known["id"], "--json").json == {"forgotten": 1}
    assert cli("wisdom", "list", "--json").json == {"entries": []}

    altered = json.loads(exported.read_text())
    altered["entries"][0]["circumstances"]["device_key"] = "0" * 32
    exported.write_text(json.dumps(altered))
    assert cli("wisdom", "import", exported, "--json").json == {"imported": 1, "stale": 1}
    assert "other hardware" in cli("wisdom", "list").out
    assert cli("wisdom", "forget", "--stale", "--json").json == {"forgotten": 1}


def test_a_table_for_people(cli, tmp_path):
    assert cli(*PLAN, "--export", tmp_path / "k.cu").code == 0
    assert (tmp_path / "k_main.cu").exists()
    shown = cli(*PLAN, "--machine", "zen3", "--export", tmp_path / "k.c")
    assert "streaming:t=" in shown.out
    assert "nothing was run" in shown.out
    assert (tmp_path / "k.h").exists()


def test_bad_input_is_refused_in_one_sentence(refuses):
    for args, part in [
        ((*PLAN[:-2], "--effort", "quick"), "only this machine's CPU"),
        ((*PLAN[:-1], "maximal"), "effort is one of"),
        ((*PLAN, "--metric", "joy"), "metric"),
        ((*PLAN, "--seconds", "soon"), "a duration is a number"),
        ((*PLAN, "--set", "alpha=1"), "scalar"),
        (("wisdom", "forget"), "say what to forget"),
        (("wisdom", "forget", "abc"), "no wisdom 'abc'"),
        (("wisdom", "import", "nowhere.json"), "cannot be read"),
        (("wisdom", "export", "-o", "nowhere/wisdom.json"), "cannot be written"),
    ]:
        assert part in refuses(*args), (args, part)
