/* The preconditioner `ziggurat` for PETSc, loaded by options into programs that do not know it:
 *
 *   mpicc -O2 -fPIC -shared -DZIGGURAT_MPI pcziggurat.c \
 *       $(pkg-config --cflags --libs PETSc ziggurat ziggurat_mpi) -Wl,-z,nodelete \
 *       -o libpetscziggurat.so
 *   mpirun -n 4 ./program -dll_append /path/to/libpetscziggurat.so -pc_type ziggurat
 *
 * PETSc finds the function that registers it by the name of the file, so the file must keep its name,
 * and the path must be absolute. Options: every key of `ziggurat solve --dump-config`, with
 * underscores for points, such as -pc_ziggurat_method classical or -pc_ziggurat_smoother_degree 3.
 * The block size, the near-null space and the coordinates of the matrix are used. New values in the
 * same pattern are an update, which costs a fraction of a setup. -pc_view describes the levels.
 *
 * A matrix on one process is solved by libziggurat, one on several by libziggurat_mpi. Without
 * -DZIGGURAT_MPI and -lziggurat_mpi, matrices on several processes are refused. Only public headers of
 * PETSc are used; the type has the machinery of PCSHELL. */
#include <ctype.h>
#include <petscksp.h>
#include <string.h>
#include <ziggurat.h>
#ifdef ZIGGURAT_MPI
#include <ziggurat_mpi.h>
#endif

#if !defined(PETSC_USE_REAL_DOUBLE) || defined(PETSC_USE_COMPLEX)
#error "ziggurat needs a PETSc with real numbers in double precision"
#endif
#ifndef PETSC_SUCCESS
#define PETSC_SUCCESS 0
#endif

PETSC_EXTERN PetscErrorCode PCCreate_Shell(PC); /* exported, but in no header */

typedef struct {
  /* One of them: for a matrix on one process, or on several. */
  ziggurat_solver *one;
#ifdef ZIGGURAT_MPI
  ziggurat_mpi_solver *ranks;
#endif
  /* The matrix of the last setup: its identity and the state of its pattern. */
  PetscObjectId matrix;
  PetscObjectState pattern;
  PetscBool is_set_up;
  PetscBool failed; /* the last setup or update: applying gives infinity, which ends the solve */
} Context;

