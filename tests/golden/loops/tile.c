/* transform Tile(tsize=4, tindex='ii') */

  {
    for (int ii = 0; ii <= N - 1; ii += 4) {
      for (int i = ii; i <= (N - 1 < ii + 3 ? N - 1 : ii + 3); i++) {
        y[i] = y[i] + 2.0 * x[i];
      }
    }
  }
