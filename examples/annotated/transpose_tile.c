/* a matrix transposed in strips */
#include <math.h>

void transpose_tile(int N, double a[N][N], double b[N][N]) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param T[] = [1, 8, 16, 32, 64];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [400]; }
    def input_vars { decl static double a[N][N] = random; decl static double b[N][N] = 0; }
    def search { arg algorithm = 'Direct'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i, j, ii;

  /*@ begin Loop(
    transform Tile(tsize=T, tindex='ii')
    for (i = 0; i <= n-1; i++)
      for (j = 0; j <= n-1; j++)
        b[j][i] = a[i][j];
  ) @*/
  for (i = 0; i <= n-1; i++)
      for (j = 0; j <= n-1; j++)
        b[j][i] = a[i][j];
  /*@ end @*/
  /*@ end @*/
}
