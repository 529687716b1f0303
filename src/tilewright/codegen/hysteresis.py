"""Hysteresis in C: what is connected to a strong cell through weak ones; no stencil, since it reaches any distance."""

from tilewright.codegen.print.elements import C_ELEMENTS
from tilewright.codegen.source import KernelSource, c_source

TEXT = """#include <stdint.h>
#include <string.h>
typedef {type} real;
/* array: values (rows size[2] elements apart), edges (bytes), stack (one int64 per cell); scalar: low, high.
   An edge is a cell of at least `high`, or one of at least `low` with an edge among its eight neighbours. */
void tw_hysteresis(void *const *array, const int64_t *size, char *unused, const double *scalar) {{
  const real *value = array[0];
  uint8_t *edge = array[1];
  int64_t *stack = array[2];
  const int64_t rows = size[0], columns = size[1], stride = size[2];
  const real low = (real)scalar[0], high = (real)scalar[1];
  (void)unused;
  memset(edge, 0, (size_t)(rows * columns));
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x) {{
      const real first = value[y * stride + x];
      if (!(first > 0 && first >= high && first >= low) || edge[y * columns + x]) continue;
      int64_t top = 0;
      stack[top++] = y * columns + x;
      edge[y * columns + x] = 255;
      while (top) {{
        const int64_t at = stack[--top], cy = at / columns, cx = at % columns;
        for (int64_t v = cy ? cy - 1 : 0; v <= cy + 1 && v < rows; ++v)
          for (int64_t u = cx ? cx - 1 : 0; u <= cx + 1 && u < columns; ++u) {{
            const real near = value[v * stride + u];
            if (!edge[v * columns + u] && near > 0 && near >= low) {{
              edge[v * columns + u] = 255;
              stack[top++] = v * columns + u;
            }}
          }}
      }}
    }}
}}
"""


def emit_hysteresis(dtype: str) -> KernelSource[None]:
    """Write the kernel for values of a type, ``float32`` or ``float64``; its text says what its arguments hold."""
    return c_source(TEXT.format(type=C_ELEMENTS[dtype]), "tw_hysteresis")
