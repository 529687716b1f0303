"""Recurrences on the command line."""

from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parents[1] / "workloads" / "tables" / "data"


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def test_an_alignment_of_two_files(cli, tmp_path):
    one, two, out = tmp_path / "a.fasta", tmp_path / "b.fa", tmp_path / "out.txt"
    one.write_text(">one\nTTGATTACATT\n")
    two.write_text(">two\nGATTACA\n")
    result = cli("run", "smith_waterman", "--input", one, "--input", two, "--output", out, "--check", "--json")
    assert result.code == 0, result.err
    assert result.json["sequences"] == ["one", "two"]
    assert result.json["alignment"]["cigar"] == "7="
    assert result.json["max_error"] == 0
    assert "GATTACA" in out.read_text()


def test_an_alignment_says_what_the_letters_chose(cli, tmp_path):
    pair = tmp_path / "pair.fasta"
    pair.write_text(">one\nMKVLE*\n>two\nMKILE\n")
    args = ("run", "smith_waterman", "--input", pair)
    assert "BLOSUM62 as the letters decide" in cli(*args).out
    assert cli(*args, "--json").json["alignment"]["scoring_chosen"] is True
    assert cli(*args, "--set", "matrix=BLOSUM62", "--json").json["alignment"]["scoring_chosen"] is False


def test_digits_in_a_file_are_refused_with_their_place(refuses, tmp_path):
    pair = tmp_path / "pair.fasta"
    pair.write_text(">one\n1 GATTACA\n>two\nGATTACA\n")
    said = refuses("run", "smith_waterman", "--input", pair)
    assert "letter 1 of the first sequence is '1'" in said
    assert "leave digits out" in said


def test_the_first_two_sequences_of_a_file(cli):
    options = ("--set", "matrix=BLOSUM45", "--set", "gap_open=13", "--set", "gap_extend=3")
    result = cli("run", "smith_waterman", "--input", DATA / "globins.fasta", *options, "--check", "--json")
    assert result.code == 0, result.err
    assert result.json["alignment"]["scoring"] == "BLOSUM45"
    assert result.json["within_bound"] is True


@pytest.mark.parametrize("name", ["edit_distance", "lcs"])
def test_distances_of_random_letters(cli, name):
    result = cli("run", name, "--shape", "130x90", "--check", "--json", "--tile", "orthogonal:t=32,s=16")
    assert result.code == 0, result.err
    assert result.json["checked"] is True
    assert result.json["tiling"] == "orthogonal:t=32,s=16,sub=16"


def test_arrays_in_and_out(cli, tmp_path):
    np.save(tmp_path / "free.npy", np.ones((4, 5), dtype=np.int8))
    out = tmp_path / "paths.npy"
    result = cli("run", "monotone_paths", "--input", tmp_path / "free.npy", "--output", out, "--json")
    assert result.code == 0, result.err
    assert np.load(out).all()


def test_a_recurrence_of_ones_own(cli, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import tilewright as tw\n\n\n"
        "@tw.recurrence(rows='a', columns='b', outside=0)\n"
        "def common(c, a, b):\n"
        "    return tw.where(a[0] == b[0], c[-1, -1] + 1, tw.maximum(c[-1, 0], c[0, -1]))\n"
    )
    result = cli("run", f"{path}:common", "--shape", "50x60", "--check", "--json")
    assert result.code == 0, result.err
    assert cli("predict", f"{path}:common", "--shape", "50x60", "--machine", "k20c", "--json").code == 0


def test_predict_energy_and_catalogues(cli):
    tile = ("--tile", "orthogonal:t=64,s=256,sub=8")
    one = cli("predict", "smith_waterman", "--shape", "4096x8192", "--machine", "k20c", *tile, "--json").json
    assert one["costs"]["wavefronts"] == 95
    assert one["tiling"]["family"] == "orthogonal"
    joules = cli("energy", "smith_waterman", "--shape", "4096x8192", "--machine", "k20c", *tile, "--json").json
    assert joules["joules"] == pytest.approx(one["costs"]["joules"])
    assert joules["rule"] == "orthogonal"
    top = cli("predict", "lcs", "--shape", "4096x4096", "--machine", "h200", "--top", 3, "--json").json
    assert len(top["candidates"]) == 3
    assert {each["name"] for each in cli("programs", "--json").json["recurrences"]} >= {"smith_waterman", "lcs"}
    assert "h[-1, -1]" in cli("programs", "smith_waterman").out
    assert cli("tilings", "orthogonal", "--json").json["counts"]["points"] == 64 * 256


def test_a_drawing(cli, tmp_path):
    path = tmp_path / "tiles.svg"
    assert cli("tilings", "orthogonal:t=8,s=16,sub=4", "--plot", path).code == 0
    assert "numbered by wavefront" in path.read_text() or path.stat().st_size > 1000


def test_errors(cli):
    for arguments, message in [
        (("lcs",), "needs two sequences"),
        (("lcs", "--shape", "5"), "rows and columns"),
        (("lcs", "--shape", "5x5", "--strict"), "are for stencils"),
        (("lcs", "--shape", "5x5", "--every", "2"), "a table is filled once"),
        (("lcs", "--shape", "5x5", "--set", "gap"), "name=value"),
        (("smith_waterman", "--shape", "5x5", "--set", "gap=1"), "has no setting 'gap'"),
        (("smith_waterman", "--shape", "5x5", "--set", "gap_open=x"), "is a number, got 'x'"),
        (("smith_waterman", "--shape", "5x5", "--output", "x.npy"), ".txt file"),
        (("smith_waterman", "--shape", "5x5", "--dtype", "int32"), "8, 16 or 32 bits"),
        (("smith_waterman", "--input", "none.fasta", "--input", "none.fasta"), "there is no file"),
        (("smith_waterman", "--input", "a.txt"), "ends in"),
        (("monotone_paths", "--shape", "5x5"), "needs 1 inputs"),
        (("heat2d", "--shape", "5x5"), "missing the number of time steps"),
    ]:
        result = cli("run", *arguments)
        assert result.code == 2, (arguments, message)
        assert message in result.err, (arguments, message)


def test_commands_that_do_not_take_recurrences(cli):
    for name in ("lcs", "smith_waterman"):
        result = cli("tune", name, "--shape", "9x9")
        assert result.code == 2
        assert "is a recurrence, which is not tuned by measuring" in result.err
        assert "predict --top 5" in result.err
    assert "is a recurrence" in cli("report", "--program", "lcs", "-o", "out.html").err


def test_a_table_is_varied(cli):
    document = cli("whatif", "lcs", "--shape", "500x700", "--machine", "k20c", "--factors", "2", "--json").json
    assert [row["amount"] for row in document["rows"]] == ["500x700", "1000x1400"]
    assert all(row["tiling"].startswith("orthogonal:") for row in document["rows"])
    assert "no steps to vary" in cli("whatif", "lcs", "--shape", "9x9", "--vary", "steps").err
    refused = cli("whatif", "lcs", "--shape", "9x9", "--reuse", "heat2d")
    assert refused.code == 2
    assert "--reuse compares stencils" in refused.err
