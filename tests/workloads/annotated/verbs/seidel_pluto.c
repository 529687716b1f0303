
#define ceild(n,d)  ceil(((double)(n))/((double)(d)))
#define floord(n,d) floor(((double)(n))/((double)(d)))
#define max(x,y)    ((x) > (y)? (x) : (y))
#define min(x,y)    ((x) < (y)? (x) : (y))
/*@ begin PerfTuning (
  def build { arg build_command = 'gcc -O3 -fopenmp'; }
  def performance_counter { arg repetitions = 2; }
  def performance_params { param U[] = [1,2,4]; }
  def search { arg algorithm = 'Exhaustive'; }
  def input_params { param T = 6; param N = 40; }
  def input_vars { decl static double A[N][N] = random; }
) @*/
int t1, t2, t3, lb, ub, lb1, ub1;
/*@ begin Loop(
  transform UnrollJam(ufactor=U)
  for (t1=0; t1<=2*T+N-5; t1++) {
    for (t2=max(ceild(t1-N+3,1),max(0,ceild(t1-N+3,2))); t2<=min(T-1,floord(t1,2)); t2++) {
      for (t3=1; t3<=N-2; t3++)
        A[t1-2*t2+1][t3] = (A[t1-2*t2][t3] + A[t1-2*t2+1][t3] + A[t1-2*t2+2][t3])/3.0;
    }
  }
) @*/
  for (t1=0; t1<=2*T+N-5; t1++) {
    for (t2=max(ceild(t1-N+3,1),max(0,ceild(t1-N+3,2))); t2<=min(T-1,floord(t1,2)); t2++) {
      for (t3=1; t3<=N-2; t3++)
        A[t1-2*t2+1][t3] = (A[t1-2*t2][t3] + A[t1-2*t2+1][t3] + A[t1-2*t2+2][t3])/3.0;
    }
  }
/*@ end @*/
/*@ end @*/
