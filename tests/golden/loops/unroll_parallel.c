/* transform Unroll(ufactor=2, parallelize=True) */

  {
#pragma omp parallel for
    for (int i = 0; i <= N - 2; i += 2) {
      y[i] = y[i] + 2.0 * x[i];
      y[i + 1] = y[i + 1] + 2.0 * x[i + 1];
    }
#pragma omp parallel for
    for (int i = (N - 1 + 1) / 2 * 2; i <= N - 1; i++) {
      y[i] = y[i] + 2.0 * x[i];
    }
  }
