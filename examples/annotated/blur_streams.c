/* a three-point mean whose pieces run in streams, each with its halo */
#include <math.h>

void blur_streams(int N, double *x, double *y) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param SC[] = [1, 2, 4];
      param TC[] = [64, 128];
      param PIN[] = [False, True];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [30000]; }
    def input_vars { decl static double x[N] = random; decl static double y[N] = 0; }
    def search { arg algorithm = 'Exhaustive'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, blockCount=28, streamCount=SC, pinHostMem=PIN, cacheBlocks=True, domain='line')
    for (i = 1; i <= n-2; i++)
      y[i] = (x[i-1] + x[i] + x[i+1])/3.0;
  ) @*/
  for (i = 1; i <= n-2; i++)
      y[i] = (x[i-1] + x[i] + x[i+1])/3.0;
  /*@ end @*/
  /*@ end @*/
}
