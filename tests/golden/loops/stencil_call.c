/* a stencil's kernel in the place of loops */

  {
    const int64_t tw_steps = T > 0 ? T : 0, tw_cells = 1536;
    int64_t tw_threads = 1;
#ifdef _OPENMP
    tw_threads = omp_get_max_threads();
#endif
    double *tw_field[3], *tw_state = 0, *tw_next;
    char *tw_scratch = 0;
    if (tw_steps > 0 && N == 24 && ((const char *)((double *)B + tw_cells) <= (const char *)u || (const char *)((double *)u + tw_cells) <= (const char *)B)) {
      tw_state = (double *)tw_memory((3072 + 0 * (size_t)tw_cells) * sizeof(double));
      tw_scratch = (char *)tw_memory(64 * (size_t)tw_threads);
    }
    if (tw_state && tw_scratch) {
      tw_next = tw_state;
      const double *tw_constant[1];
      tw_constant[0] = (double *)tw_scratch;
      const double tw_scalar[] = {0};
      tw_field[0] = tw_next;
      for (int tw_v = 0; tw_v < 2; tw_v++) memcpy(tw_next + tw_v * 1536, u, (size_t)tw_cells * sizeof(double));
      tw_next += 3072;
      const int64_t tw_size[] = {tw_steps, tw_threads, 24, 64, 64, 1536, 0, 0, 64};
      tw_jacobi2d((double *const *)tw_field, tw_size, tw_scalar, (double *const *)tw_constant);
      memcpy(u, tw_field[0] + tw_steps % 2 * 1536, (size_t)tw_cells * sizeof(double));
#pragma omp parallel for
      for (int64_t tw_i0 = 1; tw_i0 <= 22; tw_i0++) for (int64_t tw_i1 = 1; tw_i1 <= 62; tw_i1++) ((double *)B)[tw_i0 * 64 + tw_i1] = ((double *)u)[tw_i0 * 64 + tw_i1];
    } else {
      {
        for (int t = 0; t <= T - 1; t++) {
          u[t] = u[t];
        }
      }
    }
    free(tw_scratch);
    free(tw_state);
  }
