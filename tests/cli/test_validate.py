import itertools

import pytest

LOG = "".join(
    f"{b}_{s}_{w}_{n}_32 {100 + 7 * b + s + 3 * n}.5 GFLOPS\n"
    for b, s, w, n in itertools.product((2, 4, 8), (2, 4), (32, 64, 128), (1, 2))
)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "j2d5pt.log"
    path.write_text(LOG)
    return path


def test_the_keys_of_the_interface(cli, log):
    document = cli("validate", "--log", log, "--machine", "v100", "--json").json
    assert set(document) == {"machine", "model", "stencils", "overall"}
    assert (document["machine"], document["model"]) == ("v100", "exact")
    keys = {"points", "rmse_all", "rmse_top20", "spearman", "kendall", "fraction_of_best"}
    assert set(document["stencils"][0]) == {"name", *keys}
    assert set(document["overall"]) == keys
    assert set(document["overall"]["fraction_of_best"]) == {"1", "5", "10", "50"}
    assert document["stencils"][0]["points"] == 36 - 10


def test_several_logs_after_one_flag(cli, log, tmp_path):
    second = tmp_path / "gradient2d.log"
    second.write_text(LOG)
    document = cli("validate", "--log", log, second, "--machine", "v100", "--points", 0, "--json").json
    assert [each["name"] for each in document["stencils"]] == ["j2d5pt", "gradient2d"]


def test_tables_for_people(cli, log):
    shown = cli("validate", "--log", log, "--machine", "v100")
    assert shown.code == 0
    assert "model minimum" in shown.out
    assert "Kendall" in shown.out


def test_figures_and_scores(cli, log, tmp_path):
    pytest.importorskip("matplotlib")
    assert cli("validate", "--log", log, "--machine", "v100", "--plots", tmp_path / "out", "--json").code == 0
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made == {"accuracy.png", "surface.png", "band.png", "strategies.png", "scores.csv"}


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("--machine", "v100", "--log", "nowhere.log"), "no file 'nowhere.log'"),
        (("--machine", "v100", "--log", "nowhere/j2d5pt.log"), "cannot be read"),
        (("--machine", "v101", "--log", "j2d5pt.log"), "v100"),
        (("--machine", "v100", "--log", "j2d5pt.log", "--model", "precise"), "exact"),
        (("--machine", "v100", "--log", "j2d5pt.log", "--off", "magic"), "magic"),
    ],
)
def test_what_is_refused(refuses, log, args, part):
    assert part in refuses("validate", *args)


def test_a_log_is_named_like_its_stencil(refuses, log, tmp_path):
    (tmp_path / "mine.log").write_text("8_16_16_16_16 1234.5 GFLOPS\n", encoding="utf-8")
    assert "one of j2d5pt" in refuses("validate", "--machine", "v100", "--log", str(tmp_path / "mine.log"))


def test_something_to_validate_is_needed(cli):
    assert cli("validate").code == 2
    assert cli("validate", "--log", "x.log").code == 2
