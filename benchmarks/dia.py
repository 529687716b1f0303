"""Products of 5- and 7-point matrices with vectors: diagonals without padding against SciPy and PETSc.

python benchmarks/dia.py [--quick] [--output FILE] [--sizes 1000x1000 …]

All rivals multiply the same Laplacian in one run, in turns, so that what disturbs the machine disturbs all of them:
SciPy's dia and csr (they know one thread only), PETSc's aij by one rank and by as many ranks as there are cores, and
ours by one and by as many threads, called from Python and as PETSc's matrix type ``seqdia``. PETSc is left out, and
said to be, where there is none.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import environment
import tilewright as tw
from tilewright.base.errors import TilewrightError
from tilewright.sparse import petsc

SIZES = ((300, 300), (1000, 1000), (2000, 2000), (64, 64, 64), (100, 100, 100), (160, 160, 160))
QUICK = ((300, 300), (64, 64, 64))
ROUNDS = 11
_LEAST = 0.02
"""Seconds that a turn lasts at least."""
_PAUSE = 0.02
"""Seconds between turns, in which the threads of the one before go to sleep."""


@dataclass
class Case:
    """One matrix: its shape and everyone's samples, in seconds."""

    shape: tuple[int, ...]
    samples: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, ours: str, rival: str) -> tuple[float, float, float]:
        """Return the rival's time over ours: the median of the rounds' ratios, and their quartiles."""
        pairs = [b / a for a, b in zip(self.samples[ours], self.samples[rival], strict=True)]
        low, middle, high = statistics.quantiles(pairs, n=4)
        return middle, low, high


def matrix(shape: tuple[int, ...]) -> tw.sparse.Dia:
    """Return the Laplacian of a grid."""
    centre = (0,) * len(shape)
    sides = [tuple(d if a == axis else 0 for a in range(len(shape))) for axis in range(len(shape)) for d in (-1, 1)]

    def laplacian(u: Any) -> Any:  # noqa: ANN401
        return 2 * len(shape) * u[centre] - sum((u[side] for side in sides[1:]), start=u[sides[0]])

    return tw.sparse.from_stencil(tw.stencil(laplacian), shape)


class Petsc:
    """A PETSc program that waits for its turns."""

    def __init__(
        self, program: Path, command: Sequence[str], repeats: int, shape: tuple[int, ...], options: Sequence[str]
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=program.parent))
        self._turn = 0
        arguments = [str(program), str(self._folder), str(repeats), *map(str, shape), *options]
        self._process = subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        )
        self.norm = float(self._answer("norm"))

    def _answer(self, what: str) -> str:
        for line in self._process.stdout or ():
            if line.startswith(what):
                return line.split()[1]
        raise RuntimeError(f"PETSc's program ended with status {self._process.wait()}")

    def turn(self) -> float:
        """Let it have its turn; returns the seconds of one product."""
        (self._folder / str(self._turn)).touch()
        self._turn += 1
        return float(self._answer("seconds"))

    def close(self) -> None:
        """End it."""
        (self._folder / "stop").touch()
        self._process.wait(timeout=30)


def programs(folder: Path) -> tuple[Path, str] | None:
    """Compile PETSc's program and the plug-in, or say why there are none."""
    try:
        found, plugin = petsc.find(), petsc.build(folder)
    except TilewrightError as error:
        print(f"without PETSc: {error}")
        return None
    tool = shutil.which("pkg-config") or "pkg-config"
    flags = subprocess.run([tool, "--cflags", "--libs", "PETSc"], check=True, capture_output=True, text=True).stdout
    target = folder / "petsc_product"
    source = Path(__file__).with_name("petsc_product.c")
    command = [*found.compiler, "-O3", "-march=native", "-o", str(target), str(source), *flags.split(), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    return target, plugin.library


@contextlib.contextmanager
def petsc_rivals(
    built: tuple[Path, str] | None, shape: tuple[int, ...], repeats: int, cores: int, norm: float
) -> Iterator[dict[str, Callable[[], float]]]:
    """Start PETSc's programs for a case, all waiting."""
    if built is None:
        yield {}
        return
    program, library = built
    diagonals = ("-dll_append", library, "-mat_type", "seqdia")
    kinds: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "petsc aij, 1 rank": ((), ("-mat_type", "aij")),
        "petsc seqdia, 1 thread": ((), (*diagonals, "-mat_seqdia_threads", "1")),
    }
    if cores > 1:
        kinds[f"petsc aij, {cores} ranks"] = (("mpiexec", "-n", str(cores)), ("-mat_type", "aij"))
        kinds[f"petsc seqdia, {cores} threads"] = ((), (*diagonals, "-mat_seqdia_threads", str(cores)))
    started = {name: Petsc(program, command, repeats, shape, options) for name, (command, options) in kinds.items()}
    try:
        for name, each in started.items():
            if abs(each.norm - norm) > 1e-10 * norm:
                raise RuntimeError(f"{name} computes another product: norm {each.norm}, not {norm}")
        yield {name: each.turn for name, each in started.items()}
    finally:
        for each in started.values():
            each.close()


