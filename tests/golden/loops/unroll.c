/* transform Unroll(ufactor=4) */

  {
    for (int i = 0; i <= N - 4; i += 4) {
      y[i] = y[i] + 2.0 * x[i];
      y[i + 1] = y[i + 1] + 2.0 * x[i + 1];
      y[i + 2] = y[i + 2] + 2.0 * x[i + 2];
      y[i + 3] = y[i + 3] + 2.0 * x[i + 3];
    }
    for (int i = (N - 1 + 1) / 4 * 4; i <= N - 1; i++) {
      y[i] = y[i] + 2.0 * x[i];
    }
  }
