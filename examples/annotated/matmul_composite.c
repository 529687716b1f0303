/* matrix product: tiles of two levels, register tiles, scalars, vectors, threads */
#include <math.h>

void matmul_composite(int N, double A[N][N], double B[N][N], double C[N][N]) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param TI[] = [1, 16, 32];
      param TJ[] = [1, 32, 64];
      param TK[] = [1, 16, 32];
      param TII[] = [1, 64];
      param UI[] = [1, 2, 4];
      param UJ[] = [1, 2];
      param SCR[] = [False, True];
      param VEC[] = [False, True];
      param OMP[] = [False, True];
      param PERM[] = [(['i'],['j'],['k']), (['i'],['k'],['j'])];
      constraint nested = (TII == 1) or (TII % TI == 0);
      constraint registers = (UI*UJ <= 8);
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [120]; }
    def input_vars { decl static double A[N][N] = random; decl static double B[N][N] = random; decl static double C[N][N] = 0; }
    def search { arg algorithm = 'Firefly'; arg total_runs = 24; }
  ) @*/
  int n = N;
  int i, j, k, ii, jj, kk, iii;

  /*@ begin Loop(
    transform Composite(
      tile = [('i',TI,'ii'),('j',TJ,'jj'),('k',TK,'kk'),(('ii','i'),TII,'iii')],
      permut = [PERM],
      unrolljam = (['i','j'],[UI,UJ]),
      scalarreplace = (SCR, 'double'),
      vector = (VEC, ['ivdep','vector always']),
      openmp = (OMP, 'omp parallel for private(iii,ii,jj,kk,i,j,k)'))
    for (i = 0; i <= n-1; i++)
      for (j = 0; j <= n-1; j++)
        for (k = 0; k <= n-1; k++)
          C[i][j] = C[i][j] + A[i][k]*B[k][j];
  ) @*/
  for (i = 0; i <= n-1; i++)
      for (j = 0; j <= n-1; j++)
        for (k = 0; k <= n-1; k++)
          C[i][j] = C[i][j] + A[i][k]*B[k][j];
  /*@ end @*/
  /*@ end @*/
}
