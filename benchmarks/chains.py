"""Matrix chains: fused execution against numpy, torch and opt_einsum in one interleaved run.

    python benchmarks/chains.py [--quick] [--dtype float64] [--repeats 9] [--output chains.json]

Cases: tall and skinny chains whose intermediate is large while the arithmetic is little (projections (X W) V with many
rows, and their transposes), and chains of large square-like matrices, where BLAS wins. Per case: the fused kernel
whether or not the plan wants it, our multi_dot with the plan that the measured times choose, and the rivals; every
result is checked. One repetition runs every contender once, in an order drawn anew. The verdict says where fusion
loses, and whether the plan knew.
"""

import argparse
import importlib.util
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import environment
from summary import paired_ratio, spread
from tilewright.workloads.chains import chain
from tilewright.workloads.chains.problem import Tree, text
from tilewright.workloads.chains.times import HostTimes

CASES = {
    "projection 16-6": (1_000_000, 16, 6, 16),
    "projection 32-12": (500_000, 32, 12, 32),
    "projection 64-24": (300_000, 64, 24, 64),
    "projection 128-50": (150_000, 128, 50, 128),
    "projection 256-100": (60_000, 256, 100, 256),
    "wide 32-12": (32, 12, 32, 500_000),
    "wide 128-50": (128, 50, 128, 150_000),
    "five factors": (300_000, 32, 12, 32, 12, 32),
    "thin intermediate": (400_000, 8, 3, 8),
    "square 500": (500, 500, 500, 500),
    "square 1500": (1500, 1500, 1500, 1500),
    "worked example": (936, 1008, 552, 368, 1016, 616, 544),
    "small": (30, 20, 10, 20),
}
QUICK = ("projection 32-12", "square 500", "small")
_PAUSE = 0.05
"""Seconds between runs, so that one contender's idle threads have gone to sleep when the next one starts."""
RIVALS = ("numpy", "torch", "opt_einsum")


@dataclass
class Case:
    """One chain and what its contenders took."""

    name: str
    sizes: tuple[int, ...]
    plan: str
    fused: str
    samples: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def wants_fusion(self) -> bool:
        """Whether the plan fuses anything."""
        return "[" in self.plan

    def ratio(self, ours: str, theirs: str) -> tuple[float, float, float]:
        """Return how many times faster ``ours`` is, with the ends of its interval."""
        found = paired_ratio(self.samples[ours], self.samples[theirs])
        return found["median"], found["low"], found["high"]


def forced(sizes: tuple[int, ...], dtype: str, threads: int, times: HostTimes) -> Tree:
    """Return the tree that is best if the library's products were a thousand times slower: fused wherever possible."""
    dear = replace(times, single=tuple(1000 * weight for weight in times.single))
    return chain.choose(sizes, dtype=dtype, threads=threads, times=dear)


def contenders(arrays: Sequence[Any], fused: Tree, plan: Tree, threads: int) -> dict[str, Callable[[], Any]]:
    """Return what computes the chain, by name."""
    found: dict[str, Callable[[], Any]] = {
        "fused": lambda: chain.multi_dot(arrays, plan=fused, threads=threads),
        "planned": lambda: chain.multi_dot(arrays, plan=plan, threads=threads),
        "numpy": lambda: np.linalg.multi_dot(arrays),
    }
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(array) for array in arrays]
        found["torch"] = lambda: torch.linalg.multi_dot(tensors).numpy()
    if importlib.util.find_spec("opt_einsum"):
        import opt_einsum

        letters = "abcdefghijkl"
        spec = ",".join(f"{a}{b}" for a, b in itertools.pairwise(letters[: len(arrays) + 1]))
        spec += f"->{letters[0]}{letters[len(arrays)]}"
        path = opt_einsum.contract_expression(spec, *(array.shape for array in arrays), optimize="optimal")
        found["opt_einsum"] = lambda: path(*arrays)
    return found


