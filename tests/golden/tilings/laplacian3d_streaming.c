/* laplacian3d, float32, boundary fixed, tiling streaming:t=2,s=4x8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_laplacian3d_ends_0(), tw_laplacian3d_brim_0(), tw_laplacian3d_border_0(), tw_laplacian3d_fetch(),
     tw_laplacian3d_load_0(), tw_laplacian3d_store_0() */

/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_laplacian3d_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t first, int64_t last,
    const float *restrict next_u, int64_t next_u_plane, int64_t next_u_row, int64_t chunk, int64_t gx, int64_t n,
    int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch * 12;
  for (int64_t line = first; line < last; ++line) {
    for (int64_t i = line * pitch; i < ((line * pitch) + (vectors * V)); i += TW_LANES_F32) {
      const tw_v_f32 r0 = *(const tw_u_f32 *)((u_now_older + slab) + i);
      const tw_v_f32 u00_1 = r0;
      const tw_v_f32 u00_2 = 0.5f * u00_1;
      const tw_v_f32 r1 = *(const tw_u_f32 *)(u_now_older + i);
      const tw_v_f32 u00_4 = r1;
      const tw_v_f32 r2 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
      const tw_v_f32 u00_5 = r2;
      const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_older + slab) + (i - pitch));
      const tw_v_f32 u00_6 = r3;
      const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_older + slab) + (i + pitch));
      const tw_v_f32 u00_7 = r4;
      const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
      const tw_v_f32 u00_8 = r5;
      const tw_v_f32 r6 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
      const tw_v_f32 u00_9 = r6;
      const tw_v_f32 u00_10 = u00_8 + u00_9;
      const tw_v_f32 u00_11 = u00_6 + u00_7;
      const tw_v_f32 u00_12 = u00_11 + u00_10;
      const tw_v_f32 u00_13 = u00_4 + u00_5;
      const tw_v_f32 u00_14 = u00_13 + u00_12;
      const tw_v_f32 u00_15 = 0.083333336f * u00_14;
      const tw_v_f32 u00_16 = u00_2 + u00_15;
      *(tw_u_f32 *)((u_out_fresh + slab) + i) = u00_16;
    }
    tw_laplacian3d_ends_0((u_out_fresh + slab) + (line * pitch), (u_now_older + slab) + (line * pitch), gx, n, edge);
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32((next_u + (line * next_u_row)) + x);
    }
  }
}

