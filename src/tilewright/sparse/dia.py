"""``Dia``: a matrix stored by diagonals, without padding.

Diagonal ``o`` of an m x n matrix holds its elements A[t + max(0, -o), t + max(0, o)], t = 0, 1, …: n - |o| of them in a
square one. The usual format pads every diagonal to the matrix' height (Mametjanov et al., "Autotuning stencil-based
computations on GPUs", CLUSTER 2012, section II); here nothing outside the matrix is stored. Elements inside a diagonal
that couple nothing, such as a grid line's end with the next one's start, are stored zeros.
"""

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.arguments import checked
from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.dtypes import real_numbers
from tilewright.base.errors import ArrayError, UsageError, needed
from tilewright.base.tables import small_page
from tilewright.base.units import format_bytes
from tilewright.runtime.call import CompiledFunction, address, addresses, compiled, overlap, packed, scratch
from tilewright.runtime.host import describe_cpu, thread_count
from tilewright.runtime.memory import Array
from tilewright.schedules.code import Unrolling
from tilewright.sparse.lower.dia import emit_dia
from tilewright.tuning.spaces import cpu_schedule as rules

DTYPES = ("float32", "float64")
THREADED_BYTES = 2**18  # bytes moved below which a second thread costs more than it brings


_SHIFT = 576
"""Diagonals start this far apart modulo a page, so that equal rows of several do not meet in one set of a cache."""


@functools.cache
def unrolling() -> Unrolling:
    """Return the unrolling for this CPU."""
    return rules.unrolling()


def threads_for(moved: int, threads: int | None, kernel: CompiledFunction) -> int:
    """Return how many threads a call uses: what is asked for, or all where enough bytes move."""
    return kernel.team(thread_count(threads)) if threads is not None or moved >= THREADED_BYTES else 1


def past_caches(moved: int, threads: int) -> bool:
    """Whether results are better stored past the caches: everything together does not fit into the threads' own."""
    return moved > threads * describe_cpu().l2_bytes


class Matvec:
    """The products of one matrix: addresses and sizes are laid out once.

    It keeps the arrays alive that it points to.
    """

    __slots__ = ("_begin", "_diagonals", "_end", "_kernel", "_moved", "_offsets", "_sizes", "_table")

    def __init__(self, shape: tuple[int, int], offsets: Sequence[int], diagonals: Sequence[Array]) -> None:
        dtype = diagonals[0].dtype
        self._kernel = compiled(emit_dia, str(dtype), unrolling())[0]
        self._diagonals = tuple(diagonals)
        self._offsets = np.array(offsets, dtype=np.int64)
        self._table = addresses(diagonals)
        self._begin = int(self._table.min())
        self._end = max(address(each) + each.nbytes for each in diagonals)
        self._sizes = (*shape, len(offsets))
        self._moved = (sum(each.size for each in diagonals) + sum(shape)) * dtype.itemsize

    def reads(self, y: Array) -> bool:
        """Whether a contiguous array shares memory with a diagonal."""
        start = address(y)
        return start < self._end and self._begin < start + y.nbytes and overlap([y], self._diagonals)

    def __call__(self, x: Array, y: Array, threads: int | None = None, *, add: bool = False) -> None:
        """Store A x into y, or add it; both are contiguous, of the matrix' type, and apart in memory."""
        count = threads_for(self._moved, threads, self._kernel)
        stream = past_caches(self._moved, count)
        self._kernel((x, y, self._offsets, self._table), (*self._sizes, count, stream, add))


def length(shape: tuple[int, int], offset: int) -> int:
    """Return the number of elements of a diagonal; 0 where it lies outside.

    Examples:
        >>> length((9, 9), -3), length((2, 5), 3), length((2, 5), 9)
        (6, 2, 0)
    """
    rows, columns = shape
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


