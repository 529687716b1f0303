import math
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright as tw

GTX980 = ("predict", "gradient2d", "--machine", "gtx980", "--shape", "8192x8192", "--steps", 8192)


def test_the_keys_of_the_interface(cli):
    document = cli(*GTX980, "--tile", "hybrid:t=16,s=8x64", "--model", "published", "--json").json
    assert {"program", "machine", "shape", "steps", "dtype", "model", "tiling", "costs", "c_iter"} <= set(document)
    assert document["tiling"]["family"] == "hybrid"
    assert (document["tiling"]["time"], document["tiling"]["space"]) == (16, [8, 64])
    assert set(document["costs"]) == {
        "seconds", "joules", "dram_bytes", "wavefronts", "tiles_per_wavefront", "tile_points", "tile_io_words",
        "tile_shared_bytes", "tiles_per_sm", "compute_seconds_per_tile", "io_seconds_per_tile", "flops",
        "gcells_per_second", "gflops_per_second", "bound_by",
    }  # fmt: skip
    assert {"value", "source", "low", "high"} <= set(document["c_iter"])
    assert document["c_iter"]["source"] == "paper"
    assert document["c_iter"]["code"] == "measured on the authors' code"
    exact = cli(*GTX980, "--tile", "hybrid:t=16,s=8x64", "--json").json["c_iter"]
    assert exact["source"] == "estimated"
    assert "code" not in exact


def test_the_best_tilings_in_order(cli):
    document = cli(*GTX980, "--top", 5, "--json").json
    seconds = [each["costs"]["seconds"] for each in document["candidates"]]
    assert len(seconds) == 5
    assert seconds == sorted(seconds)
    assert math.isclose(seconds[0], cli(*GTX980, "--json").json["costs"]["seconds"])


def test_a_table_for_people(cli):
    assert "streaming:t=" in cli(*GTX980).out
    assert "rank" in cli(*GTX980, "--top", 3).out


BANDS = {
    "gpu": ("predict", "gradient2d", "--machine", "gtx980", "--shape", "4096x4096", "--steps", 512),
    "cpu": ("predict", "heat2d", "--machine", "zen3", "--shape", "1000x1000", "--steps", 100),
    "3d": ("predict", "j3d7pt", "--machine", "v100", "--shape", "128x128x128", "--steps", 32),
    "published": (
        "predict",
        "jacobi2d",
        "--machine",
        "k20c",
        "--shape",
        "2048x2048",
        "--steps",
        64,
        "--model",
        "published",
    ),
}


def selected(words, **options):
    """What ``tw.select`` returns for the words of a command."""
    given = dict(zip(words[2::2], words[3::2], strict=True))
    return tw.select(
        words[1],
        machine=given["--machine"],
        shape=tuple(map(int, given["--shape"].split("x"))),
        steps=given["--steps"],
        model=given.get("--model", "exact"),
        **options,
    )


@pytest.mark.parametrize("name", BANDS)
def test_a_band_is_what_select_returns(cli, name):
    """Of the same ranking, in the same order, to the last digit."""
    document = cli(*BANDS[name], "--within", 0.1, "--json").json
    found = [(each["tiling"], each["costs"]["seconds"]) for each in document["candidates"]]
    assert found == [(each.tiling.to_dict(), each.costs.seconds) for each in selected(BANDS[name], within=0.1)]
    assert all(seconds <= 1.1 * found[0][1] for _, seconds in found)
    assert len(selected(BANDS[name], within=None, top=len(found) + 1)) == len(found) + 1
    few = cli(*BANDS[name], "--within", 0.1, "--top", 2, "--json").json["candidates"]
    assert few == document["candidates"][:2]
    said = cli(*BANDS[name], "--within", 0.1).out
    assert f", {len(found)} tilings within 0.1 of the best" in said


def test_a_ranking_says_intervals_and_where_its_constants_come_from(cli):
    said = cli(*BANDS["gpu"], "--top", 3).out
    (first, *_) = selected(BANDS["gpu"], within=None, top=3)
    assert said.startswith("gradient2d 4096x4096, 512 steps on gtx980\nrank")
    assert f"  {first.interval.span}  " in said
    assert f"\nintervals by {first.interval.source}" in said
    assert f"\nC_iter: {first.c_iter.value:.4g} s (" in said


@pytest.mark.parametrize(
    ("name", "ending", "word"), [("gpu", "cu", "__global__"), ("cpu", "c", "omp"), ("3d", "cu", "__global__")]
)
def test_the_code_of_a_band_is_a_file_per_tile(cli, name, ending, word):
    done = cli(*BANDS[name], "--within", 0.1, "--top", 4, "--export", "band", "--json").json
    names = [entry["tile"] for entry in done["export"]["files"]]
    assert names == [str(each.tiling) for each in selected(BANDS[name], within=0.1, top=4)]
    assert done["export"]["left_out"] == []
    program = BANDS[name][1]
    for tile, entry in zip(names, done["export"]["files"], strict=True):
        path = Path(entry["file"])
        assert path == Path("band") / f"{program}-{tile.translate(str.maketrans(':,', '--', '='))}.{ending}"
        assert path.read_text().startswith(f"/* {program}, float32, tiling {tile}\n")
        assert word in path.read_text()
    assert len(list(Path("band").iterdir())) == len(names)


