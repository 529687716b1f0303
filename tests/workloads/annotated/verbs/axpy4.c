
/*@ begin PerfTuning (
 def build
 {
   arg build_command = 'gcc -O3 -fopenmp @CFLAGS ';
 }

 def performance_counter
 {
   arg method = 'basic timer';
   arg repetitions = 3;
 }

 def performance_params
 {
   param UF[] = range(1,11);
   param PAR[] = [True,False];
   param CFLAGS[] = map(join, product(['', '-qarch=450d'], ['','-O2'])) ;
 }

 def input_params
 {
   param N[] = [100,1000];
 }

 def input_vars
 {
   decl static double y[N] = 0;
   decl double a1 = random;
   decl double a2 = random;
   decl double a3 = random;
   decl double a4 = random;
   decl static double x1[N] = random;
   decl static double x2[N] = random;
   decl static double x3[N] = random;
   decl static double x4[N] = random;
 }

 def search
 {
   arg algorithm = 'Simplex';
   arg time_limit = 10;
   arg total_runs = 1;
   arg simplex_local_distance = 1;
   arg simplex_reflection_coef = 1.0;
   arg simplex_expansion_coef = 2.0;
   arg simplex_contraction_coef = 0.5;
   arg simplex_shrinkage_coef = 0.5;
 }
) @*/

int n=N;
int i;

/*@ begin Align (x1[],x2[],x3[],x4[],y[]) @*/
/*@ begin Loop (
  transform Unroll (ufactor=UF, parallelize=PAR)
  for (i=0; i<=n-1; i++)
     y[i]=y[i]+a1*x1[i]+a2*x2[i]+a3*x3[i]+a4*x4[i];
) @*/
for (i=0; i<=n-1; i++)
  y[i]=y[i]+a1*x1[i]+a2*x2[i]+a3*x3[i]+a4*x4[i];
/*@ end @*/
/*@ end @*/
/*@ end @*/
