/* a sparse matrix in compressed rows times a vector */
void spmv(int total_rows, int *ai, int *aj, double *aa, double *x, double *y) {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param UO[] = [1,2];
    param UI[] = [1,2,4];
    param NT[] = [1,2];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param NROWS[] = [50];
  }
  def input_vars {
    decl int total_rows = 50;
    decl static int ai[NROWS+1] = {0,3,6,9,12,15,18,21,24,27,30,33,36,39,42,45,48,51,54,57,60,63,66,69,72,75,78,81,84,87,90,93,96,99,102,105,108,111,114,117,120,123,126,129,132,135,138,141,144,147,150};
    decl static int aj[3*NROWS] = random;
    decl static double aa[3*NROWS] = random;
    decl static double x[NROWS] = random;
    decl static double y[NROWS] = 0;
  }
) @*/

  int i, j;
  /*@ begin SpMV (
    # y = aa * x
    out_vector = y;
    in_vector = x;
    in_matrix = aa;
    row_inds = ai;
    col_inds = aj;
    data_type = double;
    init_val = 0;
    total_rows = total_rows;

    out_unroll_factor = UO;
    in_unroll_factor = UI;
    num_threads = NT;
    simd = 'none';
    block_structure = 'none';
  ) @*/
  for (i = 0; i <= total_rows-1; i++) {
    y[i] = 0;
    for (j = ai[i]; j <= ai[i+1]-1; j++)
      y[i] += aa[j] * x[aj[j]];
  }
  /*@ end @*/
/*@ end @*/
}
