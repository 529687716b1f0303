import math
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize(
    ("args", "part"),
    [
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
        (("predict", "nowhere.py:f", "--shape", "8", "--steps", 1), "no file 'nowhere.py'"),
        (("predict", "nowhere.py", "--shape", "8", "--steps", 1), "no function"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(refuses, args, part):
    assert part in refuses(*args)


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
