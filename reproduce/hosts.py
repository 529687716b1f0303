"""The model's choices on virtual machines of different calibration: sweeps of the same programs on every host.

python reproduce/hosts.py [--folder DIR] [--output DIR]

A folder per host holds what `benchmarks/sweep.py` writes: on one computer, AVX-512 or `CC="gcc -march=x86-64-v3"`, all
threads or `taskset -c 1` and one, each calibrated before. Nothing is fitted to the sweeps: constants are those of the
calibration.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import measured


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / "benchmarks" / "results" / "hosts")
    parser.add_argument("--output", type=Path, default=Path("results/hosts"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    heads = ("host", "programs", "choice", "worst", "ten", "worst", "RMSE within 20 %", "largest", "Spearman")
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    lines += [line(folder) for folder in sorted(chosen.folder.iterdir()) if folder.is_dir()]
    measured.write_verdict(chosen.output, "\n".join(lines))


def line(folder: Path) -> str:
    """Return a host's scores: means over its programs, and the worst of them."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    choice, ten, error, order = (
        np.array([one[name] for one in found])
        for name in ("first_choice_share_of_best", "best_of_ten_share_of_best", "rmse_top20", "spearman")
    )
    cells = [folder.name, str(len(found)), f"{choice.mean():.1%}", f"{choice.min():.1%}", f"{ten.mean():.1%}"]
    cells += [f"{ten.min():.1%}", f"{error.mean():.1%}", f"{error.max():.1%}", f"{order.mean():.2f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
