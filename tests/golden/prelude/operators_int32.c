/* operators that are calls */

static inline int32_t tw_abs_i32(int32_t a) { return a < 0 ? -a : a; }

static inline int32_t tw_maximum_i32(int32_t a, int32_t b) { const int32_t c = a > b ? a : b; return a != a ? a : c; }

static inline int32_t tw_minimum_i32(int32_t a, int32_t b) { const int32_t c = a < b ? a : b; return a != a ? a : c; }

static inline int tw_not_i32(int a) { return !a; }

static inline int32_t tw_number_i32(int a) { return a ? 1 : 0; }

static inline int32_t tw_where_i32(int a, int32_t b, int32_t c) { return a ? b : c; }
