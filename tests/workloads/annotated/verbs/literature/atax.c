/* y = A'(A x): rows, then a transposed product in the same loop */
void atax(int m, int n, double *A, double *x, double *y, double *tmp) {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'nvcc -arch=sm_20 @CFLAGS';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TC[] = [32,64,128];
    param BC[] = [14,28];
    param UIF[] = [1,2,4];
    param PL[] = [16,48];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param M[] = [60];
    param N[] = [52];
  }
  def input_vars {
    decl static double A[M*N] = random;
    decl static double x[N] = random;
    decl static double y[N] = 0;
    decl static double tmp[M] = 0;
  }
) @*/
  int m = M, n = N;
  int i, j;
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC, unrollInner=UIF, preferL1Size=PL)
  for (i = 0; i <= n-1; i++)
    y[i] = 0;
  for (i = 0; i <= m-1; i++) {
    tmp[i] = 0;
    for (j = 0; j <= n-1; j++)
      tmp[i] = tmp[i] + A[i*n+j] * x[j];
    for (j = 0; j <= n-1; j++)
      y[j] = y[j] + A[i*n+j] * tmp[i];
  }
  ) @*/
  for (i = 0; i <= n-1; i++)
    y[i] = 0;
  for (i = 0; i <= m-1; i++) {
    tmp[i] = 0;
    for (j = 0; j <= n-1; j++)
      tmp[i] = tmp[i] + A[i*n+j] * x[j];
    for (j = 0; j <= n-1; j++)
      y[j] = y[j] + A[i*n+j] * tmp[i];
  }
  /*@ end @*/
/*@ end @*/
}
