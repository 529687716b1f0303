"""Krylov kernels tuned on this machine, alone, fused, and as whole iterations; figures 6 to 8 of the OrCuda paper.

python benchmarks/experiments/krylov.py [--quick] [--part PART] [--output DIR]

The paper tunes the kernels of its table II for two GPUs and compares them with cuBLAS, cuSPARSE and hand-written code.
Here they are tuned for this machine's CPU and compared with BLAS (as SciPy calls it, in the fastest composition of its
routines that does the same) and NumPy, and SciPy's sparse formats for the matrix-vector product; then, beyond the
paper, fused compositions, a whole conjugate-gradient iteration, and the residual of the Bratu problem (SNES example 5)
with Newton's method around it.

Every library has a process of its own, with OpenMP's threads bound to cores (OMP_PROC_BIND), and they take turns: in
one process, or unbound, two pools of threads push each other onto the same core. A ratio is the median of the rounds'
ratios.
"""

import argparse
import csv
import ctypes
import functools
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.sparse.linalg import cg as scipy_cg

import tilewright as tw
from tilewright.runtime.host import thread_count
from tilewright.sparse import krylov
from tilewright.sparse.bratu import Bratu
from tilewright.sparse.solve import Iteration

Call = Callable[[], Any]
LENGTHS = (10**5, 10**6, 10**7)
GRIDS = ((64, 64), (128, 128), (256, 256), (512, 512), (1024, 1024), (32,) * 3, (64,) * 3, (128,) * 3)
WHOLE = ((512, 512), (1500, 1500), (100, 100, 100))
TERMS = 8
_ROUNDS = 5
_LEAST = 0.03
_WARM = 0.03
"""Seconds that a turn lasts at least, and seconds of warming up before."""
_PAUSE = 0.05
CORES = os.sched_getaffinity(0)
_RESTART = 100
"""Iterations after which conjugate gradients start anew."""
NAIVE = """
#include <math.h>
void residual(const double *restrict u, double *restrict f, long rows, long columns, double east, double north,
              double source) {
#pragma omp parallel for
  for (long j = 0; j < rows; ++j)
    for (long i = 0; i < columns; ++i) {
      const long k = j * columns + i;
      if (i == 0 || j == 0 || i == columns - 1 || j == rows - 1) { f[k] = 2 * (east + north) * u[k]; continue; }
      const double w = i == 1 ? 0 : u[k - 1], e = i == columns - 2 ? 0 : u[k + 1];
      const double n = j == 1 ? 0 : u[k - columns], s = j == rows - 2 ? 0 : u[k + columns];
      f[k] = (2 * u[k] - w - e) * east + (2 * u[k] - n - s) * north - source * exp(u[k]);
    }
}
"""
"""The example's loop in C."""
FLAGS = (("-O3", "-march=native", "-fopenmp"), ("-O3", "-march=native", "-ffast-math", "-fopenmp"))


@dataclass
class Case:
    """What one operation took everyone, in seconds; ``rivals`` says who stands for the library."""

    part: str
    name: str
    size: str
    rivals: tuple[str, ...]
    samples: dict[str, list[float]] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The fastest rival."""
        return min(self.rivals, key=lambda name: statistics.median(self.samples[name]))

    def ratio(self, label: str = "tuned") -> float:
        """Return the best rival's time over ours."""
        return statistics.median(b / a for a, b in zip(self.samples[label], self.samples[self.best], strict=True))


def timed(call: Call, repeats: int) -> float:
    """Return the seconds of one call, once cores have woken up and threads found them."""
    end = time.perf_counter() + _WARM
    while time.perf_counter() < end:
        call()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


Table = dict[str, dict[str, Call]]
"""Per operation, everyone's way to do it; a label's first word says in which process."""


def group(label: str) -> str:
    """Return the process that a contender lives in."""
    return label.replace(",", " ").split()[0]


def serve(pipe: Connection, setup: Callable[..., Table], size: Any, mine: str) -> None:  # noqa: ANN401
    """Take turns: the operation, the label and the repetitions come in, the seconds of one go out."""
    table = setup(size)
    pipe.send({name: list(calls) for name, calls in table.items()})
    while (asked := pipe.recv()) is not None:
        name, label, repeats = asked
        call = table[name][label]
        if repeats == 0:  # how often does it go into one turn?
            repeats = max(1, int(_LEAST / max(min(timed(call, 3) for _ in range(2)), 1e-7)))
            pipe.send(repeats)
        else:
            pipe.send(timed(call, repeats))
    del mine


