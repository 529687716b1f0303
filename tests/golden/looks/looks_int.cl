/* the same, of whole numbers
   starts as every text of its language does, see prelude/
   not shown: tw_abs_i32(), tw_maximum_i32(), tw_minimum_i32() */

TW_KERNEL(256) tw_look_largest(TW_GLOBAL int *target, TW_GLOBAL const int *source, tw_wide offset, tw_wide count) {
  TW_SHARED int chip[256];
  int worst = 0;
  TW_UNROLL_BY(1)
  for (tw_wide at = ((tw_wide)((TW_GROUP * 256) + TW_THREAD)); at < count; at += (TW_GROUPS * 256)) {
    worst = tw_maximum_i32(worst, tw_abs_i32(source[(offset + at)]));
  }
  chip[TW_THREAD] = worst;
  TW_BARRIER();
  if ((TW_THREAD < 128)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 128)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 64)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 64)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 32)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 32)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 16)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 16)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 8)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 8)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 4)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 4)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 2)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 2)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 1)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 1)]);
  }
  TW_BARRIER();
  if ((TW_THREAD == 0)) {
    target[TW_GROUP] = chip[0];
  }
}

TW_KERNEL(256) tw_look_change(TW_GLOBAL int *target, TW_GLOBAL const int *source, TW_GLOBAL const int *old, tw_wide offset, tw_wide count) {
  TW_SHARED int chip[256];
  int worst = 0;
  TW_UNROLL_BY(1)
  for (tw_wide at = ((tw_wide)((TW_GROUP * 256) + TW_THREAD)); at < count; at += (TW_GROUPS * 256)) {
    worst = tw_maximum_i32(worst, (((tw_minimum_i32(source[(offset + at)], old[at]) < 0) & ((tw_minimum_i32(source[(offset + at)], old[at]) + 2147483647) < tw_maximum_i32(source[(offset + at)], old[at]))) ? 2147483647 : (tw_maximum_i32(source[(offset + at)], old[at]) - tw_minimum_i32(source[(offset + at)], old[at]))));
  }
  chip[TW_THREAD] = worst;
  TW_BARRIER();
  if ((TW_THREAD < 128)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 128)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 64)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 64)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 32)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 32)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 16)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 16)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 8)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 8)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 4)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 4)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 2)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 2)]);
  }
  TW_BARRIER();
  if ((TW_THREAD < 1)) {
    chip[TW_THREAD] = tw_maximum_i32(chip[TW_THREAD], chip[(TW_THREAD + 1)]);
  }
  TW_BARRIER();
  if ((TW_THREAD == 0)) {
    target[TW_GROUP] = chip[0];
  }
}

TW_KERNEL(256) tw_look_gather(TW_GLOBAL int *target, TW_GLOBAL const int *source, TW_GLOBAL const tw_wide *cells, tw_wide offset, tw_wide count) {
  TW_UNROLL_BY(1)
  for (tw_wide at = ((tw_wide)((TW_GROUP * 256) + TW_THREAD)); at < count; at += (TW_GROUPS * 256)) {
    target[at] = (source + offset)[cells[at]];
  }
}
