/* pair, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_keep_v_f32(),
     omp_get_thread_num(), tw_thread(), tw_pair_box_0_short(), tw_pair_box_0_long(), tw_pair_box_0(),
     tw_pair_box_1_long(), tw_pair_box_1() */

static void tw_pair_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0];
  const float *const v_v = field[1];
  float *const target = field[0];
  const float *const r0 = v_u;
  const float *const r1 = v_v;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t0 = r0[x];
    const float t2 = r1[x];
    const float t3 = r1[x - 1];
    const float t4 = t2 - t3;
    const float t5 = 0.5f * t4;
    const float t6 = t0 - t5;
    w0[x] = t6;
  }
}

static void tw_pair_cells_1(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_v = field[1];
  const float *const v_u_new = field[0];
  float *const target = field[1];
  const float *const r0 = v_u_new;
  const float *const r1 = v_v;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t0 = r1[x];
    const float t2 = r0[x + 1];
    const float t3 = r0[x];
    const float t4 = t2 - t3;
    const float t5 = 0.5f * t4;
    const float t6 = t0 - t5;
    w0[x] = t6;
  }
}

static __attribute__((noinline)) void tw_pair_box_1_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_v = field[1];
  const float *const v_u_new = field[0];
  float *const target = field[1];
  const int64_t a0 = tw_max(low0, 0);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t first = tw_max(a0, 0);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b0);
  const int64_t begin = start;
  const int64_t end = stop;
  const float *const r0 = v_u_new;
  const float *const r1 = v_v;
  float *const w0 = target;
  const int64_t whole_vectors = begin + ((tw_max((end - begin), 0) / TW_LANES_F32) * TW_LANES_F32);
  for (int64_t j = begin; j < whole_vectors; j += TW_LANES_F32) {
    const tw_v_f32 l0 = *(const tw_u_f32 *)(r1 + j);
    const tw_v_f32 t0_0 = l0;
    const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + (j + 1));
    const tw_v_f32 t0_2 = l1;
    const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + j);
    const tw_v_f32 t0_3 = l2;
    const tw_v_f32 t0_4 = t0_2 - t0_3;
    const tw_v_f32 t0_5 = 0.5f * t0_4;
    const tw_v_f32 t0_6 = t0_0 - t0_5;
    *(tw_u_f32 *)(w0 + j) = t0_6;
  }
  if (whole_vectors < end) {
    const int64_t j = tw_min(whole_vectors, (stop - TW_LANES_F32));
    const tw_v_f32 l0 = *(const tw_u_f32 *)(r1 + j);
    const tw_v_f32 t0_0 = l0;
    const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + (j + 1));
    const tw_v_f32 t0_2 = l1;
    const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + j);
    const tw_v_f32 t0_3 = l2;
    const tw_v_f32 t0_4 = t0_2 - t0_3;
    const tw_v_f32 t0_5 = 0.5f * t0_4;
    const tw_v_f32 t0_6 = t0_0 - t0_5;
    *(tw_u_f32 *)(w0 + j) = tw_keep_v_f32(*(const tw_u_f32 *)(w0 + j), t0_6, (whole_vectors - j));
  }
  if (a0 < start) {
    tw_pair_cells_1(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_pair_cells_1(field, size, scalar, constant, t, stop, b0);
  }
}

void tw_pair(float *const *field, const int64_t *size, const float *scalar,
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
          const int64_t behind1 = ((piece < (last - first)) ? 64 : n0);
          for (int64_t low = first; low < last; low += piece) {
            if ((low == first) || tw_wanted(&tw_own)) {
              const int64_t high = tw_min((low + piece), last);
              tw_pair_box_0(field, size, scalar, constant, t, low, high);
              tw_pair_box_1(field, size, scalar, constant, t, tw_max((low - behind1), (first + behind1)), high - behind1);
            }
          }
        }
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = ((tw_ceildiv(n0, 2048) * part) / parts) * 2048;
          const int64_t last = tw_min((((tw_ceildiv(n0, 2048) * (part + 1)) / parts) * 2048), n0);
          const int64_t behind1 = ((piece < (last - first)) ? 64 : n0);
          tw_pair_box_1(field, size, scalar, constant, t, first, tw_min((first + behind1), last));
          tw_pair_box_1(field, size, scalar, constant, t, tw_max((first + behind1), (last - behind1)), last);
        }
      }
    }
    tw_restore(mode);
  }
}
