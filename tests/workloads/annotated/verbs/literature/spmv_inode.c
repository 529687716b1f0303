/* a sparse matrix whose rows come in groups with the same columns; the code is the module's own */
void spmv(int *ai, int *aj, double *aa, double *x, double *y) {
/*@ begin PerfTuning (
  def build {
    arg build_command = 'icc -O3 -openmp -lm -I/opt/papi/include';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param UO[] = [1,2,4];
    param UI[] = [1,2];
    param NT[] = [1,2];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param NROWS[] = [48];
  }
  def input_vars {
    decl int total_rows = 48;
    decl int total_inodes = 24;
    decl static int inode_sizes[24] = 2;
    decl static int inode_rows[25] = {0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48};
    decl static int ai[NROWS+1] = {0,4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96,100,104,108,112,116,120,124,128,132,136,140,144,148,152,156,160,164,168,172,176,180,184,188,192};
    decl static int aj[4*NROWS] = random;
    decl static double aa[4*NROWS] = random;
    decl static double x[NROWS] = random;
    decl static double y[NROWS] = 0;
  }
) @*/

  /*@ begin SpMV (
    # y = aa * x
    out_vector = y;
    in_vector = x;
    in_matrix = aa;
    row_inds = ai;
    col_inds = aj;
    data_type = double;
    init_val = 0;
    total_rows = total_rows;       # rows of 'aa'
    total_inodes = total_inodes;
    inode_sizes = inode_sizes;
    inode_rows = inode_rows;

    out_unroll_factor = UO;
    in_unroll_factor = UI;
    num_threads = NT;
    simd = 'none';
    block_structure = 'none';
  ) @*/

  /*@ end @*/

/*@ end @*/
}
