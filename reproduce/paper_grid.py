"""The time-model paper's experiments as data: 80 + 48 combinations, 850 baseline points each (PPoPP 2017, 5.1).

python reproduce/paper_grid.py [-o grid.csv] [--machine gtx980] [--points]

A combination is a stencil, a grid and a number of steps on a GPU. Its baseline is 85 tiles that fill the shared memory
of a block, or a half, a third, … of it so that several blocks fit on a multiprocessor, with ten thread shapes each. The
paper does not print its tiles: these follow its rule. With --points every point is listed, ready for any tuner.
"""

import argparse
import csv
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.work.hexagonal import shared_values
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces import space

MACHINES = ("gtx980", "titanx")
STENCILS_2D = ("jacobi2d", "heat2d", "laplacian2d", "gradient2d")
STENCILS_3D = ("heat3d", "laplacian3d")
EXTENTS_2D, STEPS_2D = (4096, 8192), (1024, 2048, 4096, 8192, 16384)
EXTENTS_3D, STEPS_3D = (384, 512, 640), (128, 256, 384, 512, 640)
TILES, SHAPES = 85, 10
RESIDENT = (1, 2, 3, 4, 6, 8)
"""Blocks per multiprocessor that the tiles are sized for."""
MOST_THREADS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """One experiment of the paper."""

    machine: str
    stencil: str
    shape: tuple[int, ...]
    steps: int


def combinations(machines: Sequence[str] = MACHINES) -> tuple[Combination, ...]:
    """Return the experiments: 40 in 2D and 24 in 3D per machine, where T <= S in 3D."""
    found = []
    for machine in machines:
        for stencil in STENCILS_2D:
            for extent in EXTENTS_2D:
                found += [_combination(machine, stencil, extent, 2, steps) for steps in STEPS_2D]
        for stencil in STENCILS_3D:
            for extent in EXTENTS_3D:
                found += [_combination(machine, stencil, extent, 3, steps) for steps in STEPS_3D if steps <= extent]
    return tuple(found)


def _combination(machine: str, stencil: str, extent: int, rank: int, steps: int) -> Combination:
    return Combination(machine=machine, stencil=stencil, shape=(extent,) * rank, steps=steps)


def baseline(one: Combination) -> tuple[Tiling, ...]:
    """Return the 850 points of one experiment: 85 tiles of largest footprint over the numbers of blocks, ten shapes."""
    machine = load(one.machine)
    setting = make_setting(make_problem(program(one.stencil), one.shape, one.steps), machine)
    return tuple(point for tile in _tiles(setting) for point in _shapes(tile))


def _tiles(setting: Setting) -> Iterator[Tiling]:
    """Tiles of largest footprint for every number of resident blocks; those with fewer than ten shapes are left out."""
    sizes = space.feasible(setting, coarse=True, model="published")
    used = shared_values(sizes, setting.facts) * setting.facts.itemsize
    chosen: dict[int, Tiling] = {}
    for turn, resident in enumerate((*RESIDENT, 1), 1):
        room = min(setting.rates.block_bytes, setting.rates.shared_bytes // resident)
        fits = np.flatnonzero(used <= room)
        for index in fits[np.argsort(-used[fits], kind="stable")].tolist():
            if len(chosen) >= min(TILES, TILES * turn // len(RESIDENT)):
                break
            tile = space.tiling_at(family_named("hybrid"), sizes, index)
            if index not in chosen and len(_shapes(tile)) == SHAPES:
                chosen[index] = tile
    yield from chosen.values()


def _shapes(tile: Tiling) -> tuple[Tiling, ...]:
    """Ten thread shapes, from few threads to many: whole warps along the innermost axis, any number along others."""
    widest = tile.space[0] + tile.time - 2
    choices = [range(1, widest + 1), *(range(1, size + 1) for size in tile.space[1:-1])]
    inner = [n for n in (32, 64, 128, 256, 512, 1024) if n <= tile.space[-1]]
    shapes = [(*outer, last) for last in inner for outer in itertools.product(*choices)]
    shapes = sorted((shape for shape in shapes if math.prod(shape) <= MOST_THREADS), key=lambda s: (math.prod(s), s))
    if len(shapes) < SHAPES:
        return ()
    picked = [shapes[round(i * (len(shapes) - 1) / (SHAPES - 1))] for i in range(SHAPES)]
    return tuple(Tiling(family=tile.family, time=tile.time, space=tile.space, threads=shape) for shape in picked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="a CSV file; standard output by default")
    parser.add_argument("--machine", action="append", help="a GPU; the paper's two by default")
    parser.add_argument("--points", action="store_true", help="list every baseline point, not only the experiments")
    chosen = parser.parse_args()
    stream = chosen.output.open("w", newline="", encoding="utf-8") if chosen.output else sys.stdout
    writer = csv.writer(stream)
    writer.writerow(["machine", "stencil", "shape", "steps", *(["tiling"] if chosen.points else [])])
    for one in combinations(tuple(chosen.machine or MACHINES)):
        head = [one.machine, one.stencil, "x".join(map(str, one.shape)), one.steps]
        if not chosen.points:
            writer.writerow(head)
            continue
        for tiling in baseline(one):
            writer.writerow([*head, str(tiling)])
    if chosen.output:
        stream.close()


if __name__ == "__main__":
    main()
