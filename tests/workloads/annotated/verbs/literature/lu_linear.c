/* LU factors of a matrix in one row after the other, subscripts written out */
void lu(int n, double *A) {
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
    param UIF[] = [1,2];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [40];
  }
  def input_vars {
    decl static double A[N*N] = random;
  }
) @*/
  int n = N;
  int i, j, k;
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC, unrollInner=UIF)
  for (k = 0; k <= n-1; k++) {
    for (j = k+1; j <= n-1; j++)
      A[k*n+j] = A[k*n+j] / (A[k*n+k] + 30.0);
    for (i = k+1; i <= n-1; i++)
      for (j = k+1; j <= n-1; j++)
        A[i*n+j] = A[i*n+j] - A[i*n+k]*A[k*n+j];
  }
  ) @*/
  for (k = 0; k <= n-1; k++) {
    for (j = k+1; j <= n-1; j++)
      A[k*n+j] = A[k*n+j] / (A[k*n+k] + 30.0);
    for (i = k+1; i <= n-1; i++)
      for (j = k+1; j <= n-1; j++)
        A[i*n+j] = A[i*n+j] - A[i*n+k]*A[k*n+j];
  }
  /*@ end @*/
/*@ end @*/
}
