/* a vector operation whose loop goes on where another one stopped */
void scale(int n, double a, double *x, double *y) {
  int i;
/*@ begin PerfTuning (
  def build {
    arg build_command = 'gcc -O3 -fopenmp @CFLAGS@';
  }
  def performance_counter {
    arg repetitions = 3;
  }
  def performance_params {
    param UF[] = [1,2,4];
    param CFLAGS[] = ['', '-march=native'];
  }
  def search {
    arg algorithm = 'Exhaustive';
    arg total_runs = 6;
  }
  def input_params {
    param N[] = [1003];
  }
  def input_vars {
    decl int n = 1003;
    decl dynamic double x[n] = random;
    decl dynamic double y[N] = random;
    decl double a = 1.5;
  }
) @*/
  /*@ begin Loop(
  
  i = 0;
  transform Unroll(ufactor=UF)
  for (; i <= n-1; i++)
    y[i] = a*x[i] + y[i];
  ) @*/
  i = 0;
  for (; i <= n-1; i++)
    y[i] = a*x[i] + y[i];
  /*@ end @*/
/*@ end @*/
}
