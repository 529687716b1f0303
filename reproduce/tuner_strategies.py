"""Kernel Tuner's strategies on the measurements of others: how many of them each needs, beside `tune`.

python reproduce/tuner_strategies.py [--seeds N] [--budget N] [--strategies NAME …] [--data DIR] [--output DIR]

Needs ``pip install kernel-tuner`` (van Werkhoven, Kernel Tuner: a search-optimizing GPU code auto-tuner, 2019) and the
logs of benchmarks/fetch_stencilbench.py. Every log becomes a cache, which Kernel Tuner replays in its simulation mode;
its restriction is the set of tiles and thread blocks that the log holds, so that no evaluation is spent on others.
Counted are distinct evaluations. `tune` is the search of `tilewright tune`, constants fitted to the other six stencils.
"""

import argparse
import importlib.util
import json
import math
import random
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

import measured
from active import COUNTS, Space, of_logs, tuned
from tilewright.runtime.formats.logs import TuningLog, read_stencilbench
from tilewright.schedules.tiling import Tiling
from tilewright.verbs.validate import ordered

STRATEGIES = (
    "random_sample", "genetic_algorithm", "simulated_annealing", "dual_annealing", "pso", "diff_evo",
    "firefly_algorithm", "greedy_ils", "greedy_mls", "mls",
)  # fmt: skip
"""Those that need nothing but Kernel Tuner and seconds for a run: `bayes_opt` and `hybrid_vndx` take a minute or more,
`minimize` stops after a few evaluations. Others can be named."""
SHARES = (0.95, 0.99)
_NAME = "stencil"
_SOURCE = "__global__ void stencil() {}"


