/* j2d5pt, float32, boundary fixed, tiling none, many grids
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_hold_v_f32(),
     tw_opaque(), omp_get_thread_num(), tw_thread(), tw_j2d5pt_cells_0(), tw_j2d5pt_box_0_short(),
     tw_j2d5pt_box_0_long(), tw_j2d5pt_box_0() */

void tw_j2d5pt(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const int64_t parts = tw_min(n0, threads);
  const int64_t piece = tw_max(1, (262144 / (s0 * 4))) * 4;
  const int64_t stretch = tw_max(1, tw_min((262144 / (n0 * s0)), 64));
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t since = 0; since < steps && tw_goes_on(&tw_own); since += stretch) {
      for (int64_t t = tw_max(since, 0); t < tw_min((since + stretch), steps); ++t) {
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = (n0 * part) / parts;
          const int64_t last = (n0 * (part + 1)) / parts;
          const int64_t begin = tw_min(tw_max(first, 1), (last - 1));
          for (int64_t low = begin; low < last; low += piece) {
            if ((low == begin) || tw_wanted(&tw_own)) {
              tw_j2d5pt_box_0(field, size, scalar, constant, t, ((begin < low) ? low : first), tw_min((low + piece), last), 0, n1);
            }
          }
        }
      }
    }
    tw_restore(mode);
  }
}

void tw_j2d5pt_batch(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t workers = size[0];
  const int64_t count = size[1];
  const int64_t length = size[2];
  const int64_t pointers = size[3];
  #pragma omp parallel num_threads(workers)
  {
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    #pragma omp for schedule(static)
    for (int64_t worker = 0; worker < workers; ++worker) {
      if (!tw_wanted(&tw_own)) continue;
      const int64_t begin = (worker * count) / workers;
      const int64_t end = ((worker + 1) * count) / workers;
      for (int64_t grid = begin; grid < end; ++grid) {
        if (tw_wanted(&tw_own)) {
          for (int64_t number = 0; number < length; ++number) {
            const int64_t *const row = size + ((number * 18) + 4);
            if (row[0] != 0) {
              tw_j2d5pt(field + (row[1] + (worker * row[2])), size + row[3], scalar, constant + (worker * pointers));
            } else {
              float *const target = field[row[1] + (worker * row[2])] + (row[3] + (grid * row[4]));
              float *const source = field[row[5] + (worker * row[6])] + (row[7] + (grid * row[8]));
              const int64_t target_step = row[14];
              const int64_t source_step = row[17];
              for (int64_t outer = 0; outer < row[9]; ++outer) {
                for (int64_t middle = 0; middle < row[10]; ++middle) {
                  float *const into = target + ((outer * row[12]) + (middle * row[13]));
                  float *const start = source + ((outer * row[15]) + (middle * row[16]));
                  if ((target_step == 1) & (source_step == 1)) {
#pragma GCC ivdep
                    for (int64_t at = 0; at < row[11]; ++at) {
                      into[at] = start[at];
                    }
                  } else {
                    for (int64_t at = 0; at < row[11]; ++at) {
                      into[at * target_step] = start[at * source_step];
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}
