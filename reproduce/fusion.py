"""Fusions and thread blocks of pipelines (Ben Cheikh et al. 2015, figures 12-16 and 18).

    python reproduce/fusion.py [--quick] [--output DIR]

Gaussian blur at 4096^2 and 8192^2 and Canny at 2048^2 and 4096^2: predicted for gtx590, gtx780 and gtx750, measured
on this CPU. Writes CSVs, a figure and a paragraph beside the paper's claims: the tuned configuration beats
(16, 16, 1, 1); full fusion need not be the fastest; the number of configurations depends on the filter's size. What
does not hold is said.
"""

import argparse
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.paths import write_rows
from tilewright.machines.files import load
from tilewright.report import figures
from tilewright.runtime.host import thread_count
from tilewright.runtime.memory import Workspace
from tilewright.runtime.store.hosts import host
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.call import compile_pipeline, execute, new_grid
from tilewright.workloads.pipelines.catalogue import pipeline
from tilewright.workloads.pipelines.fuse import fuse
from tilewright.workloads.pipelines.gpu_costs import card, evaluate
from tilewright.workloads.pipelines.problem import PipelineProblem, make_pipeline_problem
from tilewright.workloads.pipelines.search import Blocks, Strips, all_blocks, best_choices, relevant

CARDS = ("gtx590", "gtx780", "gtx750")
RADII = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)


def basic_seconds(problem: PipelineProblem, fusion: fusions.Fusion, machine: str) -> float:
    """Return the predicted time with the basic block, or infinity where it does not fit."""
    choices = [Blocks(problem=problem, machine=load(machine)).basic(group) for group in fusion]
    return sum(np.inf if choice is None else choice.seconds for choice in choices)


