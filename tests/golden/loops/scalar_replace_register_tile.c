/* transform ScalarReplace() transform RegTile(loops=['i','j'], ufactors=[2,2]) */

  {
    for (int i = 0; i <= M - 2; i += 2) {
      for (int j = 0; j <= N - 2; j += 2) {
        if (0 <= K - 1) {
          double itv_1 = C[i][j];
          double itv_2 = C[i][j + 1];
          double itv_3 = C[i + 1][j];
          double itv_4 = C[i + 1][j + 1];
          for (int k = 0; k <= K - 1; k++) {
            itv_1 = itv_1 + A[i][k] * B[k][j];
            itv_2 = itv_2 + A[i][k] * B[k][j + 1];
            itv_3 = itv_3 + A[i + 1][k] * B[k][j];
            itv_4 = itv_4 + A[i + 1][k] * B[k][j + 1];
          }
          C[i][j] = itv_1;
          C[i][j + 1] = itv_2;
          C[i + 1][j] = itv_3;
          C[i + 1][j + 1] = itv_4;
        }
      }
      for (int j = (N - 1 + 1) / 2 * 2; j <= N - 1; j++) {
        if (0 <= K - 1) {
          double itv_5 = C[i][j];
          double itv_6 = C[i + 1][j];
          for (int k = 0; k <= K - 1; k++) {
            itv_5 = itv_5 + A[i][k] * B[k][j];
            itv_6 = itv_6 + A[i + 1][k] * B[k][j];
          }
          C[i][j] = itv_5;
          C[i + 1][j] = itv_6;
        }
      }
    }
    for (int i = (M - 1 + 1) / 2 * 2; i <= M - 1; i++) {
      for (int j = 0; j <= N - 2; j += 2) {
        if (0 <= K - 1) {
          double itv_7 = C[i][j];
          double itv_8 = C[i][j + 1];
          for (int k = 0; k <= K - 1; k++) {
            itv_7 = itv_7 + A[i][k] * B[k][j];
            itv_8 = itv_8 + A[i][k] * B[k][j + 1];
          }
          C[i][j] = itv_7;
          C[i][j + 1] = itv_8;
        }
      }
      for (int j = (N - 1 + 1) / 2 * 2; j <= N - 1; j++) {
        if (0 <= K - 1) {
          double itv_9 = C[i][j];
          for (int k = 0; k <= K - 1; k++) {
            itv_9 = itv_9 + A[i][k] * B[k][j];
          }
          C[i][j] = itv_9;
        }
      }
    }
  }
