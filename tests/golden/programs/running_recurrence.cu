/* running, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(1) tw_running_0(TW_GLOBAL float *f0, int n0, tw_wide slot, int t) {
  for (int x0 = 0; x0 < n0; ++x0) {
    if (((x0 >= 1) & (x0 < n0))) {
      {
        const tw_wide at = ((tw_wide)x0);
        const float t1 = f0[((tw_wide)(x0 - 1))];
        const float t2 = (0.5f * t1);
        const float t3 = f0[((tw_wide)x0)];
        const float t4 = (t2 + t3);
        f0[at] = t4;
      }
    }
  }
}
