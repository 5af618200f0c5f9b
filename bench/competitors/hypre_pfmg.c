/* Conjugate gradients with hypre's PFMG on a system written by `cargo xtask bench race`.
 *
 *   mpirun -n 2 hypre_pfmg SYSTEM SOLUTION RAP_TYPE RELAX_TYPE
 *
 * Files and output are described in `system.h`. PFMG is hypre's multigrid for structured grids: it
 * has no indices either, but must be told the grid. Only cubes of points in natural order take
 * part, of which every process has whole planes. The stored stencil is the symmetric half. The race
 * tries Galerkin products (RAP_TYPE 0) and, for seven points, coarse stencils of seven points (1),
 * each with weighted Jacobi (RELAX_TYPE 1) and red/black Gauss-Seidel (2). All else is as
 * HYPRE_StructPFMGCreate leaves it; relaxation is skipped on levels where that is safe, which is
 * hypre's default. */
#include "system.h"
#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_struct_ls.h>
#include <math.h>
#include <mpi.h>

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    HYPRE_Init();
    if (count != 5) race_fail("usage: hypre_pfmg SYSTEM SOLUTION RAP_TYPE RELAX_TYPE");
    RaceSystem s = race_read(arguments[1], rank, ranks);
    int n = (int)lround(cbrt((double)s.rows)), plane = n * n;
    if ((int64_t)plane * n != s.rows || s.unknowns != 1 || s.first % plane != 0 || s.end % plane != 0)
        race_fail("not a cube of points, or not whole planes");

    /* The point itself and the neighbours after it, of which the matrix uses 3 or 13. */
    int offsets[14][3], entries = 0, place[27];
    for (int d = 0; d < 27; d++) place[d] = -1;
    for (int row = 0; row < s.own; row++) {
        int point = s.first + row, x = point % n, y = point / n % n, z = point / plane;
        for (int64_t k = s.starts[row]; k < s.starts[row + 1]; k++) {
            int to = s.columns[k], dx = to % n - x, dy = to / n % n - y, dz = to / plane - z;
            if (abs(dx) > 1 || abs(dy) > 1 || abs(dz) > 1) race_fail("not the neighbours of a cube in natural order");
            int d = (dz + 1) * 9 + (dy + 1) * 3 + dx + 1;
            if (d >= 13 && place[d] < 0) {
                place[d] = entries;
                offsets[entries][0] = dx;
                offsets[entries][1] = dy;
                offsets[entries][2] = dz;
                entries++;
            }
        }
    }
    HYPRE_StructStencil stencil;
    HYPRE_StructStencilCreate(3, entries, &stencil);
    for (int entry = 0; entry < entries; entry++) HYPRE_StructStencilSetElement(stencil, entry, offsets[entry]);
    int lower[3] = {0, 0, s.first / plane}, upper[3] = {n - 1, n - 1, s.end / plane - 1};
    HYPRE_StructGrid grid;
    HYPRE_StructGridCreate(MPI_COMM_WORLD, 3, &grid);
    HYPRE_StructGridSetExtents(grid, lower, upper);
    HYPRE_StructGridAssemble(grid);

    double *values = calloc((size_t)s.own * entries, sizeof(double)), *zeros = calloc(s.own, sizeof(double));
    if (values == NULL || zeros == NULL) race_fail("out of memory");
    for (int row = 0; row < s.own; row++) {
        int point = s.first + row, x = point % n, y = point / n % n, z = point / plane;
        for (int64_t k = s.starts[row]; k < s.starts[row + 1]; k++) {
            int to = s.columns[k];
            int d = (to / plane - z + 1) * 9 + (to / n % n - y + 1) * 3 + to % n - x + 1;
            if (d >= 13) values[(size_t)row * entries + place[d]] = s.values[k];
        }
    }
    free(s.columns);
    free(s.values);
    HYPRE_StructMatrix a;
    HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid, stencil, &a);
    HYPRE_StructMatrixSetSymmetric(a, 1);
    HYPRE_StructMatrixInitialize(a);
    int numbers[14] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    HYPRE_StructMatrixSetBoxValues(a, lower, upper, entries, numbers, values);
    HYPRE_StructMatrixAssemble(a);
    free(values);
    HYPRE_StructVector b, x;
    HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &b);
    HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &x);
    HYPRE_StructVectorInitialize(b);
    HYPRE_StructVectorInitialize(x);
    HYPRE_StructVectorSetBoxValues(b, lower, upper, s.rhs);
    HYPRE_StructVectorSetBoxValues(x, lower, upper, zeros);
    HYPRE_StructVectorAssemble(b);
    HYPRE_StructVectorAssemble(x);

    HYPRE_StructSolver krylov, pfmg;
    HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &pfmg);
    HYPRE_StructPFMGSetMaxIter(pfmg, 1);
    HYPRE_StructPFMGSetTol(pfmg, 0);
    HYPRE_StructPFMGSetZeroGuess(pfmg);
    HYPRE_StructPFMGSetRAPType(pfmg, atoi(arguments[3]));
    HYPRE_StructPFMGSetRelaxType(pfmg, atoi(arguments[4]));
    HYPRE_StructPCGCreate(MPI_COMM_WORLD, &krylov);
    HYPRE_StructPCGSetTol(krylov, 1e-8);
    HYPRE_StructPCGSetMaxIter(krylov, 500);
    HYPRE_StructPCGSetTwoNorm(krylov, 1);
    HYPRE_StructPCGSetPrecond(krylov, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, pfmg);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    HYPRE_StructPCGSetup(krylov, a, b, x);
    MPI_Barrier(MPI_COMM_WORLD);
    double middle = MPI_Wtime();
    HYPRE_StructPCGSolve(krylov, a, b, x);
    MPI_Barrier(MPI_COMM_WORLD);
    double finish = MPI_Wtime();
    int iterations;
    HYPRE_StructPCGGetNumIterations(krylov, &iterations);
    double own_peak = race_peak(), peak;
    MPI_Reduce(&own_peak, &peak, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    HYPRE_StructVectorGetBoxValues(x, lower, upper, zeros);
    race_write(arguments[2], &s, zeros);
    if (rank == 0) race_print(middle - start, finish - middle, iterations, peak);
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
