
void z(int n, double *x, double *y) {
/*@ begin PerfTuning (
  def build { arg build_command = 'gcc -O3 -march=native'; }
  def performance_params { param U[] = range(1,6,2) + [8]; }
  def input_params { param N[] = [100]; }
  def input_vars { decl static double x[N] = random; decl static double y[N] = random; decl int flag = 1; decl static int idx[N] = random; }
) @*/
  int i; int n = N; double tmp, s1;
  /*@ begin Loop(
  transform Unroll(ufactor=U)
  for (i=0; i<=n-1; i+=1) {
    tmp = fabs(x[i]) > 1.0 ? x[i] : -x[i];
    if (i%2==0 && tmp>0.5) y[i] = pow(tmp, 2.0); else if (idx[i] == 3) { y[i] = log(x[i])+sin(x[i]); }
    else y[i] = max(x[i], y[idx[i]]);
  }
  ) @*/
  for (i=0; i<=n-1; i+=1) {
    tmp = fabs(x[i]) > 1.0 ? x[i] : -x[i];
    if (i%2==0 && tmp>0.5) y[i] = pow(tmp, 2.0); else if (idx[i] == 3) { y[i] = log(x[i])+sin(x[i]); }
    else y[i] = max(x[i], y[idx[i]]);
  }
  /*@ end @*/
/*@ end @*/
}
