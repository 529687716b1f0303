"""The C kernel of local alignment with affine gaps (Smith-Waterman, Gotoh): scores of two whole sequences.

The table is cut into orthogonal tiles of ``t`` rows and ``s`` columns. A thread owns every so many columns of tiles and
walks down; it waits for the tile on its left, so the tiles of an anti-diagonal run at the same time. Inside a tile the
columns are dealt to the lanes of vectors, neighbouring ``sub`` columns to a lane (the sub-tiles), and rows are computed
one after the other (a row scan): every lane first assumes that no horizontal gap comes in from the lane on its left,
then gaps that do come in are carried on until the lane's own values dominate them.

A tile is computed on 8 bits where the scores on its edges allow; if one saturates, it is computed again on 16 bits, and
then on 32. Edges between tiles are 32-bit numbers; with ``keep`` all of them stay, from which an alignment is traced.

For every row i and column j, with a gap of length k costing open + (k - 1) extend:

    E(i, j) = max(E(i, j-1) - extend, H(i, j-1) - open)      V(i, j) = max(V(i-1, j) - extend, H(i-1, j) - open)
    H(i, j) = max(0, H(i-1, j-1) + score(x_i, y_j), E(i, j), V(i, j))
"""

import functools

from tilewright.base.constants import ALIGNMENT_LANES
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.source import KernelSource, c_source
from tilewright.codegen.tables.align_trace import TRACE
from tilewright.codegen.tables.align_vectors import HEAD, vectors

SIZES = ("m", "n", "letters", "open", "extend", "t", "s", "threads", "keep", "bits", "lowest", "own")
"""What ``size`` holds: rows, columns, letters of the alphabet, gap costs, the tile, threads, whether edges are kept,
the least number of bits to compute on (8, 16 or 32), the score of columns that fill up a tile, and bytes of work per
thread."""
BITS = (8, 16, 32)


@functools.cache
def emit_align() -> KernelSource[None]:
    """Write the kernels of alignments; everything is their parameter.

    Returns:
        The source of two functions. The first computes scores: ``array`` holds pointers to the letters x and y (uint8
        codes), the matrix of scores (int32, letters x letters), the vertical edges H and E (int32, ``m`` each, times
        one more than the tile columns if kept), the horizontal edges H and V (int32, ``n`` each, times one more than
        the tile rows; null unless kept), the best score per tile (int32), the bits that each tile needed (uint8) and
        flags (128 bytes for each tile column); ``size`` holds what :data:`SIZES` says. The second follows an alignment
        through a tile, which it computes again with directions, see :mod:`tilewright.codegen.tables.align_trace`.
    """
    packs = [_PACK.replace("{B}", str(bits)) for bits in BITS]
    tiles = [_TILE.replace("{B}", str(bits)).replace("{scan}", _scan(bits)) for bits in BITS]
    body = "\n".join([HEAD, *(vectors(bits) for bits in BITS), *packs, _COLUMN, _PLAIN, *tiles, _SCORE, TRACE])
    name = f"tw_align_{fingerprint(body)[:12]}"
    text = body.replace("SCORE_ENTRY", f"{name}_score").replace("TRACE_ENTRY", f"{name}_trace")
    return c_source(text, f"{name}_score", f"{name}_trace")


def _scan(bits: int) -> str:
    """Carry gaps through all lanes: log2(lanes) steps, fewer once the gap costs more than any score."""
    lines = []
    for power in range(6):
        lanes, size = 2**power, 2**power * bits // 8
        line = (
            f"  if (fall >= 2 * (int64_t)TW_HIGH{bits}) return x;\n"
            f"  x = tw_max{bits}(x, tw_fall{bits}(TW_UP{bits}(x, {lanes}), fall));\n"
            f"  fall *= 2;"
        )
        if size < ALIGNMENT_LANES:  # bytes of the widest vectors
            lines.append(f"#if {size} < TW_BYTES\n{line}\n#endif")
    return "\n".join(lines)


