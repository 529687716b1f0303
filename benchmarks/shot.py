"""A shot: this package against Devito, each in a process of its own, runs taken in turns, traces compared.

    python benchmarks/shot.py --shape 256x256x256 --steps 200 --receivers 10000 --devito PYTHON

An acoustic wave of order 8 in space with a sponge of 20 cells, one Ricker source between cells, receivers between
cells at every step: the same equation, the same weights, the same values outside (0) in both. Devito runs with its
advanced optimisations, OpenMP, and its autotuner at its most thorough. The first lines compare runs of this package
without points, with the source, and with receivers. ``--tile`` is a tiling that ``tw.tune`` found, measured as Devito's
blocks are; without it this package measures nothing. ``--equation elastic`` is that of velocities and stresses in an
even solid, without a layer, with an explosion as source and receivers of the stress along the first axis.
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
from types import ModuleType
from typing import Any

import numpy as np

Runner = Callable[[str], "np.ndarray[Any, Any] | None"]
SPACING, SPEED, FREQUENCY, ORDER, LAYER = 10.0, 2000.0, 15.0, 8, 20
KINDS = ("plain", "source", "shot")


def setting(shape: tuple[int, ...], steps: int, receivers: int) -> dict[str, Any]:
    """Everything that both compute with; places in cells."""
    rank = len(shape)
    size = 6.505079365079365  # the weights' sizes, summed: how far from unstable half of the longest step is
    dt = 0.5 * 2.0 / (SPEED * np.sqrt(rank * size) / SPACING)
    depth = np.exp(-((0.3 / LAYER * (LAYER - np.arange(LAYER))) ** 2))
    taper = np.ones(shape)
    for axis, extent in enumerate(shape):
        along = np.ones(extent)
        along[:LAYER], along[extent - LAYER :] = depth, depth[::-1]
        taper *= along.reshape([-1 if each == axis else 1 for each in range(rank)])
    generator = np.random.default_rng(0)
    square = (np.pi * FREQUENCY * (dt * np.arange(steps) - 1.2 / FREQUENCY)) ** 2
    places = LAYER + generator.uniform(0, 1, (receivers, rank)) * (np.array(shape) - 2 * LAYER - 1)
    places[:, 0] = LAYER + 2.3
    return {
        "dt": dt,
        "taper": taper.astype(np.float32),
        "square": np.full(shape, (SPEED * dt) ** 2, np.float32),
        "wavelet": ((1 - 2 * square) * np.exp(-square)).astype(np.float32),
        "source": np.array([[LAYER + 5.4, *(extent / 2 + 0.3 for extent in shape[1:])]]),
        "receivers": places,
    }


SHEAR, DENSITY = 1100.0, 1.0


def own(asked: argparse.Namespace) -> Runner:
    """Return a function that runs one of :data:`KINDS` and returns its traces."""
    import tilewright as tw
    from tilewright import waves

    shape, steps, threads, tiling = asked.shape, asked.steps, asked.threads, asked.tile or None
    known = setting(shape, steps, asked.receivers)
    rest = np.zeros(shape, np.float32)
    if asked.equation == "elastic":
        program = waves.elastic((SPACING,) * len(shape), ORDER, damped=False)
        dt, stresses = known["dt"], [name for name in program.updated if name[0] == "s" and name[1] == name[2]]
        values = {"b": dt / DENSITY, "l": dt * lame(), "n": 2 * dt * DENSITY * SHEAR**2, "m": dt * DENSITY * SHEAR**2}
        arrays = [
            rest if name in program.updated else np.full(shape, values[name[0]], np.float32) for name in program.fields
        ]
        shot = dict.fromkeys(stresses, tw.Points(known["source"], known["wavelet"]))
        records = {stresses[0]: tw.Points(known["receivers"])}
        given = {"plain": {}, "source": {"sources": shot}, "shot": {"sources": shot, "receivers": records}}

        def run_elastic(kind: str) -> "np.ndarray[Any, Any] | None":
            done = tw.run(
                program, *arrays, steps=steps, boundary="constant", threads=threads, tiling=tiling, record=True,
                **given[kind],
            )  # fmt: skip
            return done.traces.get(stresses[0])

        return run_elastic
    program = waves.acoustic((SPACING,) * len(shape), ORDER)
    source = tw.Points(known["source"], known["wavelet"], scale="m")
    given = {
        "plain": {},
        "source": {"sources": source},
        "shot": {"sources": source, "receivers": tw.Points(known["receivers"])},
    }

    def run(kind: str) -> "np.ndarray[Any, Any] | None":
        done = tw.run(
            program, (rest, rest), known["square"], known["taper"], steps=steps, boundary="constant", threads=threads,
            tiling=tiling, record=True, **given[kind],
        )  # fmt: skip
        return done.traces.get("u")

    return run


def lame() -> float:
    """First parameter of the even solid."""
    return DENSITY * (SPEED**2 - 2 * SHEAR**2)


def devito(asked: argparse.Namespace) -> Runner:
    """Return the same for Devito, which has the whole shot only."""
    shape, steps, receivers, threads = asked.shape, asked.steps, asked.receivers, asked.threads
    os.environ |= {"OMP_NUM_THREADS": str(threads), "DEVITO_LOGGING": "ERROR"}
    import devito as dv

    dv.configuration["language"] = "openmp"
    known = setting(shape, steps, receivers)
    grid = dv.Grid(shape=shape, extent=tuple(SPACING * (n - 1) for n in shape), dtype=np.float32)
    if asked.equation == "elastic":
        return devito_elastic(dv, grid, known, asked)
    u = dv.TimeFunction(name="u", grid=grid, time_order=2, space_order=ORDER)
    m, g = (dv.Function(name=name, grid=grid, space_order=2) for name in ("m", "g"))
    m.data[:], g.data[:] = known["square"], known["taper"]
    source = dv.SparseTimeFunction(name="src", grid=grid, npoint=1, nt=steps + 1, coordinates=SPACING * known["source"])
    source.data[0, 0], source.data[1:, 0] = 0.0, known["wavelet"]  # their steps count from 1
    traces = dv.SparseTimeFunction(
        name="rec", grid=grid, npoint=receivers, nt=steps + 1, coordinates=SPACING * known["receivers"]
    )
    equation = dv.Eq(u.forward, g * (2.0 * u - g * u.backward + m * u.laplace))
    parts = [equation, source.inject(field=u.forward, expr=source * m), traces.interpolate(expr=u.forward)]
    operator = dv.Operator(parts, opt="advanced")

    operator.apply(time_m=1, time_M=4, dt=known["dt"], autotune=asked.autotune)
    blocks = operator._state["autotuning"][-1].get("tuned", {})  # noqa: SLF001  (it says so nowhere else)

    def run(_: str) -> "np.ndarray[Any, Any]":
        u.data[:] = 0.0
        operator.apply(time_m=1, time_M=steps, dt=known["dt"], autotune="off", **blocks)
        return np.array(traces.data[1 : steps + 1])

    return run


def devito_elastic(dv: ModuleType, grid: object, known: dict[str, Any], asked: argparse.Namespace) -> Runner:
    """The elastic equation for Devito; parameters are arrays, as for this package."""
    steps, receivers = asked.steps, asked.receivers
    velocity = dv.VectorTimeFunction(name="v", grid=grid, space_order=ORDER, time_order=1)
    stress = dv.TensorTimeFunction(name="tau", grid=grid, space_order=ORDER, time_order=1)
    light, first, shear = (dv.Function(name=name, grid=grid, space_order=0) for name in ("b", "l", "mu"))
    light.data[:], first.data[:], shear.data[:] = 1 / DENSITY, lame(), DENSITY * SHEAR**2
    dt = velocity[0].grid.stepping_dim.spacing
    rate = velocity.forward
    strain = dv.grad(rate) + dv.grad(rate).transpose(inner=False)
    spread = dv.diag(dv.div(rate))
    equations = [
        dv.Eq(velocity.forward, velocity + dt * light * dv.div(stress)),
        dv.Eq(stress.forward, stress + dt * first * spread + dt * shear * strain),
    ]
    places = {"grid": grid, "nt": steps + 1}
    source = dv.SparseTimeFunction(name="src", npoint=1, coordinates=SPACING * known["source"], **places)
    source.data[0, 0], source.data[1:, 0] = 0.0, known["wavelet"]
    traces = dv.SparseTimeFunction(name="rec", npoint=receivers, coordinates=SPACING * known["receivers"], **places)
    parts = [*equations]
    parts += [source.inject(field=stress[axis, axis].forward, expr=source) for axis in range(len(known["taper"].shape))]
    parts += [traces.interpolate(expr=stress[0, 0].forward)]
    operator = dv.Operator(parts, opt="advanced")
    operator.apply(time_m=1, time_M=4, dt=known["dt"], autotune=asked.autotune)
    blocks = operator._state["autotuning"][-1].get("tuned", {})  # noqa: SLF001  (it says so nowhere else)

    def run(_: str) -> "np.ndarray[Any, Any]":
        for each in [
            *velocity,
            *(stress[a, b] for a in range(len(known["taper"].shape)) for b in range(a, len(known["taper"].shape))),
        ]:
            each.data[:] = 0.0
        operator.apply(time_m=1, time_M=steps, dt=known["dt"], autotune="off", **blocks)
        return np.array(traces.data[1 : steps + 1])

    return run


def child(arguments: argparse.Namespace) -> None:
    """Answer one line per line: the seconds of a run, traces in a file."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    make = {"own": own, "devito": devito}[arguments.child]
    run = make(arguments)
    for line in sys.stdin:
        request = json.loads(line)
        begin = time.perf_counter()
        traces = run(request["kind"])
        seconds = time.perf_counter() - begin
        if request["save"]:
            np.save(request["save"], traces)
        answers.write(json.dumps({"seconds": seconds}) + "\n")
        answers.flush()


