/* Functions of vectors: see vector_math.py. @v is a vector, @m a mask of it, @n a vector of unsigned numbers, @T an
   element, @s ends names (f32), @f ends names of the library. A line that begins with F is of float alone, one with D
   of double; @exp(r) is a polynomial, words of capitals are constants; @split makes of a, which is positive, finite and
   normal, m times 2 to the power of k, m between the roots of a half and of 2. */

//: head
#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA)
#define TW_VECTOR_MATH 1
#endif
//: common
#if defined(TW_VECTOR_MATH)
typedef @U tw_n_@s __attribute__((vector_size(TW_BYTES)));
/* a b + c, rounded once */
static inline @v tw_fma_@s(@v a, @v b, @v c) {
  @v r;
  for (int64_t i = 0; i < @lanes; ++i) r[i] = __builtin_fma@f(a[i], b[i], c[i]);
  return r;
}
/* a times 2 to the power of k, a whole number that may take the result out of the range of exponents */
static inline @v tw_scaled_@s(@v a, @v k) {
#if defined(__AVX512F__) && !defined(__clang__)
  return (@v)__builtin_ia32_scalef@d512_mask(a, k, (@v){0}, (@k)-1, 4);
#else
  const @m bits = (@m)((@v){0} + @MAGIC), half = (@m)(k * (@T)0.5 + @MAGIC) - bits;
  const @m rest = (@m)(k + @MAGIC) - bits - half;
  return a * (@v)((half + @BIAS) << @MANTISSA) * (@v)((rest + @BIAS) << @MANTISSA);
#endif
}
/* the whole number nearest to a, at most 2 to the power of @MANTISSA less 2 */
static inline @v tw_nearest_@s(@v a) { return (a + @MAGIC) - @MAGIC; }
static inline int tw_any_@s(@m m) {
#if defined(__AVX512F__) && !defined(__clang__)
  typedef int words __attribute__((vector_size(64)));
  return __builtin_ia32_ptestmd512((words)m, (words)m, (unsigned short)-1) != 0;
#elif defined(__AVX__) && TW_BYTES == 32 && !defined(__clang__)
  typedef long long words __attribute__((vector_size(32)));
  return !__builtin_ia32_ptestz256((words)m, (words)m);
#else
  int64_t part[TW_BYTES / 8], any = 0;
  __builtin_memcpy(part, &m, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) any |= part[i];
  return any != 0;
#endif
}
#endif
//: exp
  const @v low = tw_pick_@s(a < @EXP_LOW, (@v){0} + @EXP_LOW, a);
  const @v x = tw_pick_@s(low > @EXP_HIGH, (@v){0} + @EXP_HIGH, low);
  const @v k = tw_nearest_@s(x * @LOG2E), r = (x - k * @LN2_HIGH) - k * @LN2_LOW;
  return tw_scaled_@s(1 + (r + r * r * @exp(r)), k);
//: split
  const @n bits = (@n)a - @HALF_ROOT + @ONE_BITS;
  const @v m = (@v)((@m)(bits & ((((@n){0} + 1) << @MANTISSA) - 1)) + @HALF_ROOT), f = m - 1;
  const @v k = (@v)((@m)(bits >> @MANTISSA) + ((@m)((@v){0} + @MAGIC) - @BIAS)) - @MAGIC;
//: log
  if (tw_any_@s(~((a >= @SMALL) & (a < __builtin_inf@f())))) return tw_lanes_@name_@s(a);
@split
F return (f - (f * f * (@T)0.5 - (f * f * f * @log(f) + k * @LN2_LOW))) + k * @LN2_HIGH;
D const @v s = f / (2 + f), z = s * s, h = f * f * (@T)0.5;
D return k * @LN2_HIGH + (f - (h - (s * (h + z * @atanh(z)) + k * @LN2_LOW)));
//: reduced
  const @m sign = (@m){0} + @SIGN;
  const @v x = (@v)((@m)a & ~sign);
  if (tw_any_@s(~(x < @FAR))) return tw_lanes_@name_@s(a);
  const @v shifted = x * @TWO_OVER_PI + @MAGIC, k = shifted - @MAGIC;
  const @m n = (@m)shifted, odd = -(n & 1);
  const @v near = tw_fma_@s(-k, (@v){0} + @HALF_PI, x);
