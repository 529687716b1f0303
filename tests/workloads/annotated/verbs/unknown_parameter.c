
void VecNorm2(int n, double *x, double r) {
    register int i;
    /*@ begin PerfTuning (
          def performance_params { param TC[] = [32,64]; param BC[] = [14,28]; param SC[] = [1]; param CB[] = [True, False]; }
          def input_params { param N[] = [100]; }
          def input_vars { decl dynamic double x[N] = random; decl double r = 0; }
          def build { arg build_command = 'nvcc -arch=sm_20 @CFLAGS'; }
          def performance_counter { arg repetitions = 1; }
    ) @*/
    int n=N;
    r = 0;
    /*@ begin Loop(transform CUDA(threadCount=TC, blockCount=BC, streamCount=SC, cacheBlocks=CB)
        for(i=0; i<=n-1; i++)
          r+=x[i]*x[i];
        r=sqrt(r);
    ) @*/
    for (i=0; i<=n-1; i++)
        r+=x[i]*x[i];
    r=sqrt(r);
    /*@ end @*/
    /*@ end @*/
}