_PACK = """
/* The scores of every letter against the tile's columns; columns beyond the table get the lowest score. */
static void tw_profile{B}(tw_v{B} *profile, uint8_t *codes, const int32_t *matrix, int64_t letters, const uint8_t *y,
                          int64_t width, int64_t k, int64_t lowest) {
  for (int64_t lane = 0; lane < TW_LANES{B}; ++lane)
    for (int64_t v = 0; v < k; ++v) {
      const int64_t j = lane * k + v;
      codes[v * TW_LANES{B} + lane] = (uint8_t)(j < width ? y[j] : letters);
    }
  for (int64_t a = 0; a < letters; ++a) {
    tw_t{B} score[256] __attribute__((aligned(64))) = {0};
    for (int64_t b = 0; b < letters; ++b) score[b] = (tw_t{B})matrix[a * letters + b];
    score[letters] = (tw_t{B})lowest;
    tw_t{B} *const row = (tw_t{B} *)(profile + a * k);
#if defined(__AVX512VBMI__)
    if ({B} == 8 && letters < 64) {
      const __m512i all = _mm512_load_si512(score);
      for (int64_t v = 0; v < k; ++v)
        _mm512_store_si512((tw_v{B} *)row + v, _mm512_permutexvar_epi8(_mm512_loadu_si512(codes + 64 * v), all));
      continue;
    }
#endif
    for (int64_t q = 0; q < k * TW_LANES{B}; ++q) row[q] = score[codes[q]];
  }
}

static void tw_pack{B}(tw_v{B} *to, const int32_t *from, int64_t width, int64_t k) {
  for (int64_t lane = 0; lane < TW_LANES{B}; ++lane)
    for (int64_t v = 0; v < k; ++v) {
      const int64_t j = lane * k + v;
      ((tw_t{B} *)(to + v))[lane] = (tw_t{B})((j < width ? from[j] : 0) + TW_LOW{B});
    }
}
static void tw_unpack{B}(int32_t *to, const tw_v{B} *from, int64_t width, int64_t k) {
  for (int64_t lane = 0; lane < TW_LANES{B}; ++lane)
    for (int64_t v = 0; v < k && lane * k + v < width; ++v)
      to[lane * k + v] = (int32_t)((const tw_t{B} *)(from + v))[lane] - TW_LOW{B};
}
"""

