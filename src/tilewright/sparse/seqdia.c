/*
   A PETSc matrix type that stores diagonals without padding: "seqdia".

   This file is completed with the generated kernels (dia_rows) and compiled against the installed
   PETSc. A program that was built without knowing of it takes it with

     -dll_append /path/to/libseqdia.so -mat_type seqdia

   Diagonals appear when an entry on them is set. One bit per stored element says whether it was ever set, so that the
   matrix has the very non-zero structure that aij would have: incomplete factorisations are those of aij.
   Factorisations work on a temporary copy in aij's format.
*/
#include <petsc/private/matimpl.h>
#include <petscbt.h>

#if defined(PETSC_USE_COMPLEX)
  #error "seqdia needs a PETSc with real scalars; this one was configured with complex ones"
#endif

#ifdef _OPENMP
  #include <omp.h>
#endif

/* KERNELS */

/* The share of a thread: consecutive, at whole cache lines. */
static inline int64_t share(int64_t n, int thread, int threads)
{
  return tw_min(n, (n + 63) / 64 * thread / threads * 64);
}

typedef struct {
  PetscInt      count, room, last;    /* diagonals, how many pointers there is room for, the one used last */
  int64_t      *offset, *back;        /* their offsets, ascending; those of the transposed matrix */
  PetscScalar **diagonal, **mirrored; /* their elements; in the transposed matrix' order */
  PetscBT      *set;                  /* which elements were set */
  PetscInt     *index;                /* of MatGetRow */
  PetscScalar  *value;
  PetscInt      most;                 /* diagonals that are accepted */
  PetscInt      threads, fixed;       /* threads; whether new diagonals are errors (1) or ignored (2) */
  PetscBool     by_columns;           /* whether blocks of values are stored by columns */
} Mat_SeqDIA;

static PetscErrorCode MatCreate_SeqDIA(Mat);

static inline int64_t dia_length(Mat A, int64_t o)
{
  return tw_min((int64_t)A->rmap->n + tw_min(o, 0), (int64_t)A->cmap->n - tw_max(o, 0));
}

/* The position of a diagonal, or where it would be inserted. */
static inline PetscInt dia_find(Mat_SeqDIA *a, int64_t o, PetscBool *found)
{
  PetscInt low = 0, high = a->count;
  if (a->last < a->count && a->offset[a->last] == o) {
    *found = PETSC_TRUE;
    return a->last;
  }
  while (low < high) {
    const PetscInt middle = (low + high) / 2;
    if (a->offset[middle] < o) low = middle + 1;
    else high = middle;
  }
  *found  = (PetscBool)(low < a->count && a->offset[low] == o);
  a->last = low;
  return low;
}

static PetscErrorCode dia_mirror(Mat_SeqDIA *a)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < a->count; ++d) {
    a->back[d]     = -a->offset[a->count - 1 - d];
    a->mirrored[d] = a->diagonal[a->count - 1 - d];
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode dia_insert(Mat A, PetscInt at, int64_t o)
{
  Mat_SeqDIA   *a = (Mat_SeqDIA *)A->data;
  const int64_t n = dia_length(A, o);

  PetscFunctionBegin;
  PetscCheck(a->count < a->most, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "A matrix of type seqdia takes at most %" PetscInt_FMT " diagonals; use -mat_type aij, or allow more with -mat_seqdia_diagonals", a->most);
  if (a->count == a->room) {
    const PetscInt room = PetscMax(16, 2 * a->room);
    int64_t       *offset, *back;
    PetscScalar  **diagonal, **mirrored;
    PetscBT       *set;
    PetscCall(PetscMalloc5(room, &offset, room, &back, room, &diagonal, room, &mirrored, room, &set));
    PetscCall(PetscArraycpy(offset, a->offset, a->count));
    PetscCall(PetscArraycpy(diagonal, a->diagonal, a->count));
    PetscCall(PetscArraycpy(set, a->set, a->count));
    PetscCall(PetscFree5(a->offset, a->back, a->diagonal, a->mirrored, a->set));
    a->offset   = offset;
    a->back     = back;
    a->diagonal = diagonal;
    a->mirrored = mirrored;
    a->set      = set;
    a->room     = room;
  }
  for (PetscInt d = a->count; d > at; --d) {
    a->offset[d]   = a->offset[d - 1];
    a->diagonal[d] = a->diagonal[d - 1];
    a->set[d]      = a->set[d - 1];
  }
  a->offset[at] = o;
  PetscCall(PetscCalloc1(n, &a->diagonal[at]));
  PetscCall(PetscBTCreate((PetscInt)n, &a->set[at]));
  ++a->count;
  A->nonzerostate++;
  PetscCall(dia_mirror(a));
  PetscFunctionReturn(0);
}

/* Forget every diagonal. */
static PetscErrorCode dia_clear(Mat A)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < a->count; ++d) {
    PetscCall(PetscFree(a->diagonal[d]));
    PetscCall(PetscBTDestroy(&a->set[d]));
  }
  PetscCall(PetscFree5(a->offset, a->back, a->diagonal, a->mirrored, a->set));
  PetscCall(PetscFree2(a->index, a->value));
  a->count = a->room = a->last = 0;
  PetscFunctionReturn(0);
}

