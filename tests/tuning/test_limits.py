"""What a prediction for a GPU cannot be is said in a sentence, for people and in JSON."""

import json

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.cli.app import app

LARGE = "all buffers of the grid take"
FEW = "multiprocessors have a block"
SPILL = "find no register and spill to memory"


def notes(name, **given):
    return tw.predict(name, **given).notes


def test_what_stands_against_a_prediction_is_said():
    for name, shape, machine, tiling, dtype, said in [
        ("heat3d", (20000,) * 3, "h200", None, "float32", [LARGE]),
        ("heat2d", (30000, 30000), "gtx980", "none", "float32", [LARGE]),
        ("jacobi1d", (2**28,), "gtx980", None, "float64", []),
        ("jacobi1d", (2**29,), "gtx980", "none", "float32", []),
        ("jacobi1d", (2**29 + 1,), "gtx980", "none", "float32", [LARGE]),
        # Two sets of both versions that are updated, where other tilings keep three: 16 bytes for 12.
        ("wave2d", (16384, 16400), "gtx980", "streaming:t=4,s=512x512,threads=1x133", "float32", [LARGE]),
        ("wave2d", (16384, 16400), "gtx980", "none", "float32", []),
        ("heat2d", (64, 64), "h200", None, "float32", [FEW]),
        ("heat2d", (64, 64), "h200", "none", "float32", [FEW]),
        ("heat2d", (8192, 8192), "h200", None, "float32", []),
        ("heat2d", (8192, 8192), "v100", "hybrid:t=32,s=16x32,threads=1x32", "float32", [SPILL]),
        ("heat2d", (8192, 8192), "v100", "hybrid:t=8,s=4x128,threads=1x128", "float32", []),
        ("heat2d", (200000, 200000), "zen3", "none", "float32", []),
    ]:
        found = notes(name, shape=shape, steps=64, machine=machine, tiling=tiling, dtype=dtype)
        assert len(found) == len(said), (name, shape, machine, tiling, dtype, said)
        for note, part in zip(found, said, strict=True):
            assert part in note, (name, shape, machine, tiling, dtype, said)
            assert "\n" not in note, (name, shape, machine, tiling, dtype, said)


def test_it_is_in_the_table_and_in_json():
    command = ["predict", "heat3d", "--shape", "20000x20000x20000", "--steps", "10", "--machine", "h200"]
    for more in ([], ["--top", "2"]):
        shown = CliRunner().invoke(app, [*command, *more])
        assert "all buffers of the grid take 58.21 TiB, h200 has 131.3 GiB: it cannot hold them" in shown.stdout
        document = json.loads(CliRunner().invoke(app, [*command, *more, "--json"]).stdout)
        assert [LARGE in note for note in document["notes"]] == [True]
    assert [LARGE in note for note in document["candidates"][1]["notes"]] == [True]
    assert str(tw.predict("heat2d", shape=(2**21,) * 2, steps=4, machine="h200")).endswith("it cannot hold them")


def test_a_streaming_tile_that_spills_is_refused_as_one_that_spills():
    given = {"shape": (4096, 4096), "steps": 64, "machine": "h200"}
    with pytest.raises(UsageError, match="needs more registers than h200 gives it, so that values spill"):
        tw.predict("j2d5pt", **given, tiling="streaming:t=20,s=512x500,threads=1x64")
    with pytest.raises(UsageError, match="a block of h200 has at most 1024 threads"):
        tw.predict("heat2d", **given, tiling="hybrid:t=4,s=8x2048,threads=1x2048")
