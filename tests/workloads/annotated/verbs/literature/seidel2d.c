/* Gauss-Seidel sweeps of nine points: cells use what the sweep has just written */
void seidel(int tsteps, int n, double A[n][n]) {
  int t, i, j;
  int it, jt;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TI[] = [1,8];
    param TJ[] = [1,8];
    param PAR[] = [True,False];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param T[] = [5];
    param N[] = [34];
  }
  def input_vars {
    decl static double A[N][N] = random;
  }
) @*/
  /*@ begin Loop(
  transform Composite(
    tile = [('i',TI,'it'),('j',TJ,'jt')],
    openmp = (PAR,'omp parallel for private(i,j)'))
  for (t = 0; t <= T-1; t++)
    for (i = 1; i <= N-2; i++)
      for (j = 1; j <= N-2; j++)
        A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i-1][j+1]
                 + A[i][j-1] + A[i][j] + A[i][j+1]
                 + A[i+1][j-1] + A[i+1][j] + A[i+1][j+1])/9.0;
  ) @*/
  for (t = 0; t <= T-1; t++)
    for (i = 1; i <= N-2; i++)
      for (j = 1; j <= N-2; j++)
        A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i-1][j+1]
                 + A[i][j-1] + A[i][j] + A[i][j+1]
                 + A[i+1][j-1] + A[i+1][j] + A[i+1][j+1])/9.0;
  /*@ end @*/
/*@ end @*/
}
