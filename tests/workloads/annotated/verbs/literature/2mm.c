/* D = alpha*A*B*C + beta*D, two products one after the other */
void k2mm(int ni, int nj, int nk, int nl, double alpha, double beta) {
  int i, j, k;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TI[] = [1,16];
    param TK[] = [1,16];
    param UJ[] = [1,2,4];
    param SCREP[] = [False,True];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param NI[] = [37];
    param NJ[] = [33];
    param NK[] = [41];
    param NL[] = [29];
  }
  def input_vars {
    decl static double A[NI][NK] = random;
    decl static double B[NK][NJ] = random;
    decl static double C[NJ][NL] = random;
    decl static double D[NI][NL] = random;
    decl static double tmp[NI][NJ] = 0;
    decl double alpha = 1.5;
    decl double beta = 1.2;
  }
) @*/
  int it, kt;
  /*@ begin Loop(
  transform Composite(
    tile = [('i',TI,'it'),('k',TK,'kt')],
    unrolljam = (['j'],[UJ]),
    scalarreplace = (SCREP,'double'),
    openmp = (True,'omp parallel for private(it,kt,i,j,k)'))
  for (i = 0; i < NI; i++)
    for (j = 0; j < NJ; j++) {
      tmp[i][j] = 0.0;
      for (k = 0; k < NK; ++k)
        tmp[i][j] += alpha * A[i][k] * B[k][j];
    }
  ) @*/
  for (i = 0; i < NI; i++)
    for (j = 0; j < NJ; j++) {
      tmp[i][j] = 0.0;
      for (k = 0; k < NK; ++k)
        tmp[i][j] += alpha * A[i][k] * B[k][j];
    }
  /*@ end @*/
  /*@ begin Loop(
  transform Composite(
    unrolljam = (['j'],[UJ]),
    openmp = (True,'omp parallel for private(i,j,k)'))
  for (i = 0; i < NI; i++)
    for (j = 0; j < NL; j++) {
      D[i][j] *= beta;
      for (k = 0; k < NJ; ++k)
        D[i][j] += tmp[i][k] * C[k][j];
    }
  ) @*/
  for (i = 0; i < NI; i++)
    for (j = 0; j < NL; j++) {
      D[i][j] *= beta;
      for (k = 0; k < NJ; ++k)
        D[i][j] += tmp[i][k] * C[k][j];
    }
  /*@ end @*/
/*@ end @*/
}
