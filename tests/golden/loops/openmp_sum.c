/* a CUDA transform on a CPU */

  {
#pragma omp parallel for simd reduction(+:r)
    for (int i = 0; i <= n - 1; i++) {
      r += x[i] * y[i];
    }
  }
