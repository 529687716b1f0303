/* a symmetric update of rank 2k */
void syr2k(int n, int m, double alpha, double beta) {
  int i, j, k;
/*@ begin PerfTuning (
  def build {
    arg build_command = '$CC -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param U[] = [1,2,5];
    param TILE[] = [1,8];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [34];
    param M[] = [26];
  }
  def input_vars {
    decl static double C[N][N] = random;
    decl static double A[N][M] = random;
    decl static double B[N][M] = random;
    decl double alpha = 1.5;
    decl double beta = 1.2;
  }
) @*/
  int kt;
  /*@ begin Loop(
  transform Composite(
    tile = [('k',TILE,'kt')],
    unrolljam = (['k'],[U]),
    openmp = (True,'omp parallel for private(j,k,kt)'))
  for (i = 0; i < N; i++) {
    for (j = 0; j <= i; j++)
      C[i][j] *= beta;
    for (k = 0; k < M; k++)
      for (j = 0; j <= i; j++)
        C[i][j] += A[j][k]*alpha*B[i][k] + B[j][k]*alpha*A[i][k];
  }
  ) @*/
  for (i = 0; i < N; i++) {
    for (j = 0; j <= i; j++)
      C[i][j] *= beta;
    for (k = 0; k < M; k++)
      for (j = 0; j <= i; j++)
        C[i][j] += A[j][k]*alpha*B[i][k] + B[j][k]*alpha*A[i][k];
  }
  /*@ end @*/
/*@ end @*/
}
