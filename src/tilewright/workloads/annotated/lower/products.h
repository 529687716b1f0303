/* Loops that add products of matrices, as calls of a blocked kernel; words such as @row are the loops' own. */

//: call
  {
    const int64_t tw_row = @first_row, tw_rows = (@last_row) - tw_row + 1;
    const int64_t tw_column = @first_column, tw_columns = (@last_column) - tw_column + 1;
    const int64_t tw_inner = @first_inner, tw_depth = (@last_inner) - tw_inner + 1;
    const int64_t tw_deep = tw_depth < @depth ? tw_depth : @depth;
    const int64_t tw_wide = @panel;
    const int64_t tw_tall = (tw_rows + @more) / @rows * @rows;
    const int64_t tw_panels = (tw_columns + tw_wide - 1) / tw_wide;
    @type *tw_left = 0;
    if (tw_rows > 0 && tw_columns > 0 && tw_depth > 0) {
      tw_left = (@type *)malloc((size_t)((tw_tall + tw_panels * tw_wide) * tw_deep) * sizeof(@type));
    }
    if (tw_left) {
      @type *const tw_right = tw_left + tw_tall * tw_deep, *const tw_to = &@origin;
      const int64_t tw_apart = &@below - tw_to;
@terms      free(tw_left);
    } else {
@old    }
  }
//: term
      for (int64_t tw_k = 0; tw_k < tw_depth; tw_k += @depth) {
        const int64_t tw_n = tw_depth - tw_k < @depth ? tw_depth - tw_k : @depth;
#pragma omp parallel
        {
#pragma omp for schedule(static) nowait
          for (int64_t tw_i = 0; tw_i < tw_tall; tw_i++) {
            const @row = tw_row + tw_i;
            if (tw_i < tw_rows@has_columns) {
              for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) {
                const @inner = tw_inner + tw_k + tw_d;
                tw_left[tw_i * tw_n + tw_d] = @left;
              }
            } else {
              for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) tw_left[tw_i * tw_n + tw_d] = 0;
            }
          }
#pragma omp for schedule(static)
          for (int64_t tw_p = 0; tw_p < tw_panels; tw_p++) {
            const int64_t tw_from = tw_p * tw_wide;
            const int64_t tw_some = tw_columns - tw_from < tw_wide ? tw_columns - tw_from : tw_wide;
            for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) {
              const @inner = tw_inner + tw_k + tw_d;
              @type *const tw_line = tw_right + (tw_p * tw_n + tw_d) * tw_wide;
              for (int64_t tw_j = 0; tw_j < tw_some; tw_j++) {
                const @column = tw_column + tw_from + tw_j;
                tw_line[tw_j] = @right;
              }
              for (int64_t tw_j = tw_some; tw_j < tw_wide; tw_j++) tw_line[tw_j] = 0;
            }
          }
#pragma omp for schedule(dynamic, 1)
          for (int64_t tw_r = 0; tw_r < tw_rows; tw_r += @chunk) {
            const int64_t tw_m = tw_rows - tw_r < @chunk ? tw_rows - tw_r : @chunk;
            @kernel(tw_m, tw_columns, tw_n, tw_left + tw_r * tw_n, tw_n, tw_right,
                tw_n * tw_wide, tw_to + tw_r * tw_apart, tw_apart, @low, @high);
          }
        }
      }
