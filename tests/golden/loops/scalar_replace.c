/* transform ScalarReplace(dtype='double') */

  {
    for (int i = 0; i <= M - 1; i++) {
      for (int j = 0; j <= N - 1; j++) {
        if (0 <= K - 1) {
          double itv_1 = C[i][j];
          for (int k = 0; k <= K - 1; k++) {
            itv_1 = itv_1 + A[i][k] * B[k][j];
          }
          C[i][j] = itv_1;
        }
      }
    }
  }