_TILE = """
/* A score less what a longer gap costs, which may be more than the type's highest number. */
static inline tw_v{B} tw_fall{B}(tw_v{B} x, int64_t fall) {
  const int64_t first = tw_min(fall, TW_HIGH{B});
  x = tw_sub{B}(x, tw_splat{B}((tw_t{B})first));
  return fall > first ? tw_sub{B}(x, tw_splat{B}((tw_t{B})(fall - first))) : x;
}

/* Gaps that come into the lanes, each lane's own among them. */
static inline tw_v{B} tw_carry{B}(tw_v{B} x, int64_t fall) {
{scan}
  return x;
}

/* One tile: k vectors of columns, whose H and V are state. Returns 0 if a score did not fit. */
static int tw_tile{B}(const tw_v{B} *profile, const uint8_t *x, int64_t rows, int64_t k, tw_v{B} *restrict h,
                      tw_v{B} *restrict g, const tw_t{B} *left_h, const tw_t{B} *left_e, tw_t{B} corner,
                      tw_t{B} *right_h, tw_t{B} *right_e, int64_t gap_open, int64_t gap_extend, int64_t *found) {
  const tw_v{B} low = tw_splat{B}(TW_LOW{B});
  const tw_v{B} open = tw_splat{B}((tw_t{B})gap_open), extend = tw_splat{B}((tw_t{B})gap_extend);
  tw_v{B} best = low;
  int carried = 0;
  tw_t{B} beside = corner;
  for (int64_t i = 0; i < rows; ++i) {
    const tw_v{B} *p = profile + x[i] * k;
    tw_v{B} diagonal = TW_UP{B}(h[k - 1], 1), e = low;
    diagonal[0] = beside;
    beside = left_h[i];
    for (int64_t v = 0; v < k; ++v) {
      const tw_v{B} old = h[v];
      const tw_v{B} gap = tw_max{B}(tw_sub{B}(g[v], extend), tw_sub{B}(old, open));
      const tw_v{B} own = tw_max{B}(tw_add{B}(diagonal, p[v]), gap);
      g[v] = gap;
      best = tw_max{B}(best, own);
      h[v] = tw_max{B}(own, e);
      e = tw_max{B}(tw_sub{B}(e, extend), tw_sub{B}(own, open));
      diagonal = old;
    }
    tw_v{B} in = TW_UP{B}(e, 1);
    in[0] = left_e[i];
    tw_v{B} last;
    for (;;) {
      if (carried) in = tw_carry{B}(in, gap_extend * k);
      last = in;
      int alive = 1;
      for (int64_t v = 0; v < k && alive;) {
        const int64_t end = tw_min(v + 4, k);
        tw_v{B} before = low;
        for (; v < end; ++v) {
          before = h[v];
          h[v] = tw_max{B}(before, last);
          last = tw_sub{B}(last, extend);
        }
        alive = tw_above{B}(last, tw_sub{B}(before, open));
      }
      if (carried || !alive) { carried = alive; break; }
      carried = 1;
    }
    e = tw_max{B}(e, tw_sub{B}(h[k - 1], open));
    if (carried) e = tw_max{B}(e, last);
    right_h[i] = h[k - 1][TW_LANES{B} - 1];
    right_e[i] = e[TW_LANES{B} - 1];
    if (TW_HIGH{B} < 32768 && ((i & 63) == 63 || i == rows - 1)
        && tw_above{B}(best, tw_splat{B}(TW_HIGH{B} - 1))) return 0;
  }
  int64_t most = 0;
  for (int64_t i = 0; i < TW_LANES{B}; ++i) most = tw_max(most, (int64_t)best[i] - TW_LOW{B});
  *found = most;
  return 1;
}

/* Computes a tile on {B} bits from 32-bit edges; leaves everything as it was and returns 0 if that is too narrow. */
static int tw_try{B}(tw_column *c, const uint8_t *x, int64_t rows, const int32_t *left_h, const int32_t *left_e,
                     int32_t corner, int32_t *right_h, int32_t *right_e, int64_t *found) {
  const int64_t k = tw_ceildiv(c->width, TW_LANES{B});
  const int64_t most = (int64_t)TW_HIGH{B} - TW_LOW{B} - 1;
  if ({B} < 32) {
    int64_t edge = corner;
    for (int64_t i = 0; i < rows; ++i) edge = tw_max(edge, tw_max(left_h[i], left_e[i]));
    if (edge > most || c->most > most || c->gap_open > TW_HIGH{B} || c->gap_extend > TW_HIGH{B}
        || c->largest > TW_HIGH{B}) return 0;
  }
  tw_v{B} *const profile = (tw_v{B} *)c->profile[TW_LEVEL{B}];
  const size_t bytes = (size_t)k * sizeof(tw_v{B});
  if (c->ready != {B}) {
    tw_plain(c);
    if (!c->profiled[TW_LEVEL{B}])
      tw_profile{B}(profile, c->codes, c->matrix, c->letters, c->y, c->width, k, c->lowest);
    c->profiled[TW_LEVEL{B}] = 1;
    tw_pack{B}((tw_v{B} *)c->h, c->plain_h, c->width, k);
    tw_pack{B}((tw_v{B} *)c->g, c->plain_g, c->width, k);
    c->ready = {B};
  }
  tw_t{B} *in_h = (tw_t{B} *)c->edge, *in_e = in_h + c->tall, *out_h = in_e + c->tall, *out_e = out_h + c->tall;
  for (int64_t i = 0; i < rows; ++i) in_h[i] = (tw_t{B})(left_h[i] + TW_LOW{B});
  for (int64_t i = 0; i < rows; ++i) in_e[i] = (tw_t{B})(left_e[i] + TW_LOW{B});
  memcpy(c->old_h, c->h, bytes);
  memcpy(c->old_g, c->g, bytes);
  const int good = tw_tile{B}(profile, x, rows, k, (tw_v{B} *)c->h, (tw_v{B} *)c->g, in_h, in_e,
                              (tw_t{B})(corner + TW_LOW{B}), out_h, out_e, c->gap_open, c->gap_extend, found);
  if (!good) {
    memcpy(c->h, c->old_h, bytes);
    memcpy(c->g, c->old_g, bytes);
    return 0;
  }
  for (int64_t i = 0; i < rows; ++i) right_h[i] = (int32_t)out_h[i] - TW_LOW{B};
  for (int64_t i = 0; i < rows; ++i) right_e[i] = (int32_t)out_e[i] - TW_LOW{B};
  tw_v{B} high = tw_splat{B}(TW_LOW{B});
  for (int64_t v = 0; v < k; ++v) high = tw_max{B}(high, ((const tw_v{B} *)c->h)[v]);
  c->most = 0;
  for (int64_t i = 0; i < TW_LANES{B}; ++i) c->most = tw_max(c->most, (int64_t)high[i] - TW_LOW{B});
  return 1;
}
"""

_COLUMN = """
/* What a thread keeps of the column of tiles that it walks down. */
typedef struct {
  const uint8_t *y;
  const int32_t *matrix;
  int64_t letters, width, tall, gap_open, gap_extend, lowest, largest, most;
  int ready, profiled[3];
  void *profile[3], *h, *g, *old_h, *old_g, *edge;
  int32_t *plain_h, *plain_g;
  uint8_t *codes;
} tw_column;
"""