def contest(part: str, setup: Callable[..., Table], size: Any, rounds: int) -> list[Case]:  # noqa: ANN401
    """Let everyone take turns at every operation of a table."""
    # Tuning has bound this thread to a core; its children shall have them all.
    os.sched_setaffinity(0, CORES)
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    processes = []
    labels: dict[str, list[str]] = {}
    for name in GROUPS[part]:
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, setup, size, name), daemon=True)
        process.start()
        processes.append(process)
        pipes[name] = here
        labels = here.recv()
    cases = []
    for name, every in labels.items():
        kind = "fused" if " + " in name and part == "vectors" else part
        rivals = tuple(label for label in every if group(label) != "tuned")
        case = Case(kind, name, size_of(size), rivals)
        counts = {}
        for label in every:
            pipes[group(label)].send((name, label, 0))
            counts[label] = pipes[group(label)].recv()
        for number in range(rounds):
            for label in every[number % len(every) :] + every[: number % len(every)]:
                time.sleep(_PAUSE)
                pipes[group(label)].send((name, label, counts[label]))
                case.samples.setdefault(label, []).append(pipes[group(label)].recv())
        times = ", ".join(f"{label} {1e6 * statistics.median(each):.1f}" for label, each in case.samples.items())
        print(f"{name} {case.size}: {times} us; {case.ratio():.2f}x the speed of {case.best}", flush=True)
        cases.append(case)
    for pipe, process in zip(pipes.values(), processes, strict=True):
        pipe.send(None)
        process.join(30)
    return cases


def vector_table(length: int) -> Table:
    """Table II's vector operations and fused compositions."""
    rng = np.random.default_rng(0)
    x, y, w = (rng.standard_normal(length) for _ in range(3))
    many = np.asfortranarray(rng.standard_normal((length, TERMS)))
    columns = [many[:, k] for k in range(TERMS)]
    factors = rng.uniform(-1e-6, 1e-6, TERMS)
    a = 1e-6

    def waxpy_blas() -> None:
        blas.dcopy(y, w)
        blas.daxpy(x, w, a=a)

    def waxpy_numpy() -> None:
        np.multiply(x, a, out=w)
        np.add(w, y, out=w)

    def maxpy_blas() -> None:
        for factor, column in zip(factors, columns, strict=True):
            blas.daxpy(column, y, a=factor)

    def maxpy_gemv() -> None:
        blas.dgemv(1.0, many, factors, beta=1.0, y=y, overwrite_y=True)

    def axpy_numpy() -> None:
        np.multiply(x, a, out=w)
        np.add(y, w, out=y)

    return {
        "vecAXPY": {
            "tuned": lambda: krylov.axpy(a, x, y),
            "blas": lambda: blas.daxpy(x, y, a=a),
            "numpy": axpy_numpy,
        },
        "vecMAXPY": {
            "tuned": lambda: krylov.maxpy(factors, columns, y),
            "blas": maxpy_blas,
            "blas gemv": maxpy_gemv,
        },
        "vecDot": {"tuned": lambda: krylov.dot(x, y), "blas": lambda: blas.ddot(x, y), "numpy": lambda: x @ y},
        "vecNorm2": {
            "tuned": lambda: krylov.norm(x),
            "blas": lambda: blas.dnrm2(x),
            "blas dot": lambda: blas.ddot(x, x),
            "numpy": lambda: np.linalg.norm(x),
        },
        "vecScale": {
            "tuned": lambda: krylov.scale(1.0000001, w),
            "blas": lambda: blas.dscal(1.0000001, w),
            "numpy": lambda: np.multiply(w, 1.0000001, out=w),
        },
        "vecWAXPY": {"tuned": lambda: krylov.waxpy(a, x, y, w), "blas": waxpy_blas, "numpy": waxpy_numpy},
        "dot + norm": {
            "tuned": lambda: krylov.dot_norm(x, y),
            "tuned, not fused": lambda: (krylov.dot(x, y), krylov.norm(x)),
            "blas": lambda: (blas.ddot(x, y), blas.dnrm2(x)),
            "blas dot": lambda: (blas.ddot(x, y), blas.ddot(x, x)),
            "numpy": lambda: (x @ y, np.linalg.norm(x)),
        },
        "AXPY + norm": {
            "tuned": lambda: krylov.axpy_norm(a, x, y),
            "tuned, not fused": lambda: (krylov.axpy(a, x, y), krylov.norm(y)),
            "blas": lambda: (blas.daxpy(x, y, a=a), blas.dnrm2(y)),
            "blas dot": lambda: (blas.daxpy(x, y, a=a), blas.ddot(y, y)),
        },
    }


