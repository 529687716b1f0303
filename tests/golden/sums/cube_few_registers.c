/* cube, float32, boundary fixed, tiling streaming:t=2,s=4x8x16,rows=2
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(),
     tw_restore(), tw_hold_v_f32(), tw_splat_v_f32(), omp_get_thread_num(), tw_thread(), TW_LOW_f32,
     TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(),
     tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(), tw_cube_ends_0(), tw_cube_brim_0(),
     tw_cube_border_0(), tw_cube_fetch(), tw_cube_load_0(), tw_cube_store_0(), tw_cube_rows_0_2x3(),
     tw_cube_rows_0_2x1(), tw_cube_rows_0_2x2(), tw_cube_tile(), tw_cube() */

#if TW_REGISTERS == 32
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_cube_stage_0(const float *scalar, const float *u_now_passing,
    const float *u_now_fresh, const float *u_now_older, float *u_out_passing, float *u_out_fresh, int64_t first,
    int64_t last, const float *next_u, int64_t next_u_plane, int64_t next_u_row, int64_t chunk, int64_t gx, int64_t n,
    int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch * 12;
  static const float factors_2[33] = {
    0.04f, 0.195f, 0.065f, 0.22f, 0.07f, 0.24f, 0.08f, 0.25f,
    0.01f, 0.1f, 0.19f, 0.05f, 0.21f, 0.07f, 0.23f, 0.08f,
    0.255f, 0.085f, 0.26f, 0.02f, 0.11f, 0.2f, 0.06f, 0.225f,
    0.075f, 0.24f, 0.09f, 0.27f, 0.09f, 0.27f, 0.03f, 0.12f,
    0.21f,
  };
  const int64_t whole = last - (tw_max((last - first), 0) % 3);
  for (int64_t line = first; line < whole; line += 3) {
    tw_cube_rows_0_2x3(factors_2, u_now_older + (line * pitch), (u_now_older + slab) + (line * pitch), u_now_fresh + (line * pitch), (u_now_fresh + slab) + (line * pitch), u_out_fresh + (line * pitch), (u_out_fresh + slab) + (line * pitch));
    tw_cube_ends_0(u_out_fresh + (line * pitch), (u_now_older + slab) + (line * pitch), gx, n, edge);
    tw_cube_ends_0(u_out_fresh + ((line * pitch) + pitch), (u_now_older + slab) + ((line * pitch) + pitch), gx, n, edge);
    tw_cube_ends_0(u_out_fresh + ((line * pitch) + (pitch * 2)), (u_now_older + slab) + ((line * pitch) + (pitch * 2)), gx, n, edge);
    tw_cube_ends_0((u_out_fresh + slab) + (line * pitch), u_now_fresh + (line * pitch), gx, n, edge);
    tw_cube_ends_0((u_out_fresh + slab) + ((line * pitch) + pitch), u_now_fresh + ((line * pitch) + pitch), gx, n, edge);
    tw_cube_ends_0((u_out_fresh + slab) + ((line * pitch) + (pitch * 2)), u_now_fresh + ((line * pitch) + (pitch * 2)), gx, n, edge);
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32((next_u + (line * next_u_row)) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32(((next_u + (line * next_u_row)) + next_u_plane) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32((next_u + ((line + 1) * next_u_row)) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32(((next_u + ((line + 1) * next_u_row)) + next_u_plane) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32((next_u + ((line + 2) * next_u_row)) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32(((next_u + ((line + 2) * next_u_row)) + next_u_plane) + x);
    }
  }
  for (int64_t line = whole; line < last; ++line) {
    tw_cube_rows_0_2x1(factors_2, u_now_older + (line * pitch), (u_now_older + slab) + (line * pitch), u_now_fresh + (line * pitch), (u_now_fresh + slab) + (line * pitch), u_out_fresh + (line * pitch), (u_out_fresh + slab) + (line * pitch));
    tw_cube_ends_0(u_out_fresh + (line * pitch), (u_now_older + slab) + (line * pitch), gx, n, edge);
    tw_cube_ends_0((u_out_fresh + slab) + (line * pitch), u_now_fresh + (line * pitch), gx, n, edge);
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32((next_u + (line * next_u_row)) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32(((next_u + (line * next_u_row)) + next_u_plane) + x);
    }
  }
}
#endif

#if TW_REGISTERS == 16
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_cube_stage_0(const float *scalar, const float *u_now_passing,
    const float *u_now_fresh, const float *u_now_older, float *u_out_passing, float *u_out_fresh, int64_t first,
    int64_t last, const float *next_u, int64_t next_u_plane, int64_t next_u_row, int64_t chunk, int64_t gx, int64_t n,
    int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch * 12;
  static const float factors_2[27] = {
    0.01f, 0.04f, 0.07f, 0.1f, 0.13f, 0.16f, 0.19f, 0.22f,
    0.25f, 0.02f, 0.05f, 0.08f, 0.11f, 0.14f, 0.17f, 0.2f,
    0.23f, 0.26f, 0.03f, 0.06f, 0.09f, 0.12f, 0.15f, 0.18f,
    0.21f, 0.24f, 0.27f,
  };
  const int64_t whole = last - (tw_max((last - first), 0) % 2);
  for (int64_t line = first; line < whole; line += 2) {
    tw_cube_rows_0_2x2(factors_2, u_now_older + (line * pitch), (u_now_older + slab) + (line * pitch), u_now_fresh + (line * pitch), (u_now_fresh + slab) + (line * pitch), u_out_fresh + (line * pitch), (u_out_fresh + slab) + (line * pitch));
    tw_cube_ends_0(u_out_fresh + (line * pitch), (u_now_older + slab) + (line * pitch), gx, n, edge);
    tw_cube_ends_0(u_out_fresh + ((line * pitch) + pitch), (u_now_older + slab) + ((line * pitch) + pitch), gx, n, edge);
    tw_cube_ends_0((u_out_fresh + slab) + (line * pitch), u_now_fresh + (line * pitch), gx, n, edge);
    tw_cube_ends_0((u_out_fresh + slab) + ((line * pitch) + pitch), u_now_fresh + ((line * pitch) + pitch), gx, n, edge);
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32((next_u + (line * next_u_row)) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32(((next_u + (line * next_u_row)) + next_u_plane) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32((next_u + ((line + 1) * next_u_row)) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32(((next_u + ((line + 1) * next_u_row)) + next_u_plane) + x);
    }
  }
  for (int64_t line = whole; line < last; ++line) {
    tw_cube_rows_0_2x1(factors_2, u_now_older + (line * pitch), (u_now_older + slab) + (line * pitch), u_now_fresh + (line * pitch), (u_now_fresh + slab) + (line * pitch), u_out_fresh + (line * pitch), (u_out_fresh + slab) + (line * pitch));
    tw_cube_ends_0(u_out_fresh + (line * pitch), (u_now_older + slab) + (line * pitch), gx, n, edge);
    tw_cube_ends_0((u_out_fresh + slab) + (line * pitch), u_now_fresh + (line * pitch), gx, n, edge);
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32((next_u + (line * next_u_row)) + x);
    }
    for (int64_t x = 0; x < chunk; x += 16) {
      tw_prefetch_f32(((next_u + (line * next_u_row)) + next_u_plane) + x);
    }
  }
}
#endif
