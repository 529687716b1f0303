
#define tmax 10
#define nx 20
#define ny 20
void fdtd() {
/*@ begin PerfTuning (
  def build { arg build_command = 'gcc -O3 -fopenmp'; }
  def performance_counter { arg repetitions = 1; }
  def performance_params { param U1[]=range(1,3); param T1[] = [1,8]; param V[] = [False,True]; }
  def search { arg algorithm='Exhaustive'; arg total_runs = 3; }
  def input_params { param tmax=5; param nx=20; param ny=24; }
  def input_vars {
    decl static double ex[nx][ny+1] = random;
    decl static double ey[nx+1][ny] = random;
    decl static double hz[nx][ny] = random;
  }
) @*/
  int t,i,j,tt,ii,jj;
  for (t=0; t<=tmax-1; t++) {
    /*@ begin Loop(
      transform Composite(vector=(V,['ivdep']))
      for (j=0; j<=ny-1; j++)
        ey[0][j] = t;
      transform Composite(tile=[('i',T1,'ii'),('j',T1,'jj')], unrolljam=(['i','j'],[U1,U1]))
      for (i=1; i<=nx-1; i++)
        for (j=0; j<=ny-1; j++)
          ey[i][j] = ey[i][j] - 0.5*(hz[i][j]-hz[i-1][j]);
      for (i=0; i<=nx-1; i++)
        for (j=1; j<=ny-1; j++)
          ex[i][j] = ex[i][j] - 0.5*(hz[i][j]-hz[i][j-1]);
      for (i=0; i<=nx-1; i++)
        for (j=0; j<=ny-1; j++)
          hz[i][j]=hz[i][j]-0.7*(ex[i][j+1]-ex[i][j]+ey[i+1][j]-ey[i][j]);
    ) @*/
    for (j=0; j<=ny-1; j++)
      ey[0][j] = t;
    for (i=1; i<=nx-1; i++)
      for (j=0; j<=ny-1; j++)
        ey[i][j] = ey[i][j] - 0.5*(hz[i][j]-hz[i-1][j]);
    for (i=0; i<=nx-1; i++)
      for (j=1; j<=ny-1; j++)
        ex[i][j] = ex[i][j] - 0.5*(hz[i][j]-hz[i][j-1]);
    for (i=0; i<=nx-1; i++)
      for (j=0; j<=ny-1; j++)
        hz[i][j]=hz[i][j]-0.7*(ex[i][j+1]-ex[i][j]+ey[i+1][j]-ey[i][j]);
    /*@ end @*/
  }
/*@ end @*/
}