def tune_vectors(length: int) -> None:
    """Tune every vector kernel for a length; what is found is kept for the contest's processes."""
    kernels = ("axpy", krylov.multiple(TERMS), "dot", "norm2", "scale", "waxpy", "dot_norm2", "axpy_norm2")
    for what in (*kernels, "cg_update", "aypx"):
        trial = krylov.tune(what, length)
        print(f"tuned {trial.kernel} for {length}: {trial.choice}", flush=True)


def laplacian(shape: tuple[int, ...]) -> tw.sparse.Dia:
    centre = (0,) * len(shape)
    sides = [tuple(d if a == axis else 0 for a in range(len(shape))) for axis in range(len(shape)) for d in (-1, 1)]

    def body(u: Any) -> Any:  # noqa: ANN401
        return 2 * len(shape) * u[centre] - sum((u[side] for side in sides[1:]), start=u[sides[0]])

    return tw.sparse.from_stencil(tw.stencil(body), shape)


def size_of(size: int | tuple[int, ...]) -> str:
    return f"{size:.0e}".replace("+0", "") if isinstance(size, int) else "x".join(map(str, size))


def matrix_table(shape: tuple[int, ...]) -> Table:
    """MatVec beside SciPy's formats, on one thread, which is all that they use, and on all."""
    a = laplacian(shape)
    x = np.random.default_rng(1).standard_normal(a.shape[1])
    out = np.empty_like(x)
    dia, csr = a.to_scipy("dia"), a.to_scipy("csr")
    return {
        "matVec": {
            "tuned": lambda: a.matvec(x, out),
            "tuned, 1 thread": lambda: a.matvec(x, out, threads=1),
            "scipy dia": lambda: dia @ x,
            "scipy csr": lambda: csr @ x,
        }
    }


def iteration_table(shape: tuple[int, ...]) -> Table:
    """One iteration of conjugate gradients: fused, of tuned kernels one by one, and of the libraries'."""
    a = laplacian(shape)
    csr = a.to_scipy("csr")
    b = a @ np.random.default_rng(2).standard_normal(a.shape[0])
    x, r, p, q = np.zeros_like(b), b.copy(), b.copy(), np.empty_like(b)
    state = Iteration(a, np.zeros_like(b), b.copy())
    done = dict.fromkeys(("fused", "separate", "library"), 0)

    def again(who: str) -> bool:
        """Whether to start anew: once it has converged, the method computes with subnormal numbers, which is slow."""
        done[who] += 1
        return done[who] % _RESTART == 0

    def restart() -> None:
        x[:] = 0
        r[:] = b
        p[:] = b

    def fused() -> None:
        nonlocal state
        if again("fused"):
            state = Iteration(a, np.zeros_like(b), b.copy())
        state.step()

    def separate() -> None:
        if again("separate"):
            restart()
        a.matvec(p, q)
        square = krylov.dot(r, r)
        step = square / krylov.dot(p, q)
        krylov.axpy(step, p, x)
        krylov.axpy(-step, q, r)
        krylov.aypx(krylov.dot(r, r) / square, r, p)

    def library(product: Callable[[Any], Any]) -> None:
        nonlocal q
        if again("library"):
            restart()
        q = product(p)
        square = blas.ddot(r, r)
        step = square / blas.ddot(p, q)
        blas.daxpy(p, x, a=step)
        blas.daxpy(q, r, a=-step)
        blas.dscal(blas.ddot(r, r) / square, p)
        blas.daxpy(r, p)

    return {
        "CG iteration": {
            "tuned": fused,
            "tuned, not fused": separate,
            "blas + scipy csr": functools.partial(library, lambda v: csr @ v),
            "blas + our matVec": functools.partial(library, lambda v: a.matvec(v, q)),
        }
    }


