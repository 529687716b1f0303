/* transform ArrCopy(aref='A[i][k]', dimsizes=[8,8]) */

  {
    for (int ii = 0; ii <= M - 1; ii += 8) {
      for (int kk = 0; kk <= K - 1; kk += 8) {
        double A_copy[8][8];
        for (int i = ii; i <= (M - 1 < ii + 7 ? M - 1 : ii + 7); i++) {
          for (int k = kk; k <= (K - 1 < kk + 7 ? K - 1 : kk + 7); k++) {
            A_copy[i - ii][k - kk] = A[i][k];
          }
        }
        for (int i = ii; i <= (M - 1 < ii + 7 ? M - 1 : ii + 7); i++) {
          for (int j = 0; j <= N - 1; j++) {
            for (int k = kk; k <= (K - 1 < kk + 7 ? K - 1 : kk + 7); k++) {
              C[i][j] += A_copy[i - ii][k - kk] * B[k][j];
            }
          }
        }
      }
    }
  }
