/* the ends of loops apart from their interiors */

  {
    if (0 <= N - 1) {
      for (int i = 0; i <= N - 1; i++) {
        A[0][i] = B[0][i];
      }
    }
    for (int j = 1; j <= N - 1 - 1; j++) {
      if (0 <= N - 1) {
        A[j][0] = B[j][0];
      }
      for (int i = 1; i <= N - 1 - 1; i++) {
        A[j][i] = B[j][i - 1] + B[j][i + 1] + B[j - 1][i] + B[j + 1][i];
      }
      if (0 < N - 1) {
        A[j][N - 1] = B[j][N - 1];
      }
    }
    if (0 < N - 1) {
      for (int i = 0; i <= N - 1; i++) {
        A[N - 1][i] = B[N - 1][i];
      }
    }
  }