def naive(folder: str) -> dict[str, Callable[..., None]]:
    """Compile the example's loop with two sets of flags."""
    source = Path(folder) / "residual.c"
    source.write_text(NAIVE)
    found = {}
    for number, flags in enumerate(FLAGS):
        target = Path(folder) / f"residual{number}.so"
        subprocess.run(["cc", *flags, "-fPIC", "-shared", "-o", str(target), str(source), "-lm"], check=True)
        function = ctypes.CDLL(str(target)).residual
        function.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long] * 2 + [ctypes.c_double] * 3
        found[f"C {' '.join(flags[:-1])}"] = function
    return found


def residual_table(shape: tuple[int, int]) -> Table:
    """FormFunction beside the example's own loop and NumPy."""
    problem = Bratu(shape=shape)
    u, out = problem.start(), np.empty(shape)
    calls: dict[str, Call] = {"tuned": lambda: problem.function(u, out), "numpy": lambda: problem.reference(u)}
    with tempfile.TemporaryDirectory() as folder:
        for name, function in naive(folder).items():
            arguments = (u.ctypes.data, out.ctypes.data, *shape, *problem.weights)
            function(*arguments)
            np.testing.assert_allclose(out, problem.reference(u), rtol=1e-9, atol=1e-12)
            calls[name] = functools.partial(function, *arguments)
    return {"FormFunction": calls}


def newton_table(shape: tuple[int, int]) -> Table:
    """The whole solution: ours, and NumPy's residual around SciPy's conjugate gradients with csr."""
    problem = Bratu(shape=shape)

    def theirs() -> None:
        u = problem.start()
        residual = problem.reference(u)
        first = np.linalg.norm(residual)
        while np.linalg.norm(residual) > 1e-8 * first:
            csr = problem.jacobian(u).to_scipy("csr")
            step, _ = scipy_cg(csr, residual.ravel(), rtol=1e-5)
            u -= step.reshape(shape)
            residual = problem.reference(u)

    return {"Newton and CG": {"tuned": problem.solve, "scipy": theirs}}


GROUPS = {
    "vectors": ("tuned", "blas", "numpy"),
    "matrices": ("tuned", "scipy"),
    "iterations": ("tuned", "blas"),
    "functions": ("tuned", "numpy", "C"),
    "solution": ("tuned", "scipy"),
}
PLAN: dict[str, list[tuple[Callable[..., Table], Any]]] = {
    "vectors": [(vector_table, length) for length in LENGTHS],
    "matrices": [(matrix_table, shape) for shape in GRIDS],
    "iterations": [(iteration_table, shape) for shape in WHOLE],
    "functions": [(residual_table, (n, n)) for n in (512, 3000)],
    "solution": [(newton_table, (256, 256))],
}
QUICK: dict[str, list[tuple[Callable[..., Table], Any]]] = {
    "vectors": [(vector_table, LENGTHS[0])],
    "matrices": [(matrix_table, (64, 64)), (matrix_table, (32, 32, 32))],
    "iterations": [(iteration_table, (200, 200))],
    "functions": [(residual_table, (256, 256))],
    "solution": [(newton_table, (64, 64))],
}


def verdict(cases: Sequence[Case]) -> str:
    """One paragraph beside the published claim."""
    groups = {"vectors": "table II's vector operations", "matrices": "matrix-vector products", "fused": "fused pairs"}
    groups |= {
        "iterations": "conjugate-gradient iterations",
        "functions": "FormFunction of the Bratu problem",
        "solution": "its whole solution by Newton's method",
    }
    lines = [
        (
            "Published (figures 6 to 8): tuned kernels beat the library in all reductions, in all vector operations "
            "but vecMAXPY on the device without caches, and in matrix-vector products on the device with caches."
        ),
        "",
    ]
    for part, title in groups.items():
        mine = [case for case in cases if case.part == part]
        if mine:
            ratios = {f"{case.name} {case.size}": case.ratio() for case in mine}
            losses = [f"{name} ({ratio:.2f}x)" for name, ratio in ratios.items() if ratio < 0.95]
            ties = sum(0.95 <= ratio < 1.05 for ratio in ratios.values())
            wins = len(ratios) - len(losses) - ties
            lines.append(
                f"Here, {title}: {wins} of {len(ratios)} faster than the fastest rival by more than 5 %, {ties} ties, "
                f"lost: {', '.join(losses) or 'none'}; from {min(ratios.values()):.2f}x to {max(ratios.values()):.2f}x."
            )
    lines += [
        "",
        (
            f"{thread_count()} threads, bound to cores, float64, CPU. There is no GPU in this run: cuBLAS and cuSPARSE "
            "are not compared."
        ),
    ]
    return "\n".join(lines)


