/* the heat equation in three dimensions, two fields in turn */
void heat(int tsteps, int n, double *A, double *B) {
  int t, i, j, k;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'nvcc -O3';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TC[] = [64,128];
    param BC[] = [14,28];
    param PIN[] = [False,True];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param T[] = [4];
    param N[] = [12];
  }
  def input_vars {
    decl static double A[N][N][N] = random;
    decl static double B[N][N][N] = random;
  }
) @*/
  int n = N;
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC, pinHostMem=PIN)
  for (t = 1; t <= T; t++) {
    for (i = 1; i < n-1; i++)
      for (j = 1; j < n-1; j++)
        for (k = 1; k < n-1; k++)
          B[i][j][k] = 0.125*(A[i+1][j][k] - 2.0*A[i][j][k] + A[i-1][j][k])
                     + 0.125*(A[i][j+1][k] - 2.0*A[i][j][k] + A[i][j-1][k])
                     + 0.125*(A[i][j][k+1] - 2.0*A[i][j][k] + A[i][j][k-1]) + A[i][j][k];
    for (i = 1; i < n-1; i++)
      for (j = 1; j < n-1; j++)
        for (k = 1; k < n-1; k++)
          A[i][j][k] = 0.125*(B[i+1][j][k] - 2.0*B[i][j][k] + B[i-1][j][k])
                     + 0.125*(B[i][j+1][k] - 2.0*B[i][j][k] + B[i][j-1][k])
                     + 0.125*(B[i][j][k+1] - 2.0*B[i][j][k] + B[i][j][k-1]) + B[i][j][k];
  }
  ) @*/
  for (t = 1; t <= T; t++) {
    for (i = 1; i < n-1; i++)
      for (j = 1; j < n-1; j++)
        for (k = 1; k < n-1; k++)
          B[i][j][k] = 0.125*(A[i+1][j][k] - 2.0*A[i][j][k] + A[i-1][j][k])
                     + 0.125*(A[i][j+1][k] - 2.0*A[i][j][k] + A[i][j-1][k])
                     + 0.125*(A[i][j][k+1] - 2.0*A[i][j][k] + A[i][j][k-1]) + A[i][j][k];
    for (i = 1; i < n-1; i++)
      for (j = 1; j < n-1; j++)
        for (k = 1; k < n-1; k++)
          A[i][j][k] = 0.125*(B[i+1][j][k] - 2.0*B[i][j][k] + B[i-1][j][k])
                     + 0.125*(B[i][j+1][k] - 2.0*B[i][j][k] + B[i][j-1][k])
                     + 0.125*(B[i][j][k+1] - 2.0*B[i][j][k] + B[i][j][k-1]) + B[i][j][k];
  }
  /*@ end @*/
/*@ end @*/
}