class Child:
    """One contender's process."""

    def __init__(self, python: str, name: str, rest: list[str]) -> None:
        command = [python, str(Path(__file__).resolve()), "--child", name, *rest]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, kind: str, save: str = "") -> float:
        """Run once."""
        assert self.process.stdin is not None  # noqa: S101
        assert self.process.stdout is not None  # noqa: S101
        self.process.stdin.write(json.dumps({"kind": kind, "save": save}) + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline())["seconds"])

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None  # noqa: S101
        self.process.stdin.close()
        self.process.wait()


def compare(arguments: argparse.Namespace, rest: list[str]) -> dict[str, Any]:
    """Run both in turns."""
    children = {"own": Child(sys.executable, "own", rest)}
    if arguments.devito:
        children["devito"] = Child(arguments.devito, "devito", rest)
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(Path(folder) / f"{name}.npy") for name in children}
        for name, each in children.items():  # compiles, tunes and warms up
            for kind in KINDS if name == "own" else ("shot",):
                each.seconds(kind, files[name] if kind == "shot" else "")
        for _ in range(arguments.repeats):
            for kind in KINDS:
                taken.setdefault(kind, []).append(children["own"].seconds(kind))
            if arguments.devito:
                taken.setdefault("devito", []).append(children["devito"].seconds("shot"))
        result: dict[str, Any] = {name: statistics.median(found) for name, found in taken.items()}
        for name, over in (("source", "plain"), ("shot", "plain"), ("devito", "shot")):
            if name in taken:
                pairs = [a / b for a, b in zip(taken[name], taken[over], strict=True)]
                result[f"{name} over {over}"] = statistics.median(pairs)
        if arguments.devito:
            ours, theirs = (np.load(files[name]) for name in ("own", "devito"))
            result["largest difference of traces"] = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    for each in children.values():
        each.close()
    return result


