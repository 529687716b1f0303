/* transform BoundReplace() */

  {
    {
      int newlb_i = 2 > M - 9 ? 2 : M - 9;
      int newub_i = N - 1 < 20 ? N - 1 : 20;
      for (int i = newlb_i; i <= newub_i; i++) {
        y[i] = x[i];
      }
    }
  }