/* Make B's diagonals those of A, with or without their values. */
static PetscErrorCode dia_take(Mat A, Mat B, PetscBool values)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data, *b = (Mat_SeqDIA *)B->data;

  PetscFunctionBegin;
  PetscCall(dia_clear(B));
  b->most = PetscMax(b->most, a->count);
  for (PetscInt d = 0; d < a->count; ++d) {
    const PetscInt n = (PetscInt)dia_length(A, a->offset[d]);
    PetscCall(dia_insert(B, d, a->offset[d]));
    if (values) PetscCall(PetscArraycpy(b->diagonal[d], a->diagonal[d], n));
    PetscCall(PetscArraycpy(b->set[d], a->set[d], PetscBTLength(n)));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode MatSetValues_SeqDIA(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < m; ++i) {
    if (rows[i] < 0) continue;
    PetscCheck(rows[i] < A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Row too large: row %" PetscInt_FMT " max %" PetscInt_FMT, rows[i], A->rmap->n - 1);
    for (PetscInt j = 0; j < n; ++j) {
      const PetscScalar value = v ? (a->by_columns ? v[i + j * m] : v[i * n + j]) : 0.0;
      const int64_t     o     = (int64_t)columns[j] - rows[i];
      PetscInt          d, t;
      PetscBool         found;
      if (columns[j] < 0) continue;
      PetscCheck(columns[j] < A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Column too large: col %" PetscInt_FMT " max %" PetscInt_FMT, columns[j], A->cmap->n - 1);
      d = dia_find(a, o, &found);
      if (!found) {
        if (a->fixed == 2) continue;
        PetscCheck(!a->fixed, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Inserting a new diagonal at (%" PetscInt_FMT ", %" PetscInt_FMT ") in the matrix", rows[i], columns[j]);
        PetscCall(dia_insert(A, d, o));
      }
      t = PetscMin(rows[i], columns[j]);
      if (mode == ADD_VALUES) a->diagonal[d][t] += value;
      else a->diagonal[d][t] = value;
      if (!PetscBTLookupSet(a->set[d], t)) A->nonzerostate++;
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode MatGetValues_SeqDIA(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], PetscScalar v[])
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < m; ++i)
    for (PetscInt j = 0; j < n; ++j) {
      PetscBool found = PETSC_FALSE;
      PetscInt  d     = 0;
      if (rows[i] < 0 || columns[j] < 0) continue;
      PetscCheck(rows[i] < A->rmap->n && columns[j] < A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Entry (%" PetscInt_FMT ", %" PetscInt_FMT ") lies outside the matrix", rows[i], columns[j]);
      d = dia_find(a, (int64_t)columns[j] - rows[i], &found);
      v[a->by_columns ? i + j * m : i * n + j] = found ? a->diagonal[d][PetscMin(rows[i], columns[j])] : 0.0;
    }
  PetscFunctionReturn(0);
}

static PetscErrorCode MatAssemblyEnd_SeqDIA(Mat A, MatAssemblyType type)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;

  PetscFunctionBegin;
  if (type == MAT_FLUSH_ASSEMBLY) PetscFunctionReturn(0);
  PetscCall(dia_mirror(a));
  PetscCall(PetscInfo(A, "Matrix size: %" PetscInt_FMT " X %" PetscInt_FMT "; %" PetscInt_FMT " diagonals\n", A->rmap->n, A->cmap->n, a->count));
  PetscFunctionReturn(0);
}

/* y (+)= A x or its transpose, by the generated kernels. */
static PetscErrorCode dia_multiply(Mat A, Vec x, Vec y, PetscBool transpose, int add)
{
  Mat_SeqDIA        *a = (Mat_SeqDIA *)A->data;
  const int64_t      rows = A->rmap->n, columns = A->cmap->n;
  const int64_t      high = transpose ? columns : rows, wide = transpose ? rows : columns;
  const int64_t     *offset = transpose ? a->back : a->offset;
  const PetscScalar *const *diagonal = (const PetscScalar *const *)(transpose ? a->mirrored : a->diagonal);
  const int64_t      moved = ((int64_t)a->count * rows + rows + columns) * (int64_t)sizeof(PetscScalar);
  const int          threads = moved < THREADED_BYTES ? 1 : (int)a->threads, stream = moved > (int64_t)threads * L2_BYTES;
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &from));
  if (add) PetscCall(VecGetArray(y, &to));
  else PetscCall(VecGetArrayWrite(y, &to));
#ifdef _OPENMP
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    {
      const int t = omp_get_thread_num(), all = omp_get_num_threads();
      dia_rows(wide, a->count, offset, diagonal, from, to, share(high, t, all), share(high, t + 1, all), stream, add);
    }
  } else
#endif
    dia_rows(wide, a->count, offset, diagonal, from, to, 0, high, stream, add);
  PetscCall(VecRestoreArrayRead(x, &from));
  if (add) PetscCall(VecRestoreArray(y, &to));
  else PetscCall(VecRestoreArrayWrite(y, &to));
  PetscCall(PetscLogFlops(2.0 * a->count * A->rmap->n));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatMult_SeqDIA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(dia_multiply(A, x, y, PETSC_FALSE, 0));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatMultTranspose_SeqDIA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(dia_multiply(A, x, y, PETSC_TRUE, 0));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatMultAdd_SeqDIA(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(dia_multiply(A, x, z, PETSC_FALSE, 1));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatMultTransposeAdd_SeqDIA(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(dia_multiply(A, x, z, PETSC_TRUE, 1));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatGetDiagonal_SeqDIA(Mat A, Vec v)
{
  Mat_SeqDIA    *a = (Mat_SeqDIA *)A->data;
  PetscBool      found;
  const PetscInt d = dia_find(a, 0, &found), n = PetscMin(A->rmap->n, A->cmap->n);
  PetscScalar   *to;

  PetscFunctionBegin;
  PetscCall(VecSet(v, 0.0));
  if (found) {
    PetscCall(VecGetArray(v, &to));
    PetscCall(PetscArraycpy(to, a->diagonal[d], n));
    PetscCall(VecRestoreArray(v, &to));
  }
  PetscFunctionReturn(0);
}

/* The diagonals that a row meets are consecutive; those of its entries that were set. */
static PetscErrorCode MatGetRow_SeqDIA(Mat A, PetscInt row, PetscInt *count, PetscInt **index, PetscScalar **value)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;
  PetscInt    n = 0;

  PetscFunctionBegin;
  PetscCheck(row >= 0 && row < A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Row %" PetscInt_FMT " out of range", row);
  if (!a->index) PetscCall(PetscMalloc2(a->most, &a->index, a->most, &a->value));
  for (PetscInt d = 0; d < a->count; ++d) {
    const int64_t column = row + a->offset[d];
    const PetscInt t     = (PetscInt)tw_min(row, column);
    if (column < 0 || column >= A->cmap->n || !PetscBTLookup(a->set[d], t)) continue;
    a->index[n]   = (PetscInt)column;
    a->value[n++] = a->diagonal[d][t];
  }
  *count = n;
  if (index) *index = a->index;
  if (value) *value = a->value;
  PetscFunctionReturn(0);
}

static PetscErrorCode MatRestoreRow_SeqDIA(Mat A, PetscInt row, PetscInt *count, PetscInt **index, PetscScalar **value)
{
  PetscFunctionBegin;
  (void)A; (void)row;
  if (count) *count = 0;
  if (index) *index = NULL;
  if (value) *value = NULL;
  PetscFunctionReturn(0);
}

/* Whether an entry is in the structure, or its mirror image where that counts. */
static PetscBool dia_has(Mat A, PetscInt row, int64_t column, PetscBool either)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;
  PetscBool   found;
  PetscInt    d = dia_find(a, column - row, &found);

  if (found && PetscBTLookup(a->set[d], (PetscInt)tw_min(row, column))) return PETSC_TRUE;
  if (!either || column >= A->rmap->n || row >= A->cmap->n) return PETSC_FALSE;
  d = dia_find(a, row - column, &found);
  return (PetscBool)(found && PetscBTLookup(a->set[d], (PetscInt)tw_min(row, column)));
}

/* Orderings and colourings see the structure as compressed rows. */
static PetscErrorCode MatGetRowIJ_SeqDIA(Mat A, PetscInt shift, PetscBool symmetric, PetscBool blocks, PetscInt *n, const PetscInt *ia[], const PetscInt *ja[], PetscBool *done)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;
  int64_t    *every;
  PetscInt    count = 0, most = a->count * (symmetric ? 2 : 1), *first, *column, at = 0;

  PetscFunctionBegin;
  (void)blocks;
  *n = A->rmap->n;
  *done = PETSC_TRUE;
  if (!ia) PetscFunctionReturn(0);
  PetscCall(PetscMalloc1(most + 1, &every));
  for (PetscInt i = 0, j = 0; i < a->count || (symmetric && j < a->count);) { /* both ascend: merge them */
    const int64_t own = i < a->count ? a->offset[i] : INT64_MAX, other = symmetric && j < a->count ? a->back[j] : INT64_MAX;
    every[count++] = tw_min(own, other);
    i += own <= other;
    j += other <= own;
  }
  PetscCall(PetscMalloc1(A->rmap->n + 1, &first));
  PetscCall(PetscMalloc1((size_t)count * A->rmap->n + 1, &column));
  for (PetscInt row = 0; row < A->rmap->n; ++row) {
    first[row] = at + shift;
    for (PetscInt d = 0; d < count; ++d) {
      const int64_t c = row + every[d];
      if (c >= 0 && c < A->cmap->n && dia_has(A, row, c, symmetric)) column[at++] = (PetscInt)c + shift;
    }
  }
  first[A->rmap->n] = at + shift;
  PetscCall(PetscFree(every));
  *ia = first;
  if (ja) *ja = column;
  else PetscCall(PetscFree(column));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatRestoreRowIJ_SeqDIA(Mat A, PetscInt shift, PetscBool symmetric, PetscBool blocks, PetscInt *n, const PetscInt *ia[], const PetscInt *ja[], PetscBool *done)
{
  PetscFunctionBegin;
  (void)A; (void)shift; (void)symmetric; (void)blocks; (void)n;
  if (ia) PetscCall(PetscFree(*ia));
  if (ja) PetscCall(PetscFree(*ja));
  if (done) *done = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode MatView_SeqDIA(Mat A, PetscViewer viewer)
{
  Mat_SeqDIA       *a = (Mat_SeqDIA *)A->data;
  PetscBool         ascii;
  PetscViewerFormat format;
  Mat               copy;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (ascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL)) {
    int64_t stored = 0;
    for (PetscInt d = 0; d < a->count; ++d) stored += dia_length(A, a->offset[d]);
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " diagonals without padding, %lld stored elements, %" PetscInt_FMT " threads\n", a->count, (long long)stored, a->threads));
    PetscFunctionReturn(0);
  }
  if (ascii && format == PETSC_VIEWER_ASCII_FACTOR_INFO) PetscFunctionReturn(0);
  if (ascii && format == PETSC_VIEWER_DEFAULT) {
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (PetscInt row = 0; row < A->rmap->n; ++row) {
      PetscInt     n, *index;
      PetscScalar *value;
      PetscCall(MatGetRow_SeqDIA(A, row, &n, &index, &value));
      PetscCall(PetscViewerASCIIPrintf(viewer, "row %" PetscInt_FMT ":", row));
      for (PetscInt k = 0; k < n; ++k) PetscCall(PetscViewerASCIIPrintf(viewer, " (%" PetscInt_FMT ", %g) ", index[k], (double)value[k]));
      PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    }
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
    PetscFunctionReturn(0);
  }
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &copy));
  PetscCall(PetscObjectSetName((PetscObject)copy, ((PetscObject)A)->name));
  PetscCall(MatView(copy, viewer));
  PetscCall(MatDestroy(&copy));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatGetInfo_SeqDIA(Mat A, MatInfoType type, MatInfo *info)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;

  PetscFunctionBegin;
  (void)type;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size = 1.0;
  for (PetscInt d = 0; d < a->count; ++d) {
    const PetscInt n = (PetscInt)dia_length(A, a->offset[d]);
    info->nz_allocated += n;
    for (PetscInt t = 0; t < n; ++t) info->nz_used += PetscBTLookup(a->set[d], t) ? 1 : 0;
  }
  info->nz_unneeded = info->nz_allocated - info->nz_used;
  info->memory      = info->nz_allocated * (sizeof(PetscScalar) + 0.125);
  info->assemblies  = A->num_ass;
  PetscFunctionReturn(0);
}

