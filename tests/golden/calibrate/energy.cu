/* single operations of a GPU
   starts as every text of its language does, see prelude/
   not shown: tw_energy_awake(), tw_energy_add(), tw_energy_multiply(), tw_energy_fma(), tw_energy_int_add(),
     tw_energy_int_max(), tw_energy_shared_store(), tw_energy_load() */

TW_KERNEL(128) tw_energy_divide(TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  const float c0 = source[0];
  const float c1 = source[1];
  const float c2 = source[2];
  const float c3 = source[3];
  float k0 = source[4];
  float k1 = source[5];
  float k2 = source[6];
  float k3 = source[7];
  float k4 = source[8];
  float k5 = source[9];
  float k6 = source[10];
  float k7 = source[11];
  TW_UNROLL_BY(1)
  for (int turn = 0; turn < turns; ++turn) {
    k0 = (k0 / c0);
    k1 = (k1 / c0);
    k2 = (k2 / c0);
    k3 = (k3 / c0);
    k4 = (k4 / c0);
    k5 = (k5 / c0);
    k6 = (k6 / c0);
    k7 = (k7 / c0);
    k0 = (k0 / c1);
    k1 = (k1 / c1);
    k2 = (k2 / c1);
    k3 = (k3 / c1);
    k4 = (k4 / c1);
    k5 = (k5 / c1);
    k6 = (k6 / c1);
    k7 = (k7 / c1);
  }
  target[((TW_GROUP * 128) + TW_THREAD)] = (((((((k0 + k1) + k2) + k3) + k4) + k5) + k6) + k7);
}

TW_KERNEL(128) tw_energy_shared_load(TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_SHARED float chip[8320];
  for (int slot = 0; slot < 65; ++slot) {
    chip[((slot * 128) + TW_THREAD)] = source[((slot * 128) + TW_THREAD)];
  }
  TW_BARRIER();
  float k0 = 0.0f;
  float k1 = 0.0f;
  float k2 = 0.0f;
  float k3 = 0.0f;
  float k4 = 0.0f;
  float k5 = 0.0f;
  float k6 = 0.0f;
  float k7 = 0.0f;
  TW_UNROLL_BY(1)
  for (int turn = 0; turn < turns; ++turn) {
    TW_LOCAL float *const at = (chip + (((turn % 2) * 128) + TW_THREAD));
    k0 = (k0 + at[0]);
    k1 = (k1 + at[128]);
    k2 = (k2 + at[256]);
    k3 = (k3 + at[384]);
    k4 = (k4 + at[512]);
    k5 = (k5 + at[640]);
    k6 = (k6 + at[768]);
    k7 = (k7 + at[896]);
    k0 = (k0 + at[1024]);
    k1 = (k1 + at[1152]);
    k2 = (k2 + at[1280]);
    k3 = (k3 + at[1408]);
    k4 = (k4 + at[1536]);
    k5 = (k5 + at[1664]);
    k6 = (k6 + at[1792]);
    k7 = (k7 + at[1920]);
    k0 = (k0 + at[2048]);
    k1 = (k1 + at[2176]);
    k2 = (k2 + at[2304]);
    k3 = (k3 + at[2432]);
    k4 = (k4 + at[2560]);
    k5 = (k5 + at[2688]);
    k6 = (k6 + at[2816]);
    k7 = (k7 + at[2944]);
    k0 = (k0 + at[3072]);
    k1 = (k1 + at[3200]);
    k2 = (k2 + at[3328]);
    k3 = (k3 + at[3456]);
    k4 = (k4 + at[3584]);
    k5 = (k5 + at[3712]);
    k6 = (k6 + at[3840]);
    k7 = (k7 + at[3968]);
    k0 = (k0 + at[4096]);
    k1 = (k1 + at[4224]);
    k2 = (k2 + at[4352]);
    k3 = (k3 + at[4480]);
    k4 = (k4 + at[4608]);
    k5 = (k5 + at[4736]);
    k6 = (k6 + at[4864]);
    k7 = (k7 + at[4992]);
    k0 = (k0 + at[5120]);
    k1 = (k1 + at[5248]);
    k2 = (k2 + at[5376]);
    k3 = (k3 + at[5504]);
    k4 = (k4 + at[5632]);
    k5 = (k5 + at[5760]);
    k6 = (k6 + at[5888]);
    k7 = (k7 + at[6016]);
    k0 = (k0 + at[6144]);
    k1 = (k1 + at[6272]);
    k2 = (k2 + at[6400]);
    k3 = (k3 + at[6528]);
    k4 = (k4 + at[6656]);
    k5 = (k5 + at[6784]);
    k6 = (k6 + at[6912]);
    k7 = (k7 + at[7040]);
    k0 = (k0 + at[7168]);
    k1 = (k1 + at[7296]);
    k2 = (k2 + at[7424]);
    k3 = (k3 + at[7552]);
    k4 = (k4 + at[7680]);
    k5 = (k5 + at[7808]);
    k6 = (k6 + at[7936]);
    k7 = (k7 + at[8064]);
  }
  target[((TW_GROUP * 128) + TW_THREAD)] = (((((((k0 + k1) + k2) + k3) + k4) + k5) + k6) + k7);
}

