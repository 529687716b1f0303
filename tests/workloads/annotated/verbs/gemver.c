
#define N 60
void gemver() {
/*@ begin PerfTuning (
  def build { arg build_command = 'icc -fast -openmp '; arg libs = '-lm -lrt'; }
  def performance_counter { arg method = 'basic timer'; arg repetitions = 1; }
  def performance_params {
    let RG = range(1,17);
    param T2_1[] = [1,16,32,64];
    param T4_1[] = [1,16,32,64];
    param U1_1[] = RG;
    param U4_2[] = RG;
    param RT[] = [False];
    param SCREP[] = [False,True];
    param IVEC[] = [False, True];
    param PAR[] = [False, True];
  }
  def search { arg algorithm = 'Annealing'; arg total_runs = 2; }
  def input_params { param N[] = [60]; }
  def input_vars { arg decl_file = 'gem_decl.h'; arg init_file = 'gem_init.c'; }
) @*/
  int i,j,k,t;
  int it, jt;
  /*@ begin Loop(
    transform Composite(
      unrolljam = (['j','i'],[1,U1_1]),
      scalarreplace = (SCREP, 'double', 'scv_'),
      vector = (IVEC, ['ivdep','vector always']),
      openmp = (PAR, 'omp parallel for private(i,j)')
    )
    for (i=0; i<=N-1; i++)
      for (j=0; j<=N-1; j++)
        B[i][j] = A[i][j] + u1[i]*v1[j] + u2[i]*v2[j];

    transform Composite(
      tile = [('i',T2_1,'it')],
      unrolljam = (['i'],[U1_1])
    )
    for (i=0; i<=N-1; i++)
      for (j=0; j<=N-1; j++)
        x[i] = x[i] + b * B[j][i] * y[j];

    transform Composite(vector = (IVEC, ['ivdep','vector always']))
    for (i=0; i<=N-1; i++)
      x[i] = x[i] + z[i];

    for (i=0; i<=N-1; i++)
      for (j=0; j<=N-1; j++)
        w[i] = w[i] + a * B[i][j] * x[j];
  ) @*/
  for (i=0; i<=N-1; i++)
    for (j=0; j<=N-1; j++)
      B[i][j] = A[i][j] + u1[i]*v1[j] + u2[i]*v2[j];
  for (i=0; i<=N-1; i++)
    for (j=0; j<=N-1; j++)
      x[i] = x[i] + b * B[j][i] * y[j];
  for (i=0; i<=N-1; i++)
    x[i] = x[i] + z[i];
  for (i=0; i<=N-1; i++)
    for (j=0; j<=N-1; j++)
      w[i] = w[i] + a * B[i][j] * x[j];
  /*@ end @*/
/*@ end @*/
}
