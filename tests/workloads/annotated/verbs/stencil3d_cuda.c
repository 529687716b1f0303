
void stencil3d(int n, double *X, double *Y) {
/*@ begin PerfTuning(
  def build { arg build_command = 'nvcc -O3'; }
  def performance_counter { arg repetitions = 5; }
  def performance_params {
    param TC[] = [32,64,128]; param BC[] = [14,28]; param SC[] = [1,2]; param CB[] = [False, True];
  }
  def input_params { param N[] = [10]; }
  def input_vars {
    decl static double X[N*N*N] = random;
    decl static double Y[N*N*N] = 0;
  }
) @*/
  int i; int nn = N*N; int n = N; int nnn = N*N*N;
  /*@ begin Loop(transform CUDA(threadCount=TC, blockCount=BC, streamCount=SC, cacheBlocks=CB, domain="Stencil_SG3_Star1_Dof1")
  for (i=nn; i<=nnn-nn-1; i++)
    Y[i] = 6*X[i] - X[i-1] - X[i+1] - X[i-n] - X[i+n] - X[i-nn] - X[i+nn];
  ) @*/
  for (i=nn; i<=nnn-nn-1; i++)
    Y[i] = 6*X[i] - X[i-1] - X[i+1] - X[i-n] - X[i+n] - X[i-nn] - X[i+nn];
  /*@ end @*/
/*@ end @*/
}
