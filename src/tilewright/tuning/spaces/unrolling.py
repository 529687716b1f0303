"""The blocking of products, the unrolling of diagonals and the form of tables where nobody has measured others.

Rules of thumb, from measurements on a CPU with AVX-512 and on one with AVX2.
"""

from tilewright.schedules.code import Blocking, TableShape, Unrolling
from tilewright.schedules.tiling import Tiling

CG_BLOCK = 4096
"""Rows of a matrix that an iteration of conjugate gradients multiplies at a time."""
KEPT_DIAGONALS = 16
"""Anti-diagonals after which a wanted table's cells are copied into it: a line of cells of 4 bytes at a time."""
_CHIP_BYTES = 16 * 1024
"""Matrices up to this size are copied to a GPU's shared memory, where they leave room for what tiles hand on."""


def blocking(simd_bits: int) -> Blocking:
    """Return the register blocking of products: 32 wide registers with AVX-512, 16 otherwise.

    >>> blocking(256).rows
    4
    """
    return Blocking(rows=8 if simd_bits >= 512 else 4, vectors=3, depth=128)


def unrolling() -> Unrolling:
    """Return the unrolling of diagonals: two vectors, and as many diagonals per pass as a CPU follows streams."""
    return Unrolling(vectors=2, depth=8, block=1024)


def table_shape(tiling: Tiling, matrix_bytes: int) -> TableShape:
    """Return what of a table's tile, one sub-tile for each thread, decides a GPU's kernel."""
    chip = 0 < matrix_bytes <= _CHIP_BYTES
    return TableShape(threads=tiling.space[0] // tiling.sub[0], sub=tiling.sub[0], chip=chip)
