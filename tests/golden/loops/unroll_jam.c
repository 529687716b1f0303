/* transform UnrollJam(ufactor=2) */

  {
    for (int i = 0; i <= M - 2; i += 2) {
      for (int j = 0; j <= N - 1; j++) {
        for (int k = 0; k <= K - 1; k++) {
          C[i][j] = C[i][j] + A[i][k] * B[k][j];
          C[i + 1][j] = C[i + 1][j] + A[i + 1][k] * B[k][j];
        }
      }
    }
    for (int i = (M - 1 + 1) / 2 * 2; i <= M - 1; i++) {
      for (int j = 0; j <= N - 1; j++) {
        for (int k = 0; k <= K - 1; k++) {
          C[i][j] = C[i][j] + A[i][k] * B[k][j];
        }
      }
    }
  }
