"""Krylov kernels tuned on this machine, alone, fused, and as whole iterations; figures 6 to 8 of the OrCuda paper.

python reproduce/krylov.py [--quick] [--part PART] [--output DIR]

The paper tunes the kernels of its table II for two GPUs and compares them with cuBLAS, cuSPARSE and hand-written code.
Here they are tuned for this machine's CPU and compared with BLAS (as SciPy calls it, in the fastest composition of its
routines that does the same) and NumPy, and SciPy's sparse formats for the matrix-vector product; then, beyond the
paper, fused compositions, a whole conjugate-gradient iteration, and the residual of the Bratu problem (SNES example 5)
with Newton's method around it.

Every library has a process of its own, with OpenMP's threads bound to cores (OMP_PROC_BIND), and they take turns: in
one process, or unbound, two pools of threads push each other onto the same core. A ratio is the median of the rounds'
ratios.
"""

import argparse
import csv
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bratu import Bratu
from krylov_tables import (
    Call,
    Table,
    iteration_table,
    matrix_table,
    newton_table,
    residual_table,
    size_of,
    tune_vectors,
    vector_table,
)
from tilewright.runtime.host import thread_count

LENGTHS = (10**5, 10**6, 10**7)
GRIDS = ((64, 64), (128, 128), (256, 256), (512, 512), (1024, 1024), (32,) * 3, (64,) * 3, (128,) * 3)
WHOLE = ((512, 512), (1500, 1500), (100, 100, 100))
_ROUNDS = 5
_LEAST = 0.03
_WARM = 0.03
"""Seconds that a turn lasts at least, and seconds of warming up before."""
_PAUSE = 0.05
CORES = os.sched_getaffinity(0)


@dataclass
class Case:
    """What one operation took everyone, in seconds; ``rivals`` says who stands for the library."""

    part: str
    name: str
    size: str
    rivals: tuple[str, ...]
    samples: dict[str, list[float]] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The fastest rival."""
        return min(self.rivals, key=lambda name: statistics.median(self.samples[name]))

    def ratio(self, label: str = "tuned") -> float:
        """Return the best rival's time over ours."""
        return statistics.median(b / a for a, b in zip(self.samples[label], self.samples[self.best], strict=True))


def timed(call: Call, repeats: int) -> float:
    """Return the seconds of one call, once cores have woken up and threads found them."""
    end = time.perf_counter() + _WARM
    while time.perf_counter() < end:
        call()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def group(label: str) -> str:
    """Return the process that a contender lives in."""
    return label.replace(",", " ").split()[0]


def serve(pipe: Connection, setup: Callable[..., Table], size: Any, mine: str) -> None:  # noqa: ANN401
    """Take turns: the operation, the label and the repetitions come in, the seconds of one go out."""
    table = setup(size)
    pipe.send({name: list(calls) for name, calls in table.items()})
    while (asked := pipe.recv()) is not None:
        name, label, repeats = asked
        call = table[name][label]
        if repeats == 0:  # how often does it go into one turn?
            repeats = max(1, int(_LEAST / max(min(timed(call, 3) for _ in range(2)), 1e-7)))
            pipe.send(repeats)
        else:
            pipe.send(timed(call, repeats))
    del mine


def contest(part: str, setup: Callable[..., Table], size: Any, rounds: int) -> list[Case]:  # noqa: ANN401
    """Let everyone take turns at every operation of a table."""
    # Tuning has bound this thread to a core; its children shall have them all.
    os.sched_setaffinity(0, CORES)
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    processes = []
    labels: dict[str, list[str]] = {}
    for name in GROUPS[part]:
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, setup, size, name), daemon=True)
        process.start()
        processes.append(process)
        pipes[name] = here
        labels = here.recv()
    cases = []
    for name, every in labels.items():
        kind = "fused" if " + " in name and part == "vectors" else part
        rivals = tuple(label for label in every if group(label) != "tuned")
        case = Case(kind, name, size_of(size), rivals)
        counts = {}
        for label in every:
            pipes[group(label)].send((name, label, 0))
            counts[label] = pipes[group(label)].recv()
        for number in range(rounds):
            for label in every[number % len(every) :] + every[: number % len(every)]:
                time.sleep(_PAUSE)
                pipes[group(label)].send((name, label, counts[label]))
                case.samples.setdefault(label, []).append(pipes[group(label)].recv())
        times = ", ".join(f"{label} {1e6 * statistics.median(each):.1f}" for label, each in case.samples.items())
        print(f"{name} {case.size}: {times} us; {case.ratio():.2f}x the speed of {case.best}", flush=True)
        cases.append(case)
    for pipe, process in zip(pipes.values(), processes, strict=True):
        pipe.send(None)
        process.join(30)
    return cases


GROUPS = {
    "vectors": ("tuned", "blas", "numpy"),
    "matrices": ("tuned", "scipy"),
    "iterations": ("tuned", "blas"),
    "functions": ("tuned", "numpy", "C"),
    "solution": ("tuned", "scipy"),
}
PLAN: dict[str, list[tuple[Callable[..., Table], Any]]] = {
    "vectors": [(vector_table, length) for length in LENGTHS],
    "matrices": [(matrix_table, shape) for shape in GRIDS],
    "iterations": [(iteration_table, shape) for shape in WHOLE],
    "functions": [(residual_table, (n, n)) for n in (512, 3000)],
    "solution": [(newton_table, (256, 256))],
}
QUICK: dict[str, list[tuple[Callable[..., Table], Any]]] = {
    "vectors": [(vector_table, LENGTHS[0])],
    "matrices": [(matrix_table, (64, 64)), (matrix_table, (32, 32, 32))],
    "iterations": [(iteration_table, (200, 200))],
    "functions": [(residual_table, (256, 256))],
    "solution": [(newton_table, (64, 64))],
}