def room(shape: tuple[int, int], offsets: Sequence[int], dtype: npt.DTypeLike) -> tuple[Array, ...]:
    """Return memory for diagonals, zeroed: one block, every diagonal at a cache line of its own."""
    kind = np.dtype(dtype)
    starts, end = [], 0
    for number, offset in enumerate(offsets):
        end += (number * _SHIFT - end) % PAGE if length(shape, offset) * kind.itemsize > PAGE else -end % CACHE_LINE
        starts.append(end)
        end += length(shape, offset) * kind.itemsize
    block = scratch(max(end, CACHE_LINE))
    block[:] = 0
    return tuple(
        np.ndarray((length(shape, offset),), kind, block, start) for offset, start in zip(offsets, starts, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dia:
    """A sparse matrix of diagonals; its structure is fixed, its values are not.

    Attributes:
        shape: Rows and columns.
        offsets: The diagonals' distances above the main one, ascending.
        diagonals: Their elements, one array each.

    Examples:
        >>> a = Dia.from_diagonals({-1: [1, 1], 0: [2, 2, 2], 1: [3, 3]})
        >>> a @ np.ones(3)
        array([5., 6., 3.])
    """

    shape: tuple[int, int]
    offsets: tuple[int, ...]
    diagonals: tuple[Array, ...]
    _matvec: list[Matvec] = field(default_factory=list, repr=False)

    __array_priority__ = 10.1
    __array_ufunc__ = None

    @classmethod
    @checked
    def from_diagonals(
        cls,
        diagonals: Mapping[int, Any],
        shape: tuple[int, int] | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> "Dia":
        """Make a matrix of its diagonals; the elements are copied.

        Args:
            diagonals: Elements by offset; a number stands for a constant diagonal.
            shape: Rows and columns; by default square, as large as the first array says.
            dtype: ``float32`` or ``float64``; by default the arrays' own, else ``float64``.

        Raises:
            UsageError: If there is nothing to tell the shape from, or the type is not supported.
            ArrayError: If a diagonal has another length than its offset demands.
        """
        arrays = {offset: real_numbers(values, f"diagonal {offset}") for offset, values in diagonals.items()}
        kind = _kind(dtype, arrays.values())
        if shape is None:
            sized = [(offset, each) for offset, each in arrays.items() if each.ndim]
            if not sized:
                raise UsageError("numbers alone do not say how large the matrix is", "give shape=(rows, columns)")
            shape = (sized[0][1].size + abs(sized[0][0]),) * 2
        shape = _shape(shape)
        offsets = tuple(sorted(arrays))
        for offset in offsets:
            count, got = length(shape, offset), arrays[offset]
            if count == 0:
                raise ArrayError(f"a matrix of shape {shape} has no diagonal {offset}")
            if got.ndim and got.shape != (count,):
                raise ArrayError(
                    f"diagonal {offset} of a matrix of shape {shape} has {count} elements, "
                    f"got an array of shape {got.shape}",
                    "element t is A[t + max(0, -offset), t + max(0, offset)]; nothing is padded",
                )
        result = cls(shape=shape, offsets=offsets, diagonals=room(shape, offsets, kind))
        for offset, target in zip(offsets, result.diagonals, strict=True):
            target[:] = arrays[offset]
        return result

    @classmethod
    @checked
    def from_scipy(cls, matrix: Any, dtype: npt.DTypeLike | None = None, *, fill: float = 16.0) -> "Dia":  # noqa: ANN401
        """Convert a SciPy sparse matrix or array of any format, or a dense array.

        Args:
            matrix: The matrix.
            dtype: ``float32`` or ``float64``; by default its own where it is one of them, else ``float64``.
            fill: Stored elements per non-zero that are acceptable.

        Raises:
            UsageError: If it is no real matrix.
            ArrayError: If its non-zeros lie on so many diagonals that this format is wrong for it.
        """
        rows, columns, values, shape = _triples(matrix)
        kind = _kind(dtype, [values])
        distance = columns.astype(np.int64) - rows
        unique, which = np.unique(distance, return_inverse=True)
        offsets = tuple(unique.tolist())
        stored = sum(length(shape, offset) for offset in offsets)
        if stored > fill * max(values.size, 1) + 4096:
            raise ArrayError(
                f"the matrix has {values.size} non-zeros on {len(offsets)} diagonals, which hold {stored} elements",
                "keep it in CSR, or allow more with fill=",
            )
        result = cls(shape=shape, offsets=offsets, diagonals=room(shape, offsets, kind))
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(offsets) + 1))
        for number, target in enumerate(result.diagonals):
            entries = order[bounds[number] : bounds[number + 1]]
            np.add.at(target, np.minimum(rows[entries], columns[entries]), values[entries])
        return result

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self.diagonals[0].dtype if self.diagonals else np.dtype("float64")

    @property
    def size(self) -> int:
        """Stored elements, zeros inside diagonals included."""
        return sum(each.size for each in self.diagonals)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored elements."""
        return self.size * self.dtype.itemsize

    @property
    def padding(self) -> int:
        """Elements that the padded format would store outside the matrix: sum |o| for a square one."""
        return len(self.offsets) * self.shape[0] - self.size

    @property
    def T(self) -> "Dia":  # noqa: N802  (NumPy's name)
        """The transposed matrix; it shares the elements."""
        return Dia(
            shape=(self.shape[1], self.shape[0]),
            offsets=tuple(-offset for offset in reversed(self.offsets)),
            diagonals=self.diagonals[::-1],
        )

    @checked
    def diagonal(self, offset: int = 0) -> Array:
        """Return a diagonal: its elements, or zeros where none is stored."""
        if offset in self.offsets:
            return self.diagonals[self.offsets.index(offset)]
        return np.zeros(length(self.shape, offset), dtype=self.dtype)

    def astype(self, dtype: npt.DTypeLike) -> "Dia":
        """Return a copy with another element type."""
        return Dia.from_diagonals(dict(zip(self.offsets, self.diagonals, strict=True)), self.shape, dtype)

    @checked
    def matvec(self, x: Any, out: Array | None = None, *, threads: int | None = None, add: bool = False) -> Array:  # noqa: ANN401
        """Return A x.

        Args:
            x: One element per column, or a matrix of such columns.
            out: Where to store the result.
            threads: Threads to use; every CPU of this process where the matrix is large enough.
            add: Add the product to what ``out`` holds.

        Returns:
            ``out``, or a new array.

        Raises:
            ArrayError: If the shapes or types do not fit.
            ToolchainError: If there is no C compiler, or it fails.
        """
        operand = real_numbers(x, "x")
        if operand.ndim not in {1, 2} or operand.shape[0] != self.shape[1]:
            raise ArrayError(
                f"a matrix of shape {self.shape} multiplies {self.shape[1]} elements, got shape {operand.shape}"
            )
        if operand.ndim == 2:
            columns = [self.matvec(operand[:, j], threads=threads) for j in range(operand.shape[1])]
            product = np.stack(columns, axis=1) if columns else np.zeros((self.shape[0], 0), self.dtype)
            return product if out is None else _into(out, product, add=add)
        if not np.can_cast(operand.dtype, self.dtype, "safe") and operand.dtype.kind not in "iub":
            raise ArrayError(
                f"a matrix of {self.dtype} does not multiply a vector of {operand.dtype} without losing digits",
                f"convert one of them: A.astype({str(operand.dtype)!r}) or x.astype({str(self.dtype)!r})",
            )
        vector = packed(operand, self.dtype)
        target = self._target(out, vector, add=add)
        if not self.offsets:
            target[:] = target if add else 0
        elif target.size:
            self._product()(vector, target, threads, add=add)
        return target

    @checked
    def rmatvec(self, x: Any, out: Array | None = None, *, threads: int | None = None, add: bool = False) -> Array:  # noqa: ANN401
        """Return the transposed matrix times x; see :meth:`matvec`."""
        return self.T.matvec(x, out, threads=threads, add=add)

    def __matmul__(self, x: Any) -> Array:  # noqa: ANN401
        return self.matvec(x)

    def __rmatmul__(self, x: Any) -> Array:  # noqa: ANN401
        operand = real_numbers(x, "x")
        return self.rmatvec(operand) if operand.ndim == 1 else self.rmatvec(operand.T).T

    def _target(self, out: Array | None, x: Array, *, add: bool) -> Array:
        size, dtype = self.shape[0], self.dtype
        if out is None:
            return np.zeros(size, dtype) if add else np.empty(size, dtype)
        usable = isinstance(out, np.ndarray) and out.shape == (size,) and out.dtype == dtype
        if not usable or not out.flags.carray:
            raise ArrayError(f"out must be a contiguous, aligned, writable array of {size} elements of {dtype}")
        if overlap([out], [x]):
            raise ArrayError("out overlaps the vector that is multiplied", "give it memory of its own")
        if size and self.offsets and self._product().reads(out):
            raise ArrayError("out overlaps the matrix that is multiplied", "give it memory of its own")
        return out

    def _product(self) -> Matvec:
        if not self._matvec:
            self._matvec.append(Matvec(self.shape, self.offsets, self.diagonals))
        return self._matvec[0]

    def toarray(self) -> Array:
        """Return the matrix as a dense array."""
        result = np.zeros(self.shape, dtype=self.dtype)
        for offset, values in zip(self.offsets, self.diagonals, strict=True):
            t = np.arange(values.size)
            result[t + max(0, -offset), t + max(0, offset)] = values
        return result

    @checked
    def to_scipy(self, format: str = "dia") -> Any:  # noqa: A002, ANN401  (SciPy's name)
        """Return the matrix as a SciPy sparse array of any format; stored zeros go where the format has none."""
        sparse = _scipy("sparse")
        rows, columns = self.shape
        padded = np.zeros((len(self.offsets), columns), dtype=self.dtype)
        for row, offset, values in zip(padded, self.offsets, self.diagonals, strict=True):
            row[max(0, offset) : max(0, offset) + values.size] = values
        index = np.int32 if max(self.size, *self.shape) < 2**31 else np.int64
        matrix = sparse.dia_array((padded, np.array(self.offsets, dtype=index)), shape=(rows, columns))
        try:
            return matrix.asformat(format)
        except ValueError:
            raise UsageError(f"SciPy has no sparse format {format!r}", "csr, csc, coo, dia and bsr are some") from None

    def linear_operator(self) -> Any:  # noqa: ANN401
        """Return a ``scipy.sparse.linalg.LinearOperator`` for SciPy's solvers."""
        back = self.T
        return _scipy("sparse.linalg").LinearOperator(
            self.shape, matvec=self.matvec, rmatvec=back.matvec, matmat=self.matvec, dtype=self.dtype
        )

    def to_dict(self) -> dict[str, object]:
        """Return what the matrix is, without its elements, as plain data."""
        return {
            "shape": list(self.shape),
            "dtype": str(self.dtype),
            "offsets": list(self.offsets),
            "elements": self.size,
            "bytes": self.nbytes,
            "padding_saved": self.padding,
        }

    def __repr__(self) -> str:
        rows, columns = self.shape
        return (
            f"<Dia {rows} x {columns}, {self.dtype}, diagonals {list(self.offsets)}: {self.size} elements, "
            f"{format_bytes(self.nbytes)}, {self.padding} of padding saved>"
        )

    def _repr_html_(self) -> str:
        return small_page(repr(self))


def _scipy(part: str) -> Any:  # noqa: ANN401
    with needed("scipy", "this conversion", extra="sparse"):
        return importlib.import_module(f"scipy.{part}")


def _shape(shape: Sequence[int]) -> tuple[int, int]:
    if len(shape) != 2 or any(int(extent) != extent or extent < 0 for extent in shape):
        raise UsageError(f"a matrix has a number of rows and one of columns, got {tuple(shape)!r}")
    return int(shape[0]), int(shape[1])


def _kind(dtype: npt.DTypeLike | None, arrays: Any) -> np.dtype[Any]:  # noqa: ANN401
    try:
        kind = np.dtype(dtype) if dtype is not None else np.result_type(*(each.dtype for each in arrays), np.float32)
    except (TypeError, ValueError):
        raise UsageError(f"sparse matrices hold {' or '.join(DTYPES)}, got {dtype!r:.60}") from None
    kind = kind.newbyteorder("=")
    if dtype is None and kind.kind in "fiub":
        kind = np.dtype("float32") if kind == np.float32 and _floats(arrays) else np.dtype("float64")
    if str(kind) not in DTYPES:
        raise UsageError(f"sparse matrices hold {' or '.join(DTYPES)}, got {kind}")
    return kind


def _floats(arrays: Any) -> bool:  # noqa: ANN401
    return any(each.dtype.kind == "f" for each in arrays)


def _triples(matrix: Any) -> tuple[Array, Array, Array, tuple[int, int]]:  # noqa: ANN401
    """Return rows, columns, values and the shape of any matrix."""
    if hasattr(matrix, "tocoo"):
        coo = matrix.tocoo()
        return coo.row, coo.col, coo.data, (int(coo.shape[0]), int(coo.shape[1]))
    dense = real_numbers(matrix, "the matrix")
    if dense.ndim != 2:
        raise UsageError(f"expected a matrix of real numbers, got {type(matrix).__name__} of shape {dense.shape}")
    rows, columns = np.nonzero(dense)
    return rows, columns, dense[rows, columns], (dense.shape[0], dense.shape[1])


def _into(out: Array, product: Array, *, add: bool) -> Array:
    if not isinstance(out, np.ndarray) or out.shape != product.shape:
        raise ArrayError(f"out must be an array of shape {product.shape}")
    out[...] = out + product if add else product
    return out
