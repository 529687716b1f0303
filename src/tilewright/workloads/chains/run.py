"""``multi_dot``: a chain of arrays multiplied by its plan, with fused kernels where they are faster."""

import functools
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.dtypes import numpy_type
from tilewright.base.errors import ArrayError, ToolchainError, UsageError, WrongResultError
from tilewright.base.records import Record
from tilewright.base.units import format_seconds
from tilewright.costs.arrays import Floats
from tilewright.runtime.host import thread_count
from tilewright.runtime.memory import Array, check_memory
from tilewright.runtime.warn import warn_once
from tilewright.verbs.predict import as_machine
from tilewright.workloads.chains import times as chain_times
from tilewright.workloads.chains.fused import DTYPES, fused_product, host_blocking
from tilewright.workloads.chains.plan import ChainPlan
from tilewright.workloads.chains.problem import FUSIONS, Chain, Product, Tree, extents, halves, make_chain, span, text
from tilewright.workloads.chains.search import Batch, ChainSearch, Key, best_trees, can_share, key_of, shared_tree
from tilewright.workloads.chains.times import HostTimes, estimated_times, machine_rates
from tilewright.workloads.chains.traffic import best_block

_NAMES: dict[np.dtype[Any] | None, str] = {np.dtype(name): name for name in DTYPES}
_CAUTION = 1.1
"""A fused pair must promise this much over the library's products: the times are fits, theirs the safer ones."""
_NO_TILE = np.ones(1), np.ones(1)
_WORTH = 0.05
"""Fusing saves the trip of the intermediate to memory: below this share of the other words it is not worth it."""


@checked
def calibrate(dtype: str = "float64", threads: int | None = None) -> HostTimes:
    """Measure how long products and fused pairs take on this machine, and keep it for :func:`multi_dot`.

    Args:
        dtype: ``float32`` or ``float64``.
        threads: Threads of the fused kernels; every CPU of this process by default.

    Returns:
        The times, half a minute later.

    Raises:
        UsageError: If there are no fused kernels of that type.
        ToolchainError: If there is no C compiler.
    """
    count = thread_count(threads)
    times = chain_times.calibrate(dtype, count)
    _times.cache_clear()
    return times


@functools.lru_cache(maxsize=8)
def _times(dtype: str, threads: int) -> HostTimes:
    entry = chain_times.stored(dtype, threads)
    itemsize = np.dtype(dtype).itemsize
    return entry or estimated_times(machine_rates(as_machine("host"), itemsize), itemsize)


@checked
def choose(
    sizes: Sequence[int], *, dtype: str = "float64", threads: int | None = None, times: HostTimes | None = None
) -> Tree:
    """Return the tree that :func:`multi_dot` would run for matrices of the sizes P0 … Pn."""
    count, dtype = thread_count(threads), numpy_type(dtype).name
    return _fastest(make_chain(tuple(sizes)), dtype, times or _times(dtype, count), dtype in DTYPES)


@functools.lru_cache(maxsize=1024)
def _fastest(chain: Chain, dtype: str, times: HostTimes, fuse: bool) -> Tree:
    memory = chain_times.memory_words(np.dtype(dtype).itemsize)

    def price(batch: Batch) -> tuple[Floats, Floats]:
        if batch.fusion == "none":
            return times.times("none", batch.sizes, _NO_TILE).seconds, batch.operations
        fused = _CAUTION * times.times(batch.fusion, batch.sizes, best_block(batch.fusion, batch.sizes, memory)).seconds
        p = batch.sizes
        intermediate = p[0] * p[2] if batch.fusion == "left" else p[1] * p[3]
        saves = intermediate >= _WORTH * (p[0] * p[1] + p[1] * p[2] + p[2] * p[3] + p[0] * p[3])
        return np.where(saves, fused, np.inf), batch.operations

    fuse = fuse and _fusing_may_pay(chain.sizes, times)
    search = ChainSearch(model="counts", memory=memory, price=price, fuse=fuse)
    if can_share(chain):
        return shared_tree(chain, search)
    return best_trees(np.array([chain.sizes], dtype=np.int64), search)[0]


def _fusing_may_pay(sizes: Sequence[int], times: HostTimes) -> bool:
    """Whether the smallest fused pair could take less than two of the largest products."""
    # There are about n^4 / 12 pairs: nobody has to look at them where calls alone take longer than anything else.
    low, high = ([np.array([float(size)])] * 4 for size in (min(sizes), max(sizes)))
    fused = min(float(times.times(fusion, low, (low[0], low[0])).seconds[0]) for fusion in FUSIONS[1:])
    return _CAUTION * fused < 2 * float(times.times("none", high[:3], _NO_TILE).seconds[0])