static PetscErrorCode MatZeroEntries_SeqDIA(Mat A)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < a->count; ++d) PetscCall(PetscArrayzero(a->diagonal[d], dia_length(A, a->offset[d])));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatScale_SeqDIA(Mat A, PetscScalar factor)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < a->count; ++d)
    for (int64_t t = 0, n = dia_length(A, a->offset[d]); t < n; ++t) a->diagonal[d][t] *= factor;
  PetscFunctionReturn(0);
}

static PetscErrorCode MatDiagonalScale_SeqDIA(Mat A, Vec left, Vec right)
{
  Mat_SeqDIA        *a = (Mat_SeqDIA *)A->data;
  const PetscScalar *l = NULL, *r = NULL;

  PetscFunctionBegin;
  if (left) PetscCall(VecGetArrayRead(left, &l));
  if (right) PetscCall(VecGetArrayRead(right, &r));
  for (PetscInt d = 0; d < a->count; ++d) {
    const int64_t o = a->offset[d], n = dia_length(A, o);
    for (int64_t t = 0; t < n; ++t) {
      if (l) a->diagonal[d][t] *= l[t + tw_max(0, -o)];
      if (r) a->diagonal[d][t] *= r[t + tw_max(0, o)];
    }
  }
  if (left) PetscCall(VecRestoreArrayRead(left, &l));
  if (right) PetscCall(VecRestoreArrayRead(right, &r));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatNorm_SeqDIA(Mat A, NormType type, PetscReal *norm)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;
  PetscReal  *sums, total = 0.0;
  const PetscInt size = type == NORM_1 ? A->cmap->n : A->rmap->n;

  PetscFunctionBegin;
  PetscCheck(type == NORM_1 || type == NORM_INFINITY || type == NORM_FROBENIUS, PETSC_COMM_SELF, PETSC_ERR_SUP, "seqdia has no such norm");
  PetscCall(PetscCalloc1(size + 1, &sums));
  for (PetscInt d = 0; d < a->count; ++d) {
    const int64_t o = a->offset[d], n = dia_length(A, o), first = type == NORM_1 ? tw_max(0, o) : tw_max(0, -o);
    for (int64_t t = 0; t < n; ++t) {
      const PetscScalar v = a->diagonal[d][t];
      if (type == NORM_FROBENIUS) total += v * v;
      else sums[first + t] += PetscAbsScalar(v);
    }
  }
  if (type == NORM_FROBENIUS) *norm = PetscSqrtReal(total);
  else {
    *norm = 0.0;
    for (PetscInt i = 0; i < size; ++i) *norm = PetscMax(*norm, sums[i]);
  }
  PetscCall(PetscFree(sums));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatZeroRows_SeqDIA(Mat A, PetscInt count, const PetscInt rows[], PetscScalar diagonal, Vec x, Vec b)
{
  Mat_SeqDIA        *a = (Mat_SeqDIA *)A->data;
  const PetscScalar *known;
  PetscScalar       *right;

  PetscFunctionBegin;
  if (x && b) {
    PetscCall(VecGetArrayRead(x, &known));
    PetscCall(VecGetArray(b, &right));
    for (PetscInt i = 0; i < count; ++i) right[rows[i]] = diagonal * known[rows[i]];
    PetscCall(VecRestoreArrayRead(x, &known));
    PetscCall(VecRestoreArray(b, &right));
  }
  for (PetscInt i = 0; i < count; ++i)
    for (PetscInt d = 0; d < a->count; ++d) {
      const int64_t column = rows[i] + a->offset[d];
      if (column >= 0 && column < A->cmap->n) a->diagonal[d][tw_min(rows[i], column)] = 0.0;
    }
  if (diagonal != 0.0)
    for (PetscInt i = 0; i < count; ++i)
      if (rows[i] < A->cmap->n) PetscCall(MatSetValues_SeqDIA(A, 1, &rows[i], 1, &rows[i], &diagonal, INSERT_VALUES));
  PetscCall(MatAssemblyEnd_SeqDIA(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatTranspose_SeqDIA(Mat A, MatReuse reuse, Mat *to)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data, *b;
  Mat         B;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    B = *to;
    PetscCall(dia_clear(B));
  } else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
    PetscCall(MatSetSizes(B, A->cmap->n, A->rmap->n, A->cmap->N, A->rmap->N));
    PetscCall(MatSetType(B, ((PetscObject)A)->type_name));
    PetscCall(MatSetUp(B));
  }
  b          = (Mat_SeqDIA *)B->data;
  b->threads = a->threads;
  b->most    = PetscMax(b->most, a->count);
  for (PetscInt d = 0; d < a->count; ++d) {
    const PetscInt n = (PetscInt)dia_length(A, a->offset[a->count - 1 - d]);
    PetscCall(dia_insert(B, d, a->back[d]));
    PetscCall(PetscArraycpy(b->diagonal[d], a->mirrored[d], n));
    PetscCall(PetscArraycpy(b->set[d], a->set[a->count - 1 - d], PetscBTLength(n)));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *to = B;
  PetscFunctionReturn(0);
}

static PetscErrorCode MatEqual_SeqDIA(Mat A, Mat B, PetscBool *equal)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data, *b = (Mat_SeqDIA *)B->data;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, ((PetscObject)A)->type_name, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Both matrices must be of type seqdia");
  *equal = PETSC_TRUE;
  for (int swap = 0; swap < 2 && *equal; ++swap) {
    Mat_SeqDIA *one = swap ? b : a, *other = swap ? a : b;
    for (PetscInt d = 0; d < one->count && *equal; ++d) {
      PetscBool      found;
      const PetscInt e = dia_find(other, one->offset[d], &found);
      for (int64_t t = 0, n = dia_length(A, one->offset[d]); t < n && *equal; ++t)
        *equal = (PetscBool)(one->diagonal[d][t] == (found ? other->diagonal[e][t] : 0.0));
    }
  }
  PetscFunctionReturn(0);
}

/* One sweep of relaxation over the rows, forwards or backwards. */
static void dia_relax(Mat A, const PetscScalar *b, PetscScalar *x, PetscReal omega, PetscReal shift, PetscBool forwards)
{
  Mat_SeqDIA    *a = (Mat_SeqDIA *)A->data;
  const PetscInt n = A->rmap->n;

  for (PetscInt k = 0; k < n; ++k) {
    const PetscInt row = forwards ? k : n - 1 - k;
    PetscScalar    sum = b[row], centre = 0.0;
    for (PetscInt d = 0; d < a->count; ++d) {
      const int64_t column = row + a->offset[d];
      if (column < 0 || column >= n) continue;
      if (column == row) centre = a->diagonal[d][row];
      else sum -= a->diagonal[d][tw_min(row, column)] * x[column];
    }
    x[row] = (1.0 - omega) * x[row] + omega * sum / (centre + shift);
  }
}

static PetscErrorCode MatSOR_SeqDIA(Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt local, Vec x)
{
  const PetscScalar *right;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCheck(!(flag & (SOR_EISENSTAT | SOR_APPLY_UPPER | SOR_APPLY_LOWER)), PETSC_COMM_SELF, PETSC_ERR_SUP, "seqdia relaxes by whole sweeps only; use -mat_type aij");
  PetscCheck(A->rmap->n == A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Relaxation needs a square matrix");
  if (flag & SOR_ZERO_INITIAL_GUESS) PetscCall(VecSet(x, 0.0));
  PetscCall(VecGetArrayRead(b, &right));
  PetscCall(VecGetArray(x, &to));
  for (PetscInt k = 0; k < its * local; ++k) {
    if (flag & (SOR_FORWARD_SWEEP | SOR_LOCAL_FORWARD_SWEEP)) dia_relax(A, right, to, omega, shift, PETSC_TRUE);
    if (flag & (SOR_BACKWARD_SWEEP | SOR_LOCAL_BACKWARD_SWEEP)) dia_relax(A, right, to, omega, shift, PETSC_FALSE);
  }
  PetscCall(VecRestoreArrayRead(b, &right));
  PetscCall(VecRestoreArray(x, &to));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatSetOption_SeqDIA(Mat A, MatOption option, PetscBool flag)
{
  Mat_SeqDIA *a = (Mat_SeqDIA *)A->data;

  PetscFunctionBegin;
  switch (option) {
  case MAT_ROW_ORIENTED:
    a->by_columns = (PetscBool)!flag;
    break;
  case MAT_NEW_NONZERO_LOCATIONS:
    a->fixed = flag ? 0 : 2;
    break;
  case MAT_NEW_NONZERO_LOCATION_ERR:
    a->fixed = flag ? 1 : 0;
    break;
  default:
    PetscCall(PetscInfo(A, "Option %s has no effect on seqdia\n", MatOptions[option]));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode MatSetUp_SeqDIA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  A->preallocated = PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* A program that allocates for aij, as most do, has thereby said that the matrix can be set up. */
static PetscErrorCode MatSeqAIJSetPreallocation_SeqDIA(Mat A, PetscInt nz, const PetscInt nnz[])
{
  PetscFunctionBegin;
  (void)nz; (void)nnz;
  PetscCall(MatSetUp_SeqDIA(A));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatDuplicate_SeqDIA(Mat A, MatDuplicateOption option, Mat *to)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
  PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetType(B, ((PetscObject)A)->type_name));
  PetscCall(MatSetUp(B));
  ((Mat_SeqDIA *)B->data)->threads    = ((Mat_SeqDIA *)A->data)->threads;
  ((Mat_SeqDIA *)B->data)->by_columns = ((Mat_SeqDIA *)A->data)->by_columns;
  PetscCall(dia_take(A, B, (PetscBool)(option == MAT_COPY_VALUES)));
  B->assembled = A->assembled;
  *to          = B;
  PetscFunctionReturn(0);
}

/* Copy row by row into a matrix of another type. */
static PetscErrorCode dia_copy_rows(Mat A, Mat B)
{
  PetscFunctionBegin;
  for (PetscInt row = 0; row < A->rmap->n; ++row) {
    PetscInt           n;
    const PetscInt    *index;
    const PetscScalar *value;
    PetscCall(MatGetRow(A, row, &n, &index, &value));
    PetscCall(MatSetValues(B, 1, &row, n, index, value, INSERT_VALUES));
    PetscCall(MatRestoreRow(A, row, &n, &index, &value));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatCopy_SeqDIA(Mat A, Mat B, MatStructure structure)
{
  PetscBool same;

  PetscFunctionBegin;
  (void)structure;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, ((PetscObject)A)->type_name, &same));
  if (same) PetscCall(dia_take(A, B, PETSC_TRUE));
  else {
    PetscCall(MatZeroEntries(B));
    PetscCall(dia_copy_rows(A, B));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode MatDestroy_SeqDIA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(dia_clear(A));
  PetscCall(PetscFree(A->data));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetPreallocation_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqdia_seqaij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_seqdia_C", NULL));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, NULL));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatConvert_SeqDIA_SeqAIJ(Mat A, MatType type, MatReuse reuse, Mat *to)
{
  Mat B;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) B = *to;
  else {
    PetscInt *each;
    PetscCall(PetscMalloc1(A->rmap->n + 1, &each));
    for (PetscInt row = 0; row < A->rmap->n; ++row) PetscCall(MatGetRow_SeqDIA(A, row, &each[row], NULL, NULL));
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
    PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetType(B, type));
    PetscCall(MatSeqAIJSetPreallocation(B, 0, each));
    PetscCall(PetscFree(each));
  }
  PetscCall(dia_copy_rows(A, B));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *to = B;
  PetscFunctionReturn(0);
}

static PetscErrorCode MatConvert_SeqAIJ_SeqDIA(Mat A, MatType type, MatReuse reuse, Mat *to)
{
  Mat B;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    B = *to;
    PetscCall(dia_clear(B));
  } else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
    PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetType(B, type));
    PetscCall(MatSetUp(B));
  }
  PetscCall(dia_copy_rows(A, B));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *to = B;
  PetscFunctionReturn(0);
}

/* Factorisations: aij's own, on a temporary copy. What was replaced is kept beside the factor. */
typedef struct {
  PetscErrorCode (*symbolic)(Mat, Mat, IS, IS, const MatFactorInfo *);
  PetscErrorCode (*symmetric)(Mat, Mat, IS, const MatFactorInfo *);
  PetscErrorCode (*numeric)(Mat, Mat, const MatFactorInfo *);
} dia_factor;

static PetscErrorCode dia_factor_free(void *factor)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(factor));
  PetscFunctionReturn(0);
}

