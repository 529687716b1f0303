/* transform UnrollJam(ufactor=2) */

  {
    for (int i = 0; i <= N - 2; i += 2) {
      y[i] = 0;
      y[i + 1] = 0;
      for (int k = 0; k <= N - 1; k++) {
        y[i] = y[i] + A[i][k] * x[k];
        y[i + 1] = y[i + 1] + A[i + 1][k] * x[k];
      }
    }
    for (int i = (N - 1 + 1) / 2 * 2; i <= N - 1; i++) {
      y[i] = 0;
      for (int k = 0; k <= N - 1; k++) {
        y[i] = y[i] + A[i][k] * x[k];
      }
    }
  }
