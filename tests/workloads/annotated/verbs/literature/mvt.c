/* a matrix and its transpose times two vectors */
void mvt(int n) {
  int i, j;
  int it, jt;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param Ti[] = [1,16];
    param Tj[] = [1,16];
    param Ui[] = [1,2];
    param Uj[] = [1,2,4];
    param SCREP[] = [False,True];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [70];
  }
  def input_vars {
    decl static double A[N][N] = random;
    decl static double x1[N] = random;
    decl static double x2[N] = random;
    decl static double y1[N] = random;
    decl static double y2[N] = random;
  }
) @*/
  /*@ begin Loop(
  transform Composite(
    tile = [('i',Ti,'it'),('j',Tj,'jt')],
    regtile = (['i','j'],[Ui,Uj]),
    scalarreplace = (SCREP,'double'),
    openmp = (True,'omp parallel for private(it,jt,i,j)'))
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++) {
      x1[i] = x1[i] + A[i][j] * y1[j];
      x2[j] = x2[j] + A[i][j] * y2[i];
    }
  ) @*/
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++) {
      x1[i] = x1[i] + A[i][j] * y1[j];
      x2[j] = x2[j] + A[i][j] * y2[i];
    }
  /*@ end @*/
/*@ end @*/
}
