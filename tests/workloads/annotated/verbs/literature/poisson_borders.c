/* the residual of Poisson's equation, with branches at the boundary */
void residual(int m, int n, double hx, double hy, double *x, double *f) {
  int i, j;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param U[] = [1,2,4];
    param IVEC[] = [False,True];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param M[] = [60];
    param N[] = [44];
  }
  def input_vars {
    decl static double x[M*N] = random;
    decl static double f[M*N] = 0;
    decl double hxdhy = 1.1;
    decl double hydhx = 0.9;
  }
) @*/
  int m = M, n = N;
  /*@ begin Loop(
  transform Composite(
    unrolljam = (['i'],[U]),
    vector = (IVEC,['ivdep']),
    openmp = (True,'omp parallel for private(i)'))
  for (j = 0; j <= n-1; j++)
    for (i = 0; i <= m-1; i++)
      if (i == 0 || j == 0 || i == m-1 || j == n-1)
        f[j*m+i] = x[j*m+i];
      else
        f[j*m+i] = (2.0*x[j*m+i] - x[j*m+i-1] - x[j*m+i+1])*hydhx
                 + (2.0*x[j*m+i] - x[j*m+i-m] - x[j*m+i+m])*hxdhy;
  ) @*/
  for (j = 0; j <= n-1; j++)
    for (i = 0; i <= m-1; i++)
      if (i == 0 || j == 0 || i == m-1 || j == n-1)
        f[j*m+i] = x[j*m+i];
      else
        f[j*m+i] = (2.0*x[j*m+i] - x[j*m+i-1] - x[j*m+i+1])*hydhx
                 + (2.0*x[j*m+i] - x[j*m+i-m] - x[j*m+i+m])*hxdhy;
  /*@ end @*/
/*@ end @*/
}
