"""Micro-benchmarks of single operations for a GPU's power meter, in the common text of OpenCL C and CUDA C++.

Every thread does one operation over and over. Chains of registers that only this thread knows begin with numbers that
the compiler does not know, every result goes into the next, and what comes out is stored, so that nothing can be left
out or merged: additions in turn take and give back, since rounding forbids to join them; whole numbers are added to
each other's sums; maxima and minima alternate. Accesses to the chip and to memory change their place from turn to turn.
Source of the method: Prajapati, thesis, section B.7.
"""

from tilewright.codegen.print.gpu_prelude import prelude
from tilewright.codegen.source import EntryPoint, KernelSource

THREADS = 128
ACCESSES = 64
"""Loads or stores of a thread per turn."""
CHUNK = THREADS * ACCESSES
"""Cells that a group passes per turn."""
CHIP_BYTES = 4 * THREADS * (ACCESSES + 1)
OPERANDS = 12
"""Numbers that every thread of arithmetic starts from: four that are put in, eight that change."""
PER_TURN = {
    "awake": 32, "add": 128, "multiply": 128, "fma": 128, "int_add": 128, "int_max": 128, "divide": 16,
    "shared_load": ACCESSES, "shared_store": ACCESSES, "load": ACCESSES, "store": ACCESSES, "barrier": 16,
}  # fmt: skip
"""The kernels in order, and the operations of a thread per turn; those of ``awake`` are one thread's of a group."""
_NUMBERS = ("turns", "chunks", "groups")
_PARAMS = "(TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups)"

_HEAD = """#define TW_ADD(k, next, c) ((k) + (c))
#define TW_MUL(k, next, c) ((k) * (c))
#define TW_FMA(k, next, c) ((k) * (c) + c3)
#define TW_IADD(k, next, c) ((k) + (next))
#define TW_IMAX(k, next, c) ((k) > (c) ? (k) : (c))
#define TW_IMIN(k, next, c) ((k) < (c) ? (k) : (c))
#define TW_DIV(k, next, c) ((k) / (c))
#define TW_EIGHT(OP, c) k0 = OP(k0, k1, c); k1 = OP(k1, k2, c); k2 = OP(k2, k3, c); k3 = OP(k3, k4, c); \\
  k4 = OP(k4, k5, c); k5 = OP(k5, k6, c); k6 = OP(k6, k7, c); k7 = OP(k7, k0, c);
#define TW_FOUR(A, B) TW_EIGHT(A, c0) TW_EIGHT(B, c1) TW_EIGHT(A, c2) TW_EIGHT(B, c3)
#define TW_KNOWN(T) const T c0 = (T)source[0], c1 = (T)source[1], c2 = (T)source[2], c3 = (T)source[3];
#define TW_START(T) T k0 = (T)source[4], k1 = (T)source[5], k2 = (T)source[6], k3 = (T)source[7], \\
  k4 = (T)source[8], k5 = (T)source[9], k6 = (T)source[10], k7 = (T)source[11];
#define TW_ZERO float k0 = 0.0f, k1 = 0.0f, k2 = 0.0f, k3 = 0.0f, k4 = 0.0f, k5 = 0.0f, k6 = 0.0f, k7 = 0.0f;
#define TW_TURNS TW_UNROLL_BY(1) for (int turn = 0; turn < turns; ++turn)
#define TW_KEEP target[TW_GROUP * THREADS + TW_THREAD] = (float)(k0 + k1 + k2 + k3 + k4 + k5 + k6 + k7);
#define TW_LOADS(at, n) k0 += at[(n) * THREADS]; k1 += at[(n + 1) * THREADS]; k2 += at[(n + 2) * THREADS]; \\
  k3 += at[(n + 3) * THREADS]; k4 += at[(n + 4) * THREADS]; k5 += at[(n + 5) * THREADS]; \\
  k6 += at[(n + 6) * THREADS]; k7 += at[(n + 7) * THREADS];
#define TW_STORES(at, n) at[(n) * THREADS] = k0; at[(n + 1) * THREADS] = k1; at[(n + 2) * THREADS] = k2; \\
  at[(n + 3) * THREADS] = k3; at[(n + 4) * THREADS] = k4; at[(n + 5) * THREADS] = k5; \\
  at[(n + 6) * THREADS] = k6; at[(n + 7) * THREADS] = k7;
#define TW_ALL(X, at) X(at, 0) X(at, 8) X(at, 16) X(at, 24) X(at, 32) X(at, 40) X(at, 48) X(at, 56)
#define TW_CHIP TW_SHARED float chip[THREADS * (ACCESSES + 1)];
#define TW_SLOT (chip + (turn & 1) * THREADS + TW_THREAD)
"""
_AWAKE = """TW_KERNEL(THREADS) tw_energy_awake PARAMS {
  TW_KNOWN(float)
  float k = source[4];
  if (TW_THREAD == 0) {
    TW_TURNS {
      REPEATED
    }
    target[TW_GROUP * THREADS] = k;
  }
}
"""
_ARITHMETIC = """TW_KERNEL(THREADS) tw_energy_NAME PARAMS {
  TW_KNOWN(TYPE)
  TW_START(TYPE)
  TW_TURNS {
    REPEATED
  }
  TW_KEEP
}
"""
_SHARED_LOAD = """TW_KERNEL(THREADS) tw_energy_shared_load PARAMS {
  TW_CHIP
  for (int slot = 0; slot <= ACCESSES; ++slot)
    chip[slot * THREADS + TW_THREAD] = source[slot * THREADS + TW_THREAD];
  TW_BARRIER();
  TW_ZERO
  TW_TURNS {
    TW_LOCAL const float *const at = TW_SLOT;
    TW_ALL(TW_LOADS, at)
  }
  TW_KEEP
}
"""
_SHARED_STORE = """TW_KERNEL(THREADS) tw_energy_shared_store PARAMS {
  TW_CHIP
  TW_START(float)
  TW_TURNS {
    TW_LOCAL float *const at = TW_SLOT;
    TW_ALL(TW_STORES, at)
  }
  target[TW_GROUP * THREADS + TW_THREAD] = turns > 0 ? chip[turns % ACCESSES * THREADS + TW_THREAD] : 0.0f;
}
"""
_LOAD = """TW_KERNEL(THREADS) tw_energy_load PARAMS {
  int chunk = (int)((tw_wide)TW_GROUP * chunks / groups);
  TW_ZERO
  TW_TURNS {
    TW_GLOBAL const float *const at = source + (tw_wide)chunk * CHUNK + TW_THREAD;
    TW_ALL(TW_LOADS, at)
    chunk = chunk + 1 < chunks ? chunk + 1 : 0;
  }
  TW_KEEP
}
"""
_STORE = """TW_KERNEL(THREADS) tw_energy_store PARAMS {
  int chunk = TW_GROUP;
  TW_START(float)
  TW_TURNS {
    TW_GLOBAL float *const at = target + (tw_wide)chunk * CHUNK + TW_THREAD;
    TW_ALL(TW_STORES, at)
    chunk = chunk + groups < chunks ? chunk + groups : TW_GROUP;
  }
}
"""
_BARRIER = """TW_KERNEL(THREADS) tw_energy_barrier PARAMS {
  TW_TURNS {
    REPEATED
  }
  target[TW_GROUP * THREADS + TW_THREAD] = (float)turns + source[0];
}
"""
_STEPS = {
    "add": ("float", "TW_FOUR(TW_ADD, TW_ADD)", 4),
    "multiply": ("float", "TW_FOUR(TW_MUL, TW_MUL)", 4),
    "fma": ("float", "TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1)", 8),
    "int_add": ("unsigned int", "TW_FOUR(TW_IADD, TW_IADD)", 4),
    "int_max": ("int", "TW_FOUR(TW_IMAX, TW_IMIN)", 4),
    "divide": ("float", "TW_EIGHT(TW_DIV, c0) TW_EIGHT(TW_DIV, c1)", 1),
}
"""Type, statements and how often they stand in a turn."""


