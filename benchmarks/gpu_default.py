"""What an untuned run on a GPU takes, over the catalogue, and how far it is from the least that any family promises.

Predictions only; no device takes part:

    python benchmarks/gpu_default.py --machines h100 v100 gtx980 a100

Every line gives the default tiling, its predicted time, the time of the best tiling over the whole space of every
family by the models that ``tilewright predict`` ranks by, their ratio, and how long choosing took.
"""

import argparse
import dataclasses
import time
from collections.abc import Sequence

import numpy as np

from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.machines import files
from tilewright.machines.machine import Machine
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.tuning.choice import gpu_defaults
from tilewright.tuning.ranking import evaluated, families_of

SHAPES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((2**26,), (4096,)),
    2: ((16384, 16384), (8192, 8192), (256, 256)),
    3: ((512, 512, 512), (64, 64, 64)),
}
STEPS = 1000


def least(problem: Problem, machine: Machine) -> tuple[str, float]:
    """The family that promises the least over its whole space, and its seconds."""
    setting = dataclasses.replace(make_setting(problem, machine), energy=None)
    promised = {
        family: float(np.min(evaluated(setting, family, "exact")[1].seconds, initial=np.inf))
        for family in families_of(problem, setting, "exact")
    }
    family = min(promised, key=lambda name: promised[name])
    return family, promised[family]


def line(problem: Problem, machine: Machine) -> tuple[float, str]:
    """Return how far a default is from the best, and what is printed about it."""
    begin = time.perf_counter()
    tiling = gpu_defaults(problem, machine)[0].tiling
    spent = time.perf_counter() - begin
    predicted = time_model.predict(problem, tiling, machine).seconds
    family, best = least(problem, machine)
    grid = "x".join(map(str, problem.shape))
    said = f"{machine.name:8} {problem.program.name:15} {problem.dtype} {grid:12} {tiling!s:45} {predicted:10.4g} s"
    return predicted / best, f"{said}, best {family:10} {best:10.4g} s, {predicted / best:.3f}, {spent:.2f} s"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a default is not the best."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", nargs="+", default=["h100", "v100", "gtx980", "a100"])
    parser.add_argument("--programs", nargs="+", default=catalogue.names())
    chosen = parser.parse_args(argv)
    furthest = 0.0
    for machine in map(files.load, chosen.machines):
        for program in map(catalogue.program, chosen.programs):
            for dtype in ("float32", "float64"):
                for shape in SHAPES[program.rank]:
                    share, said = line(make_problem(program, shape, STEPS, dtype), machine)
                    furthest = max(furthest, share)
                    print(said, flush=True)
    print(f"furthest from the best: {furthest:.3f}")
    return int(furthest > 1.0 + 1e-9)


if __name__ == "__main__":
    raise SystemExit(main())
