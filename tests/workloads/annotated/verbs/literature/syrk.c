/* a symmetric update of rank k, its lower half only */
void syrk(int n, int m, double alpha, double beta, double C[n][n], double A[n][m]) {
  int i, j, k;
  int it, jt;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param T[] = [1,8,32];
    param UK[] = [1,2,4];
    param PERM[] = [['i','k','j'],['i','j','k']];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [45];
    param M[] = [31];
  }
  def input_vars {
    decl static double C[N][N] = random;
    decl static double A[N][M] = random;
    decl double alpha = 1.5;
    decl double beta = 1.2;
  }
) @*/
  /*@ begin Loop(
  transform Composite(openmp = (True,'omp parallel for private(j)'))
  for (i = 0; i < N; i++)
    for (j = 0; j <= i; j++)
      C[i][j] *= beta;
  ) @*/
  for (i = 0; i < N; i++)
    for (j = 0; j <= i; j++)
      C[i][j] *= beta;
  /*@ end @*/
  /*@ begin Loop(
  transform Composite(
    tile = [('i',T,'it')],
    permut = [PERM],
    unrolljam = (['k'],[UK]),
    vector = (True,['ivdep','vector always']))
  for (i = 0; i < N; i++)
    for (k = 0; k < M; k++)
      for (j = 0; j <= i; j++)
        C[i][j] += alpha * A[i][k] * A[j][k];
  ) @*/
  for (i = 0; i < N; i++)
    for (k = 0; k < M; k++)
      for (j = 0; j <= i; j++)
        C[i][j] += alpha * A[i][k] * A[j][k];
  /*@ end @*/
/*@ end @*/
}
