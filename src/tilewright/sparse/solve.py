"""The conjugate-gradient method with its iteration fused into two passes over memory.

The iteration runs on the residual over a power of two, which changes no digit, so that squares of small and of large
numbers stay in the range of their type; norms are scaled likewise.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.dtypes import real_numbers
from tilewright.base.errors import ArrayError, UsageError
from tilewright.runtime.call import addresses, compiled, packed, scratch
from tilewright.runtime.memory import Array
from tilewright.sparse.dia import Dia, threads_for, unrolling
from tilewright.sparse.krylov import axpy, dot, norm, root_of, smallest
from tilewright.sparse.lower.cg import emit_cg
from tilewright.tuning.spaces.cpu_schedule import CG_BLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Where a solver ended."""

    x: Array
    iterations: int
    # norm of the residual, as the method carries it along; infinite or not a number where the right-hand side, the
    # matrix or the solution is
    residual: float
    converged: bool  # whether it is finite and fell to the tolerance
    history: tuple[float, ...]  # the residual's norm before the first and after every iteration


class Iteration:
    """The state of the method; every call of :meth:`step` is one iteration."""

    def __init__(self, matrix: Dia, x: Array, residual: Array, threads: int | None = None) -> None:
        """Start from a solution and its residual b - A x, A being positive definite; both are changed in place."""
        self._kernel = compiled(emit_cg, str(matrix.dtype), unrolling(), CG_BLOCK)[0]
        n, item = matrix.shape[0], matrix.dtype.itemsize
        self.x, self.residual = x, residual
        self._matrix = matrix
        # Distances that are no multiple of a page, so that equal elements of the vectors do not share a cache's set.
        stride = -(-n * item // 4096) * 4096 + 576
        block = scratch(3 * stride)
        self._p = [np.ndarray((n,), matrix.dtype, block, k * stride) for k in (0, 1)]
        self._q = np.ndarray((n,), matrix.dtype, block, 2 * stride)
        self._p[1][:] = residual
        self._table = addresses(matrix.diagonals)
        self._offsets = np.array(matrix.offsets, dtype=np.int64)
        moved = (matrix.size + 8 * n) * item
        count = threads_for(moved, threads, self._kernel)
        reach = max(map(abs, matrix.offsets), default=0)
        self._sizes = [n, len(matrix.offsets), count, reach, 1]
        self._work = np.zeros(5 + -(-n // CG_BLOCK))
        self._work[4] = dot(residual, residual)

    def step(self) -> float:
        """Iterate once, return the squared residual; the solution lags one direction behind until :meth:`finish`."""
        before = float(self._work[4])
        arrays = (self.x, self.residual, *self._p, self._q, self._offsets, self._table)
        self._kernel(arrays, self._sizes, self._work)
        after = float(self._work[4])
        self._work[0] = self._work[3]
        self._work[1] = after / before if before else 0.0
        self._p.reverse()
        self._sizes[4] = 0
        return after

    def finish(self) -> Array:
        """Add the last direction to the solution, which is returned."""
        if not self._sizes[4]:
            axpy(float(self._work[0]), self._p[0], self.x)
            self._work[0] = 0.0
        return self.x


@checked
def cg(  # noqa: PLR0913  (SciPy's options)
    matrix: Dia,
    b: Any,  # noqa: ANN401
    x0: Any = None,  # noqa: ANN401
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    threads: int | None = None,
) -> Solution:
    """Solve A x = b for a symmetric positive definite matrix of diagonals; the options are SciPy's.

    Args:
        matrix: The matrix; it is the caller's word that it is symmetric and positive definite.
        b: Right-hand side.
        x0: First guess; zeros by default.
        rtol: Tolerance of the residual's norm, relative to that of b.
        atol: Absolute tolerance; the larger of the two counts.
        maxiter: Iterations at most; ten per unknown by default.
        threads: Threads to use.

    Returns:
        The solution and how it came about.

    Raises:
        ArrayError: If the shapes do not fit.
        UsageError: If a tolerance is negative.
        ToolchainError: If there is no C compiler, or it fails.

    Examples:
        >>> a = Dia.from_diagonals({-1: -1.0, 0: 2.0, 1: -1.0}, (50, 50))
        >>> cg(a, a @ np.arange(50.0), rtol=1e-10).x.round(6)[1:4].tolist()
        [1.0, 2.0, 3.0]
    """
    n = matrix.shape[0]
    right = packed(real_numbers(b, "b"), matrix.dtype)
    if matrix.shape != (n, n) or right.shape != (n,):
        raise ArrayError(f"a matrix of shape {matrix.shape} does not go with a right-hand side of {right.shape}")
    if not (rtol >= 0 and atol >= 0):
        raise UsageError(f"tolerances are at least 0, got rtol={rtol} and atol={atol}")
    start = np.zeros(n, matrix.dtype) if x0 is None else real_numbers(x0, "x0").astype(matrix.dtype)
    if start.shape != (n,):
        raise ArrayError(f"a first guess has {n} elements, got an array of shape {start.shape}")
    residual = right - matrix.matvec(start, threads=threads)
    limit = max(rtol * norm(right), atol)
    history = [norm(residual)]
    exponent = math.frexp(history[0])[1] - 1 if 0 < history[0] < math.inf else 0
    state = Iteration(matrix, np.zeros_like(start), np.ldexp(residual, -exponent, out=residual), threads)
    most = 10 * n if maxiter is None else maxiter
    square, least = 1.0, smallest(start.dtype)  # below it squares lose digits, and so would the next direction
    while limit < history[-1] < math.inf and square > least and len(history) <= most:
        square = state.step()
        history.append(root_of(square, state.residual) * 2.0**exponent)
    with np.errstate(all="ignore"):
        x = start + np.ldexp(state.finish(), exponent)
        if not least < norm(x) < math.inf:  # what the method carries along may not be that of such an x
            history[-1] = norm(right - matrix.matvec(x, threads=threads))
    return Solution(
        x=x,
        iterations=len(history) - 1,
        residual=history[-1],
        converged=history[-1] <= limit and history[-1] < math.inf,
        history=tuple(history),
    )
