/* jacobi1d, float32, boundary fixed, tiling streaming:t=2,s=32
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_jacobi1d_ends_0(), tw_jacobi1d_fetch(), tw_jacobi1d_ahead_0(), tw_jacobi1d_load_0(),
     tw_jacobi1d_store_0() */

/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_jacobi1d_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 48 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_passing + (i - V));
    const tw_v_f32 u00_0 = r0;
    const tw_v_f32 r1 = *(const tw_u_f32 *)(u_now_passing + i);
    const tw_v_f32 u00_1 = r1;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_passing + (i + V));
    const tw_v_f32 u00_2 = r2;
    const tw_v_f32 u00_3 = u00_0 + u00_1;
    const tw_v_f32 u00_4 = u00_3 + u00_2;
    const tw_v_f32 u00_6 = u00_4 * 0.33333334f;
    *(tw_u_f32 *)(u_out_passing + i) = u00_6;
  }
  tw_jacobi1d_ends_0(u_out_passing, u_now_passing, gx, n, edge);
}

/* One tile: its rows advance 1 at a time, every level a few rows behind what it reads. */
static __attribute__((noinline)) void tw_jacobi1d_tile(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, float *ring, int64_t side, int64_t version, int64_t levels,
    int64_t ya, int64_t yb, int64_t za, int64_t zb, int64_t x0, int64_t x1) {
  const int64_t n0 = 1;
  const int64_t n1 = 1;
  const int64_t n = size[2];
  const int64_t slot = size[3];
  const int64_t from_caller = (version == 0) & (size[4] > 0);
  const int64_t to_caller = ((version + levels) == size[0]) & size[5];
  const int64_t lifted_in = 0;
  const int64_t lifted_out = 0;
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 48 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  const int64_t gx = x0 - 2;
  const int64_t gy = 0;
  const int64_t edge = (gx < 1) | ((gx + 48) > (n - 1));
  float *const m_u = ring + (1 * V);
  float *const spare = m_u + (slab * 2);
  const int64_t first = ya;
  for (int64_t start = first; start < yb; ++start) {
    const int64_t turn = ((start - first) / 1) & 1;
    for (int64_t t = (-1); t < levels; ++t) {
      {
        const int64_t y0 = start;
        if (((y0 + 1) > tw_max(ya, 0)) & (y0 < tw_min(yb, n0))) {
          float *const u_out_passing = m_u + ((((t + 1) + 8) % 2) * slab);
          float *const u_out_fresh = (m_u + (slab * 2)) + ((((t + 1) * 2) + turn) * 0);
          float *const u_out_older = (m_u + (slab * 2)) + (((((t + 1) * 2) + 1) - turn) * 0);
          if (t < 0) {
            if (t >= (-1)) {
              tw_jacobi1d_load_0(n0, n1, u_out_passing, u_out_fresh, (from_caller ? field[((-1) - t) + 1] : (field[0] + ((tw_floormod((version - ((-1) - t)), 1) + (((tw_floormod((version - ((-1) - t)), 1) == 0) == side) ? 1 : 0)) * slot))), spare, y0, gx, gy, n, edge, lifted_in);
            }
          }
          if (t >= 0) {
            {
              const float *const u_now_passing = m_u + (((t + 8) % 2) * slab);
              const float *const u_now_fresh = (m_u + (slab * 2)) + (((t * 2) + turn) * 0);
              const float *const u_now_older = (m_u + (slab * 2)) + ((((t * 2) + 1) - turn) * 0);
              tw_jacobi1d_stage_0(scalar, u_now_passing, u_now_fresh, u_now_older, u_out_passing, u_out_fresh, gx, n, edge);
            }
            tw_jacobi1d_ahead_0(n0, n1, (from_caller ? field[1] : (field[0] + ((tw_floormod(version, 1) + (((tw_floormod(version, 1) == 0) == side) ? 1 : 0)) * slot))), start + 1, (lifted_in ? 0 : gx), t, levels);
          }
          if (t >= (levels - 1)) {
            tw_jacobi1d_store_0(n0, n1, u_out_passing, u_out_fresh, (to_caller ? field[2] : (field[0] + ((tw_floormod(((version + t) + 1), 1) + (((tw_floormod(((version + t) + 1), 1) == 0) == (1 - side)) ? 1 : 0)) * slot))), spare, y0, ya, yb, za, zb, x0, x1, gx, gy, (to_caller ? (x1 - x0) : (tw_ceildiv((x1 - x0), 16) * 16)), lifted_out);
          }
        }
      }
    }
  }
  tw_fence();
}

/* Bands of at most 2 steps, one after the other; the threads share the tiles of a band. */
void tw_jacobi1d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const int64_t fewest = tw_ceildiv(steps, 2);
  const int64_t bands = fewest + ((fewest + (((steps % 2) >= 1) & ((steps % 2) <= 1))) % 2);
  const int64_t tiles0 = tw_ceildiv(1, 1);
  const int64_t tiles1 = tw_ceildiv(tw_ceildiv(n0, 16), 2);
  const int64_t count = tiles0 * tiles1;
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    float *const ring = ((float *)constant[0]) + (tw_thread() * 3072);
    for (int64_t band = 0; band < bands && tw_goes_on(&tw_own); ++band) {
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < count; ++tile) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t tile1 = tile % tiles1;
        const int64_t tile0 = tile / tiles1;
        tw_jacobi1d_tile(field, size, scalar, constant, ring, band % 2, (steps * band) / bands, ((steps * (band + 1)) / bands) - ((steps * band) / bands), (1 * tile0) / tiles0, (1 * (tile0 + 1)) / tiles0, 0, 1, tw_min((((tw_ceildiv(n0, 16) * tile1) / tiles1) * 16), n0), tw_min((((tw_ceildiv(n0, 16) * (tile1 + 1)) / tiles1) * 16), n0));
      }
    }
    tw_restore(mode);
  }
}
