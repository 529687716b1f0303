/* jacobi2d, float32, boundary fixed, tiling hybrid:t=2,s=4x16,rows=1, sums near the sides
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_opaque(),
     omp_get_thread_num(), tw_thread(), tw_jacobi2d_cells_0(), tw_jacobi2d_box_0_values_short(),
     tw_jacobi2d_box_0_values_long(), tw_jacobi2d_box_0_values(), tw_jacobi2d_box_0(), tw_jacobi2d() */

static __attribute__((noinline)) void tw_jacobi2d_points_0(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, const int64_t *const *points, int64_t t, int64_t low0,
    int64_t high0, int64_t low1, int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  float *const target = field[0] + (((t + 1) % 2) * slot);
  {
    float *const sums = ((float *)constant[1]);
    const int64_t face_low0 = tw_min(n0, 1);
    const int64_t face_high0 = tw_max(face_low0, (n0 - 2));
    float *const face0 = sums;
    const int64_t face0_by1 = 1;
    const int64_t face0_by0 = face0_by1 * n1;
    const int64_t face_low1 = tw_min(n1, 1);
    const int64_t face_high1 = tw_max(face_low1, (n1 - 2));
    float *const face1 = face0 + (face0_by0 * (face_low0 + (n0 - face_high0)));
    const int64_t face1_by1 = 1;
    const int64_t face1_by0 = face1_by1 * (face_low1 + (n1 - face_high1));
    const int64_t first0 = tw_max(low0, 1);
    const int64_t end0 = tw_min(high0, (n0 - 1));
    const int64_t first1 = tw_max(low1, 1);
    const int64_t end1 = tw_min(high1, (n1 - 1));
    for (int64_t at0 = first0; at0 < tw_min(end0, face_low0); ++at0) {
      for (int64_t at1 = first1; at1 < end1; ++at1) {
        ((face0 + (at0 * face0_by0)) + (at1 * face0_by1))[0] = ((face0 + (at0 * face0_by0)) + (at1 * face0_by1))[0] + ((target + (at0 * s0)) + at1)[0];
      }
    }
    for (int64_t at0 = tw_max(first0, face_high0); at0 < end0; ++at0) {
      for (int64_t at1 = first1; at1 < end1; ++at1) {
        ((face0 + ((at0 - (face_high0 - face_low0)) * face0_by0)) + (at1 * face0_by1))[0] = ((face0 + ((at0 - (face_high0 - face_low0)) * face0_by0)) + (at1 * face0_by1))[0] + ((target + (at0 * s0)) + at1)[0];
      }
    }
    for (int64_t at0 = first0; at0 < end0; ++at0) {
      for (int64_t at1 = first1; at1 < tw_min(end1, face_low1); ++at1) {
        ((face1 + (at0 * face1_by0)) + (at1 * face1_by1))[0] = ((face1 + (at0 * face1_by0)) + (at1 * face1_by1))[0] + ((target + (at0 * s0)) + at1)[0];
      }
    }
    for (int64_t at0 = first0; at0 < end0; ++at0) {
      for (int64_t at1 = tw_max(first1, face_high1); at1 < end1; ++at1) {
        ((face1 + (at0 * face1_by0)) + ((at1 - (face_high1 - face_low1)) * face1_by1))[0] = ((face1 + (at0 * face1_by0)) + ((at1 - (face_high1 - face_low1)) * face1_by1))[0] + ((target + (at0 * s0)) + at1)[0];
      }
    }
  }
}