static PetscErrorCode dia_kept(Mat F, dia_factor **kept)
{
  PetscContainer box;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)F, "seqdia", (PetscObject *)&box));
  PetscCheck(box, PETSC_COMM_SELF, PETSC_ERR_PLIB, "This factor does not belong to a matrix of type seqdia");
  PetscCall(PetscContainerGetPointer(box, (void **)kept));
  PetscFunctionReturn(0);
}

static PetscErrorCode dia_numeric(Mat F, Mat A, const MatFactorInfo *info)
{
  dia_factor    *kept;
  Mat            copy;
  const PetscBool symmetric = (PetscBool)(F->factortype == MAT_FACTOR_CHOLESKY || F->factortype == MAT_FACTOR_ICC);

  PetscFunctionBegin;
  PetscCall(dia_kept(F, &kept));
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &copy));
  if (A->symmetric == PETSC_BOOL3_TRUE) PetscCall(MatSetOption(copy, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall((*kept->numeric)(F, copy, info));
  PetscCall(MatDestroy(&copy));
  if (symmetric) F->ops->choleskyfactornumeric = dia_numeric;
  else F->ops->lufactornumeric = dia_numeric;
  PetscFunctionReturn(0);
}

static PetscErrorCode dia_symbolic(Mat F, Mat A, IS rows, IS columns, const MatFactorInfo *info)
{
  dia_factor *kept;
  Mat         copy;

  PetscFunctionBegin;
  PetscCall(dia_kept(F, &kept));
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &copy));
  PetscCall((*kept->symbolic)(F, copy, rows, columns, info));
  PetscCall(MatDestroy(&copy));
  kept->numeric           = F->ops->lufactornumeric;
  F->ops->lufactornumeric = dia_numeric;
  PetscFunctionReturn(0);
}

