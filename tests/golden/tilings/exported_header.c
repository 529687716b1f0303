/* the header of an exported kernel */

/* forced, float32, tiling streaming:t=2,s=8x16,rows=1
   predicted for 24x64 and 6 steps: 12 us, bound by memory; written by tilewright */
/* forced, streaming:t=2,s=8x16,rows=1, tuned for 24x64 and 6 steps; written by tilewright.

   tw_forced advances the fields by size[0] steps.
   size: steps, threads, extent 0, extent 1, stride 0, slot, 0, 0, stride 0;
   strides and slot, the distance between the versions of a field, are in elements; rows are contiguous.
   Version v of a field lies in slot v modulo its number of versions; the first state is version 0, older
   time levels are the versions before it. Cells that no step updates hold the same value in every version.
     field[0]  u, 2 versions
     field[1]  v, 1 version
     scalar[0]  a
     constant[0]  a row of extent 1 values 0.5
     constant[1]  28672 bytes of memory per thread, on a page boundary
   Compile the source with: cc -O2 -march=native -fwrapv -fno-math-errno -fno-trapping-math -fopenmp -lm */
#ifndef TW_FORCED_H
#define TW_FORCED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void tw_forced(float *const *field, const int64_t *size, const float *scalar,
  const float *const *constant);

#ifdef __cplusplus
}
#endif

#endif
