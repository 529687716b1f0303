"""Reports: pages that stand alone, from plans, predictions, files and the models."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.base.records import Outcome
from tilewright.machines.files import load
from tilewright.report import figures
from tilewright.report import page as page_texts
from tilewright.runtime.store import folder as store
from tilewright.verbs import report as api

TILES = ("hybrid:t=8,s=4x128", "hybrid:t=4,s=8x64", "none", "hybrid:t=8,s=2x256")
PLOTS = {"roofline", "scatter", "ranking", "pareto", "resources"}


@tw.stencil
def mine(u, a):
    return u[0, 0] + a * (u[-1, 0] + u[1, 0] - 2 * u[0, 0])


@pytest.fixture(scope="module")
def document():
    """What ``tune --json`` prints, its candidates measured by nobody but this line."""
    plan = tw.tune("heat2d", shape=(1024, 1024), steps=64, machine="gtx980", effort="none", candidates=6)
    found = json.loads(json.dumps(plan.to_dict()))
    for place, each in enumerate(found["candidates"]):
        each |= {"measured_seconds": each["predicted_seconds"] * (1.1 + 0.05 * place), "outcome": "ok"}
    found["candidates"][-1] |= {"measured_seconds": None, "outcome": "crash", "detail": "<script>alert(1)</script>"}
    return found


@pytest.fixture(scope="module")
def page(document, tmp_path_factory):
    """The page of that document, and its file."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "plan.json").write_text(json.dumps(document))
    return api.report(api.of_file(folder / "plan.json", api.FileDefaults()), folder / "out.html")


