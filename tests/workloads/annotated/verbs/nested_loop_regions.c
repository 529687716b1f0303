
void g(int n, double *x, double *y, double A[n][n]) {
  int i,j;
/*@ begin PerfTuning (
  def build { arg build_command = 'gcc -O3'; }
  def performance_params { param U1[]=[1,2,4]; param U2[]=[1,3]; }
  def input_params { param N = 33; }
  def input_vars { decl static double A[N][N]=random; decl static double x[N]=random; decl static double y[N] = 0; }
) @*/
  int n = N;
  /*@ begin Loop(
    transform UnrollJam(ufactor=U1)
    for (i=0; i<=n-1; i++) {
      y[i] = 0;
      for (j=0; j<=n-1; j++)
        y[i] += A[i][j]*x[j];
    }
  ) @*/
  for (i=0; i<=n-1; i++) {
    y[i] = 0;
    /*@ begin Loop(
      transform Unroll(ufactor=U2)
      for (j=0; j<=n-1; j++)
        y[i] += A[i][j]*x[j];
    ) @*/
    for (j=0; j<=n-1; j++)
      y[i] += A[i][j]*x[j];
    /*@ end @*/
  }
  /*@ end @*/
  for (i=0; i<=n-1; i++) x[i] = y[i];
  for (i=0; i<=n-1; i++) {
    /*@ begin Loop(
      transform Unroll(ufactor=U2)
      for (j=0; j<=n-1; j++)
        A[i][j] = A[i][j] * y[j];
    ) @*/
    for (j=0; j<=n-1; j++)
      A[i][j] = A[i][j] * y[j];
    /*@ end @*/
  }
/*@ end @*/
}
