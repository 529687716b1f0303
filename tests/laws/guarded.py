"""Kernels of recurrences in arrays that end, or begin, at pages which nobody may touch; run as a program.

    python -m tests.laws.guarded SEED FIRST STOP

An access outside of an array or of a thread's memory ends the process; the last line says which case it was.
"""

import ctypes
import itertools
import math
import mmap
import sys
from types import SimpleNamespace

import numpy as np

from tilewright.workloads.tables import call as table

from . import test_random_tables as law

_LIBC = ctypes.CDLL(None, use_errno=True)
_KEPT: list[mmap.mmap] = []
_ENDS = itertools.cycle((True, False, True))


def guarded(shape, dtype) -> np.ndarray:
    """An array of NaNs, or of -1, between two pages that cannot be touched."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    size, page = math.prod(shape) * np.dtype(dtype).itemsize, mmap.PAGESIZE
    room = -(-size // page) * page
    pages = mmap.mmap(-1, room + 2 * page)
    _KEPT.append(pages)
    whole = np.frombuffer(pages, np.uint8)
    whole[:] = 0xFF
    for at in (0, page + room):
        assert _LIBC.mprotect(ctypes.c_void_p(whole.ctypes.data + at), ctypes.c_size_t(page), 0) == 0
    start = page + (room - size if next(_ENDS) else 0)
    return whole[start : start + size].view(dtype).reshape(shape)


def filled(shape, value, dtype) -> np.ndarray:
    """The same with a value."""
    array = guarded(shape, dtype)
    array[...] = value
    return array


class Arrays(SimpleNamespace):
    """NumPy as the kernel's caller uses it; new arrays are guarded."""

    def __getattr__(self, name):
        return getattr(np, name)


def main() -> None:
    """Run some cases."""
    seed, first, stop = map(int, sys.argv[1:])
    table.np = Arrays(
        empty=guarded,
        zeros=lambda shape, dtype: filled(shape, 0, dtype),
        full=filled,
        ascontiguousarray=lambda array: filled(array.shape, array, array.dtype),
    )
    table.scratch = lambda size, _results: guarded(size, np.uint8)
    for index in range(first, stop):
        sys.stdout.write(f"seed {seed}, case {index}\n")
        sys.stdout.flush()
        wrong = law.agree(seed, index)
        assert not wrong, wrong
        assert _KEPT, "the kernel's memory was not guarded"
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
