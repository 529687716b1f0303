/* matrix times vector with the sum in a register, bounds computed once */
#include <math.h>

void matvec_scalar(int N, double a[N][N], double *x, double *y) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param P[] = ['', 'ivdep', 'omp parallel for'];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [300]; }
    def input_vars { decl static double a[N][N] = random; decl static double x[N] = random; decl static double y[N] = 0; }
    def search { arg algorithm = 'Annealing'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i, j;

  /*@ begin Loop(
    transform Pragma(pragma_str=P)
    transform BoundReplace()
    transform ScalarReplace(prefix='acc_', dtype='double')
    for (i = 0; i <= n-1; i++)
      for (j = 0; j <= n-1; j++)
        y[i] += a[i][j]*x[j];
  ) @*/
  for (i = 0; i <= n-1; i++)
      for (j = 0; j <= n-1; j++)
        y[i] += a[i][j]*x[j];
  /*@ end @*/
  /*@ end @*/
}
