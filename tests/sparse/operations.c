/* Random matrices of type seqdia and of type aij go through the same operations; differences are counted. */
#include <petscmat.h>

static int differences = 0;

static PetscErrorCode compare_vectors(const char *what, Vec x, Vec y)
{
  PetscReal norm, scale;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(y, NORM_INFINITY, &scale));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  if (!(norm <= 1e-12 * (1.0 + scale))) {
    ++differences;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s differs by %g\n", what, (double)norm));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode compare(const char *what, Mat A, Mat B)
{
  Mat       C;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatEqual(C, B, &same));
  if (!same) {
    ++differences;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: entries differ\n", what));
  }
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(0);
}

static PetscErrorCode products(const char *what, Mat A, Mat B, PetscRandom random)
{
  Vec x, y, z, w;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSetRandom(x, random));
  PetscCall(VecSetRandom(y, random));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(y, &w));
  PetscCall(MatMult(A, x, z));
  PetscCall(MatMult(B, x, w));
  PetscCall(compare_vectors(what, z, w));
  PetscCall(MatMultAdd(A, x, y, z));
  PetscCall(MatMultAdd(B, x, y, w));
  PetscCall(compare_vectors("MatMultAdd", z, w));
  PetscCall(VecCopy(y, z));
  PetscCall(MatMultAdd(A, x, z, z));
  PetscCall(MatMultAdd(B, x, y, w));
  PetscCall(compare_vectors("MatMultAdd in place", z, w));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(MatMultTranspose(A, y, z));
  PetscCall(MatMultTranspose(B, y, w));
  PetscCall(compare_vectors("MatMultTranspose", z, w));
  PetscCall(MatMultTransposeAdd(A, y, x, z));
  PetscCall(MatMultTransposeAdd(B, y, x, w));
  PetscCall(compare_vectors("MatMultTransposeAdd", z, w));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(0);
}

static PetscErrorCode relax(Mat A, Mat B, PetscRandom random)
{
  const MatSORType flags[] = {SOR_FORWARD_SWEEP, SOR_BACKWARD_SWEEP, SOR_SYMMETRIC_SWEEP, (MatSORType)(SOR_SYMMETRIC_SWEEP | SOR_ZERO_INITIAL_GUESS)};
  Vec              b, x, y;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &b, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSetRandom(b, random));
  for (int i = 0; i < 4; ++i) {
    PetscCall(VecSet(x, 0.5));
    PetscCall(VecSet(y, 0.5));
    PetscCall(MatSOR(A, b, 1.3, flags[i], 0.1, 2, 1, x));
    PetscCall(MatSOR(B, b, 1.3, flags[i], 0.1, 2, 1, y));
    PetscCall(compare_vectors("MatSOR", x, y));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(0);
}

static PetscErrorCode norms(Mat A, Mat B)
{
  const NormType types[] = {NORM_1, NORM_INFINITY, NORM_FROBENIUS};

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; ++i) {
    PetscReal a, b;
    PetscCall(MatNorm(A, types[i], &a));
    PetscCall(MatNorm(B, types[i], &b));
    if (PetscAbsReal(a - b) > 1e-12 * b) {
      ++differences;
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "norm %d: %g, %g\n", i, (double)a, (double)b));
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode operations(Mat A, Mat B, PetscInt m, PetscInt n, PetscRandom random)
{
  Mat        C, D, E, F;
  Vec        l, r, x;
  PetscBool  same;
  const PetscInt rows[] = {0, m / 2};

  PetscFunctionBeginUser;
  PetscCall(compare("assembly", A, B));
  PetscCall(products("MatMult", A, B, random));
  PetscCall(norms(A, B));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &D));
  PetscCall(compare("MatTranspose", C, D));
  PetscCall(products("transposed MatMult", C, D, random));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
  PetscCall(MatEqual(A, C, &same));
  if (!same) ++differences;
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(VecSetRandom(l, random));
  PetscCall(VecSetRandom(r, random));
  PetscCall(MatDiagonalScale(C, l, r));
  PetscCall(MatDiagonalScale(D, l, r));
  PetscCall(MatScale(C, -2.5));
  PetscCall(MatScale(D, -2.5));
  PetscCall(compare("scaling", C, D));
  PetscCall(MatEqual(A, C, &same));
  if (same) ++differences;
  PetscCall(MatAXPY(C, 2.0, A, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatAXPY(D, 2.0, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(compare("MatAXPY", C, D));
  PetscCall(MatZeroRows(C, 2, rows, 3.0, NULL, NULL));
  PetscCall(MatZeroRows(D, 2, rows, 3.0, NULL, NULL));
  PetscCall(products("MatMult after MatZeroRows", C, D, random));
  PetscCall(MatCopy(A, C, SAME_NONZERO_PATTERN));
  PetscCall(compare("MatCopy", C, B));
  PetscCall(MatConvert(B, "seqdia", MAT_INITIAL_MATRIX, &E));
  PetscCall(MatEqual(A, E, &same));
  if (!same) ++differences;
  PetscCall(MatZeroEntries(E));
  PetscCall(products("MatMult with another matrix of zeros", E, E, random));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &F));
  PetscCall(MatConvert(F, "seqdia", MAT_INPLACE_MATRIX, &F));
  PetscCall(compare("MatConvert in place", F, B));
  PetscCall(MatConvert(F, MATSEQAIJ, MAT_INPLACE_MATRIX, &F));
  PetscCall(MatEqual(F, B, &same));
  if (!same) ++differences;
  if (m == n) {
    PetscCall(VecDuplicate(l, &x));
    PetscCall(MatGetDiagonal(A, x));
    PetscCall(MatGetDiagonal(B, l));
    PetscCall(compare_vectors("MatGetDiagonal", x, l));
    PetscCall(VecDestroy(&x));
    PetscCall(MatShift(A, 20.0));
    PetscCall(MatShift(B, 20.0));
    PetscCall(compare("MatShift", A, B));
    PetscCall(relax(A, B, random));
  }
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&E));
  PetscCall(MatDestroy(&F));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1.0, 1.0));
  for (PetscInt round = 0; round < 12; ++round) {
    const PetscInt m = 5 + 37 * round, n = round % 3 ? m : m + round - 4;
    const PetscInt distance[] = {0, 1, -1, 7, -7, m / 2, -m / 3};
    Mat            A, B;
    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetSizes(A, m, n, m, n));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatSetUp(A));
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m, n, 8, NULL, &B));
    PetscCall(MatSetOption(B, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    for (PetscInt row = 0; row < m; ++row)
      for (int k = 0; k < 7; ++k) {
        const PetscInt column = row + distance[k];
        PetscScalar    value;
        PetscCall(PetscRandomGetValue(random, &value));
        if (column < 0 || column >= n || (k && value > 0.8)) continue;
        PetscCall(MatSetValues(A, 1, &row, 1, &column, &value, ADD_VALUES));
        PetscCall(MatSetValues(B, 1, &row, 1, &column, &value, ADD_VALUES));
      }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(operations(A, B, m, n, random));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d differences\n", differences));
  PetscCall(PetscFinalize());
  return 0;
}
