"""Draws the pictures of the documentation with the code that users draw with."""

import tempfile
from pathlib import Path

import mkdocs_gen_files

from tilewright.api import explain
from tilewright.programs.catalogue import program
from tilewright.programs.problem import make_problem
from tilewright.report.gpu_schedule import draw_schedule
from tilewright.tilings.tiling import parse

TILINGS = {
    "hexagonal": "hexagonal:t=8,s=6",
    "hybrid": "hybrid:t=8,s=6x16",
    "skewed": "skewed:t=8,s=12,sub=4",
    "diamond": "diamond:t=8,s=8",
    "overlapped": "overlapped:t=4,s=12",
}

with tempfile.TemporaryDirectory() as folder:
    for name, tiling in TILINGS.items():
        path = Path(folder) / f"{name}.svg"
        explain.draw(explain.family(tiling), path)
        with mkdocs_gen_files.open(f"pictures/{name}.svg", "w") as picture:
            picture.write(path.read_text(encoding="utf-8"))
    block = draw_schedule(
        make_problem(program("jacobi2d"), (50, 50), 8), parse("hybrid:t=8,s=6x16"), Path(folder) / "gpu-hexagon.svg"
    )
    with mkdocs_gen_files.open("pictures/gpu-hexagon.svg", "w") as picture:
        picture.write(block.read_text(encoding="utf-8"))
