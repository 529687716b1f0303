/* what receivers record, float32
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, tw_last(), tw_wanted(), tw_goes_on(), omp_get_thread_num(),
     tw_thread() */

void tw_point_sums(const float *const *table, const int64_t *size, const int64_t *const *place,
    const double *const *number) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t threads = size[0];
  const int64_t steps = size[1];
  const int64_t count = size[2];
  const float *const rows = table[0];
  const int64_t *const starts = place[0];
  const int64_t *const source = place[1];
  const double *const weights = number[0];
  const double *const first = number[1];
  double *const result = ((double *)number[2]);
  #pragma omp parallel num_threads(threads)
  {
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    #pragma omp for schedule(static)
    for (int64_t sum = 0; sum < count; ++sum) {
      if (!tw_wanted(&tw_own)) continue;
      double *const total = result + (sum * steps);
      const double start = first[sum];
      for (int64_t at = 0; at < steps; ++at) {
        total[at] = start;
      }
      for (int64_t term = starts[sum]; term < starts[sum + 1]; ++term) {
        const double weight = weights[term];
        const float *const row = rows + (source[term] * steps);
        for (int64_t at = 0; at < steps; ++at) {
          const double value = row[at];
          total[at] = total[at] + (weight * value);
        }
      }
    }
  }
}
