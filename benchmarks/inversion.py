"""The gradient of a shot's misfit: this package against Devito's adjoint written by hand, in turns, each in a process.

    python benchmarks/inversion.py --shape 128x128x128 --steps 200 --devito PYTHON --output results/inversion.json

The shot is that of ``shot.py``: an acoustic wave of order 8 with a sponge, the same weights and values outside in
both. A gradient is half the squared misfit of its traces from zero, by the squares m = (v dt)^2 of the speeds, the
forward run included. Both keep ``--states`` states; Devito by pyrevolve. ``devito every state`` is Devito's with all
states in memory. With q = g m times what u is worth, the adjoint of ``u_next = g (2 u - g u_before + m lap u)`` is the
same equation for q, which is what is written for Devito; the gradient is the sum of q lap u, over m.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import environment
from shot import ORDER, SPACING, setting

Gradient = Callable[[], "np.ndarray[Any, Any]"]
TOLERANCE = 1e-4
"""Largest difference of the gradients, over the largest value."""


def own(asked: argparse.Namespace) -> Gradient:
    """Return what computes the gradient by this package."""
    import tilewright as tw
    from tilewright import waves

    known = setting(asked.shape, asked.steps, asked.receivers)
    rest = np.zeros(asked.shape, np.float32)
    program = waves.acoustic((SPACING,) * len(asked.shape), ORDER)
    source, receivers = tw.Points(known["source"], known["wavelet"], scale="m"), tw.Points(known["receivers"])

    def gradient() -> "np.ndarray[Any, Any]":
        (_, traces), pullback = tw.vjp(
            program, (rest, rest), known["square"], known["taper"], steps=asked.steps, boundary="constant", wrt=("m",),
            threads=asked.threads, sources={"u": source}, receivers={"u": receivers}, checkpoints=asked.states,
        )  # fmt: skip
        gradients, _ = pullback((None, traces))
        found: np.ndarray[Any, Any] = gradients[program.fields.index("m")]
        return found

    return gradient


def devito(asked: argparse.Namespace, *, every: bool) -> Gradient:
    """Return what computes it by Devito, with some states in memory or all of them."""
    os.environ |= {"OMP_NUM_THREADS": str(asked.threads), "DEVITO_LOGGING": "ERROR"}
    import devito as dv

    dv.configuration["language"] = "openmp"
    steps, known = asked.steps, setting(asked.shape, asked.steps, asked.receivers)
    grid = dv.Grid(shape=asked.shape, extent=tuple(SPACING * (n - 1) for n in asked.shape), dtype=np.float32)
    kind: dict[str, Any] = {"grid": grid, "time_order": 2, "space_order": ORDER}
    u = dv.TimeFunction(name="u", **kind, **({"save": steps + 2} if every else {}))
    v = dv.TimeFunction(name="v", **kind)
    m, g, total = (dv.Function(name=name, grid=grid, space_order=2) for name in ("m", "g", "total"))
    m.data[:], g.data[:] = known["square"], known["taper"]
    listening = {"grid": grid, "npoint": asked.receivers, "nt": steps + 2, "coordinates": SPACING * known["receivers"]}
    source = dv.SparseTimeFunction(name="src", grid=grid, npoint=1, nt=steps + 2, coordinates=SPACING * known["source"])
    source.data[:, 0] = 0.0
    source.data[1 : steps + 1, 0] = known["wavelet"]  # their steps count from 1
    traces, rest = (dv.SparseTimeFunction(name=name, **listening) for name in ("rec", "rest"))
    forward = dv.Operator(
        [
            dv.Eq(u.forward, g * (2.0 * u - g * u.backward + m * u.laplace)),
            source.inject(field=u.forward, expr=source * m),
            traces.interpolate(expr=u.forward),
        ],
        name="Forward", opt="advanced",
    )  # fmt: skip
    added = rest.inject(field=v.backward, expr=rest * g * m)
    last = dv.Operator([added], name="Last")
    back = dv.Operator(
        [
            dv.Eq(v.backward, g * (2.0 * v - g * v.forward + m * v.laplace)),
            dv.Inc(total, v * u.laplace),
            source.inject(field=total, expr=source * v / g),
            added,
        ],
        name="Back", opt="advanced",
    )  # fmt: skip
    times = {"dt": known["dt"], "time_m": 1, "time_M": min(steps, 6)}
    tuned = []
    for operator in (forward, back):
        operator.apply(**times, autotune="aggressive")
        tuned.append(operator._state["autotuning"][-1].get("tuned", {}))  # noqa: SLF001  (it says so nowhere else)
    for_all = {"dt": known["dt"], "time_m": 1, "time_M": steps, "autotune": "off"}

    def give_rest() -> None:
        rest.data[:] = 0.0
        rest.data[2 : steps + 2] = traces.data[1 : steps + 1]
        last.apply(time_m=steps + 1, time_M=steps + 1)

    def gradient() -> "np.ndarray[Any, Any]":
        for each in (u, v, total):
            each.data[:] = 0.0
        if every:
            forward.apply(**for_all, **tuned[0])
            give_rest()
            back.apply(**for_all, **tuned[1])
        else:
            import pyrevolve

            there = dv.CheckpointOperator(forward, dt=known["dt"], time_m=1, time_M=steps, **tuned[0])
            again = dv.CheckpointOperator(back, dt=known["dt"], time_m=1, time_M=steps, **tuned[1])
            schedule = pyrevolve.MemoryRevolver(dv.DevitoCheckpoint([u]), there, again, asked.states, steps)
            schedule.apply_forward()
            give_rest()
            schedule.apply_reverse()
        found: np.ndarray[Any, Any] = np.array(total.data) / known["square"]
        return found

    return gradient


KINDS: dict[str, Callable[[argparse.Namespace], Gradient]] = {
    "own": own,
    "devito": lambda asked: devito(asked, every=False),
    "devito every state": lambda asked: devito(asked, every=True),
}


def child(asked: argparse.Namespace) -> None:
    """Answer one line per line: the seconds of a gradient, which is saved where the line names a file."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    gradient = KINDS[asked.child](asked)
    for line in sys.stdin:
        begin = time.perf_counter()
        found = gradient()
        seconds = time.perf_counter() - begin
        if line.strip():
            np.save(line.strip(), found)
        answers.write(f"{seconds}\n")
        answers.flush()


