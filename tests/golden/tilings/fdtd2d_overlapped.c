/* fdtd2d, float32, boundary fixed, tiling overlapped:t=2,s=8x8,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_keep_v_f32(),
     tw_opaque(), omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(),
     tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(),
     tw_stream_f32(), tw_fdtd2d_cells_0(), tw_fdtd2d_box_0(), tw_fdtd2d_cells_1(), tw_fdtd2d_box_1_short(),
     tw_fdtd2d_box_1_long(), tw_fdtd2d_box_1(), tw_fdtd2d_cells_2(), tw_fdtd2d_box_2_short(),
     tw_fdtd2d_box_2_long(), tw_fdtd2d_box_2() */

void tw_fdtd2d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  /* overlapped tiles of 8x8 cells, bands of at most 2 steps */
  const int64_t tiles0 = tw_ceildiv(n0, 8);
  const int64_t tiles1 = tw_ceildiv(n1, 8);
  const int64_t bands = tw_ceildiv(steps, 2);
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    float *const ring = ((float *)constant[0]) + (tw_thread() * 1024);
    float * own_field[3];
    int64_t own_size[6];
    own_size[0] = steps;
    own_size[1] = 1;
    own_size[2] = n0;
    own_size[3] = n1;
    own_size[4] = 16;
    own_size[5] = 336;
    for (int64_t band = 0; band < bands && tw_goes_on(&tw_own); ++band) {
      const int64_t side = band % 2;
      const int64_t begin = (steps * band) / bands;
      const int64_t levels = ((steps * (band + 1)) / bands) - begin;
      #pragma omp for schedule(dynamic, 1)
      for (int64_t place = 0; place < (tiles0 * tiles1); ++place) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t tile1 = place % tiles1;
        const int64_t tile0 = place / tiles1;
        const int64_t low0 = tile0 * 8;
        const int64_t high0 = tw_min((low0 + 8), n0);
        const int64_t low1 = tile1 * 8;
        const int64_t high1 = tw_min((low1 + 8), n1);
        const int64_t origin0 = tw_max(0, (low0 - levels));
        const int64_t origin1 = tw_max(0, (low1 - levels));
        const int64_t moved = (origin0 * 16) + origin1;
        own_field[0] = ring - moved;
        own_field[1] = (ring + 336) - moved;
        own_field[2] = (ring + 672) - moved;
        {
          const int64_t a0 = tw_max(0, (low0 - levels));
          const int64_t b0 = tw_min(n0, (high0 + (levels + 1)));
          const int64_t a1 = tw_max(0, (low1 - levels));
          const int64_t b1 = tw_min(n1, (high1 + (levels + 1)));
          const float *const grid = field[0] + ((side ? 1 : 0) * slot);
          float *const own = own_field[0];
          {
            for (int64_t x0 = a0; x0 < b0; ++x0) {
              tw_copy_f32((own + (x0 * 16)) + a1, (grid + (x0 * s0)) + a1, b1 - a1);
            }
          }
        }
        {
          const int64_t a0 = tw_max(0, (low0 - levels));
          const int64_t b0 = tw_min(n0, (high0 + (levels + 1)));
          const int64_t a1 = tw_max(0, (low1 - levels));
          const int64_t b1 = tw_min(n1, (high1 + (levels + 1)));
          const float *const grid = field[1] + ((side ? 1 : 0) * slot);
          float *const own = own_field[1];
          {
            for (int64_t x0 = a0; x0 < b0; ++x0) {
              tw_copy_f32((own + (x0 * 16)) + a1, (grid + (x0 * s0)) + a1, b1 - a1);
            }
          }
        }
        {
          const int64_t a0 = tw_max(0, (low0 - levels));
          const int64_t b0 = tw_min(n0, (high0 + levels));
          const int64_t a1 = tw_max(0, (low1 - levels));
          const int64_t b1 = tw_min(n1, (high1 + levels));
          const float *const grid = field[2] + ((side ? 1 : 0) * slot);
          float *const own = own_field[2];
          {
            for (int64_t x0 = a0; x0 < b0; ++x0) {
              tw_copy_f32((own + (x0 * 16)) + a1, (grid + (x0 * s0)) + a1, b1 - a1);
            }
          }
        }
        for (int64_t t = 0; t < levels; ++t) {
          const int64_t left = (levels - 1) - t;
          tw_fdtd2d_box_0(own_field, own_size, scalar, constant, begin + t, low0 - left, high0 + (left + 1), low1 - left, high1 + (left + 1));
          tw_fdtd2d_box_1(own_field, own_size, scalar, constant, begin + t, low0 - left, high0 + (left + 1), low1 - left, high1 + (left + 1));
          tw_fdtd2d_box_2(own_field, own_size, scalar, constant, begin + t, low0 - left, high0 + left, low1 - left, high1 + left);
        }
        {
          float *const grid = field[0] + (((1 - side) ? 1 : 0) * slot);
          const float *const own = own_field[0];
          {
            for (int64_t x0 = low0; x0 < high0; ++x0) {
              tw_copy_f32((grid + (x0 * s0)) + low1, (own + (x0 * 16)) + low1, high1 - low1);
            }
          }
        }
        {
          float *const grid = field[1] + (((1 - side) ? 1 : 0) * slot);
          const float *const own = own_field[1];
          {
            for (int64_t x0 = low0; x0 < high0; ++x0) {
              tw_copy_f32((grid + (x0 * s0)) + low1, (own + (x0 * 16)) + low1, high1 - low1);
            }
          }
        }
        {
          float *const grid = field[2] + (((1 - side) ? 1 : 0) * slot);
          const float *const own = own_field[2];
          {
            for (int64_t x0 = low0; x0 < high0; ++x0) {
              tw_copy_f32((grid + (x0 * s0)) + low1, (own + (x0 * 16)) + low1, high1 - low1);
            }
          }
        }
      }
    }
    {
      const int64_t side = bands % 2;
      float *const base = field[0];
      if ((steps % 2) != side) {
        #pragma omp for schedule(static)
        for (int64_t x0 = 0; x0 < n0; ++x0) {
          if (!tw_wanted(&tw_own)) continue;
          for (int64_t x1 = 0; x1 < n1; ++x1) {
            const int64_t here = (x0 * s0) + x1;
            const float value0 = base[here + ((side ? 1 : 0) * slot)];
            base[here + (((steps + 2) % 2) * slot)] = value0;
          }
        }
      }
    }
    {
      const int64_t side = bands % 2;
      float *const base = field[1];
      if ((steps % 2) != side) {
        #pragma omp for schedule(static)
        for (int64_t x0 = 0; x0 < n0; ++x0) {
          if (!tw_wanted(&tw_own)) continue;
          for (int64_t x1 = 0; x1 < n1; ++x1) {
            const int64_t here = (x0 * s0) + x1;
            const float value0 = base[here + ((side ? 1 : 0) * slot)];
            base[here + (((steps + 2) % 2) * slot)] = value0;
          }
        }
      }
    }
    {
      const int64_t side = bands % 2;
      float *const base = field[2];
      if ((steps % 2) != side) {
        #pragma omp for schedule(static)
        for (int64_t x0 = 0; x0 < n0; ++x0) {
          if (!tw_wanted(&tw_own)) continue;
          for (int64_t x1 = 0; x1 < n1; ++x1) {
            const int64_t here = (x0 * s0) + x1;
            const float value0 = base[here + ((side ? 1 : 0) * slot)];
            base[here + (((steps + 2) % 2) * slot)] = value0;
          }
        }
      }
    }
    tw_restore(mode);
  }
}
