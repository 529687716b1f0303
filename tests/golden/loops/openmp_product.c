/* a CUDA transform on a CPU */

  {
#pragma omp parallel for
    for (int i = 0; i <= M - 1; i++) {
      for (int j = 0; j <= N - 1; j++) {
#pragma GCC unroll 2
        for (int k = 0; k <= K - 1; k++) {
          C[i][j] = C[i][j] + A[i][k] * B[k][j];
        }
      }
    }
  }
