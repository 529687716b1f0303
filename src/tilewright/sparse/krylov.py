"""The vector operations of Krylov methods, alone and fused, tuned for this machine.

Functions work on contiguous vectors of float32 or float64 in place and return what they compute; the number of threads
changes no result. ``tune`` measures the variants of a kernel on this machine; later processes use its choices too.
"""

import ctypes
import functools
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.dtypes import native
from tilewright.base.errors import ArrayError, UsageError, WrongResultError
from tilewright.base.records import Record
from tilewright.runtime.call import address, compiled, first_byte, packed
from tilewright.runtime.host import THREAD_VARIABLES, thread_count
from tilewright.runtime.memory import Array
from tilewright.sparse.choices import KernelChoice, assumed, keep, known, learned, variants
from tilewright.sparse.dia import DTYPES
from tilewright.sparse.lower.vectors import BLOCK, CATALOGUE, VectorKernel, emit_vectors, fuse, kernel, multiple

__all__ = [
    "CATALOGUE", "KrylovTrial", "apply", "axpy", "axpy_norm", "aypx", "dot", "dot_norm", "fuse", "kernel", "maxpy",
    "multiple", "norm", "scale", "tune", "waxpy",
]  # fmt: skip

_ROUNDS = 9
_SECONDS = 2e-3  # seconds that one sample lasts at least
_SAMPLE = 20 * BLOCK + 77  # elements on which every variant is checked; the winner is checked on all


