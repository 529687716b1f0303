/* matrix product in tiles whose parts are copied into small arrays */
#include <math.h>
#define min(x, y) ((x) < (y) ? (x) : (y))

void matmul_copies(int N, double A[N][N], double B[N][N], double C[N][N]) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param RI[] = [1, 2];
      param RJ[] = [1, 2, 4];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [96]; }
    def input_vars { decl static double A[N][N] = random; decl static double B[N][N] = random; decl static double C[N][N] = 0; }
    def search { arg algorithm = 'Exhaustive'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i, j, k, ii, jj, kk;

  /*@ begin Loop(
    transform RegTile(loops=['i','j'], ufactors=[RI,RJ])
    transform ArrCopy(aref='A[i][k]', dimsizes=[32,32], suffix='_copy', dtype='double')
    transform ArrCopy(aref='B[k][j]', dimsizes=[32,32])
    for (ii = 0; ii <= n-1; ii += 32)
      for (jj = 0; jj <= n-1; jj += 32)
        for (kk = 0; kk <= n-1; kk += 32)
          for (i = ii; i <= min(n-1, ii+31); i++)
            for (j = jj; j <= min(n-1, jj+31); j++)
              for (k = kk; k <= min(n-1, kk+31); k++)
                C[i][j] += A[i][k]*B[k][j];
  ) @*/
  for (ii = 0; ii <= n-1; ii += 32)
      for (jj = 0; jj <= n-1; jj += 32)
        for (kk = 0; kk <= n-1; kk += 32)
          for (i = ii; i <= min(n-1, ii+31); i++)
            for (j = jj; j <= min(n-1, jj+31); j++)
              for (k = kk; k <= min(n-1, kk+31); k++)
                C[i][j] += A[i][k]*B[k][j];
  /*@ end @*/
  /*@ end @*/
}