F const @v nearer = tw_fma_@s(-k, (@v){0} + @HALF_PI_2, near), r = nearer - k * @HALF_PI_3, z = r * r;
F const @v s = r + r * z * @sin(z), c = (1 - z * (@T)0.5) + z * z * @cos(z);
D const @v p = k * @HALF_PI_2, r = near - p, back = r - near;
D const @v r_low = (near - (r - back)) - (p + back) - (tw_fma_@s(k, (@v){0} + @HALF_PI_2, -p) + k * @HALF_PI_3);
D const @v z = r * r, half = z * (@T)0.5, one = 1 - half;
D const @v sin = r_low + (r * z * @sin(z) - r_low * half), cos = ((1 - one) - half) + (z * z * @cos(z) - r * r_low);
D const @v s = r + sin, c = one + cos;
//: sin
  return (@v)((@m)tw_pick_@s(odd, c, s) ^ (((n << (8 * sizeof(@T) - 2)) ^ (@m)a) & sign));
//: cos
  return (@v)((@m)tw_pick_@s(odd, s, c) ^ (((n + 1) << (8 * sizeof(@T) - 2)) & sign));
//: tan
  /* sin / cos, or -cos / sin */
  const @v above = tw_pick_@s(odd, -c, s), below = tw_pick_@s(odd, s, c);
F const @v t = above / below;
D const @v s_low = sin - (s - r), c_low = cos - (c - one), over = 1 / below, q = above * over;
D const @v above_low = tw_pick_@s(odd, -c_low, s_low), below_low = tw_pick_@s(odd, s_low, c_low);
D const @v t = q + (tw_fma_@s(-q, below, above) + (above_low - q * below_low)) * over;
  return (@v)((@m)t ^ ((@m)a & sign));
//: tanh
  /* t / (t + 2) of t = exp(2 x) - 1 */
  const @m sign = (@m){0} + @SIGN;
  const @v size = (@v)((@m)a & ~sign), x = 2 * tw_pick_@s(size > @TANH_HIGH, (@v){0} + @TANH_HIGH, size);
  const @v shifted = x * @LOG2E + @MAGIC, k = shifted - @MAGIC, r = (x - k * @LN2_HIGH) - k * @LN2_LOW;
  const @v power = (@v)(((@m)shifted << @MANTISSA) + @ONE_BITS), t = power * (r + r * r * @exp(r)) + (power - 1);
  return (@v)((@m)(t / (t + 2)) | ((@m)a & sign));
//: atan2
  /* the angle of the quotient of both sizes, below an eighth of a turn less or more, and where that lies */
  const @m sign = (@m){0} + @SIGN;
  const @v u = (@v)((@m)b & ~sign), v = (@v)((@m)a & ~sign);
  const @m steep = v > u, left = (@m)b < 0, turned = (steep ^ left) & sign;
  const @v large = tw_pick_@s(steep, v, u), least = tw_pick_@s(steep, u, v);
  const @m usual = (large >= @SMALL) & (large < @HUGE) & (least < @HUGE);
F if (tw_any_@s(~usual)) return tw_lanes_@name_@s(a, b);
  const @m apart = least > large * @TAN_EIGHTH;
  const @v sum = large + least, difference = least - large;
  const @v above = tw_pick_@s(apart, difference, least), below = tw_pick_@s(apart, sum, large);
F const @v t = above / below, t_low = (@v){0}, z = t * t;
D const @v above_low = (@v)((@m)(least - (difference + large)) & apart);
D const @v below_low = (@v)((@m)(least - (sum - large)) & apart), over = 1 / below, t = above * over, z = t * t;
D /* what the quotient loses is normal, too */
D const @m faint = (least > 0) & ((least < @FAINT) | (t < @FAINT));
D if (tw_any_@s(~usual | faint)) return tw_lanes_@name_@s(a, b);
D const @v t_low = (tw_fma_@s(-t, below, above) + (above_low - t * below_low)) * over;
  const @v eighths = (@v)((@m)((@v){0} + 1) & apart), quarters = tw_pick_@s(steep, 2 - eighths, eighths);
  const @v count = tw_pick_@s(left, 4 - quarters, quarters);
  const @v high = count * (@HALF_PI / 2), low = count * (@HALF_PI_2 / 2);
  const @v angle = (@v)((@m)t ^ turned), rest = (@v)((@m)(t_low + t * z * @atan(z)) ^ turned);
