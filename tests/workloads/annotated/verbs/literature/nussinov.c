/* base pairs of an RNA sequence, a table filled from its diagonal outwards */
#define match(a, b) (((a)+(b)) == 3 ? 1 : 0)
#define max_score(a, b) (((a) >= (b)) ? (a) : (b))
void nussinov(int n, int *seq, int table[n][n]) {
  int i, j, k;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param U[] = [1,2,4];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [50];
  }
  def input_vars {
    decl static int seq[N] = random;
    decl static int table[N][N] = 0;
  }
) @*/
  int n = N;
  /*@ begin Loop(
  transform Composite(unrolljam = (['k'],[U]), openmp = (True,'omp parallel for private(j,k)'))
  for (i = n-1; i >= 0; i--) {
    for (j = i+1; j < n; j++) {
      if (j-1 >= 0)
        table[i][j] = max_score(table[i][j], table[i][j-1]);
      if (i+1 < n)
        table[i][j] = max_score(table[i][j], table[i+1][j]);
      if (j-1 >= 0 && i+1 < n) {
        if (i < j-1)
          table[i][j] = max_score(table[i][j], table[i+1][j-1] + match(seq[i]%4, seq[j]%4));
        else
          table[i][j] = max_score(table[i][j], table[i+1][j-1]);
      }
      for (k = i+1; k < j; k++)
        table[i][j] = max_score(table[i][j], table[i][k] + table[k+1][j]);
    }
  }
  ) @*/
  for (i = n-1; i >= 0; i--) {
    for (j = i+1; j < n; j++) {
      if (j-1 >= 0)
        table[i][j] = max_score(table[i][j], table[i][j-1]);
      if (i+1 < n)
        table[i][j] = max_score(table[i][j], table[i+1][j]);
      if (j-1 >= 0 && i+1 < n) {
        if (i < j-1)
          table[i][j] = max_score(table[i][j], table[i+1][j-1] + match(seq[i]%4, seq[j]%4));
        else
          table[i][j] = max_score(table[i][j], table[i+1][j-1]);
      }
      for (k = i+1; k < j; k++)
        table[i][j] = max_score(table[i][j], table[i][k] + table[k+1][j]);
    }
  }
  /*@ end @*/
/*@ end @*/
}
