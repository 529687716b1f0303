"""Sizes that are the same on every machine here, so that texts, tiles and models take them from one place."""

WORD = 4
"""Bytes of a word, in which the papers count traffic and on-chip memory."""
CACHE_LINE = 64
"""Bytes of a cache line of a CPU, and of its widest vector."""
PAGE = 4096
"""Bytes of a page of memory."""
WARP = 32
"""Threads of a GPU that execute one instruction together."""
BANKS = 32
"""Banks of a GPU's shared memory, each a word wide."""
MAX_BLOCK_THREADS = 1024
"""Threads that a thread block has at most in CUDA."""
STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a thread block has without asking for more when it is launched."""
ALIGNMENT_LANES = 64
"""Lanes to which the columns of an alignment's tile are dealt: 8-bit scores in the widest vectors of a CPU."""
MAX_SM_THREADS = 2048
"""Threads that a GPU's multiprocessor holds where its machine does not say."""
REGISTER_UNIT, WARP_UNIT = 8, 4
"""Registers of a thread, and warps of a block, in multiples of which a multiprocessor of NVIDIA gives registers out."""
MOST_REGISTERS = 255
"""32-bit registers that a thread of an NVIDIA GPU has at most."""
REGISTERS = 2**16
"""32-bit registers of a GPU's multiprocessor where its machine does not say: of every NVIDIA GPU since 2012."""
WIDEST_VECTOR = 64
"""Bytes of the widest vector registers (AVX-512)."""
