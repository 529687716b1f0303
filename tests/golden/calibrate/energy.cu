/* single operations of a GPU
   starts as every text of its language does, see prelude/ */

#define TW_ADD(k, next, c) ((k) + (c))
#define TW_MUL(k, next, c) ((k) * (c))
#define TW_FMA(k, next, c) ((k) * (c) + c3)
#define TW_IADD(k, next, c) ((k) + (next))
#define TW_IMAX(k, next, c) ((k) > (c) ? (k) : (c))
#define TW_IMIN(k, next, c) ((k) < (c) ? (k) : (c))
#define TW_DIV(k, next, c) ((k) / (c))
#define TW_EIGHT(OP, c) k0 = OP(k0, k1, c); k1 = OP(k1, k2, c); k2 = OP(k2, k3, c); k3 = OP(k3, k4, c); \
  k4 = OP(k4, k5, c); k5 = OP(k5, k6, c); k6 = OP(k6, k7, c); k7 = OP(k7, k0, c);
#define TW_FOUR(A, B) TW_EIGHT(A, c0) TW_EIGHT(B, c1) TW_EIGHT(A, c2) TW_EIGHT(B, c3)
#define TW_KNOWN(T) const T c0 = (T)source[0], c1 = (T)source[1], c2 = (T)source[2], c3 = (T)source[3];
#define TW_START(T) T k0 = (T)source[4], k1 = (T)source[5], k2 = (T)source[6], k3 = (T)source[7], \
  k4 = (T)source[8], k5 = (T)source[9], k6 = (T)source[10], k7 = (T)source[11];
#define TW_ZERO float k0 = 0.0f, k1 = 0.0f, k2 = 0.0f, k3 = 0.0f, k4 = 0.0f, k5 = 0.0f, k6 = 0.0f, k7 = 0.0f;
#define TW_TURNS TW_UNROLL_BY(1) for (int turn = 0; turn < turns; ++turn)
#define TW_KEEP target[TW_GROUP * 128 + TW_THREAD] = (float)(k0 + k1 + k2 + k3 + k4 + k5 + k6 + k7);
#define TW_LOADS(at, n) k0 += at[(n) * 128]; k1 += at[(n + 1) * 128]; k2 += at[(n + 2) * 128]; \
  k3 += at[(n + 3) * 128]; k4 += at[(n + 4) * 128]; k5 += at[(n + 5) * 128]; \
  k6 += at[(n + 6) * 128]; k7 += at[(n + 7) * 128];
#define TW_STORES(at, n) at[(n) * 128] = k0; at[(n + 1) * 128] = k1; at[(n + 2) * 128] = k2; \
  at[(n + 3) * 128] = k3; at[(n + 4) * 128] = k4; at[(n + 5) * 128] = k5; \
  at[(n + 6) * 128] = k6; at[(n + 7) * 128] = k7;
