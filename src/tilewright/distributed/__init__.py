"""Grids beyond memory and beyond one machine: slabs that stream from disk, blocks of MPI ranks, Dask's chunks.

All of them cut a grid into boxes that run for several steps on their own, see :mod:`tilewright.distributed.windows`.
:class:`Array` is an array over the ranks of MPI; it is loaded on first use.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.distributed.rank_arrays import Array as Array

__all__ = ["Array"]


def __getattr__(name: str) -> object:
    """Load the array class on first use (PEP 562)."""
    if name != "Array":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tilewright.distributed import rank_arrays

    return rank_arrays.Array