/* One tile: its rows advance 1 at a time, every level a few rows behind what it reads. */
static __attribute__((noinline)) void tw_laplacian3d_tile(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, float *ring, int64_t side, int64_t version, int64_t levels,
    int64_t ya, int64_t yb, int64_t za, int64_t zb, int64_t x0, int64_t x1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t n2 = size[4];
  const int64_t s0 = size[5];
  const int64_t s1 = size[6];
  const int64_t slot = size[7];
  const int64_t n = n2;
  const int64_t from_caller = (version == 0) & (size[8] > 0);
  const int64_t to_caller = ((version + levels) == size[0]) & size[9];
  const int64_t lifted_in = ((size[8] > 1) & ((x1 - x0) == n)) & (from_caller == 0);
  const int64_t lifted_out = ((size[8] > 1) & ((x1 - x0) == n)) & (to_caller == 0);
  const int64_t p0 = size[10];
  const int64_t i0 = (from_caller ? p0 : (lifted_in ? (n1 * 32) : s0));
  const int64_t o0 = (to_caller ? p0 : (lifted_out ? (n1 * 32) : s0));
  const int64_t p1 = size[11];
  const int64_t i1 = (from_caller ? p1 : (lifted_in ? 32 : s1));
  const int64_t o1 = (to_caller ? p1 : (lifted_out ? 32 : s1));
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch * 12;
  const int64_t gx = x0 - 2;
  const int64_t gy = za - 2;
  const int64_t edge = (gx < 1) | ((gx + 32) > (n - 1));
  float *const m_u = ring + (1 * V);
  float *const spare = m_u + (slab * 10);
  const int64_t first = (ya - levels) - 1;
  for (int64_t start = first; start < (yb + (levels - 1)); ++start) {
    const int64_t turn = ((start - first) / 1) & 1;
    for (int64_t t = (-1); t < levels; ++t) {
      {
        const int64_t y0 = start - t;
        if (((y0 + 1) > tw_max((ya - ((levels - 1) - t)), 0)) & (y0 < tw_min((yb + ((levels - 1) - t)), n0))) {
          float *const u_out_passing = m_u + ((((t + 1) + 8) % 2) * (slab * (-1)));
          float *const u_out_fresh = (m_u + (slab * (-2))) + ((((t + 1) * 2) + turn) * (slab * 2));
          float *const u_out_older = (m_u + (slab * (-2))) + (((((t + 1) * 2) + 1) - turn) * (slab * 2));
          if (t < 0) {
            if (t >= (-1)) {
              tw_laplacian3d_load_0(n0, n1, i0, i1, u_out_passing, u_out_fresh, (from_caller ? field[((-1) - t) + 1] : (field[0] + ((tw_floormod((version - ((-1) - t)), 1) + (((tw_floormod((version - ((-1) - t)), 1) == 0) == side) ? 1 : 0)) * slot))), spare, y0, gx, gy, n, edge, lifted_in);
            }
          }
          if (t >= 0) {
            {
              const float *const u_now_passing = m_u + (((t + 8) % 2) * (slab * (-1)));
              const float *const u_now_fresh = (m_u + (slab * (-2))) + (((t * 2) + turn) * (slab * 2));
              const float *const u_now_older = (m_u + (slab * (-2))) + ((((t * 2) + 1) - turn) * (slab * 2));
              tw_laplacian3d_stage_0(scalar, u_now_passing, u_now_fresh, u_now_older, u_out_passing, u_out_fresh, tw_max((za - ((levels - 1) - t)), 0) - gy, tw_min((zb + ((levels - 1) - t)), n1) - gy, ((((from_caller ? field[1] : (field[0] + ((tw_floormod(version, 1) + (((tw_floormod(version, 1) == 0) == side) ? 1 : 0)) * slot))) + ((start + 2) * i0)) + (gy * i1)) + (lifted_in ? 0 : gx)) + ((t * 32) / levels), i0, i1, ((1 & (((start + 2) >= 0) & (((start + 2) + 1) <= n0))) ? tw_ceildiv(32, levels) : 0), gx, n, edge);
            }
          }
          if ((((y0 - 2) < 1) | ((y0 + 1) > (n0 - 1))) | ((gy < 1) | ((gy + 12) > (n1 - 1)))) {
            const float *const u_now_passing = m_u + (((tw_max(t, 0) + 8) % 2) * (slab * (-1)));
            const float *const u_now_fresh = (m_u + (slab * (-2))) + (((tw_max(t, 0) * 2) + turn) * (slab * 2));
            const float *const u_now_older = (m_u + (slab * (-2))) + ((((tw_max(t, 0) * 2) + 1) - turn) * (slab * 2));
            tw_laplacian3d_border_0(u_out_passing, u_out_fresh, u_out_older, u_now_passing, u_now_fresh, u_now_older, y0, t < 0, n0, n1, n, gx, gy, edge);
          }
          if (t >= (levels - 1)) {
            tw_laplacian3d_store_0(n0, n1, o0, o1, u_out_passing, u_out_fresh, (to_caller ? field[2] : (field[0] + ((tw_floormod(((version + t) + 1), 1) + (((tw_floormod(((version + t) + 1), 1) == 0) == (1 - side)) ? 1 : 0)) * slot))), spare, y0, ya, yb, za, zb, x0, x1, gx, gy, (to_caller ? (x1 - x0) : (tw_ceildiv((x1 - x0), 16) * 16)), lifted_out);
          }
        }
      }
    }
  }
  tw_fence();
}

/* Bands of at most 2 steps, one after the other; the threads share the tiles of a band. */
void tw_laplacian3d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t n2 = size[4];
  const int64_t s0 = size[5];
  const int64_t s1 = size[6];
  const int64_t slot = size[7];
  const int64_t fewest = tw_ceildiv(steps, 2);
  const int64_t bands = fewest + ((fewest + (((steps % 2) >= 1) & ((steps % 2) <= 1))) % 2);
  const int64_t tiles0 = tw_ceildiv(n0, 4);
  const int64_t tiles1 = tw_ceildiv(n1, 8);
  const int64_t tiles2 = tw_ceildiv(tw_ceildiv(n2, 16), 1);
  const int64_t count = (tiles0 * tiles1) * tiles2;
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    float *const ring = ((float *)constant[0]) + (tw_thread() * 39936);
    for (int64_t band = 0; band < bands && tw_goes_on(&tw_own); ++band) {
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < count; ++tile) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t tile2 = tile % tiles2;
        const int64_t tile1 = (tile / tiles2) % tiles1;
        const int64_t tile0 = (tile / tiles2) / tiles1;
        tw_laplacian3d_tile(field, size, scalar, constant, ring, band % 2, (steps * band) / bands, ((steps * (band + 1)) / bands) - ((steps * band) / bands), (n0 * tile0) / tiles0, (n0 * (tile0 + 1)) / tiles0, (n1 * tile1) / tiles1, (n1 * (tile1 + 1)) / tiles1, tw_min((((tw_ceildiv(n2, 16) * tile2) / tiles2) * 16), n2), tw_min((((tw_ceildiv(n2, 16) * (tile2 + 1)) / tiles2) * 16), n2));
      }
    }
    tw_restore(mode);
  }
}
