/* together, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), omp_get_thread_num(),
     tw_thread(), tw_together_box_0_short(), tw_together_box_0_long(), tw_together_box_0(),
     tw_together_box_1_short(), tw_together_box_1_long(), tw_together_box_1() */

static void tw_together_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_v = field[1] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float *const r0 = v_v;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t1 = r0[x - 1];
    const float t2 = r0[x + 1];
    const float t3 = t1 + t2;
    const float t4 = 0.5f * t3;
    w0[x] = t4;
  }
}

static void tw_together_cells_1(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[1] + (((t + 1) % 2) * slot);
  const float *const r0 = v_u;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t1 = r0[x - 1];
    const float t2 = r0[x + 1];
    const float t3 = t1 + t2;
    const float t4 = 0.5f * t3;
    w0[x] = t4;
  }
}

void tw_together(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const int64_t parts = tw_min(tw_ceildiv(n0, 2048), threads);
  const int64_t piece = 2048;
  const int64_t stretch = tw_max(1, tw_min((262144 / n0), 64));
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t since = 0; since < steps && tw_goes_on(&tw_own); since += stretch) {
      for (int64_t t = tw_max(since, 0); t < tw_min((since + stretch), steps); ++t) {
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = ((tw_ceildiv(n0, 2048) * part) / parts) * 2048;
          const int64_t last = tw_min((((tw_ceildiv(n0, 2048) * (part + 1)) / parts) * 2048), n0);
          for (int64_t low = first; low < last; low += piece) {
            if ((low == first) || tw_wanted(&tw_own)) {
              const int64_t high = tw_min((low + piece), last);
              tw_together_box_0(field, size, scalar, constant, t, low, high);
              tw_together_box_1(field, size, scalar, constant, t, low, high);
            }
          }
        }
      }
    }
    tw_restore(mode);
  }
}