def timed(call: Callable[[], object], repeats: int) -> float:
    call()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def measure(shape: tuple[int, ...], built: tuple[Path, str] | None, rounds: int) -> Case:
    a = matrix(shape)
    x = np.sin(np.arange(a.shape[1], dtype=np.float64))
    dia, csr = a.to_scipy("dia"), a.to_scipy("csr")
    if csr.indices.dtype != np.int32:
        raise RuntimeError("SciPy's csr would be slowed down by 64-bit indices")
    out = np.empty_like(x)
    expected = csr @ x
    for threads in (1, environment.cores()):
        np.testing.assert_allclose(a.matvec(x, out, threads=threads), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dia @ x, expected, rtol=1e-12, atol=1e-12)
    cores = environment.cores()
    calls: dict[str, Callable[[], object]] = {
        "scipy dia": lambda: dia @ x,
        "scipy csr": lambda: csr @ x,
        "ours, 1 thread": lambda: a.matvec(x, out, threads=1),
    }
    if cores > 1:
        calls[f"ours, {cores} threads"] = lambda: a.matvec(x, out, threads=cores)
    repeats = max(1, int(_LEAST / timed(calls["ours, 1 thread"], 3)))
    case = Case(shape=shape)
    with petsc_rivals(built, shape, repeats, cores, float(np.linalg.norm(expected))) as theirs:
        turns = {name: (lambda call=call: timed(call, repeats)) for name, call in calls.items()} | theirs
        names = list(turns)
        for number in range(rounds):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                time.sleep(_PAUSE)
                case.samples.setdefault(name, []).append(turns[name]())
    return case


def pairs(cores: int) -> list[tuple[str, str, float]]:
    """Return who is compared with whom, and what is aimed at."""
    found = [("ours, 1 thread", "scipy dia", 1.5), ("ours, 1 thread", "scipy csr", 1.2)]
    found += [("ours, 1 thread", "petsc aij, 1 rank", 1.2), ("petsc seqdia, 1 thread", "petsc aij, 1 rank", 1.2)]
    if cores > 1:
        found += [
            (f"ours, {cores} threads", f"petsc aij, {cores} ranks", 1.2),
            (f"petsc seqdia, {cores} threads", f"petsc aij, {cores} ranks", 1.2),
        ]
    return found


def show(case: Case, cores: int) -> str:
    size = "x".join(map(str, case.shape))
    times = ", ".join(f"{name} {1e3 * statistics.median(each):.3f}" for name, each in case.samples.items())
    lines = [f"{size}, milliseconds: {times}"]
    for ours, rival, aim in pairs(cores):
        if rival in case.samples and ours in case.samples:
            ratio, low, high = case.ratio(ours, rival)
            lines.append(f"  {ours} against {rival}: {ratio:.2f}x [{low:.2f}, {high:.2f}], aim {aim}x")
    return "\n".join(lines)


def verdict(cases: Sequence[Case], cores: int) -> list[str]:
    lines = []
    for ours, rival, aim in pairs(cores):
        ratios = {"x".join(map(str, c.shape)): c.ratio(ours, rival)[0] for c in cases if rival in c.samples}
        if ratios:
            missed = [f"{size} ({ratio:.2f}x)" for size, ratio in ratios.items() if ratio < aim]
            end = f"below {aim}x: {', '.join(missed)}" if missed else f"all at least {aim}x"
            lines.append(f"{ours} against {rival}: {min(ratios.values()):.2f}x to {max(ratios.values()):.2f}x, {end}")
    return lines


def parse(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("x"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small cases, three rounds")
    parser.add_argument("--sizes", nargs="+", type=parse, help="grids, such as 1000x1000")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")
    chosen = parser.parse_args()
    cores = environment.cores()
    sizes = chosen.sizes or (QUICK if chosen.quick else SIZES)
    cases = []
    with tempfile.TemporaryDirectory(prefix="tilewright-dia-") as folder:
        built = programs(Path(folder))
        for shape in sizes:
            cases.append(measure(shape, built, 3 if chosen.quick else ROUNDS))
            print(show(cases[-1], cores), flush=True)
    found = verdict(cases, cores)
    print("\n".join(found))
    if chosen.output:
        document = {
            "environment": {**environment.describe(cores), "petsc": petsc.find().version if built else None},
            "rounds": ROUNDS,
            "cases": [{"shape": case.shape, "seconds": case.samples} for case in cases],
            "verdict": found,
        }
        chosen.output.write_text(json.dumps(document, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
