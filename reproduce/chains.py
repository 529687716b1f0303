"""The thesis' matrix chains: a worked example, and 19,000 random ones for two on-chip sizes; figure D.11, table D.1.

python reproduce/chains.py [--quick] [--output DIR]

The thesis does not say how its chains were drawn. Ours have sizes that are independent and uniform over the multiples
of 8 from 320 to 1024 (above sqrt(M) for both memories), 1,000 chains of every length from 2 to 20, seed 0: with them
the printed averages come out within about 0.5, the joint sampling error of both draws.
"""

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.costs.arrays import Ints
from tilewright.workloads.chains import chain
from tilewright.workloads.chains.problem import Tree, extents, nodes
from tilewright.workloads.chains.search import (
    ChainSearch,
    best_trees,
    by_operations_only,
    by_words,
    fuse_trees,
    words_of,
)
from tilewright.workloads.chains.traffic import kept_result

EXAMPLE = (936, 1008, 552, 368, 1016, 616, 544)
MEMORIES = (65536, 98304)
MODELS = ("published", "exact", "counts")
LENGTHS = range(2, 21)
CHAINS = 1000
PUBLISHED = {
    65536: (0.00, 6.58, 7.67, 8.31, 8.81, 8.97, 9.57, 9.49, 9.55, 9.86, 9.90, 9.87, 9.80, 10.14, 10.26, 10.15, 10.29,
            10.20, 10.53),
    98304: (0.00, 10.30, 10.76, 12.16, 12.68, 12.68, 13.21, 13.45, 13.59, 13.73, 13.95, 13.78, 13.88, 14.09, 14.23,
            14.17, 13.81, 14.32, 14.14),
}  # fmt: skip
"""Table D.1: average reduction in percent for lengths 2 to 20."""
AVERAGE = {65536: 9.44, 98304: 13.27}