_PLAIN = """
/* The state as plain 32-bit numbers. */
static void tw_plain(tw_column *c) {
  const int64_t width = c->width;
#define TW_PLAIN(B) if (c->ready == B) { \\
  tw_unpack##B(c->plain_h, (const tw_v##B *)c->h, width, tw_ceildiv(width, TW_LANES##B)); \\
  tw_unpack##B(c->plain_g, (const tw_v##B *)c->g, width, tw_ceildiv(width, TW_LANES##B)); }
  TW_PLAIN(8) else TW_PLAIN(16) else TW_PLAIN(32)
}
enum { TW_LEVEL8, TW_LEVEL16, TW_LEVEL32 };
"""

_SCORE = """
typedef struct { int64_t value; char away[120]; } tw_flag;

static void tw_await(const tw_flag *flag, int64_t value) {
  for (int64_t turn = 0; __atomic_load_n(&flag->value, __ATOMIC_ACQUIRE) < value; ++turn)
    if (turn > 256) sched_yield();
}

void SCORE_ENTRY(void *const *array, const int64_t *size, void *work, void *const *unused) {
  (void)unused;
  const uint8_t *x = array[0], *y = array[1];
  const int32_t *matrix = array[2];
  int32_t *vertical_h = array[3], *vertical_e = array[4], *horizontal_h = array[5], *horizontal_g = array[6];
  int32_t *tile_best = array[7];
  uint8_t *tile_bits = array[8];
  const int64_t m = size[0], n = size[1], letters = size[2], t = size[5], s = size[6], keep = size[8];
  const int64_t tall = tw_ceildiv(m, t), wide = tw_ceildiv(n, s), own = size[11];
  tw_flag *flags = array[9];
  int64_t largest = 0;
  for (int64_t a = 0; a < letters * letters; ++a) largest = tw_max(largest, labs(matrix[a]));
  #pragma omp parallel num_threads((int)size[7])
  {
#ifdef _OPENMP
    const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
#else
    const int64_t me = 0, all = 1;
#endif
    char *mine = (char *)work + me * own;
    const int64_t columns = (s + 63) / 64 * 64, state = columns * 4;
    for (int64_t b = me; b < wide; b += all) {
      const int64_t j0 = b * s, width = tw_min(s, n - j0);
      tw_column c = {.y = y + j0, .matrix = matrix, .letters = letters, .width = width, .tall = t,
                     .gap_open = size[3], .gap_extend = size[4], .lowest = size[10], .largest = largest};
      c.h = mine; c.g = mine + state; c.old_h = mine + 2 * state; c.old_g = mine + 3 * state;
      c.plain_h = (int32_t *)(mine + 4 * state); c.plain_g = (int32_t *)(mine + 5 * state);
      c.profile[0] = mine + 6 * state;
      c.profile[1] = mine + 6 * state + letters * columns;
      c.profile[2] = mine + 6 * state + 3 * letters * columns;
      c.edge = mine + 6 * state + 7 * letters * columns;
      c.codes = (uint8_t *)c.edge + (16 * t + 63) / 64 * 64;
      memset(c.plain_h, 0, state);
      memset(c.plain_g, 0, state);
      int32_t corner = 0;
      int bits = (int)size[9];
      for (int64_t a = 0; a < tall; ++a) {
        const int64_t i0 = a * t, rows = tw_min(t, m - i0);
        if (b) tw_await(flags + b - 1, a + 1);
        const int32_t *left_h = vertical_h + (keep ? b * m : 0) + i0, *left_e = vertical_e + (keep ? b * m : 0) + i0;
        int32_t *right_h = vertical_h + (keep ? (b + 1) * m : 0) + i0;
        int32_t *right_e = vertical_e + (keep ? (b + 1) * m : 0) + i0;
        const int32_t next = left_h[rows - 1];
        int64_t found = 0;
        int used = 0;
        if (bits > (int)size[9] && c.most < 64) bits = (int)size[9];
        if (bits <= 8 && tw_try8(&c, x + i0, rows, left_h, left_e, corner, right_h, right_e, &found)) used = 8;
        if (!used && bits <= 16 && tw_try16(&c, x + i0, rows, left_h, left_e, corner, right_h, right_e, &found))
          used = 16;
        if (!used) { tw_try32(&c, x + i0, rows, left_h, left_e, corner, right_h, right_e, &found); used = 32; }
        bits = used;
        corner = next;
        tile_best[a * wide + b] = (int32_t)found;
        tile_bits[a * wide + b] = (uint8_t)used;
        if (keep) {
          tw_plain(&c);
          memcpy(horizontal_h + (a + 1) * n + j0, c.plain_h, (size_t)width * 4);
          memcpy(horizontal_g + (a + 1) * n + j0, c.plain_g, (size_t)width * 4);
        }
        __atomic_store_n(&flags[b].value, a + 1, __ATOMIC_RELEASE);
      }
    }
  }
}
"""
