
void axpy(int n, float a, float *x, float *y) {
  register int i;
/*@ begin PerfTuning (
  def performance_params {
    param WG[] = [1,2,4];
    param WI[] = [32,64];
    param CB[] = [False, True];
    param SC[] = [1,2];
    param UIF[] = [1];
    param CFLAGS[] = ['-cl-fast-relaxed-math', '-cl-mad-enable', ''];
    param VH[] = [0,2,4];
    param SH[] = [True,False];
    param platform[] = [0];
    param device[] = [0];
  }
  def input_params { param N[] = [500]; }
  def input_vars {
    decl dynamic float x[N] = random;
    decl dynamic float y[N] = random;
    decl float a = random;
  }
  def build { arg build_command = 'gcc -O2 -lOpenCL '; arg libs = '-lOpenCL'; }
  def performance_counter { arg repetitions = 2; }
  def search { arg algorithm = 'Randomsearch'; arg total_runs = 3; }
) @*/
  int n = N;
  /*@ begin Loop(transform OpenCL(workGroups=WG, workItemsPerGroup=WI, cacheBlocks=CB, streamCount=SC, unrollInner=UIF, clFlags=CFLAGS, vecHint=VH, sizeHint=SH, platform=platform, device=device)
  for (i=0; i<=n-1; i++)
    y[i] = y[i] + a*x[i];
  ) @*/
  for (i=0; i<=n-1; i++)
    y[i] = y[i] + a*x[i];
  /*@ end @*/
/*@ end @*/
}