def configuration(tiling: Tiling) -> dict[str, int]:
    """Return a tiling as the tunable parameters of a configuration.

    >>> configuration(Tiling(family="hybrid", time=16, space=(6, 256), threads=(1, 256)))
    {'tile_t': 16, 'tile_1': 6, 'tile_2': 256, 'threads_1': 1, 'threads_2': 256}
    """
    values = {"tile_t": tiling.time}
    values |= {f"tile_{axis}": size for axis, size in enumerate(tiling.space, 1)}
    values |= {f"threads_{axis}": count for axis, count in enumerate(tiling.threads, 1)}
    return values if tiling.k is None else {**values, "k": tiling.k}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """A log as Kernel Tuner takes it.

    Attributes:
        path: The file.
        shape: Extents of the grid.
        values: Values of every parameter.
        seconds: Measured seconds of every configuration.
    """

    path: Path
    shape: tuple[int, ...]
    values: Mapping[str, Sequence[int]]
    seconds: Mapping[tuple[int, ...], float]

    def allowed(self, chosen: Mapping[str, int]) -> bool:
        """Return whether the log holds a configuration."""
        return tuple(chosen[name] for name in self.values) in self.seconds


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="runs of every strategy on every log")
    parser.add_argument("--budget", type=int, default=300, help="most evaluations of a run")
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES), metavar="NAME")
    measured.add_data(parser)
    parser.add_argument("--output", type=Path, default=Path("results/tuner_strategies"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    if importlib.util.find_spec("kernel_tuner") is None:
        sys.exit("Kernel Tuner is not installed: pip install kernel-tuner")
    chosen.output.mkdir(parents=True, exist_ok=True)
    paths = measured.log_paths(chosen.data)
    found = {"tune": {space.name: [own(space)] for space in of_logs(paths)}}
    with tempfile.TemporaryDirectory() as folder:
        caches = [as_cache(ordered(read_stencilbench(path)), Path(folder)) for path in paths]
        for name in chosen.strategies:
            found[name] = {
                cache.path.stem: [run(cache, name, seed, chosen.budget) for seed in range(chosen.seeds)]
                for cache in caches
            }
            write(chosen.output, found, chosen.budget)
    heads = ("strategy", *(f"best of {n}" for n in COUNTS), *(f"to {share:.0%}" for share in SHARES), "runs that do")
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    lines += [line(name, list(each.values())) for name, each in found.items()]
    measured.write_verdict(chosen.output, "\n".join(lines))


def write(folder: Path, found: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], budget: int) -> None:
    """Write the record: of every run the shares after COUNTS evaluations, and how many were needed for SHARES."""
    runs = {
        name: {
            log: [
                {"best": [round(at(r, n), 4) for n in COUNTS], "needed": [needed(r, s) for s in SHARES]} for r in each
            ]
            for log, each in logs.items()
        }
        for name, logs in found.items()
    }
    record = {
        "kernel_tuner": version("kernel-tuner"),
        "budget": budget,
        "counts": COUNTS,
        "shares": SHARES,
        "runs": runs,
    }
    (folder / "record.json").write_text(json.dumps(record) + "\n", encoding="utf-8")


def as_cache(log: TuningLog, folder: Path) -> Cache:
    """Write a log as a cache of Kernel Tuner."""
    rows = [configuration(point.tiling) for point in log.measured]
    names = list(rows[0])
    values = {name: sorted({row[name] for row in rows}) for name in names}
    seconds = {tuple(row.values()): float(p.seconds or math.inf) for row, p in zip(rows, log.measured, strict=True)}
    path = folder / f"{log.program}.json"
    entries = {
        ",".join(str(row[name]) for name in names): {**row, "time": 1e3 * seconds[tuple(row.values())]} for row in rows
    }
    head = {"device_name": log.device or "V100", "kernel_name": _NAME, "problem_size": list(log.shape)}
    known = {"tune_params_keys": names, "tune_params": values, "objective": "time", "cache": entries}
    path.write_text(json.dumps(head | known, indent=""), encoding="utf-8")
    return Cache(path=path, shape=log.shape, values=values, seconds=seconds)


def run(cache: Cache, strategy: str, seed: int, budget: int) -> list[float]:
    """Return the share of the best speed after every evaluation of a run."""
    import kernel_tuner

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - strategies draw from the global generators

    def allowed(chosen: Mapping[str, int]) -> bool:
        return cache.allowed(chosen)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results, _ = kernel_tuner.tune_kernel(
            _NAME, _SOURCE, cache.shape, [], dict(cache.values), strategy=strategy, restrictions=allowed, quiet=True,
            strategy_options={"max_fevals": budget}, simulation_mode=True, cache=str(cache.path), seed=seed,
        )  # fmt: skip
    order = dict.fromkeys(tuple(result[name] for name in cache.values) for result in results)
    return shares([cache.seconds[each] for each in order], min(cache.seconds.values()))


def own(space: Space) -> list[float]:
    """Return the same of a search of `tilewright tune`."""
    return shares(space.seconds[tuned(space)].tolist(), float(space.seconds.min()))


def shares(seconds: Sequence[float], best: float) -> list[float]:
    """Return the share of the best speed after every measurement."""
    return (best / np.minimum.accumulate(seconds)).tolist()


def at(shares_so_far: Sequence[float], count: int) -> float:
    """Return the share after so many measurements, or all there were."""
    return shares_so_far[min(count, len(shares_so_far)) - 1]


def needed(shares_so_far: Sequence[float], share: float) -> int | None:
    """Return after how many measurements a share is reached, or None."""
    good = np.flatnonzero(np.asarray(shares_so_far) >= share)
    return int(good[0]) + 1 if len(good) else None


def line(name: str, stencils: Sequence[Sequence[Sequence[float]]]) -> str:
    """Return a line: means of shares, medians of evaluations; runs that never get there count as endless."""
    means = [np.mean([np.mean([at(run, n) for run in runs]) for runs in stencils]) for n in COUNTS]
    every = [[needed(run, share) for runs in stencils for run in runs] for share in SHARES]
    medians = [float(np.median([math.inf if each is None else each for each in one])) for one in every]
    cells = [f"{mean:.1%}" for mean in means] + ["never" if math.isinf(m) else f"{m:.0f}" for m in medians]
    cells.append(", ".join(f"{np.mean([each is not None for each in one]):.0%}" for one in every))
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
