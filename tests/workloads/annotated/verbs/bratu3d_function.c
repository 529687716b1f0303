
void FormFunction3D(double lambda, int m, int n, int p, double* X, double *F) {
  /*@ begin PerfTuning (
    def performance_params {
      param TC[] = range(32,1025,32);
      param BC[] = range(24,193,24);
      param UIF[] = range(1,6);
      param PL[] = [16,48];
      param CFLAGS[] = map(join, product(['', '-use_fast_math'], ['', '-O1', '-O2', '-O3']));
    }
    def input_params {
      param SIZE[] = [8, 16];
      let m = 8;
      param lambda = 6;
    }
    def input_vars {
      decl static double X[SIZE*SIZE*SIZE] = random;
      decl static double F[SIZE*SIZE*SIZE] = 0;
    }
    def build { arg build_command = 'nvcc -arch=sm_20 @CFLAGS'; }
    def performance_counter { arg repetitions = 6; }
    def search { arg algorithm = 'Randomsearch'; arg total_runs = 3; }
  ) @*/
  int i,x,y,z,f_idx;
  int m = SIZE;
  int n = SIZE;
  int p = SIZE;
  double hx = 1.0/(m-1);
  double hy = 1.0/(n-1);
  double hz = 1.0/(p-1);
  double sc = hx*hy*hz*lambda;
  double hxhzdhy = hx*hz/hy;
  double hyhzdhx = hy*hz/hx;
  double hxhydhz = hx*hy/hz;
  int nrows = m*n*p;
  /*@ begin Loop(transform CUDA(threadCount=TC, blockCount=BC, preferL1Size=PL, unrollInner=UIF)
  for(i=0; i<=nrows-1; i++) {
    if (i<m*n || i>=nrows-m*n || i%(m*n)<m || i%(m*n)>=m*n-m || i%m==0 || i%m==m-1) {
      F[i] = X[i];
    } else {
      F[i] = (2*X[i] - X[i-1] - X[i+1])*hyhzdhx
           + (2*X[i] - X[i-m] - X[i+m])*hxhzdhy
           + (2*X[i] - X[i-m*n] - X[i+m*n])*hxhydhz
           - sc*exp(X[i]);
    }
  }
  ) @*/
  for(i=0; i<=nrows-1; i++) {
    if (i<m*n || i>=nrows-m*n || i%(m*n)<m || i%(m*n)>=m*n-m || i%m==0 || i%m==m-1) {
      F[i] = X[i];
    } else {
      F[i] = (2*X[i] - X[i-1] - X[i+1])*hyhzdhx
           + (2*X[i] - X[i-m] - X[i+m])*hxhzdhy
           + (2*X[i] - X[i-m*n] - X[i+m*n])*hxhydhz
           - sc*exp(X[i]);
    }
  }
  /*@ end @*/
  /*@ end @*/
}
