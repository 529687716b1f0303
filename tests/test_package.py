"""What is shipped: the wheel holds every file of the package and nothing else, the source archive its tests as well.

Importing the package loads next to nothing, and its version is that of the changelog.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import tilewright

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tilewright"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built as ``python -m build`` builds it."""
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("dist")), versions=["standard"])
    with zipfile.ZipFile(path) as archive:
        yield path, archive


def _shipped():
    """Every file of the package but what Python leaves there."""
    return {
        str(path.relative_to(SOURCE.parent))
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    _, archive = wheel
    inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == _shipped()
    for name in (
        "py.typed",
        "machines/catalogue/gtx980.toml",
        "workloads/tables/matrices/BLOSUM62.txt",
        "sparse/seqdia.c",
    ):
        assert f"tilewright/{name}" in inside
    assert sum(name.endswith(".toml") for name in inside) >= 15


def test_the_wheel_says_what_it_is(wheel):
    path, archive = wheel
    assert path.endswith("py3-none-any.whl")
    (entry,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert "tilewright = tilewright.cli:main" in archive.read(entry).decode()
    (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    text = archive.read(metadata).decode()
    assert f"Version: {tilewright.__version__}" in text
    assert "License-Expression: Apache-2.0" in text
    assert "Requires-Python: >=3.11" in text
    required = [line for line in text.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert sorted(re.split("[<>]", line.split()[1])[0] for line in required) == [
        "numpy", "platformdirs", "rich", "typer",
    ]  # fmt: skip
    assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())
    assert Path(path).stat().st_size < 5 * 2**20


def test_the_source_archive_makes_the_same_wheel(wheel, tmp_path):
    (path,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert Path(path).stat().st_size < 10 * 2**20
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (each for each in tmp_path.iterdir() if each.is_dir())
    assert {each.name for each in unpacked.iterdir()} == {
        "src", "tests", "docs", "examples", "benchmarks", "reproduce", ".ci", ".github", ".gitignore", "README.md",
        "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "LICENSE", "PKG-INFO", "mkdocs.yml",
        "pyproject.toml",
    }  # fmt: skip
    (again,) = WheelBuilder(str(unpacked)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    with zipfile.ZipFile(again) as archive:
        inside = {(entry.filename, entry.CRC) for entry in archive.infolist()}
    assert inside == {(entry.filename, entry.CRC) for entry in wheel[1].infolist()}


def test_the_version_is_that_of_the_changelog():
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    version, said = re.fullmatch(r"## \[(.+)\] - (.+)", next(line for line in lines if line.startswith("## "))).groups()
    assert version == tilewright.__version__
    assert (said == "unreleased") == (".dev" in version)
    assert said == "unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", said)


def test_importing_loads_next_to_nothing():
    code = "import sys, tilewright; print(sorted(m for m in sys.modules if m.partition('.')[0] in sys.argv[1:]))"
    heavy = ("numpy", "typer", "rich", "PIL", "matplotlib", "scipy", "pyopencl", "islpy", "ctypes")
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_no_module_takes_the_name_of_something_public():
    """A submodule, once imported, replaces what the package offers under its name."""
    from tilewright import _HOMES

    public = {name for names in _HOMES.values() for name in names}
    modules = {path.stem for path in (ROOT / "src" / "tilewright").iterdir()}
    assert not public & modules


def test_only_public_names_are_listed():
    import tilewright

    listed = {name for name in dir(tilewright) if not name.startswith("__")}
    assert listed == set(tilewright.__all__) - {"__version__"}


def test_the_wheel_installs_without_network_and_runs_without_compiler(wheel, tmp_path):
    pytest.importorskip("pip")
    path, _ = wheel
    # The dependencies are there; a machine without network has their wheels beside this one.
    asked = [
        "install",
        "--no-index",
        "--find-links",
        str(Path(path).parent),
        "--no-deps",
        "--target",
        str(tmp_path / "site"),
    ]
    subprocess.run([sys.executable, "-m", "pip", "-q", *asked, "tilewright"], check=True, timeout=120)
    code = (
        "import numpy as np, tilewright as tw\n"
        f"assert tw.__file__.startswith({str(tmp_path / 'site')!r})\n"
        "run = tw.run('heat2d', np.eye(20, dtype='f'), steps=3, record=True)\n"
        "print(run.backend, float(run.state.sum()))"
    )
    places = {"HOME": str(tmp_path), "PATH": str(tmp_path), "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=places, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    backend, total = done.stdout.split()
    expected = tilewright.run("heat2d", np.eye(20, dtype="f"), steps=3, backend="numpy").sum()
    assert (backend, float(total)) == ("numpy", pytest.approx(float(expected), rel=1e-6))
    (warning,) = (line for line in done.stderr.splitlines() if "Warning" in line)
    assert "running with NumPy, which is many times slower: there is no C compiler on this machine (hint: " in warning