static PetscErrorCode dia_symmetric(Mat F, Mat A, IS rows, const MatFactorInfo *info)
{
  dia_factor *kept;
  Mat         copy;

  PetscFunctionBegin;
  PetscCall(dia_kept(F, &kept));
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &copy));
  PetscCall((*kept->symmetric)(F, copy, rows, info));
  PetscCall(MatDestroy(&copy));
  kept->numeric                 = F->ops->choleskyfactornumeric;
  F->ops->choleskyfactornumeric = dia_numeric;
  PetscFunctionReturn(0);
}

static PetscErrorCode MatGetFactor_SeqDIA(Mat A, MatFactorType type, Mat *factor)
{
  dia_factor    *kept;
  Mat            copy, F;
  PetscContainer box;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &copy));
  PetscCall(MatGetFactor(copy, MATSOLVERPETSC, type, &F));
  PetscCall(MatDestroy(&copy));
  PetscCall(PetscNew(&kept));
  switch (type) {
  case MAT_FACTOR_LU:
    kept->symbolic          = F->ops->lufactorsymbolic;
    F->ops->lufactorsymbolic = dia_symbolic;
    break;
  case MAT_FACTOR_ILU:
    kept->symbolic           = F->ops->ilufactorsymbolic;
    F->ops->ilufactorsymbolic = dia_symbolic;
    break;
  case MAT_FACTOR_CHOLESKY:
    kept->symmetric                = F->ops->choleskyfactorsymbolic;
    F->ops->choleskyfactorsymbolic = dia_symmetric;
    break;
  default:
    kept->symmetric           = F->ops->iccfactorsymbolic;
    F->ops->iccfactorsymbolic = dia_symmetric;
  }
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &box));
  PetscCall(PetscContainerSetPointer(box, kept));
  PetscCall(PetscContainerSetUserDestroy(box, dia_factor_free));
  PetscCall(PetscObjectCompose((PetscObject)F, "seqdia", (PetscObject)box));
  PetscCall(PetscContainerDestroy(&box));
  *factor = F;
  PetscFunctionReturn(0);
}

