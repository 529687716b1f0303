"""On a GPU every verb has the same first choice, and no point of the space is better by the same model."""

import itertools

import numpy as np
import pytest

import tilewright as tw
from tilewright.costs.arrays import TileSizes
from tilewright.costs.gpu import threads as selector
from tilewright.costs.setting import make_setting
from tilewright.costs.time import evaluate, sizes_of
from tilewright.machines import files
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import NONE
from tilewright.tuning.choice import choose_blocks, gpu_defaults
from tilewright.tuning.spaces import space
from tilewright.tuning.spaces.gpu_tiles import pieces, shapes
from tilewright.verbs.report import FileDefaults, of_problem

SEARCHED, DRAWN = 100_000, 20_000
FIRST = [
    ("gradient2d", "gtx980", (8192, 8192), 8192, "float32", "fixed"),
    ("heat2d", "h200", (1000, 3001), 100, "float64", "nearest"),
    ("j2d9pt", "v100", (2048, 2048), 20, "float32", "wrap"),
    ("fdtd2d", "titanx", (4096, 4096), 256, "float32", "constant"),
    ("wave3d", "v100", (300, 200, 100), 30, "float64", "reflect"),
    ("jacobi1d", "h100", (2**24,), 1000, "float32", "fixed"),
]
REST = [
    (name, machine, shape, steps, "float32", "fixed")
    for machine, cases in {
        "gtx980": [("jacobi2d", (4096, 4096), 512), ("heat2d", (2048, 2048), 64), ("laplacian3d", (384,) * 3, 128)],
        "titanx": [("gradient2d", (4096, 4096), 1024), ("heat3d", (256,) * 3, 100), ("laplacian2d", (8192, 512), 40)],
        "k20c": [
            ("jacobi2d", (4096, 4096), 512),
            ("jacobi1d", (2**22,), 4096),
            ("wave2d", (4096, 4096), 200),
            ("j3d7pt", (320,) * 3, 50),
        ],
        "gtx780": [("j2d5pt", (3000, 5000), 33), ("box2d2r", (2048, 2048), 100)],
        "c2070": [("heat2d", (1024, 1024), 1000), ("star3d2r", (200,) * 3, 24)],
        "c1060": [("jacobi2d", (2048, 2048), 16), ("laplacian3d", (128,) * 3, 10)],
        "p100": [("heat2d_var", (4096, 4096), 512), ("j3d27pt", (256,) * 3, 20)],
        "v100": [("star2d3r", (8192, 8192), 120), ("fdtd2d", (2000, 2000), 500), ("heat3d", (512,) * 3, 100)],
        "a100": [
            ("heat3d", (256,) * 3, 64),
            ("gradient2d", (16384, 16384), 100),
            ("j2d5pt", (4096, 4096), 20),
            ("box3d1r", (400,) * 3, 16),
        ],
        "h100": [("jacobi2d", (8192, 8192), 8192), ("wave3d", (512,) * 3, 200), ("star1d2r", (10**7,), 64)],
        "h200": [("heat2d", (8192, 8192), 8192), ("j2d9pt-gol", (512, 512), 7), ("laplacian3d", (600,) * 3, 60)],
        "rtx4090": [("heat2d", (4096, 4096), 256), ("gradient2d", (1024, 1024), 2), ("j3d7pt", (512,) * 3, 300)],
    }.items()
    for name, shape, steps in cases
]
REPORTED = ("gradient2d", "jacobi1d", "wave3d")
"""Programs of each rank, whose pages are written, too: these are long."""
CASES = [*FIRST, *(pytest.param(*case, marks=pytest.mark.stress) for case in REST)]