@dataclass(frozen=True)
class Row:
    """Reductions of one length, memory and model, in percent."""

    memory: int
    model: str
    length: int
    average: float
    least: float
    most: float
    error: float
    joint: float


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 chains per length, lengths 2, 3, 6, 10 and 20")
    parser.add_argument("--output", type=Path, default=Path("results/chains"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    lengths = (2, 3, 6, 10, 20) if chosen.quick else LENGTHS
    rows = list(sweep(lengths, 100 if chosen.quick else CHAINS))
    with (chosen.output / "chains.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Row.__annotations__)
        writer.writerows([*vars(row).values()] for row in rows)
    draw(rows, chosen.output / "chains.png")
    text = "\n\n".join([example(), verdict(rows, time.perf_counter() - begin)])
    (chosen.output / "verdict.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def sweep(lengths: Sequence[int], count: int) -> Iterator[Row]:
    """Yield the reductions of every length, memory and model; all of them see the same chains."""
    rng = np.random.default_rng(0)
    for length in lengths:
        sizes = 8 * rng.integers(40, 129, (count, length + 1))
        for memory in MEMORIES:
            textbook = ChainSearch(model="published", memory=memory, price=by_operations_only, fuse=False)
            trees = best_trees(sizes, textbook)
            for model in MODELS:
                yield row(sizes, trees, memory, model)


def row(sizes: Ints, trees: Sequence[Tree], memory: int, model: str) -> Row:
    """Reduce the words of one length's chains, against the recurrence S in which every product keeps its result."""
    setting = ChainSearch(model=model, memory=memory, price=by_words)
    chains = sizes.tolist()
    fused = fuse_trees(chains, trees, setting)
    joint = best_trees(sizes, setting)
    saved, better = [], []
    for p, plain, two_step, best in zip(chains, trees, fused, joint, strict=True):
        columns = np.array([extents(p, node) for node in nodes(plain)], dtype=np.float64).T
        reference = float(kept_result(model, memory, tuple(columns)).sum())
        costs = [sum(words_of(p, list(nodes(tree)), model, memory)) for tree in (two_step, best)]
        saved.append(100 * (1 - costs[0] / reference))
        better.append(100 * (1 - costs[1] / reference))
    return Row(
        memory=memory,
        model=model,
        length=sizes.shape[1] - 1,
        average=float(np.mean(saved)),
        least=float(np.min(saved)),
        most=float(np.max(saved)),
        error=float(np.std(saved) / np.sqrt(len(saved))),
        joint=float(np.mean(better)),
    )


def example() -> str:
    """Return the worked example's tree, nodes and totals under every model."""
    lines = ["Worked example 936 1008 552 368 1016 616 544 with 65,536 words on chip."]
    for model in MODELS:
        plan = chain.plan(EXAMPLE, memory=65536, model=model)
        facts = plan.to_dict()
        lines += [
            "",
            f"{model}: {facts['tree']}, {plan.opcount:,} multiply-adds",
            f"{plan.unfused_words:,} words unfused, {plan.fused_words:,} fused, {facts['saving']:.1%} less",
            f"loops with these tiles move {plan.counted_words:,} words",
            "",
            "| node | left | right | fusion | tile | words |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for number, node in enumerate(facts["nodes"], 1):
            tile = "x".join(map(str, node["tile"]))
            lines.append(
                f"| {number} | {node['left']} | {node['right']} | {node['fusion']} | {tile} | {node['words']:,} |"
            )
    lines += [
        "",
        "Published: 10,190,344 words unfused, 8,392,058 fused, 17.6 % less, tiles 312x210 and 220x296 (297 is right).",
    ]
    return "\n".join(lines)


def verdict(rows: Sequence[Row], seconds: float) -> str:
    """Return the averages beside the published ones."""
    lines = [
        "| length | memory | published | ours, as printed | exact | counts | exact, all trees |",
        "| --- " * 7 + "|",
    ]
    for memory in MEMORIES:
        for length in sorted({row.length for row in rows}):
            by = {row.model: row for row in rows if row.memory == memory and row.length == length}
            printed, own = PUBLISHED[memory][length - 2], by["published"]
            lines.append(
                f"| {length} | {memory:,} | {printed:.2f} | {own.average:.2f} ± {own.error:.2f} "
                f"| {by['exact'].average:.2f} | {by['counts'].average:.2f} | {by['exact'].joint:.2f} |"
            )
    lines.append("")
    for memory in MEMORIES:
        mine = {model: [row for row in rows if row.memory == memory and row.model == model] for model in MODELS}
        # The printed averages over all lengths leave out length 2, where nothing is saved.
        means = {
            model: float(np.mean([row.average for row in group if row.length > 2])) for model, group in mine.items()
        }
        worst = max(abs(row.average - PUBLISHED[memory][row.length - 2]) for row in mine["published"])
        lines.append(
            f"{memory:,} words: {means['published']:.2f} % on average as printed (published {AVERAGE[memory]} %), "
            f"largest difference of a length {worst:.2f}; {means['exact']:.2f} % with the right beta, "
            f"{means['counts']:.2f} % counted with whole tiles."
        )
    zero = max(abs(row.most) for row in rows if row.length == 2 and row.model == "published")
    lines.append(f"Nothing is saved at length 2 as printed (largest {zero:.2f} %). All of it took {seconds:.0f} s.")
    return "\n".join(lines)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw average reductions over the length."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for ax, memory in zip(axes, MEMORIES, strict=True):
        ax.plot(LENGTHS, PUBLISHED[memory], "k.", label="published")
        for model in MODELS:
            mine = [row for row in rows if row.memory == memory and row.model == model]
            ax.plot([row.length for row in mine], [row.average for row in mine], label=model)
        mine = [row for row in rows if row.memory == memory and row.model == "exact"]
        ax.plot([row.length for row in mine], [row.joint for row in mine], "--", label="exact, all trees")
        ax.set(title=f"{memory:,} words on chip", xlabel="matrices", ylabel="words saved, %")
        ax.legend()
    figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    main()
