"""The vector operations of Krylov methods, alone and fused, tuned for this machine.

Every function works on contiguous vectors of float32 or float64 in place and returns what it computes. Results do not
depend on the number of threads. ``tune`` measures the variants of a kernel on this machine; its choices are used from
then on, by later processes too.
"""

import ctypes
import functools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, UsageError, WrongResultError
from tilewright.codegen.vectors import BLOCK, CATALOGUE, VectorKernel, emit_vectors, fuse, kernel, multiple
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.fused import compile_text
from tilewright.runtime.host import describe_cpu, thread_count
from tilewright.sparse.choices import Choice, assumed, keep, learned, variants
from tilewright.sparse.matvec import DTYPES

__all__ = [
    "CATALOGUE", "Trial", "apply", "axpy", "axpy_norm", "aypx", "dot", "dot_norm", "fuse", "kernel", "maxpy",
    "multiple", "norm", "scale", "tune", "waxpy",
]  # fmt: skip

Array = npt.NDArray[Any]
_ROUNDS = 9
_SECONDS = 2e-3
"""Seconds that one sample lasts at least."""


@functools.lru_cache(maxsize=256)
def compiled(what: VectorKernel, dtype: str, vectors: int) -> CompiledKernel:
    """Return a kernel, compiled.

    Raises:
        ToolchainError: If there is no C compiler, or it fails.
    """
    source = emit_vectors(what, dtype, describe_cpu().simd_bits // 8, vectors)
    return compile_text(source.text, source.entry, dtype)


def apply(
    what: VectorKernel | str, *vectors: Array, scalars: Sequence[float] = (), choice: Choice | None = None
) -> tuple[float, ...]:
    """Run a kernel: vectors that it assigns are changed in place.

    Args:
        what: A kernel of :data:`CATALOGUE` by name, or one made by ``kernel``, ``multiple`` or ``fuse``.
        vectors: Its vectors, in order: contiguous, of one length and type, no two overlapping if one is written.
        scalars: Its scalars, in order.
        choice: How to run it; by default what tuning found, else a reasonable one.

    Returns:
        Its sums.

    Raises:
        UsageError: If there is no such kernel, or the number of arguments is wrong.
        ArrayError: If a vector does not fit.
        ToolchainError: If there is no C compiler, or it fails.
    """
    what = _named(what)
    length, dtype = _check(what, vectors, scalars)
    chosen = choice or _choose(what, dtype, length)
    ready = compiled(what, dtype, chosen.vectors)
    work = np.empty(max(1, what.sums * max(1, -(-length // BLOCK))))
    array = (ctypes.c_void_p * len(vectors))(*(each.__array_interface__["data"][0] for each in vectors))
    size = (ctypes.c_int64 * 3)(length, chosen.threads if ready.parallel else 1, chosen.stream)
    values = (ctypes.c_double * max(1, len(scalars)))(*scalars)
    ready.function(array, size, work.ctypes.data, values)
    return tuple(work[: what.sums].tolist()) if length else (0.0,) * what.sums


def _named(what: VectorKernel | str) -> VectorKernel:
    if isinstance(what, VectorKernel):
        return what
    if what not in CATALOGUE:
        raise UsageError(f"there is no vector kernel {what!r}", f"there are {', '.join(CATALOGUE)}")
    return CATALOGUE[what]


def _check(what: VectorKernel, vectors: Sequence[Array], scalars: Sequence[float]) -> tuple[int, str]:
    if len(vectors) != len(what.vectors) or len(scalars) != len(what.scalars):
        raise UsageError(
            f"{what.name!r} takes {len(what.vectors)} vectors ({', '.join(what.vectors)}) and {len(what.scalars)} "
            f"scalars, got {len(vectors)} and {len(scalars)}"
        )
    first = vectors[0]
    for name, each in zip(what.vectors, vectors, strict=True):
        if not isinstance(each, np.ndarray) or each.ndim != 1 or not each.flags.c_contiguous or each.size != first.size:
            raise ArrayError(f"vector {name!r} of {what.name!r} must be a contiguous array of {first.size} elements")
        if each.dtype != first.dtype or str(each.dtype) not in DTYPES:
            raise ArrayError(
                f"vectors are all {' or all '.join(DTYPES)}, got {each.dtype} for {name!r} of {what.name!r}"
            )
        if name in what.written and not each.flags.writeable:
            raise ArrayError(f"vector {name!r} of {what.name!r} is written but read-only")
    _check_overlap(what, vectors)
    return first.size, str(first.dtype)


def _check_overlap(what: VectorKernel, vectors: Sequence[Array]) -> None:
    """What one vector's assignment would change under another one's reading is refused."""
    spans = [(each.__array_interface__["data"][0], each.nbytes) for each in vectors]
    for i, name in enumerate(what.vectors):
        if name not in what.written:
            continue
        for j, (start, size) in enumerate(spans):
            if j != i and start < spans[i][0] + spans[i][1] and spans[i][0] < start + size:
                raise ArrayError(f"vectors {name!r} and {what.vectors[j]!r} of {what.name!r} overlap")


def _choose(what: VectorKernel, dtype: str, length: int) -> Choice:
    threads = thread_count()
    return learned(what, dtype, length, threads) or assumed(what, length, np.dtype(dtype).itemsize, threads)


def axpy(a: float, x: Array, y: Array) -> Array:
    """Store a x + y in y; returns y.

    >>> axpy(2.0, np.ones(3), np.zeros(3))
    array([2., 2., 2.])
    """
    apply("axpy", x, y, scalars=(a,))
    return y


def aypx(a: float, x: Array, y: Array) -> Array:
    """Store a y + x in y; returns y."""
    apply("aypx", x, y, scalars=(a,))
    return y


def waxpy(a: float, x: Array, y: Array, w: Array | None = None) -> Array:
    """Store a x + y in w, a new vector by default; returns w."""
    target = np.empty_like(y) if w is None else w
    apply("waxpy", x, y, target, scalars=(a,))
    return target


def maxpy(factors: Sequence[float], xs: Sequence[Array], y: Array) -> Array:
    """Store y + the sum of factors times vectors in y, reading and writing y once; returns y.

    Raises:
        UsageError: If there are not as many factors as vectors.
    """
    if len(factors) != len(xs):
        raise UsageError(f"a multiple AXPY has one factor per vector, got {len(factors)} and {len(xs)}")
    for first in range(0, len(xs), 8):
        group = slice(first, first + 8)
        apply(multiple(len(xs[group])), *xs[group], y, scalars=tuple(factors[group]))
    return y


def scale(a: float, x: Array) -> Array:
    """Store a x in x; returns x."""
    apply("scale", x, scalars=(a,))
    return x


def dot(x: Array, y: Array) -> float:
    """Return the dot product."""
    return apply("dot", x, y)[0]


def norm(x: Array) -> float:
    """Return the Euclidean norm, without overflow or underflow on the way.

    >>> norm(np.array([2e200, 0.0]))
    2e+200
    """
    return _root(apply("norm2", x)[0], x)


def dot_norm(x: Array, y: Array) -> tuple[float, float]:
    """Return x.y and the norm of x, reading x once."""
    product, square = apply("dot_norm2", x, y)
    return product, _root(square, x)


def axpy_norm(a: float, x: Array, y: Array) -> float:
    """Store a x + y in y and return its norm, reading and writing y once."""
    return _root(apply("axpy_norm2", x, y, scalars=(a,))[0], y)


def _root(square: float, x: Array) -> float:
    """Return the root of a sum of squares; where it left the range of numbers, sum again scaled."""
    limits = np.finfo(x.dtype)
    if float(limits.tiny) / float(limits.eps) < square < float(limits.max) or not x.size:
        return math.sqrt(square)
    largest = float(np.abs(x).max())
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    return largest * math.sqrt(float(np.sum(np.square(x.astype(np.float64) / largest))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What tuning measured.

    Attributes:
        kernel: The kernel's name.
        length: Elements per vector.
        dtype: Element type.
        choice: The fastest variant.
        seconds: Its median.
        measured: Every variant's median, in seconds.
    """

    kernel: str
    length: int
    dtype: str
    choice: Choice
    seconds: float
    measured: tuple[tuple[Choice, float], ...]

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)


def tune(what: VectorKernel | str, length: int, dtype: str = "float64") -> Trial:
    """Measure every variant of a kernel on vectors of a length, check their results, and keep the fastest.

    Args:
        what: The kernel.
        length: Elements per vector.
        dtype: ``float32`` or ``float64``.

    Returns:
        What was measured.

    Raises:
        UsageError: If there is no such kernel or type.
        WrongResultError: If a variant's result is wrong beyond rounding.
        ToolchainError: If there is no C compiler, or it fails.
    """
    what = _named(what)
    if length < 1:
        raise UsageError(f"the length of a vector to tune for is at least 1, got {length}")
    rng = np.random.default_rng(0)
    vectors = [rng.standard_normal(length).astype(dtype) for _ in what.vectors]
    # Scalars below one in magnitude: repeated applications stay in range.
    scalars = tuple((rng.uniform(0.2, 0.4, len(what.scalars)) * rng.choice([-1, 1], len(what.scalars))).tolist())
    every = variants(what, thread_count())
    for choice in every:
        _verify(what, vectors, scalars, choice)
    samples = interleaved(
        [functools.partial(apply, what, *vectors, scalars=scalars, choice=choice) for choice in every]
    )
    medians = [statistics.median(each) for each in samples]
    best = min(range(len(every)), key=lambda i: medians[i])
    keep(what, dtype, length, every[best], medians[best])
    return Trial(
        kernel=what.name,
        length=length,
        dtype=dtype,
        choice=every[best],
        seconds=medians[best],
        measured=tuple(zip(every, medians, strict=True)),
    )


def interleaved(calls: Sequence[Callable[[], object]]) -> list[list[float]]:
    """Time calls in turns, so that what disturbs the machine disturbs all of them."""
    calls[0]()
    begin = time.perf_counter()
    calls[0]()
    count = max(1, min(1000, int(_SECONDS / max(time.perf_counter() - begin, 1e-7))))
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(_ROUNDS):
        for call, mine in zip(calls, samples, strict=True):
            begin = time.perf_counter()
            for _ in range(count):
                call()
            mine.append((time.perf_counter() - begin) / count)
    return samples


def reference(
    what: VectorKernel, vectors: Sequence[Array], scalars: Sequence[float], *, absolute: bool = False
) -> tuple[list[Array], list[float]]:
    """Compute a kernel with NumPy in double precision; with ``absolute``, on absolute values, for error bounds.

    Returns:
        The vectors afterwards, and the sums.
    """
    values: dict[str, Any] = {
        name: each.astype(np.float64) for name, each in zip(what.vectors, vectors, strict=True)
    } | dict(zip(what.scalars, scalars, strict=True))
    if absolute:
        values = {name: np.abs(value) for name, value in values.items()}
    sums = []
    for each in what.operations:
        result = _formula(each.formula, values, absolute=absolute)
        if each.target:
            values[each.target] = result
        else:
            sums.append(float(np.sum(result)))
    return [values[name] for name in what.vectors], sums


def _formula(text: str, values: dict[str, Any], *, absolute: bool) -> Any:  # noqa: ANN401
    """Evaluate a formula of + - * and parentheses; with ``absolute``, differences as sums."""
    import ast

    def walk(node: ast.expr) -> Any:  # noqa: ANN401
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return walk(node.operand) if absolute else -walk(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = walk(node.left), walk(node.right)
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Add) or (absolute and isinstance(node.op, ast.Sub)):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
        raise UsageError(f"{text!r} is no formula of + - * and parentheses")

    return walk(ast.parse(text, mode="eval").body)


def _verify(what: VectorKernel, vectors: Sequence[Array], scalars: Sequence[float], choice: Choice) -> None:
    """Compare one run on copies with NumPy."""
    copies = [each.copy() for each in vectors]
    sums = apply(what, *copies, scalars=scalars, choice=choice)
    expected, totals = reference(what, vectors, scalars)
    sizes, bounds = reference(what, vectors, scalars, absolute=True)
    eps = float(np.finfo(vectors[0].dtype).eps)
    for name, got, wanted, size in zip(what.vectors, copies, expected, sizes, strict=True):
        if not np.all(np.abs(got - wanted) <= 4 * eps * len(what.vectors) * size):
            raise WrongResultError(f"variant {choice} of {what.name!r} computes a wrong {name!r}")
    for got_sum, total, bound in zip(sums, totals, bounds, strict=True):
        # A block's elements are added up in a few registers, the blocks in double precision.
        if not abs(got_sum - total) <= eps * (BLOCK + 8) * bound:
            raise WrongResultError(f"variant {choice} of {what.name!r} computes a wrong sum: {got_sum}, not {total}")
