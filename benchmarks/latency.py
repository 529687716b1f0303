"""How long until the first result: fresh processes, with a cold and a warm kernel cache.

    python benchmarks/latency.py --repeats 7 --output latency.json

Every sample is a new interpreter that finds modules' bytecode, as an installed package has it, in a folder of the
benchmark's own; the baseline starts one that only imports NumPy and makes the same array. *Cold*
starts with an empty cache directory, *warm* with the one that an earlier process filled. Entry points take turns within
one repetition.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import environment
from summary import spread

_ARRAY = "import numpy as np; u = np.random.default_rng(1).random(({size}, {size}), dtype=np.float32)"
_CALL = (
    "import tilewright as tw; out = tw.run(tw.program({program!r}), u, steps={steps}); assert np.isfinite(out).all()"
)


@dataclass(slots=True, kw_only=True)
class Start:
    """One way to start, and its samples in seconds."""

    name: str
    command: list[str]
    cold: bool
    samples: list[float] = field(default_factory=list)


def starts(program: str, size: int, steps: int) -> list[Start]:
    """Every way to start that is measured."""
    array = _ARRAY.format(size=size)
    python = [sys.executable, "-c", f"{array}; {_CALL.format(program=program, steps=steps)}"]
    line = [sys.executable, "-c", "import sys; from tilewright.cli import main; sys.exit(main())"]
    line += ["run", program, "--shape", f"{size}x{size}", "--steps", str(steps)]
    return [
        Start(name="numpy only", command=[sys.executable, "-c", array], cold=False),
        Start(name="python, cold", command=python, cold=True),
        Start(name="python, warm", command=python, cold=False),
        Start(name="command line, cold", command=line, cold=True),
        Start(name="command line, warm", command=line, cold=False),
    ]


def sample(start: Start, caches: Path) -> float:
    """Run one fresh process and return its seconds.

    Raises:
        SystemExit: If it fails.
    """
    cache = caches / ("cold" if start.cold else "warm")
    if start.cold:
        shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(exist_ok=True, mode=0o700)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"TILEWRIGHT_CACHE": str(cache), "PYTHONPYCACHEPREFIX": str(caches / "bytecode")}
    begin = time.perf_counter()
    done = subprocess.run(start.command, capture_output=True, text=True, check=False, env=environ)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"{start.name} failed:\n{done.stderr[-2000:]}")
    return seconds


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; the first repetition fills the warm cache and does not count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="heat2d")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    chosen = parser.parse_args(argv)
    every = starts(chosen.program, chosen.size, chosen.steps)
    with tempfile.TemporaryDirectory(prefix="latency-") as directory:
        for repetition in range(chosen.repeats + 1):
            for start in every:
                seconds = sample(start, Path(directory))
                if repetition:
                    start.samples.append(seconds)
    baseline = spread(every[0].samples)["median"]
    record: dict[str, Any] = {"environment": environment.describe(environment.cores()), "starts": {}}
    record["case"] = {"program": chosen.program, "shape": [chosen.size] * 2, "steps": chosen.steps}
    print(
        f"{chosen.program}, {chosen.size}x{chosen.size}, {chosen.steps} steps; "
        f"median of {chosen.repeats} fresh processes"
    )
    for start in every:
        over = spread(start.samples)
        record["starts"][start.name] = {
            "seconds": over,
            "samples": start.samples,
            "above_numpy": over["median"] - baseline,
        }
        print(
            f"  {start.name:20}{over['median'] * 1e3:8.0f} ms  ({over['min'] * 1e3:.0f} - {over['max'] * 1e3:.0f})"
            f"{(over['median'] - baseline) * 1e3:+8.0f} ms above NumPy alone"
        )
    if chosen.output:
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
