/* Conjugate gradients with hypre's BoomerAMG on a system written by `cargo xtask bench race`.
 *
 *   mpirun -n 2 hypre FILE UNKNOWNS_PER_NODE STRENGTH_THRESHOLD
 *
 * The file contains rows, entries (64 bits each); rows + 1 row pointers (64 bits); columns (32 bits);
 * values; right-hand side. Every process reads its own rows. Prints one line: setup and solve
 * seconds, iterations, true relative residual. The settings are the best found for these problems:
 * HMIS, extended+i with 4 entries per row, one aggressive level, l1 Gauss-Seidel, forward before and
 * backward after the coarse-grid correction. */
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *part(FILE *file, int64_t offset, size_t size, size_t count) {
    void *data = malloc(size * count + 1);
    if (data == NULL || fseek(file, offset, SEEK_SET) != 0 || fread(data, size, count, file) != count) {
        fprintf(stderr, "the file ends too early\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return data;
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
    FILE *file = count == 4 ? fopen(arguments[1], "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: hypre FILE UNKNOWNS_PER_NODE STRENGTH_THRESHOLD\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int unknowns = atoi(arguments[2]);
    double threshold = atof(arguments[3]);

    int64_t *extents = part(file, 0, 8, 2), rows = extents[0], entries = extents[1], nodes = rows / unknowns;
    int first = (int)(nodes * rank / ranks) * unknowns, end = (int)(nodes * (rank + 1) / ranks) * unknowns;
    int own = end - first;
    int64_t *starts = part(file, 16 + 8 * (int64_t)first, 8, own + 1);
    int64_t columns_at = 16 + 8 * (rows + 1), values_at = columns_at + 4 * entries;
    size_t own_entries = starts[own] - starts[0];
    int *columns = part(file, columns_at + 4 * starts[0], 4, own_entries);
    double *values = part(file, values_at + 8 * starts[0], 8, own_entries);
    double *rhs = part(file, values_at + 8 * (entries + first), 8, own);
    fclose(file);
    int *numbers = malloc(sizeof(int) * own), *lengths = malloc(sizeof(int) * own);
    double *zeros = calloc(own, sizeof(double));
    for (int row = 0; row < own; row++) {
        numbers[row] = first + row;
        lengths[row] = (int)(starts[row + 1] - starts[row]);
    }
    HYPRE_IJMatrix ij;
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, end - 1, first, end - 1, &ij);
    HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR);
    HYPRE_IJMatrixSetRowSizes(ij, lengths);
    HYPRE_IJMatrixInitialize(ij);
    HYPRE_IJMatrixSetValues(ij, own, lengths, numbers, columns, values);
    HYPRE_IJMatrixAssemble(ij);
    HYPRE_ParCSRMatrix a;
    HYPRE_IJMatrixGetObject(ij, (void **)&a);
    HYPRE_IJVector b_ij, x_ij;
    HYPRE_ParVector b = vector(first, end - 1, numbers, rhs, &b_ij), x = vector(first, end - 1, numbers, zeros, &x_ij);
    free(columns);
    free(values);

    HYPRE_Solver cg, amg;
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &cg);
    HYPRE_PCGSetTol(cg, 1e-8);
    HYPRE_PCGSetMaxIter(cg, 500);
    HYPRE_PCGSetTwoNorm(cg, 1);
    HYPRE_BoomerAMGCreate(&amg);
    HYPRE_BoomerAMGSetTol(amg, 0);
    HYPRE_BoomerAMGSetMaxIter(amg, 1);
    HYPRE_BoomerAMGSetCoarsenType(amg, 10);
    HYPRE_BoomerAMGSetInterpType(amg, 6);
    HYPRE_BoomerAMGSetPMaxElmts(amg, 4);
    HYPRE_BoomerAMGSetStrongThreshold(amg, threshold);
    HYPRE_BoomerAMGSetAggNumLevels(amg, 1);
    HYPRE_BoomerAMGSetCycleRelaxType(amg, 13, 1);
    HYPRE_BoomerAMGSetCycleRelaxType(amg, 14, 2);
    HYPRE_BoomerAMGSetCycleRelaxType(amg, 9, 3);
    HYPRE_BoomerAMGSetRelaxOrder(amg, 0);
    HYPRE_BoomerAMGSetNumSweeps(amg, 1);
    HYPRE_BoomerAMGSetMaxLevels(amg, 25);
    if (unknowns > 1) HYPRE_BoomerAMGSetNumFunctions(amg, unknowns);
    HYPRE_PCGSetPrecond(cg, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    HYPRE_ParCSRPCGSetup(cg, a, b, x);
    MPI_Barrier(MPI_COMM_WORLD);
    double middle = MPI_Wtime();
    HYPRE_ParCSRPCGSolve(cg, a, b, x);
    MPI_Barrier(MPI_COMM_WORLD);
    double finish = MPI_Wtime();
    int iterations;
    double before, after;
    HYPRE_PCGGetNumIterations(cg, &iterations);
    HYPRE_ParVectorInnerProd(b, b, &before);
    HYPRE_ParCSRMatrixMatvec(-1.0, a, x, 1.0, b);
    HYPRE_ParVectorInnerProd(b, b, &after);
    if (rank == 0) printf("%.6f %.6f %d %.3e\n", middle - start, finish - middle, iterations, sqrt(after / before));
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
