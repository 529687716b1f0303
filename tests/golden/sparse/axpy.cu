/* axpy, float32
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_vectors_gpu(TW_GLOBAL const float *p_x, TW_GLOBAL float *p_y, float a, tw_wide n) {
  for (tw_wide i = ((((tw_wide)TW_GROUP) * 256) + TW_THREAD); i < n; i += (((tw_wide)TW_GROUPS) * 256)) {
    const float e_x = p_x[i];
    const float e_y = p_y[i];
    const float y0 = ((a * e_x) + e_y);
    p_y[i] = y0;
  }
}