@checked
def multi_dot(
    arrays: Sequence[Any],
    *,
    plan: ChainPlan | Tree | None = None,
    threads: int | None = None,
    times: HostTimes | None = None,
    fuse: bool = True,
) -> Any:  # noqa: ANN401  (the caller's array type)
    """Multiply a chain of arrays in the order that takes the least time, fusing pairs of products where that is faster.

    Single products are the array library's own. Fused pairs run in compiled C, for NumPy arrays and PyTorch tensors in
    CPU memory, of float32 or float64, that need no gradient; all others, CuPy arrays among them, are multiplied
    unfused. A matrix that occurs several times, transposed or not, is recognised, and equal products are computed once.

    Args:
        arrays: Two or more arrays of one library; the first and the last may have one dimension, as for
            ``numpy.linalg.multi_dot``.
        plan: A plan or a tree to follow; by default the one that takes the least time by ``times``.
        threads: Threads of the fused kernels; every CPU of this process by default.
        times: How long products take here; what :func:`calibrate` kept, or estimates, by default.
        fuse: Whether pairs may be fused, where no plan decides.

    Returns:
        The product, in the caller's array type.

    Raises:
        ArrayError: If the arrays make no chain.

    Examples:
        >>> multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones(4)]).tolist()
        [12.0, 12.0]
    """
    matrices, restore = _matrices(arrays)
    sizes = (matrices[0].shape[0], *(matrix.shape[1] for matrix in matrices))
    if 0 in sizes:
        return restore(functools.reduce(lambda a, b: a @ b, matrices))
    count = thread_count(threads)
    dtype = _fusable(matrices)
    chain = make_chain(tuple(int(size) for size in sizes), *_repeats(matrices))
    tree: Tree
    if plan is None:
        kind = dtype or "float64"
        tree = _fastest(chain, kind, times or _times(kind, count), fuse and bool(dtype))
    else:
        tree = plan.tree if isinstance(plan, ChainPlan) else plan
        _check(chain, plan, tree)
    return restore(_Run(chain, matrices, dtype, count).compute(tree))


def _matrices(arrays: Sequence[Any]) -> tuple[list[Any], Callable[[Any], Any]]:
    """Return two-dimensional matrices that fit, and what turns their product into the result's shape."""
    operands = list(arrays)
    if len(operands) < 2:
        raise ArrayError(f"a chain to multiply has at least two matrices, got {len(operands)}")
    last = len(operands) - 1
    for number, array in enumerate(operands):
        rank = getattr(array, "ndim", None)
        if rank is None:
            raise ArrayError(
                f"matrix {number + 1} is a {type(array).__name__}, not an array", "use numpy.asarray first"
            )
        if rank != 2 and not (rank == 1 and number in {0, last}):
            raise ArrayError(f"matrix {number + 1} of the chain must have 2 dimensions, got {rank}")
    row, column = operands[0].ndim == 1, operands[-1].ndim == 1
    matrices = [array.reshape(1, -1) if row and k == 0 else array for k, array in enumerate(operands)]
    if column:
        matrices[-1] = matrices[-1].reshape(-1, 1)
    for number in range(last):
        if matrices[number].shape[1] != matrices[number + 1].shape[0]:
            raise ArrayError(
                f"matrix {number + 2} must have {matrices[number].shape[1]} rows, got {matrices[number + 1].shape[0]}"
            )

    def restore(result: Any) -> Any:  # noqa: ANN401
        if row and column:
            return result[0, 0]
        return result[0] if row else result[:, 0] if column else result

    return matrices, restore


def _fusable(matrices: Sequence[Any]) -> str:
    """Return the element type if fused kernels can take these arrays, or an empty string."""
    views = [_numpy(matrix) for matrix in matrices]
    types = {None if view is None else view.dtype for view in views}
    return _NAMES.get(types.pop(), "") if len(types) == 1 else ""


def _numpy(array: Any) -> Array | None:  # noqa: ANN401
    """See an array as NumPy's without copying, or return None where that cannot be."""
    if type(array) is np.ndarray:
        return array
    if type(array).__module__.partition(".")[0] == "torch":
        plain = array.device.type == "cpu" and not array.requires_grad and not array.is_sparse
        return array.numpy() if plain and str(array.dtype).removeprefix("torch.") in DTYPES else None
    return None


