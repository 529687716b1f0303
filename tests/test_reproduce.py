"""The scripts that repeat the papers' experiments: each is where it says, and the page of experiments knows them."""

import ast
import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import first_choice
from tilewright.costs.gpu.fit import SPREADS
from tilewright.costs.gpu.terms import GpuConstants

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "reproduce"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_how_it_is_called(name):
    said = ast.get_docstring(ast.parse((FOLDER / name).read_text(encoding="utf-8")))
    assert re.findall(r"python (\S+\.py)", said) == [f"reproduce/{name}"]


def test_the_index_has_every_script_once():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"`python reproduce/(\S+\.py)[^`]*`", text)) == SCRIPTS
    assert all(f"`{path.name}`" in text for path in FOLDER.glob("*.py") if path.name not in SCRIPTS)


def test_the_page_of_experiments_names_scripts_that_are_there():
    page = ast.parse((ROOT / "docs" / "experiments.py").read_text(encoding="utf-8"))
    tables = [each.value for each in page.body if isinstance(each, ast.Assign) and isinstance(each.value, ast.Dict)]
    named = {f"{ast.literal_eval(key)}.py" for table in tables for key in table.keys}
    assert len(named) == 11
    assert named <= set(SCRIPTS)


def test_the_page_of_validation_counts_the_constants_that_are_fitted():
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    free, every = len(first_choice.FREE), len(GpuConstants.__slots__)
    assert f"| {free} of the {every} of thread blocks, as shipped | the V100 logs" in page
    assert (every, len(SPREADS)) == (32, 14)  # in words there


def test_the_grid_of_the_time_models_paper(monkeypatch):
    """80 combinations in 2D and 48 in 3D, half of them on either GPU."""
    spec = importlib.util.spec_from_file_location("paper_grid", FOLDER / "paper_grid.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "paper_grid", module)
    spec.loader.exec_module(module)
    counted = Counter((each.machine, len(each.shape)) for each in module.combinations())
    assert counted == {("gtx980", 2): 40, ("gtx980", 3): 24, ("titanx", 2): 40, ("titanx", 3): 24}