def measure(name: str, dtype: str, repeats: int, threads: int, times: HostTimes) -> Case:
    """Check every contender, then time them in turn."""
    sizes = CASES[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in itertools.pairwise(sizes)]
    plan = chain.choose(sizes, dtype=dtype, threads=threads, times=times)
    fused = forced(sizes, dtype, threads, times)
    case = Case(name=name, sizes=sizes, plan=text(plan), fused=text(fused))
    runs = contenders(arrays, fused, plan, threads)
    exact = np.linalg.multi_dot([array.astype(np.float64) for array in arrays])
    bound = np.linalg.multi_dot([np.abs(array).astype(np.float64) for array in arrays])
    limit = 4 * float(np.finfo(dtype).eps) * sum(sizes[1:-1])
    for label, run in runs.items():
        error = float((np.abs(run() - exact) / bound).max())
        case.errors[label] = error
        if error > limit:
            sys.exit(f"{label} computes {name} wrongly: {error:.3g} above {limit:.3g}")
    del exact, bound
    for repetition in range(repeats + 1):
        order = list(runs.items())
        order = [order[i] for i in rng.permutation(len(order))]
        for label, run in order:
            time.sleep(_PAUSE)
            begin = time.perf_counter()
            run()
            if repetition:
                case.samples.setdefault(label, []).append(time.perf_counter() - begin)
    return case


def show(case: Case) -> str:
    """Return one line on a case."""
    times = ", ".join(f"{label} {1e3 * statistics.median(samples):.2f}" for label, samples in case.samples.items())
    best = best_rival(case)
    ratio, low, high = case.ratio("fused", best)
    chosen = case.ratio("planned", best)[0]
    head = f"{case.name:<20} {times} ms; fused/{best} {ratio:.2f}x [{low:.2f}, {high:.2f}]"
    return f"{head}, planned {chosen:.2f}x: {case.plan}"


def best_rival(case: Case) -> str:
    """Return the fastest rival."""
    return min(
        (label for label in case.samples if label in RIVALS), key=lambda label: statistics.median(case.samples[label])
    )


def verdict(cases: Sequence[Case]) -> str:
    """Say where fusion wins and loses, and whether the plan chose rightly.

    Wrong means: unfused although the fused kernels are more than 10 % faster than the plan as it ran, or fused although
    NumPy's unfused products are more than 10 % faster.
    """
    wins = [case.name for case in cases if case.ratio("fused", best_rival(case))[0] > 1.1]
    losses = [case.name for case in cases if case.ratio("fused", best_rival(case))[0] < 0.9]
    wrong = []
    for case in cases:
        missed, lost = case.ratio("fused", "planned")[0], case.ratio("planned", "numpy")[0]
        if missed > 1.1 and not case.wants_fusion:
            wrong.append(f"{case.name} (fused {missed:.2f}x the plan)")
        if lost < 0.9 and case.wants_fusion:
            wrong.append(f"{case.name} ({lost:.2f}x of numpy)")
    lines = [
        f"fusion beats the best rival by more than 10 % in {len(wins)} of {len(cases)}: {', '.join(wins) or 'none'}",
        f"fusion loses by more than 10 % in {len(losses)}: {', '.join(losses) or 'none'}",
        f"the plan fuses in {sum(case.wants_fusion for case in cases)}",
        f"it chose wrongly in {len(wrong)}: {', '.join(wrong) or 'none'}",
    ]
    return "\n".join(lines)


def planning(count: int, length: int = 20) -> float:
    """Return the CPU seconds that planning takes, for this many random chains one after the other."""
    rng = np.random.default_rng(0)
    chains = (8 * rng.integers(40, 129, (count, length + 1))).tolist()
    begin = time.process_time()
    for sizes in chains:
        chain.plan(sizes, memory=65536)
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three cases, three repetitions")
    parser.add_argument("--dtype", default="float64", choices=("float32", "float64"))
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")
    chosen = parser.parse_args()
    threads = environment.cores()
    times = chain.calibrate(chosen.dtype, threads)
    print(f"calibrated: {times}")
    count = 100 if chosen.quick else 1000
    planned = planning(count)
    print(f"{count} chains of length 20 planned in {planned:.2f} s of CPU time")
    names = QUICK if chosen.quick else tuple(CASES)
    cases = []
    for name in names:
        cases.append(measure(name, chosen.dtype, 3 if chosen.quick else chosen.repeats, threads, times))
        print(show(cases[-1]), flush=True)
    print(verdict(cases))
    if chosen.output:
        document = {
            "environment": environment.describe(threads),
            "dtype": chosen.dtype,
            "times": asdict(times),
            "planning": {"chains": count, "length": 20, "cpu_seconds": planned},
            "cases": [
                {**asdict(case), "seconds": {label: spread(samples) for label, samples in case.samples.items()}}
                for case in cases
            ],
            "verdict": verdict(cases).splitlines(),
        }
        chosen.output.write_text(json.dumps(document, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
