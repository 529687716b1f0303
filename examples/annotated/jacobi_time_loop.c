/* Jacobi sweeps in a time loop: an iterated stencil, which is handed to the stencil compiler with its time tiles */
void jacobi_time_loop(int T, int N, double a[N][N], double b[N][N]) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 3; }
    def performance_params {
      param TC[] = [64, 128];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param T[] = [100]; param N[] = [3000]; }
    def input_vars { decl static double a[N][N] = random; decl static double b[N][N] = 0; }
  ) @*/
  int t, i, j;

  /*@ begin Loop(
    transform CUDA(threadCount=TC)
    for (t = 0; t <= T-1; t++) {
      for (i = 1; i <= N-2; i++)
        for (j = 1; j <= N-2; j++)
          b[i][j] = 0.2*(a[i][j] + a[i-1][j] + a[i+1][j] + a[i][j-1] + a[i][j+1]);
      for (i = 1; i <= N-2; i++)
        for (j = 1; j <= N-2; j++)
          a[i][j] = b[i][j];
    }
  ) @*/
  for (t = 0; t <= T-1; t++) {
    for (i = 1; i <= N-2; i++)
      for (j = 1; j <= N-2; j++)
        b[i][j] = 0.2*(a[i][j] + a[i-1][j] + a[i+1][j] + a[i][j-1] + a[i][j+1]);
    for (i = 1; i <= N-2; i++)
      for (j = 1; j <= N-2; j++)
        a[i][j] = b[i][j];
  }
  /*@ end @*/
  /*@ end @*/
}