static PetscErrorCode dia_options(Mat A, Mat_SeqDIA *a)
{
  PetscFunctionBegin;
  a->most    = 512;
  a->threads = 1;
#ifdef _OPENMP
  if (getenv("OMP_NUM_THREADS")) a->threads = omp_get_max_threads();
#endif
  PetscCall(PetscOptionsGetInt(((PetscObject)A)->options, ((PetscObject)A)->prefix, "-mat_seqdia_threads", &a->threads, NULL));
  PetscCall(PetscOptionsGetInt(((PetscObject)A)->options, ((PetscObject)A)->prefix, "-mat_seqdia_diagonals", &a->most, NULL));
  PetscCheck(a->threads >= 1 && a->threads <= 4096, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mat_seqdia_threads is a number from 1 to 4096, got %" PetscInt_FMT, a->threads);
  PetscCheck(a->most >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mat_seqdia_diagonals is a number of at least 1, got %" PetscInt_FMT, a->most);
  PetscFunctionReturn(0);
}

static PetscErrorCode MatCreate_SeqDIA(Mat A)
{
  Mat_SeqDIA *a;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "A matrix of type seqdia lives on one process, this one would on %d; use -mat_type aij", (int)size);
  PetscCall(PetscNew(&a));
  A->data = a;
  PetscCall(dia_options(A, a));
  PetscCall(PetscMemzero(A->ops, sizeof(struct _MatOps)));
  A->ops->setvalues        = MatSetValues_SeqDIA;
  A->ops->getvalues        = MatGetValues_SeqDIA;
  A->ops->getrow           = MatGetRow_SeqDIA;
  A->ops->restorerow       = MatRestoreRow_SeqDIA;
  A->ops->getrowij         = MatGetRowIJ_SeqDIA;
  A->ops->restorerowij     = MatRestoreRowIJ_SeqDIA;
  A->ops->mult             = MatMult_SeqDIA;
  A->ops->multadd          = MatMultAdd_SeqDIA;
  A->ops->multtranspose    = MatMultTranspose_SeqDIA;
  A->ops->multtransposeadd = MatMultTransposeAdd_SeqDIA;
  A->ops->sor              = MatSOR_SeqDIA;
  A->ops->transpose        = MatTranspose_SeqDIA;
  A->ops->getinfo          = MatGetInfo_SeqDIA;
  A->ops->equal            = MatEqual_SeqDIA;
  A->ops->getdiagonal      = MatGetDiagonal_SeqDIA;
  A->ops->diagonalscale    = MatDiagonalScale_SeqDIA;
  A->ops->norm             = MatNorm_SeqDIA;
  A->ops->assemblyend      = MatAssemblyEnd_SeqDIA;
  A->ops->setoption        = MatSetOption_SeqDIA;
  A->ops->zeroentries      = MatZeroEntries_SeqDIA;
  A->ops->zerorows         = MatZeroRows_SeqDIA;
  A->ops->setup            = MatSetUp_SeqDIA;
  A->ops->duplicate        = MatDuplicate_SeqDIA;
  A->ops->copy             = MatCopy_SeqDIA;
  A->ops->scale            = MatScale_SeqDIA;
  A->ops->destroy          = MatDestroy_SeqDIA;
  A->ops->view             = MatView_SeqDIA;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJSetPreallocation_C", MatSeqAIJSetPreallocation_SeqDIA));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqdia_seqaij_C", MatConvert_SeqDIA_SeqAIJ));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_seqdia_C", MatConvert_SeqAIJ_SeqDIA));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, "seqdia"));
  PetscFunctionReturn(0);
}

/* PETSc calls this when it opens libseqdia.so. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_seqdia(void)
{
  static const MatFactorType types[] = {MAT_FACTOR_LU, MAT_FACTOR_ILU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ICC};

  PetscFunctionBegin;
  PetscCall(MatRegister("seqdia", MatCreate_SeqDIA));
  for (size_t i = 0; i < sizeof(types) / sizeof(*types); ++i)
    PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, "seqdia", types[i], MatGetFactor_SeqDIA));
  PetscFunctionReturn(0);
}
