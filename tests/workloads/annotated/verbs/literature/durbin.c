/* the Durbin recursion: every step needs the whole one before */
void durbin(int n, double *r, double *y) {
  int i, k;
  double alpha, beta, sum;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param U[] = [1,2,4];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Randomsearch';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [60];
  }
  def input_vars {
    decl static double r[N] = random;
    decl static double y[N] = 0;
    decl static double z[N] = 0;
  }
) @*/
  int n = N;
  /*@ begin Loop(
  transform Composite(unrolljam = (['i'],[U]), openmp = (True,'omp parallel for private(i)'))
  y[0] = -0.01*r[0];
  beta = 1.0;
  alpha = -0.01*r[0];
  for (k = 1; k < n; k++) {
    beta = (1 - alpha*alpha)*beta;
    sum = 0.0;
    for (i = 0; i < k; i++)
      sum += 0.01*r[k-i-1]*y[i];
    alpha = -(0.01*r[k] + sum)/(beta + 10.0);
    for (i = 0; i < k; i++)
      z[i] = y[i] + alpha*y[k-i-1];
    for (i = 0; i < k; i++)
      y[i] = z[i];
    y[k] = alpha;
  }
  ) @*/
  y[0] = -0.01*r[0];
  beta = 1.0;
  alpha = -0.01*r[0];
  for (k = 1; k < n; k++) {
    beta = (1 - alpha*alpha)*beta;
    sum = 0.0;
    for (i = 0; i < k; i++)
      sum += 0.01*r[k-i-1]*y[i];
    alpha = -(0.01*r[k] + sum)/(beta + 10.0);
    for (i = 0; i < k; i++)
      z[i] = y[i] + alpha*y[k-i-1];
    for (i = 0; i < k; i++)
      y[i] = z[i];
    y[k] = alpha;
  }
  /*@ end @*/
/*@ end @*/
}
