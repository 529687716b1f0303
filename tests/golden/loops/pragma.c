/* transform Pragma(pragma_str=['omp parallel for', 'ivdep']) */

  {
#pragma omp parallel for
    for (int i = 0; i <= N - 1; i++) {
      y[i] = y[i] + 2.0 * x[i];
    }
  }