def record(arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    """Add a result to a file, with where it was measured."""
    from environment import describe

    path = Path(arguments.output)
    whole = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"shots": {}}
    shape = "x".join(map(str, arguments.shape))
    name = f"{arguments.equation} {shape}, {arguments.steps} steps, {arguments.receivers} receivers"
    how = {"tiling": arguments.tile or "the model's", "autotune": arguments.autotune, "repeats": arguments.repeats}
    whole["shots"][name] = {**found, **how, "environment": describe(arguments.threads)}
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Parse the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="256x256x256")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--receivers", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--equation", choices=("acoustic", "elastic"), default="acoustic")
    parser.add_argument("--tile", default="", help="this package's tiling; the model's choice by default")
    parser.add_argument("--autotune", choices=("basic", "aggressive"), default="aggressive", help="Devito's autotuner")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--devito", metavar="PYTHON", default="", help="an interpreter that has Devito")
    parser.add_argument("--output", metavar="FILE", default="", help="add the result to this record")
    parser.add_argument("--child", choices=("own", "devito"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    handed = ("shape", "steps", "receivers", "threads", "equation", "tile", "autotune")
    rest = [f"--{name}={getattr(arguments, name)}" for name in handed]
    arguments.shape = tuple(int(extent) for extent in arguments.shape.split("x"))
    if arguments.child:
        child(arguments)
    else:
        found = compare(arguments, rest)
        print(json.dumps(found, indent=2))
        if arguments.output:
            record(arguments, found)


if __name__ == "__main__":
    main()
