/* The preconditioner `ziggurat` for PETSc, loaded by options into programs that do not know it:
 *
 *   mpicc -O2 -fPIC -shared pcziggurat.c $(pkg-config --cflags --libs PETSc ziggurat) \
 *       -Wl,-z,nodelete -o libpetscziggurat.so
 *   ./program -dll_append /path/to/libpetscziggurat.so -pc_type ziggurat
 *
 * PETSc finds the function that registers it by the name of the file, so the file must keep its name,
 * and the path must be absolute. Options: every key of `ziggurat solve --dump-config`, with
 * underscores for points, such as -pc_ziggurat_method classical or -pc_ziggurat_smoother_degree 3.
 * The block size, the near-null space and the coordinates of the matrix are used. New values in the
 * same pattern are an update, which costs a fraction of a setup. -pc_view describes the levels.
 *
 * For matrices on one process: a matrix on several is refused. Only public headers of PETSc are used;
 * the type has the machinery of PCSHELL. */
#include <ctype.h>
#include <petscksp.h>
#include <string.h>
#include <ziggurat.h>

#if !defined(PETSC_USE_REAL_DOUBLE) || defined(PETSC_USE_COMPLEX)
#error "ziggurat needs a PETSc with real numbers in double precision"
#endif
#ifndef PETSC_SUCCESS
#define PETSC_SUCCESS 0
#endif

PETSC_EXTERN PetscErrorCode PCCreate_Shell(PC); /* exported, but in no header */

typedef struct {
  ziggurat_solver *solver;
  /* The matrix of the last setup: its identity and the state of its pattern. */
  PetscObjectId matrix;
  PetscObjectState pattern;
  PetscBool failed; /* the last setup or update: applying gives infinity, which ends the solve */
} Context;

/* A wrong option or argument is an error of PETSc, with our sentence. */
#define CHECKED(context, call)                                                            \
  do {                                                                                    \
    int status_ = (call);                                                                 \
    PetscCheck(status_ == ZIGGURAT_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "ziggurat: %s",    \
               ziggurat_error((context)->solver));                                        \
  } while (0)

