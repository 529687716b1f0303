/* LU factors, tiled and parallelised as a whole, a loop annotation inside */
double A[30][30];
int main() {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'icc -O3 -openmp -vec-report0';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param T1_1[] = [1,8];
    param T1_2[] = [1,8];
    param T1_3[] = [1,8];
    param T2_1[] = [1];
    param T2_2[] = [1];
    param T2_3[] = [1];
    param U1[] = [1];
    param U2[] = [1,2];
    param U3[] = [1,2];
    param PAR[] = [True];
    param SCREP[] = [False,True];
    param IVEC[] = [True];
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
  }
) @*/

register int i, j, k;
register int c1t, c2t, c3t;

/*@ begin PolySyn(
  l1_tiles = [T1_1,T1_2,T1_3];
  l2_tiles = [T2_1,T2_2,T2_3];
  hotspot_permut = [0,1,2];
  unroll_factors = [U1,U2,U3];
  parallelize = PAR;
  scalar_replace = SCREP;
  icc_vectorize = IVEC;
) @*/

/* pluto start (N) */
for (k=0; k<=N-1; k++)
  {
    for (j=k+1; j<=N-1; j++)
      A[k][j] = A[k][j]/(A[k][k] + 20.0);
/*@ begin Loop(
    transform Composite(permut = [('j','i')])
    for(i=k+1; i<=N-1; i++)
      for (j=k+1; j<=N-1; j++)
        A[i][j] = A[i][j] - A[i][k]*A[k][j];
) @*/
    for(i=k+1; i<=N-1; i++)
      for (j=k+1; j<=N-1; j++)
        A[i][j] = A[i][j] - A[i][k]*A[k][j];
/*@ end @*/
  }
/* pluto end */
/*@ end @*/
/*@ end @*/
  return 0;
}
