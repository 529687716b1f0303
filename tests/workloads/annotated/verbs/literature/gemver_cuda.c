/* the vector updates of gemver on a GPU, the transposed product among them */
void gemver(int n) {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'nvcc -O3 -use_fast_math';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TC[] = range(32,129,32);
    param BC[] = [14,28];
    param UIF[] = [1,4];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [50];
  }
  def input_vars {
    decl static double A[N*N] = random;
    decl static double u1[N] = random;
    decl static double v1[N] = random;
    decl static double u2[N] = random;
    decl static double v2[N] = random;
    decl static double y[N] = random;
    decl static double z[N] = random;
    decl static double x[N] = 0;
    decl static double w[N] = 0;
    decl double alpha = 1.5;
    decl double beta = 1.2;
  }
) @*/
  int n = N;
  int i, j;
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC, unrollInner=UIF)
  for (i = 0; i <= n-1; i++)
    for (j = 0; j <= n-1; j++)
      A[i*n+j] = A[i*n+j] + u1[i]*v1[j] + u2[i]*v2[j];
  for (j = 0; j <= n-1; j++)
    for (i = 0; i <= n-1; i++)
      x[i] = x[i] + beta * A[j*n+i] * y[j];
  for (i = 0; i <= n-1; i++)
    x[i] = x[i] + z[i];
  for (i = 0; i <= n-1; i++)
    for (j = 0; j <= n-1; j++)
      w[i] = w[i] + alpha * A[i*n+j] * x[j];
  ) @*/
  for (i = 0; i <= n-1; i++)
    for (j = 0; j <= n-1; j++)
      A[i*n+j] = A[i*n+j] + u1[i]*v1[j] + u2[i]*v2[j];
  for (j = 0; j <= n-1; j++)
    for (i = 0; i <= n-1; i++)
      x[i] = x[i] + beta * A[j*n+i] * y[j];
  for (i = 0; i <= n-1; i++)
    x[i] = x[i] + z[i];
  for (i = 0; i <= n-1; i++)
    for (j = 0; j <= n-1; j++)
      w[i] = w[i] + alpha * A[i*n+j] * x[j];
  /*@ end @*/
/*@ end @*/
}
