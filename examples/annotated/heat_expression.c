/* One dimension of heat, its old body replaced by a stencil that is written as an expression */
void heat_expression(int T, int N, double k, double *u, double *v) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3'; }
    def performance_counter { arg repetitions = 3; }
    def input_params { param T[] = [50]; param N[] = [20000]; }
    def input_vars {
      decl static double u[N] = random;
      decl static double v[N] = 0;
      decl double k = 0.25;
    }
  ) @*/
  int t, i;

  /*@ begin Stencil( steps = T, u = u[0] + k*(u[-1] - 2*u[0] + u[1]) ) @*/
  for (t = 0; t <= T-1; t++) {
    for (i = 1; i <= N-2; i++)
      v[i] = u[i] + k*(u[i-1] - 2*u[i] + u[i+1]);
    for (i = 1; i <= N-2; i++)
      u[i] = v[i];
  }
  /*@ end @*/
  /*@ end @*/
}
