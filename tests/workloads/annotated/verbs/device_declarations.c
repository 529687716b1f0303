
void scale(int n, double *x, double a) {
  /*@ begin PerfTuning (
    def performance_params { param TC[] = [32, 64]; param BC[] = [14]; param DOD[] = [True]; }
    def input_params { param N[] = [500]; }
    def input_vars {
      decl managed double x[N] = random;
      decl __device__ double y[N] = 0
      decl managed __device__ static double z[N] = random
      decl double a = 2.5 ;
    }
    def build { arg build_command = "nvcc -arch=sm_13 -O3"; }
    def performance_counter { arg repetitions = 5; }
  ) @*/
  int n = N; int i;
  /*@ begin Loop(transform CUDA(threadCount=TC, blockCount=BC, dataOnDevice=DOD)
  for (i=0; i<=n-1; i++) {
    x[i] *= a;
    y[i] = x[i] + z[i];
  }
  ) @*/
  for (i=0; i<=n-1; i++) {
    x[i] *= a;
    y[i] = x[i] + z[i];
  }
  /*@ end @*/
  /*@ end @*/
}
