
void corr() {
/*@ begin PerfTuning (
  def build { arg build_command = 'gcc -O3 -fopenmp -DDYNAMIC'; arg libs='-lm'; }
  def performance_counter { arg repetitions = 1; }
  def performance_params {
    param U_i[] = [1,3]; param U_j[] = [1,2]; param T_i[] = [1,32]; param P[] = [('j1','j2','i'),('j2','j1','i')];
  }
  def search { arg algorithm = 'Firefly'; arg total_runs = 3; }
  def input_params { param M[] = [20]; param NN[] = [30]; }
  def input_vars {
    decl static double data[NN+1][M+1] = random;
    decl static double symmat[M+1][M+1] = 0;
    decl static double mean[M+1] = 0;
    decl static double stddev[M+1] = 0;
    decl double float_n = 321414134.01;
    decl double eps = 0.005;
  }
) @*/
  int i,j,j1,j2;
  /*@ begin Loop(
    transform Composite(unrolljam=(['j','i'],[U_j,U_i]), openmp=(True,'omp parallel for private(i)'))
    for (j=1; j<=M; j++) {
      mean[j] = 0.0;
      for (i=1; i<=NN; i++)
        mean[j] += data[i][j];
      mean[j] /= float_n;
    }
    for (j=1; j<=M; j++) {
      stddev[j] = 0.0;
      for (i=1; i<=NN; i++)
        stddev[j] += (data[i][j]-mean[j])*(data[i][j]-mean[j]);
      stddev[j] /= float_n;
      stddev[j] = sqrt(stddev[j]);
      stddev[j] = stddev[j] <= eps ? 1.0 : stddev[j];
    }
    for (j1=1; j1<=M-1; j1++) {
      symmat[j1][j1] = 1.0;
      for (j2=j1+1; j2<=M; j2++) {
        symmat[j1][j2] = 0.0;
        for (i=1; i<=NN; i++)
          symmat[j1][j2] += (data[i][j1]*data[i][j2]);
        symmat[j2][j1] = symmat[j1][j2];
      }
    }
    symmat[M][M] = 1.0;
  ) @*/
  /*@ end @*/
/*@ end @*/
}
