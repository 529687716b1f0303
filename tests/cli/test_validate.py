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
    assert set(document) == {"machine", "model", "stencils", "overall", "skipped", "skipped_lines"}
    assert (document["skipped"], document["skipped_lines"]) == (0, [])
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


def test_lines_that_are_cut_short_are_counted_and_named(cli, log):
    whole = cli("validate", "--log", log, "--machine", "v100", "--json").json
    lines = LOG.splitlines(keepends=True)
    log.write_text("".join([*lines[:2], "16_32_512_6_32\n", *lines[2:], "8_6_256_1_256 28"]))
    done = cli("validate", "--log", log, "--machine", "v100", "--json")
    assert done.json["stencils"] == whole["stencils"]
    assert done.json["skipped"] == 2
    assert done.json["skipped_lines"] == [f"line 3 of {str(log)!r}", f"line 38 of {str(log)!r}"]
    shown = cli("validate", "--log", log, "--machine", "v100")
    assert f"2 lines that were cut short left out: line 3 of {str(log)!r}, line 38 of {str(log)!r}" in shown.err
    assert shown.code == 0


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


def test_what_is_refused(refuses, log):
    for args, part in [
        (("--machine", "v100", "--log", "nowhere.log"), "no file 'nowhere.log'"),
        (("--machine", "v100", "--log", "nowhere/j2d5pt.log"), "cannot be read"),
        (("--machine", "v101", "--log", "j2d5pt.log"), "v100"),
        (("--machine", "v100", "--log", "j2d5pt.log", "--model", "precise"), "exact"),
        (("--machine", "v100", "--log", "j2d5pt.log", "--off", "magic"), "magic"),
        (("--machine", "v100", "--log", "j2d5pt.log", "--candidates", "9"), "a validation by logs measures none"),
        (
            ("--machine", "v100", "--log", "j2d5pt.log", "--model", "published", "--held-out"),
            "--held-out is for the exact",
        ),
        (("--program", "heat2d", "--shape", "9x9", "--steps", "2", "--points", "3"), "--points is for logs"),
        (("--machine", "v100", "--log", "."), "'.' is a folder, where a file is to be read"),
    ]:
        assert part in refuses("validate", *args), (args, part)


def test_a_log_is_named_like_its_stencil(refuses, log, tmp_path):
    (tmp_path / "mine.log").write_text("8_16_16_16_16 1234.5 GFLOPS\n", encoding="utf-8")
    assert "one of j2d5pt" in refuses("validate", "--machine", "v100", "--log", str(tmp_path / "mine.log"))


def test_something_to_validate_is_needed(cli):
    assert cli("validate").code == 2
    assert cli("validate", "--log", "x.log").code == 2
