/* a symmetric matrix times a matrix: the half below the diagonal is used twice */
void symm(int m, int n, double alpha, double beta, double **A, double **B, double **C) {
  int i, j, k;
  double temp2;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param U[] = [1,2,3];
    param PAR[] = [False,True];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param M[] = [33];
    param N[] = [38];
  }
  def input_vars {
    decl static double A[M][M] = random;
    decl static double B[M][N] = random;
    decl static double C[M][N] = random;
    decl double alpha = 1.5;
    decl double beta = 1.2;
  }
) @*/
  /*@ begin Loop(
  transform Composite(
    unrolljam = (['k'],[U]),
    openmp = (PAR,'omp parallel for private(j,k,temp2)'))
  for (i = 0; i < M; i++)
    for (j = 0; j < N; j++) {
      temp2 = 0;
      for (k = 0; k < i; k++) {
        C[k][j] += alpha*B[i][j] * A[i][k];
        temp2 += B[k][j] * A[i][k];
      }
      C[i][j] = beta * C[i][j] + alpha*B[i][j] * A[i][i] + alpha * temp2;
    }
  ) @*/
  for (i = 0; i < M; i++)
    for (j = 0; j < N; j++) {
      temp2 = 0;
      for (k = 0; k < i; k++) {
        C[k][j] += alpha*B[i][j] * A[i][k];
        temp2 += B[k][j] * A[i][k];
      }
      C[i][j] = beta * C[i][j] + alpha*B[i][j] * A[i][i] + alpha * temp2;
    }
  /*@ end @*/
/*@ end @*/
}