class _Prepared:
    """A kernel with everything that a call needs at hand: at short vectors the way to the kernel is what takes time."""

    __slots__ = ("_pointers", "_ready", "_scalars", "kernel", "sums", "written")

    def __init__(self, kernel: VectorKernel) -> None:
        self.kernel = kernel
        self.written = tuple(name in kernel.written for name in kernel.vectors)
        self.sums = kernel.sums
        self._pointers = ctypes.c_void_p * len(kernel.vectors)
        self._scalars = ctypes.c_double * max(1, len(kernel.scalars))
        self._ready: dict[tuple[object, ...], _Ready] = {}

    def check(self, vectors: Sequence[Array], scalars: Sequence[float]) -> list[int]:
        """Return the vectors' addresses once they fit; none if kernels cannot read them as they lie."""
        kernel = self.kernel
        if not isinstance(scalars, Sequence | np.ndarray):
            raise UsageError(f"the scalars of {kernel.name!r} are a sequence of numbers, got {scalars!r:.60}")
        if len(vectors) != len(kernel.vectors) or len(scalars) != len(kernel.scalars):
            raise UsageError(
                f"{kernel.name!r} takes {len(kernel.vectors)} vectors ({', '.join(kernel.vectors)}) and "
                f"{len(kernel.scalars)} scalars, got {len(vectors)} and {len(scalars)}"
            )
        first = vectors[0]
        starts, copied = [], False
        for i, each in enumerate(vectors):
            if not isinstance(each, np.ndarray) or each.ndim != 1 or each.size != first.size:
                raise _size_error(kernel, i, first)
            flags = each.flags
            if not flags.c_contiguous:
                raise _size_error(kernel, i, first)
            if each.dtype is not first.dtype and each.dtype != first.dtype:
                if each.dtype.newbyteorder("=") != first.dtype.newbyteorder("="):
                    raise _type_error(kernel, i, each)
                copied = True
            if flags.carray:
                starts.append(_ADDRESS(first_byte(each)))
                continue
            if self.written[i] and not flags.writeable:
                raise ArrayError(f"vector {kernel.vectors[i]!r} of {kernel.name!r} is written but read-only")
            copied = copied or not flags.aligned
            starts.append(address(each))
        if first.dtype not in _TYPES:
            if first.dtype.newbyteorder("=") not in _TYPES:
                raise _type_error(kernel, 0, first)
            copied = True
        self._check_overlap(starts, first.nbytes)
        return [] if copied else starts

    def _check_overlap(self, starts: Sequence[int], size: int) -> None:
        """What one vector's assignment would change under another one's reading is refused."""
        for i, writes in enumerate(self.written):
            if not writes:
                continue
            for j, start in enumerate(starts):
                if j != i and abs(start - starts[i]) < size:
                    names = self.kernel.vectors
                    raise ArrayError(f"vectors {names[i]!r} and {names[j]!r} of {self.kernel.name!r} overlap")

    def run(self, vectors: Sequence[Array], scalars: Sequence[float], choice: KernelChoice | None) -> tuple[float, ...]:
        starts = self.check(vectors, scalars)
        if not starts:
            return self._on_copies(vectors, scalars, choice)
        if choice is not None and not isinstance(choice, KernelChoice):
            raise UsageError(f"how a kernel runs is a KernelChoice, got {choice!r:.60}")
        try:
            numbers = self._scalars(*scalars)
        except (TypeError, OverflowError):
            raise UsageError(f"the scalars of {self.kernel.name!r} are numbers, got {scalars!r:.60}") from None
        first = vectors[0]
        key = (first.dtype, first.size, choice or known(), *map(_SETTING, _VARIABLES))
        ready = self._ready.get(key)
        if ready is None:
            if len(self._ready) > _REMEMBERED:
                self._ready.clear()
            ready = self._ready[key] = self._prepared(first.dtype, first.size, choice)
        if not self.sums:
            ready.function(self._pointers(*starts), ready.size, None, numbers)
            return ()
        work = ready.work()
        ready.function(self._pointers(*starts), ready.size, work, numbers)
        return tuple(work[: self.sums])

    def _on_copies(
        self, vectors: Sequence[Array], scalars: Sequence[float], choice: KernelChoice | None
    ) -> tuple[float, ...]:
        """Run on copies where kernels cannot read vectors as they are, and copy back what is written."""
        copies = [packed(each) for each in vectors]
        sums = self.run(copies, scalars, choice)
        for each, copied, written in zip(vectors, copies, self.written, strict=True):
            if written and copied is not each:
                each[:] = copied
        return sums

    def _prepared(self, dtype: np.dtype[Any], length: int, choice: KernelChoice | None) -> "_Ready":
        """Compile a kernel for vectors of a length, to run as asked, as tuning found best, or else reasonably."""
        threads = thread_count()
        chosen = choice or learned(self.kernel, str(dtype), length, threads)
        chosen = chosen or assumed(self.kernel, length, dtype.itemsize, threads)
        (code,) = compiled(emit_vectors, self.kernel, str(dtype), chosen.vectors)
        return _Ready(
            function=code.function,
            size=_SIZE(length, code.team(chosen.threads), chosen.stream),
            work=ctypes.c_double * (self.sums * max(1, -(-length // BLOCK))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """What a call needs besides the vectors: the function, what it is told of their length, and its memory's type."""

    function: Any
    size: Any
    work: Any


_SIZE = ctypes.c_int64 * 3
_ADDRESS = ctypes.addressof
_VARIABLES = tuple(map(os.fsencode, THREAD_VARIABLES))
# What is unset costs os.environ.get several exceptions, more than a kernel on a short vector takes.
_SETTING = ctypes.CDLL(None).getenv
_SETTING.argtypes, _SETTING.restype = [ctypes.c_char_p], ctypes.c_char_p
_TYPES = frozenset(map(np.dtype, DTYPES))
_REMEMBERED = 256


@functools.lru_cache(maxsize=256)
def _prepare(kernel: VectorKernel) -> _Prepared:
    return _Prepared(kernel)


_NAMED = {name: _Prepared(each) for name, each in CATALOGUE.items()}


def _size_error(kernel: VectorKernel, i: int, first: Array) -> ArrayError:
    size = getattr(first, "size", "as many")
    return ArrayError(f"vector {kernel.vectors[i]!r} of {kernel.name!r} must be a contiguous array of {size} elements")


def _type_error(kernel: VectorKernel, i: int, each: Array) -> ArrayError:
    return ArrayError(
        f"vectors are all {' or all '.join(DTYPES)}, got {each.dtype} for {kernel.vectors[i]!r} of {kernel.name!r}"
    )


def apply(
    what: VectorKernel | str, *vectors: Array, scalars: Sequence[float] = (), choice: KernelChoice | None = None
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
    if isinstance(what, str) and what in _NAMED:
        return _NAMED[what].run(vectors, scalars, choice)
    return _prepare(_kernel_of(what)).run(vectors, scalars, choice)


def _kernel_of(kernel: VectorKernel | str) -> VectorKernel:
    if isinstance(kernel, VectorKernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in CATALOGUE:
        raise UsageError(f"there is no vector kernel {kernel!r}", f"there are {', '.join(CATALOGUE)}")
    return CATALOGUE[kernel]


@functools.lru_cache(maxsize=32)
def _multiple(terms: int) -> _Prepared:
    return _Prepared(multiple(terms))


def axpy(a: float, x: Array, y: Array) -> Array:
    """Store a x + y in y; returns y.

    Examples:
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
    target = np.empty_like(native(y)) if w is None and isinstance(y, np.ndarray) else w
    apply("waxpy", x, y, target, scalars=(a,))
    return target


@checked
def maxpy(factors: Sequence[float], xs: Sequence[Array], y: Array) -> Array:
    """Store y + the sum of factors times vectors in y, reading and writing y once; returns y.

    Raises:
        UsageError: If there are not as many factors as vectors.
    """
    if len(factors) != len(xs):
        raise UsageError(f"a multiple AXPY has one factor per vector, got {len(factors)} and {len(xs)}")
    for first in range(0, len(xs), 8):
        group = slice(first, first + 8)
        _multiple(len(xs[group])).run((*xs[group], y), factors[group], None)
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

    Examples:
        >>> norm(np.array([2e200, 0.0]))
        2e+200
    """
    return root_of(apply("norm2", x)[0], x)


def dot_norm(x: Array, y: Array) -> tuple[float, float]:
    """Return x.y and the norm of x, reading x once."""
    product, square = apply("dot_norm2", x, y)
    return product, root_of(square, x)


def axpy_norm(a: float, x: Array, y: Array) -> float:
    """Store a x + y in y and return its norm, reading and writing y once."""
    return root_of(apply("axpy_norm2", x, y, scalars=(a,))[0], y)


def root_of(square: float, x: Array) -> float:
    """Return the root of a sum of squares of a vector; where it left the range of numbers, sum again scaled."""
    x = native(x)
    least, most = _RANGES[x.dtype]
    if least < square < most or not x.size:
        return math.sqrt(square)
    largest = float(np.abs(x).max())
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    return largest * math.sqrt(float(np.sum(np.square(x.astype(np.float64) / largest))))


_RANGES = {kind: (float(np.finfo(kind).tiny) / float(np.finfo(kind).eps), float(np.finfo(kind).max)) for kind in _TYPES}
"""Sums of squares that lost nothing, by type."""


def smallest(dtype: np.dtype[Any]) -> float:
    """Return a number of a type with so many digits below it as numbers near 1 have."""
    return _RANGES[dtype][0]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KrylovTrial(Record):
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
    choice: KernelChoice
    seconds: float
    measured: tuple[tuple[KernelChoice, float], ...]


@checked
def tune(what: VectorKernel | str, length: int, dtype: str = "float64") -> KrylovTrial:
    """Measure every variant of a kernel on vectors of a length, check their results, and keep the fastest.

    Every variant is compared with NumPy on the vectors' first elements before it is measured, the winner on all.

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
    what = _kernel_of(what)
    if dtype not in DTYPES:
        raise UsageError(f"vectors are of {' or '.join(DTYPES)}, got {dtype!r}")
    if length < 1:
        raise UsageError(f"the length of a vector to tune for is at least 1, got {length}")
    rng = np.random.default_rng(0)
    vectors = [rng.standard_normal(length).astype(dtype) for _ in what.vectors]
    # Scalars below one in magnitude: repeated applications stay in range.
    scalars = tuple((rng.uniform(0.2, 0.4, len(what.scalars)) * rng.choice([-1, 1], len(what.scalars))).tolist())
    every = variants(what, thread_count())
    for choice in every:
        _verify(what, [each[:_SAMPLE] for each in vectors], scalars, choice)
    samples = interleaved(
        [functools.partial(apply, what, *vectors, scalars=scalars, choice=choice) for choice in every]
    )
    medians = [statistics.median(each) for each in samples]
    best = min(range(len(every)), key=lambda i: medians[i])
    _verify(what, vectors, scalars, every[best])
    keep(what, dtype, length, every[best], medians[best])
    return KrylovTrial(
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
        for call, times in zip(calls, samples, strict=True):
            begin = time.perf_counter()
            for _ in range(count):
                call()
            times.append((time.perf_counter() - begin) / count)
    return samples


def _verify(kernel: VectorKernel, vectors: Sequence[Array], scalars: Sequence[float], choice: KernelChoice) -> None:
    copies = [each.copy() for each in vectors]
    sums = apply(kernel, *copies, scalars=scalars, choice=choice)
    expected, totals = reference(kernel, vectors, scalars)
    sizes, bounds = reference(kernel, vectors, scalars, absolute=True)
    eps = float(np.finfo(vectors[0].dtype).eps)
    for name, got, truth, size in zip(kernel.vectors, copies, expected, sizes, strict=True):
        if not np.all(np.abs(got - truth) <= 4 * eps * len(kernel.vectors) * size):
            raise WrongResultError(f"variant {choice} of {kernel.name!r} computes a wrong {name!r}")
    for got_sum, total, bound in zip(sums, totals, bounds, strict=True):
        # A block's elements are added up in a few registers, the blocks in double precision.
        if not abs(got_sum - total) <= eps * (BLOCK + 8) * bound:
            raise WrongResultError(f"variant {choice} of {kernel.name!r} computes a wrong sum: {got_sum}, not {total}")


def reference(
    what: VectorKernel, vectors: Sequence[Array], scalars: Sequence[float], *, absolute: bool = False
) -> tuple[list[Array], list[float]]:
    """Compute a kernel's vectors and sums in double precision; with ``absolute``, of absolute values, for bounds."""
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
