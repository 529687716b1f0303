/* a triangular matrix times a matrix in place, for OpenCL */
void trmm(int m, int n, double alpha, double *A, double *B) {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -framework OpenCL';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param WG[] = [1,2];
    param WI[] = [32,64];
    param UIF[] = [1,2];
    param CL[] = ['', '-cl-mad-enable'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param M[] = [30];
    param N[] = [41];
  }
  def input_vars {
    decl static double A[M*M] = random;
    decl static double B[M*N] = random;
    decl double alpha = 1.5;
  }
) @*/
  int m = M, n = N;
  int i, j, k;
  /*@ begin Loop(
  transform OpenCL(workGroups=WG, workItemsPerGroup=WI, unrollInner=UIF, clFlags=CL)
  for (i = 0; i <= m-1; i++)
    for (j = 0; j <= n-1; j++) {
      for (k = i+1; k <= m-1; k++)
        B[i*n+j] += A[k*m+i] * B[k*n+j];
      B[i*n+j] = alpha * B[i*n+j];
    }
  ) @*/
  for (i = 0; i <= m-1; i++)
    for (j = 0; j <= n-1; j++) {
      for (k = i+1; k <= m-1; k++)
        B[i*n+j] += A[k*m+i] * B[k*n+j];
      B[i*n+j] = alpha * B[i*n+j];
    }
  /*@ end @*/
/*@ end @*/
}
