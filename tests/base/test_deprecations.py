"""What goes in the next minor version warns, once, at the caller's line; the page says the same."""

import dataclasses
import importlib
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.base import deprecations
from tilewright.base.deprecations import DEPRECATIONS, GOES_IN, GONE, WENT_IN, TilewrightDeprecationWarning
from tilewright.base.errors import UsageError
from tilewright.runtime.warn import forget_warnings
from tilewright.schedules.tiling import parse
from tilewright.verbs import explain
from tilewright.workloads.codesign.design import DesignOptions, load_workload

U = np.zeros((40, 40), np.float32)
ON = {"shape": (64, 64), "steps": 8, "machine": "h200"}
CALLS = {"threads=": [lambda: tw.select("heat2d", **ON, threads=True, top=1)]}


def workload():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "w.toml")
        path.write_text('[[stencil]]\nprogram = "heat2d"\nstrategy = "overlapped"\n')
        return load_workload(str(path))


def tuner_writer():
    from tilewright.runtime.formats.logs import write_t4  # noqa: F401


PICTURE = np.zeros((9, 9), np.float32)
TILE, STREAMED = "overlapped:t=2,s=8x16", "wavefront-diamond:t=4,s=4x8x64,team=2"
REFUSED = {
    "overlapped": [
        lambda: tw.run("heat2d", U, steps=4, tiling=TILE),
        lambda: tw.run("heat2d", U, steps=4, tiling=tw.Tiling(family="overlapped", time=2, space=(8, 16))),
        lambda: tw.predict("heat2d", **ON, tiling=TILE),
        lambda: tw.energy("heat2d", **{**ON, "machine": "k20c"}, tiling=TILE),
        lambda: tw.codesign("heat2d", area=(400, 410), options=DesignOptions(strategies=("tiled", "overlapped"))),
        lambda: explain.family("overlapped"),
        workload,
    ],
    "wavefront-diamond": [
        lambda: tw.predict("heat3d", shape=(64,) * 3, steps=8, tiling=STREAMED),
        lambda: tw.run("heat3d", np.zeros((9, 9, 9)), steps=2, tiling=STREAMED),
        lambda: explain.family("wavefront-diamond"),
        lambda: DesignOptions(strategies=("wavefront-diamond",)),
    ],
    "border=": [
        lambda: tw.fuse("blur", shape=(64, 64), border="wrap"),
        lambda: tw.pipeline("blur")(PICTURE, border="wrap"),
        lambda: tw.pipeline("blur").reference(PICTURE, border="wrap", boundary="wrap"),
        lambda: tw.image.blur(PICTURE, border="wrap"),
        lambda: tw.image.sobel(PICTURE, border="mirror"),
        lambda: tw.image.canny(PICTURE, border="nearest"),
    ],
    "energy --micro": [lambda: deprecations.refuse("--micro")],
    "tilewright.pypde": [lambda: importlib.import_module("tilewright.pypde")],
    "write_t4": [tuner_writer],
}


@pytest.fixture(autouse=True)
def _anew():
    forget_warnings()


def test_every_name_has_a_call():
    assert CALLS.keys() == DEPRECATIONS.keys()
    assert {*REFUSED, "variant=param", "reuse=move"} == GONE.keys()


@pytest.mark.parametrize("text", ["variant=param", "reuse=move", "variant=fixed", "reuse=place,variant=param"])
def test_keys_that_mean_nothing_are_read_and_not_written(text):
    plain = tw.Tiling(family="hybrid", time=4, space=(4, 16))
    with warnings.catch_warnings(action="error"):
        assert parse(f"hybrid:t=4,s=4x16,{text}") == plain
        assert tw.Tiling(family="hybrid", time=4, space=(4, 16), variant="param", reuse="move") == plain
        assert str(dataclasses.replace(plain, time=8)) == "hybrid:t=8,s=4x16"
        found = tw.predict("heat2d", **ON, tiling=f"hybrid:t=4,s=4x16,{text}")
    assert found.to_dict()["tiling"]["variant"] == "fixed"
    assert found.to_dict()["tiling"]["reuse"] == "place"
    assert found.costs == tw.predict("heat2d", **ON, tiling=plain).costs
    with pytest.raises(UsageError, match="the variant of a tiling is one of fixed, param, got 'other'"):
        parse("hybrid:variant=other")


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in REFUSED.items() for call in calls])
def test_what_is_gone_is_refused_with_its_new_home(name, call):
    with pytest.raises((UsageError, ImportError)) as caught:
        call()
    assert str(caught.value) in {str(GONE[name]), str(GONE[name].error())}
    assert GONE[name].instead in f"{caught.value} {getattr(caught.value, 'hint', '')}"


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in CALLS.items() for call in calls])
def test_what_goes_warns_once_at_the_callers_line(name, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            call()
    (found,) = [each for each in caught if issubclass(each.category, TilewrightDeprecationWarning)]
    assert str(found.message) == str(DEPRECATIONS[name])
    assert issubclass(found.category, tw.TilewrightWarning)
    assert issubclass(found.category, DeprecationWarning)
    assert found.filename == __file__


def test_a_command_refuses_what_is_gone_in_one_sentence():
    command = ["predict", "heat2d", "--machine", "h200", "--shape", "64x64", "--steps", "8", "--tile", TILE, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", *command], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2
    assert GONE["overlapped"].sentence in " ".join(done.stderr.split())
    assert not done.stdout


def test_what_goes_goes_after_this_version_and_what_is_gone_went_by_it():
    now, goes, went = ([int(part) for part in each.split(".")[:2]] for each in (tw.__version__, GOES_IN, WENT_IN))
    assert goes > now >= went
    assert {each.version for each in DEPRECATIONS.values()} <= {GOES_IN}
    assert {each.version for each in GONE.values()} == {WENT_IN}


@pytest.mark.parametrize(
    ("title", "entries", "version"), [("goes", DEPRECATIONS, GOES_IN), ("was removed", GONE, WENT_IN)]
)
def test_the_page_has_the_tables(title, entries, version):
    page = Path(__file__).parents[2].joinpath("docs", "stability.md").read_text(encoding="utf-8")
    rows = [f"| `{each.name}` | {each.sentence} | {each.instead} |" for each in entries.values()]
    table = "\n".join(["| what | what becomes of it | write, or look |", "| --- | --- | --- |", *rows, ""])
    assert f"## What {title} in {version}\n\n{table}" in page
