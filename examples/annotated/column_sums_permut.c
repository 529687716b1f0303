/* sums of columns: the loops in the other order walk along the rows */
#include <math.h>

void column_sums_permut(int N, double a[N][N], double *s) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param SEQ[] = [('j','i'), ('i','j')];
      param CFLAGS[] = ['', '-march=native'];
    }
    def input_params { param N[] = [300]; }
    def input_vars { decl static double a[N][N] = random; decl static double s[N] = 0; }
    def search { arg algorithm = 'Simplex'; arg total_runs = 20; }
  ) @*/
  int n = N;
  int i, j;

  /*@ begin Loop(
    transform Permut(seq=SEQ)
    for (j = 0; j <= n-1; j++)
      for (i = 0; i <= n-1; i++)
        s[j] += a[i][j];
  ) @*/
  for (j = 0; j <= n-1; j++)
      for (i = 0; i <= n-1; i++)
        s[j] += a[i][j];
  /*@ end @*/
  /*@ end @*/
}
