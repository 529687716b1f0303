
void VecDot(int n, double *x, double *y, double r) {
    register int i;
    /*@ begin PerfTuning (
          def performance_params {
            param TC[] = range(32,1025,32)
            param BC[] = range(14,113,14)
            param SC[] = range(1,6)
            param CB[] = [True, False]
            param PL[] = [16,48]
            param CFLAGS[] = map(join, product(['', '-use_fast_math'], ['', '-O1', '-O2', '-O3']))
          }
          def input_params {
            param N[] = [1000];
          }
          def input_vars {
            decl dynamic double x[N] = random;
            decl dynamic double y[N] = random;
            decl double r = 0;
          }
          def build {
            arg build_command = 'nvcc -arch=sm_20 @CFLAGS';
          }
          def performance_counter { arg repetitions = 5; }   
          def search { arg algorithm = 'Randomlocal'; arg total_runs = 4; }
    ) @*/   
    int n=N;
    /*@ begin Loop(transform CUDA(threadCount=TC, blockCount=BC, streamCount=SC, cacheBlocks=CB, preferL1Size=PL)
        for(i=0; i<=n-1; i++)
          r+=x[i]*y[i];
    ) @*/
    for (i=0; i<=n-1; i++)
        r+=x[i]*y[i];
    /*@ end @*/
    /*@ end @*/
}
