
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <math.h>
#define T 4
#define N 40
double X[N][N+20];
double A[N][N+20];
double B[N][N+20];
void init_arrays()
{
  int i, j;
  for (i=0; i<N; i++)
    for (j=0; j<N; j++) {
      A[i][j] = (i*j)/(1.0*N);
      X[i][j] = i+j;
      B[i][j] = (1.0+i);
    }
}
int main()
{
  init_arrays();
  int t,i1,i2;
/*@ begin PerfTuning (
  def build { arg build_command = 'icc -openmp -lm'; }
  def performance_counter { arg method = 'basic timer'; arg repetitions = 1; }
  def performance_params {
    param T1_1[] = [1,16,32];
    param T1_2[] = [1,16,32];
    param U1_1[] = [1,4];
    param U2_2[] = [1,2];
    param PERMUTS[] = [0,1];
    param SCREP[] = [False,True];
    param IVEC1[] = [False,True];
    constraint tile1 = (T1_1 % U1_1 == 0) or (T1_1 == 1);
  }
  def search { arg algorithm = 'Randomlocal'; arg time_limit = 1; arg total_runs = 3; }
  def input_params {
    param T[] = [4];
    param N[] = [40];
  }
  def input_vars {
    arg decl_file = 'adi_decl.h';
    arg init_file = 'adi_init.c';
  }
) @*/
int it;
for (t=0; t<=T-1; t++) {
  /*@ begin Loop(
  transform Composite(
    tile = [('i1',T1_1,'ii1'),('i2',T1_2,'ii2')],
    regtile = (['i1','i2'],[U1_1,U2_2]),
    scalarreplace = (SCREP,'double'),
    vector = (IVEC1, ['ivdep','vector always']))
  for (i1=0; i1<=N-1; i1++)
    for (i2=1; i2<=N-1; i2++) {
      X[i1][i2] = X[i1][i2] - X[i1][i2-1] * A[i1][i2] / B[i1][i2-1];
      B[i1][i2] = B[i1][i2] - A[i1][i2] * A[i1][i2] / B[i1][i2-1];
    }
  ) @*/
  for (i1=0; i1<=N-1; i1++)
    for (i2=1; i2<=N-1; i2++) {
      X[i1][i2] = X[i1][i2] - X[i1][i2-1] * A[i1][i2] / B[i1][i2-1];
      B[i1][i2] = B[i1][i2] - A[i1][i2] * A[i1][i2] / B[i1][i2-1];
    }
  /*@ end @*/
  /*@ begin Loop(
  transform Composite(
    tile = [('i1',T1_1,'ii1'),('i2',T1_2,'ii2')],
    unrolljam = (['i1','i2'],[U1_1,U2_2]))
  for (i1=1; i1<=N-1; i1++)
    for (i2=0; i2<=N-1; i2++) {
      X[i1][i2] = X[i1][i2] - X[i1-1][i2] * A[i1][i2] / B[i1-1][i2];
      B[i1][i2] = B[i1][i2] - A[i1][i2] * A[i1][i2] / B[i1-1][i2];
    }
  ) @*/
  for (i1=1; i1<=N-1; i1++)
    for (i2=0; i2<=N-1; i2++) {
      X[i1][i2] = X[i1][i2] - X[i1-1][i2] * A[i1][i2] / B[i1-1][i2];
      B[i1][i2] = B[i1][i2] - A[i1][i2] * A[i1][i2] / B[i1-1][i2];
    }
  /*@ end @*/
}
/*@ end @*/
  return 0;
}
