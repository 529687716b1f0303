/* w = y + a x and its norm, fused */
#include <math.h>

void vec_waxpy_norm(int N, double a, double *x, double *y, double *w, double s) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param WI[] = [32, 64, 128];
      param WG[] = [4, 16];
      param VH[] = [0, 2, 4];
      param SH[] = [False, True];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [20000]; }
    def input_vars { decl static double x[N] = random; decl static double y[N] = random; decl static double w[N] = 0; decl double a = 0.5; decl double s = 0; }
    def search { arg algorithm = 'Randomlocal'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i;

  /*@ begin Loop(
    transform OpenCL(workGroups=WG, workItemsPerGroup=WI, vecHint=VH, sizeHint=SH, cacheBlocks=True, unrollInner=2, clFlags='-cl-mad-enable', device=0)
    for (i = 0; i <= n-1; i++) {
      w[i] = y[i] + a*x[i];
      s += w[i]*w[i];
    }
  ) @*/
  for (i = 0; i <= n-1; i++) {
      w[i] = y[i] + a*x[i];
      s += w[i]*w[i];
    }
  /*@ end @*/
  /*@ end @*/
}