def predicted(cases: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """Predict tuned and basic times of fusions on the paper's cards."""
    rows = []
    for name, size in cases:
        program = pipeline(name, radius=7) if name == "blur" else pipeline(name)
        problem = make_pipeline_problem(program, (size, size))
        for machine in CARDS:
            best = fuse(program, shape=(size, size), machine=machine).best
            for label, fusion in {
                "best": best.fusion,
                "full": fusions.full(program),
                "none": fusions.unfused(program),
            }.items():
                tuned = best_choices(Blocks(problem=problem, machine=load(machine)), fusion)
                rows.append(
                    {
                        "kind": "predicted",
                        "pipeline": name,
                        "size": size,
                        "machine": machine,
                        "label": label,
                        "fusion": fusions.text(fusion),
                        "tuned_ms": 1e3 * tuned.seconds,
                        "basic_ms": 1e3 * basic_seconds(problem, fusion, machine),
                        "configuration": " ".join(str(getattr(c, "block", "")) for c in tuned.choices),
                    }
                )
    return rows


def measured(cases: Iterable[tuple[str, int]], repeats: int) -> list[dict[str, Any]]:
    """Measure the same fusions on this CPU, interleaved."""
    rows = []
    threads = thread_count()
    for name, size in cases:
        program = pipeline(name, radius=7) if name == "blur" else pipeline(name)
        problem = make_pipeline_problem(program, (size, size))
        grids = {grid: new_grid(problem, grid) for grid in program.grids}
        for grid in grids.values():
            grid[...] = np.random.default_rng(0).random((size, size), dtype=np.float32)
        best = fuse(program, shape=(size, size), machine="host").best.fusion
        wanted = {"best": best, "full": fusions.full(program), "none": fusions.unfused(program)}
        runs = {}
        for label, fusion in wanted.items():
            plan = best_choices(Strips(problem=problem, machine=host()), fusion)
            runs[label] = (plan, compile_pipeline(problem, fusion, plan.tiles))
        samples: dict[str, list[float]] = {label: [] for label in runs}
        workspace = Workspace()
        for _ in range(repeats + 1):
            for label, (_, steps) in runs.items():
                begin = time.perf_counter()
                execute(problem, steps, grids, (), threads, workspace)
                samples[label].append(time.perf_counter() - begin)
        for label, (plan, _) in runs.items():
            rows.append(
                {
                    "kind": "measured",
                    "pipeline": name,
                    "size": size,
                    "machine": "host",
                    "label": label,
                    "fusion": fusions.text(plan.fusion),
                    "tuned_ms": 1e3 * statistics.median(samples[label][1:]),
                    "basic_ms": "",
                    "configuration": " ".join(f"{tile.width}x{tile.rows}" for tile in plan.tiles),
                }
            )
    return rows


def configurations() -> list[dict[str, Any]]:
    """Count configurations of a convolution on rows against the filter's radius (figures 15 and 16)."""
    rows = []
    for machine in CARDS:
        gpu = card(load(machine))
        blocks = all_blocks(gpu.max_block_threads)
        for radius in RADII:
            problem = make_pipeline_problem(pipeline("convrows", radius=radius), (4096, 4096))
            begin = time.perf_counter()
            costs = evaluate(problem, (0,), blocks, gpu)
            seconds = time.perf_counter() - begin
            # Algorithm 2 asks for threads of at least twice the halo.
            published = (costs.resident > 0) & (blocks.tx >= 2 * radius)
            rows.append(
                {
                    "machine": machine,
                    "radius": radius,
                    "fit": int((costs.resident > 0).sum()),
                    "algorithm_2": int(published.sum()),
                    "relevant": int(relevant(costs, blocks).sum()),
                    "seconds": seconds,
                }
            )
    return rows


def draw(rows: list[dict[str, Any]], counts: list[dict[str, Any]], path: Path) -> None:
    """Draw predicted and measured times, and the number of configurations."""
    panels = sorted({(r["pipeline"], r["size"]) for r in rows})
    figure, axes = figures.panels(len(panels) + 1, (4.2 * (len(panels) + 1), 4.2))
    for axis, (name, size) in zip(axes, panels, strict=False):
        part = [r for r in rows if (r["pipeline"], r["size"]) == (name, size)]
        machines = list(dict.fromkeys(r["machine"] for r in part))
        for k, label in enumerate(("best", "full", "none")):
            heights = [next(r["tuned_ms"] for r in part if r["machine"] == m and r["label"] == label) for m in machines]
            places = np.arange(len(machines)) + 0.27 * (k - 1)
            axis.bar(places, heights, 0.25, label={"best": "model's choice"}.get(label, f"{label} fused"))
            basics = [next(r["basic_ms"] for r in part if r["machine"] == m and r["label"] == label) for m in machines]
            shown = [(x, b) for x, b in zip(places, basics, strict=True) if b != "" and np.isfinite(b)]
            if shown:
                xs, bs = zip(*shown, strict=True)
                axis.plot(xs, bs, "k_", markersize=10, label="(16,16,1,1)" if k == 0 else None)
        axis.set_xticks(range(len(machines)), [f"{m}\n{'measured' if m == 'host' else 'predicted'}" for m in machines])
        axis.set_title(f"{name} {size}²")
        axis.set_ylabel("ms")
    axes[0].legend(fontsize=8)
    for machine in CARDS:
        part = [c for c in counts if c["machine"] == machine]
        line = axes[-1].plot(
            [c["radius"] for c in part], [c["fit"] for c in part], "o-", label=f"{machine}, all that fit"
        )
        axes[-1].plot(
            [c["radius"] for c in part],
            [c["relevant"] for c in part],
            "s--",
            color=line[0].get_color(),
            label=f"{machine}, guidelines",
        )
    axes[-1].set_yscale("log")
    axes[-1].set_xlabel("radius of the filter")
    axes[-1].set_title("configurations of convrows")
    axes[-1].legend(fontsize=7)
    figures.save(figure, path, dpi=110)


def verdict(rows: list[dict[str, Any]], counts: list[dict[str, Any]]) -> str:
    """Set the results beside the paper's claims."""
    cards = [r for r in rows if r["kind"] == "predicted"]
    gains = [r["basic_ms"] / r["tuned_ms"] for r in cards if np.isfinite(r["basic_ms"])]
    loses = sorted({(r["pipeline"], r["machine"]) for r in cards if r["label"] == "full" and not _is_best(r, cards)})
    here = [r for r in rows if r["kind"] == "measured"]
    wins = [r for r in here if r["label"] == "full" and _is_best(r, here)]
    first = [c for c in counts if c["machine"] == "gtx590"]
    small, large = first[0], first[-1]
    total = sum(1 for r in here if r["label"] == "full")
    return (
        f"Claim: tuned configurations beat (16,16,1,1). Predicted: by a factor of {min(gains):.2f} to {max(gains):.2f} "
        f"(median {statistics.median(gains):.2f}) over {len(gains)} cases. Claim: full fusion need not win; the "
        f"paper's best grouping of Canny is a partial one. Predicted: full fusion is not the best for "
        f"{', '.join(f'{p} on {m}' for p, m in loses) or 'none'}. Measured on this CPU, where rings of rows take the "
        f"place of shared memory: full fusion is within 3 % of the best in {len(wins)} of {total} cases. Claim: the "
        f"number of configurations falls with the filter's size. On gtx590 {small['fit']} configurations fit at radius "
        f"{small['radius']} and {large['fit']} at {large['radius']}; algorithm 2's T >= 2H leaves "
        f"{small['algorithm_2']} and {large['algorithm_2']}, the vendor's guidelines {small['relevant']} and "
        f"{large['relevant']}. The paper's groupings F1 to F3 are lost in the scan and its times are only in figures, "
        f"so factors are not compared."
    )


def _is_best(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    same = [r for r in rows if all(r[k] == row[k] for k in ("pipeline", "size", "machine"))]
    return bool(row["tuned_ms"] <= 1.03 * min(r["tuned_ms"] for r in same))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small pictures, three repetitions")
    parser.add_argument("--output", type=Path, default=Path("results/fusion"), help="folder of the results")
    chosen = parser.parse_args()
    cases = [("blur", 4096), ("blur", 8192), ("canny", 2048), ("canny", 4096)]
    if chosen.quick:
        cases = [("blur", 1024), ("canny", 512)]
    rows = predicted(cases) + measured(cases, 3 if chosen.quick else 7)
    counts = configurations()
    chosen.output.mkdir(parents=True, exist_ok=True)
    for name, table in (("fusion.csv", rows), ("fusion_configurations.csv", counts)):
        write_rows(chosen.output / name, list(table[0]), (list(row.values()) for row in table))
    draw(rows, counts, chosen.output / "fusion.png")
    text = verdict(rows, counts)
    (chosen.output / "fusion.txt").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
