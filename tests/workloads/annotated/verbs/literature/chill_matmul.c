/* a matrix product whose loops a script transforms */
void mm(int n, double A[n][n], double B[n][n], double C[n][n]) {
  int i, j, k;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TI[] = [4,8];
    param UF[] = [1,2,4];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [30];
  }
  def input_vars {
    decl static double A[N][N] = random;
    decl static double B[N][N] = random;
    decl static double C[N][N] = 0;
  }
) @*/
  int n = N;
  /*@ begin CHiLL (
    permute([1,3,2])
    tile(0,1,TI)
    unroll(0,4,UF)
  ) @*/
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++)
      for (k = 0; k < n; k++)
        C[i][j] = C[i][j] + A[i][k]*B[k][j];
  /*@ end @*/
/*@ end @*/
}
