"""Who is compared by ``krylov.py``, and how each does every operation: ours, BLAS, NumPy, SciPy and plain C."""

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.sparse.linalg import cg as scipy_cg

import tilewright as tw
from bratu import Bratu
from tilewright.sparse import krylov
from tilewright.sparse.solve import Iteration

Call = Callable[[], Any]
Table = dict[str, dict[str, Call]]
"""Per operation, everyone's way to do it; a label's first word says in which process."""
TERMS = 8
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


def vector_table(length: int) -> Table:
    """Table II's vector operations and fused compositions."""
    rng = np.random.default_rng(0)
    x, y, w = (rng.standard_normal(length) for _ in range(3))
    many = np.asfortranarray(rng.standard_normal((length, TERMS)))
    columns = [many[:, k] for k in range(TERMS)]
    factors = rng.uniform(-1e-6, 1e-6, TERMS).tolist()
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
