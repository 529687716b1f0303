/* Gauss-Seidel sweeps: tiles across sweeps would be wrong and are left out with the dependence named */
#include <math.h>

void seidel_legal(int T, int N, double A[N][N+1]) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param T1[] = [1, 4];
      param T2[] = [1, 16, 32];
      param U[] = [1, 2];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param T[] = [4]; param N[] = [120]; }
    def input_vars { decl static double A[N][N+1] = random; }
    def search { arg algorithm = 'Exhaustive'; arg total_runs = 20; }
  ) @*/
  int i, j, t, tt, ii, jj;

  /*@ begin Loop(
    transform Composite(tile = [('t',T1,'tt'),('i',T2,'ii'),('j',T2,'jj')], unrolljam = (['i'],[U]))
    for (t = 0; t <= T-1; t++)
      for (i = 1; i <= N-2; i++)
        for (j = 1; j <= N-2; j++)
          A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i][j-1] + A[i][j] + A[i+1][j] + A[i][j+1])/6.0;
  ) @*/
  for (t = 0; t <= T-1; t++)
      for (i = 1; i <= N-2; i++)
        for (j = 1; j <= N-2; j++)
          A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i][j-1] + A[i][j] + A[i+1][j] + A[i][j+1])/6.0;
  /*@ end @*/
  /*@ end @*/
}
