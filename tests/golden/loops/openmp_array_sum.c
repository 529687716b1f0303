/* accumulations in two directions: each thread sums into a copy */

  {
#pragma omp parallel for reduction(+:a[:N <= 0 ? 0 : N])
    for (int i = 0; i <= N - 1; i++) {
      y[i] = 0;
#pragma GCC unroll 2
      for (int j = 0; j <= N - 1; j++) {
        a[j] += x[i] * A[i][j];
        y[i] += A[i][j] * b[j];
      }
    }
  }
