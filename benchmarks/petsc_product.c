/* y = A x by PETSc for the 5- or 7-point Laplacian: waits for its turns, and prints the seconds of each.

   petsc_product FOLDER REPEATS N0 N1 [N2] [PETSc's options]

   Turn k begins when the file FOLDER/k appears; every rank looks for it now and then, so that a waiting program leaves
   the processors to its rivals. FOLDER/stop ends it. */
#include <petscmat.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int there(const char *folder, const char *name)
{
  char        path[4096];
  struct stat status;
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return stat(path, &status) == 0;
}

static PetscErrorCode fill(Mat A, const PetscInt *size, int rank)
{
  PetscInt first, last, stride[3];

  PetscFunctionBeginUser;
  for (int a = rank - 1, s = 1; a >= 0; s *= (int)size[a--]) stride[a] = s;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; ++row) {
    PetscInt    column[7], n = 0;
    PetscScalar value[7];
    for (int a = 0; a < rank; ++a) {
      const PetscInt at = row / stride[a] % size[a];
      if (at > 0) { column[n] = row - stride[a]; value[n++] = -1.0; }
      if (at + 1 < size[a]) { column[n] = row + stride[a]; value[n++] = -1.0; }
    }
    column[n]  = row;
    value[n++] = 2.0 * rank;
    PetscCall(MatSetValues(A, 1, &row, n, column, value, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  size[3] = {1, 1, 1}, n = 1, first, last;
  int       rank = 0, repeats = atoi(argv[2]);
  Mat       A;
  Vec       x, y;
  PetscReal norm;

  for (int i = 3; i < argc && i < 6 && argv[i][0] != '-'; ++i) n *= size[rank++] = atoi(argv[i]);
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocation(A, 7, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 7, NULL, 7, NULL));
  PetscCall(fill(A, size, rank));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  for (PetscInt i = first; i < last; ++i) PetscCall(VecSetValue(x, i, PetscSinReal((PetscReal)i), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "norm %.15g\n", (double)norm));
  fflush(stdout);
  for (int turn = 0;; ++turn) {
    char name[32];
    double begin;
    snprintf(name, sizeof(name), "%d", turn);
    while (!there(argv[1], name) && !there(argv[1], "stop")) usleep(1000);
    if (there(argv[1], "stop")) break;
    PetscCall(MatMult(A, x, y));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    begin = MPI_Wtime();
    for (int k = 0; k < repeats; ++k) PetscCall(MatMult(A, x, y));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seconds %.9g\n", (MPI_Wtime() - begin) / repeats));
    fflush(stdout);
  }
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(PetscFinalize());
  return 0;
}