static PetscErrorCode GetContext(PC pc, Context **context) {
  PetscContainer container;
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)pc, "ziggurat", (PetscObject *)&container));
  PetscCheck(container, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the preconditioner has lost its data");
  PetscCall(PetscContainerGetPointer(container, (void **)context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyContext(void *data) {
  PetscFunctionBegin;
  ziggurat_destroy(&((Context *)data)->solver);
  PetscCall(PetscFree(data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the options that are given as -pc_ziggurat_KEY. The keys are those of the library's own text:
 * `key = value` below `[table]`, and comments. */
static PetscErrorCode SetOptions(PC pc, Context *context) {
  const char *prefix;
  char table[64] = "", *text, *line, *rest;
  size_t length = ziggurat_get_config(context->solver, NULL, 0);
  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscMalloc1(length + 1, &text));
  ziggurat_get_config(context->solver, text, length + 1);
  for (line = text; line && *line; line = rest) {
    char key[128], option[160], value[256], *end;
    PetscBool given;
    if ((rest = strchr(line, '\n'))) *rest++ = '\0';
    if (*line == '[' && (end = strchr(line, ']'))) {
      *end = '\0';
      PetscCall(PetscSNPrintf(table, sizeof table, "%s.", line + 1));
    }
    if (!isalpha((unsigned char)*line) || !(end = strstr(line, " = "))) continue;
    *end = '\0';
    PetscCall(PetscSNPrintf(key, sizeof key, "%s%s", table, line));
    PetscCall(PetscSNPrintf(option, sizeof option, "-pc_ziggurat_%s", key));
    for (char *c = option; *c; c++)
      if (*c == '.') *c = '_';
    PetscCall(PetscOptionsGetString(NULL, prefix, option, value, sizeof value, &given));
    if (given) CHECKED(context, ziggurat_set_option(context->solver, key, value));
  }
  PetscCall(PetscFree(text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near-null space of the matrix, or else its null space. */
static PetscErrorCode SetNearNullSpace(Mat A, PetscInt rows, Context *context) {
  MatNullSpace space;
  PetscBool constant;
  PetscInt count, first;
  const Vec *vectors;
  double *values;
  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(A, &space));
  if (!space) {
    CHECKED(context, ziggurat_set_near_null_space(context->solver, 0, 0, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatNullSpaceGetVecs(space, &constant, &count, &vectors));
  first = constant ? 1 : 0;
  PetscCall(PetscMalloc1((count + first) * rows + 1, &values));
  for (PetscInt row = 0; row < first * rows; row++) values[row] = 1.0;
  for (PetscInt k = 0; k < count; k++) {
    const PetscScalar *vector;
    PetscCall(VecGetArrayRead(vectors[k], &vector));
    PetscCall(PetscArraycpy(values + (k + first) * rows, vector, rows));
    PetscCall(VecRestoreArrayRead(vectors[k], &vector));
  }
  CHECKED(context, ziggurat_set_near_null_space(context->solver, count + first, rows, values));
  PetscCall(PetscFree(values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(PC pc) {
  Context *context;
  Mat A, rows_of;
  PetscMPIInt processes;
  PetscInt rows, block;
  const PetscInt *row_ptr, *columns;
  const PetscScalar *values;
  PetscBool has_rows, sequential;
  PetscObjectId matrix;
  PetscObjectState pattern;
  int status;
  PetscFunctionBegin;
  PetscCall(GetContext(pc, &context));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &processes));
  PetscCheck(processes == 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "ziggurat: the matrix is on %d processes; use -pc_type bjacobi -sub_pc_type ziggurat",
             processes);
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &sequential));
  rows_of = A;
  if (!sequential) PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &rows_of));
  PetscCall(MatGetRowIJ(rows_of, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &columns, &has_rows));
  PetscCheck(has_rows, PETSC_COMM_SELF, PETSC_ERR_SUP, "ziggurat: the matrix has no compressed rows");
  PetscCall(MatSeqAIJGetArrayRead(rows_of, &values));
  PetscCall(MatGetNonzeroState(A, &pattern));
  PetscCall(PetscObjectGetId((PetscObject)A, &matrix));
  if (!context->failed && ziggurat_rows(context->solver) == rows && context->matrix == matrix &&
      context->pattern == pattern) {
    status = ziggurat_update_values(context->solver, row_ptr[rows], values);
  } else {
    PetscCall(MatGetBlockSize(A, &block));
    /* One is also what PETSc says if nobody has set it. */
    CHECKED(context, ziggurat_set_block_size(context->solver, block > 1 ? block : 0));
    PetscCall(SetNearNullSpace(A, rows, context));
#if defined(PETSC_USE_64BIT_INDICES)
    status = ziggurat_setup_i64(context->solver, rows, (const int64_t *)row_ptr, (const int64_t *)columns,
                                values, 0);
#else
    status = ziggurat_setup_i32(context->solver, rows, row_ptr, columns, values, 0);
#endif
    context->matrix = matrix;
    context->pattern = pattern;
  }
  PetscCall(MatSeqAIJRestoreArrayRead(rows_of, &values));
  PetscCall(MatRestoreRowIJ(rows_of, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &columns, &has_rows));
  if (rows_of != A) PetscCall(MatDestroy(&rows_of));
  context->failed = status != ZIGGURAT_OK ? PETSC_TRUE : PETSC_FALSE;
  if (status == ZIGGURAT_SETUP) {
    /* The values do not suit multigrid: KSP says DIVERGED_PC_FAILED. */
    PetscCall(PetscInfo(pc, "ziggurat: %s\n", ziggurat_error(context->solver)));
    PetscCall(PCSetFailedReason(pc, PC_FACTOR_OTHER));
  } else {
    CHECKED(context, status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(PC pc, Vec r, Vec z) {
  Context *context;
  const PetscScalar *from;
  PetscScalar *to;
  PetscFunctionBegin;
  PetscCall(GetContext(pc, &context));
  if (context->failed) {
    PetscCall(VecSetInf(z));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetArrayRead(r, &from));
  PetscCall(VecGetArrayWrite(z, &to));
  CHECKED(context, ziggurat_apply(context->solver, from, to));
  PetscCall(VecRestoreArrayRead(r, &from));
  PetscCall(VecRestoreArrayWrite(z, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(PC pc, PetscViewer viewer) {
  Context *context;
  char text[4096];
  PetscFunctionBegin;
  PetscCall(GetContext(pc, &context));
  if (ziggurat_describe(context->solver, text, sizeof text))
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetCoordinates(PC pc, PetscInt dimension, PetscInt points, PetscReal *coordinates) {
  Context *context;
  PetscFunctionBegin;
  PetscCall(GetContext(pc, &context));
  CHECKED(context, ziggurat_set_coordinates(context->solver, dimension, points, coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PCCreate_Ziggurat(PC pc) {
  Context *context;
  PetscContainer container;
  PetscFunctionBegin;
  PetscCall(PCCreate_Shell(pc));
  PetscCall(PetscNew(&context));
  context->solver = ziggurat_create();
  PetscCall(PetscContainerCreate(PetscObjectComm((PetscObject)pc), &container));
  PetscCall(PetscContainerSetPointer(container, context));
  PetscCall(PetscContainerSetUserDestroy(container, DestroyContext));
  PetscCall(PetscObjectCompose((PetscObject)pc, "ziggurat", (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  PetscCall(PCShellSetName(pc, "ziggurat"));
  PetscCall(PCShellSetSetUp(pc, SetUp));
  PetscCall(PCShellSetApply(pc, Apply));
  PetscCall(PCShellSetView(pc, View));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", SetCoordinates));
  PetscCall(SetOptions(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSC_DLLIBRARY of libpetscziggurat.so. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscziggurat(void) {
  PetscFunctionBegin;
  PetscCall(PCRegister("ziggurat", PCCreate_Ziggurat));
  PetscFunctionReturn(PETSC_SUCCESS);
}
