"""Logs of other tuners: read strictly, torn ends left out, nothing evaluated."""

import json
import math

import pytest

from tilewright.base.errors import UsageError
from tilewright.base.records import Outcome
from tilewright.runtime.formats.logs import LogPoint, TuningLog, read_stencilbench
from tilewright.runtime.formats.tuner_files import configuration, read_t1, read_tuner_file, t1_path, tiling_of, write_t4
from tilewright.schedules.tiling import Tiling, parse

pytestmark = pytest.mark.filterwarnings(
    "ignore:tilewright.runtime.formats.tuner_files.write_t4 goes:DeprecationWarning"
)

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


@pytest.mark.parametrize("cut", range(1, len(LINES) - 31))
def test_a_log_that_is_cut_short_keeps_every_whole_line(tmp_path, cut):
    path = tmp_path / "j2d5pt.log"
    path.write_text(LINES[:-cut])
    log = read_stencilbench(path)
    assert (len(log.points), len(log.skipped)) == ((2, 0) if cut == 1 else (1, 1))


@pytest.mark.parametrize(
    "cut", ["16_32_512_6_32", "16_32_512_6_32 ", "16_32_512_6_", "8", "8_6_256_1_256 28.5", "8_6_256_1_256 2e2 GFLOP"]
)
def test_a_line_that_is_cut_short_is_left_out_and_named(tmp_path, cut):
    path = tmp_path / "j2d5pt.log"
    first, second = LINES.splitlines()
    path.write_text(f"{first}\n{cut}\n{second}\n")
    log = read_stencilbench(path)
    assert len(log.points) == 2
    assert log.skipped == (f"line 2 of {str(path)!r}",)


@pytest.mark.parametrize(
    "line",
    [
        "8_6_256_1_256_8",
        "mine",
        "8_6_256_1 1 GFLOPS",
        "8_6_256_1_256 -1 GFLOPS",
        "8_6_256_1_256 0 GFLOPS",
        "8_6_256_1_256 1e999 GFLOPS",
        "0_6_256_1_256 1 GFLOPS",
        "8_6_99999999999999999999_1_256 1 GFLOPS",
        "__import__('os') 1 GFLOPS",
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path, line):
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
LOG = TuningLog(
    program="j2d5pt",
    shape=(4096, 2048),
    steps=100,
    points=(
        LogPoint(tiling=TILING, seconds=0.25),
        LogPoint(tiling=parse("hybrid:t=4,s=1x32,threads=1x32"), seconds=math.nan, outcome=Outcome.COMPILE),
    ),
)


def test_t4_with_its_t1_comes_back(tmp_path):
    path = tmp_path / "results.json"
    write_t4(path, LOG)
    again = read_tuner_file(path)
    assert (again.program, again.shape, again.steps) == (LOG.program, LOG.shape, LOG.steps)
    assert [point.tiling for point in again.points] == [point.tiling for point in LOG.points]
    assert [point.outcome for point in again.points] == [Outcome.OK, Outcome.COMPILE]
    assert again.points[0].seconds == 0.25
    assert math.isnan(again.points[1].seconds)
    assert read_t1(t1_path(path)) == ("j2d5pt", (4096, 2048), 100)


def test_the_required_keys_of_the_schemas(tmp_path):
    path = tmp_path / "results.json"
    write_t4(path, LOG)
    for result in json.loads(path.read_text())["results"]:
        assert {"configuration", "times", "invalidity", "correctness"} <= set(result)
    document = json.loads(t1_path(path).read_text())
    assert {"Language", "KernelName", "KernelFile", "GlobalSize", "LocalSize"} <= set(document["KernelSpecification"])
    for parameter in document["ConfigurationSpace"]["TuningParameters"]:
        assert set(parameter) == {"Name", "Type", "Values"}
        assert json.loads(parameter["Values"])


CACHE = {
    "device_name": "Tesla V100",
    "kernel_name": "j2d5pt",
    "problem_size": [4096, 2048],
    "tune_params_keys": ["tile_t"],
    "cache": {
        "a": {**configuration(TILING), "time": 12.5, "times": [12.5, 13.0]},
        "b": {**configuration(TILING), "time": "CompilationFailedConfig"},
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


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"tile_t": "16"}, "whole number"),
        ({"tile_1": 1.5}, "whole number"),
        ({"time": -1.0}, "positive"),
        ({"time": math.inf}, "positive"),
        ({"threads_2": None}, "whole number"),
        ({"tile_1": 2**40}, "whole number"),
        ({"tile_2": 0}, "tile_2 in .* is at least 1"),
        ({"threads_1": 0}, "threads_1 in .* is at least 1"),
    ],
)
def test_bad_values_are_refused(tmp_path, change, part):
    path = tmp_path / "cache.json"
    entry = {**configuration(TILING), "time": 1.0, **change}
    path.write_text(json.dumps({**CACHE, "cache": {"a": entry}}))
    with pytest.raises(UsageError, match=part):
        read_tuner_file(path, steps=7)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"cache": 3}', '{"results": [1]}', "\x00"])
def test_hostile_files_are_refused(tmp_path, text):
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