F const @v value = high + (angle + (low + rest));
D const @v r = high + angle, value = r + ((angle - (r - high)) + (low + rest));
  return (@v)((@m)value ^ ((@m)a & sign));
//: pow
  /* log x = h + l, of s = (m - 1) / (m + 1): 2 s + 2/3 s^3 with what both lose, then the rest */
@split
  const @v d = m + 1, over = 1 / d, s = f * over, s_low = (tw_fma_@s(-s, d, f) - s * (m - (d - 1))) * over;
  const @v z = s * s, z_low = tw_fma_@s(s, s, -z) + 2 * s * s_low, t = z * @atanh_rest(z);
  const @v c = @THIRDS + t, c_low = t - (c - @THIRDS) + @THIRDS_LOW;
  const @v w = s * z, w_low = tw_fma_@s(s, z, -w) + (s * z_low + s_low * z);
  const @v p = w * c, p_low = tw_fma_@s(w, c, -p) + (w * c_low + w_low * c);
  const @v whole = k * @LN2_HIGH, s2 = 2 * s, h1 = whole + s2, back = h1 - whole;
  const @v l1 = (whole - (h1 - back)) + (s2 - back), h2 = h1 + p, l2 = p - (h2 - h1);
  const @v rest = (l1 + l2) + ((2 * s_low + p_low) + k * @LN2_LOW), h = h2 + rest, l = rest - (h - h2);
  /* exp of its product with b */
  const @v e = h * b, e_low = tw_fma_@s(h, b, -e) + l * b;
  const @v q = tw_pick_@s(e > @EXP_HIGH, (@v){0} + @EXP_HIGH, tw_pick_@s(e < @EXP_LOW, (@v){0} + @EXP_LOW, e));
  const @v n = tw_nearest_@s(q * @LOG2E), r = (q - n * @LN2_HIGH) + ((@v)((@m)e_low & (q == e)) - n * @LN2_LOW);
  return tw_scaled_@s(1 + (r + r * r * @exp(r)), n);
}
/* of zeros, of negative numbers, and what is not finite */
static __attribute__((noinline, cold)) @v tw_powers_@s(@v a, @v b) {
  const @m sign = (@m){0} + @SIGN;
  const @v size = (@v)((@m)a & ~sign), half = b * (@T)0.5;
  const @m normal = (size >= @SMALL) & (size < __builtin_inf@f()), zero = size == 0;
  if (tw_any_@s(~((normal | zero) & ((@v)((@m)b & ~sign) < __builtin_inf@f())))) return tw_lanes_@name_@s(a, b);
  @v whole, even;
  for (int64_t i = 0; i < @lanes; ++i) whole[i] = __builtin_rint@f(b[i]), even[i] = __builtin_rint@f(half[i]);
  const @v power = tw_power_@s(tw_pick_@s(zero, (@v){0} + 1, size), b);
  const @v none = tw_pick_@s(b > 0, (@v){0}, tw_pick_@s(b == 0, (@v){0} + 1, (@v){0} + __builtin_inf@f()));
  const @v value = (@v)((@m)tw_pick_@s(zero, none, power) ^ ((@m)a & sign & (whole == b) & ~(even == half)));
  return tw_pick_@s((a < 0) & ~(whole == b), (@v){0} + __builtin_nan@f(""), value);
}
static inline @v @called(@v a, @v b) {
  const @m normal = (a >= @SMALL) & (a < __builtin_inf@f());
  if (tw_any_@s(~(normal & (b > -__builtin_inf@f()) & (b < __builtin_inf@f())))) return tw_powers_@s(a, b);
  return tw_power_@s(a, b);
