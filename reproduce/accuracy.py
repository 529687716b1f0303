"""How far the time model is off on this machine: RMSE over all tilings and over those near the best (figure 3).

python reproduce/accuracy.py [--quick] [--sweeps DIR] [--output DIR]

With --sweeps nothing is measured: the points are those of sweeps (benchmarks/sweep.py), whose files lie in that folder.

Calibrate first (`tilewright calibrate`), else the model runs on what the CPU says about itself.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import measured
import tilewright as tw
from tilewright.base.paths import write_rows

CASES = {
    "jacobi2d": ((4096, 4096), 64),
    "heat2d": ((4096, 4096), 64),
    "gradient2d": ((4096, 4096), 64),
    "heat3d": ((256, 256, 256), 32),
}
CLAIM = "RMSE at most 10 % within 20 % of the best, several times larger over all (Prajapati et al. 2017, figure 3)"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer tilings and stencils")
    parser.add_argument("--output", type=Path, default=Path("results/accuracy"), help="folder of the results")
    parser.add_argument("--sweeps", type=Path, help="folder of sweeps to read in place of measuring")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    count, repeats = (24, 3) if chosen.quick else (120, 5)
    results, rows = {}, []
    swept = [path.stem for path in sorted(chosen.sweeps.glob("*.csv"))] if chosen.sweeps else []
    for name in swept or list(CASES)[: 2 if chosen.quick else None]:
        if swept:
            points = measured.of_sweep(chosen.sweeps, name)
        else:
            shape, steps = CASES[name]
            many = tw.select(name, shape=shape, steps=steps, machine="host", within=None)
            points = measured.measure(name, shape, steps, measured.spread_out(many, count), repeats)
        results[name] = points
        rows += [(name, p.tiling, p.footprint, p.predicted, p.measured) for p in points]
    write_rows(chosen.output / "accuracy.csv", ("stencil", "tiling", "footprint", "predicted", "measured"), rows)
    measured.draw(results, chosen.output / "accuracy.png")
    lines = [f"Claimed: {CLAIM}.", "", "Found on this machine:", ""]
    lines += ["| stencil | tilings | within 20 % | RMSE there | RMSE over all | Err_max | Err_sign | Spearman |"]
    lines += ["| --- " * 8 + "|"]
    holds = []
    for name, points in results.items():
        table = measured.comparison(points)
        near, errors = table.take(table.near(measured.NEAR)), table.errors
        lines.append(
            f"| {name} | {len(points)} | {len(near.measured)} | {near.rmse:.1%} | {table.rmse:.1%} "
            f"| {np.abs(errors).max():.1%} | {errors.mean():+.1%} | {table.spearman:.2f} |"
        )
        holds.append(near.rmse <= 0.10)
    lines += ["", "Err_max is the largest relative error, Err_sign the mean signed one."]
    lines += [f"The claim holds for {sum(holds)} of {len(holds)} stencils."]
    measured.write_verdict(chosen.output, "\n".join(lines))


if __name__ == "__main__":
    main()