def verdict(cases: Sequence[Case]) -> str:
    """One paragraph beside the published claim."""
    groups = {"vectors": "table II's vector operations", "matrices": "matrix-vector products", "fused": "fused pairs"}
    groups |= {
        "iterations": "conjugate-gradient iterations",
        "functions": "FormFunction of the Bratu problem",
        "solution": "its whole solution by Newton's method",
    }
    lines = [
        (
            "Published (figures 6 to 8): tuned kernels beat the library in all reductions, in all vector operations "
            "but vecMAXPY on the device without caches, and in matrix-vector products on the device with caches."
        ),
        "",
    ]
    for part, title in groups.items():
        mine = [case for case in cases if case.part == part]
        if mine:
            ratios = {f"{case.name} {case.size}": case.ratio() for case in mine}
            losses = [f"{name} ({ratio:.2f}x)" for name, ratio in ratios.items() if ratio < 0.95]
            ties = sum(0.95 <= ratio < 1.05 for ratio in ratios.values())
            wins = len(ratios) - len(losses) - ties
            lines.append(
                f"Here, {title}: {wins} of {len(ratios)} faster than the fastest rival by more than 5 %, {ties} ties, "
                f"lost: {', '.join(losses) or 'none'}; from {min(ratios.values()):.2f}x to {max(ratios.values()):.2f}x."
            )
    lines += [
        "",
        (
            f"{thread_count()} threads, bound to cores, float64, CPU. There is no GPU in this run: cuBLAS and cuSPARSE "
            "are not compared."
        ),
    ]
    return "\n".join(lines)


def merged(cases: Sequence[Case], folder: Path) -> list[Case]:
    """Record every round of these cases, with the machine; return them with all others that are on record."""
    sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
    from environment import describe

    path = folder / "krylov.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    here = describe(thread_count())
    for case in cases:
        record[f"{case.part}: {case.name} {case.size}"] = {"environment": here, **asdict(case)}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    names = [each.name for each in fields(Case)]
    found = [Case(**{name: each[name] for name in names}) for each in record.values()]
    order = ["vectors", "fused", *list(GROUPS)[1:]]
    return sorted(found, key=lambda case: (order.index(case.part), [float(each) for each in case.size.split("x")]))


def write(cases: Sequence[Case], folder: Path) -> None:
    with (folder / "krylov.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("part", "name", "size", "contender", "median_seconds", "least_seconds", "rivals_over_tuned"))
        for case in cases:
            for label, samples in case.samples.items():
                ratio = case.ratio() if label == "tuned" else ""
                writer.writerow(
                    (case.part, case.name, case.size, label, statistics.median(samples), min(samples), ratio)
                )


def draw(cases: Sequence[Case], path: Path) -> None:
    """Draw everyone's time over the fastest rival's, as in the paper: below 1 is faster."""
    from matplotlib import pyplot as plt

    shown = list(dict.fromkeys(case.part for case in cases))
    figure, axes = plt.subplots(len(shown), 1, figsize=(11, 3.1 * len(shown)), squeeze=False)
    for ax, part in zip(axes[:, 0], shown, strict=True):
        mine = [case for case in cases if case.part == part]
        labels = list(dict.fromkeys(label for case in mine for label in case.samples))
        width = 0.85 / len(labels)
        for number, label in enumerate(labels):
            there = [(i, case) for i, case in enumerate(mine) if label in case.samples]
            heights = [statistics.median(c.samples[label]) / statistics.median(c.samples[c.best]) for _, c in there]
            ax.bar([i + number * width for i, _ in there], [min(h, 3.0) for h in heights], width, label=label)
        ax.axhline(1, color="black", linewidth=0.8)
        names = [f"{case.name}\n{case.size}" for case in mine]
        ax.set_xticks([i + 0.4 for i in range(len(mine))], names, rotation=45 if len(mine) > 12 else 0, fontsize=7)
        ax.set(ylabel="time over the\nfastest rival's", ylim=(0, 3.05), title=part)
        ax.legend(fontsize=7, ncols=4)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small size of everything, three rounds")
    parser.add_argument(
        "--part", choices=tuple(GROUPS), action="append", help="only this, the others stay on record; repeat it"
    )
    parser.add_argument("--only", metavar="SIZE", action="append", help="only this size, such as 1e5; repeat it")
    parser.add_argument("--output", type=Path, default=Path("results/krylov"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    # Before any thread starts: the contest's processes inherit it. A bound thread's affinity is one core, which would
    # be taken for all that there are.
    os.environ |= {"TILEWRIGHT_THREADS": str(thread_count()), "OMP_PROC_BIND": "true"}
    parts = chosen.part or tuple(GROUPS)
    rounds = 3 if chosen.quick else _ROUNDS
    cases: list[Case] = []
    for part in parts:
        for setup, size in (QUICK if chosen.quick else PLAN)[part]:
            if chosen.only and size_of(size) not in chosen.only:
                continue
            if part == "vectors":
                tune_vectors(size)
            elif setup is residual_table:
                Bratu(shape=size).tune()
            cases += contest(part, setup, size, 3 if setup is newton_table else rounds)
    if not chosen.quick:
        cases = merged(cases, chosen.output)
    write(cases, chosen.output)
    draw(cases, chosen.output / "krylov.png")
    text = verdict(cases)
    (chosen.output / "verdict.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
