/* a triangular system by forward substitution: the rows follow one another */
void trisolv(int n, double L[n][n], double x[n], double b[n]) {
  int i, j;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param U[] = [1,2,4,8];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Exhaustive';
    arg total_runs = 8;
  }
  def input_params {
    param N[] = [120];
  }
  def input_vars {
    decl static double L[N][N] = random;
    decl static double x[N] = 0;
    decl static double b[N] = random;
  }
) @*/
  /*@ begin Loop(
  transform Composite(unrolljam = (['j'],[U]), scalarreplace = (True,'double'), openmp = (True,'omp parallel for private(j)'))
  for (i = 0; i < N; i++) {
    x[i] = b[i];
    for (j = 0; j < i; j++)
      x[i] -= 0.01 * L[i][j] * x[j];
    x[i] = x[i] / (L[i][i] + 1.0);
  }
  ) @*/
  for (i = 0; i < N; i++) {
    x[i] = b[i];
    for (j = 0; j < i; j++)
      x[i] -= 0.01 * L[i][j] * x[j];
    x[i] = x[i] / (L[i][i] + 1.0);
  }
  /*@ end @*/
/*@ end @*/
}