def first_choices(name, machine, shape, steps, dtype, boundary):
    """What every verb puts first, as a tiling and its seconds."""
    given = {"shape": shape, "steps": steps, "dtype": dtype, "boundary": boundary}
    known = make_problem(program(name), **given)
    one = tw.predict(name, **given, machine=machine)
    top = tw.select(name, **given, machine=machine, within=None, top=3)[0]
    band = tw.select(name, **given, machine=machine, within=0.1)[0]
    plan = tw.tune(name, **given, machine=machine, effort="none")
    found = {
        "predict": (one.tiling, one.costs.seconds),
        "predict --top": (top.tiling, top.costs.seconds),
        "select": (band.tiling, band.costs.seconds),
        "tune": (plan.tiling, plan.winner.predicted_seconds),
    }
    if name in REPORTED:
        asked = FileDefaults(shape=shape, steps=steps, machine=machine, dtype=dtype, boundary=boundary)
        first = of_problem(program(name), asked, top=1).candidates[0]
        found["report"] = (first.tiling, first.predicted)
    blocks = choose_blocks(known, files.load(machine))
    default = gpu_defaults(known if blocks is None else blocks.extended.problem, files.load(machine))[0]
    found["run"] = (default.tiling, default.predicted if blocks is None else blocks.costs.seconds)
    return {verb: (str(tiling), seconds) for verb, (tiling, seconds) in found.items()}


def hybrid_points(setting, seed):
    """Every size with every thread shape, or as many drawn as there is time for."""
    tiles = TileSizes.join(list(pieces(setting)))
    every = np.array(shapes(len(setting.facts.shape), setting.gpu.max_block_threads))
    count = len(tiles.time) * len(every)
    numbers = np.arange(count) if count < SEARCHED else np.random.default_rng(seed).integers(0, count, DRAWN)
    chosen = tiles.take(numbers // len(every))
    extents = [
        chosen.space[0] + chosen.time * setting.facts.stages * max(1, setting.facts.slopes[0]),
        *chosen.space[1:],
    ]
    threads = every[numbers % len(every)].T
    busy = np.logical_and.reduce([size >= each for size, each in zip(extents, threads, strict=True)])
    kept = chosen.take(busy)
    return TileSizes(time=kept.time, space=kept.space, k=kept.k, threads=tuple(threads[:, busy]))


def least(problem, machine, seed=0):
    """The least seconds among points of the space that are found without the ranking."""
    setting = make_setting(problem, machine)
    found = [float(evaluate(family_named("none"), sizes_of(NONE, setting), setting).seconds[0])]
    for family in space.families(problem, every=False)[1:]:
        if family == "hybrid":
            points = hybrid_points(setting, seed)
            points = points if len(points.time) else space.feasible(setting, coarse=True, family=family)
        else:
            points = space.feasible(setting, family=family)
        found.append(float(np.min(evaluate(family, points, setting).seconds, initial=np.inf)))
    return min(found)


@pytest.mark.parametrize(("name", "machine", "shape", "steps", "dtype", "boundary"), CASES)
def test_every_verb_has_the_same_first_choice_and_none_is_better(name, machine, shape, steps, dtype, boundary):
    found = first_choices(name, machine, shape, steps, dtype, boundary)
    tilings = {tiling for tiling, _ in found.values()}
    assert len(tilings) == 1, found
    seconds = [each for _, each in found.values()]
    assert seconds == pytest.approx([seconds[0]] * len(seconds), rel=1e-12)
    problem = make_problem(program(name), shape, steps, dtype, boundary)
    assert seconds[0] <= least(problem, files.load(machine)) * (1 + 1e-12)


def test_no_thread_shape_is_below_the_bound():
    machines, programs = ("gtx980", "v100", "h200", "c1060"), ("gradient2d", "fdtd2d", "star2d4r", "heat3d", "wave3d")
    for (i, machine), (j, name) in itertools.product(enumerate(machines), enumerate(programs)):
        dtype = ("float32", "float64")[(i + j) % 2]
        known = program(name)
        setting = make_setting(make_problem(known, {2: (3000, 2000), 3: (300, 200, 100)}[known.rank], 50, dtype),
                               files.load(machine))  # fmt: skip
        points = hybrid_points(setting, 1)
        if not len(points.time):
            continue
        bound = selector.least_seconds(known, points, setting.facts, setting.gpu)
        seconds = selector.evaluate(
            selector.make_case(known, points, points.threads, setting.facts), setting.gpu
        ).seconds
        assert (bound <= seconds * (1 + 1e-12)).all(), (machine, name, dtype)
        assert bound.min() > 0.2 * seconds.min(), (machine, name, dtype)
