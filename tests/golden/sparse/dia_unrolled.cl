/* four diagonals at a time
   starts as every text of its language does, see prelude/ */

TW_KERNEL(64) tw_dia_gpu(TW_GLOBAL const float *values, TW_GLOBAL const tw_wide *start, TW_GLOBAL const tw_wide *offset, TW_GLOBAL const float *x, TW_GLOBAL float *y, tw_wide rows, tw_wide columns, tw_wide diagonals) {
  for (tw_wide i = ((((tw_wide)TW_GROUP) * 64) + TW_THREAD); i < rows; i += (((tw_wide)TW_GROUPS) * 64)) {
    float s = 0.0f;
    TW_UNROLL_BY(4)
    for (tw_wide d = 0; d < diagonals; ++d) {
      const tw_wide column = (i + offset[d]);
      if (((column >= 0) & (column < columns))) {
        s = (s + (values[(start[d] + ((column < i) ? column : i))] * x[column]));
      }
    }
    y[i] = s;
  }
}