def _repeats(matrices: Sequence[Any]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Find matrices that are one memory seen twice, transposed or not."""
    firsts: dict[object, int] = {}
    operands, transposed = [], []
    for number, matrix in enumerate(matrices):
        view = _numpy(matrix)
        if view is None:
            here: object = ("object", id(matrix))
            other: object = None
        else:
            head = (view.ctypes.data, view.dtype)
            here, other = (*head, view.shape, view.strides), (*head, view.shape[::-1], view.strides[::-1])
        first = firsts.get(here, firsts.get(other, number) if other is not None else number)
        operands.append(first)
        transposed.append(here not in firsts and first != number)
        firsts.setdefault(here, number) if first == number else None
    return tuple(operands), tuple(transposed)


def _check(chain: Chain, plan: ChainPlan | Tree, tree: Tree) -> None:
    if isinstance(plan, ChainPlan) and plan.chain.sizes != chain.sizes:
        raise ArrayError(f"the plan is for the sizes {plan.chain.sizes}, the arrays have {chain.sizes}")
    leaves = _leaves(tree)
    if leaves != list(range(chain.length)):
        raise ArrayError(f"the tree {text(tree)} does not multiply {chain.length} matrices in their order")


def _leaves(tree: Tree) -> list[int]:
    return [tree] if isinstance(tree, int) else [leaf for child in tree.children for leaf in _leaves(child)]


class _Run:
    """One multiplication: what was computed is kept for equal products."""

    def __init__(self, chain: Chain, matrices: Sequence[Any], dtype: str, threads: int) -> None:
        self._chain = chain
        self._matrices = matrices
        self._dtype = dtype
        self._threads = threads
        self._done: dict[Key, tuple[Any, bool]] = {}

    def compute(self, tree: Tree) -> Any:  # noqa: ANN401
        """Return the product of a tree."""
        if isinstance(tree, int):
            return self._matrices[tree]
        if not self._chain.repeats:
            return self._product(tree)
        key, flipped = key_of(self._chain, *span(tree))
        if key not in self._done:
            self._done[key] = self._product(tree), flipped
        result, other = self._done[key]
        return result if flipped == other else result.T

    def _product(self, node: Product) -> Any:  # noqa: ANN401
        if node.fusion == "none":
            return self.compute(node.children[0]) @ self.compute(node.children[1])
        if not self._dtype:
            left, right = halves(node)
            return self.compute(left) @ self.compute(right)
        parts = [self.compute(child) for child in node.children]
        try:
            return self._fused(node, parts)
        except ToolchainError as error:
            warn_once(f"multiplying with NumPy, in two steps in place of a fused one: {error}")
            first, second, third = parts
            return (first @ second) @ third if node.fusion == "left" else first @ (second @ third)

    def _fused(self, node: Product, parts: Sequence[Any]) -> Any:  # noqa: ANN401
        first, second, third = (_numpy(part) for part in parts)
        if first is None or second is None or third is None:
            raise ArrayError(f"the parts of {text(node)} are not all in this machine's memory")
        sizes = extents(self._chain.sizes, node)
        p = (sizes[0], sizes[1], sizes[2], sizes[3])
        tile = node.tile
        if min(tile) < 1:
            tile = chain_times.kernel_tile(node.fusion, p, first.itemsize, self._threads)
        result = fused_product(node.fusion, (first, second, third), tile, self._threads, host_blocking())
        return result if type(parts[0]) is np.ndarray else _like(parts[0], result)


def _like(sample: Any, result: Array) -> Any:  # noqa: ANN401
    """Return a NumPy array as the library of a sample sees it, without copying."""
    import sys

    return sys.modules[type(sample).__module__.partition(".")[0]].from_numpy(result)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChainTrial(Record):
    """One plan run on random matrices beside NumPy."""

    KEYS = "seconds numpy_seconds max_error fastest checked"

    seconds: float  # of the plan, least of three
    numpy_seconds: float  # of ``numpy.linalg.multi_dot``, least of three
    max_error: float  # largest difference, relative to the largest entry of the product
    fastest: str  # the tree that :func:`multi_dot` takes by itself, by the times it knows

    @property
    def checked(self) -> bool:
        """Whether the results were compared, which they always are."""
        return True

    def __str__(self) -> str:
        return (
            f"run: {format_seconds(self.seconds)} as planned, {format_seconds(self.numpy_seconds)} by "
            f"numpy.linalg.multi_dot, relative difference {self.max_error:.2g}; multi_dot by itself "
            f"takes {self.fastest}"
        )


@checked
def trial(plan: ChainPlan, dtype: str = "float64") -> ChainTrial:
    """Run a plan on random matrices and compare it with ``numpy.linalg.multi_dot``."""
    if dtype not in DTYPES:
        raise UsageError(f"a chain runs in {' or '.join(DTYPES)}, got {dtype!r}")
    sizes = plan.chain.sizes
    if len(sizes) < 3:
        raise UsageError("a chain to multiply has at least two matrices, got 1")
    check_memory(3 * np.dtype(dtype).itemsize * sum(a * b for a, b in itertools.pairwise(sizes)))
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in itertools.pairwise(sizes)]
    arrays = [arrays[first] for first in plan.chain.operands]
    arrays = [array.T if flag else array for array, flag in zip(arrays, plan.chain.transposed, strict=True)]
    ours, result = _least(lambda: multi_dot(arrays, plan=plan))
    theirs, expected = _least(lambda: np.linalg.multi_dot(arrays))
    error = float(np.abs(result - expected).max() / max(float(np.abs(expected).max()), 1e-300))
    # Independent random signs: roundings grow as the root of the lengths; the bound leaves a factor of 100.
    bound = 100 * float(np.finfo(dtype).eps) * math.sqrt(sum(sizes))
    if not error <= bound:
        raise WrongResultError(f"the plan's result differs from NumPy's by {error:.3g}, above its bound {bound:.3g}")
    fastest = text(choose(sizes, dtype=dtype), plan.chain)
    return ChainTrial(seconds=ours, numpy_seconds=theirs, max_error=error, fastest=fastest)


def _least(call: Callable[[], Array]) -> tuple[float, Array]:
    samples = []
    for _ in range(3):
        begin = time.perf_counter()
        result = call()
        samples.append(time.perf_counter() - begin)
    return min(samples), result
