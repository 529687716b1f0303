"""``tilewright report``."""


def test_a_program_without_running(cli, tmp_path):
    result = cli(
        "report", "--program", "heat2d", "--shape", "256x256", "--steps", 16, "--machine", "h200", "--top", 5,
        "-o", tmp_path / "a.html", "--json",
    )  # fmt: skip
    assert result.code == 0, result.err
    assert result.json["results"] == ["heat2d 256x256, 16 steps on h200"]
    assert (tmp_path / "a.html").stat().st_size == result.json["bytes"]
    assert "wrote" in result.err


def test_what_predict_printed(cli, tmp_path):
    first = cli("predict", "heat2d", "--shape", "128x128", "--steps", 8, "--machine", "h200", "--top", 3, "--json")
    (tmp_path / "top.json").write_text(first.out)
    one = cli("predict", "heat2d", "--shape", "128x128", "--steps", 8, "--machine", "h200", "--json")
    (tmp_path / "one.json").write_text(one.out)
    result = cli("report", tmp_path / "top.json", tmp_path / "one.json", "-o", tmp_path / "out.html")
    assert result.code == 0, result.err
    page = (tmp_path / "out.html").read_text()
    assert page.count("<section>") == 2
    assert page.count('data-plot="roofline"') == 2


def test_mistakes(refuses, cli, tmp_path):
    assert cli("report").code == 2
    assert "there is no file 'nowhere.json'" in refuses("report", "nowhere.json")
    assert "hint: give --program gradient2d --shape" in refuses("report", "gradient2d")
    assert "--top ranks the tilings of --program" in refuses("report", "nowhere.json", "--top", 3)
    (tmp_path / "folder.jsonl").mkdir()
    assert "is a folder, where a file is to be read" in refuses("report", "folder.jsonl")
    refuses("report", "--program", "heat2d")
    refuses("report", "--program", "heat2", "--shape", "8x8", "--steps", 1)
    refuses("report", "--program", "heat2d", "--shape", "64x64", "--steps", 4, "--machine", "h200", "-o", "a.png")
