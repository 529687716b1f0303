"""The C kernel that follows an alignment through one tile, which it computes again, cell by cell, from its edges."""

TRACE = """
/* One tile again, with directions, and the way of an alignment through it, from its end towards its start.
   array: x, y, matrix, left H and E (rows), top H and V (columns), directions (rows x columns bytes), operations.
   size: rows, columns, letters, open, extend, corner, row, column, state, best.
   In: row < 0 asks for the first cell of score best. state: 0 H, 1 E, 2 V. Out: row, column, state where the
   alignment leaves the tile (row or column -1) or starts (state 3), the number of operations in size[9], and the cell
   that was found in size[10], size[11]. Operations: 0 a pair, 1 a letter of y alone, 2 a letter of x alone. */
void TRACE_ENTRY(void *const *array, int64_t *size, void *work, void *const *unused) {
  (void)unused;
  const uint8_t *x = array[0], *y = array[1];
  const int32_t *matrix = array[2], *left_h = array[3], *left_e = array[4], *top_h = array[5], *top_g = array[6];
  uint8_t *way = array[7], *operation = array[8];
  const int64_t rows = size[0], columns = size[1], letters = size[2], best = size[9];
  const int32_t open = (int32_t)size[3], extend = (int32_t)size[4];
  int32_t *h = work, *g = h + columns;
  memcpy(h, top_h, (size_t)columns * 4);
  memcpy(g, top_g, (size_t)columns * 4);
  int32_t corner = (int32_t)size[5];
  int64_t i = size[6], j = size[7], state = size[8];
  const int search = i < 0;
  for (int64_t r = 0; r < rows; ++r) {
    int32_t diagonal = corner, e = left_e[r], beside = left_h[r];
    corner = left_h[r];
    for (int64_t q = 0; q < columns; ++q) {
      uint8_t bits = 0;
      if (q) {
        const int32_t longer = e - extend, fresh = (int32_t)tw_max(beside - open, 0);
        bits |= longer > fresh ? 4 : 0;
        e = longer > fresh ? longer : fresh;
      } else {
        bits |= e > tw_max(beside - open, 0) ? 4 : 0;
      }
      const int32_t longer = g[q] - extend, fresh = (int32_t)tw_max(h[q] - open, 0);
      bits |= longer > fresh ? 8 : 0;
      g[q] = longer > fresh ? longer : fresh;
      int32_t value = diagonal + matrix[x[r] * letters + y[q]];
      int32_t from = 1;
      if (e > value) { value = e; from = 2; }
      if (g[q] > value) { value = g[q]; from = 3; }
      if (value <= 0) { value = 0; from = 0; }
      diagonal = h[q];
      h[q] = beside = value;
      way[r * columns + q] = (uint8_t)(bits | from);
      if (search && i < 0 && value == best) { i = r; j = q; }
    }
  }
  size[10] = i;
  size[11] = j;
  int64_t count = 0;
  while (i >= 0 && j >= 0 && state != 3) {
    const uint8_t bits = way[i * columns + j];
    if (state == 0) {
      const int from = bits & 3;
      if (from == 0) state = 3;
      else if (from == 1) { operation[count++] = 0; --i; --j; }
      else state = from - 1;
    } else if (state == 1) {
      operation[count++] = 1;
      if (!(bits & 4)) state = 0;
      --j;
    } else {
      operation[count++] = 2;
      if (!(bits & 8)) state = 0;
      --i;
    }
  }
  size[6] = i;
  size[7] = j;
  size[8] = state;
  size[9] = count;
}
"""
