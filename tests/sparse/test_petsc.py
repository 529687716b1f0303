"""The PETSc plug-in: what is said without PETSc, and PETSc's own examples where there is one (``pytest -m petsc``)."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.base.errors import ToolchainError, UsageError
from tilewright.cli.app import app
from tilewright.sparse import petsc

TUTORIALS = ("ksp/ksp/tutorials/ex2.c", "snes/tutorials/ex5.c")
PLACES = ("/usr/share/petsc/*/share/petsc/examples/src", "share/petsc/examples/src", "src")
SOLVERS = (
    "",
    "-pc_type none",
    "-pc_type jacobi",
    "-pc_type sor",
    "-ksp_type cg -pc_type icc",
    "-pc_type ilu -pc_factor_levels 2",
    "-pc_type lu",
    "-pc_type cholesky",
    "-ksp_type bicg -pc_type jacobi",
    "-ksp_type bcgs -pc_type bjacobi",
)


def test_without_petsc_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(petsc, "_ask", lambda *_: "")
    monkeypatch.delenv("PETSC_DIR", raising=False)
    if shutil.which("pkg-config") is None:
        monkeypatch.setattr(petsc.shutil, "which", lambda name: f"/bin/{name}")
    with pytest.raises(ToolchainError, match=r"no PETSc with headers.*libpetsc-real-dev"):
        petsc.find()
    monkeypatch.setenv("PETSC_DIR", str(tmp_path))
    with pytest.raises(ToolchainError, match="PETSC_DIR names"):
        petsc.find()
    answer = CliRunner().invoke(app, ["petsc"])
    assert answer.exit_code == 1
    assert "PETSC_DIR" in answer.stderr


@pytest.mark.parametrize(
    ("defined", "expected"),
    [("PETSC_USE_REAL_DOUBLE 1", "float64"), ("PETSC_USE_REAL_SINGLE 1", "float32")],
)
def test_the_type_of_scalars_is_read(tmp_path, defined, expected):
    (tmp_path / "petscconf.h").write_text(f"#define PETSC_HAVE_X 1\n#define {defined}\n")
    assert petsc._dtype([tmp_path / "none", tmp_path]) == expected
    assert expected.replace("float32", "typedef float").replace("float64", "typedef double") in petsc.source(expected)


def test_scalars_that_are_not_supported(tmp_path):
    (tmp_path / "petscconf.h").write_text("#define PETSC_USE_COMPLEX 1\n#define PETSC_USE_REAL_DOUBLE 1\n")
    with pytest.raises(UsageError, match="complex"):
        petsc._dtype([tmp_path])
    (tmp_path / "petscconf.h").write_text("#define PETSC_USE_REAL___FLOAT128 1\n")
    with pytest.raises(UsageError, match="single or double"):
        petsc._dtype([tmp_path])
    with pytest.raises(ToolchainError, match="there is no petscconf"):
        petsc._dtype([])


def test_the_file_has_the_name_that_petsc_asks_for(tmp_path):
    with pytest.raises(UsageError, match="the plug-in's file is called"):
        petsc.build(tmp_path / "mine.so")


def example(name: str) -> Path | None:
    roots = [Path("/").glob(PLACES[0].lstrip("/"))]
    if os.environ.get("PETSC_DIR"):
        roots.append(Path(os.environ["PETSC_DIR"]) / place for place in PLACES[1:])
    return next((root / name for group in roots for root in group if (root / name).is_file()), None)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """PETSc's own examples, compiled as they are, and a program of ours; and the plug-in."""
    try:
        found = petsc.find()
    except ToolchainError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("petsc")
    sources = {Path(name).stem: example(name) for name in TUTORIALS}
    if missing := [name for name, path in sources.items() if path is None]:
        pytest.skip(f"PETSc's examples {missing} are not installed: `apt install libpetsc3.18-dev-examples`")
    sources["operations"] = Path(__file__).with_name("operations.c")
    flags = [
        word
        for question in ("--cflags", "--libs")
        for word in petsc._ask(shutil.which("pkg-config"), question, "PETSc").split()
    ]
    for name, path in sources.items():
        command = [*found.compiler, "-O1", "-o", str(folder / name), str(path), *flags, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
    plugin = petsc.build(folder)

    def run(name, kind, options="", prefix="-mat_type"):
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = [str(folder / name), "-dll_append", plugin.library, prefix, kind, *options.split()]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout

    return run


@pytest.mark.petsc
@pytest.mark.parametrize("solver", SOLVERS)
def test_ksp_example_2_unchanged(programs, solver):
    options = f"-m 30 -n 25 {solver}"
    ours = programs("ex2", "seqdia", options)
    assert ours == programs("ex2", "aij", options)
    assert re.search(r"iterations \d+", ours)
    assert programs("ex2", "seqdia", f"{options} -mat_seqdia_threads 2") == ours


@pytest.mark.petsc
@pytest.mark.parametrize("solver", ["", "-da_refine 3 -pc_type mg", "-da_refine 3 -ksp_type cg -pc_type icc"])
def test_snes_example_5_unchanged(programs, solver):
    options = f"-da_grid_x 9 -da_grid_y 9 {solver} -snes_monitor_short -snes_converged_reason -ksp_converged_reason"
    ours = programs("ex5", "seqdia", options, "-dm_mat_type")
    assert ours == programs("ex5", "aij", options, "-dm_mat_type")
    assert "converged due to" in ours


@pytest.mark.petsc
def test_the_type_is_really_used(programs):
    text = programs("ex2", "seqdia", "-ksp_view")
    assert re.search(r"type: seqdia\s+rows=56, cols=56", text)
    assert "5 diagonals without padding, 264 stored elements" in programs("ex2", "seqdia", "-mat_view ::ascii_info")
    options = "-m 3 -n 3 -mat_view -pc_type none"
    entries = programs("ex2", "seqdia", options)
    assert "row 0: (0, 4.)  (1, -1.)  (3, -1.)" in entries
    assert entries.replace("seqdia", "seqaij") == programs("ex2", "seqaij", options)


@pytest.mark.petsc
def test_every_operation_agrees_with_aij(programs):
    assert "0 differences" in programs("operations", "seqdia")
    assert "0 differences" in programs("operations", "seqdia", "-mat_seqdia_threads 2")


@pytest.mark.petsc
def test_what_it_cannot_do_is_said(programs):
    with pytest.raises(AssertionError, match="at most 3 diagonals; use -mat_type aij"):
        programs("ex2", "seqdia", "-mat_seqdia_diagonals 3")
    with pytest.raises(AssertionError, match="a number from 1 to 4096, got 0"):
        programs("ex2", "seqdia", "-mat_seqdia_threads 0")
