/* Conjugate gradients with one of hypre's smoothers as the preconditioner, on a system written by
 * `cargo xtask bench smoothers`.
 *
 *   mpirun -n 2 hypre_smoothers SYSTEM SOLUTION fsai|ilu0|ilu0_natural
 *
 * Files and output are described in `system.h`. `fsai` is HYPRE_FSAI, which chooses its pattern
 * adaptively; hypre has it since 2.25. `ilu0` is HYPRE_ILU of type 0 with level of fill 0. Both use
 * only the entries between rows of the same process: they are block Jacobi methods with one block
 * per process. One application is one sweep from zero. All else is as HYPRE_FSAICreate and
 * HYPRE_ILUCreate leave it: FSAI takes 3 steps of 5 columns, and ILU(0) reorders the rows of each
 * process by reverse Cuthill-McKee. `ilu0_natural` keeps the order of the rows, which is faster on
 * poisson3d:100, in setup and in solve. Rows and columns have the same order, so ILU(0) of a
 * symmetric matrix is symmetric, and conjugate gradients apply. */
#include "system.h"
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_config.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>

/* A preconditioner and its functions. */
typedef struct {
    HYPRE_Solver solver;
    HYPRE_PtrToSolverFcn setup, solve;
} Smoother;

static Smoother fsai(void) {
    Smoother smoother = {NULL, NULL, NULL};
#if HYPRE_RELEASE_NUMBER >= 22500
    HYPRE_FSAICreate(&smoother.solver);
    HYPRE_FSAISetTolerance(smoother.solver, 0);
    HYPRE_FSAISetMaxIterations(smoother.solver, 1);
    HYPRE_FSAISetZeroGuess(smoother.solver, 1);
    smoother.setup = (HYPRE_PtrToSolverFcn)HYPRE_FSAISetup;
    smoother.solve = (HYPRE_PtrToSolverFcn)HYPRE_FSAISolve;
#else
    race_fail("error: hypre " HYPRE_RELEASE_VERSION " has no FSAI");
#endif
    return smoother;
}

static Smoother ilu0(int natural) {
    Smoother smoother = {NULL, NULL, NULL};
    HYPRE_ILUCreate(&smoother.solver);
    HYPRE_ILUSetType(smoother.solver, 0);
    HYPRE_ILUSetLevelOfFill(smoother.solver, 0);
    if (natural) HYPRE_ILUSetLocalReordering(smoother.solver, 0);
    HYPRE_ILUSetTol(smoother.solver, 0);
    HYPRE_ILUSetMaxIter(smoother.solver, 1);
    smoother.setup = (HYPRE_PtrToSolverFcn)HYPRE_ILUSetup;
    smoother.solve = (HYPRE_PtrToSolverFcn)HYPRE_ILUSolve;
    return smoother;
}

static HYPRE_ParVector vector(int first, int last, int *rows, double *values, HYPRE_IJVector *out) {
    HYPRE_ParVector vector;
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, out);
    HYPRE_IJVectorSetObjectType(*out, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(*out);
    HYPRE_IJVectorSetValues(*out, last - first + 1, rows, values);
    HYPRE_IJVectorAssemble(*out);
    HYPRE_IJVectorGetObject(*out, (void **)&vector);
    return vector;
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    HYPRE_Init();
    const char *usage = "usage: hypre_smoothers SYSTEM SOLUTION fsai|ilu0|ilu0_natural";
    if (count != 4) race_fail(usage);
    int is_fsai = strcmp(arguments[3], "fsai") == 0, natural = strcmp(arguments[3], "ilu0_natural") == 0;
    if (!is_fsai && !natural && strcmp(arguments[3], "ilu0") != 0) race_fail(usage);
    Smoother smoother = is_fsai ? fsai() : ilu0(natural);
    RaceSystem s = race_read(arguments[1], rank, ranks);
    int first = s.first, end = s.end, own = s.own;

    int *numbers = malloc(sizeof(int) * own), *lengths = malloc(sizeof(int) * own);
    double *zeros = calloc(own, sizeof(double));
    if (numbers == NULL || lengths == NULL || zeros == NULL) race_fail("out of memory");
    for (int row = 0; row < own; row++) {
        numbers[row] = first + row;
        lengths[row] = (int)(s.starts[row + 1] - s.starts[row]);
    }
    HYPRE_IJMatrix ij;
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, end - 1, first, end - 1, &ij);
    HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR);
    HYPRE_IJMatrixSetRowSizes(ij, lengths);
    HYPRE_IJMatrixInitialize(ij);
    HYPRE_IJMatrixSetValues(ij, own, lengths, numbers, s.columns, s.values);
    HYPRE_IJMatrixAssemble(ij);
    HYPRE_ParCSRMatrix a;
    HYPRE_IJMatrixGetObject(ij, (void **)&a);
    HYPRE_IJVector b_ij, x_ij;
    HYPRE_ParVector b = vector(first, end - 1, numbers, s.rhs, &b_ij), x = vector(first, end - 1, numbers, zeros, &x_ij);
    free(s.columns);
    free(s.values);

    HYPRE_Solver krylov;
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &krylov);
    HYPRE_PCGSetTol(krylov, 1e-8);
    HYPRE_PCGSetMaxIter(krylov, 3000);
    HYPRE_PCGSetTwoNorm(krylov, 1);
    HYPRE_PCGSetPrecond(krylov, smoother.solve, smoother.setup, smoother.solver);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    HYPRE_ParCSRPCGSetup(krylov, a, b, x);
    MPI_Barrier(MPI_COMM_WORLD);
    double middle = MPI_Wtime();
    HYPRE_ParCSRPCGSolve(krylov, a, b, x);
    MPI_Barrier(MPI_COMM_WORLD);
    double finish = MPI_Wtime();
    int iterations;
    HYPRE_PCGGetNumIterations(krylov, &iterations);
    double own_peak = race_peak(), peak;
    MPI_Reduce(&own_peak, &peak, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    HYPRE_IJVectorGetValues(x_ij, own, numbers, zeros);
    race_write(arguments[2], &s, zeros);
    if (rank == 0) race_print(middle - start, finish - middle, iterations, peak);
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
