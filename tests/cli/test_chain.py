import json

from typer.testing import CliRunner

from tilewright.cli.app import app

EXAMPLE = ["936", "1008", "552", "368", "1016", "616", "544", "--memory", "65536"]


def call(*arguments):
    return CliRunner().invoke(app, ["chain", *arguments])


def test_the_published_example_as_json():
    result = call(*EXAMPLE, "--model", "published", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["opcount"] == 1_092_977_664
    assert document["unfused_words"] == 10_190_344
    assert document["fused_words"] == 8_392_058
    assert document["tree"] == "((A1 [A2 A3]) ([A4 A5] A6))"
    assert {"left", "right", "fusion", "tile"} <= document["nodes"][0].keys()
    assert document["nodes"][0]["left"] == "A1"


def test_the_plan_explains_itself():
    result = call(*EXAMPLE, "--machine", "k20c", "--pareto")
    assert result.exit_code == 0
    for words in ("less", "numpy.linalg.multi_dot", "two steps", "all trees at once", "fused left", "J =", "trade-off"):
        assert words in result.stdout


def test_run_checks_the_result():
    result = call("300", "20", "7", "20", "--memory", "1000", "--run", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["run"]["checked"] is True
    assert document["run"]["max_error"] < 1e-12


def test_bad_usage():
    for arguments, status, words in [
        (("5", "--memory", "10"), 2, "1 to 200 matrices, got 0"),
        (("5", "6", "--memory", "0"), 2, "on-chip memory"),
        (("5", "6", "7", "--memory", "9", "--model", "x"), 2, "model of a chain"),
        (("5", "6", "7", "--memory", "9", "--objective", "time"), 2, "needs a machine"),
        (
            ("5", "6", "7", "--memory", "9", "--objective", "weighted", "--weights", "0", "0"),
            2,
            "not both 0, got (0.0, 0.0)",
        ),
        (("5", "6", "7", "--memory", "9", "--weights", "0", "0"), 2, "weights are for the objective 'weighted'"),
        (("5", "x", "--memory", "9"), 2, "valid int"),
        (("5", "6", "7"), 2, "--memory"),
        (("5", "6", "7", "--memory", "9", "--run", "--dtype", "int8"), 2, "float32 or float64"),
    ]:
        result = call(*arguments)
        assert result.exit_code == status, (arguments, status, words)
        assert words in result.output, (arguments, status, words)
        assert len(result.stderr.strip().splitlines()) <= 8, (arguments, status, words)
