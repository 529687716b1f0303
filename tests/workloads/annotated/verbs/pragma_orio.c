
#include <stdio.h>
void foo(int n, double *x, double *y) {
  int i;
#pragma Orio PerfTuning( \
  def build { arg build_command = 'gcc -O3 @CFLAGS@'; } \
  def performance_params { param UF[] = range(1,4); param CFLAGS[] = ['', '-funroll-loops']; } \
  def input_params { param N[] = [500]; } \
  def input_vars { decl dynamic double x[N] = random; decl dynamic double y[N] = random; } \
)
  int n = N;
#pragma Orio Loop(transform Unroll(ufactor=UF))
  for (i=0; i<n; i++)
    y[i] = y[i] + 3*x[i];
#pragma Oiro
#pragma Oiro
}
