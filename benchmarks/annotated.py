"""Annotated examples tuned on this machine: the new code beside the original body, built with the same flags.

python benchmarks/annotated.py [NAME…] [--seconds N] [--output FILE]

Examples that are not named stay on record. Times are medians of runs in turn, one process, the data in memory;
every variant is compared with the original body before it is timed.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import environment
import tilewright as tw

EXAMPLES = Path(__file__).parents[1] / "examples" / "annotated"
SIZES: dict[str, dict[str, int]] = {
    "matmult_seqdia": {"m": 512, "n": 512},
    "cg_iteration": {"m": 1000, "n": 1000},
    "bratu_ex5": {"Mx": 1000, "My": 1000},
    "jacobi_time_loop": {"T": 100, "N": 3000},
    "heat_expression": {"T": 200, "N": 1_000_000},
    "vec_maxpy": {},
    "matmul_composite": {},
}
"""What is tuned, and at which sizes of its input."""


def measured(name: str, seconds: float) -> dict[str, Any]:
    """Tune an example and return what came out of it."""
    result = tw.annotate(EXAMPLES / f"{name}.c", sizes=SIZES[name], seconds=seconds)
    (region,) = result.to_dict()["regions"]
    (size,) = region["results"]
    keys = (
        "input",
        "winner",
        "seconds",
        "original_seconds",
        "speedup",
        "search",
        "evaluated",
        "space_size",
        "outcomes",
    )
    found = {key: size[key] for key in (*keys, "validated", "command")}
    return {**found, "stencil_tiling": size.get("stencil_tiling"), "kept_original": size.get("kept_original")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SIZES)}; all by default")
    parser.add_argument("--seconds", type=float, default=30.0, help="time to tune one example")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "annotated.json")
    chosen = parser.parse_args()
    record = json.loads(chosen.output.read_text(encoding="utf-8")) if chosen.output.exists() else {}
    for name in chosen.names or SIZES:
        record[name] = {**measured(name, chosen.seconds), "environment": environment.describe(environment.cores())}
        print(f"{name}: {record[name]['speedup']:.2f} times as fast, {record[name]['winner']}", flush=True)
        chosen.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