def ask(process: "subprocess.Popen[str]", save: str = "") -> float:
    """Let a process compute one gradient; return the seconds."""
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    process.stdin.write(save + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(asked: argparse.Namespace, rest: list[str]) -> dict[str, Any]:
    """Run all in turns; return samples, ratios and differences."""
    names = [name for name in KINDS if name == "own" or asked.devito]
    command = [str(Path(__file__).resolve()), *rest, "--child"]
    with tempfile.TemporaryDirectory() as folder:
        running = {
            name: subprocess.Popen(
                [sys.executable if name == "own" else asked.devito, *command, name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for name in names
        }  # fmt: skip
        files = {name: str(Path(folder) / f"{number}.npy") for number, name in enumerate(names)}
        for name, process in running.items():  # compiles, tunes and warms up
            ask(process, files[name])
        gradients = {name: np.load(file) for name, file in files.items()}
        samples: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(asked.repeats):
            for name, process in running.items():
                samples[name].append(ask(process))
    for process in running.values():
        process.communicate()
    largest = np.abs(gradients["own"]).max()
    others = names[1:]
    return {
        "shape": asked.shape, "steps": asked.steps, "receivers": asked.receivers, "states": asked.states,
        "seconds": samples,
        "over own": {
            name: statistics.median(b / a for a, b in zip(samples["own"], samples[name], strict=True))
            for name in others
        },
        "difference": {name: float(np.abs(gradients[name] - gradients["own"]).max() / largest) for name in others},
    }  # fmt: skip


def main() -> int:
    """Parse the command line, run, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="128x128x128")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--receivers", type=int, default=2000)
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--devito", metavar="PYTHON", default="", help="an interpreter that has Devito and pyrevolve")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", choices=tuple(KINDS), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    rest = [f"--{name}={getattr(asked, name)}" for name in ("shape", "steps", "receivers", "states", "threads")]
    asked.shape = tuple(int(extent) for extent in asked.shape.split("x"))
    if asked.child:
        child(asked)
        return 0
    found = compare(asked, rest)
    print(json.dumps(found, indent=1))
    if asked.output:
        record = {"environment": environment.describe(asked.threads), **found}
        asked.output.write_text(json.dumps(record, indent=1) + "\n")
    return int(any(not each <= TOLERANCE for each in found["difference"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
