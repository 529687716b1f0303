/* pipeline mean_edges, float32, border nearest, 2 rows at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, TW_LANES_U8, tw_pick_f32(), tw_abs_v_f32(), tw_last(), tw_wanted(),
     tw_goes_on(), tw_fence(), tw_prefetch_near, tw_put(), omp_get_thread_num(), tw_thread(),
     tw_map_nearest(), tw_ends_G1(), tw_row_G1(), tw_row_G2(), tw_fetch_G1(), tw_tile(), tw() */

static void tw_p0(const float *const *in, float *const *out, int64_t n, const double *scalar) {
  const float *const p0 = in[0];
  const float *const p1 = in[1];
  float *const q0 = out[0];
  float *const q1 = out[1];
  for (int64_t i = 0; i < n; i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(p0 + (i - 1));
    const tw_v_f32 t0_0_0 = r0;
    const tw_v_f32 r3 = *(const tw_u_f32 *)(p1 + (i - 1));
    const tw_v_f32 t0_1_0 = r3;
    const tw_v_f32 r1 = *(const tw_u_f32 *)(p0 + i);
    const tw_v_f32 t0_0_1 = r1;
    const tw_v_f32 r4 = *(const tw_u_f32 *)(p1 + i);
    const tw_v_f32 t0_1_1 = r4;
    const tw_v_f32 t0_0_2 = t0_0_0 + t0_0_1;
    const tw_v_f32 t0_1_2 = t0_1_0 + t0_1_1;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(p0 + (i + 1));
    const tw_v_f32 t0_0_3 = r2;
    const tw_v_f32 r5 = *(const tw_u_f32 *)(p1 + (i + 1));
    const tw_v_f32 t0_1_3 = r5;
    const tw_v_f32 t0_0_4 = t0_0_2 + t0_0_3;
    const tw_v_f32 t0_1_4 = t0_1_2 + t0_1_3;
    const tw_v_f32 t0_0_6 = t0_0_4 / 3.0f;
    const tw_v_f32 t0_1_6 = t0_1_4 / 3.0f;
    *(tw_u_f32 *)(q0 + i) = t0_0_6;
    *(tw_u_f32 *)(q1 + i) = t0_1_6;
  }
}

static void tw_p1(const float *const *in, float *const *out, int64_t n, const double *scalar) {
  const float *const p0 = in[0];
  const float *const p1 = in[1];
  const float *const p2 = in[2];
  const float *const p3 = in[3];
  const float *const p4 = in[4];
  const float *const p5 = in[5];
  float *const q0 = out[0];
  float *const q1 = out[1];
  for (int64_t i = 0; i < n; i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(p4 + i);
    const tw_v_f32 t1_0_0 = r0;
    const tw_v_f32 r3 = *(const tw_u_f32 *)(p5 + i);
    const tw_v_f32 t1_1_0 = r3;
    const tw_v_f32 r1 = *(const tw_u_f32 *)(p2 + i);
    const tw_v_f32 t1_0_1 = r1;
    const tw_v_f32 r4 = *(const tw_u_f32 *)(p3 + i);
    const tw_v_f32 t1_1_1 = r4;
    const tw_v_f32 t1_0_2 = t1_0_0 - t1_0_1;
    const tw_v_f32 t1_1_2 = t1_1_0 - t1_1_1;
    const tw_v_f32 t1_0_3 = tw_abs_v_f32(t1_0_2);
    const tw_v_f32 t1_1_3 = tw_abs_v_f32(t1_1_2);
    const tw_v_f32 r2 = *(const tw_u_f32 *)(p0 + i);
    const tw_v_f32 t1_0_4 = r2;
    const tw_v_f32 r5 = *(const tw_u_f32 *)(p1 + i);
    const tw_v_f32 t1_1_4 = r5;
    const tw_v_f32 t1_0_5 = t1_0_3 + t1_0_4;
    const tw_v_f32 t1_1_5 = t1_1_3 + t1_1_4;
    *(tw_u_f32 *)(q0 + i) = t1_0_5;
    *(tw_u_f32 *)(q1 + i) = t1_1_5;
  }
}
