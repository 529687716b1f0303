/* y = y + a x, unrolled by hand's rule: the unroll factor is searched for exhaustively */
#include <math.h>

void vec_axpy(int N, double a, double *x, double *y) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param UF[] = range(1,9);
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [100000]; }
    def input_vars { decl dynamic double x[N] = random; decl dynamic double y[N] = random; decl double a = 1.5; }
    def search { arg algorithm = 'Exhaustive'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i;

  /*@ begin Loop(
    transform Unroll(ufactor=UF, parallelize=False)
    for (i = 0; i <= n-1; i++)
      y[i] += a*x[i];
  ) @*/
  for (i = 0; i <= n-1; i++)
      y[i] += a*x[i];
  /*@ end @*/
  /*@ end @*/
}
