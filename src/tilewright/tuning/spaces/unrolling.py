"""The blocking of products and the unrolling of diagonals where nobody has measured others.

Rules of thumb, from measurements on a CPU with AVX-512 and on one with AVX2.
"""

from tilewright.schedules.code import Blocking, Unrolling

CG_BLOCK = 4096
"""Rows of a matrix that an iteration of conjugate gradients multiplies at a time."""


def blocking(simd_bits: int) -> Blocking:
    """Return the register blocking of products: 32 wide registers with AVX-512, 16 otherwise.

    >>> blocking(256).rows
    4
    """
    return Blocking(rows=8 if simd_bits >= 512 else 4, vectors=3, depth=128)


def unrolling() -> Unrolling:
    """Return the unrolling of diagonals: two vectors, and as many diagonals per pass as a CPU follows streams."""
    return Unrolling(vectors=2, depth=8, block=1024)
