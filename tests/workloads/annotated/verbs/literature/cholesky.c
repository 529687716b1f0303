/* Cholesky factors of a matrix, row by row */
#include <math.h>
void cholesky(int n, double A[n][n]) {
  int i, j, k;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param UK[] = [1,2,4];
    param SCREP[] = [False,True];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [40];
  }
  def input_vars {
    decl static double A[N][N] = random;
  }
) @*/
  for (i = 0; i < N; i++)
    A[i][i] = A[i][i] + 60.0;
  /*@ begin Loop(
  transform Composite(
    unrolljam = (['k'],[UK]),
    scalarreplace = (SCREP,'double','s_'),
    openmp = (True,'omp parallel for private(j,k)'))
  for (i = 0; i < N; i++) {
    for (j = 0; j < i; j++) {
      for (k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= A[j][j];
    }
    for (k = 0; k < i; k++)
      A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = sqrt(A[i][i]);
  }
  ) @*/
  for (i = 0; i < N; i++) {
    for (j = 0; j < i; j++) {
      for (k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= A[j][j];
    }
    for (k = 0; k < i; k++)
      A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = sqrt(A[i][i]);
  }
  /*@ end @*/
/*@ end @*/
}