/* Calls the function of the solver that the context has. */
#ifdef ZIGGURAT_MPI
#define CALL(context, function, ...)                                                      \
  ((context)->ranks ? ziggurat_mpi_solver_##function((context)->ranks, __VA_ARGS__)       \
                    : ziggurat_##function((context)->one, __VA_ARGS__))
#define ERROR(context)                                                                    \
  ((context)->ranks ? ziggurat_mpi_solver_error((context)->ranks) : ziggurat_error((context)->one))
#else
#define CALL(context, function, ...) ziggurat_##function((context)->one, __VA_ARGS__)
#define ERROR(context) ziggurat_error((context)->one)
#endif

/* A wrong option or argument is an error of PETSc, with our sentence. */
#define CHECKED(context, call)                                                            \
  do {                                                                                    \
    int status_ = (call);                                                                 \
    PetscCheck(status_ == ZIGGURAT_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "ziggurat: %s",    \
               ERROR(context));                                                           \
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
  ziggurat_destroy(&((Context *)data)->one);
#ifdef ZIGGURAT_MPI
  ziggurat_mpi_solver_destroy(&((Context *)data)->ranks);
#endif
  PetscCall(PetscFree(data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the options that are given as -pc_ziggurat_KEY. The keys are those of the library's own text:
 * `key = value` below `[table]`, and comments. */
static PetscErrorCode SetOptions(PC pc, Context *context) {
  const char *prefix;
  char table[64] = "", *text, *line, *rest;
  size_t length = CALL(context, get_config, NULL, 0);
  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscMalloc1(length + 1, &text));
  CALL(context, get_config, text, length + 1);
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
    if (given) CHECKED(context, CALL(context, set_option, key, value));
  }
  PetscCall(PetscFree(text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near-null space of the matrix: the rows of this process. */
static PetscErrorCode SetNearNullSpace(Mat A, PetscInt rows, Context *context) {
  MatNullSpace space;
  PetscBool constant;
  PetscInt count, first;
  const Vec *vectors;
  double *values;
  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(A, &space));
  if (!space) {
    CHECKED(context, CALL(context, set_near_null_space, 0, 0, NULL));
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
  CHECKED(context, CALL(context, set_near_null_space, count + first, rows, values));
  PetscCall(PetscFree(values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this process as one sequential matrix with global columns; the matrix itself if it is
 * that already. */
static PetscErrorCode LocalRows(Mat A, PetscBool distributed, Mat *rows_of) {
  Mat converted = A;
  PetscBool is_aij;
  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, distributed ? MATMPIAIJ : MATSEQAIJ, &is_aij));
  if (!is_aij) PetscCall(MatConvert(A, distributed ? MATMPIAIJ : MATSEQAIJ, MAT_INITIAL_MATRIX, &converted));
  *rows_of = converted;
  if (distributed) {
    PetscCall(MatMPIAIJGetLocalMat(converted, MAT_INITIAL_MATRIX, rows_of));
    if (converted != A) PetscCall(MatDestroy(&converted));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the pattern is that of the last setup, on all processes. */
static PetscErrorCode IsKnown(PC pc, Mat A, Context *context, PetscBool *known) {
  PetscObjectId matrix;
  PetscObjectState pattern;
  int here, everywhere;
  PetscFunctionBegin;
  PetscCall(MatGetNonzeroState(A, &pattern));
  PetscCall(PetscObjectGetId((PetscObject)A, &matrix));
  here = context->is_set_up && !context->failed && context->matrix == matrix && context->pattern == pattern;
  PetscCallMPI(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
  context->matrix = matrix;
  context->pattern = pattern;
  *known = everywhere ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(PC pc) {
  Context *context;
  Mat A, rows_of;
  PetscMPIInt processes;
  PetscInt rows, block;
  const PetscInt *row_ptr, *columns;
  const PetscScalar *values;
  PetscBool has_rows, known = PETSC_FALSE;
  int status;
  PetscFunctionBegin;
  PetscCall(GetContext(pc, &context));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &processes));
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(LocalRows(A, processes > 1 ? PETSC_TRUE : PETSC_FALSE, &rows_of));
  PetscCall(MatGetRowIJ(rows_of, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &columns, &has_rows));
  PetscCheck(has_rows, PETSC_COMM_SELF, PETSC_ERR_SUP, "ziggurat: the matrix has no compressed rows");
  PetscCall(MatSeqAIJGetArrayRead(rows_of, &values));
  PetscCall(IsKnown(pc, A, context, &known));
  if (known) {
    status = CALL(context, update_values, row_ptr[rows], values);
  } else {
    PetscCall(MatGetBlockSize(A, &block));
    /* One is also what PETSc says if nobody has set it. */
    CHECKED(context, CALL(context, set_block_size, block > 1 ? block : 0));
    PetscCall(SetNearNullSpace(A, rows, context));
#if defined(PETSC_USE_64BIT_INDICES)
    status = CALL(context, setup_i64, rows, (const int64_t *)row_ptr, (const int64_t *)columns, values, 0);
#else
    status = CALL(context, setup_i32, rows, row_ptr, columns, values, 0);
#endif
    context->is_set_up = PETSC_TRUE;
  }
  PetscCall(PetscInfo(pc, "ziggurat: %s of %" PetscInt_FMT " rows\n", known ? "update" : "setup", rows));
  PetscCall(MatSeqAIJRestoreArrayRead(rows_of, &values));
  PetscCall(MatRestoreRowIJ(rows_of, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &columns, &has_rows));
  if (rows_of != A) PetscCall(MatDestroy(&rows_of));
  context->failed = status != ZIGGURAT_OK ? PETSC_TRUE : PETSC_FALSE;
  if (status == ZIGGURAT_SETUP) {
    /* The values do not suit multigrid: KSP says DIVERGED_PC_FAILED. */
    PetscCall(PetscInfo(pc, "ziggurat: %s\n", ERROR(context)));
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
  CHECKED(context, CALL(context, apply, from, to));
  PetscCall(VecRestoreArrayRead(r, &from));
  PetscCall(VecRestoreArrayWrite(z, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(PC pc, PetscViewer viewer) {
  Context *context;
  char text[4096] = "";
  PetscFunctionBegin;
  PetscCall(GetContext(pc, &context));
  (void)CALL(context, describe, text, sizeof text);
  for (char *line = text, *rest; *line; line = rest) { /* each line indented as PETSc does */
    rest = line + strcspn(line, "\n");
    if (*rest) *rest++ = '\0';
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", line));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetCoordinates(PC pc, PetscInt dimension, PetscInt points, PetscReal *coordinates) {
  Context *context;
  PetscFunctionBegin;
  PetscCall(GetContext(pc, &context));
  CHECKED(context, CALL(context, set_coordinates, dimension, points, coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PCCreate_Ziggurat(PC pc) {
  Context *context;
  PetscContainer container;
  PetscMPIInt processes;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &processes));
#ifndef ZIGGURAT_MPI
  PetscCheck(processes == 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "ziggurat: the plug-in was compiled for one process, not for %d; compile it with -DZIGGURAT_MPI "
             "-lziggurat_mpi, or use -pc_type bjacobi -sub_pc_type ziggurat",
             processes);
#endif
  PetscCall(PCCreate_Shell(pc));
  PetscCall(PetscNew(&context));
#ifdef ZIGGURAT_MPI
  if (processes > 1) {
    context->ranks = ziggurat_mpi_solver_create(PetscObjectComm((PetscObject)pc));
    PetscCheck(context->ranks, PETSC_COMM_SELF, PETSC_ERR_LIB, "ziggurat: %s", ziggurat_mpi_solver_error(NULL));
  }
#endif
  if (processes == 1) context->one = ziggurat_create();
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