class _Page(HTMLParser):
    """What a page would load or run, which plots it has, and its text."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.plots, self.words = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in {"script", "iframe", "object", "embed", "link", "base", "img"}:
            self.loads.append(tag)
        for name in ("src", "href", "xlink:href", "data", "action"):
            if name in found and not found[name].startswith("#"):
                self.loads.append(found[name])
        if tag == "svg":
            self.plots.add(found["data-plot"])

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def checked(path):
    text = path.read_text(encoding="utf-8")
    page = _Page(text)
    assert page.loads == []
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    return page


def test_a_tune_that_was_printed_becomes_a_page(page, document):
    shown = checked(page)
    assert shown.plots == PLOTS | {"tile"}
    for each in document["candidates"]:
        assert each["tile"] in shown.text
    for said in ("crash", "Measured were", "Pareto set", "half the time of an iteration"):
        assert said in shown.text


@pytest.mark.parametrize("machine", ["k20c", replace(load("k20c"), name="own")], ids=["catalogue", "own"])
def test_a_plan_shows_itself(machine):
    """Also one for a machine that is in no catalogue."""
    plan = tw.tune("jacobi1d", shape=(4096,), steps=32, machine=machine, effort="none", candidates=4)
    shown = _Page(plan._repr_html_())
    assert shown.plots == PLOTS - {"scatter"}
    assert str(plan.tiling) in shown.text
    assert plan.machine == (machine if isinstance(machine, str) else "own")


def test_predictions_show_themselves():
    shown = _Page(tw.predict(mine, shape=(64, 64), steps=32, machine="k20c")._repr_html_())
    assert shown.plots == {"roofline", "ranking"}
    assert shown.loads == []
    table = tw.predict("edit_distance", shape=(500, 500), machine="k20c")
    assert "edit_distance" in _Page(table._repr_html_()).text


def test_axes_say_what_they_show(document, tmp_path, monkeypatch):
    shown, save = [], figures.svg
    monkeypatch.setattr(figures, "svg", lambda figure, *names: shown.extend(figure.axes) or save(figure, *names))
    (tmp_path / "plan.json").write_text(json.dumps(document))
    api.report(api.of_file(tmp_path / "plan.json", api.FileDefaults()), tmp_path / "out.html")
    assert len(shown) > len(PLOTS)  # also a tile
    assert all(axes.get_title(loc="left") or axes.get_title() for axes in shown)
    (energy,) = (axes for axes in shown if axes.get_title() == "Time and energy")
    assert (energy.get_xlabel(), energy.get_ylabel()) == ("predicted seconds", "predicted joules")


def test_without_matplotlib_notebooks_show_tables_and_pages_say_what_is_missing(monkeypatch, tmp_path):
    import importlib

    real = importlib.import_module

    def missing(name, *args):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name, name="matplotlib")
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    one = tw.predict("heat2d", shape=(64, 64), steps=32, machine="k20c")
    shown = _Page(one._repr_html_())
    assert shown.plots == set()
    assert str(one.tiling) in shown.text
    with pytest.raises(UsageError, match="matplotlib"):
        api.report(one, tmp_path / "out.html")


def test_the_models_alone_make_a_page(tmp_path):
    known = api.FileDefaults(shape=(64, 64), steps=16, machine="gtx980")
    page = checked(api.report(api.of_problem(mine.program, known, top=5), tmp_path / "out.html"))
    assert page.plots == PLOTS - {"scatter"} | {"tile"}
    assert "estimated, not measured" in page.text


def test_a_log_is_read_up_to_its_cut(tmp_path):
    path = tmp_path / "log.jsonl"
    for place, tile in enumerate(TILES):
        store.append(path, {"kind": "begin", "tiling": tile})
        store.append(path, {"kind": "sample", "tiling": tile, "seconds": 0.5 - 0.1 * place, "outcome": "ok"})
    store.append(path, {"kind": "sample", "tiling": "hybrid:t=2,s=8x8", "outcome": str(Outcome.CRASH), "detail": "x"})
    path.write_bytes(path.read_bytes() + b'\n{"kind":"sample","tili')
    known = api.FileDefaults(program=tw.program("heat2d"), shape=(64, 64), steps=16, machine="gtx980")
    study = api.of_file(path, known)
    assert [each.tiling for each in study.candidates] == [*TILES[::-1], "hybrid:t=2,s=8x8"]
    assert study.candidates[0].measured == pytest.approx(0.2)
    assert checked(api.report([study, study], tmp_path / "out.html")).plots == PLOTS | {"tile"}


def test_a_page_says_where_it_comes_from_and_what_ran(document, tmp_path):
    made = {"date": "2026-01-02 03:04 UTC", "version": "9.9", "backend": "cuda", "processor": "<b>", "compiler": "cc 1"}
    document["candidates"][0]["range_seconds"] = [0.5, 0.75]
    (tmp_path / "plan.json").write_text(json.dumps(document | {"made": made | {"threads": 3, "other": "x"}}))
    study = api.of_file(tmp_path / "plan.json", api.FileDefaults())
    assert dict(study.made)["measured by"] == "tilewright 9.9"
    assert "other" not in dict(study.made)
    assert study.candidates[0].measured_range == (0.5, 0.75)
    text = checked(api.report(study, tmp_path / "out.html", command="tilewright report plan.json")).text
    shown = "2026-01-02 03:04 UTC", "cc 1", "<b>", "GeForce GTX 980", "500 ms to 750 ms", "tilewright report plan.json"
    for each in shown:
        assert each in text
    assert f"by tilewright {tw.__version__}" in text
    assert "Nothing was run" not in text


def test_a_page_of_the_models_says_that_nothing_was_run_and_how_sure_they_are(tmp_path):
    asked = {"shape": (64, 64), "steps": 16, "machine": "h200"}
    study = api.of_problem(tw.program("heat2d"), api.FileDefaults(**asked), top=15)
    assert "Nothing was run" in study.plain
    assert "No code of tilewright ran on this GPU" in study.plain
    low, high = study.candidates[0].interval
    assert low < study.candidates[0].predicted < high
    one = tw.predict("heat2d", **asked)
    assert (low, high) == pytest.approx((one.interval.low, one.interval.high))
    assert all(each.interval for each in study.candidates[:12])
    own = api.of_problem(tw.program("heat2d"), api.FileDefaults(shape=(256, 256), steps=16, machine="zen3"), top=3)
    assert "GPU" not in own.plain


def test_what_tune_prints_says_what_it_was_measured_with():
    from tilewright.verbs.tuning import study

    made = study.measured_here("c", 2)
    assert set(made) == {"date", "version", "backend", "processor", "compiler", "threads"}
    assert all(made.values())
    assert study.read_circumstances({"made": made}) == study.pairs(made)
    assert study.read_circumstances({"made": ["x"]}) == ()


GOOD = {"program": "heat2d", "machine": "h200", "shape": [8, 8], "steps": 1, "tile": "none"}
BAD = {
    "nothing": "",
    "no json": "{",
    "deep": "[" * 100_000,
    "a list": "[1, 2]",
    "another document": '{"chain": 1}',
    "no program": json.dumps(GOOD | {"program": 1}),
    "unknown program": json.dumps(GOOD | {"program": "nope"}),
    "a path for a machine": json.dumps(GOOD | {"machine": "../../etc/passwd"}),
    "no shape": json.dumps(GOOD | {"shape": None}),
    "a huge shape": json.dumps(GOOD).replace("[8, 8]", "[1e400, 8]"),
    "a wrong rank": json.dumps(GOOD | {"shape": [8]}),
    "no number": json.dumps(GOOD | {"measured_seconds": "x"}),
    "no tiling": json.dumps(GOOD | {"tile": "__import__('os')"}),
    "candidates": json.dumps(GOOD | {"candidates": {"a": 1}}),
    "a candidate": json.dumps(GOOD | {"candidates": [7]}),
    "an infinite time": json.dumps(GOOD | {"measured_seconds": 777}).replace("777", "1e999"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_no_results_are_refused_in_one_sentence(name, tmp_path):
    (tmp_path / "bad.json").write_text(BAD[name])
    with pytest.raises(UsageError) as error:
        api.of_file(tmp_path / "bad.json", api.FileDefaults())
    assert len(str(error.value)) < 700


def test_where_a_page_cannot_go(tmp_path):
    one = tw.predict("heat2d", shape=(64, 64), steps=4, machine="h200")
    with pytest.raises(UsageError, match="nothing to report"):
        api.report([], tmp_path / "out.html")
    with pytest.raises(UsageError, match=r"ends in \.html"):
        api.report(one, tmp_path / "out.png")
    with pytest.raises(UsageError, match="cannot be written"):
        api.report(one, tmp_path / "nowhere" / "out.html")
    with pytest.raises(UsageError, match="shape and steps"):
        api.of_problem(mine.program, api.FileDefaults())
    (tmp_path / "log.jsonl").write_text("")
    with pytest.raises(UsageError, match="does not say what it is of"):
        api.of_file(tmp_path / "log.jsonl", api.FileDefaults())


def test_headless_chromium_shows_the_plots(page, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here, so no picture was taken (apt-get install chromium)")
    shot = tmp_path / "shot.png"
    command = [
        browser, "--headless", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1200,4000", f"--screenshot={shot}", page.as_uri(),
    ]  # fmt: skip
    command += ["--no-sandbox"] if os.geteuid() == 0 else []  # root has no other way; the page is our own
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert shot.exists(), done.stderr[-500:]
    picture = np.asarray(Image.open(shot).convert("RGB")).reshape(-1, 3).astype(int)
    for colour in ((0x1F, 0x5F, 0xA8), (0x3B, 0x7F, 0x4C), (0xB3, 0x26, 0x1E), (0x26, 0x32, 0x3F)):
        close = (np.abs(picture - np.array(colour)) <= 12).all(axis=1)
        assert close.sum() > 100, f"no plot shows the colour {colour}"


def test_a_range_that_is_none_when_rounded_is_left_out():
    assert page_texts._with_range(1e-3, (0.9e-3, 1.1e-3)) == "1.00 ms (900 us to 1.10 ms)"
    assert page_texts._with_range(1e-3, (0.99999e-3, 1.00001e-3)) == "1.00 ms"
    assert page_texts._with_range(1e-3, None) == "1.00 ms"
