/* FormFunction of the 2D Bratu problem (PETSc's SNES ex5): boundary cells by %, an exponential inside */
#include <math.h>

void bratu_function(int M, int K, double lambda, double *X, double *F) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param TC[] = range(32,129,32);
      param UIF[] = [1, 2];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param M[] = [16, 64]; param K[] = [16, 64]; constraint square = (M == K); }
    def input_vars { decl double lambda = 6.0; decl static double X[M*K] = random; decl static double F[M*K] = 0; }
    def search { arg algorithm = 'Model'; arg total_runs = 20; }
  ) @*/
  int m = M, n = K, nrows = m*n;
  double hx = 1.0/(m-1), hy = 1.0/(n-1);
  double sc = hx*hy*lambda, hxdhy = hx/hy, hydhx = hy/hx;
  int i;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, blockCount=14, preferL1Size=48, unrollInner=UIF)
    for (i = 0; i <= nrows-1; i++) {
      if (i < m || i >= nrows-m || i%m == 0 || i%m == m-1) {
        F[i] = X[i];
      } else {
        F[i] = (2*X[i] - X[i-1] - X[i+1])*hydhx + (2*X[i] - X[i-m] - X[i+m])*hxdhy - sc*exp(X[i]);
      }
    }
  ) @*/
  for (i = 0; i <= nrows-1; i++) {
      if (i < m || i >= nrows-m || i%m == 0 || i%m == m-1) {
        F[i] = X[i];
      } else {
        F[i] = (2*X[i] - X[i-1] - X[i+1])*hydhx + (2*X[i] - X[i-m] - X[i+m])*hxdhy - sc*exp(X[i]);
      }
    }
  /*@ end @*/
  /*@ end @*/
}
