/* operators that are calls */

static inline double _Complex tw_complex_c128(double a) { return __builtin_complex(a, (double)0); }

static inline double _Complex tw_conj_c128(double _Complex a) { return __builtin_complex(__real__ a, -__imag__ a); }

static inline double _Complex tw_div_c128(double _Complex a, double _Complex b) {
  const double x = __real__ a, y = __imag__ a, re = __real__ b, im = __imag__ b;
  const int big = __builtin_fabs(re) >= __builtin_fabs(im);
  const double p = big ? re : im, q = big ? im : re, ratio = q / p, d = p + q * ratio;
  return big ? __builtin_complex((x + y * ratio) / d, (y - x * ratio) / d)
             : __builtin_complex((x * ratio + y) / d, (y * ratio - x) / d);
}

static inline double tw_imag_c128(double _Complex a) { return __imag__ a; }

static inline double tw_modulus_c128(double _Complex a) {
  const double x = __builtin_fabs(__real__ a), y = __builtin_fabs(__imag__ a);
  const double p = x > y ? x : y, ratio = x == y ? 1 : (x > y ? y : x) / p;
  return p * __builtin_sqrt(1 + ratio * ratio);
}

static inline double _Complex tw_mul_c128(double _Complex a, double _Complex b) {
  const double p = __real__ a, q = __imag__ a, r = __real__ b, s = __imag__ b;
  return __builtin_complex(p * r - q * s, p * s + q * r);
}

static inline double tw_real_c128(double _Complex a) { return __real__ a; }

static inline double _Complex tw_times_i_c128(double c, double _Complex a) { return __builtin_complex(-c * __imag__ a, c * __real__ a); }
