"""OpenCL and CUDA kernels of matrices of diagonals and of Krylov methods' vector operations.

One text for both, with a thin layer of macros. Every loop advances by the whole grid, and every element is read at the
loop's own index, so vectors may be longer than the grid (the published example reads at the thread's number instead).
Sums are reduced within a group through shared memory and finished on the device by one more group.
"""

from tilewright.base.constants import MAX_BLOCK_THREADS
from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.matrices.vectors import VectorKernel
from tilewright.codegen.print.elements import GPU_ELEMENTS, REALS
from tilewright.codegen.print.gpu_prelude import DIALECTS
from tilewright.codegen.source import EntryPoint, KernelSource


def emit_dia_gpu(dtype: str, dialect: str, threads: int, unroll: int) -> KernelSource[None]:
    """Write y = A x for any matrix of diagonals; the transposed one has other offsets and starts.

    Arguments: the diagonals' elements one after the other, per diagonal its start among them and its offset (64-bit
    integers), x, y, and the numbers of rows, columns and diagonals (64-bit).

    Args:
        dtype: ``float32`` or ``float64``.
        dialect: ``opencl`` or ``cuda``.
        threads: Threads of a group.
        unroll: Diagonals per iteration of the inner loop.

    Returns:
        The source.

    Raises:
        UsageError: If there is no such kernel.
    """
    entry = f"tw_dia_gpu_{fingerprint(dtype, dialect, threads, unroll, _DIA)[:12]}"
    head = _head(dtype, dialect, threads)
    text = _DIA.replace("ENTRY", entry).replace("UNROLLED", f"#pragma unroll {unroll}" if unroll > 1 else "")
    return _source(head + text, dtype, dialect, threads, entry)


def emit_vectors_gpu(what: VectorKernel, dtype: str, dialect: str, threads: int) -> KernelSource[None]:
    """Write a vector kernel.

    Arguments: the vectors, the scalars, where the groups' sums go (as many elements as groups times sums) if there are
    any, and the length (64-bit). The finishing kernel takes those sums and the number of groups (an int), and leaves
    the totals in the first elements.

    Args:
        what: The kernel.
        dtype: ``float32`` or ``float64``.
        dialect: ``opencl`` or ``cuda``.
        threads: Threads of a group, a power of two.

    Returns:
        The source: the kernel to start with any number of groups, and, where there are sums, the one to start
        afterwards with one group.

    Raises:
        UsageError: If there is no such kernel.
    """
    if threads & (threads - 1):
        raise UsageError(f"sums are halved, so the threads of a group are a power of two, got {threads}")
    entry = f"tw_vectors_gpu_{fingerprint(what, dtype, dialect, threads, _VECTORS, _SUM)[:12]}"
    vectors = ", ".join(f"GLOBAL {'' if name in what.written else 'const '}real *p_{name}" for name in what.vectors)
    scalars = "".join(f", real {name}" for name in what.scalars)
    work, number = [f"real {name} = p_{name}[i];" for name in what.read], 0
    declared = set(what.read)
    for each in what.operations:
        if each.target:
            work.append(f"{'' if each.target in declared else 'real '}{each.target} = {each.formula};")
            declared.add(each.target)
        else:
            work.append(f"t{number} += {each.formula};")
            number += 1
    work += [f"p_{name}[i] = {name};" for name in what.written]
    sums = range(what.sums)
    text = _VECTORS.format(
        entry=entry,
        arguments=vectors + scalars + (", GLOBAL real *part" if what.sums else ""),
        shared="SHARED real chip[THREADS];" if what.sums else "",
        zeros=" ".join(f"real t{k} = 0;" for k in sums),
        work=" ".join(work),
        totals="\n".join(
            f"  t{k} = total(chip, t{k});\n  if (THREAD == 0) part[GROUP * {what.sums} + {k}] = t{k};" for k in sums
        ),
    )
    head = _head(dtype, dialect, threads)
    if not what.sums:
        return _source(head + text, dtype, dialect, threads, entry)
    finish = f"{entry}_finish"
    last = _FINISH.replace("FINISH", finish).replace("SUMS", str(what.sums))
    return _source(head + _SUM + text + last, dtype, dialect, threads, entry, finish)


def _source(text: str, dtype: str, dialect: str, threads: int, *entries: str) -> KernelSource[None]:
    return KernelSource(
        text=text,
        dialect=dialect,
        kernels=tuple(EntryPoint(entry=entry, threads=threads) for entry in entries),
        layout=None,
        double=dtype == "float64",
    )


def _head(dtype: str, dialect: str, threads: int) -> str:
    if dialect not in DIALECTS or dtype not in REALS:
        raise UsageError(
            f"there is no sparse kernel for {dtype!r} in {dialect!r}",
            f"types are {', '.join(REALS)}, dialects {', '.join(DIALECTS)}",
        )
    if not 1 <= threads <= MAX_BLOCK_THREADS:
        raise UsageError(f"a group has 1 to {MAX_BLOCK_THREADS} threads, got {threads}")
    double = dialect == "opencl" and dtype == "float64"
    extension = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if double else ""
    return f"{extension}{_DIALECT[dialect]}\ntypedef {GPU_ELEMENTS[dtype]} real;\n#define THREADS {threads}\n"


_DIALECT = {
    "opencl": """#define KERNEL __kernel void
#define DEVICE inline
#define GLOBAL __global
#define SHARED __local
#define POINTS_SHARED __local
#define GROUP ((int)get_group_id(0))
#define GROUPS ((int)get_num_groups(0))
#define THREAD ((int)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
typedef long wide;""",
    "cuda": """#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define POINTS_SHARED
#define GROUP ((int)blockIdx.x)
#define GROUPS ((int)gridDim.x)
#define THREAD ((int)threadIdx.x)
#define BARRIER __syncthreads()
typedef long long wide;""",
}

_DIA = """
/* A row per turn of a thread: neighbours in the group read neighbours of every diagonal. */
KERNEL ENTRY(GLOBAL const real *values, GLOBAL const wide *start, GLOBAL const wide *offset, GLOBAL const real *x,
             GLOBAL real *y, wide rows, wide columns, wide diagonals) {
  for (wide i = (wide)GROUP * THREADS + THREAD; i < rows; i += (wide)GROUPS * THREADS) {
    real s = 0;
UNROLLED
    for (wide d = 0; d < diagonals; ++d) {
      const wide column = i + offset[d];
      if (column >= 0 && column < columns) s += values[start[d] + (column < i ? column : i)] * x[column];
    }
    y[i] = s;
  }
}
"""

_SUM = """
/* The sum of a value over the threads of a group, for thread 0. */
DEVICE real total(POINTS_SHARED real *chip, real value) {
  chip[THREAD] = value;
  BARRIER;
  for (int span = THREADS / 2; span > 0; span /= 2) {
    if (THREAD < span) chip[THREAD] += chip[THREAD + span];
    BARRIER;
  }
  const real all = chip[0];
  BARRIER;
  return all;
}
"""

_VECTORS = """
KERNEL {entry}({arguments}, wide n) {{
  {shared}
  {zeros}
  for (wide i = (wide)GROUP * THREADS + THREAD; i < n; i += (wide)GROUPS * THREADS) {{ {work} }}
{totals}
}}
"""

_FINISH = """
KERNEL FINISH(GLOBAL real *part, int groups) {
  SHARED real chip[THREADS];
  for (int k = 0; k < SUMS; ++k) {
    real t = 0;
    for (int g = THREAD; g < groups; g += THREADS) t += part[g * SUMS + k];
    t = total(chip, t);
    if (THREAD == 0) part[k] = t;
  }
}
"""
