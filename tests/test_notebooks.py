"""Notebooks run from their first cell to the last, and print what they show."""

import base64
import contextlib
import io
import json
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
MOST_BYTES = 60_000


def _outputs(code, names):
    """Run a cell and return its outputs as notebooks have them: what it prints, and the figures that it leaves open."""
    printed, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "cell", "exec"), names)  # noqa: S102  (our own examples)
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=72)
        data = {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": ["<Figure>"]}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    return outputs


def _texts(outputs):
    return ["".join(each["text"]) if each["output_type"] == "stream" else each["output_type"] for each in outputs]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path, request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    mpl.use("agg")
    made = [_outputs("".join(cell["source"]), names) for cell in cells]
    if request.config.getoption("--update-golden"):
        for number, (cell, outputs) in enumerate(zip(cells, made, strict=True), 1):
            cell |= {"outputs": outputs, "execution_count": number}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    hint = "if that is meant, run: pytest tests/test_notebooks.py --update-golden"
    assert [_texts(cell["outputs"]) for cell in cells] == [_texts(outputs) for outputs in made], hint
    assert sum(bool(outputs) for outputs in made) >= 5
    assert path.stat().st_size < MOST_BYTES


def test_there_are_notebooks_of_an_equation_and_of_a_shot():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {"heat", "shot"}
