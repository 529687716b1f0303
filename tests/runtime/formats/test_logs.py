"""Logs of other tuners: read strictly, torn ends left out, nothing evaluated."""

import json
import math

import pytest

from tilewright.base.errors import UsageError
from tilewright.base.records import Outcome
from tilewright.runtime.formats.logs import read_stencilbench, read_t1, read_tuner_file, t1_path, tiling_of
from tilewright.schedules.tiling import Tiling, parse

LINES = "8_6_256_1_256 2814.0697 GFLOPS\n10_1_256_1_256 2676.4233 GFLOPS\n"


def test_a_line_is_a_tiling_of_twice_the_height(tmp_path):
    path = tmp_path / "j2d5pt.log"
    path.write_text(LINES)
    log = read_stencilbench(path)
    assert (log.program, log.shape, log.steps) == ("j2d5pt", (16384, 16384), 120)
    assert str(log.points[0].tiling) == "hybrid:t=16,s=6x256,threads=1x256"
    assert math.isclose(log.points[0].seconds, 16384**2 * 120 * 10 / 2814.0697e9)


def test_three_dimensions(tmp_path):
    path = tmp_path / "x.log"
    path.write_text("4_1_16_32_1_16_32 2789.323 GFLOPS\n")
    log = read_stencilbench(path, "j3d27pt")
    assert log.points[0].tiling == parse("hybrid:t=8,s=1x16x32,threads=1x16x32")


def test_a_log_that_is_cut_short_keeps_every_whole_line(tmp_path):
    for cut in range(1, len(LINES) - 31):
        path = tmp_path / "j2d5pt.log"
        path.write_text(LINES[:-cut])
        log = read_stencilbench(path)
        assert (len(log.points), len(log.skipped)) == ((2, 0) if cut == 1 else (1, 1)), cut


def test_a_line_that_is_cut_short_is_left_out_and_named(tmp_path):
    for cut in [
        "16_32_512_6_32",
        "16_32_512_6_32 ",
        "16_32_512_6_",
        "8",
        "8_6_256_1_256 28.5",
        "8_6_256_1_256 2e2 GFLOP",
    ]:
        path = tmp_path / "j2d5pt.log"
        first, second = LINES.splitlines()
        path.write_text(f"{first}\n{cut}\n{second}\n")
        log = read_stencilbench(path)
        assert len(log.points) == 2, cut
        assert log.skipped == (f"line 2 of {str(path)!r}",), cut


def test_a_bad_line_is_refused_with_its_number(tmp_path):
    for line in [
        "8_6_256_1_256_8",
        "mine",
        "8_6_256_1 1 GFLOPS",
        "8_6_256_1_256 -1 GFLOPS",
        "8_6_256_1_256 0 GFLOPS",
        "8_6_256_1_256 1e999 GFLOPS",
        "0_6_256_1_256 1 GFLOPS",
        "8_6_99999999999999999999_1_256 1 GFLOPS",
        "__import__('os') 1 GFLOPS",
    ]:
        path = tmp_path / "j2d5pt.log"
        path.write_text(f"{LINES}{line}\n")
        with pytest.raises(UsageError, match="line 3"):
            read_stencilbench(path)


def test_an_unknown_stencil_is_refused(tmp_path):
    path = tmp_path / "mine.log"
    path.write_text(LINES)
    with pytest.raises(UsageError, match="'mine'"):
        read_stencilbench(path)


TILING = parse("hybrid:t=16,s=6x256,threads=1x256")
CONFIGURATION = {"tile_t": 16, "tile_1": 6, "tile_2": 256, "threads_1": 1, "threads_2": 256}
OTHER = {"tile_t": 4, "tile_1": 1, "tile_2": 32, "threads_1": 1, "threads_2": 32}
MEASURED = {"objectives": ["time"], "times": {"runtimes": [250.0]}, "invalidity": "correct", "correctness": 1}
T4 = {
    "schema_version": "1.0.0",
    "results": [
        {"configuration": CONFIGURATION, **MEASURED, "measurements": [{"name": "time", "value": 250.0, "unit": "ms"}]},
        {"configuration": OTHER, "times": {"runtimes": []}, "invalidity": "compile", "correctness": 1},
    ],
}
T1 = {
    "KernelSpecification": {
        "Language": "CUDA",
        "KernelName": "j2d5pt",
        "GlobalSize": {"X": "2048", "Y": "4096"},
        "LocalSize": {"X": "threads_2", "Y": "threads_1"},
        "Arguments": [{"Name": "steps", "Type": "int32", "MemoryType": "Scalar", "FillValue": 100}],
    }
}
"""As version 0.2.0 wrote them."""