#define TW_ALL(X, at) X(at, 0) X(at, 8) X(at, 16) X(at, 24) X(at, 32) X(at, 40) X(at, 48) X(at, 56)
#define TW_CHIP TW_SHARED float chip[128 * (64 + 1)];
#define TW_SLOT (chip + (turn & 1) * 128 + TW_THREAD)
TW_KERNEL(128) tw_energy_awake (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_KNOWN(float)
  float k = source[4];
  if (TW_THREAD == 0) {
    TW_TURNS {
      k = TW_ADD(k, k, c0); k = TW_ADD(k, k, c1); k = TW_ADD(k, k, c2); k = TW_ADD(k, k, c3); k = TW_ADD(k, k, c0); k = TW_ADD(k, k, c1); k = TW_ADD(k, k, c2); k = TW_ADD(k, k, c3); k = TW_ADD(k, k, c0); k = TW_ADD(k, k, c1); k = TW_ADD(k, k, c2); k = TW_ADD(k, k, c3); k = TW_ADD(k, k, c0); k = TW_ADD(k, k, c1); k = TW_ADD(k, k, c2); k = TW_ADD(k, k, c3); k = TW_ADD(k, k, c0); k = TW_ADD(k, k, c1); k = TW_ADD(k, k, c2); k = TW_ADD(k, k, c3); k = TW_ADD(k, k, c0); k = TW_ADD(k, k, c1); k = TW_ADD(k, k, c2); k = TW_ADD(k, k, c3); k = TW_ADD(k, k, c0); k = TW_ADD(k, k, c1); k = TW_ADD(k, k, c2); k = TW_ADD(k, k, c3); k = TW_ADD(k, k, c0); k = TW_ADD(k, k, c1); k = TW_ADD(k, k, c2); k = TW_ADD(k, k, c3);
    }
    target[TW_GROUP * 128] = k;
  }
}
TW_KERNEL(128) tw_energy_add (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_KNOWN(float)
  TW_START(float)
  TW_TURNS {
    TW_FOUR(TW_ADD, TW_ADD) TW_FOUR(TW_ADD, TW_ADD) TW_FOUR(TW_ADD, TW_ADD) TW_FOUR(TW_ADD, TW_ADD)
  }
  TW_KEEP
}
TW_KERNEL(128) tw_energy_multiply (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_KNOWN(float)
  TW_START(float)
  TW_TURNS {
    TW_FOUR(TW_MUL, TW_MUL) TW_FOUR(TW_MUL, TW_MUL) TW_FOUR(TW_MUL, TW_MUL) TW_FOUR(TW_MUL, TW_MUL)
  }
  TW_KEEP
}
TW_KERNEL(128) tw_energy_fma (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_KNOWN(float)
  TW_START(float)
  TW_TURNS {
    TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1) TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1) TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1) TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1) TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1) TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1) TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1) TW_EIGHT(TW_FMA, c0) TW_EIGHT(TW_FMA, c1)
  }
  TW_KEEP
}
TW_KERNEL(128) tw_energy_int_add (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_KNOWN(unsigned int)
  TW_START(unsigned int)
  TW_TURNS {
    TW_FOUR(TW_IADD, TW_IADD) TW_FOUR(TW_IADD, TW_IADD) TW_FOUR(TW_IADD, TW_IADD) TW_FOUR(TW_IADD, TW_IADD)
  }
  TW_KEEP
}
TW_KERNEL(128) tw_energy_int_max (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_KNOWN(int)
  TW_START(int)
  TW_TURNS {
    TW_FOUR(TW_IMAX, TW_IMIN) TW_FOUR(TW_IMAX, TW_IMIN) TW_FOUR(TW_IMAX, TW_IMIN) TW_FOUR(TW_IMAX, TW_IMIN)
  }
  TW_KEEP
}
TW_KERNEL(128) tw_energy_divide (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_KNOWN(float)
  TW_START(float)
  TW_TURNS {
    TW_EIGHT(TW_DIV, c0) TW_EIGHT(TW_DIV, c1)
  }
  TW_KEEP
}
TW_KERNEL(128) tw_energy_shared_load (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_CHIP
  for (int slot = 0; slot <= 64; ++slot)
    chip[slot * 128 + TW_THREAD] = source[slot * 128 + TW_THREAD];
  TW_BARRIER();
  TW_ZERO
  TW_TURNS {
    TW_LOCAL const float *const at = TW_SLOT;
    TW_ALL(TW_LOADS, at)
  }
  TW_KEEP
}
TW_KERNEL(128) tw_energy_shared_store (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_CHIP
  TW_START(float)
  TW_TURNS {
    TW_LOCAL float *const at = TW_SLOT;
    TW_ALL(TW_STORES, at)
  }
  target[TW_GROUP * 128 + TW_THREAD] = turns > 0 ? chip[turns % 64 * 128 + TW_THREAD] : 0.0f;
}
TW_KERNEL(128) tw_energy_load (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  int chunk = (int)((tw_wide)TW_GROUP * chunks / groups);
  TW_ZERO
  TW_TURNS {
    TW_GLOBAL const float *const at = source + (tw_wide)chunk * 8192 + TW_THREAD;
    TW_ALL(TW_LOADS, at)
    chunk = chunk + 1 < chunks ? chunk + 1 : 0;
  }
  TW_KEEP
}
TW_KERNEL(128) tw_energy_store (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  int chunk = TW_GROUP;
  TW_START(float)
  TW_TURNS {
    TW_GLOBAL float *const at = target + (tw_wide)chunk * 8192 + TW_THREAD;
    TW_ALL(TW_STORES, at)
    chunk = chunk + groups < chunks ? chunk + groups : TW_GROUP;
  }
}
TW_KERNEL(128) tw_energy_barrier (TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_TURNS {
    TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER(); TW_BARRIER();
  }
  target[TW_GROUP * 128 + TW_THREAD] = (float)turns + source[0];
}
