/* Conjugate gradients with hypre's BoomerAMG on a system written by `cargo xtask bench race`.
 *
 *   mpirun -n 2 hypre SYSTEM SOLUTION STRENGTH_THRESHOLD AGGRESSIVE_LEVELS
 *   mpirun -n 2 hypre SYSTEM SOLUTION defaults cg|gmres
 *
 * The second form is for `cargo xtask bench collection`: BoomerAMG as HYPRE_BoomerAMGCreate leaves
 * it, with at most 1000 iterations and restarts after 30.
 *
 * Files and output are described in `system.h`. The settings are the best found for these problems:
 * HMIS, extended+i with 4 entries per row, l1 Gauss-Seidel, forward before and backward after the
 * coarse-grid correction. The race tries the thresholds 0.25 and 0.5 with one aggressive level, and
 * 0.25 without aggressive levels. Elasticity uses the unknown approach (HYPRE_SetNumFunctions), not
 * the rigid-body modes. */
#include "system.h"
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>

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
    if (count != 5) race_fail("usage: hypre SYSTEM SOLUTION STRENGTH_THRESHOLD AGGRESSIVE_LEVELS");
    int defaults = strcmp(arguments[3], "defaults") == 0, gmres = strcmp(arguments[4], "gmres") == 0;
    double threshold = atof(arguments[3]);
    int aggressive = atoi(arguments[4]);
    RaceSystem s = race_read(arguments[1], rank, ranks);
    int first = s.first, end = s.end, own = s.own;

    int *numbers = malloc(sizeof(int) * own), *lengths = malloc(sizeof(int) * own);
    double *zeros = calloc(own, sizeof(double));
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

    HYPRE_Solver krylov, amg;
    HYPRE_BoomerAMGCreate(&amg);
    HYPRE_BoomerAMGSetTol(amg, 0);
    HYPRE_BoomerAMGSetMaxIter(amg, 1);
    if (!defaults) {
        HYPRE_BoomerAMGSetCoarsenType(amg, 10);
        HYPRE_BoomerAMGSetInterpType(amg, 6);
        HYPRE_BoomerAMGSetPMaxElmts(amg, 4);
        HYPRE_BoomerAMGSetStrongThreshold(amg, threshold);
        HYPRE_BoomerAMGSetAggNumLevels(amg, aggressive);
        HYPRE_BoomerAMGSetCycleRelaxType(amg, 13, 1);
        HYPRE_BoomerAMGSetCycleRelaxType(amg, 14, 2);
        HYPRE_BoomerAMGSetCycleRelaxType(amg, 9, 3);
        HYPRE_BoomerAMGSetRelaxOrder(amg, 0);
        HYPRE_BoomerAMGSetNumSweeps(amg, 1);
        HYPRE_BoomerAMGSetMaxLevels(amg, 25);
        if (s.unknowns > 1) HYPRE_BoomerAMGSetNumFunctions(amg, s.unknowns);
    }
    HYPRE_PtrToSolverFcn solve = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve;
    HYPRE_PtrToSolverFcn setup = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup;
    if (gmres) {
        HYPRE_ParCSRGMRESCreate(MPI_COMM_WORLD, &krylov);
        HYPRE_GMRESSetTol(krylov, 1e-8);
        HYPRE_GMRESSetMaxIter(krylov, 1000);
        HYPRE_GMRESSetKDim(krylov, 30);
        HYPRE_GMRESSetPrecond(krylov, solve, setup, amg);
    } else {
        HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &krylov);
        HYPRE_PCGSetTol(krylov, 1e-8);
        HYPRE_PCGSetMaxIter(krylov, defaults ? 1000 : 500);
        HYPRE_PCGSetTwoNorm(krylov, 1);
        HYPRE_PCGSetPrecond(krylov, solve, setup, amg);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (gmres) HYPRE_ParCSRGMRESSetup(krylov, a, b, x);
    else HYPRE_ParCSRPCGSetup(krylov, a, b, x);
    MPI_Barrier(MPI_COMM_WORLD);
    double middle = MPI_Wtime();
    if (gmres) HYPRE_ParCSRGMRESSolve(krylov, a, b, x);
    else HYPRE_ParCSRPCGSolve(krylov, a, b, x);
    MPI_Barrier(MPI_COMM_WORLD);
    double finish = MPI_Wtime();
    int iterations;
    if (gmres) HYPRE_GMRESGetNumIterations(krylov, &iterations);
    else HYPRE_PCGGetNumIterations(krylov, &iterations);
    double own_peak = race_peak(), peak;
    MPI_Reduce(&own_peak, &peak, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    HYPRE_IJVectorGetValues(x_ij, own, numbers, zeros);
    race_write(arguments[2], &s, zeros);
    if (rank == 0) race_print(middle - start, finish - middle, iterations, peak);
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
