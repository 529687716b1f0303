
#define alpha 1
/*@ begin PerfTuning(
  def build { arg build_command = 'gcc -O2'; }
  def performance_counter { arg repetitions = 1; }
  def performance_params {
    param Ui[]=[1,2]; param Uj[]=[1,2]; param Uk[]=[1]; param Ul[]=[1,4]; param Um[]=[1,2];
    param PERM[] = [[['i'],['j'],['k'],['l'],['m']], [['i'],['j'],['k'],['m'],['l']], ('k','i','j','l','m')];
    constraint c = Ui*Uj*Ul*Um <= 8;
  }
  def search { arg algorithm='Randomsearch'; arg total_runs=5; arg time_limit=-1; }
  def input_params { param V=6; param O=5; }
  def input_vars {
    decl dynamic double A2[V][O] = random;
    decl dynamic double T[V][O][O][O] = random;
    decl dynamic double R[V][O][O][O] = 0;
  }
) @*/
int i,j,k,l,m;
/*@ begin Loop(
  transform Composite(
    permut = [PERM],
    unrolljam = (['i','j','k','l','m'],[Ui,Uj,Uk,Ul,Um])
  )
  for (i=0; i<=V-1; i++)
    for (j=0; j<=O-1; j++)
      for (k=0; k<=O-1; k++)
        for (l=0; l<=O-1; l++)
          for (m=0; m<=V-1; m++)
            R[i][j][k][l] += alpha * T[m][j][k][l] * A2[i][l];
) @*/
for (i=0; i<=V-1; i++)
  for (j=0; j<=O-1; j++)
    for (k=0; k<=O-1; k++)
      for (l=0; l<=O-1; l++)
        for (m=0; m<=V-1; m++)
          R[i][j][k][l] += alpha * T[m][j][k][l] * A2[i][l];
/*@ end @*/
/*@ end @*/
