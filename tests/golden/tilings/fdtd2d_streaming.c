/* fdtd2d, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_fdtd2d_ends_0(), tw_fdtd2d_ends_1(), tw_fdtd2d_ends_2(), tw_fdtd2d_border_0(), tw_fdtd2d_border_2(),
     tw_fdtd2d_fetch(), tw_fdtd2d_ahead_0(), tw_fdtd2d_ahead_1(), tw_fdtd2d_ahead_2(), tw_fdtd2d_load_0(),
     tw_fdtd2d_load_1(), tw_fdtd2d_load_2(), tw_fdtd2d_store_0(), tw_fdtd2d_store_1(), tw_fdtd2d_store_2(),
     tw_fdtd2d_stage_0(), tw_fdtd2d_stage_1(), tw_fdtd2d() */

/* One tile: its rows advance 1 at a time, every level a few rows behind what it reads. */
static __attribute__((noinline)) void tw_fdtd2d_tile(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, float *ring, int64_t side, int64_t version, int64_t levels,
    int64_t ya, int64_t yb, int64_t za, int64_t zb, int64_t x0, int64_t x1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const int64_t n = n1;
  const int64_t from_caller = (version == 0) & (size[6] > 0);
  const int64_t to_caller = ((version + levels) == size[0]) & size[7];
  const int64_t lifted_in = ((size[6] > 1) & ((x1 - x0) == n)) & (from_caller == 0);
  const int64_t lifted_out = ((size[6] > 1) & ((x1 - x0) == n)) & (to_caller == 0);
  const int64_t p0 = size[8];
  const int64_t i0 = (from_caller ? p0 : (lifted_in ? 32 : s0));
  const int64_t o0 = (to_caller ? p0 : (lifted_out ? 32 : s0));
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  const int64_t gx = x0 - 2;
  const int64_t gy = 0;
  const int64_t edge = (gx < 1) | ((gx + 32) > (n - 1));
  float *const m_ey = ring + (1 * V);
  float *const m_ex = m_ey + (slab * 6);
  float *const m_hz = m_ex + (slab * 6);
  float *const spare = m_hz + (slab * 6);
  const int64_t first = (ya - levels) - 1;
  for (int64_t start = first; start < ((yb + (levels - 1)) + 1); ++start) {
    const int64_t turn = ((start - first) / 1) & 1;
    for (int64_t t = (-1); t < levels; ++t) {
      {
        const int64_t y0 = start - t;
        if (((y0 + 1) > tw_max((ya - ((levels - 1) - t)), 0)) & (y0 < tw_min((yb + (((levels - 1) - t) + 1)), n0))) {
          float *const ey_out_passing = m_ey + ((((t + 1) + 8) % 2) * 0);
          float *const ey_out_fresh = m_ey + ((((t + 1) * 2) + turn) * slab);
          float *const ey_out_older = m_ey + (((((t + 1) * 2) + 1) - turn) * slab);
          float *const ex_out_passing = m_ex + ((((t + 1) + 8) % 2) * 0);
          float *const ex_out_fresh = m_ex + ((((t + 1) * 2) + turn) * slab);
          float *const ex_out_older = m_ex + (((((t + 1) * 2) + 1) - turn) * slab);
          if (t < 0) {
            if (t >= (-1)) {
              tw_fdtd2d_load_0(n0, n1, i0, ey_out_passing, ey_out_fresh, (from_caller ? field[((-1) - t) + 3] : (field[0] + ((tw_floormod((version - ((-1) - t)), 1) + (((tw_floormod((version - ((-1) - t)), 1) == 0) == side) ? 1 : 0)) * slot))), spare, y0, gx, gy, n, edge, lifted_in);
            }
            if (t >= (-1)) {
              tw_fdtd2d_load_1(n0, n1, i0, ex_out_passing, ex_out_fresh, (from_caller ? field[((-1) - t) + 4] : (field[1] + ((tw_floormod((version - ((-1) - t)), 1) + (((tw_floormod((version - ((-1) - t)), 1) == 0) == side) ? 1 : 0)) * slot))), spare, y0, gx, gy, n, edge, lifted_in);
            }
          }
          if (t >= 0) {
            {
              const float *const ey_now_passing = m_ey + (((t + 8) % 2) * 0);
              const float *const ey_now_fresh = m_ey + (((t * 2) + turn) * slab);
              const float *const ey_now_older = m_ey + ((((t * 2) + 1) - turn) * slab);
              const float *const ex_now_passing = m_ex + (((t + 8) % 2) * 0);
              const float *const ex_now_fresh = m_ex + (((t * 2) + turn) * slab);
              const float *const ex_now_older = m_ex + ((((t * 2) + 1) - turn) * slab);
              const float *const hz_now_passing = m_hz + (((t + 8) % 2) * 0);
              const float *const hz_now_fresh = m_hz + (((t * 2) + turn) * slab);
              const float *const hz_now_older = m_hz + ((((t * 2) + 1) - turn) * slab);
              tw_fdtd2d_stage_0(scalar, ey_now_passing, ey_now_fresh, ey_now_older, ex_now_passing, ex_now_fresh, ex_now_older, hz_now_passing, hz_now_fresh, hz_now_older, ey_out_passing, ey_out_fresh, ex_out_passing, ex_out_fresh, gx, n, edge);
            }
            tw_fdtd2d_ahead_0(n0, n1, i0, (from_caller ? field[3] : (field[0] + ((tw_floormod(version, 1) + (((tw_floormod(version, 1) == 0) == side) ? 1 : 0)) * slot))), start + 2, (lifted_in ? 0 : gx), t, levels);
            tw_fdtd2d_ahead_1(n0, n1, i0, (from_caller ? field[4] : (field[1] + ((tw_floormod(version, 1) + (((tw_floormod(version, 1) == 0) == side) ? 1 : 0)) * slot))), start + 2, (lifted_in ? 0 : gx), t, levels);
          }
          if (((y0 - 1) < 1) | ((y0 + 1) > n0)) {
            const float *const ey_now_passing = m_ey + (((tw_max(t, 0) + 8) % 2) * 0);
            const float *const ey_now_fresh = m_ey + (((tw_max(t, 0) * 2) + turn) * slab);
            const float *const ey_now_older = m_ey + ((((tw_max(t, 0) * 2) + 1) - turn) * slab);
            tw_fdtd2d_border_0(ey_out_passing, ey_out_fresh, ey_out_older, ey_now_passing, ey_now_fresh, ey_now_older, y0, t < 0, n0, n1, n, gx, gy, edge);
          }
          if (t >= (levels - 1)) {
            tw_fdtd2d_store_0(n0, n1, o0, ey_out_passing, ey_out_fresh, (to_caller ? field[6] : (field[0] + ((tw_floormod(((version + t) + 1), 1) + (((tw_floormod(((version + t) + 1), 1) == 0) == (1 - side)) ? 1 : 0)) * slot))), spare, y0, ya, yb, za, zb, x0, x1, gx, gy, (to_caller ? (x1 - x0) : (tw_ceildiv((x1 - x0), 16) * 16)), lifted_out);
          }
          if (t >= (levels - 1)) {
            tw_fdtd2d_store_1(n0, n1, o0, ex_out_passing, ex_out_fresh, (to_caller ? field[7] : (field[1] + ((tw_floormod(((version + t) + 1), 1) + (((tw_floormod(((version + t) + 1), 1) == 0) == (1 - side)) ? 1 : 0)) * slot))), spare, y0, ya, yb, za, zb, x0, x1, gx, gy, (to_caller ? (x1 - x0) : (tw_ceildiv((x1 - x0), 16) * 16)), lifted_out);
          }
        }
      }
      {
        const int64_t y0 = start - (t + 1);
        if (((y0 + 1) > tw_max((ya - ((levels - 1) - t)), 0)) & (y0 < tw_min((yb + ((levels - 1) - t)), n0))) {
          float *const hz_out_passing = m_hz + ((((t + 1) + 8) % 2) * 0);
          float *const hz_out_fresh = m_hz + ((((t + 1) * 2) + turn) * slab);
          float *const hz_out_older = m_hz + (((((t + 1) * 2) + 1) - turn) * slab);
          if (t < 0) {
            if (t >= (-1)) {
              tw_fdtd2d_load_2(n0, n1, i0, hz_out_passing, hz_out_fresh, (from_caller ? field[((-1) - t) + 5] : (field[2] + ((tw_floormod((version - ((-1) - t)), 1) + (((tw_floormod((version - ((-1) - t)), 1) == 0) == side) ? 1 : 0)) * slot))), spare, y0, gx, gy, n, edge, lifted_in);
            }
          }
          if (t >= 0) {
            {
              const float *const ey_new_passing = m_ey + ((((t + 1) + 8) % 2) * 0);
              const float *const ey_new_fresh = m_ey + ((((t + 1) * 2) + turn) * slab);
              const float *const ey_new_older = m_ey + (((((t + 1) * 2) + 1) - turn) * slab);
              const float *const ex_new_passing = m_ex + ((((t + 1) + 8) % 2) * 0);
              const float *const ex_new_fresh = m_ex + ((((t + 1) * 2) + turn) * slab);
              const float *const ex_new_older = m_ex + (((((t + 1) * 2) + 1) - turn) * slab);
              const float *const hz_now_passing = m_hz + (((t + 8) % 2) * 0);
              const float *const hz_now_fresh = m_hz + (((t * 2) + turn) * slab);
              const float *const hz_now_older = m_hz + ((((t * 2) + 1) - turn) * slab);
              tw_fdtd2d_stage_1(scalar, ey_new_passing, ey_new_fresh, ey_new_older, ex_new_passing, ex_new_fresh, ex_new_older, hz_now_passing, hz_now_fresh, hz_now_older, hz_out_passing, hz_out_fresh, gx, n, edge);
            }
            tw_fdtd2d_ahead_2(n0, n1, i0, (from_caller ? field[5] : (field[2] + ((tw_floormod(version, 1) + (((tw_floormod(version, 1) == 0) == side) ? 1 : 0)) * slot))), start + 1, (lifted_in ? 0 : gx), t, levels);
          }
          if (((y0 - 1) < 0) | ((y0 + 1) > (n0 - 1))) {
            const float *const hz_now_passing = m_hz + (((tw_max(t, 0) + 8) % 2) * 0);
            const float *const hz_now_fresh = m_hz + (((tw_max(t, 0) * 2) + turn) * slab);
            const float *const hz_now_older = m_hz + ((((tw_max(t, 0) * 2) + 1) - turn) * slab);
            tw_fdtd2d_border_2(hz_out_passing, hz_out_fresh, hz_out_older, hz_now_passing, hz_now_fresh, hz_now_older, y0, t < 0, n0, n1, n, gx, gy, edge);
          }
          if (t >= (levels - 1)) {
            tw_fdtd2d_store_2(n0, n1, o0, hz_out_passing, hz_out_fresh, (to_caller ? field[8] : (field[2] + ((tw_floormod(((version + t) + 1), 1) + (((tw_floormod(((version + t) + 1), 1) == 0) == (1 - side)) ? 1 : 0)) * slot))), spare, y0, ya, yb, za, zb, x0, x1, gx, gy, (to_caller ? (x1 - x0) : (tw_ceildiv((x1 - x0), 16) * 16)), lifted_out);
          }
        }
      }
    }
  }
  tw_fence();
}
