/* jacobi2d, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), omp_get_thread_num(),
     tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(),
     tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32() */

/* subnormal numbers are zero from here on, read or made; the value is what to restore behind it */
static inline uint64_t tw_flush(void) {
#if defined(__SSE2__)
  const unsigned mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | 0x8040);
  return mode;
#elif defined(__aarch64__)
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1 << 24));
  return mode;
#else
  return 0;
#endif
}
static inline void tw_restore(uint64_t mode) {
#if defined(__SSE2__)
  __builtin_ia32_ldmxcsr((unsigned)mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  (void)mode;
#endif
}

/* Ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors. */
static inline void tw_jacobi2d_ends_0(float *row, const float *old, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  if (edge) {
    if (gx <= 0) {
      for (int64_t x = 0; x < 1; ++x) {
        row[(((x - gx) % vectors) * V) + ((x - gx) / vectors)] = old[(((x - gx) % vectors) * V) + ((x - gx) / vectors)];
      }
    }
    if ((n - gx) <= 32) {
      for (int64_t x = tw_max((n - 1), gx); x < n; ++x) {
        row[(((x - gx) % vectors) * V) + ((x - gx) / vectors)] = old[(((x - gx) % vectors) * V) + ((x - gx) / vectors)];
      }
    }
  }
  tw_wrap_f32(row, vectors, 1, 1);
}

/* Rows that keep their values, and rows outside the grid. */
static __attribute__((noinline)) void tw_jacobi2d_border_0(float *u_out_passing, float *u_out_fresh,
    float *u_out_older, const float *u_now_passing, const float *u_now_fresh, const float *u_now_older, int64_t y0,
    int64_t fresh, int64_t n0, int64_t n1, int64_t n, int64_t gx, int64_t gy, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  if ((fresh == 0) & (((y0 >= 0) & (y0 < n0)) & ((y0 < 1) | (y0 >= (n0 - 1))))) {
    tw_copy_f32((u_out_fresh + slab) - (1 * V), (u_now_older + slab) - (1 * V), slab);
  }
}

/* The cells of a row of memory, copied where some of them would lie outside the array. */
static __attribute__((noinline)) const float *tw_jacobi2d_fetch(float *spare, const float *base,
    const float *line, int64_t gx, int64_t n, int64_t cells) {
  const int64_t low = tw_max(gx, 0);
  const int64_t high = tw_min((gx + 32), n);
  const int64_t start = (line - base) + gx;
  const int64_t whole = (start >= 0) & ((start + 48) <= cells);
  if (whole == 0) {
    tw_copy_f32(spare + (low - gx), line + low, high - low);
  }
  return (whole ? (line + gx) : spare);
}

/* Asks for the rows that the next advance reads (u). */
static __attribute__((noinline)) void tw_jacobi2d_ahead_0(int64_t n0, int64_t n1, int64_t s0,
    const float *base, int64_t y0, int64_t gx, int64_t part, int64_t shares) {
  if ((y0 >= 0) & (y0 < n0)) {
    for (int64_t x = gx + (((part + 0) * 32) / shares); x < (gx + (((part + 1) * 32) / shares)); x += 16) {
      tw_prefetch_f32((base + (y0 * s0)) + x);
    }
  }
}

/* Reads the rows of one advance from memory (u). */
static __attribute__((noinline)) void tw_jacobi2d_load_0(int64_t n0, int64_t n1, int64_t s0,
    float *u_out_passing, float *u_out_fresh, const float *base, float *spare, int64_t y0, int64_t gx, int64_t gy,
    int64_t n, int64_t edge, int64_t lifted_in) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  const int64_t cells = n0 * s0;
  if ((y0 >= 0) & (y0 < n0)) {
    if (lifted_in) {
      tw_copy_f32(u_out_fresh + slab, base + (y0 * s0), 32);
    }
    if (lifted_in == 0) {
      tw_lift_f32(u_out_fresh + slab, tw_jacobi2d_fetch(spare, base, base + (y0 * s0), gx, n, cells), vectors);
    }
    tw_jacobi2d_ends_0(u_out_fresh + slab, u_out_fresh + slab, gx, n, edge);
  }
}

/* Writes a tile's own cells of the rows of one advance to memory (u). */
static __attribute__((noinline)) void tw_jacobi2d_store_0(int64_t n0, int64_t n1, int64_t s0,
    float *u_out_passing, float *u_out_fresh, float *base, float *spare, int64_t y0, int64_t ya, int64_t yb, int64_t za,
    int64_t zb, int64_t x0, int64_t x1, int64_t gx, int64_t gy, int64_t count, int64_t lifted_out) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  if ((y0 >= ya) & (y0 < yb)) {
    if (lifted_out) {
      tw_stream_f32((base + (y0 * s0)) + x0, u_out_fresh + slab, 32);
    }
    if (lifted_out == 0) {
      tw_lower_f32(spare, u_out_fresh + slab, vectors);
      tw_stream_f32((base + (y0 * s0)) + x0, spare + (x0 - gx), count);
    }
  }
}

