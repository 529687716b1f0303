
void FormJacobian3D(double lambda, int m, int n, int p, double *x, double *dia) {
  /*@ begin PerfTuning (
    def performance_params {
      param TC[] = [32, 64];
      param BC[] = [14, 28];
      param PL[] = [16,48];
    }
    def input_params {
      param m[] = [6];
      param n[] = [6];
      param p[] = [6];
      constraint c1 = (m==n);
      constraint c2 = (n==p);
      param lambda[] = [6.0];
    }
    def input_vars {
      decl static double x[m*n*p] = random;
      decl static double dia[7*m*n*p] = 0;
    }
    def build { arg build_command = 'nvcc -arch=sm_20'; }
    def performance_counter { arg repetitions = 6; }
  ) @*/
  int i,j,k,t;
  int nrows=m*n*p;
  double hx = 1.0/(m-1), hy = 1.0/(n-1), hz = 1.0/(p-1);
  double sc = hx*hy*hz*lambda;
  double hxhzdhy = hx*hz/hy, hyhzdhx = hy*hz/hx, hxhydhz = hx*hy/hz;
  /*@ begin Loop(transform CUDA(threadCount=TC, blockCount=BC, preferL1Size=PL)
  for(i=0; i<=nrows-1; i++){
    if(i%m==0 || i%m==m-1 || (i/m)%n==0 || (i/m)%n==n-1 || i<m*n || i>=nrows-m*n) {
      dia[i+3*nrows] = 1.0;
    } else {
      dia[i]         = -hxhydhz;
      dia[i+nrows]   = -hxhzdhy;
      dia[i+2*nrows] = -hyhzdhx;
      dia[i+3*nrows] = 2.0*(hyhzdhx+hxhzdhy+hxhydhz) - sc*exp(x[i]);
      dia[i+4*nrows] = -hyhzdhx;
      dia[i+5*nrows] = -hxhzdhy;
      dia[i+6*nrows] = -hxhydhz;
    }
  }
  ) @*/
  for(i=0; i<=nrows-1; i++){
    if(i%m==0 || i%m==m-1 || (i/m)%n==0 || (i/m)%n==n-1 || i<m*n || i>=nrows-m*n) {
      dia[i+3*nrows] = 1.0;
    } else {
      dia[i]         = -hxhydhz;
      dia[i+nrows]   = -hxhzdhy;
      dia[i+2*nrows] = -hyhzdhx;
      dia[i+3*nrows] = 2.0*(hyhzdhx+hxhzdhy+hxhydhz) - sc*exp(x[i]);
      dia[i+4*nrows] = -hyhzdhx;
      dia[i+5*nrows] = -hxhzdhy;
      dia[i+6*nrows] = -hxhydhz;
    }
  }
  /*@ end @*/
  /*@ end @*/
}
