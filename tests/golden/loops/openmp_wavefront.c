/* tiles along diagonals */

  {
    for (int tw_front_i = 0; tw_front_i <= (N - 1 - 1 - 1) / 32 + (N - 1 - 1 - 1 + (N - 1 - 1 - 1)) / 32; tw_front_i++) {
#pragma omp parallel for
      for (int tw_tile_i = 0 > tw_front_i - (N - 1 - 1 - 1 + (N - 1 - 1 - 1)) / 32 ? 0 : tw_front_i - (N - 1 - 1 - 1 + (N - 1 - 1 - 1)) / 32; tw_tile_i <= ((N - 1 - 1 - 1) / 32 < tw_front_i ? (N - 1 - 1 - 1) / 32 : tw_front_i); tw_tile_i++) {
        for (int i = 1 + tw_tile_i * 32; i <= (N - 1 - 1 < 1 + tw_tile_i * 32 + 31 ? N - 1 - 1 : 1 + tw_tile_i * 32 + 31); i++) {
#pragma GCC unroll 2
          for (int j = 1 > 1 + ((tw_front_i - tw_tile_i) * 32 - (i - 1)) ? 1 : 1 + ((tw_front_i - tw_tile_i) * 32 - (i - 1)); j <= (N - 1 - 1 < 1 + ((tw_front_i - tw_tile_i) * 32 - (i - 1)) + 31 ? N - 1 - 1 : 1 + ((tw_front_i - tw_tile_i) * 32 - (i - 1)) + 31); j++) {
            A[i][j] = A[i - 1][j - 1] + A[i - 1][j + 1] + A[i][j - 1];
          }
        }
      }
    }
  }
