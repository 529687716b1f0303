/* FDTD in two dimensions, tiled and parallelised as a whole */
double ex[40][41], ey[41][40], hz[40][40];
int main() {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp -mcmodel=medium';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param T1_1[] = [1,8];
    param T1_2[] = [1,16];
    param T1_3[] = [1];
    param T2_1[] = [1];
    param T2_2[] = [1];
    param T2_3[] = [1];
    param U1[] = [1];
    param U2[] = [1,2];
    param U3[] = [1,4];
    param PERM[] = [[0,1,2]];
    param PAR[] = [True,False];
    param SCREP[] = [False];
    param IVEC[] = [True];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param tmax[] = [6];
    param nx[] = [40];
    param ny[] = [40];
  }
  def input_vars {
    decl static double ex[nx][ny+1] = random;
    decl static double ey[nx+1][ny] = random;
    decl static double hz[nx][ny] = random;
  }
) @*/

register int i, j, k, t;
register int c1t, c2t, c3t, c4t, c5t, c6t;
register int newlb_c1, newlb_c2, newub_c1, newub_c2;

/*@ begin PolySyn(
  parallel = PAR;
  tiles = [T1_1,T1_2,T1_3,T2_1,T2_2,T2_3];
  permut = PERM;
  unroll_factors = [U1,U2,U3];
  scalar_replace = SCREP;
  vectorize = IVEC;

  profiling_code = 'fdtd-2d_profiling.c';
  compile_cmd = 'gcc';
  compile_opts = '-lm';
) @*/

/* pluto start (tmax,nx,ny) */
for (t=0; t<tmax; t++)
  {
    for (j=0; j<ny; j++)
      ey[0][j] = t;
    for (i=1; i<nx; i++)
      for (j=0; j<ny; j++)
        ey[i][j] = ey[i][j] - 0.5*(hz[i][j]-hz[i-1][j]);
    for (i=0; i<nx; i++)
      for (j=1; j<ny; j++)
        ex[i][j] = ex[i][j] - 0.5*(hz[i][j]-hz[i][j-1]);
    for (i=0; i<nx; i++)
      for (j=0; j<ny; j++)
        hz[i][j] = hz[i][j] - 0.7*(ex[i][j+1]-ex[i][j]+ey[i+1][j]-ey[i][j]);
  }
/* pluto end */

/*@ end @*/
/*@ end @*/
  return 0;
}
