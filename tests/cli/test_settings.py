import pytest
import typer

from tilewright.base.errors import UsageError
from tilewright.cli.app import KEYS, _settings_of, app, settings


def test_a_variable_beats_the_file(tmp_path):
    file = tmp_path / "tilewright.toml"
    file.write_text('machine = "gtx980"\nthreads = 2\nstrict = true\n')
    assert settings({}, file) == {"machine": "gtx980", "threads": "2", "strict": "True"}
    assert settings({"TILEWRIGHT_MACHINE": "h200"}, file)["machine"] == "h200"


def test_a_bad_file_is_refused_in_one_sentence(tmp_path):
    for text, message in [
        ("machne = 'h200'", "no setting 'machne' (hint: did you mean machine?)"),
        ("threads = 'two'", "of type int, got 'two'"),
        ("threads = true", "of type int, got True"),
        ("machine = ", "is not TOML"),
        ("a = " + "[" * 100_000, "is not TOML"),
    ]:
        file = tmp_path / "tilewright.toml"
        file.write_text(text)
        with pytest.raises(UsageError) as caught:
            settings({}, file)
        assert message in str(caught.value), (text, message)


def test_flag_beats_variable_beats_file_beats_default(cli, monkeypatch, tmp_path):
    ask = ("predict", "jacobi2d", "--shape", "512x512", "--steps", 16, "--json")
    assert cli(*ask).json["machine"] == "host"
    (tmp_path / "tilewright.toml").write_text('machine = "gtx980"\n')
    assert cli(*ask).json["machine"] == "gtx980"
    monkeypatch.setenv("TILEWRIGHT_MACHINE", "titanx")
    assert cli(*ask).json["machine"] == "titanx"
    assert cli(*ask, "--machine", "h200").json["machine"] == "h200"


def test_the_settings_file_is_checked_by_every_command(refuses, tmp_path):
    (tmp_path / "tilewright.toml").write_text("cores = 3\n")
    assert "no setting 'cores'" in refuses("programs")


def test_a_setting_is_that_of_the_option_with_its_name():
    commands = typer.main.get_command(app).commands
    every = dict.fromkeys(KEYS, "7")
    reached = {name: sorted(_settings_of(each, every)) for name, each in commands.items()}
    assert reached["predict"] == ["boundary", "dtype", "machine", "model"]
    assert reached["run"] == ["backend", "boundary", "dtype", "strict", "threads"]
    assert "boundary" not in reached["fuse"]
    assert "machine" not in reached["area"]
    assert "block_threads" not in _settings_of(commands["codesign"], every)
    assert "model" not in _settings_of(commands["shot"], every)
    assert _settings_of(commands["area"], every) == {"form": "7"}
