/* addresses made anew */

/* the same index, of which a compiler knows nothing: addresses are made from it anew, not carried along */
static inline __attribute__((always_inline)) int64_t tw_opaque(int64_t i) {
  __asm__("" : "+r"(i));
  return i;
}