def merged(cases: Sequence[Case], folder: Path) -> list[Case]:
    """Record every round of these cases, with the machine; return them with all others that are on record."""
    sys.path.append(str(Path(__file__).parents[1]))
    from environment import describe

    path = folder / "krylov.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    here = describe(thread_count())
    for case in cases:
        record[f"{case.part}: {case.name} {case.size}"] = {"environment": here, **asdict(case)}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    names = [each.name for each in fields(Case)]
    found = [Case(**{name: each[name] for name in names}) for each in record.values()]
    order = ["vectors", "fused", *list(GROUPS)[1:]]
    return sorted(found, key=lambda case: (order.index(case.part), [float(each) for each in case.size.split("x")]))


def write(cases: Sequence[Case], folder: Path) -> None:
    with (folder / "krylov.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("part", "name", "size", "contender", "median_seconds", "least_seconds", "rivals_over_tuned"))
        for case in cases:
            for label, samples in case.samples.items():
                ratio = case.ratio() if label == "tuned" else ""
                writer.writerow(
                    (case.part, case.name, case.size, label, statistics.median(samples), min(samples), ratio)
                )


def draw(cases: Sequence[Case], path: Path) -> None:
    """Draw everyone's time over the fastest rival's, as in the paper: below 1 is faster."""
    from matplotlib import pyplot as plt

    shown = list(dict.fromkeys(case.part for case in cases))
    figure, axes = plt.subplots(len(shown), 1, figsize=(11, 3.1 * len(shown)), squeeze=False)
    for ax, part in zip(axes[:, 0], shown, strict=True):
        mine = [case for case in cases if case.part == part]
        labels = list(dict.fromkeys(label for case in mine for label in case.samples))
        width = 0.85 / len(labels)
        for number, label in enumerate(labels):
            there = [(i, case) for i, case in enumerate(mine) if label in case.samples]
            heights = [statistics.median(c.samples[label]) / statistics.median(c.samples[c.best]) for _, c in there]
            ax.bar([i + number * width for i, _ in there], [min(h, 3.0) for h in heights], width, label=label)
        ax.axhline(1, color="black", linewidth=0.8)
        names = [f"{case.name}\n{case.size}" for case in mine]
        ax.set_xticks([i + 0.4 for i in range(len(mine))], names, rotation=45 if len(mine) > 12 else 0, fontsize=7)
        ax.set(ylabel="time over the\nfastest rival's", ylim=(0, 3.05), title=part)
        ax.legend(fontsize=7, ncols=4)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small size of everything, three rounds")
    parser.add_argument(
        "--part", choices=tuple(GROUPS), action="append", help="only this, the others stay on record; repeat it"
    )
    parser.add_argument("--only", metavar="SIZE", action="append", help="only this size, such as 1e5; repeat it")
    parser.add_argument("--output", type=Path, default=Path("results/krylov"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    # Before any thread starts: the contest's processes inherit it. A bound thread's affinity is one core, which would
    # be taken for all that there are.
    os.environ |= {"TILEWRIGHT_THREADS": str(thread_count()), "OMP_PROC_BIND": "true"}
    parts = chosen.part or tuple(GROUPS)
    rounds = 3 if chosen.quick else _ROUNDS
    cases: list[Case] = []
    for part in parts:
        for setup, size in (QUICK if chosen.quick else PLAN)[part]:
            if chosen.only and size_of(size) not in chosen.only:
                continue
            if part == "vectors":
                tune_vectors(size)
            elif setup is residual_table:
                Bratu(shape=size).tune()
            cases += contest(part, setup, size, 3 if setup is newton_table else rounds)
    if not chosen.quick:
        cases = merged(cases, chosen.output)
    write(cases, chosen.output)
    draw(cases, chosen.output / "krylov.png")
    text = verdict(cases)
    (chosen.output / "verdict.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
