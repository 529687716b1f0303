/* micro-benchmarks of a GPU
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_micro_empty(TW_GLOBAL float *target, TW_GLOBAL const float *source, int count) {
  if ((count < 0)) {
    target[0] = source[0];
  }
}

TW_KERNEL(256) tw_micro_copy(TW_GLOBAL float *target, TW_GLOBAL const float *source, int count) {
  const int at = ((TW_GROUP * 256) + TW_THREAD);
  if ((at < count)) {
    target[at] = source[at];
  }
}

TW_KERNEL(256) tw_micro_barrier(TW_GLOBAL float *target, TW_GLOBAL const float *source, int count) {
  TW_SHARED float chip[1024];
  chip[TW_THREAD] = source[0];
  TW_UNROLL_BY(1)
  for (int turn = 0; turn < count; ++turn) {
    TW_BARRIER();
  }
  if ((count < 0)) {
    target[((TW_GROUP * 256) + TW_THREAD)] = chip[TW_THREAD];
  }
}

TW_KERNEL(256) tw_micro_shared(TW_GLOBAL float *target, TW_GLOBAL const float *source, int count) {
  TW_SHARED float chip[1280];
  for (int i = TW_THREAD; i < 1280; i += 256) {
    chip[i] = source[i];
  }
  TW_BARRIER();
  TW_UNROLL_BY(1)
  for (int turn = 0; turn < count; ++turn) {
    chip[(TW_THREAD + 1024)] = (chip[(TW_THREAD + 1024)] + (((((((chip[((TW_THREAD + turn) % 256)] + chip[(((TW_THREAD + turn) % 256) + 128)]) + chip[(((TW_THREAD + turn) % 256) + 256)]) + chip[(((TW_THREAD + turn) % 256) + 384)]) + chip[(((TW_THREAD + turn) % 256) + 512)]) + chip[(((TW_THREAD + turn) % 256) + 640)]) + chip[((TW_THREAD + turn) % 256)]) + chip[(((TW_THREAD + turn) % 256) + 128)]));
  }
  if ((count >= 0)) {
    target[((TW_GROUP * 256) + TW_THREAD)] = chip[(TW_THREAD + 1024)];
  }
}
