/* LU factors and the two triangular solutions behind them */
void ludcmp(int n, double A[n][n], double *b, double *x, double *y) {
  int i, j, k;
  double w;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O2 @CFLAGS -lm';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param UF[] = [1,2,4];
    param CFLAGS[] = ['', '-funroll-loops'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [32];
  }
  def input_vars {
    decl static double A[N][N] = random;
    decl static double b[N] = random;
    decl static double x[N] = 0;
    decl static double y[N] = 0;
  }
) @*/
  int n = N;
  for (i = 0; i < n; i++)
    A[i][i] = A[i][i] + 40.0;
  /*@ begin Loop(
  
  for (i = 0; i < n; i++) {
    for (j = 0; j < i; j++) {
      w = A[i][j];
      transform Unroll(ufactor=UF)
      for (k = 0; k < j; k++)
        w -= A[i][k] * A[k][j];
      A[i][j] = w / A[j][j];
    }
    for (j = i; j < n; j++) {
      w = A[i][j];
      transform Unroll(ufactor=UF)
      for (k = 0; k < i; k++)
        w -= A[i][k] * A[k][j];
      A[i][j] = w;
    }
  }
  for (i = 0; i < n; i++) {
    w = b[i];
    for (j = 0; j < i; j++)
      w -= A[i][j] * y[j];
    y[i] = w;
  }
  for (i = n-1; i >= 0; i--) {
    w = y[i];
    for (j = i+1; j < n; j++)
      w -= A[i][j] * x[j];
    x[i] = w / A[i][i];
  }
  ) @*/
  for (i = 0; i < n; i++) {
    for (j = 0; j < i; j++) {
      w = A[i][j];
      for (k = 0; k < j; k++)
        w -= A[i][k] * A[k][j];
      A[i][j] = w / A[j][j];
    }
    for (j = i; j < n; j++) {
      w = A[i][j];
      for (k = 0; k < i; k++)
        w -= A[i][k] * A[k][j];
      A[i][j] = w;
    }
  }
  for (i = 0; i < n; i++) {
    w = b[i];
    for (j = 0; j < i; j++)
      w -= A[i][j] * y[j];
    y[i] = w;
  }
  for (i = n-1; i >= 0; i--) {
    w = y[i];
    for (j = i+1; j < n; j++)
      w -= A[i][j] * x[j];
    x[i] = w / A[i][i];
  }
  /*@ end @*/
/*@ end @*/
}
