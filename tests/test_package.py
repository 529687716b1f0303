"""What is shipped: the wheel holds every file of the package and nothing else; importing it loads next to nothing."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
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
    for name in ("py.typed", "machines/catalogue/gtx980.toml", "programs/data/BLOSUM62.txt", "sparse/seqdia.c"):
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


def test_importing_loads_next_to_nothing():
    code = "import sys, tilewright; print(sorted(m for m in sys.modules if m.partition('.')[0] in sys.argv[1:]))"
    heavy = ("numpy", "typer", "rich", "PIL", "matplotlib", "scipy", "pyopencl", "islpy", "ctypes")
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
