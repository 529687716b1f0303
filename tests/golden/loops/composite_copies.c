/* transform Composite(tile=[('k',4,'kk')], arrcopy=[(True,'x[k]',[4],'_copy')]) */

  {
    for (int kk = 0; kk <= N - 1; kk += 4) {
      for (int i = 0; i <= N - 1; i++) {
        double x_copy[4];
        for (int k = kk; k <= (N - 1 < kk + 3 ? N - 1 : kk + 3); k++) {
          x_copy[k - kk] = x[k];
        }
        for (int k = kk; k <= (N - 1 < kk + 3 ? N - 1 : kk + 3); k++) {
          y[i] = y[i] + A[i][k] * x_copy[k - kk];
        }
      }
    }
  }