/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_jacobi2d_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u00_0 = r0;
    const tw_v_f32 r1 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u00_1 = r1;
    const tw_v_f32 r2 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 u00_2 = r2;
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 u00_3 = r3;
    const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 u00_4 = r4;
    const tw_v_f32 u00_5 = u00_0 + u00_1;
    const tw_v_f32 u00_6 = u00_5 + u00_2;
    const tw_v_f32 u00_7 = u00_6 + u00_3;
    const tw_v_f32 u00_8 = u00_7 + u00_4;
    const tw_v_f32 u00_10 = u00_8 * 0.2f;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u00_10;
  }
  tw_jacobi2d_ends_0(u_out_fresh + slab, u_now_older + slab, gx, n, edge);
}

/* One tile: its rows advance 1 at a time, every level a few rows behind what it reads. */
static __attribute__((noinline)) void tw_jacobi2d_tile(float *const *field, const int64_t *size,
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
              tw_jacobi2d_load_0(n0, n1, i0, u_out_passing, u_out_fresh, (from_caller ? field[((-1) - t) + 1] : (field[0] + ((tw_floormod((version - ((-1) - t)), 1) + (((tw_floormod((version - ((-1) - t)), 1) == 0) == side) ? 1 : 0)) * slot))), spare, y0, gx, gy, n, edge, lifted_in);
            }
          }
          if (t >= 0) {
            {
              const float *const u_now_passing = m_u + (((t + 8) % 2) * (slab * (-1)));
              const float *const u_now_fresh = (m_u + (slab * (-2))) + (((t * 2) + turn) * (slab * 2));
              const float *const u_now_older = (m_u + (slab * (-2))) + ((((t * 2) + 1) - turn) * (slab * 2));
              tw_jacobi2d_stage_0(scalar, u_now_passing, u_now_fresh, u_now_older, u_out_passing, u_out_fresh, gx, n, edge);
            }
            tw_jacobi2d_ahead_0(n0, n1, i0, (from_caller ? field[1] : (field[0] + ((tw_floormod(version, 1) + (((tw_floormod(version, 1) == 0) == side) ? 1 : 0)) * slot))), start + 2, (lifted_in ? 0 : gx), t, levels);
          }
          if (((y0 - 2) < 1) | ((y0 + 1) > (n0 - 1))) {
            const float *const u_now_passing = m_u + (((tw_max(t, 0) + 8) % 2) * (slab * (-1)));
            const float *const u_now_fresh = (m_u + (slab * (-2))) + (((tw_max(t, 0) * 2) + turn) * (slab * 2));
            const float *const u_now_older = (m_u + (slab * (-2))) + ((((tw_max(t, 0) * 2) + 1) - turn) * (slab * 2));
            tw_jacobi2d_border_0(u_out_passing, u_out_fresh, u_out_older, u_now_passing, u_now_fresh, u_now_older, y0, t < 0, n0, n1, n, gx, gy, edge);
          }
          if (t >= (levels - 1)) {
            tw_jacobi2d_store_0(n0, n1, o0, u_out_passing, u_out_fresh, (to_caller ? field[2] : (field[0] + ((tw_floormod(((version + t) + 1), 1) + (((tw_floormod(((version + t) + 1), 1) == 0) == (1 - side)) ? 1 : 0)) * slot))), spare, y0, ya, yb, za, zb, x0, x1, gx, gy, (to_caller ? (x1 - x0) : (tw_ceildiv((x1 - x0), 16) * 16)), lifted_out);
          }
        }
      }
    }
  }
  tw_fence();
}

/* Bands of at most 2 steps, one after the other; the threads share the tiles of a band. */
void tw_jacobi2d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const int64_t fewest = tw_ceildiv(steps, 2);
  const int64_t bands = fewest + ((fewest + (((steps % 2) >= 1) & ((steps % 2) <= 1))) % 2);
  const int64_t tiles0 = tw_ceildiv(n0, 8);
  const int64_t tiles1 = tw_ceildiv(tw_ceildiv(n1, 16), 1);
  const int64_t count = tiles0 * tiles1;
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    float *const ring = ((float *)constant[0]) + (tw_thread() * 5120);
    for (int64_t band = 0; band < bands && tw_goes_on(&tw_own); ++band) {
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < count; ++tile) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t tile1 = tile % tiles1;
        const int64_t tile0 = tile / tiles1;
        tw_jacobi2d_tile(field, size, scalar, constant, ring, band % 2, (steps * band) / bands, ((steps * (band + 1)) / bands) - ((steps * band) / bands), (n0 * tile0) / tiles0, (n0 * (tile0 + 1)) / tiles0, 0, 1, tw_min((((tw_ceildiv(n1, 16) * tile1) / tiles1) * 16), n1), tw_min((((tw_ceildiv(n1, 16) * (tile1 + 1)) / tiles1) * 16), n1));
      }
    }
    tw_restore(mode);
  }
}
