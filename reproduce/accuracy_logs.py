"""The model against 25,370 measurements of others: hybrid tiles with thread shapes on a V100 (figures 3 to 6).

python reproduce/accuracy_logs.py [--quick] [--data DIR] [--output DIR]

Fetch the logs with benchmarks/fetch_stencilbench.py. Ten points per stencil calibrate, all others are scored.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import measured
from tilewright.costs.accuracy import COLUMNS, Scores
from tilewright.costs.gpu.terms import TERMS
from tilewright.report import validation as report
from tilewright.report.figures import draw_validation
from tilewright.runtime.formats.logs import read_stencilbench
from tilewright.verbs.validate import Validation, validate

MACHINE = "v100"
CLAIM = "RMSE at most 10 % within 20 % of the best, several times larger over all (Prajapati et al. 2017, figure 3)"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, no ablation")
    measured.add_data(parser)
    parser.add_argument("--output", type=Path, default=Path("results/accuracy_logs"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    logs = [read_stencilbench(path) for path in measured.log_paths(chosen.data)]
    seeds = range(1 if chosen.quick else 8)
    own = [validate(logs, MACHINE, seed=seed) for seed in seeds]
    others = [validate(logs, MACHINE, seed=seed, held_out=True) for seed in seeds]
    printed = validate(logs, MACHINE, model="published")
    first = own[0]
    rows = [*((one.name, one.scores) for one in first.stencils), ("mean", first.overall)]
    report.write_scores(chosen.output / "scores.csv", rows)
    draw_validation(first.stencils, chosen.output)
    lines = [
        f"Claimed: {CLAIM}.",
        "",
        "Exact model with thread blocks, ten calibration points per stencil, seed 0:",
        "",
    ]
    lines += [_head("stencil"), *(_row(name, scores) for name, scores in rows), ""]
    lines += ["Mean over the stencils by seed of the calibration points:", "", _head("constants from")]
    for name, many in (("own points", own), ("other stencils only", others)):
        lines += [_row(f"{name}, seed {seed}", one.overall) for seed, one in zip(seeds, many, strict=True)]
    lowest = [_lowest(one) for one in (*own, *others)]
    lines += ["", f"The worst stencil's first choice over all of these: {min(lowest):.1%} of the best.", ""]
    lines += ["Printed model, C_iter from the same ten points:", "", _head("stencil")]
    lines += [_row(one.name, one.scores) for one in printed.stencils] + [_row("mean", printed.overall), ""]
    if not chosen.quick:
        lines += ["Terms switched off one at a time (nothing fitted again but each stencil's factor):", ""]
        lines += [_head("without"), _row("(all terms)", validate(logs, MACHINE, points=0).overall)]
        lines += [_row(term, validate(logs, MACHINE, points=0, off=(term,)).overall) for term in TERMS]
        lines.append("")
    lines += ["Which k wins (share of the best by resident blocks, estimated):", ""]
    lines += [f"- {one.name}: {_by_k(one.best_by_k)}" for one in first.stencils]
    near = [one.scores.rmse_top20 for one in first.stencils]
    lines += ["", f"RMSE within 20 % of the best is at most 10 % for {sum(x <= 0.10 for x in near)} of {len(near)}."]
    measured.write_verdict(chosen.output, "\n".join(lines))


def _head(first: str) -> str:
    columns = (first, "points", *COLUMNS)
    return f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|"


def _row(name: str, one: Scores) -> str:
    return f"| {' | '.join((name, str(one.points), *one.cells()))} |"


def _lowest(one: Validation) -> float:
    return float(np.min([each.scores.fraction_of_best[0] for each in one.stencils]))


def _by_k(groups: dict[int, tuple[float, int]]) -> str:
    return ", ".join(f"{k}: {share:.0%} ({count})" for k, (share, count) in groups.items())


if __name__ == "__main__":
    main()