def test_files_of_others_are_not_replaced_and_then_nothing_is_written(cli, refuses):
    words = (*BANDS["gpu"], "--within", 0.1, "--top", 3)
    files = [Path(each["file"]) for each in cli(*words, "--export", "k.cl", "--json").json["export"]["files"]]
    assert [file.parent for file in files] == [Path()] * 3
    assert all(file.name.startswith("k-") and "__kernel" in file.read_text() for file in files)
    assert cli(*words, "--export", "k.cl").code == 0
    texts = [file.read_text() for file in files]
    files[0].unlink()
    files[2].write_text("mine\n")
    assert f"{files[2].name!r} is there and was not exported by tilewright" in refuses(*words, "--export", "k.cl")
    assert not files[0].exists()
    assert [file.read_text() for file in files[1:]] == [texts[1], "mine\n"]


def test_an_estimate_is_marked(cli):
    document = cli("predict", "heat2d_var", "--machine", "h200", "--shape", "4096x4096", "--steps", 10, "--json").json
    assert document["c_iter"]["source"] == "estimated"
    assert document["c_iter"]["low"] < document["c_iter"]["high"]


def test_a_stencil_of_the_users_file(cli, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import tilewright as tw\n\n@tw.stencil\ndef heat(u, a):\n    return u[0] + a * (u[-1] - 2 * u[0] + u[1])\n"
    )
    ask = ("--machine", "h200", "--shape", "100000", "--steps", 100, "--json")
    assert cli("predict", "mine.py:heat", *ask).json["program"] == "heat"


def test_bad_input_is_refused_in_one_sentence(refuses):
    for args, part in [
        (("predict", "gradiet2d", "--shape", "8x8", "--steps", 1), "did you mean gradient2d"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 1, "--machine", "gtx981"), "gtx980"),
        (("predict", "heat2d", "--shape", "8x8x8", "--steps", 1), "2 dimensions"),
        (("predict", "heat2d", "--shape", "8by8", "--steps", 1), "extents joined by 'x'"),
        (("predict", "heat2d", "--shape", "0x8", "--steps", 1), "at least 1"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", -1), "steps"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 1, "--dtype", "float31"), "float32"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 1, "--boundary", "wrapped"), "a boundary is one of"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 1, "--model", "precise"), "exact"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 1, "--metric", "joy"), "metric"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 9, "--tile", "hybrid:t=4,s=8"), ""),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 9, "--tile", "hybrid:t=5,s=8x8"), ""),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 9, "--tile", "hybrid:t=4,q=8x8"), "no key 'q'"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 9, "--tile", "hexy:t=4"), "no tiling family 'hexy'"),
        ((*GTX980, "--within", -0.1), "at least 0"),
        ((*GTX980, "--within", 0.1, "--tile", "none"), "nothing to rank"),
        ((*GTX980, "--export", "k.c"), "a file that ends in .cu or .cl, got 'k.c'"),
        ((*GTX980, "--export", "k.txt", "--top", 2), "a file that ends in .cu or .cl, got 'k.txt'"),
        ((*GTX980, "--export", "nowhere/k.cu"), "'nowhere/k.cu' cannot be written"),
        (("predict", "heat2d", "--shape", "8x8", "--steps", 1, "--machine", "zen3", "--export", "k.cl"), "ends in .c,"),
        (("predict", "lcs", "--shape", "8x8", "--machine", "zen3", "--export", "k.c"), "'lcs' fills a table"),
        (
            ("predict", "heat2d", "--shape", "8x8", "--steps", 1, "--ranks", 4, "--export", "k.c"),
            "--ranks goes without",
        ),
        (("predict", "nowhere.py:f", "--shape", "8", "--steps", 1), "no file 'nowhere.py'"),
        (("predict", "nowhere.py", "--shape", "8", "--steps", 1), "no function"),
    ]:
        assert part in refuses(*args), (args, part)


def test_faults_of_the_users_file_are_named(refuses, tmp_path):
    (tmp_path / "bad.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "mine.py").write_text("def heat(u):\n    return u[0] if u[0] > 0 else u[1]\n\n\nnumber = 3\n")
    ask = ("--shape", "100", "--steps", 1)
    assert "ModuleNotFoundError" in refuses("predict", "bad.py:heat", *ask)
    assert "did you mean heat?" in refuses("predict", "mine.py:haet", *ask)
    assert "tw.where" in refuses("predict", "mine.py:heat", *ask)
    assert "of type int" in refuses("predict", "mine.py:number", *ask)


def test_a_reader_that_leaves_is_no_error():
    """As `tilewright … | head -1` does."""
    command = (sys.executable, "-m", "tilewright", *map(str, GTX980), "--top", "200")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1
