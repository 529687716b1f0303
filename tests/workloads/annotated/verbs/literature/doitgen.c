/* a contraction of three dimensions through a row that every step reuses */
void doitgen(int nr, int nq, int np) {
  int r, q, p, s;
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
    param NR[] = [12];
    param NQ[] = [14];
    param NP[] = [16];
  }
  def input_vars {
    decl static double A[NR][NQ][NP] = random;
    decl static double C4[NP][NP] = random;
    decl static double sum[NP] = 0;
  }
) @*/
  /*@ begin Loop(
  transform Composite(
    unrolljam = (['s'],[U]),
    vector = (IVEC,['ivdep','vector always']),
    openmp = (True,'omp parallel for private(q,p,s)'))
  for (r = 0; r < NR; r++)
    for (q = 0; q < NQ; q++) {
      for (p = 0; p < NP; p++) {
        sum[p] = 0.0;
        for (s = 0; s < NP; s++)
          sum[p] += A[r][q][s] * C4[s][p];
      }
      for (p = 0; p < NP; p++)
        A[r][q][p] = sum[p];
    }
  ) @*/
  for (r = 0; r < NR; r++)
    for (q = 0; q < NQ; q++) {
      for (p = 0; p < NP; p++) {
        sum[p] = 0.0;
        for (s = 0; s < NP; s++)
          sum[p] += A[r][q][s] * C4[s][p];
      }
      for (p = 0; p < NP; p++)
        A[r][q][p] = sum[p];
    }
  /*@ end @*/
/*@ end @*/
}
