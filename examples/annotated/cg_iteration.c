/* One iteration of conjugate gradients with a matrix of diagonals: the product with p.q, both updates with r.r, and the
   new direction, each pair in one pass. Call it until rr[0] is small; rr[0] holds r.r before and after. */
void cg_iteration(int m, int n, double *A, double *x, double *r, double *p, double *q, double *rr) {
  int offsets[5] = {-m, -1, 0, 1, m};
  double pq = 0.0, old = rr[0], fresh = 0.0, alpha, beta;
  int i, j, col;
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc -O3 @CFLAGS'; }
    def performance_counter { arg repetitions = 5; }
    def performance_params {
      param TC[] = [64, 128, 256];
      param BC[] = [28, 56, 112];
      param UIF[] = [1, 5];
      param CFLAGS[] = ['', '-march=native', '-march=native -ffast-math'];
    }
    def input_params { param m[] = [500]; param n[] = [500]; constraint square = (m == n); let nos = 5; }
    def input_vars {
      decl static int offsets[nos] = {-m, -1, 0, 1, m};
      decl static double A[nos*m*n] = random;
      decl static double x[m*n] = 0;
      decl static double r[m*n] = random;
      decl static double p[m*n] = random;
      decl static double q[m*n] = 0;
      decl static double rr[1] = {1.0};
      decl double old = 1.0;
      decl double pq = 0.0;
      decl double fresh = 0.0;
    }
    def search { arg algorithm = 'Model'; arg total_runs = 30; }
  ) @*/
  int rows = m*n;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, blockCount=BC, unrollInner=UIF)
    for (i = 0; i <= rows-1; i++) {
      q[i] = 0.0;
      for (j = 0; j <= 4; j++) {
        col = i + offsets[j];
        if (col >= 0 && col < rows)
          q[i] += A[i + j*rows] * p[col];
      }
      pq += p[i]*q[i];
    }
  ) @*/
  for (i = 0; i <= rows-1; i++) {
    q[i] = 0.0;
    for (j = 0; j <= 4; j++) {
      col = i + offsets[j];
      if (col >= 0 && col < rows)
        q[i] += A[i + j*rows] * p[col];
    }
    pq += p[i]*q[i];
  }
  /*@ end @*/

  alpha = old/pq;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, blockCount=BC)
    for (i = 0; i <= rows-1; i++) {
      x[i] += alpha*p[i];
      r[i] -= alpha*q[i];
      fresh += r[i]*r[i];
    }
  ) @*/
  for (i = 0; i <= rows-1; i++) {
    x[i] += alpha*p[i];
    r[i] -= alpha*q[i];
    fresh += r[i]*r[i];
  }
  /*@ end @*/

  beta = fresh/old;
  rr[0] = fresh;

  /*@ begin Loop(
    transform CUDA(threadCount=TC, blockCount=BC)
    for (i = 0; i <= rows-1; i++)
      p[i] = r[i] + beta*p[i];
  ) @*/
  for (i = 0; i <= rows-1; i++)
    p[i] = r[i] + beta*p[i];
  /*@ end @*/
  /*@ end @*/
}