TW_KERNEL(128) tw_energy_store(TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  int chunk = TW_GROUP;
  float k0 = source[4];
  float k1 = source[5];
  float k2 = source[6];
  float k3 = source[7];
  float k4 = source[8];
  float k5 = source[9];
  float k6 = source[10];
  float k7 = source[11];
  TW_UNROLL_BY(1)
  for (int turn = 0; turn < turns; ++turn) {
    TW_GLOBAL float *const at = (target + ((((tw_wide)chunk) * 8192) + TW_THREAD));
    at[0] = k0;
    at[128] = k1;
    at[256] = k2;
    at[384] = k3;
    at[512] = k4;
    at[640] = k5;
    at[768] = k6;
    at[896] = k7;
    at[1024] = k0;
    at[1152] = k1;
    at[1280] = k2;
    at[1408] = k3;
    at[1536] = k4;
    at[1664] = k5;
    at[1792] = k6;
    at[1920] = k7;
    at[2048] = k0;
    at[2176] = k1;
    at[2304] = k2;
    at[2432] = k3;
    at[2560] = k4;
    at[2688] = k5;
    at[2816] = k6;
    at[2944] = k7;
    at[3072] = k0;
    at[3200] = k1;
    at[3328] = k2;
    at[3456] = k3;
    at[3584] = k4;
    at[3712] = k5;
    at[3840] = k6;
    at[3968] = k7;
    at[4096] = k0;
    at[4224] = k1;
    at[4352] = k2;
    at[4480] = k3;
    at[4608] = k4;
    at[4736] = k5;
    at[4864] = k6;
    at[4992] = k7;
    at[5120] = k0;
    at[5248] = k1;
    at[5376] = k2;
    at[5504] = k3;
    at[5632] = k4;
    at[5760] = k5;
    at[5888] = k6;
    at[6016] = k7;
    at[6144] = k0;
    at[6272] = k1;
    at[6400] = k2;
    at[6528] = k3;
    at[6656] = k4;
    at[6784] = k5;
    at[6912] = k6;
    at[7040] = k7;
    at[7168] = k0;
    at[7296] = k1;
    at[7424] = k2;
    at[7552] = k3;
    at[7680] = k4;
    at[7808] = k5;
    at[7936] = k6;
    at[8064] = k7;
    chunk = (((chunk + groups) < chunks) ? (chunk + groups) : TW_GROUP);
  }
}

TW_KERNEL(128) tw_energy_barrier(TW_GLOBAL float *target, TW_GLOBAL const float *source, int turns, int chunks, int groups) {
  TW_UNROLL_BY(1)
  for (int turn = 0; turn < turns; ++turn) {
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
    TW_BARRIER();
  }
  target[((TW_GROUP * 128) + TW_THREAD)] = (((float)turns) + source[0]);
}
