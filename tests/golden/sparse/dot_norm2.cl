/* dot_norm2, float32
   starts as every text of its language does, see prelude/ */

TW_FUNCTION float total(TW_LOCAL float *chip, float value) {
  chip[TW_THREAD] = value;
  TW_BARRIER();
  if ((TW_THREAD < 128)) {
    chip[TW_THREAD] = (chip[TW_THREAD] + chip[(TW_THREAD + 128)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 64)) {
    chip[TW_THREAD] = (chip[TW_THREAD] + chip[(TW_THREAD + 64)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 32)) {
    chip[TW_THREAD] = (chip[TW_THREAD] + chip[(TW_THREAD + 32)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 16)) {
    chip[TW_THREAD] = (chip[TW_THREAD] + chip[(TW_THREAD + 16)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 8)) {
    chip[TW_THREAD] = (chip[TW_THREAD] + chip[(TW_THREAD + 8)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 4)) {
    chip[TW_THREAD] = (chip[TW_THREAD] + chip[(TW_THREAD + 4)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 2)) {
    chip[TW_THREAD] = (chip[TW_THREAD] + chip[(TW_THREAD + 2)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 1)) {
    chip[TW_THREAD] = (chip[TW_THREAD] + chip[(TW_THREAD + 1)]);
  }
  TW_BARRIER();
  const float all = chip[0];
  TW_BARRIER();
  return all;
}

TW_KERNEL(256) tw_vectors_gpu(TW_GLOBAL const float *p_x, TW_GLOBAL const float *p_y, TW_GLOBAL float *part, tw_wide n) {
  TW_SHARED float chip[256];
  float t0 = 0.0f;
  float t1 = 0.0f;
  for (tw_wide i = ((((tw_wide)TW_GROUP) * 256) + TW_THREAD); i < n; i += (((tw_wide)TW_GROUPS) * 256)) {
    const float e_x = p_x[i];
    const float e_y = p_y[i];
    t0 = (t0 + (e_x * e_y));
    t1 = (t1 + (e_x * e_x));
  }
  t0 = total(chip, t0);
  if ((TW_THREAD == 0)) {
    part[(TW_GROUP * 2)] = t0;
  }
  t1 = total(chip, t1);
  if ((TW_THREAD == 0)) {
    part[((TW_GROUP * 2) + 1)] = t1;
  }
}

TW_KERNEL(256) tw_vectors_gpu_finish(TW_GLOBAL float *part, int groups) {
  TW_SHARED float chip[256];
  float t0 = 0.0f;
  for (int g = TW_THREAD; g < groups; g += 256) {
    t0 = (t0 + part[(g * 2)]);
  }
  t0 = total(chip, t0);
  if ((TW_THREAD == 0)) {
    part[0] = t0;
  }
  float t1 = 0.0f;
  for (int g = TW_THREAD; g < groups; g += 256) {
    t1 = (t1 + part[((g * 2) + 1)]);
  }
  t1 = total(chip, t1);
  if ((TW_THREAD == 0)) {
    part[1] = t1;
  }
}
