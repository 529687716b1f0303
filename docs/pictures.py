"""Draws the pictures of the documentation with the code that users draw with."""

import tempfile
from pathlib import Path

import mkdocs_gen_files
import numpy as np
from PIL import Image

from tilewright.api import explain, image
from tilewright.programs.catalogue import program
from tilewright.programs.problem import make_problem
from tilewright.report.gpu_schedule import draw_schedule
from tilewright.report.gpu_stream_schedule import draw_streaming
from tilewright.tilings.tiling import parse

TILINGS = {
    "none": "none",
    "hexagonal": "hexagonal:t=8,s=6",
    "hybrid": "hybrid:t=8,s=6x16",
    "skewed": "skewed:t=8,s=12,sub=4",
    "diamond": "diamond:t=8,s=8",
    "overlapped": "overlapped:t=4,s=12",
    "streaming": "streaming:t=8,s=512x512",
    "orthogonal": "orthogonal:t=8,s=16,sub=4",
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
    block = draw_streaming(
        make_problem(program("j2d5pt"), (60, 60), 8),
        parse("streaming:t=4,s=40x16,threads=1x24"),
        Path(folder) / "gpu-streaming.svg",
    )
    with mkdocs_gen_files.open("pictures/gpu-streaming.svg", "w") as picture:
        picture.write(block.read_text(encoding="utf-8"))


def scene() -> np.ndarray:
    """A test picture: discs, bars and a soft slope, with a little noise."""
    y, x = np.mgrid[0:240, 0:320].astype(np.float64)
    picture = 0.25 + 0.3 * x / 320
    picture[(y - 90) ** 2 + (x - 90) ** 2 < 55**2] = 0.85
    picture[(y - 75) ** 2 + (x - 110) ** 2 < 20**2] = 0.1
    picture[(np.abs(y - 120) < 80) & (np.abs(x - 230) < 50) & ((x // 14) % 2 == 0)] = 0.95
    picture[y > 200] = 0.5 + 0.4 * np.sin(x[y > 200] / (6 + x[y > 200] / 40))
    return np.clip(picture + 0.02 * np.random.default_rng(0).standard_normal(picture.shape), 0, 1)


photo = scene()
panels = [photo, image.blur(photo, 3.0), 3 * image.sobel(photo), image.canny(photo, 1.4) / 255]
montage = np.pad(np.hstack([np.pad(panel, 4, constant_values=1) for panel in panels]), 4, constant_values=1)
with mkdocs_gen_files.open("pictures/pipelines.png", "wb") as target:
    Image.fromarray(np.rint(255 * np.clip(montage, 0, 1)).astype(np.uint8)).save(target, format="PNG")
