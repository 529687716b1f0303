/* transform Composite(tile=[('i',4,'ii'),('j',8,'jj')], permut=[(['i'],['k'],['j'])], unrolljam=(['i'],[2]), scalarreplace=(True,'double'), vector=(True,['ivdep']), openmp=(True,'omp parallel for private(i)')) */

  {
#pragma omp parallel for
    for (int ii = 0; ii <= M - 1; ii += 4) {
      for (int jj = 0; jj <= N - 1; jj += 8) {
        for (int i = ii; i <= (M - 1 < ii + 3 ? M - 1 : ii + 3) - 1; i += 2) {
          for (int k = 0; k <= K - 1; k++) {
            if (jj <= (N - 1 < jj + 7 ? N - 1 : jj + 7)) {
              double itv_1 = A[i][k];
              double itv_2 = A[i + 1][k];
#pragma GCC ivdep
              for (int j = jj; j <= (N - 1 < jj + 7 ? N - 1 : jj + 7); j++) {
                C[i][j] = C[i][j] + itv_1 * B[k][j];
                C[i + 1][j] = C[i + 1][j] + itv_2 * B[k][j];
              }
            }
          }
        }
        for (int i = ii + ((M - 1 < ii + 3 ? M - 1 : ii + 3) - ii + 1) / 2 * 2; i <= (M - 1 < ii + 3 ? M - 1 : ii + 3); i++) {
          for (int k = 0; k <= K - 1; k++) {
            if (jj <= (N - 1 < jj + 7 ? N - 1 : jj + 7)) {
              double itv_3 = A[i][k];
#pragma GCC ivdep
              for (int j = jj; j <= (N - 1 < jj + 7 ? N - 1 : jj + 7); j++) {
                C[i][j] = C[i][j] + itv_3 * B[k][j];
              }
            }
          }
        }
      }
    }
  }
