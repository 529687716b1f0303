/* hysteresis of Canny, float32
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, TW_LANES_I64, TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on() */

void tw_hysteresis(uint8_t *const *array, const int64_t *size, uint8_t *unused, const double *scalar) {
  int64_t tw_last_round = INT64_MAX;
  tw_asks tw_own = {&tw_last_round, 0, 0};
  const float *const value = ((const float *)array[0]);
  uint8_t *const edge = array[1];
  int64_t *const stack = ((int64_t *)array[2]);
  const int64_t rows = size[0];
  const int64_t columns = size[1];
  const int64_t stride = size[2];
  const float low = ((float)scalar[0]);
  const float high = ((float)scalar[1]);
  for (int64_t i = 0; i < (rows * columns); ++i) {
    edge[i] = 0;
  }
  int64_t top = 0;
  for (int64_t y = 0; y < rows && tw_wanted(&tw_own); ++y) {
    for (int64_t x = 0; x < columns; ++x) {
      const float first = value[(y * stride) + x];
      const int64_t place = (y * columns) + x;
      if (((first > 0.0f) & (first >= high)) & (first >= low)) {
        if (edge[place] == 0) {
          edge[place] = 255;
          stack[top] = ((int64_t)place);
          top = top + 1;
          while (top > 0) {
            top = top - 1;
            const int64_t at = ((int64_t)stack[top]);
            const int64_t row = at / columns;
            const int64_t column = at % columns;
            for (int64_t v = tw_max((row - 1), 0); v < tw_min((row + 2), rows); ++v) {
              for (int64_t u = tw_max((column - 1), 0); u < tw_min((column + 2), columns); ++u) {
                const int64_t beside = (v * columns) + u;
                if (edge[beside] == 0) {
                  const float near = value[(v * stride) + u];
                  if ((near > 0.0f) & (near >= low)) {
                    edge[beside] = 255;
                    stack[top] = ((int64_t)beside);
                    top = top + 1;
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
