/* Ziggurat as the preconditioner of hypre's conjugate gradients, for programs that have their matrix in
 * hypre: four functions, ziggurat_pc_create, _setup, _solve and _destroy. The program solves Poisson's
 * equation on n^3 points with it, where n is the first argument.
 *
 *   mpicc hypre_pcg.c $(pkg-config --cflags --libs ziggurat_mpi) -I/usr/include/hypre -lHYPRE -lm
 *   mpirun -n 2 ./a.out 40 */
#include "ziggurat_mpi.h"
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_mv.h> /* the local part of a vector */
#include <stdio.h>
#include <stdlib.h>

static HYPRE_Solver ziggurat_pc_create(MPI_Comm comm) {
  return (HYPRE_Solver)ziggurat_mpi_solver_create(comm);
}

static void ziggurat_pc_destroy(HYPRE_Solver pc) {
  ziggurat_mpi_solver *solver = (ziggurat_mpi_solver *)pc;
  ziggurat_mpi_solver_destroy(&solver);
}

/* The status of a call for hypre, with a message if it has failed. */
static HYPRE_Int told(HYPRE_Solver pc, int status) {
  if (status) fprintf(stderr, "%s\n", ziggurat_mpi_solver_error((ziggurat_mpi_solver *)pc));
  return status;
}

/* hypre calls this once, when PCG is set up. */
static HYPRE_Int ziggurat_pc_setup(HYPRE_Solver pc, HYPRE_ParCSRMatrix A, HYPRE_ParVector b, HYPRE_ParVector x) {
  HYPRE_BigInt first, last, first_column, last_column;
  (void)b, (void)x;
  HYPRE_ParCSRMatrixGetLocalRange(A, &first, &last, &first_column, &last_column);
  const int64_t rows = last - first + 1;
  int64_t *row_ptr = malloc((size_t)(rows + 1) * sizeof *row_ptr), *columns = NULL;
  double *values = NULL;
  size_t room = 0;
  row_ptr[0] = 0;
  for (int64_t row = 0; row < rows; row++) {
    HYPRE_Int count;
    HYPRE_BigInt *row_columns;
    HYPRE_Complex *row_values;
    HYPRE_ParCSRMatrixGetRow(A, first + row, &count, &row_columns, &row_values);
    const size_t begin = (size_t)row_ptr[row], end = begin + (size_t)count;
    if (end > room) {
      room = 2 * end;
      columns = realloc(columns, room * sizeof *columns);
      values = realloc(values, room * sizeof *values);
    }
    for (HYPRE_Int k = 0; k < count; k++) {
      columns[begin + (size_t)k] = row_columns[k], values[begin + (size_t)k] = row_values[k];
    }
    row_ptr[row + 1] = (int64_t)end;
    HYPRE_ParCSRMatrixRestoreRow(A, first + row, &count, &row_columns, &row_values);
  }
  const int status =
      ziggurat_mpi_solver_setup_i64((ziggurat_mpi_solver *)pc, rows, row_ptr, columns, values, 0);
  free(row_ptr), free(columns), free(values);
  return told(pc, status);
}

/* x = M b, one multigrid cycle. */
static HYPRE_Int ziggurat_pc_solve(HYPRE_Solver pc, HYPRE_ParCSRMatrix A, HYPRE_ParVector b, HYPRE_ParVector x) {
  (void)A;
  const double *from = hypre_VectorData(hypre_ParVectorLocalVector((hypre_ParVector *)b));
  double *to = hypre_VectorData(hypre_ParVectorLocalVector((hypre_ParVector *)x));
  return told(pc, ziggurat_mpi_solver_apply((ziggurat_mpi_solver *)pc, from, to));
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  const HYPRE_Int n = argc > 1 ? atoi(argv[1]) : 30, all = n * n * n;
  const HYPRE_Int first = all / size * rank, last = rank == size - 1 ? all - 1 : all / size * (rank + 1) - 1;

  /* The matrix and the right-hand side, as a program of hypre has them. */
  HYPRE_IJMatrix ij;
  HYPRE_IJVector ij_b, ij_x;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &ij);
  HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR), HYPRE_IJMatrixInitialize(ij);
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &ij_b);
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &ij_x);
  HYPRE_IJVectorSetObjectType(ij_b, HYPRE_PARCSR), HYPRE_IJVectorInitialize(ij_b);
  HYPRE_IJVectorSetObjectType(ij_x, HYPRE_PARCSR), HYPRE_IJVectorInitialize(ij_x);
  for (HYPRE_Int row = first; row <= last; row++) {
    HYPRE_Int count = 1, columns[7] = {row}, stride = 1;
    double values[7] = {6.0}, one = 1.0, zero = 0.0;
    for (int axis = 0; axis < 3; axis++, stride *= n) {
      const HYPRE_Int at = row / stride % n;
      if (at > 0) columns[count] = row - stride, values[count++] = -1.0;
      if (at < n - 1) columns[count] = row + stride, values[count++] = -1.0;
    }
    HYPRE_IJMatrixSetValues(ij, 1, &count, &row, columns, values);
    HYPRE_IJVectorSetValues(ij_b, 1, &row, &one), HYPRE_IJVectorSetValues(ij_x, 1, &row, &zero);
  }
  HYPRE_IJMatrixAssemble(ij), HYPRE_IJVectorAssemble(ij_b), HYPRE_IJVectorAssemble(ij_x);
  HYPRE_ParCSRMatrix A;
  HYPRE_ParVector b, x;
  HYPRE_IJMatrixGetObject(ij, (void **)&A);
  HYPRE_IJVectorGetObject(ij_b, (void **)&b), HYPRE_IJVectorGetObject(ij_x, (void **)&x);

  HYPRE_Solver pcg, pc = ziggurat_pc_create(MPI_COMM_WORLD);
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &pcg);
  HYPRE_PCGSetTol(pcg, 1e-8), HYPRE_PCGSetMaxIter(pcg, 100), HYPRE_PCGSetTwoNorm(pcg, 1);
  HYPRE_ParCSRPCGSetPrecond(pcg, ziggurat_pc_solve, ziggurat_pc_setup, pc);
  HYPRE_Int failed = HYPRE_ParCSRPCGSetup(pcg, A, b, x);
  failed = failed || HYPRE_ParCSRPCGSolve(pcg, A, b, x);

  HYPRE_Int iterations;
  double residual, norm;
  HYPRE_PCGGetNumIterations(pcg, &iterations);
  HYPRE_ParVectorInnerProd(b, b, &norm);
  HYPRE_ParCSRMatrixMatvec(-1.0, A, x, 1.0, b); /* b - A x */
  HYPRE_ParVectorInnerProd(b, b, &residual);
  if (rank == 0) printf("%d iterations, relative residual %.1e\n", (int)iterations, sqrt(residual / norm));
  HYPRE_ParCSRPCGDestroy(pcg), ziggurat_pc_destroy(pc);
  HYPRE_IJMatrixDestroy(ij), HYPRE_IJVectorDestroy(ij_b), HYPRE_IJVectorDestroy(ij_x);
  HYPRE_Finalize();
  MPI_Finalize();
  return failed || residual > 1e-14 * norm; /* squares of norms */
}
