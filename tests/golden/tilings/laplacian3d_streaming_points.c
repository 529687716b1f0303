/* laplacian3d, float32, boundary fixed, tiling streaming:t=2,s=4x8x16,rows=1, sources and receivers
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_laplacian3d_ends_0(), tw_laplacian3d_brim_0(), tw_laplacian3d_border_0(), tw_laplacian3d_fetch(),
     tw_laplacian3d_load_0(), tw_laplacian3d_store_0(), tw_laplacian3d_stage_0(), tw_laplacian3d() */

/* Adds the sources of u to the rows of one advance, and records the tile's own cells. */
static __attribute__((noinline)) void tw_laplacian3d_points_0(const int64_t *size,
    const float *const *constant, const int64_t *const *points, int64_t t, float *u_out_passing, float *u_out_fresh,
    int64_t y0, int64_t n0, int64_t n1, int64_t n, int64_t gx, int64_t gy, int64_t edge, int64_t ya, int64_t yb,
    int64_t za, int64_t zb, int64_t x0, int64_t x1) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch * 12;
  {
    const int64_t steps = size[0];
    const int64_t *const rows = points[0];
    const int64_t *const cells = points[1];
    float *const numbers = ((float *)constant[1]) + t;
    if ((y0 >= 0) & (y0 < n0)) {
      const int64_t first = rows[(y0 * n1) + tw_max(gy, 0)];
      const int64_t last = rows[(y0 * n1) + tw_min((gy + 12), n1)];
      if (first < last) {
        for (int64_t line = tw_max(gy, 0); line < tw_min((gy + 12), n1); ++line) {
          const int64_t first = rows[(y0 * n1) + line];
          const int64_t last = rows[((y0 * n1) + line) + 1];
          if (first < last) {
            float *const row_out = (u_out_fresh + slab) + ((line - gy) * pitch);
            for (int64_t k = first; k < last; ++k) {
              const int64_t at = cells[k];
              if ((at >= tw_max(gx, 0)) & (at < tw_min((gx + 32), n))) {
                row_out[(((at - gx) % vectors) * V) + ((at - gx) / vectors)] = row_out[(((at - gx) % vectors) * V) + ((at - gx) / vectors)] + numbers[k * steps];
              }
            }
            tw_laplacian3d_ends_0(row_out, row_out, gx, n, edge);
          }
        }
      }
    }
  }
  {
    const int64_t steps = size[0];
    const int64_t *const rows = points[2];
    const int64_t *const cells = points[3];
    float *const numbers = ((float *)constant[2]) + t;
    if ((y0 >= ya) & (y0 < yb)) {
      const int64_t first = rows[(y0 * n1) + za];
      const int64_t last = rows[(y0 * n1) + zb];
      if (first < last) {
        for (int64_t line = za; line < zb; ++line) {
          const int64_t first = rows[(y0 * n1) + line];
          const int64_t last = rows[((y0 * n1) + line) + 1];
          if (first < last) {
            float *const row_out = (u_out_fresh + slab) + ((line - gy) * pitch);
            for (int64_t k = first; k < last; ++k) {
              const int64_t at = cells[k];
              if ((at >= x0) & (at < x1)) {
                numbers[k * steps] = row_out[(((at - gx) % vectors) * V) + ((at - gx) / vectors)];
              }
            }
          }
        }
      }
    }
  }
}

/* One tile: its rows advance 1 at a time, every level a few rows behind what it reads. */
static __attribute__((noinline)) void tw_laplacian3d_tile(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, const int64_t *const *points, float *ring, int64_t side,
    int64_t version, int64_t levels, int64_t ya, int64_t yb, int64_t za, int64_t zb, int64_t x0, int64_t x1) {
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
          if ((t >= 0) & ((points[0][tw_min(tw_max(y0, 0), n0) * n1] < points[0][tw_min(tw_max((y0 + 1), 0), n0) * n1]) | (points[2][tw_min(tw_max(y0, 0), n0) * n1] < points[2][tw_min(tw_max((y0 + 1), 0), n0) * n1]))) {
            tw_laplacian3d_points_0(size, constant, points, version + t, u_out_passing, u_out_fresh, y0, n0, n1, n, gx, gy, edge, ya, yb, za, zb, x0, x1);
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
