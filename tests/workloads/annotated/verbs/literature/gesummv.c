/* a sum of two matrix-vector products, with scalars that a row keeps */
void gesummv(int n, float alpha, float beta, float *A, float *B, float *x, float *y) {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'nvcc -O3 @CFLAGS';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TC[] = [32,64];
    param BC[] = [7,14];
    param UIF[] = [1,3];
    param CFLAGS[] = ['', '-use_fast_math'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [64];
  }
  def input_vars {
    decl dynamic float A[N*N] = random;
    decl dynamic float B[N*N] = random;
    decl dynamic float x[N] = random;
    decl dynamic float y[N] = 0;
    decl float alpha = 1.5;
    decl float beta = 1.25;
  }
) @*/
  int n = N;
  int i, j;
  float t, u;
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC, unrollInner=UIF)
  for (i = 0; i <= n-1; i++) {
    t = 0.0f;
    u = 0.0f;
    for (j = 0; j <= n-1; j++) {
      t = A[i*n+j] * x[j] + t;
      u = B[i*n+j] * x[j] + u;
    }
    y[i] = alpha*t + beta*u;
  }
  ) @*/
  for (i = 0; i <= n-1; i++) {
    t = 0.0f;
    u = 0.0f;
    for (j = 0; j <= n-1; j++) {
      t = A[i*n+j] * x[j] + t;
      u = B[i*n+j] * x[j] + u;
    }
    y[i] = alpha*t + beta*u;
  }
  /*@ end @*/
/*@ end @*/
}
