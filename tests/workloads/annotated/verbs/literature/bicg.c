/* the two products of BiCG, accumulated in two directions by one nest */
void bicg(int nx, int ny, double A[nx][ny], double *r, double *s, double *p, double *q) {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'nvcc -O3 -Xptxas -dlcm=ca';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param TC[] = [64,128];
    param BC[] = [14];
    param SC[] = [1,2];
    param CB[] = [True,False];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param NX[] = [48];
    param NY[] = [57];
  }
  def input_vars {
    decl static double A[NX][NY] = random;
    decl static double r[NX] = random;
    decl static double s[NY] = 0;
    decl static double p[NY] = random;
    decl static double q[NX] = 0;
  }
) @*/
  int nx = NX;
  int ny = NY;
  int i, j;
  /*@ begin Loop(
  transform CUDA(threadCount=TC, blockCount=BC, streamCount=SC, cacheBlocks=CB)
  for (j = 0; j <= ny-1; j++)
    s[j] = 0;
  for (i = 0; i <= nx-1; i++) {
    q[i] = 0;
    for (j = 0; j <= ny-1; j++) {
      s[j] += r[i]*A[i][j];
      q[i] += A[i][j]*p[j];
    }
  }
  ) @*/
  for (j = 0; j <= ny-1; j++)
    s[j] = 0;
  for (i = 0; i <= nx-1; i++) {
    q[i] = 0;
    for (j = 0; j <= ny-1; j++) {
      s[j] += r[i]*A[i][j];
      q[i] += A[i][j]*p[j];
    }
  }
  /*@ end @*/
/*@ end @*/
}
