"""The residual of the Bratu problem on a 2D grid (PETSc's SNES example 5), and the main diagonal of its Jacobian.

Inside, f = (2u - u_w - u_e) hy/hx + (2u - u_n - u_s) hx/hy - hx hy lambda exp(u); on the boundary
f = 2 (hy/hx + hx/hy) u, and neighbours there count as zero, as in the example, which makes the Jacobian symmetric.
The exponential is computed in vectors, within one unit in the last place or so: Cody and Waite's reduction to
|r| <= ln(2)/2 and Taylor's polynomial, whose remainder is below a tenth of a unit.
"""

import math

from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.matrices.dia import vector_head
from tilewright.codegen.source import KernelSource, c_source

SIZES = ("rows", "columns", "threads", "stream", "diagonal")
"""What ``size`` holds; ``diagonal`` asks for the Jacobian's main diagonal instead of the residual."""
_EXP = {
    # degree, bits of the fraction, magic number that rounds, bounds beyond which the result is 0 or infinite, ln 2
    "float64": (13, 52, "0x1.8p52", "800.0", "0x1.62e42fefa0000p-1", "0x1.cf79abc9e3b3ap-40"),
    "float32": (7, 23, "0x1.8p23f", "150.0f", "0x1.62e400p-1f", "0x1.7f7d1cp-20f"),
}


def emit_bratu(dtype: str, vector_bytes: int, vectors: int) -> KernelSource[None]:
    """Write the kernel.

    ``array`` holds u, the result and a row of zeros; ``size`` what :data:`SIZES` says; the last argument points to
    hy/hx, hx/hy and hx hy lambda, as doubles.

    Args:
        dtype: ``float32`` or ``float64``.
        vector_bytes: Bytes per vector register.
        vectors: Registers of cells per iteration.

    Returns:
        The source.

    Raises:
        UsageError: If C kernels do not compute in that type.
    """
    head = vector_head(dtype, vector_bytes)
    entry = f"tw_bratu_{fingerprint(dtype, vector_bytes, vectors, _TEXT, _EXPONENTIAL, head)[:12]}"
    text = _TEXT.format(
        entry=entry,
        step=vectors,
        values="\n".join(f"    const vec v{v} = cells(u, n, s, i + {v} * LANES, k, diagonal);" for v in range(vectors)),
        past=" ".join(f"past(f + i + {v} * LANES, v{v});" for v in range(vectors)),
        plain=" ".join(f"*(vec *)(f + i + {v} * LANES) = v{v};" for v in range(vectors)),
    )
    return c_source("\n".join([head, exponential(dtype), text]), entry)


def exponential(dtype: str) -> str:
    """Write the function ``exponential`` on vectors of a type."""
    degree, bits, magic, bound, high, low = _EXP[dtype]
    suffix = "f" if dtype == "float32" else ""
    terms = [f"(real){(1 / math.factorial(k)).hex()}" for k in range(degree, -1, -1)]
    return _EXPONENTIAL.format(
        bits=bits,
        bias={52: 1023, 23: 127}[bits],
        magic=magic,
        bound=bound,
        high=high,
        low=low,
        log2e=f"{math.log2(math.e).hex()}{suffix}",
        first=terms[0],
        rest="\n".join(f"  p = p * r + {term};" for term in terms[1:]),
    )


_EXPONENTIAL = """
static inline vec choose(lanes mask, vec a, vec b) {{ return (vec)(((lanes)a & mask) | ((lanes)b & ~mask)); }}
static inline vec exponential(vec x) {{
  const vec zero = {{0}}, most = zero + {bound};
  x = choose(x > most, most, x);
  x = choose(x < -most, -most, x);
  const vec shifted = x * {log2e} + {magic}, n = shifted - {magic};
  const vec r = (x - n * {high}) - n * {low};
  vec p = zero + {first};
{rest}
  /* 2^n in two factors: it may be a subnormal number or overflow */
  const lanes whole = (lanes)shifted - (lanes)(zero + {magic}), half = whole >> 1;
  p *= (vec)((half + {bias}) << {bits});
  return p * (vec)((whole - half + {bias}) << {bits});
}}"""

