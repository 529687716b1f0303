/* modified Gram-Schmidt: a column's norm, then what it takes from the others */
#include <math.h>
void gramschmidt(int m, int n, double A[m][n], double R[n][n], double Q[m][n]) {
  int i, j, k;
  double nrm;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'nvcc -O3';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TC[] = [32,64];
    param BC[] = [14];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param M[] = [40];
    param N[] = [18];
  }
  def input_vars {
    decl static double A[M][N] = random;
    decl static double R[N][N] = 0;
    decl static double Q[M][N] = 0;
  }
) @*/
  int m = M, n = N;
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC)
  for (k = 0; k <= n-1; k++) {
    nrm = 0.0;
    for (i = 0; i <= m-1; i++)
      nrm += A[i][k] * A[i][k];
    R[k][k] = sqrt(nrm);
    for (i = 0; i <= m-1; i++)
      Q[i][k] = A[i][k] / R[k][k];
    for (j = k+1; j <= n-1; j++) {
      R[k][j] = 0.0;
      for (i = 0; i <= m-1; i++)
        R[k][j] += Q[i][k] * A[i][j];
      for (i = 0; i <= m-1; i++)
        A[i][j] = A[i][j] - Q[i][k] * R[k][j];
    }
  }
  ) @*/
  for (k = 0; k <= n-1; k++) {
    nrm = 0.0;
    for (i = 0; i <= m-1; i++)
      nrm += A[i][k] * A[i][k];
    R[k][k] = sqrt(nrm);
    for (i = 0; i <= m-1; i++)
      Q[i][k] = A[i][k] / R[k][k];
    for (j = k+1; j <= n-1; j++) {
      R[k][j] = 0.0;
      for (i = 0; i <= m-1; i++)
        R[k][j] += Q[i][k] * A[i][j];
      for (i = 0; i <= m-1; i++)
        A[i][j] = A[i][j] - Q[i][k] * R[k][j];
    }
  }
  /*@ end @*/
/*@ end @*/
}
