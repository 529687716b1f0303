/* what looks at a field on a GPU
   starts as every text of its language does, see prelude/
   not shown: tw_abs_f32(), tw_maximum_f32() */

TW_KERNEL(256) tw_look_largest(TW_GLOBAL float *target, TW_GLOBAL const float *source, tw_wide offset, tw_wide count) {
  TW_SHARED float chip[256];
  float worst = 0.0f;
  TW_UNROLL_BY(1)
  for (tw_wide at = ((tw_wide)((TW_GROUP * 256) + TW_THREAD)); at < count; at += (TW_GROUPS * 256)) {
    worst = tw_maximum_f32(worst, tw_abs_f32(source[(offset + at)]));
  }
  chip[TW_THREAD] = worst;
  TW_BARRIER();
  if ((TW_THREAD < 128)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 128)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 64)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 64)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 32)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 32)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 16)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 16)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 8)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 8)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 4)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 4)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 2)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 2)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 1)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 1)]);
  }
  TW_BARRIER();
  if ((TW_THREAD == 0)) {
    target[TW_GROUP] = chip[0];
  }
}

TW_KERNEL(256) tw_look_change(TW_GLOBAL float *target, TW_GLOBAL const float *source, TW_GLOBAL const float *old, tw_wide offset, tw_wide count) {
  TW_SHARED float chip[256];
  float worst = 0.0f;
  TW_UNROLL_BY(1)
  for (tw_wide at = ((tw_wide)((TW_GROUP * 256) + TW_THREAD)); at < count; at += (TW_GROUPS * 256)) {
    worst = tw_maximum_f32(worst, tw_abs_f32((source[(offset + at)] - old[at])));
  }
  chip[TW_THREAD] = worst;
  TW_BARRIER();
  if ((TW_THREAD < 128)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 128)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 64)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 64)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 32)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 32)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 16)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 16)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 8)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 8)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 4)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 4)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 2)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 2)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 1)) {
    chip[TW_THREAD] = tw_maximum_f32(chip[TW_THREAD], chip[(TW_THREAD + 1)]);
  }
  TW_BARRIER();
  if ((TW_THREAD == 0)) {
    target[TW_GROUP] = chip[0];
  }
}

TW_KERNEL(256) tw_look_gather(TW_GLOBAL float *target, TW_GLOBAL const float *source, TW_GLOBAL const tw_wide *cells, tw_wide offset, tw_wide count) {
  TW_UNROLL_BY(1)
  for (tw_wide at = ((tw_wide)((TW_GROUP * 256) + TW_THREAD)); at < count; at += (TW_GROUPS * 256)) {
    target[at] = (source + offset)[cells[at]];
  }
}
