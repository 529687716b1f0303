/* hysteresis of Canny
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_I64, TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on() */

static __attribute__((optimize("O3"))) void tw_edges(uint8_t *cell, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    cell[i] = ((cell[i] == 255) ? 255 : 0);
  }
}

void tw_hysteresis(uint8_t *const *array, const int64_t *size, uint8_t *unused, const double *none) {
  int64_t tw_last_round = INT64_MAX;
  tw_asks tw_own = {&tw_last_round, 0, 0};
  uint8_t *const cell = array[0];
  int64_t *const stack = ((int64_t *)array[1]);
  const int64_t rows = size[0];
  const int64_t columns = size[1];
  int64_t top = 0;
  const int64_t count = rows * columns;
  for (int64_t start = 0; start < count && tw_wanted(&tw_own); start += 8) {
    const int64_t eight = ((const int64_t *)(cell + start))[0];
    if ((eight & 144680345676153346LL) != 0LL) {
      for (int64_t place = start; place < tw_min((start + 8), count); ++place) {
        if (cell[place] == 2) {
          cell[place] = 255;
          stack[top] = ((int64_t)place);
          top = top + 1;
          while (top > 0) {
            top = top - 1;
            const int64_t at = ((int64_t)stack[top]);
            {
              const int64_t beside = at + ((columns * (-1)) - 1);
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
            {
              const int64_t beside = at + (columns * (-1));
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
            {
              const int64_t beside = at + ((columns * (-1)) + 1);
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
            {
              const int64_t beside = at - 1;
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
            {
              const int64_t beside = at;
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
            {
              const int64_t beside = at + 1;
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
            {
              const int64_t beside = at + (columns - 1);
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
            {
              const int64_t beside = at + columns;
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
            {
              const int64_t beside = at + (columns + 1);
              if ((cell[beside] > 0) & (cell[beside] <= 2)) {
                cell[beside] = 255;
                stack[top] = ((int64_t)beside);
                top = top + 1;
              }
            }
          }
        }
      }
    }
  }
  tw_edges(cell, count);
}
