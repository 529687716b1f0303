/* transform PolySyn(tiles=[8,8,1], unroll_factors=[1,2], parallel=True, vectorize=True) */

  {
#pragma omp parallel for
    for (int it = 0; it <= N - 1; it += 8) {
      for (int kt = 0; kt <= N - 1; kt += 8) {
        for (int i = it; i <= (N - 1 < it + 7 ? N - 1 : it + 7); i++) {
          for (int k = kt; k <= (N - 1 < kt + 7 ? N - 1 : kt + 7) - 1; k += 2) {
            y[i] = y[i] + A[i][k] * x[k];
            y[i] = y[i] + A[i][k + 1] * x[k + 1];
          }
          for (int k = kt + ((N - 1 < kt + 7 ? N - 1 : kt + 7) - kt + 1) / 2 * 2; k <= (N - 1 < kt + 7 ? N - 1 : kt + 7); k++) {
            y[i] = y[i] + A[i][k] * x[k];
          }
        }
      }
    }
  }
