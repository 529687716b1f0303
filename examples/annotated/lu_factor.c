/* LU factors: the outer loop carries a dependence, so it stays sequential and its updates run in parallel */
#include <math.h>

void lu_factor(int N, double A[N][N]) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param TC[] = [32, 64];
      param UIF[] = [1, 2, 4];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [100]; }
    def input_vars { decl static double A[N][N] = random; }
    def search { arg algorithm = 'Exhaustive'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i, j, k;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, unrollInner=UIF)
    for (k = 0; k <= n-2; k++) {
      for (j = k+1; j <= n-1; j++)
        A[k][j] = A[k][j]/(A[k][k] + 10.0);
      for (i = k+1; i <= n-1; i++)
        for (j = k+1; j <= n-1; j++)
          A[i][j] = A[i][j] - 0.01*A[i][k]*A[k][j];
    }
  ) @*/
  for (k = 0; k <= n-2; k++) {
      for (j = k+1; j <= n-1; j++)
        A[k][j] = A[k][j]/(A[k][k] + 10.0);
      for (i = k+1; i <= n-1; i++)
        for (j = k+1; j <= n-1; j++)
          A[i][j] = A[i][j] - 0.01*A[i][k]*A[k][j];
    }
  /*@ end @*/
  /*@ end @*/
}
