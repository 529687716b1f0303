"""What a sweep without time tiling moves between caches: counters of others beside the model's layer conditions.

python reproduce/sweep_traffic.py [--output DIR]

The counters are of INSPECT (Hornich, Hammer, Hager, Gruber and Wellein, Collecting and presenting reproducible
intranode stencil performance, Supercomputing Frontiers and Innovations 6(3), 2019): a star of reach 1 in 3D, double
precision, grids of N^3, one core, counted by LIKWID. Copied are single numbers of github.com/RRZE-HPC/INSPECT, folder
stencils/3D/r1/isotropic/star/constant/double, files SkylakeSP_Gold-6148/results.csv of commit 87a4e060 and
BroadwellEP_E5-2697_CoD/results.csv of 1808d3fb: the columns "Benchmark Transfer … load", bytes per cell and step.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import measured
from tilewright.costs.cpu.sweep import fetched_again
from tilewright.costs.reuse import lost_at_random
from tilewright.costs.setting import Setting, make_setting
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem

KIB, MIB = 2**10, 2**20
_WAYS = 8
"""Lines of a set: of both first-level caches and of the second one of Broadwell; that of Skylake has 16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Counters of one processor.

    Attributes:
        name: The processor.
        l1_bytes: Its first-level data cache.
        l2_bytes: Its second-level cache.
        to_l1: Bytes per cell and step from L2, by N.
        to_l2: Bytes from beyond L2, by N.
    """

    name: str
    l1_bytes: int
    l2_bytes: int
    to_l1: dict[int, float]
    to_l2: dict[int, float]


COUNTED = (
    Counted(
        name="Skylake SP, Xeon Gold 6148",
        l1_bytes=32 * KIB,
        l2_bytes=MIB,
        to_l1={20: 19.84, 30: 20.64, 40: 34.48, 50: 33.84, 60: 33.60, 80: 33.28, 100: 32.88, 200: 32.48, 500: 32.40},
        to_l2={
            60: 17.36, 80: 17.04, 100: 16.80, 130: 16.64, 150: 16.72, 160: 17.28, 170: 17.92, 180: 18.80, 190: 26.32,
            200: 28.32, 210: 30.40, 220: 31.68, 230: 32.24, 250: 32.40, 300: 32.32, 500: 32.16,
        },
    ),
    Counted(
        name="Broadwell EP, Xeon E5-2697 v4",
        l1_bytes=32 * KIB,
        l2_bytes=256 * KIB,
        to_l1={20: 19.84, 30: 20.72, 40: 34.40, 50: 33.84, 60: 33.60, 80: 33.28, 100: 32.88, 200: 32.40, 500: 32.40},
        to_l2={
            30: 18.56, 40: 18.32, 50: 18.40, 60: 18.80, 70: 24.16, 80: 22.72, 90: 22.08, 100: 31.04, 110: 32.88,
            120: 32.80, 150: 32.64, 200: 32.48, 300: 32.32, 500: 32.24,
        },
    ),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("results/sweep_traffic"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    lines = ["| processor | into | N | counted | model | random sets |", "| --- " * 6 + "|"]
    errors: dict[tuple[str, str], list[float]] = {}
    for one in COUNTED:
        for level, known in (("L1", one.to_l1), ("L2", one.to_l2)):
            for extent, counted in known.items():
                setting = setting_of(one, extent)
                size = setting.rates.l1_bytes if level == "L1" else setting.rates.shared_bytes
                expected = {"model": by_room(setting, size), "random sets": at_random(setting, size)}
                for name, value in expected.items():
                    errors.setdefault((level, name), []).append(value / counted - 1.0)
                cells = [one.name, level, str(extent), *(f"{each:.1f}" for each in (counted, *expected.values()))]
                lines.append(f"| {' | '.join(cells)} |")
    for (level, name), off in errors.items():
        mean = np.sqrt(np.mean(np.square(off)))
        lines.append(f"\nInto {level}, {name}: {mean:.1%} root mean square, {min(off):+.0%} to {max(off):+.0%}.")
    measured.write_verdict(chosen.output, "\n".join(lines))


def by_room(setting: Setting, size: int) -> float:
    """Return the bytes per cell and step that the model has a sweep load into a cache, those to be overwritten too."""
    again = fetched_again(size * setting.rates.numbers.cache_fraction, setting.facts)
    return setting.facts.itemsize * (setting.facts.levels + again + setting.facts.fetches)


def at_random(setting: Setting, size: int) -> float:
    """Return the same where lines lie in sets by chance: what is used in between takes its room, what is written, too.

    Between two uses of a plane a sweep has used the planes that it reads and the one that it writes, likewise rows.
    """
    reach = [sum(side) for side in setting.facts.sides[:-1]]
    row = setting.facts.shape[-1] * setting.facts.itemsize
    planes = ((reach[0] + 1) * setting.facts.levels + setting.facts.fetches) * setting.facts.shape[1] * row
    rows = ((sum(reach) + 1) * setting.facts.levels + setting.facts.fetches) * row
    lost = [lost_at_random(between / size, _WAYS) for between in (planes, rows)]
    again = setting.facts.levels * sum(extent * share for extent, share in zip(reach, lost, strict=True))
    return setting.facts.itemsize * (setting.facts.levels + again + setting.facts.fetches)


def setting_of(one: Counted, extent: int) -> Setting:
    """Return the sweep on a processor with these caches."""
    problem = make_problem(program("j3d7pt"), (extent,) * 3, 1, "float64")
    return make_setting(problem, load("zen3")).at(l1_bytes=one.l1_bytes, shared_bytes=one.l2_bytes)


if __name__ == "__main__":
    main()