_TEXT = """
struct weights {{ real east, north, source; }};
/* One vector of cells, inside; n and s are the rows above and below. */
static inline vec cells(const real *u, const real *n, const real *s, int64_t i, struct weights k, const int diagonal) {{
  const vec c = *(const vec *)(u + i), e = exponential(c);
  if (diagonal) return (2 * (k.east + k.north)) - k.source * e;
  const vec w = *(const vec *)(u + i - 1), o = *(const vec *)(u + i + 1);
  const vec a = *(const vec *)(n + i), b = *(const vec *)(s + i);
  return (2 * c - w - o) * k.east + (2 * c - a - b) * k.north - k.source * e;
}}
static inline real cell(const real *u, const real *n, const real *s, int64_t i, int64_t columns, struct weights k,
                        const int diagonal) {{
  const real w = i > 1 ? u[i - 1] : 0, o = i + 2 < columns ? u[i + 1] : 0;
  vec c = {{0}};
  c[0] = u[i];
  const real e = exponential(c)[0];
  if (diagonal) return 2 * (k.east + k.north) - k.source * e;
  return (2 * u[i] - w - o) * k.east + (2 * u[i] - n[i] - s[i]) * k.north - k.source * e;
}}
static inline __attribute__((always_inline)) void row(const real *u, const real *n, const real *s, real *f,
    int64_t columns, struct weights k, const int stream, const int diagonal) {{
  const real edge = 2 * (k.east + k.north);
  int64_t i = 1;
  f[0] = diagonal ? edge : edge * u[0];
  if (columns > 2) f[i] = cell(u, n, s, i, columns, k, diagonal);
  ++i;
  if (stream)
    for (; i + 2 < columns && ((uintptr_t)(f + i) & (BYTES - 1)); ++i) f[i] = cell(u, n, s, i, columns, k, diagonal);
  for (; i + {step} * LANES + 1 < columns; i += {step} * LANES) {{
{values}
    if (stream) {{ {past} }} else {{ {plain} }}
  }}
  for (; i + 1 < columns; ++i) f[i] = cell(u, n, s, i, columns, k, diagonal);
  if (columns > 1) f[columns - 1] = diagonal ? edge : edge * u[columns - 1];
}}
static void rows(const real *u, real *f, const real *none, int64_t from, int64_t to, const int64_t *size,
                 struct weights k) {{
  const int64_t high = size[0], wide = size[1];
  const real edge = 2 * (k.east + k.north);
  for (int64_t j = from; j < to; ++j) {{
    const real *c = u + j * wide, *n = j > 1 ? c - wide : none, *s = j + 2 < high ? c + wide : none;
    real *t = f + j * wide;
    if (j == 0 || j == high - 1) {{
      for (int64_t i = 0; i < wide; ++i) t[i] = size[4] ? edge : edge * c[i];
    }} else if (size[4]) {{
      size[3] ? row(c, n, s, t, wide, k, 1, 1) : row(c, n, s, t, wide, k, 0, 1);
    }} else {{
      size[3] ? row(c, n, s, t, wide, k, 1, 0) : row(c, n, s, t, wide, k, 0, 0);
    }}
  }}
  if (size[3]) settle();
}}

void {entry}(void *const *array, const int64_t *size, void *work, const double *weight) {{
  (void)work;
  const struct weights k = {{(real)weight[0], (real)weight[1], (real)weight[2]}};
#ifdef _OPENMP
  if (size[2] > 1) {{
#pragma omp parallel num_threads((int)size[2])
    {{
      const int64_t t = omp_get_thread_num(), all = omp_get_num_threads();
      rows(array[0], array[1], array[2], size[0] * t / all, size[0] * (t + 1) / all, size, k);
    }}
    return;
  }}
#endif
  rows(array[0], array[1], array[2], 0, size[0], size, k);
}}
"""
