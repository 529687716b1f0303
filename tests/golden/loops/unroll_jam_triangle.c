/* transform UnrollJam(ufactor=2) */

  {
    for (int i = 0; i <= N - 2; i += 2) {
      for (int j = 0; j <= i; j++) {
        A[i][j] = A[i][j] + x[i] * x[j];
      }
      for (int j = 0; j <= i + 1; j++) {
        A[i + 1][j] = A[i + 1][j] + x[i + 1] * x[j];
      }
    }
    for (int i = (N - 1 + 1) / 2 * 2; i <= N - 1; i++) {
      for (int j = 0; j <= i; j++) {
        A[i][j] = A[i][j] + x[i] * x[j];
      }
    }
  }
