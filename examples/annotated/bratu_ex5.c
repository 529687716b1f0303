/* FormFunctionLocal of PETSc's SNES example 5: the 2D Bratu problem on a grid of My rows and Mx columns. Edges are
   unknowns of their own, and what lies on them counts as zero for the cells beside them. */
#include <math.h>

void bratu_ex5(int Mx, int My, double lambda, double x[My][Mx], double f[My][Mx]) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param TC[] = [64, 128, 256];
      param BC[] = [28, 56];
      param PL[] = [16, 48];
      param CFLAGS[] = ['', '-march=native', '-march=native -ffast-math'];
    }
    def input_params { param Mx[] = [128, 1000]; param My[] = [128, 1000]; constraint square = (Mx == My); }
    def input_vars {
      decl double lambda = 6.0;
      decl static double x[My][Mx] = random;
      decl static double f[My][Mx] = 0;
    }
    def search { arg algorithm = 'Model'; arg total_runs = 20; }
  ) @*/
  double hx = 1.0/(Mx-1), hy = 1.0/(My-1);
  double sc = hx*hy*lambda, hxdhy = hx/hy, hydhx = hy/hx;
  double u, ue, uw, un, us;
  int i, j;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, blockCount=BC, preferL1Size=PL)
    for (j = 0; j <= My-1; j++) {
      for (i = 0; i <= Mx-1; i++) {
        if (i == 0 || j == 0 || i == Mx-1 || j == My-1) {
          f[j][i] = 2.0*(hydhx + hxdhy)*x[j][i];
        } else {
          u = x[j][i];
          uw = i == 1 ? 0.0 : x[j][i-1];
          ue = i == Mx-2 ? 0.0 : x[j][i+1];
          un = j == 1 ? 0.0 : x[j-1][i];
          us = j == My-2 ? 0.0 : x[j+1][i];
          f[j][i] = (2.0*u - ue - uw)*hydhx + (2.0*u - un - us)*hxdhy - sc*exp(u);
        }
      }
    }
  ) @*/
  for (j = 0; j <= My-1; j++) {
    for (i = 0; i <= Mx-1; i++) {
      if (i == 0 || j == 0 || i == Mx-1 || j == My-1) {
        f[j][i] = 2.0*(hydhx + hxdhy)*x[j][i];
      } else {
        u = x[j][i];
        uw = i == 1 ? 0.0 : x[j][i-1];
        ue = i == Mx-2 ? 0.0 : x[j][i+1];
        un = j == 1 ? 0.0 : x[j-1][i];
        us = j == My-2 ? 0.0 : x[j+1][i];
        f[j][i] = (2.0*u - ue - uw)*hydhx + (2.0*u - un - us)*hxdhy - sc*exp(u);
      }
    }
  }
  /*@ end @*/
  /*@ end @*/
}
