"""Every example of a help text runs when it is pasted: in a shell's order, on small sizes; nothing it prints is cut.

What a user brings (pictures, sequences, annotated C, logs) lies in the folder; everything else comes from the commands.
"""

import itertools
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

from tilewright.cli.app import app
from tilewright.sparse import petsc

pytestmark = pytest.mark.optimised  # some measure, which takes longer than compiling

ANNOTATED = Path(__file__).parents[1] / "workloads" / "annotated" / "verbs"


def _commands(group, path=()):
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, (*path, name))


def _examples():
    """Every line of a help text that shows a command, once, as it is written."""
    found = {}
    for _, command in _commands(typer.main.get_command(app)):
        for line in (command.help or "").splitlines():
            if match := re.search(r"(?:^|: )(tilewright .*|\./ex2 .*)$", line):
                found.setdefault(match[1].strip())
    return list(found)


EXAMPLES = _examples()
HERE = [
    line for line in EXAMPLES if line.startswith("tilewright ") and "--backend cuda" not in line
]  # no GPU is needed


def _smaller(line):
    """The same command with a small problem and a small budget."""
    line = re.sub(r"\b\d{3,}(?:x\d{3,})+\b", lambda shape: re.sub(r"\d+", "96", shape[0]), line)
    line = re.sub(r"--steps \d+", "--steps 8", line)
    # What annotate may take is all that it takes, compiling included: a busy machine needs more than it looks.
    if " annotate " in line:
        return re.sub(r"--seconds \d+", "--seconds 300 --runs 1", line)
    line = re.sub(r"--seconds \d+", "--seconds 2", line)
    if " tune " in line:
        line += " --candidates 2"
    if " codesign " in line:
        line = line + " --grid coarse --axis sm=16,24 --axis width=128 --axis shared=48,96"
    if " calibrate " in line:
        line += " --program jacobi1d"
    return line


@pytest.fixture
def brought(monkeypatch, tmp_path, little):
    """The folder of somebody who reads the help."""
    for name in ("STORE", "CACHE"):
        monkeypatch.setenv(f"TILEWRIGHT_{name}", str(tmp_path / name.lower()))
    Image.fromarray(np.arange(48 * 64 * 3, dtype=np.uint8).reshape(48, 64, 3)).save(tmp_path / "photo.png")
    np.save(tmp_path / "v.npy", np.full((40, 160), 2500.0))
    for name, letters in (("a", "GATTACA"), ("b", "GCATGCA")):
        (tmp_path / f"{name}.fasta").write_text(f">{name}\n{letters}\n", encoding="utf-8")
    shutil.copy(ANNOTATED / "axpy4.c", tmp_path / "axpy.c")
    log = "".join(
        f"{b}_{s}_{w}_{n}_32 {100 + 7 * b + s + 3 * n}.5 GFLOPS\n"
        for b, s, w, n in itertools.product((2, 4, 8), (2, 4), (32, 64, 128), (1, 2))
    )
    for name in ("j2d5pt", "gradient2d"):
        (tmp_path / f"{name}.log").write_text(log, encoding="utf-8")


def test_every_command_shows_one():
    shown = " ".join(EXAMPLES)
    for words, command in _commands(typer.main.get_command(app)):
        if not hasattr(command, "commands"):
            assert " ".join(("tilewright", *words)) in shown


@pytest.mark.parametrize("line", HERE)
def test_it_runs(cli, brought, whole, line):
    if " wisdom import " in line:
        assert cli("wisdom", "export", "-o", "wisdom.json").code == 0
    result = cli(*shlex.split(_smaller(line))[1:])
    assert result.code == 0, result.err


def test_the_one_for_petsc_gives_options_to_a_program(cli):
    (line,) = [line for line in EXAMPLES if not line.startswith("tilewright ")]
    inner = re.search(r"\$\((tilewright [^)]*)\)", line)
    result = cli(*shlex.split(inner[1])[1:])
    assert result.code in {0, 1}  # 1 where no PETSc is installed
    assert result.out.startswith("-") or "PETSc" in result.err


def test_what_was_built_for_petsc_is_a_document(cli, monkeypatch):
    built = petsc.Plugin(library="/lib/libseqdia.so", petsc="3.18", compiler="mpicc", dtype="float64")
    monkeypatch.setattr(petsc, "build", lambda _: built)
    assert json.loads(cli("petsc", "--json").out)["options"] == list(built.options)
    assert cli("petsc").out.split() == list(built.options)
