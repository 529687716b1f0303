/* y = y + a0 x0 + ... + a3 x3 (VecMAXPY), the vectors one after the other */
#include <math.h>

void vec_maxpy(int N, int NV, double *a, double *x, double *y) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param UF[] = [1,2,4,8];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [50000]; param NV = 4; }
    def input_vars { decl static double x[NV*N] = random; decl static double y[N] = random; decl static double a[NV] = {1.0, -2.0, 0.5, 3.0}; }
    def search { arg algorithm = 'Randomsearch'; arg total_runs = 20; }
  ) @*/
  int n = N, nv = NV;
  int i, j;

  /*@ begin Loop(
    transform UnrollJam(ufactor=UF)
    for (i = 0; i <= n-1; i++)
      for (j = 0; j <= nv-1; j++)
        y[i] += a[j]*x[j*n+i];
  ) @*/
  for (i = 0; i <= n-1; i++)
      for (j = 0; j <= nv-1; j++)
        y[i] += a[j]*x[j*n+i];
  /*@ end @*/
  /*@ end @*/
}
