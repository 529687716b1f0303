
/*@ begin PerfTuning (
  def build { arg build_command = 'gcc -O3 -fopenmp @OPT@'; }
  def performance_counter { arg repetitions = 1; }
  def performance_params {
    param OPT[] = ['-ffast-math', ''];
    param Ti[] = [1,8]; param Tj[] = [1,8]; param Tk[] = [1,8]; param Ui[] = [1,2]; param Uj[] = [1,2]; param Uk[] = [1,2];
  }
  def search { arg algorithm='Randomsearch'; arg total_runs = 5; }
  def input_params { param NN = 30; param alpha = 1; }
  def input_vars { decl static double A[NN][NN] = random; decl static double B[NN][NN] = random; }
) @*/
int i,j,k,it,jt,kt;
/*@ begin Loop(
  transform Composite(
    tile = [('i',Ti,'it'),('j',Tj,'jt'),('k',Tk,'kt')],
    permut = [(['it'],['jt'],['kt'],'i','j','k')],
    regtile = (['i','j','k'],[Ui,Uj,Uk]),
    boundreplace = (True,),
    scalarreplace = (True,'double'),
    openmp = (True,'omp parallel for private(it,jt,kt,i,j,k)')
  )
  for (i=0; i<=NN-1; i++)
    for (j=0; j<=NN-1; j++)
      for (k=i; k<=NN-1; k++)
        B[i][j] = B[i][j] + alpha*A[i][k]*B[k][j];
) @*/
for (i=0; i<=NN-1; i++)
  for (j=0; j<=NN-1; j++)
    for (k=i; k<=NN-1; k++)
      B[i][j] = B[i][j] + alpha*A[i][k]*B[k][j];
/*@ end @*/
/*@ end @*/
