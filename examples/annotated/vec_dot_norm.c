/* dot product and norm in one pass, which no library call offers */
#include <math.h>

void vec_dot_norm(int N, double *x, double *y, double r, double s) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param TC[] = range(32,129,32);
      param BC[] = [14, 28];
      param CB[] = [False, True];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [10000, 100000]; }
    def input_vars { decl static double x[N] = random; decl static double y[N] = random; decl double r = 0; decl double s = 0; }
    def search { arg algorithm = 'Model'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, blockCount=BC, cacheBlocks=CB, preferL1Size=16)
    for (i = 0; i <= n-1; i++) {
      r += x[i]*y[i];
      s += x[i]*x[i];
    }
    s = sqrt(s);
  ) @*/
  for (i = 0; i <= n-1; i++) {
      r += x[i]*y[i];
      s += x[i]*x[i];
    }
    s = sqrt(s);
  /*@ end @*/
  /*@ end @*/
}
