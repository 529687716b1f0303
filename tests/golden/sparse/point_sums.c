/* what receivers record, float32
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64 */

void tw_point_sums(const float *const *table, const int64_t *size, const int64_t *const *place,
    const double *const *number) {
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
    #pragma omp for schedule(static)
    for (int64_t sum = 0; sum < count; ++sum) {
      double total[64];
      const double start = first[sum];
      for (int64_t begin = 0; begin < steps; begin += 64) {
        const int64_t end = tw_min((begin + 64), steps);
        const int64_t length = end - begin;
        for (int64_t at = 0; at < length; ++at) {
          total[at] = start;
        }
        for (int64_t term = starts[sum]; term < starts[sum + 1]; ++term) {
          const double weight = weights[term];
          const float *const row = rows + ((source[term] * steps) + begin);
          for (int64_t at = 0; at < length; ++at) {
            const double value = row[at];
            total[at] = total[at] + (weight * value);
          }
        }
        for (int64_t at = 0; at < length; ++at) {
          result[((sum * steps) + begin) + at] = total[at];
        }
      }
    }
  }
}
