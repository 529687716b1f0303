"""Draws the pictures of the documentation with the code that users draw with: ``python docs/pictures.py``.

They are kept in ``docs/images``, so that pages can be read where nothing builds them. The gallery's examples run here.
"""

import io
import runpy
import sys
import tempfile
from pathlib import Path

import numpy as np
from gpu_schedules import draw_schedule, draw_streaming
from PIL import Image

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse
from tilewright.verbs import explain
from tilewright.workloads.pipelines import image

TILINGS = {
    "none": "none",
    "hexagonal": "hexagonal:t=8,s=6",
    "hybrid": "hybrid:t=8,s=6x16",
    "skewed": "skewed:t=8,s=12,sub=4",
    "diamond": "diamond:t=8,s=8",
    "streaming": "streaming:t=8,s=512x512",
    "orthogonal": "orthogonal:t=8,s=16,sub=4",
}

IMAGES = Path(__file__).parent / "images"
EXAMPLES = sorted((Path(__file__).parents[1] / "examples" / "gallery").glob("*.py"))
RESULTS = ("03_reaction_and_diffusion", "02_waves_around_walls", "09_electromagnetic_pulse")
"""Examples whose pictures stand in README."""


def tilings(folder: Path) -> None:
    """Draw every family, and what thread blocks do with two of them."""
    for name, tiling in TILINGS.items():
        explain.draw(explain.family(tiling), folder / f"{name}.png")
    draw_schedule(
        make_problem(program("jacobi2d"), (50, 50), 8), parse("hybrid:t=8,s=6x16"), folder / "gpu-hexagon.png"
    )
    draw_streaming(
        make_problem(program("j2d5pt"), (60, 60), 8),
        parse("streaming:t=4,s=40x16,threads=1x24"),
        folder / "gpu-streaming.png",
    )
    for path in folder.glob("*.png"):
        Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def gallery(folder: Path) -> None:
    """Run every example, and put the pictures of three beside each other."""
    made = {}
    for example in EXAMPLES:
        with tempfile.TemporaryDirectory() as place:
            picture = Path(place) / "picture.png"
            before, sys.argv = sys.argv, [str(example), str(picture)]
            try:
                runpy.run_path(str(example), run_name="__main__")
            finally:
                sys.argv = before
            made[example.stem] = Image.open(io.BytesIO(picture.read_bytes())).convert("RGB")
        made[example.stem].save(folder / f"{example.stem}.png", optimize=True)
    row = [made[name] for name in RESULTS]
    whole = Image.new("RGB", (sum(one.width for one in row), max(one.height for one in row)), "white")
    for place, one in enumerate(row):
        whole.paste(one, (sum(other.width for other in row[:place]), 0))
    whole.save(IMAGES / "results.png", optimize=True)


def scene() -> np.ndarray:
    """A test picture: discs, bars and a soft slope, with a little noise."""
    y, x = np.mgrid[0:240, 0:320].astype(np.float64)
    picture = 0.25 + 0.3 * x / 320
    picture[(y - 90) ** 2 + (x - 90) ** 2 < 55**2] = 0.85
    picture[(y - 75) ** 2 + (x - 110) ** 2 < 20**2] = 0.1
    picture[(np.abs(y - 120) < 80) & (np.abs(x - 230) < 50) & ((x // 14) % 2 == 0)] = 0.95
    picture[y > 200] = 0.5 + 0.4 * np.sin(x[y > 200] / (6 + x[y > 200] / 40))
    return np.clip(picture + 0.02 * np.random.default_rng(0).standard_normal(picture.shape), 0, 1)


def pipelines(path: Path) -> None:
    """Show the scene, blurred, its gradient and its edges."""
    photo = scene()
    panels = [photo, image.blur(photo, 3.0), 3 * image.sobel(photo), image.canny(photo, 1.4) / 255]
    montage = np.pad(np.hstack([np.pad(panel, 4, constant_values=1) for panel in panels]), 4, constant_values=1)
    Image.fromarray(np.rint(255 * np.clip(montage, 0, 1)).astype(np.uint8)).save(path, format="PNG", optimize=True)


def main() -> None:
    """Draw all of them."""
    for folder in ("tilings", "gallery"):
        (IMAGES / folder).mkdir(parents=True, exist_ok=True)
    tilings(IMAGES / "tilings")
    gallery(IMAGES / "gallery")
    pipelines(IMAGES / "pipelines.png")


if __name__ == "__main__":
    main()