def energy_source(dialect: str) -> KernelSource[None]:
    """Return the text of the kernels of :data:`PER_TURN`, in this order.

    Each takes the pointers ``target`` and ``source`` and the numbers ``turns``, ``chunks`` (of :data:`CHUNK` cells that
    are loaded or stored) and ``groups`` (how many are started). Arithmetic starts from ``source[0 … OPERANDS - 1]``;
    all but ``store`` write one cell per thread.

    Raises:
        UsageError: If there is no such dialect.
    """
    text = _HEAD + "".join(_texts())
    for name, value in (("PARAMS", _PARAMS), ("THREADS", THREADS), ("ACCESSES", ACCESSES), ("CHUNK", CHUNK)):
        text = text.replace(name, str(value))
    text = prelude(dialect) + text
    kernels = tuple(
        EntryPoint(
            entry=f"tw_energy_{name}",
            threads=THREADS,
            numbers=_NUMBERS,
            shared_bytes=CHIP_BYTES if name.startswith("shared") else 0,
        )
        for name in PER_TURN
    )
    return KernelSource(text=text, dialect=dialect, kernels=kernels, layout=None)


def _texts() -> list[str]:
    awake = " ".join(f"k = TW_ADD(k, k, c{number % 4});" for number in range(PER_TURN["awake"]))
    found = [_AWAKE.replace("REPEATED", awake)]
    for name, (kind, steps, times) in _STEPS.items():
        text = _ARITHMETIC.replace("NAME", name).replace("TYPE", kind)
        found.append(text.replace("REPEATED", " ".join([steps] * times)))
    barriers = " ".join(["TW_BARRIER();"] * PER_TURN["barrier"])
    return [*found, _SHARED_LOAD, _SHARED_STORE, _LOAD, _STORE, _BARRIER.replace("REPEATED", barriers)]
