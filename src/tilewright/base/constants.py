"""Sizes that are the same on every machine here, so that texts, tiles and models take them from one place."""

WORD = 4  # bytes of a word, in which the papers count traffic and on-chip memory
CACHE_LINE = 64  # bytes of a cache line of a CPU, and of its widest vector
PAGE = 4096  # bytes of a page of memory
WARP = 32  # threads of a GPU that execute one instruction together
SECTOR = 32  # bytes that a GPU moves at least between memory, L2 and a multiprocessor
BANKS = 32  # banks of a GPU's shared memory, each a word wide
MAX_BLOCK_THREADS = 1024  # threads that a thread block has at most in CUDA
STATIC_SHARED = 48 * 1024  # bytes of shared memory that a thread block has without asking for more when it is launched
ALIGNMENT_LANES = 64
"""Lanes to which the columns of an alignment's tile are dealt: 8-bit scores in the widest vectors of a CPU."""
MAX_SM_THREADS = 2048  # threads that a GPU's multiprocessor holds where its machine does not say
REGISTER_UNIT, WARP_UNIT = 8, 4
"""Registers of a thread, and warps of a block, in multiples of which a multiprocessor of NVIDIA gives registers out."""
MOST_REGISTERS = 255  # 32-bit registers that a thread of an NVIDIA GPU has at most
REGISTERS = 2**16
"""32-bit registers of a GPU's multiprocessor where its machine does not say: of every NVIDIA GPU since 2012."""
STREAM_REGISTERS, STREAM_CELL_REGISTERS = 52, {2: 2, 3: 3}
"""Registers of a GPU's thread in a streaming tile besides the values that it keeps, and further ones per cell, by rank:
those of NVRTC's code."""
STREAM_EDGE_REGISTERS = 40  # further ones where reads leave the grid at other edges than ``fixed`` ones
SAFE_REGISTERS = 240  # registers of a GPU's thread beyond which another compiler might spill
MOST_WRITTEN = 2000  # reads up to which a kernel of a tile is written out; beyond, it is slow to compile and to run
PLANE_READS = 16
"""Reads per cell above which a CPU's registers do not hold the results of four planes and what they read."""
WIDEST_VECTOR = 64  # bytes of the widest vector registers (AVX-512)
