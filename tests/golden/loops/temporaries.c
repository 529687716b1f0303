/* no transform */

  {
    for (int i = 0; i <= N - 1; i++) {
      double s;
      s = x[i];
      y[i] = s * s;
    }
  }
