import re
import shlex

import pytest
import typer

from tilewright.cli.app import app
from tilewright.machines.files import names as machine_names
from tilewright.programs.stencil.catalogue import names as program_names
from tilewright.schedules.catalogue import names as tiling_names


def test_programs_lists_every_program(cli):
    result = cli("programs", "--json")
    assert result.code == 0
    assert [each["name"] for each in result.json["programs"]] == list(program_names())
    assert "gradient2d" in result.err  # the table
    people = cli("programs")
    assert all(name in people.out for name in program_names())


def test_one_program(cli):
    document = cli("programs", "fdtd2d", "--json").json
    assert document["stages"] == [["ey", "ex"], ["hz"]]
    assert document["fields"] == ["ey", "ex", "hz"]
    assert {"loads", "flops", "reach", "copies", "dependences", "expression"} <= set(document)
    people = cli("programs", "gradient2d").out
    assert "sqrt(" in people
    assert "15" in people


def test_machines_lists_every_machine(cli):
    assert [each["name"] for each in cli("machines", "--json").json["machines"]] == list(machine_names())
    assert all(name in cli("machines").out for name in machine_names())


def test_one_machine_says_where_each_value_comes_from(cli):
    quantities = cli("machines", "gtx980", "--json").json["quantities"]
    assert quantities["sm_count"] | {"note": ""} == {
        "value": 16, "unit": "1", "source": "paper", "note": "", "low": None, "high": None,
    }  # fmt: skip
    people = cli("machines", "h200").out
    assert "datasheet" in people
    assert "estimated" in people


def test_tilings(cli, tmp_path):
    assert [each["name"] for each in cli("tilings", "--json").json["tilings"]] == list(tiling_names())
    shown = cli("tilings", "hybrid:t=8,s=8x64", "--json").json
    assert shown["example"]["tiling"] == "hybrid:t=8,s=8x64"
    assert shown["counts"]["points"] == 5632


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_tiling_is_drawn(cli, tmp_path, ending):
    target = tmp_path / f"hybrid.{ending}"
    result = cli("tilings", "hybrid:t=4,s=4x8", "--plot", target, "--json")
    assert result.code == 0
    assert result.json["plot"] == str(target)
    assert target.stat().st_size > 1000


def test_unknown_names_get_a_suggestion(refuses):
    assert "did you mean heat2d" in refuses("programs", "heat2")
    assert "gtx980" in refuses("machines", "gtx908")
    assert "hybrid" in refuses("tilings", "hybird")
    refuses("tilings", "hybrid:t=3,s=8x8")
    refuses("tilings", "hybrid", "--plot", "a.gif")
    refuses("tilings", "hybrid", "--plot", "nowhere/a.png")


def _commands(group, path=()):
    """Every command and group of commands, as the words that call it."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))


ALL = dict(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_help_has_an_example_that_its_command_understands(cli, words):
    result = cli(*words, "--help")
    assert result.code == 0
    (example, *_) = re.findall(r"^Example: (.*)$", ALL[words].help, flags=re.MULTILINE)
    assert " ".join(("tilewright", *words)) in example
    if example.startswith("tilewright ") and not hasattr(ALL[words], "commands"):
        given = shlex.split(example)[1 + len(words) :]
        ALL[words].make_context(" ".join(words), given, resilient_parsing=False)  # options and values are known
    assert hasattr(ALL[words], "commands") or "--json" in result.out


def test_usage_errors_exit_with_2(cli):
    assert cli("bogus").code == 2
    assert cli("predict", "heat2d").code == 2
    assert cli("programs", "--bogus").code == 2
    assert cli("tilings", "--plot", "a.svg").code == 2


def test_debug_shows_the_traceback_anywhere_on_the_line(cli):
    for line in (("--debug", "programs", "heat2"), ("programs", "heat2", "--debug")):
        result = cli(*line)
        assert result.code == 2
        assert "Traceback" in result.err


def test_the_version(cli):
    assert cli("--version").out.startswith("tilewright 0.")
