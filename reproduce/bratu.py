"""The Bratu problem of PETSc's SNES example 5, end to end: residual, Jacobian, and Newton's method around fused CG."""

import functools
import math
import os
import statistics
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bratu_kernel import emit_bratu
from tilewright.base.errors import ArrayError, UsageError, WrongResultError
from tilewright.base.fingerprint import fingerprint
from tilewright.runtime.call import compiled, overlap
from tilewright.runtime.host import THREAD_VARIABLES, describe_cpu, thread_count
from tilewright.sparse.choices import REGISTERS, KeptChoices, KernelChoice, keep, known, learned
from tilewright.sparse.dia import DTYPES, Dia, room
from tilewright.sparse.krylov import interleaved, norm
from tilewright.sparse.solve import cg

Array = npt.NDArray[Any]


@functools.lru_cache(maxsize=64)
def _choose(dtype: str, cells: int, _known: KeptChoices, *_environment: str | None) -> KernelChoice:
    """Return what tuning found, else a reasonable way; what may change the answer is among the arguments."""
    threads = thread_count()
    moved = 3 * cells * np.dtype(dtype).itemsize
    return learned(_IDENTITY, dtype, cells, threads) or KernelChoice(
        vectors=2,
        threads=threads if cells >= 2**13 else 1,
        stream=moved > threads * describe_cpu().l2_bytes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Newton:
    """Where Newton's method ended.

    Attributes:
        u: The solution.
        norms: The residual's norm before the first and after every step.
        iterations: Iterations of the linear solver per step.
        converged: Whether the norm fell as far as asked.
    """

    u: Array
    norms: tuple[float, ...]
    iterations: tuple[int, ...]
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bratu:
    """-laplace(u) = lambda exp(u) on the unit square, u = 0 on its boundary, by the five-point formula.

    Attributes:
        shape: Points of the grid, boundary included.
        parameter: lambda, 0 to 6.81 (beyond, there is no solution).
        dtype: ``float32`` or ``float64``.
    """

    shape: tuple[int, int]
    parameter: float = 6.0
    dtype: str = "float64"
    _zeros: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.shape) != 2 or min(self.shape) < 2:
            raise UsageError(f"a grid has at least 2 x 2 points, got {self.shape}")
        if self.dtype not in DTYPES:
            raise UsageError(f"the Bratu problem is solved in {' or '.join(DTYPES)}, got {self.dtype!r}")
        object.__setattr__(self, "_zeros", np.zeros(self.shape[1], self.dtype))

    @property
    def weights(self) -> tuple[float, float, float]:
        """hy/hx, hx/hy and hx hy lambda."""
        hy, hx = (1.0 / (extent - 1) for extent in self.shape)
        return hy / hx, hx / hy, hx * hy * self.parameter

    def start(self) -> Array:
        """Return the example's first guess."""
        rows, columns = (np.arange(extent) for extent in self.shape)
        away = np.minimum.outer(
            np.minimum(rows, rows[::-1]) / (self.shape[0] - 1), np.minimum(columns, columns[::-1]) / (self.shape[1] - 1)
        )
        return (self.parameter / (self.parameter + 1.0) * np.sqrt(away)).astype(self.dtype)

    def function(self, u: Array, out: Array | None = None, choice: KernelChoice | None = None) -> Array:
        """Return the residual at ``u``: the example's FormFunction.

        Raises:
            ArrayError: If ``u`` or ``out`` is no contiguous array of the grid's shape and type.
            ToolchainError: If there is no C compiler, or it fails.
        """
        target = np.empty(self.shape, self.dtype) if out is None else out
        self._call(u, target, choice, diagonal=False)
        return target

    def _call(self, u: Array, target: Array, choice: KernelChoice | None, *, diagonal: bool) -> None:
        for name, each in (("u", u), ("out", target)):
            fits = isinstance(each, np.ndarray) and each.size == math.prod(self.shape) and each.dtype == self.dtype
            if not fits or not each.flags.c_contiguous or (name == "u" and each.shape != self.shape):
                raise ArrayError(f"{name} must be a contiguous array of shape {self.shape} of {self.dtype}")
        if overlap([target], [u]):
            raise ArrayError("out overlaps u", "give it memory of its own")
        chosen = choice or self._chosen()
        (kernel,) = compiled(emit_bratu, self.dtype, chosen.vectors)
        size = (*self.shape, kernel.team(chosen.threads), chosen.stream, diagonal)
        kernel((u, target, self._zeros), size, values=np.array(self.weights))

    def _chosen(self) -> KernelChoice:
        return _choose(self.dtype, math.prod(self.shape), known(), *map(os.environ.get, THREAD_VARIABLES))

    def jacobian(self, u: Array, into: Dia | None = None) -> Dia:
        """Return the Jacobian at ``u``: the example's FormJacobian.

        Args:
            u: Where.
            into: A matrix that this method returned, to be changed; only its main diagonal depends on ``u``.
        """
        matrix = self._constant() if into is None else into
        self._call(u, matrix.diagonal(0), None, diagonal=True)
        return matrix

    def _constant(self) -> Dia:
        """The couplings, which are the same at every ``u``: none with the boundary."""
        rows, columns = self.shape
        size = rows * columns
        offsets = tuple(sorted({-columns, -1, 0, 1, columns}))
        matrix = Dia(shape=(size, size), offsets=offsets, diagonals=room((size, size), offsets, self.dtype))
        east, north, _ = self.weights
        inside = np.zeros(self.shape, dtype=bool)
        inside[1:-1, 1:-1] = True
        flat = inside.ravel()
        for distance, weight in ((1, east), (columns, north)):
            both = np.where(flat[:-distance] & flat[distance:], -weight, 0.0)
            matrix.diagonal(distance)[:] = both
            matrix.diagonal(-distance)[:] = both
        return matrix

    def solve(self, u: Array | None = None, *, rtol: float = 1e-8, linear_rtol: float = 1e-5, most: int = 50) -> Newton:
        """Solve by Newton's method, the linear systems by fused conjugate gradients without preconditioning.

        Args:
            u: First guess; the example's by default.
            rtol: How far the residual's norm must fall.
            linear_rtol: How far that of the linear systems must fall, PETSc's default.
            most: Steps at most.
        """
        state = self.start() if u is None else u.copy()
        residual = self.function(state)
        norms, iterations = [norm(residual.ravel())], []
        matrix: Dia | None = None
        while len(norms) <= most and norms[-1] > rtol * norms[0]:
            matrix = self.jacobian(state, matrix)
            step = cg(matrix, residual.ravel(), rtol=linear_rtol)
            state -= step.x.reshape(self.shape)
            self.function(state, residual)
            norms.append(norm(residual.ravel()))
            iterations.append(step.iterations)
            if not math.isfinite(norms[-1]):
                break
        return Newton(u=state, norms=tuple(norms), iterations=tuple(iterations), converged=norms[-1] <= rtol * norms[0])

    def reference(self, u: Array) -> Array:
        """Return the residual, computed with NumPy in double precision."""
        east, north, source = self.weights
        inner = u.astype(np.float64)
        result = 2 * (east + north) * inner
        around = inner.copy()
        around[[0, -1], :] = 0
        around[:, [0, -1]] = 0
        centre = inner[1:-1, 1:-1]
        result[1:-1, 1:-1] = (
            (2 * centre - around[1:-1, :-2] - around[1:-1, 2:]) * east
            + (2 * centre - around[:-2, 1:-1] - around[2:, 1:-1]) * north
            - source * np.exp(centre)
        )
        return result

    def tune(self) -> tuple[tuple[KernelChoice, float], ...]:
        """Measure every variant of the residual on this grid, check it, and keep the fastest for later.

        Returns:
            Every variant with its median in seconds.

        Raises:
            WrongResultError: If a variant is wrong beyond rounding.
        """
        u, out = self.start(), np.empty(self.shape, self.dtype)
        every = tuple(
            KernelChoice(vectors=vectors, threads=threads, stream=stream)
            for threads in dict.fromkeys((thread_count(), 1))
            for vectors in REGISTERS
            for stream in (False, True)
        )
        expected = self.reference(u)
        east, north, source = self.weights
        bound = 16 * float(np.finfo(self.dtype).eps) * (4 * (east + north) * float(np.abs(u).max()) + source * 10)
        for choice in every:
            if not np.abs(self.function(u, out, choice) - expected).max() <= bound:
                raise WrongResultError(f"variant {choice} of the Bratu residual is wrong")
        samples = interleaved([functools.partial(self.function, u, out, choice) for choice in every])
        medians = [statistics.median(each) for each in samples]
        best = min(range(len(every)), key=lambda i: medians[i])
        keep(_IDENTITY, self.dtype, math.prod(self.shape), every[best], medians[best])
        return tuple(zip(every, medians, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Identity:
    """What its choices are kept under."""

    name: str
    version: str


_IDENTITY = _Identity(name="bratu", version=fingerprint(1))