def test_t4_with_its_t1_is_read(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(T4))
    t1_path(path).write_text(json.dumps(T1))
    log = read_tuner_file(path)
    assert (log.program, log.shape, log.steps) == ("j2d5pt", (4096, 2048), 100)
    assert [point.tiling for point in log.points] == [TILING, parse("hybrid:t=4,s=1x32,threads=1x32")]
    assert [point.outcome for point in log.points] == [Outcome.OK, Outcome.COMPILE]
    assert log.points[0].seconds == 0.25
    assert math.isnan(log.points[1].seconds)
    assert read_t1(t1_path(path)) == ("j2d5pt", (4096, 2048), 100)


CACHE = {
    "device_name": "Tesla V100",
    "kernel_name": "j2d5pt",
    "problem_size": [4096, 2048],
    "tune_params_keys": ["tile_t"],
    "cache": {
        "a": {**CONFIGURATION, "time": 12.5, "times": [12.5, 13.0]},
        "b": {**CONFIGURATION, "time": "CompilationFailedConfig"},
    },
}


@pytest.mark.parametrize("end", ["", ",", ",\n"])
def test_a_cache_closed_or_still_open(tmp_path, end):
    path = tmp_path / "cache.json"
    text = json.dumps(CACHE, indent="")
    path.write_text(text if not end else text.rstrip("}\n") + "}" + end)
    log = read_tuner_file(path, steps=7)
    assert (log.program, log.shape, log.steps, log.device) == ("j2d5pt", (4096, 2048), 7, "Tesla V100")
    assert log.points[0].seconds == 0.0125
    assert [point.outcome for point in log.points] == [Outcome.OK, Outcome.COMPILE]
    assert len(log.measured) == 1


def test_bad_values_are_refused(tmp_path):
    for change, part in [
        ({"tile_t": "16"}, "whole number"),
        ({"tile_1": 1.5}, "whole number"),
        ({"time": -1.0}, "positive"),
        ({"time": math.inf}, "positive"),
        ({"threads_2": None}, "whole number"),
        ({"tile_1": 2**40}, "whole number"),
        ({"tile_2": 0}, "tile_2 in .* is at least 1"),
        ({"threads_1": 0}, "threads_1 in .* is at least 1"),
    ]:
        path = tmp_path / "cache.json"
        entry = {**CONFIGURATION, "time": 1.0, **change}
        path.write_text(json.dumps({**CACHE, "cache": {"a": entry}}))
        with pytest.raises(UsageError, match=part):
            read_tuner_file(path, steps=7)


def test_hostile_files_are_refused(tmp_path):
    for text in ["", "[]", "{", "[" * 100_000, '{"cache": 3}', '{"results": [1]}', "\x00"]:
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(UsageError):
            read_tuner_file(path, "j2d5pt", (8, 8), 1)


def test_what_a_file_does_not_say_must_be_given(tmp_path):
    path = tmp_path / "cache.json"
    path.write_text(json.dumps(CACHE))
    with pytest.raises(UsageError, match="does not say") as caught:
        read_tuner_file(path)
    assert caught.value.hint == "give --steps"


def test_a_configuration_without_sizes_is_refused():
    with pytest.raises(UsageError, match="names tile_t"):
        tiling_of({"block_size_x": 32}, "here")
    assert tiling_of({"tile_t": 4, "tile_1": 8}, "here") == Tiling(family="hexagonal", time=4, space=(8,))
