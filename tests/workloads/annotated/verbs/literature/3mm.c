/* G = (A*B)*(C*D), three products */
void k3mm(int ni, int nj, int nk, int nl, int nm) {
  int i, j, k;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'nvcc -O3 -arch=sm_35';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TC[] = [64,128];
    param BC[] = [14,28];
    param UIF[] = [1,2,4];
    param SC[] = [1,32];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param NI[] = [22];
    param NJ[] = [25];
    param NK[] = [27];
    param NL[] = [21];
    param NM[] = [24];
  }
  def input_vars {
    decl static double A[NI][NK] = random;
    decl static double B[NK][NJ] = random;
    decl static double C[NJ][NM] = random;
    decl static double D[NM][NL] = random;
    decl static double E[NI][NJ] = 0;
    decl static double F[NJ][NL] = 0;
    decl static double G[NI][NL] = 0;
  }
) @*/
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC, unrollInner=UIF, streamCount=SC)
  for (i = 0; i < NI; i++)
    for (j = 0; j < NJ; j++) {
      E[i][j] = 0.0;
      for (k = 0; k < NK; ++k)
        E[i][j] += A[i][k] * B[k][j];
    }
  for (i = 0; i < NJ; i++)
    for (j = 0; j < NL; j++) {
      F[i][j] = 0.0;
      for (k = 0; k < NM; ++k)
        F[i][j] += C[i][k] * D[k][j];
    }
  for (i = 0; i < NI; i++)
    for (j = 0; j < NL; j++) {
      G[i][j] = 0.0;
      for (k = 0; k < NJ; ++k)
        G[i][j] += E[i][k] * F[k][j];
    }
  ) @*/
  for (i = 0; i < NI; i++)
    for (j = 0; j < NJ; j++) {
      E[i][j] = 0.0;
      for (k = 0; k < NK; ++k)
        E[i][j] += A[i][k] * B[k][j];
    }
  for (i = 0; i < NJ; i++)
    for (j = 0; j < NL; j++) {
      F[i][j] = 0.0;
      for (k = 0; k < NM; ++k)
        F[i][j] += C[i][k] * D[k][j];
    }
  for (i = 0; i < NI; i++)
    for (j = 0; j < NL; j++) {
      G[i][j] = 0.0;
      for (k = 0; k < NJ; ++k)
        G[i][j] += E[i][k] * F[k][j];
    }
  /*@ end @*/
/*@ end @*/
}
