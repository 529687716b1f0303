/* shortest paths between all pairs */
void floyd(int n, double path[n][n]) {
  int i, j, k;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'nvcc -O3 -fPIC';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TC[] = [32,64];
    param BC[] = [14,28];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [36];
  }
  def input_vars {
    decl static double path[N][N] = random;
  }
) @*/
  int n = N;
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC)
  for (k = 0; k <= n-1; k++)
    for (i = 0; i <= n-1; i++)
      for (j = 0; j <= n-1; j++)
        path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
  ) @*/
  for (k = 0; k <= n-1; k++)
    for (i = 0; i <= n-1; i++)
      for (j = 0; j <= n-1; j++)
        path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
  /*@ end @*/
/*@ end @*/
}
