/* alpha y for data that is on the device already */
#include <math.h>

void matvec_scale_resident(int N, double alpha, double *y) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param TC[] = [64, 256];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [10000]; }
    def input_vars { decl static double y[N] = random; decl double alpha = 3.0; }
    def search { arg algorithm = 'Exhaustive'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, dataOnDevice=False)
    for (i = 0; i <= n-1; i++)
      y[i] *= alpha;
  ) @*/
  for (i = 0; i <= n-1; i++)
      y[i] *= alpha;
  /*@ end @*/
  /*@ end @*/
}
