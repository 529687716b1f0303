/* loops on threads that nobody asked to unroll: sums of inner ones in the lanes of vectors */

  {
#pragma omp parallel for reduction(+:a[:N <= 0 ? 0 : N])
    for (int i = 0; i <= N - 1; i++) {
      y[i] = 0;
      if (0 <= N - 1) {
        double tw_sum_1 = x[i];
        double tw_sum_2 = y[i];
#pragma omp simd reduction(+:tw_sum_2)
        for (int j = 0; j <= N - 1; j++) {
          a[j] += tw_sum_1 * A[i][j];
          tw_sum_2 += A[i][j] * b[j];
        }
        y[i] = tw_sum_2;
      }
    }
  }
